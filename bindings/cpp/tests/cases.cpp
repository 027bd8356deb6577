// Does C++ get the answers of the reference, and a clear status for what is wrong? The cases are those of tests/golden/bindings, which
// tests/golden/make/bindings.py describes.
//
//     cases tests/golden

#include "cloze.hpp"

#include "check.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

using nlohmann::json;

static std::filesystem::path golden;

static std::string contents(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

template <typename Of>
static Of words(const json &test, const char *name, Of of = {}) {
    const json settings = test.value(name, json::object());
    for (const auto &[key, value] : settings.items())
        if (auto set = of.set(key, value.template get<std::string>()); !set) throw set.error();
    return of;
}

static std::string text_of(const json &test, const json &text) {
    std::string given = text.get<std::string>(), bytes;
    if (!test.value("hex", false)) return given;
    for (std::size_t i = 0; i < given.size(); i += 2) bytes += static_cast<char>(std::stoi(given.substr(i, 2), nullptr, 16));
    return bytes;
}

// A case, its texts, and the numbers that it compares.
struct Case {
    explicit Case(const json &t) : test(t), expect(t.value("expect", json::object())), call(t["call"]), query(t.value("query", "")) {
        tolerance = t.value("tolerance", 0.0);
        for (const json &text : t.value("texts", json::array())) {
            if (text.is_array()) inputs.push_back(text.get<std::vector<std::string>>());
            else texts.push_back(text_of(t, text));
        }
        for (const json &pair : t.value("pairs", json::array())) pairs.push_back(pair.is_null() ? std::nullopt : std::optional(pair.get<std::string>()));
    }

    cloze::Result<cloze::Model> open() const {
        cloze::Options options = words<cloze::Options>(test, "options");
        std::vector<std::pair<std::string, std::string>> held;
        const json given = test.value("files", json::object());
        for (const auto &[name, content] : given.items()) held.emplace_back(name, content.get<std::string>());
        if (test.value("memory", false)) {
            std::filesystem::path folder = golden / test["model"].get<std::string>();
            for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
                if (entry.is_regular_file()) held.emplace_back(std::filesystem::relative(entry.path(), folder).string(), contents(entry.path()));
        }
        std::vector<cloze::File> files;
        for (const auto &[name, content] : held) files.push_back({name, content});
        if (!files.empty()) return cloze::Model::load_files(files, options);
        return cloze::Model::load((golden / test.value("model", "")).string(), options);
    }

    void same(double got, const json &want, const std::string &what) const {
        double wanted = want.get<double>();
        if (std::abs(got - wanted) <= tolerance * std::max(1.0, std::abs(wanted))) return;
        check_equal(got, wanted, what);
    }
    template <typename Values>
    void same_all(const Values &got, const json &want, const std::string &what) const {
        check_equal(got.size(), want.size(), what + ", how many");
        for (std::size_t i = 0; i < want.size(); i++) same(static_cast<double>(got[i]), want[i], what + " " + std::to_string(i));
    }

    const json test, expect;
    std::string call, query;
    double tolerance;
    std::vector<std::string> texts;
    std::vector<std::vector<std::string>> inputs;
    std::vector<std::optional<std::string>> pairs;
};

// Of a call that was stopped: how many inputs it says are finished.
template <typename T>
static T done(cloze::Result<T> result, std::size_t &finished) {
    if constexpr (std::is_base_of_v<cloze::Ranking, T>) {
        if (result.has_partial()) finished = result.partial().scored;
    } else if constexpr (!std::is_same_v<T, std::string> && !std::is_same_v<T, cloze::Tokens> && !std::is_same_v<T, cloze::Maps>) {
        if (result.has_partial()) finished = result.partial().finished;
    }
    return std::move(result).value();
}

static float half(std::uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24) : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
    return bits >> 15 ? -value : value;
}

