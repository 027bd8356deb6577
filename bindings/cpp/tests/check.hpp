// How does a test say what it found? A failed check throws, a test that cannot run throws Skipped; `run` runs each, prints what failed and the count
// that test.sh adds up.

#ifndef CLOZE_CHECK_HPP
#define CLOZE_CHECK_HPP

#include <cstdio>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

struct Failed : std::runtime_error {
    using runtime_error::runtime_error;
};
struct Skipped : std::runtime_error {
    using runtime_error::runtime_error;
};

#define CHECK(condition) ((condition) ? void() : throw Failed(std::string(__FILE__) + ":" + std::to_string(__LINE__) + ": " + #condition))

template <typename Got, typename Want>
void check_equal(const Got &got, const Want &want, const std::string &what) {
    if (got == want) return;
    std::ostringstream text;
    text << what << ": " << got << " instead of " << want;
    throw Failed(text.str());
}

using Tests = std::vector<std::pair<std::string, std::function<void()>>>;

inline int run(const Tests &tests) {
    std::size_t failed = 0, skipped = 0;
    for (const auto &[name, test] : tests) {
        try {
            test();
        } catch (const Skipped &why) {
            skipped++;
            std::printf("SKIPPED %s: %s\n", name.c_str(), why.what());
        } catch (const std::exception &error) {
            failed++;
            std::printf("FAILED %s: %s\n", name.c_str(), error.what());
        }
    }
    std::printf("%zu passed, %zu failed, %zu skipped\n", tests.size() - failed - skipped, failed, skipped);
    return failed == 0 ? 0 : 1;
}

#endif
