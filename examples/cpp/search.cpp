// Find the lines of a text file that answer a query: search all of them by vectors, then let a reranker read the best ones.
//
//     c++ -std=c++17 search.cpp -lcloze -o search
//     ./search models/minilm examples/demo/passages.txt "how much is postage"
//     ./search models/minilm examples/demo/passages.txt "how much is postage" a-cross-encoder
//
// Without a reranker the vectors' own order stands. A long file is encoded once; the vectors stay in memory.

#include <cloze.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

static constexpr std::size_t CANDIDATES = 20, SHOWN = 5;

static std::vector<std::string> lines_of(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw cloze::Error(CLOZE_IO, path + ": cannot be read");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
        if (!line.empty()) lines.push_back(line);
    return lines;
}

// The lines nearest to the query, best first. Vectors have length 1, so that a product is a cosine.
static std::vector<cloze::Ranked> search(const cloze::Model &model, const std::string &query, const std::vector<std::string> &lines) {
    cloze::Vectors all = model.encode(lines, {{"normalize", true}}).value();
    cloze::Vectors wanted = model.encode({query}, {{"normalize", true}}).value();
    std::vector<cloze::Ranked> found;
    for (std::size_t i = 0; i < lines.size(); i++) {
        cloze::Span<const float> line = all.vector(i), asked = wanted.vector(0);
        float cosine = std::inner_product(line.begin(), line.end(), asked.begin(), 0.0f);
        found.push_back({i, cosine, cosine});
    }
    std::size_t kept = std::min(found.size(), CANDIDATES);
    auto better = [](const cloze::Ranked &a, const cloze::Ranked &b) { return a.score > b.score; };
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(), better);
    found.resize(kept);
    return found;
}

// The same lines in the order of a model that reads query and line together, for at most a second.
static std::vector<cloze::Ranked> rerank(const cloze::Model &model, const std::string &query, const std::vector<std::string> &lines, const std::vector<cloze::Ranked> &found) {
    std::vector<std::string_view> candidates;
    for (const cloze::Ranked &one : found) candidates.push_back(lines[one.document]);
    // What was ranked when the time was over is better than nothing.
    std::vector<cloze::Ranked> ranks = model.rerank(query, candidates, {{"deadline_ms", 1000}}).partial().ranks;
    for (cloze::Ranked &one : ranks) one.document = found[one.document].document;
    return ranks;
}

int main(int argc, char **argv) {
    if (argc != 4 && argc != 5) {
        std::fprintf(stderr, "usage: %s MODEL FILE QUERY [RERANKER]\n", argv[0]);
        return 2;
    }
    try {
        cloze::Model model = cloze::Model::load(argv[1]).value();
        std::vector<std::string> lines = lines_of(argv[2]);
        std::vector<cloze::Ranked> found = search(model, argv[3], lines);
        if (argc == 5) found = rerank(cloze::Model::load(argv[4]).value(), argv[3], lines, found);
        for (std::size_t i = 0; i < std::min(found.size(), SHOWN); i++)
            std::printf("%.3f  %s\n", static_cast<double>(found[i].score), lines[found[i].document].c_str());
    } catch (const cloze::Error &error) {
        std::fprintf(stderr, "%s: %s\n", error.name(), error.what());
        return 1;
    }
    return 0;
}