// The numbers that packed vectors stand for, and of `binary` their bytes in hexadecimal.
static void compare_packed(const Case &c, const cloze::Packed &got) {
    std::string output = c.test["set"]["output"];
    if (output == "binary") {
        std::size_t width = (got.dimensions + 7) / 8;
        for (std::size_t i = 0; i < c.expect["bits"].size(); i++) {
            std::string hex;
            char two[3];
            for (std::size_t at = i * width; at < (i + 1) * width; at++) hex += (std::snprintf(two, sizeof two, "%02x", got.data[at]), two);
            check_equal(hex, c.expect["bits"][i].get<std::string>(), "bits " + std::to_string(i));
        }
        return;
    }
    std::size_t width = output == "f16" ? 2 : 1;
    for (std::size_t i = 0; i < c.expect["vectors"].size(); i++) {
        std::vector<float> values;
        for (std::size_t d = 0; d < got.dimensions; d++) {
            const unsigned char *at = got.data.data() + (i * got.dimensions + d) * width;
            std::uint16_t bits = 0;
            if (width == 2) std::memcpy(&bits, at, 2);
            values.push_back(width == 2 ? half(bits) : static_cast<float>(static_cast<signed char>(*at)) * got.scales.at(i));
        }
        c.same_all(values, c.expect["vectors"][i], "vector " + std::to_string(i));
    }
}

static void encode(const Case &c, const cloze::Model &model, const cloze::Request &request, std::size_t &finished) {
    json set = c.test.value("set", json::object());
    cloze::Report report;
    if (set.value("output", "f32") != "f32") {
        cloze::Packed got = done(model.encode_packed(c.texts, request), finished);
        compare_packed(c, got);
        report = got;
    } else {
        cloze::Vectors got = done(model.encode(c.texts, request), finished);
        for (std::size_t i = 0; i < c.expect["vectors"].size(); i++) c.same_all(got.vector(i), c.expect["vectors"][i], "vector " + std::to_string(i));
        report = got;
        // The same into a buffer of the caller's; one byte less is too small, and says how much is needed.
        std::vector<unsigned char> buffer(got.bytes);
        cloze::Report into = model.encode_into(c.texts, buffer.data(), buffer.size(), request).value();
        CHECK(into.bytes == got.bytes && (buffer.empty() || std::memcmp(buffer.data(), got.values.data(), buffer.size()) == 0));
        if (!buffer.empty()) {
            auto small = model.encode_into(c.texts, buffer.data(), buffer.size() - 1, request);
            CHECK(small.status() == CLOZE_BUFFER_TOO_SMALL && small.partial().bytes == got.bytes);
        }
    }
    check_equal(report.dimensions, c.expect["dimensions"].get<std::size_t>(), "dimensions");
    check_equal(model.dimensions(request).value(), report.dimensions, "dimensions asked for");
    check_equal(report.finished, c.texts.size(), "finished");
    for (std::size_t i = 0; i < report.size(); i++) {
        check_equal(report[i].vectors, c.expect["rows"][i].get<std::size_t>(), "rows of a text");
        if (!c.expect.contains("tokens")) continue;
        check_equal(report[i].tokens, c.expect["tokens"][i].get<std::size_t>(), "tokens");
        check_equal(report[i].total, c.expect["totals"][i].get<std::size_t>(), "totals");
        check_equal(report[i].truncated, c.expect["truncated"][i].get<bool>(), "truncated");
    }
}

static void encode_sparse(const Case &c, const cloze::Model &model, const cloze::Request &request, std::size_t &finished) {
    cloze::Sparse got = done(model.encode_sparse(c.texts, request), finished);
    for (std::size_t i = 0; i < c.texts.size(); i++) {
        const json &want = c.expect["weights"][i];
        check_equal(got[i].weights.size(), want.size(), "weights");
        for (std::size_t w = 0; w < want.size(); w++) {
            check_equal(got[i].weights[w].id, want[w][0].get<std::uint32_t>(), "id");
            c.same(got[i].weights[w].weight, want[w][1], "weight");
            CHECK(!got[i].weights[w].token.empty());
        }
    }
}

