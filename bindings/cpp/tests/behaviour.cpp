// Does cloze.hpp keep what its comments promise: errors by choice, ownership, stopped calls, threads, memory?
//
//     behaviour tests/golden [rounds]

#include "cloze.hpp"

#include "check.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <clocale>
#include <cmath>
#include <cstring>
#include <fstream>
#include <list>
#include <thread>

#include <unistd.h>

static std::string golden;
static long rounds = 100000;

static cloze::Model open(const char *folder, const cloze::Options &options = {{"threads", 1}}) {
    return cloze::Model::load(golden + "/" + folder, options).value();
}
static cloze::Model gelu() { return open("models/tiny-gelu"); }

// A function that throws cloze::Error must do so with this status.
template <typename Call>
static void throws(cloze_status status, Call call) {
    try {
        call();
    } catch (const cloze::Error &error) {
        check_equal(std::string(error.name()), std::string(cloze_status_name(status)), error.what());
        return;
    }
    throw Failed("nothing was thrown");
}

static void errors_are_thrown_or_asked_for() {
    auto asked = cloze::Model::load("/nowhere");
    CHECK(!asked && !asked.has_partial() && asked.status() == CLOZE_IO);
    CHECK(asked.message().find("/nowhere") != std::string::npos);
    throws(CLOZE_IO, [] { cloze::Model::load("/nowhere").value(); });
    throws(CLOZE_IO, [] { (void)cloze::Model::load("/nowhere").partial(); });
    cloze::Model model = gelu();
    throws(CLOZE_INVALID_ARGUMENT, [&] { model.memory("no such key").value(); });
    throws(CLOZE_INVALID_ARGUMENT, [&] { model.memory(std::string("calls\0", 6)).value(); });
    if (auto vectors = model.encode({"a text"})) CHECK(vectors->values.size() == vectors->dimensions);
    else throw vectors.error();
}

static void what_owns_a_handle_moves_and_is_not_copied() {
    static_assert(!std::is_copy_constructible_v<cloze::Model> && std::is_nothrow_move_constructible_v<cloze::Model>);
    static_assert(!std::is_copy_constructible_v<cloze::Request> && std::is_move_constructible_v<cloze::Request>);
    static_assert(!std::is_copy_constructible_v<cloze::Options> && !std::is_copy_constructible_v<cloze::Cancel> && !std::is_copy_constructible_v<cloze::Maps>);
    cloze::Model first = gelu();
    cloze::Vectors wanted = first.encode({"a text"}).value();
    cloze::Model shared = first.share(), moved = std::move(first);
    { cloze::Model gone = std::move(moved); }
    CHECK(shared.encode({"a text"}).value().values == wanted.values);
    // A model that was moved away is NULL, which is refused and does not crash.
    CHECK(moved.encode({"a text"}).status() == CLOZE_NULL_ARGUMENT);
    CHECK(moved.share().get() == nullptr);
}

static void settings_are_words_or_numbers_in_any_locale() {
    cloze::Model model = gelu();
    CHECK(model.encode({"a"}, {{"dimensions", 8}, {"normalize", true}}).value().dimensions == 8);
    auto refused = model.encode({"a"}, {{"dimensions", 8}, {"no_such_key", 1}});
    CHECK(refused.status() == CLOZE_INVALID_ARGUMENT && refused.message().find("no_such_key") != std::string::npos);
    CHECK(cloze::Model::load(golden + "/models/tiny-gelu", {{"threads", 0}}).status() == CLOZE_INVALID_ARGUMENT);
    for (const char *name : {"de_DE.UTF-8", "C.UTF-8"}) std::setlocale(LC_ALL, name);
    CHECK(cloze::Setting("threshold", 0.25).value == "0.25");
    CHECK(cloze::Setting("top", 123456).value == "123456");
    cloze::Request request;
    CHECK(!request.set("pooling", "average") && request.set("pooling", "max"));
    CHECK(model.encode({"a"}, request).ok());
}

