// Find the passages that answer a query, best first.
//
//     c++ -std=c++17 search.cpp -lcloze -o search
//     ./search models/minilm
//     ./search models/minilm "a query" "a passage" "another passage"

#include <cloze.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

// Each handle is freed by its own function.
template <typename T, void (*free_handle)(T *)>
struct Free {
    void operator()(T *handle) const { free_handle(handle); }
};
template <typename T, void (*free_handle)(T *)>
using Handle = std::unique_ptr<T, Free<T, free_handle>>;

using Error = Handle<cloze_error, cloze_error_free>;
using Request = Handle<cloze_request, cloze_request_free>;

// A status as an exception.
void check(cloze_status status, const Error &error) {
    if (status != CLOZE_OK) throw std::runtime_error(cloze_error_message(error.get(), nullptr));
}

class Model {
public:
    explicit Model(const std::string &path) {
        cloze_model *model = nullptr;
        Error error(cloze_error_new());
        check(cloze_model_load(path.c_str(), nullptr, &model, error.get()), error);
        model_.reset(model);
    }

    // One vector of length 1 a text, one after another: the product of two is their cosine.
    std::vector<float> encode(const std::vector<std::string> &texts) const {
        Error error(cloze_error_new());
        Request request(cloze_request_new());
        check(cloze_request_set(request.get(), "normalize", "true", error.get()), error);

        std::vector<const char *> starts;
        std::vector<std::size_t> lengths;
        for (const std::string &text : texts) {
            starts.push_back(text.data());
            lengths.push_back(text.size());
        }
        std::size_t bytes = 0;
        check(cloze_encode_size(model_.get(), request.get(), texts.size(), &bytes, error.get()), error);
        std::vector<float> vectors(bytes / sizeof(float));
        check(cloze_encode(model_.get(), request.get(), starts.data(), lengths.data(), texts.size(), vectors.data(), bytes, &bytes, nullptr, error.get()), error);
        return vectors;
    }

private:
    Handle<cloze_model, cloze_model_free> model_;
};

void search(const Model &model, const std::string &query, const std::vector<std::string> &passages) {
    std::vector<float> wanted = model.encode({query});
    std::vector<float> found = model.encode(passages);

    std::vector<std::pair<float, const std::string *>> ranked;
    for (std::size_t i = 0; i < passages.size(); i++) {
        float cosine = std::inner_product(wanted.begin(), wanted.end(), found.begin() + static_cast<std::ptrdiff_t>(i * wanted.size()), 0.0f);
        ranked.emplace_back(cosine, &passages[i]);
    }
    std::sort(ranked.begin(), ranked.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
    for (const auto &[score, passage] : ranked) std::printf("%.3f  %s\n", static_cast<double>(score), passage->c_str());
}

int main(int argc, char **argv) {
    if (argc < 2 || argc == 3) {
        std::fprintf(stderr, "usage: %s MODEL [QUERY PASSAGE...]\n", argv[0]);
        return 2;
    }
    std::string query = "How can I get back into my account?";
    std::vector<std::string> passages = {
        "Choose \"Forgotten password\" on the sign-in page and follow the link in the mail.",
        "Our office is open from Monday to Friday, nine to five.",
        "Deliveries within the country take two to three working days.",
        "An account is locked after five failed attempts; it opens again after one hour.",
    };
    if (argc > 3) {
        query = argv[2];
        passages.assign(argv + 3, argv + argc);
    }
    try {
        search(Model(argv[1]), query, passages);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