static void encode_late(const Case &c, const cloze::Model &model, const cloze::Request &request, std::size_t &finished) {
    cloze::Late got = done(model.encode_late(c.texts, request), finished);
    check_equal(got.dimensions, c.expect["dimensions"].get<std::size_t>(), "dimensions");
    for (std::size_t i = 0; i < c.texts.size(); i++) {
        const json &want = c.expect["answers"][i];
        std::vector<float> flat;
        for (const json &row : want["vectors"])
            for (const json &value : row) flat.push_back(value.get<float>());
        c.same_all(got[i].values, json(flat), "vectors");
        check_equal(got[i].rows.size(), want["ids"].size(), "ids");
        for (std::size_t row = 0; row < got[i].rows.size(); row++) {
            check_equal(got[i].rows[row].id, want["ids"][row].get<std::uint32_t>(), "id");
            check_equal(got[i].rows[row].start, want["offsets"][row][0].get<std::size_t>(), "start");
            check_equal(got[i].rows[row].end, want["offsets"][row][1].get<std::size_t>(), "end");
        }
    }
}

static void rerank(const Case &c, const cloze::Model &model, const cloze::Request &request, std::size_t &finished) {
    cloze::Ranking got = done(model.rerank(c.query, c.texts, request), finished);
    check_equal(got.ranks.size(), c.expect["order"].size(), "ranks");
    CHECK(got.scored == c.texts.size() && got.documents.size() == c.texts.size());
    for (std::size_t rank = 0; rank < got.ranks.size(); rank++) {
        std::size_t document = c.expect["order"][rank];
        check_equal(got.ranks[rank].document, document, "document at rank " + std::to_string(rank));
        c.same(got.ranks[rank].logit, c.expect["logits"][document], "logit");
        if (c.expect.contains("scores")) c.same(got.ranks[rank].score, c.expect["scores"][document], "score");
    }
}

static void compare_labels(const Case &c, const cloze::Classes &got) {
    for (std::size_t i = 0; i < c.texts.size(); i++) {
        const json &want = c.expect["answers"][i];
        check_equal(got[i].labels.size(), want["labels"].size(), "labels");
        for (std::size_t place = 0; place < got[i].labels.size(); place++) {
            const cloze::Label &label = got[i].labels[place];
            check_equal(label.label, want["labels"][place].get<std::size_t>(), "label");
            check_equal(label.name, want["names"][place].get<std::string>(), "name");
            c.same(label.score, want["scores"][place], "score");
            if (want.contains("logits")) c.same(label.logit, want["logits"][place], "logit");
        }
    }
}

static void classify(const Case &c, const cloze::Model &model, const cloze::Request &request, std::size_t &finished) {
    compare_labels(c, done(c.pairs.empty() ? model.classify(c.texts, request) : model.classify_pairs(c.texts, c.pairs, request), finished));
}

static void classify_as(const Case &c, const cloze::Model &model, const cloze::Request &request, std::size_t &finished) {
    compare_labels(c, done(model.classify_as(c.texts, c.test["labels"].get<std::vector<std::string>>(), request), finished));
}

static void next_sentence(const Case &c, const cloze::Model &model, const cloze::Request &request, std::size_t &finished) {
    cloze::Follows got = done(model.next_sentence(c.texts, c.pairs, request), finished);
    for (std::size_t i = 0; i < c.texts.size(); i++) {
        const json &want = c.expect["answers"][i];
        c.same(got[i].score, want["score"], "score");
        c.same(got[i].logit, want["logit"], "logit");
        c.same(got[i].other_logit, want["other_logit"], "other logit");
    }
}