static void texts_come_from_any_list() {
    cloze::Model model = gelu();
    std::vector<float> wanted = model.encode({"one", "two"}).value().values;
    const char *plain[] = {"one", "two"};
    std::array<std::string_view, 2> views = {"one", "two"};
    CHECK(model.encode(std::vector<std::string>{"one", "two"}).value().values == wanted);
    CHECK(model.encode(std::list<const char *>{"one", "two"}).value().values == wanted);
    CHECK(model.encode(views).value().values == wanted);
    CHECK(model.encode(plain).value().values == wanted);
    CHECK(model.encode({std::string_view()}).value().finished == 1); // a view of nothing is the empty text
    CHECK(model.encode({}).value().size() == 0);
    throws(CLOZE_INVALID_ARGUMENT, [&] { model.next_sentence({"a", "b"}, {"c"}).value(); });
    throws(CLOZE_INVALID_ARGUMENT, [&] { model.classify_pairs({"a", "b"}, {"c"}).value(); });
}

// An empty second text makes a pair, none makes a single text.
static void an_empty_pair_is_not_none() {
    cloze::Model model = open("heads/labels-three");
    std::vector<std::optional<std::string>> pairs = {"", std::nullopt};
    cloze::Classes got = model.classify_pairs({"a text", "a text"}, pairs).value();
    check_equal(got[0].tokens, got[1].tokens + 1, "the pair's own [SEP]");
}

static void floats_are_not_read_out_of_other_numbers() {
    cloze::Model model = gelu();
    CHECK(model.encode({"a"}, {{"output", "int8"}}).status() == CLOZE_INVALID_ARGUMENT);
    CHECK(model.encode_packed({"a"}, {{"output", "int8"}}).value().scales.size() == 1);
    cloze::Vectors rows = model.encode({"a text", "another"}, {{"vectors", "token"}}).value();
    CHECK(rows[1].first_vector == rows[0].vectors && rows.values.size() == (rows[0].vectors + rows[1].vectors) * rows.dimensions);
    CHECK(rows.vector(1).size() == rows.dimensions && rows.vector(1).begin() == rows.values.data() + rows.dimensions);
}

// The texts finished by then have the vectors that they always have.
static void check_stopped(const cloze::Model &model, const cloze::Texts &texts, const cloze::Result<cloze::Vectors> &stopped, cloze_status status) {
    CHECK(stopped.status() == status && !stopped.ok() && stopped.has_partial());
    const cloze::Vectors &part = stopped.partial();
    CHECK(part.size() == texts.size() && part.finished < texts.size());
    CHECK(part.values.size() == part.finished * part.dimensions);
    std::vector<float> all = model.encode(texts).value().values;
    CHECK(std::equal(part.values.begin(), part.values.end(), all.begin()));
    CHECK(part[texts.size() - 1].vectors == 0);
}

static void stopped_calls_keep_what_is_finished() {
    cloze::Model model = gelu();
    std::vector<std::string> texts(4000, "the quick brown fox jumps over the lazy dog and some more words come after it");
    check_stopped(model, texts, model.encode(texts, {{"deadline_ms", 2}}), CLOZE_DEADLINE_EXCEEDED);
    throws(CLOZE_DEADLINE_EXCEEDED, [&] { model.encode(texts, {{"deadline_ms", 0}}).value(); });

    cloze::Cancel cancel;
    cloze::Request request;
    request.set_cancel(cancel).value();
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        cancel.cancel();
    });
    cloze::Result<cloze::Vectors> stopped = model.encode(texts, request);
    later.join();
    check_stopped(model, texts, stopped, CLOZE_CANCELLED);
    cancel.reset();
    CHECK(model.encode({"a"}, request).ok());
    { cloze::Cancel gone = std::move(cancel); }
    CHECK(model.encode({"a"}, request).ok());
}

