// cloze_answers.hpp - what do calls answer? Plain values, read once from the handles of cloze.h. Included by cloze.hpp.

#ifndef CLOZE_ANSWERS_HPP
#define CLOZE_ANSWERS_HPP

#include <cloze.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cloze {

/// A borrowed piece of an array: std::span is of C++20.
template <typename T>
struct Span {
    T *first = nullptr;
    std::size_t length = 0;

    T *data() const noexcept { return first; }
    std::size_t size() const noexcept { return length; }
    T *begin() const noexcept { return first; }
    T *end() const noexcept { return first + length; }
    T &operator[](std::size_t at) const noexcept { return first[at]; }
};

// Answers: plain values. Offsets are in the unit that the request's `offsets` names.

/// What became of an input: tokens seen, tokens in all, whether some were left out, and the number of windows.
struct Seen {
    std::size_t tokens = 0, total = 0;
    bool truncated = false;
    std::size_t windows = 0;
};

/// Answers for a list of inputs; those from number `finished` on are empty: a deadline or a cancellation came first.
template <typename T>
struct Batch {
    std::vector<T> inputs;
    std::size_t finished = 0;

    std::size_t size() const noexcept { return inputs.size(); }
    const T &operator[](std::size_t input) const noexcept { return inputs[input]; }
    auto begin() const noexcept { return inputs.begin(); }
    auto end() const noexcept { return inputs.end(); }
};

/// What became of a text that was encoded, and which vectors are its own.
struct Encoded : Seen {
    std::size_t first_vector = 0, vectors = 0;
};
struct Report : Batch<Encoded> {
    std::size_t dimensions = 0;
    /// Bytes written; where the buffer was too small (partial()), those needed.
    std::size_t bytes = 0;
    /// Of `output` int8: of each vector what its numbers are to be multiplied by.
    std::vector<float> scales;
};
/// Vectors as numbers, one after another.
struct Vectors : Report {
    std::vector<float> values;
    Span<const float> vector(std::size_t number) const noexcept { return {values.data() + number * dimensions, dimensions}; }
};
/// Vectors as bytes, laid out as cloze_encode says.
struct Packed : Report {
    std::vector<unsigned char> data;
};

struct Weight {
    std::uint32_t id = 0;
    float weight = 0;
    std::string token;
};
struct SparseText : Seen {
    std::vector<Weight> weights;
};
using Sparse = Batch<SparseText>;

struct LateToken {
    std::uint32_t id = 0;
    std::size_t start = 0, end = 0;
    std::string token;
};
/// The vectors of a text, one after another, and the token that each stands for.
struct LateText : Seen {
    std::vector<LateToken> rows;
    std::vector<float> values;
};
struct Late : Batch<LateText> {
    std::size_t dimensions = 0;
};

struct Ranked {
    std::size_t document = 0;
    float score = 0, logit = 0;
};
struct Ranking {
    std::vector<Ranked> ranks;
    std::size_t scored = 0;
    std::vector<Seen> documents;
};

struct Label {
    std::size_t label = 0;
    std::string name;
    float score = 0, logit = 0;
};
struct Labelled : Seen {
    std::vector<Label> labels;
};
using Classes = Batch<Labelled>;

struct Follow : Seen {
    float score = 0, logit = 0, other_logit = 0;
};
using Follows = Batch<Follow>;

/// A token for a blank, and the whole text with it in its place.
struct Fill {
    std::uint32_t id = 0;
    std::string token;
    float score = 0, logit = 0;
    std::string text;
};
struct Blank {
    std::size_t start = 0, end = 0;
    std::vector<Fill> fills;
};
struct Filled : Seen {
    std::vector<Blank> blanks;
};
using Fills = Batch<Filled>;

struct Answer {
    std::string text;
    std::size_t start = 0, end = 0;
    float score = 0, logit = 0;
};
/// The answers of a context, the best first, and how probable it is that it has none.
struct Extracted : Seen {
    std::vector<Answer> answers;
    float none_score = 0, none_logit = 0;
};
using Answers = Batch<Extracted>;

struct Entity {
    std::string label, text;
    std::size_t start = 0, end = 0;
    float score = 0;
    /// Of tag_words: the words from `first_word` up to but not including `end_word`.
    std::size_t first_word = 0, end_word = 0;
};
struct Tagged : Seen {
    std::vector<Entity> entities;
};
using Entities = Batch<Tagged>;