static void fill_mask(const Case &c, const cloze::Model &model, const cloze::Request &request, std::size_t &finished) {
    cloze::Fills got = done(model.fill_mask(c.texts, c.test["candidates"].get<std::vector<std::string>>(), request), finished);
    for (std::size_t i = 0; i < c.texts.size(); i++) {
        check_equal(got[i].blanks.size(), c.expect["answers"][i].size(), "blanks");
        for (std::size_t b = 0; b < got[i].blanks.size(); b++) {
            const cloze::Blank &blank = got[i].blanks[b];
            const json &want = c.expect["answers"][i][b];
            check_equal(blank.start, want["start"].get<std::size_t>(), "start");
            check_equal(blank.end, want["end"].get<std::size_t>(), "end");
            check_equal(blank.fills.size(), want["fills"].size(), "fills");
            for (std::size_t place = 0; place < blank.fills.size(); place++) {
                const json &fill = want["fills"][place];
                check_equal(blank.fills[place].id, fill["id"].get<std::uint32_t>(), "id");
                check_equal(blank.fills[place].token, fill["token"].get<std::string>(), "token");
                c.same(blank.fills[place].score, fill["score"], "score");
                c.same(blank.fills[place].logit, fill["logit"], "logit");
                if (fill.contains("text")) check_equal(blank.fills[place].text, fill["text"].get<std::string>(), "text");
            }
        }
    }
}

static void extract(const Case &c, const cloze::Model &model, const cloze::Request &request, std::size_t &finished) {
    cloze::Answers got = done(model.extract(c.query, c.texts, request), finished);
    for (std::size_t i = 0; i < c.texts.size(); i++) {
        const json &want = c.expect["answers"][i];
        c.same(got[i].none_score, want["none"]["score"], "score of none");
        c.same(got[i].none_logit, want["none"]["logit"], "logit of none");
        check_equal(got[i].answers.size(), want["answers"].size(), "answers");
        for (std::size_t place = 0; place < got[i].answers.size(); place++) {
            const cloze::Answer &answer = got[i].answers[place];
            const json &wanted = want["answers"][place];
            check_equal(answer.text, wanted["text"].get<std::string>(), "text");
            check_equal(answer.start, wanted["start"].get<std::size_t>(), "start");
            check_equal(answer.end, wanted["end"].get<std::size_t>(), "end");
            c.same(answer.score, wanted["score"], "score");
            c.same(answer.logit, wanted["logit"], "logit");
        }
    }
}

static void tag(const Case &c, const cloze::Model &model, const cloze::Request &request, std::size_t &finished) {
    std::vector<cloze::Texts> inputs(c.inputs.begin(), c.inputs.end());
    cloze::Entities got = done(c.call == "tag" ? model.tag(c.texts, request) : model.tag_words(inputs, request), finished);
    check_equal(got.size(), c.expect["answers"].size(), "inputs");
    for (std::size_t i = 0; i < got.size(); i++) {
        check_equal(got[i].entities.size(), c.expect["answers"][i].size(), "entities");
        for (std::size_t place = 0; place < got[i].entities.size(); place++) {
            const cloze::Entity &entity = got[i].entities[place];
            const json &want = c.expect["answers"][i][place];
            check_equal(entity.label, want["label"].get<std::string>(), "label");
            check_equal(entity.text, want["text"].get<std::string>(), "text");
            check_equal(entity.start, want["start"].get<std::size_t>(), "start");
            check_equal(entity.end, want["end"].get<std::size_t>(), "end");
            c.same(entity.score, want["score"], "score");
            if (!want.contains("words")) continue;
            check_equal(entity.first_word, want["words"][0].get<std::size_t>(), "first word");
            check_equal(entity.end_word, want["words"][1].get<std::size_t>(), "end of words");
        }
    }
}

static std::optional<std::string_view> pair_of(const Case &c) {
    return c.pairs.empty() ? std::nullopt : std::optional<std::string_view>(*c.pairs[0]);
}