static void threads_share_a_model_and_a_request() {
    cloze::Model model = gelu();
    const cloze::Request request{{"truncation", "right"}};
    std::vector<float> wanted = model.encode({"a text", "another text"}, request).value().values;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; t++) {
        threads.emplace_back([&, own = model.share()] {
            for (int i = 0; i < 50; i++)
                if (own.encode({"a text", "another text"}, request).value().values != wanted) wrong++;
        });
    }
    { cloze::Model gone = std::move(model); } // each thread has a reference of its own
    for (std::thread &thread : threads) thread.join();
    check_equal(wrong.load(), 0, "wrong answers");
}

static void memory_says_what_a_model_holds() {
    cloze::Model model = gelu();
    CHECK(model.memory("weights_mapped").value() + model.memory("weights_owned").value() > 50000);
    CHECK(model.memory("calls").value() == 0 && model.memory_peak(32, 4).value() > 0);
    (void)model.encode({"a"}).value();
    CHECK(model.memory("workspaces").value() > 0);
    model.memory_trim();
    CHECK(model.memory("workspaces").value() == 0);
    CHECK(!cloze::version().empty());
}

static void a_file_proves_itself_or_the_status_tells_that_it_does_not() {
    const char *sound = std::getenv("CLOZE_SOUND");
    if (!sound) throw Skipped("the command that writes files with probes was not built: make cli");
    CHECK(cloze::Model::load(sound).value().verify().value().find("\"passed\":true") != std::string::npos);
    std::ifstream file(sound, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    for (std::size_t i = bytes.size() - 3000; i < bytes.size() - 2900; i++) bytes[i] = static_cast<char>(bytes[i] ^ 0x11);
    cloze::Result<std::string> damaged = cloze::Model::load_files({{"damaged.gguf", bytes}}).value().verify();
    CHECK(damaged.status() == CLOZE_VERIFICATION_FAILED && damaged.partial().find("\"passed\":false") != std::string::npos);
}

static long resident() {
    long size = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> size >> pages;
    return pages * sysconf(_SC_PAGESIZE);
}

// Successes and failures of several kinds in turn.
static void one_call(const cloze::Model &encoder, const cloze::Model &ranker, long round) {
    switch (round % 6) {
    case 0: return (void)encoder.encode({"a text", "b"}).value();
    case 1: return (void)encoder.encode({"a text"}, {{"deadline_ms", 0}}).partial();
    case 2: return CHECK(encoder.encode({"\xff"}).status() == CLOZE_INVALID_UTF8);
    case 3: return (void)encoder.tokenize("a text", "a pair").value();
    case 4: return (void)ranker.rerank("a query", {"a", "b"}, {{"top", 1}}).value();
    default: return CHECK(encoder.encode({"a"}, {{"no_such_key", 1}}).status() == CLOZE_INVALID_ARGUMENT);
    }
}

static void memory_stays_flat_over_a_hundred_thousand_calls() {
    cloze::Model encoder = gelu(), ranker = open("heads/rerank-sigmoid");
    for (long round = 0; round < rounds / 10; round++) one_call(encoder, ranker, round);
    long before = resident();
    for (long round = 0; round < rounds; round++) one_call(encoder, ranker, round);
    CHECK(resident() - before < (rounds < 100000 ? 64L << 20 : 1L << 20)); // a sanitizer keeps what was freed for a while
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    golden = argv[1];
    if (argc > 2) rounds = std::atol(argv[2]);
#define TEST(name) {#name, name}
    return run({TEST(errors_are_thrown_or_asked_for), TEST(what_owns_a_handle_moves_and_is_not_copied), TEST(settings_are_words_or_numbers_in_any_locale),
                TEST(texts_come_from_any_list), TEST(an_empty_pair_is_not_none), TEST(floats_are_not_read_out_of_other_numbers),
                TEST(stopped_calls_keep_what_is_finished), TEST(threads_share_a_model_and_a_request), TEST(memory_says_what_a_model_holds),
                TEST(a_file_proves_itself_or_the_status_tells_that_it_does_not),
                TEST(memory_stays_flat_over_a_hundred_thousand_calls)});
}