struct Token {
    std::uint32_t id = 0, type_id = 0;
    bool special = false;
    std::size_t start = 0, end = 0;
    std::string text;
};
struct Tokens {
    std::vector<std::vector<Token>> windows;
    std::size_t total = 0;
    bool truncated = false;
};

// Readers of handles. Numbers asked for are those that the handle itself said there are, so the getters cannot fail.
namespace detail {

/// The text of a getter that returns a pointer and writes a length last.
template <typename Get, typename... At>
std::string text(Get get, At... at) {
    std::size_t length = 0;
    const char *start = get(at..., &length);
    return start ? std::string(start, length) : std::string();
}

template <typename Raw>
using SeenOf = cloze_status (*)(const Raw *, std::size_t, std::size_t *, std::size_t *, bool *, std::size_t *, cloze_error *);

/// Reads `count` inputs: `one` fills in what is special, `seen` what became of each.
template <typename T, typename Raw, typename One>
Batch<T> batch(const Raw *raw, std::size_t count, std::size_t finished, SeenOf<Raw> seen, One one) {
    Batch<T> all;
    all.finished = finished;
    all.inputs.resize(count);
    for (std::size_t i = 0; i < count; i++) {
        T &input = all.inputs[i];
        seen(raw, i, &input.tokens, &input.total, &input.truncated, &input.windows, nullptr);
        one(input, i);
    }
    return all;
}

inline Report read(const cloze_report *raw, std::size_t bytes) {
    Report report;
    report.finished = cloze_report_finished(raw);
    report.dimensions = cloze_report_dimensions(raw);
    report.bytes = bytes;
    report.inputs.resize(cloze_report_count(raw));
    std::size_t vectors = 0;
    for (std::size_t i = 0; i < report.inputs.size(); i++) {
        Encoded &text = report.inputs[i];
        cloze_report_text(raw, i, &text.tokens, &text.total, &text.truncated, &text.windows, &text.first_vector, &text.vectors, nullptr);
        vectors += text.vectors;
    }
    float scale = 0;
    for (std::size_t i = 0; i < vectors && cloze_report_scale(raw, i, &scale, nullptr) == CLOZE_OK; i++) report.scales.push_back(scale);
    return report;
}

inline Sparse read(const cloze_sparse *raw) {
    return batch<SparseText>(raw, cloze_sparse_count(raw), cloze_sparse_finished(raw), cloze_sparse_input, [&](SparseText &input, std::size_t i) {
        std::size_t count = cloze_sparse_weights(raw, i);
        std::vector<std::uint32_t> ids(count);
        std::vector<float> weights(count);
        cloze_sparse_copy(raw, i, ids.data(), weights.data(), count, &count, nullptr);
        for (std::size_t place = 0; place < count; place++) input.weights.push_back({ids[place], weights[place], text(cloze_sparse_token, raw, i, place)});
    });
}

inline Late read(const cloze_late *raw) {
    Late late;
    late.dimensions = cloze_late_dimensions(raw);
    static_cast<Batch<LateText> &>(late) =
        batch<LateText>(raw, cloze_late_count(raw), cloze_late_finished(raw), cloze_late_input, [&](LateText &input, std::size_t i) {
            input.rows.resize(cloze_late_vectors(raw, i));
            input.values.resize(input.rows.size() * late.dimensions);
            std::size_t count = 0;
            cloze_late_copy(raw, i, input.values.data(), input.values.size(), &count, nullptr);
            for (std::size_t place = 0; place < input.rows.size(); place++) {
                LateToken &token = input.rows[place];
                cloze_late_get(raw, i, place, &token.id, &token.start, &token.end, nullptr);
                token.token = text(cloze_late_token, raw, i, place);
            }
        });
    return late;
}

inline Ranking read(const cloze_ranking *raw, std::size_t documents) {
    Ranking ranking;
    ranking.scored = cloze_ranking_scored(raw);
    ranking.ranks.resize(cloze_ranking_count(raw));
    for (std::size_t rank = 0; rank < ranking.ranks.size(); rank++) {
        Ranked &ranked = ranking.ranks[rank];
        cloze_ranking_get(raw, rank, &ranked.document, &ranked.score, &ranked.logit, nullptr);
    }
    ranking.documents = batch<Seen>(raw, documents, documents, cloze_ranking_document, [](Seen &, std::size_t) {}).inputs;
    return ranking;
}

inline Classes read(const cloze_classes *raw) {
    return batch<Labelled>(raw, cloze_classes_count(raw), cloze_classes_finished(raw), cloze_classes_input, [&](Labelled &input, std::size_t i) {
        input.labels.resize(cloze_classes_labels(raw, i));
        for (std::size_t place = 0; place < input.labels.size(); place++) {
            Label &label = input.labels[place];
            cloze_classes_get(raw, i, place, &label.label, &label.score, &label.logit, nullptr);
            label.name = text(cloze_classes_name, raw, i, place);
        }
    });
}

inline Follows read(const cloze_follows *raw) {
    return batch<Follow>(raw, cloze_follows_count(raw), cloze_follows_finished(raw), cloze_follows_input, [&](Follow &input, std::size_t i) {
        cloze_follows_get(raw, i, &input.score, &input.logit, &input.other_logit, nullptr);
    });
}

inline Blank read_blank(const cloze_fills *raw, std::size_t input, std::size_t number) {
    Blank blank;
    std::size_t count = 0;
    cloze_fills_blank(raw, input, number, &blank.start, &blank.end, &count, nullptr);
    blank.fills.resize(count);
    for (std::size_t place = 0; place < count; place++) {
        Fill &fill = blank.fills[place];
        cloze_fills_get(raw, input, number, place, &fill.id, &fill.score, &fill.logit, nullptr);
        fill.token = text(cloze_fills_token, raw, input, number, place);
        std::size_t length = 0;
        cloze_fills_text(raw, input, number, place, nullptr, 0, &length, nullptr);
        fill.text.resize(length);
        cloze_fills_text(raw, input, number, place, fill.text.data(), length, &length, nullptr);
    }
    return blank;
}

inline Fills read(const cloze_fills *raw) {
    return batch<Filled>(raw, cloze_fills_count(raw), cloze_fills_finished(raw), cloze_fills_input, [&](Filled &input, std::size_t i) {
        for (std::size_t blank = 0; blank < cloze_fills_blanks(raw, i); blank++) input.blanks.push_back(read_blank(raw, i, blank));
    });
}

inline Answers read(const cloze_answers *raw) {
    return batch<Extracted>(raw, cloze_answers_count(raw), cloze_answers_finished(raw), cloze_answers_context, [&](Extracted &input, std::size_t i) {
        cloze_answers_none(raw, i, &input.none_score, &input.none_logit, nullptr);
        input.answers.resize(cloze_answers_found(raw, i));
        for (std::size_t place = 0; place < input.answers.size(); place++) {
            Answer &answer = input.answers[place];
            cloze_answers_get(raw, i, place, &answer.start, &answer.end, &answer.score, &answer.logit, nullptr);
            answer.text = text(cloze_answers_text, raw, i, place);
        }
    });
}

inline Entities read(const cloze_entities *raw) {
    return batch<Tagged>(raw, cloze_entities_count(raw), cloze_entities_finished(raw), cloze_entities_input, [&](Tagged &input, std::size_t i) {
        input.entities.resize(cloze_entities_found(raw, i));
        for (std::size_t place = 0; place < input.entities.size(); place++) {
            Entity &entity = input.entities[place];
            cloze_entities_get(raw, i, place, &entity.start, &entity.end, &entity.score, nullptr);
            cloze_entities_words(raw, i, place, &entity.first_word, &entity.end_word, nullptr); // of a text it refuses, and leaves 0
            entity.label = text(cloze_entities_label, raw, i, place);
            entity.text = text(cloze_entities_text, raw, i, place);
        }
    });
}

inline Tokens read(const cloze_tokens *raw) {
    Tokens tokens;
    tokens.total = cloze_tokens_total(raw);
    tokens.truncated = cloze_tokens_truncated(raw);
    tokens.windows.resize(cloze_tokens_windows(raw));
    for (std::size_t window = 0; window < tokens.windows.size(); window++) {
        tokens.windows[window].resize(cloze_tokens_count(raw, window));
        for (std::size_t place = 0; place < tokens.windows[window].size(); place++) {
            Token &token = tokens.windows[window][place];
            cloze_tokens_get(raw, window, place, &token.id, &token.type_id, &token.special, &token.start, &token.end, nullptr);
            token.text = text(cloze_tokens_text, raw, window, place);
        }
    }
    return tokens;
}

} // namespace detail
} // namespace cloze

#endif