static void tokenize(const Case &c, const cloze::Model &model, const cloze::Request &request, std::size_t &finished) {
    cloze::Tokens got = done(model.tokenize(c.texts[0], pair_of(c), request), finished);
    check_equal(got.total, c.expect["total"].get<std::size_t>(), "total");
    check_equal(got.truncated, c.expect["truncated"].get<bool>(), "truncated");
    check_equal(got.windows.size(), c.expect["windows"].size(), "windows");
    for (std::size_t w = 0; w < got.windows.size(); w++) {
        const json &want = c.expect["windows"][w];
        check_equal(got.windows[w].size(), want["ids"].size(), "tokens");
        for (std::size_t i = 0; i < got.windows[w].size(); i++) {
            const cloze::Token &token = got.windows[w][i];
            check_equal(token.id, want["ids"][i].get<std::uint32_t>(), "id");
            check_equal(token.type_id, want["types"][i].get<std::uint32_t>(), "type");
            check_equal(token.special, want["special"][i].get<bool>(), "special");
            check_equal(token.start, want["offsets"][i][0].get<std::size_t>(), "start");
            check_equal(token.end, want["offsets"][i][1].get<std::size_t>(), "end");
            check_equal(token.text, want["tokens"][i].get<std::string>(), "token");
        }
    }
}

static void attention(const Case &c, const cloze::Model &model, const cloze::Request &request, std::size_t &finished) {
    cloze::Maps got = done(model.attention(c.texts[0], pair_of(c), request), finished);
    check_equal(got.layers(), c.expect["layers"].get<std::size_t>(), "layers");
    check_equal(got.heads(), c.expect["heads"].get<std::size_t>(), "heads");
    check_equal(got.tokens().size(), c.expect["tokens"].get<std::size_t>(), "tokens");
    check_equal(got.hidden(), c.expect["hidden"].get<std::size_t>(), "hidden");
    const json &map = c.expect["map"], &state = c.expect["state"];
    c.same_all(got.attention(map["layer"], map["head"]).value(), map["values"], "map");
    c.same_all(got.state(state["layer"]).value(), state["values"], "state");
    CHECK(got.attention(got.layers(), 0).status() == CLOZE_INVALID_ARGUMENT);
}

static void describe(const Case &c, const cloze::Model &model, const cloze::Request &, std::size_t &finished) {
    json got = json::parse(done(model.describe(), finished));
    for (const auto &[name, value] : c.expect.items()) check_equal(got[name], value, name);
}

static void verify(const Case &, const cloze::Model &model, const cloze::Request &, std::size_t &finished) { done(model.verify(), finished); }

using Check = void (*)(const Case &, const cloze::Model &, const cloze::Request &, std::size_t &);
static const std::map<std::string, Check> CALLS = {
    {"encode", encode},     {"encode_sparse", encode_sparse}, {"encode_late", encode_late},     {"rerank", rerank},       {"classify", classify},
    {"classify_as", classify_as}, {"next_sentence", next_sentence}, {"fill_mask", fill_mask},   {"extract", extract},     {"tag", tag},
    {"tag_words", tag},     {"tokenize", tokenize},           {"attention", attention},         {"model_describe", describe}, {"model_verify", verify},
};

static void check(const Case &c, std::size_t &finished) {
    cloze::Model model = std::move(c.open()).value();
    cloze::Request request = words<cloze::Request>(c.test, "set");
    cloze::Cancel cancel;
    if (c.test.value("cancelled", false)) {
        cancel.cancel();
        request.set_cancel(cancel).value();
    }
    CALLS.at(c.call)(c, model, request, finished);
}

static void refuse(const json &test) {
    std::size_t finished = 999;
    try {
        check(Case(test), finished);
    } catch (const cloze::Error &error) {
        check_equal(std::string(error.name()), test["status"].get<std::string>(), error.message());
        if (error.message().find(test.value("message", "")) == std::string::npos) throw Failed("not in the message: " + error.message());
        if (test.contains("finished")) check_equal(finished, test["finished"].get<std::size_t>(), "finished");
        return;
    }
    throw Failed("nothing was refused");
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    golden = argv[1];
    json all = json::parse(contents(golden / "bindings/cases.json"));
    Tests tests;
    for (const json &test : all["cases"]) {
        tests.emplace_back(test["name"], [test] {
            std::size_t finished = 0;
            check(Case(test), finished);
        });
    }
    for (const json &test : all["refused"]) tests.emplace_back(test["name"], [test] { refuse(test); });
    return run(tests);
}
