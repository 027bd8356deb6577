// cloze.hpp - Cloze in C++17: how does a C++ program encode, rank, label and search texts in its own process?
//
//     cloze::Model model = cloze::Model::load("models/minilm").value();
//     cloze::Ranking ranking = model.rerank("how much is postage", passages, {{"top", 3}}).value();
//     for (const cloze::Ranked &ranked : ranking.ranks) std::cout << ranked.score << ' ' << passages[ranked.document] << '\n';
//
// All of it stands in this header and goes through cloze.h, whose words hold here, too: keys and values of settings, what a call
// answers, limits. A comment below says only what C++ adds.
//
// Errors. A call that can fail gives a Result. Its value() is the value, or throws cloze::Error; or ask ok(), status() and message(),
// and nothing is thrown. A call that was stopped by a deadline or a cancellation has both an error and the finished part: partial().
//
// Ownership. Model, Request, Options, Cancel and Maps own a handle and can be moved, not copied; Model::share() gives one more
// reference. All answers but Maps are plain values that need nothing any more.
//
// Threads. Any number of threads may call one Model at once, with requests of their own or one that none of them changes. A
// Model that is moved or destroyed while others call it needs to be shared with them first: share() for each.

#ifndef CLOZE_HPP
#define CLOZE_HPP

#include <cloze.h>

#include "cloze_answers.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <locale>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cloze {

/// A status and its sentence. Thrown by Result::value(); of a success status() is CLOZE_OK.
class Error : public std::exception {
public:
    Error() = default;
    Error(cloze_status status, std::string message) : status_(status), message_(std::move(message)) {}

    cloze_status status() const noexcept { return status_; }
    /// The name of the status, such as "CLOZE_TOO_LONG".
    const char *name() const noexcept { return cloze_status_name(status_); }
    const std::string &message() const noexcept { return message_; }
    const char *what() const noexcept override { return message_.c_str(); }

private:
    cloze_status status_ = CLOZE_OK;
    std::string message_;
};

/// The value of a call, or its error; or, of a call that was stopped, both.
template <typename T>
class [[nodiscard]] Result {
public:
    Result(T value) : value_(std::move(value)) {}
    Result(Error error) : error_(std::move(error)) {}
    /// What a failed call has to give all the same.
    Result(T value, Error error) : value_(std::move(value)), error_(std::move(error)) {}

    /// Whether the call did all that it was asked.
    bool ok() const noexcept { return error_.status() == CLOZE_OK; }
    explicit operator bool() const noexcept { return ok(); }
    cloze_status status() const noexcept { return error_.status(); }
    const std::string &message() const noexcept { return error_.message(); }
    const Error &error() const noexcept { return error_; }

    /// The value; throws Error where the call failed or was stopped. Without exceptions (-fno-exceptions) it ends the process.
    T &value() & { return must(ok()), *value_; }
    const T &value() const & { return must(ok()), *value_; }
    T value() && { return must(ok()), std::move(*value_); }

    /// The value, also of a call that was stopped: what was finished by then. Throws Error where there is none.
    T &partial() & { return must(value_.has_value()), *value_; }
    const T &partial() const & { return must(value_.has_value()), *value_; }
    T partial() && { return must(value_.has_value()), std::move(*value_); }
    bool has_partial() const noexcept { return value_.has_value(); }

    /// The value of a Result that is ok().
    T &operator*() noexcept { return *value_; }
    T *operator->() noexcept { return &*value_; }

private:
    void must(bool there) const {
        if (there) return;
#if defined(__cpp_exceptions)
        throw error_;
#else
        std::fprintf(stderr, "cloze: %s\n", error_.what());
        std::abort();
#endif
    }

    std::optional<T> value_;
    Error error_;
};

/// The value of a call that only succeeds or fails.
struct Done {};

namespace detail {

template <typename T, void (*free_it)(T *)>
struct Free {
    void operator()(T *handle) const noexcept { free_it(handle); }
};
template <typename T, void (*free_it)(T *)>
using Owned = std::unique_ptr<T, Free<T, free_it>>;

/// Runs a call that takes a cloze_error, and gives its error, if any.
template <typename Call>
Error run(Call call) {
    Owned<cloze_error, cloze_error_free> error(cloze_error_new());
    cloze_status status = call(error.get());
    if (status == CLOZE_OK) return Error();
    std::size_t length = 0;
    const char *message = cloze_error_message(error.get(), &length);
    return Error(status, std::string(message, length));
}

inline bool stopped(const Error &error) {
    return error.status() == CLOZE_DEADLINE_EXCEEDED || error.status() == CLOZE_CANCELLED;
}

/// A word for C ends at its first NUL: one that has another inside would become a different word.
inline Error word(const char *what, const std::string &word) {
    if (word.find('\0') == std::string::npos) return Error();
    return Error(CLOZE_INVALID_ARGUMENT, std::string(what) + " '" + word.c_str() + "' has a NUL inside: leave it out");
}

} // namespace detail

/// A key and its value; numbers become words.
struct Setting {
    Setting(std::string_view k, std::string_view v) : key(k), value(v) {}
    template <typename Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
    Setting(std::string_view k, Number number) : key(k) {
        std::ostringstream text;
        text.imbue(std::locale::classic());
        text << std::boolalpha << number;
        value = text.str();
    }

    std::string key, value;
};

namespace detail {

/// cloze_options and cloze_request: words, set one after another. Empty ones are NULL, which stands for the defaults.
template <typename Raw, Raw *(*make)(), cloze_status (*set_it)(Raw *, const char *, const char *, cloze_error *), void (*free_it)(Raw *)>
class Settings {
public:
    Settings() = default;
    Settings(std::initializer_list<Setting> settings) {
        for (const Setting &setting : settings)
            if (error_.status() == CLOZE_OK) error_ = set_one(setting);
    }

    /// Sets a key. A value that is refused changes nothing.
    Result<Done> set(std::string_view key, std::string_view value) { return done(set_one({key, value})); }
    template <typename Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
    Result<Done> set(std::string_view key, Number value) { return done(set_one({key, value})); }

    /// Why a setting in braces was refused: calls that are given it say so, too.
    const Error &error() const noexcept { return error_; }
    const Raw *get() const noexcept { return handle_.get(); }

protected:
    Raw *made() {
        if (!handle_) handle_.reset(make());
        return handle_.get();
    }
    static Result<Done> done(Error error) { return error.status() == CLOZE_OK ? Result<Done>(Done()) : Result<Done>(std::move(error)); }

private:
    Error set_one(const Setting &setting) {
        for (Error error : {word("the key", setting.key), word("the value", setting.value)})
            if (error.status() != CLOZE_OK) return error;
        return run([&](cloze_error *error) { return set_it(made(), setting.key.c_str(), setting.value.c_str(), error); });
    }

    Owned<Raw, free_it> handle_;
    Error error_;
};

} // namespace detail

/// How a model is opened: `cloze::Options{{"threads", 1}}`; the keys are those of cloze_options_set.
using Options = detail::Settings<cloze_options, cloze_options_new, cloze_options_set, cloze_options_free>;

/// A flag that stops calls from another thread.
class Cancel {
public:
    void cancel() noexcept { cloze_cancel_cancel(handle_.get(), nullptr); }
    /// Lowers the flag, so that it can serve the next calls.
    void reset() noexcept { cloze_cancel_reset(handle_.get(), nullptr); }
    const cloze_cancel *get() const noexcept { return handle_.get(); }

private:
    detail::Owned<cloze_cancel, cloze_cancel_free> handle_{cloze_cancel_new()};
};

/// What a call is asked for: `{{"top", 3}, {"deadline_ms", 20}}`; the keys are those of cloze_request_set.
class Request : public detail::Settings<cloze_request, cloze_request_new, cloze_request_set, cloze_request_free> {
public:
    using Settings::Settings;
    /// Lets `cancel` stop the calls that are given this request; the flag may be destroyed at any time.
    Result<Done> set_cancel(const Cancel &cancel) {
        return done(detail::run([&](cloze_error *error) { return cloze_request_set_cancel(made(), cancel.get(), error); }));
    }
};

/// Texts of a call, borrowed: they must stay where they are until it returns. Made of any list of strings or string views.
class Texts {
public:
    Texts() = default;
    Texts(std::initializer_list<std::string_view> texts) { all(texts); }
    template <typename List, typename Item = decltype(*std::begin(std::declval<const List &>())),
              std::enable_if_t<std::is_convertible_v<Item, std::string_view> || std::is_convertible_v<Item, std::optional<std::string_view>>, int> = 0>
    Texts(const List &texts) { all(texts); }

    void add(std::string_view text) {
        starts_.push_back(text.data() ? text.data() : ""); // NULL means that there is no text
        lengths_.push_back(text.size());
    }
    /// Of pairs: a text that has none. An empty std::optional in a list does the same.
    void add_none() {
        starts_.push_back(nullptr);
        lengths_.push_back(0);
    }

    std::size_t size() const noexcept { return starts_.size(); }
    const char *const *starts() const noexcept { return starts_.data(); }
    const std::size_t *lengths() const noexcept { return lengths_.data(); }

private:
    template <typename List>
    void all(const List &texts) {
        for (const auto &text : texts) one(text);
    }
    void one(std::string_view text) { add(text); }
    template <typename Text>
    void one(const std::optional<Text> &text) { text ? add(*text) : add_none(); }

    std::vector<const char *> starts_;
    std::vector<std::size_t> lengths_;
};

namespace detail {

/// A call that gives a handle: runs it, reads the handle into a value, frees it.
template <typename Raw, void (*free_it)(Raw *), typename Call, typename Read>
auto answer(const Request &request, Call call, Read read) -> Result<decltype(read(static_cast<const Raw *>(nullptr)))> {
    if (request.error().status() != CLOZE_OK) return request.error();
    Raw *raw = nullptr;
    Error error = run([&](cloze_error *text) { return call(&raw, text); });
    Owned<Raw, free_it> owned(raw);
    if (error.status() == CLOZE_OK) return read(raw);
    if (stopped(error) && raw) return {read(raw), std::move(error)};
    return error;
}

/// A call that fills a buffer with a JSON object and a final NUL.
template <typename Call>
Result<std::string> json(Call call) {
    std::string text(16384, '\0');
    std::size_t needed = 0;
    Error error = run([&](cloze_error *e) { return call(text.data(), text.size(), &needed, e); });
    if (error.status() == CLOZE_BUFFER_TOO_SMALL) {
        text.resize(needed);
        error = run([&](cloze_error *e) { return call(text.data(), text.size(), &needed, e); });
    }
    text.resize(needed ? needed - 1 : 0);
    if (error.status() == CLOZE_OK) return text;
    if (error.status() == CLOZE_VERIFICATION_FAILED) return {std::move(text), std::move(error)};
    return error;
}

} // namespace detail

/// Attention maps and hidden states of every layer: large, so they stay in their handle until they are asked for.
class Maps {
public:
    std::size_t layers() const noexcept { return layers_; }
    std::size_t heads() const noexcept { return heads_; }
    /// Columns of a state.
    std::size_t hidden() const noexcept { return hidden_; }
    /// What rows and columns stand for: one window.
    const std::vector<Token> &tokens() const noexcept { return tokens_; }
    /// The map of a head, row after row: tokens() times tokens().
    Result<std::vector<float>> attention(std::size_t layer, std::size_t head) const {
        return numbers(tokens_.size() * tokens_.size(), [&](float *at, std::size_t n, std::size_t *count, cloze_error *error) {
            return cloze_maps_attention(handle_.get(), layer, head, at, n, count, error);
        });
    }
    /// The hidden states behind a layer, row after row: tokens() times hidden(); layer 0 are those before the first layer.
    Result<std::vector<float>> state(std::size_t layer) const {
        return numbers(tokens_.size() * hidden_, [&](float *at, std::size_t n, std::size_t *count, cloze_error *error) {
            return cloze_maps_state(handle_.get(), layer, at, n, count, error);
        });
    }

private:
    friend class Model;
    explicit Maps(cloze_maps *raw) : handle_(raw) {
        cloze_maps_sizes(raw, &layers_, &heads_, nullptr, &hidden_, nullptr);
        tokens_ = std::move(detail::read(cloze_maps_tokens(raw)).windows.at(0));
    }
    template <typename Copy>
    static Result<std::vector<float>> numbers(std::size_t size, Copy copy) {
        std::vector<float> values(size);
        Error error = detail::run([&](cloze_error *e) { return copy(values.data(), size, &size, e); });
        if (error.status() != CLOZE_OK) return error;
        return values;
    }

    detail::Owned<cloze_maps, cloze_maps_free> handle_;
    std::size_t layers_ = 0, heads_ = 0, hidden_ = 0;
    std::vector<Token> tokens_;
};

/// A file of a model in memory: its name, relative to the model's folder, and its bytes, which are copied.
struct File {
    std::string name;
    std::string_view bytes;
};

/// A model: tokenizer, weights, and what the model's files say about their use. Every call is that of cloze.h with the same name.
class Model {
    /// A call over texts alone.
    template <typename Raw, void (*free_it)(Raw *), typename Call>
    auto list(Call call, const Texts &texts, const Request &request) const {
        auto run = [&](Raw **raw, cloze_error *error) { return call(get(), request.get(), texts.starts(), texts.lengths(), texts.size(), raw, error); };
        return detail::answer<Raw, free_it>(request, run, [](const Raw *raw) { return detail::read(raw); });
    }

public:
    /// Opens a folder or a GGUF file.
    static Result<Model> load(const std::string &path, const Options &options = {}) {
        if (Error error = detail::word("the path", path); error.status() != CLOZE_OK) return error;
        return opened(options, [&](cloze_model **model, cloze_error *error) { return cloze_model_load(path.c_str(), options.get(), model, error); });
    }
    static Result<Model> load_files(const std::vector<File> &files, const Options &options = {}) {
        std::vector<const char *> names;
        std::vector<const void *> datas;
        std::vector<std::size_t> lengths;
        for (const File &file : files) {
            if (Error error = detail::word("the name", file.name); error.status() != CLOZE_OK) return error;
            names.push_back(file.name.c_str());
            datas.push_back(file.bytes.data() ? file.bytes.data() : "");
            lengths.push_back(file.bytes.size());
        }
        return opened(options, [&](cloze_model **model, cloze_error *error) {
            return cloze_model_load_files(names.data(), datas.data(), lengths.data(), names.size(), options.get(), model, error);
        });
    }
    /// One more reference to the same model, for a thread that may outlive this one.
    Model share() const noexcept { return Model(cloze_model_retain(get())); }
    const cloze_model *get() const noexcept { return handle_.get(); }

    /// Vectors as floats: `output` is f32.
    Result<Vectors> encode(const Texts &texts, const Request &request = {}) const {
        Vectors vectors;
        return encode_to(texts, request, vectors, vectors.values);
    }
    /// Vectors as bytes, for every `output`.
    Result<Packed> encode_packed(const Texts &texts, const Request &request = {}) const {
        Packed packed;
        return encode_to(texts, request, packed, packed.data);
    }
    /// Vectors into the caller's buffer, without a copy. CLOZE_BUFFER_TOO_SMALL has a partial() that says how many bytes are needed.
    Result<Report> encode_into(const Texts &texts, void *buffer, std::size_t capacity_bytes, const Request &request = {}) const {
        std::size_t written = 0;
        auto encode = [&](cloze_report **report, cloze_error *error) {
            return cloze_encode(get(), request.get(), texts.starts(), texts.lengths(), texts.size(), buffer, capacity_bytes, &written, report, error);
        };
        Result<Report> done = detail::answer<cloze_report, cloze_report_free>(request, encode, [&](const cloze_report *r) { return detail::read(r, written); });
        if (done.status() != CLOZE_BUFFER_TOO_SMALL) return done;
        Report needed;
        needed.bytes = written;
        return {std::move(needed), done.error()};
    }
    /// The bytes that encode_into needs, of one vector a text.
    Result<std::size_t> encode_size(std::size_t texts, const Request &request = {}) const {
        return size(request, [&](std::size_t *n, cloze_error *error) { return cloze_encode_size(get(), request.get(), texts, n, error); });
    }
    Result<std::size_t> dimensions(const Request &request = {}) const {
        return size(request, [&](std::size_t *n, cloze_error *error) { return cloze_model_dimensions(get(), request.get(), n, error); });
    }
    Result<Sparse> encode_sparse(const Texts &texts, const Request &request = {}) const {
        return list<cloze_sparse, cloze_sparse_free>(cloze_encode_sparse, texts, request);
    }
    Result<Late> encode_late(const Texts &texts, const Request &request = {}) const {
        return list<cloze_late, cloze_late_free>(cloze_encode_late, texts, request);
    }

    Result<Ranking> rerank(std::string_view query, const Texts &documents, const Request &request = {}) const {
        auto rank = [&](cloze_ranking **ranking, cloze_error *error) {
            return cloze_rerank(get(), request.get(), start(query), query.size(), documents.starts(), documents.lengths(), documents.size(), ranking, error);
        };
        return detail::answer<cloze_ranking, cloze_ranking_free>(request, rank, [&](const cloze_ranking *r) { return detail::read(r, documents.size()); });
    }
    Result<Classes> classify(const Texts &texts, const Request &request = {}) const { return classify_pairs(texts, {}, request); }
    /// Labels pairs; a pair that is none (Texts::add_none) leaves its text single. No pairs at all: all are single.
    Result<Classes> classify_pairs(const Texts &texts, const Texts &pairs, const Request &request = {}) const {
        if (pairs.size() != 0 && pairs.size() != texts.size()) return unequal(texts, pairs);
        auto classify = [&](cloze_classes **classes, cloze_error *error) {
            bool single = pairs.size() == 0;
            return cloze_classify(get(), request.get(), texts.starts(), texts.lengths(), single ? nullptr : pairs.starts(), single ? nullptr : pairs.lengths(),
                                  texts.size(), classes, error);
        };
        return detail::answer<cloze_classes, cloze_classes_free>(request, classify, [](const cloze_classes *c) { return detail::read(c); });
    }
    Result<Classes> classify_as(const Texts &texts, const Texts &labels, const Request &request = {}) const {
        auto classify = [&](cloze_classes **classes, cloze_error *error) {
            return cloze_classify_as(get(), request.get(), texts.starts(), texts.lengths(), texts.size(), labels.starts(), labels.lengths(), labels.size(), classes, error);
        };
        return detail::answer<cloze_classes, cloze_classes_free>(request, classify, [](const cloze_classes *c) { return detail::read(c); });
    }
    Result<Follows> next_sentence(const Texts &texts, const Texts &pairs, const Request &request = {}) const {
        if (pairs.size() != texts.size()) return unequal(texts, pairs);
        auto follow = [&](cloze_follows **follows, cloze_error *error) {
            return cloze_next_sentence(get(), request.get(), texts.starts(), texts.lengths(), pairs.starts(), pairs.lengths(), texts.size(), follows, error);
        };
        return detail::answer<cloze_follows, cloze_follows_free>(request, follow, [](const cloze_follows *f) { return detail::read(f); });
    }
    Result<Fills> fill_mask(const Texts &texts, const Texts &candidates = {}, const Request &request = {}) const {
        auto fill = [&](cloze_fills **fills, cloze_error *error) {
            return cloze_fill_mask(get(), request.get(), texts.starts(), texts.lengths(), texts.size(), candidates.starts(), candidates.lengths(), candidates.size(),
                                   fills, error);
        };
        return detail::answer<cloze_fills, cloze_fills_free>(request, fill, [](const cloze_fills *f) { return detail::read(f); });
    }
    Result<Answers> extract(std::string_view question, const Texts &contexts, const Request &request = {}) const {
        auto extract = [&](cloze_answers **answers, cloze_error *error) {
            return cloze_extract(get(), request.get(), start(question), question.size(), contexts.starts(), contexts.lengths(), contexts.size(), answers, error);
        };
        return detail::answer<cloze_answers, cloze_answers_free>(request, extract, [](const cloze_answers *a) { return detail::read(a); });
    }
    Result<Entities> tag(const Texts &texts, const Request &request = {}) const { return list<cloze_entities, cloze_entities_free>(cloze_tag, texts, request); }
    /// Tags words that the caller has found, a list for each input.
    Result<Entities> tag_words(const std::vector<Texts> &words, const Request &request = {}) const {
        Texts all;
        std::vector<std::size_t> counts;
        for (const Texts &input : words) {
            counts.push_back(input.size());
            for (std::size_t i = 0; i < input.size(); i++) all.add({input.starts()[i], input.lengths()[i]});
        }
        auto tag = [&](cloze_entities **entities, cloze_error *error) {
            return cloze_tag_words(get(), request.get(), all.starts(), all.lengths(), counts.data(), counts.size(), entities, error);
        };
        return detail::answer<cloze_entities, cloze_entities_free>(request, tag, [](const cloze_entities *e) { return detail::read(e); });
    }
    Result<Tokens> tokenize(std::string_view text, std::optional<std::string_view> pair = {}, const Request &request = {}) const {
        auto cut = [&](cloze_tokens **tokens, cloze_error *error) {
            return cloze_tokenize(get(), request.get(), start(text), text.size(), pair ? start(*pair) : nullptr, pair ? pair->size() : 0, tokens, error);
        };
        return detail::answer<cloze_tokens, cloze_tokens_free>(request, cut, [](const cloze_tokens *t) { return detail::read(t); });
    }
    Result<Maps> attention(std::string_view text, std::optional<std::string_view> pair = {}, const Request &request = {}) const {
        if (request.error().status() != CLOZE_OK) return request.error();
        cloze_maps *maps = nullptr;
        Error error = detail::run([&](cloze_error *e) {
            return cloze_attention(get(), request.get(), start(text), text.size(), pair ? start(*pair) : nullptr, pair ? pair->size() : 0, &maps, e);
        });
        if (error.status() != CLOZE_OK) return error;
        return Maps(maps);
    }

    /// The model as one JSON object.
    Result<std::string> describe() const {
        return detail::json([&](char *text, std::size_t n, std::size_t *needed, cloze_error *e) { return cloze_model_describe(get(), text, n, needed, e); });
    }
    /// How near the answers are to the file's golden probes, as one JSON object; CLOZE_VERIFICATION_FAILED has it as its partial().
    Result<std::string> verify() const {
        return detail::json([&](char *text, std::size_t n, std::size_t *needed, cloze_error *e) { return cloze_model_verify(get(), text, n, needed, e); });
    }
    /// A statistic of memory by its key: see cloze_memory_statistics.
    Result<std::size_t> memory(const std::string &key) const {
        if (Error error = detail::word("the key", key); error.status() != CLOZE_OK) return error;
        return size({}, [&](std::size_t *n, cloze_error *error) { return cloze_memory_statistics(get(), key.c_str(), n, error); });
    }
    Result<std::size_t> memory_peak(std::size_t tokens, std::size_t texts) const {
        return size({}, [&](std::size_t *n, cloze_error *error) { return cloze_memory_peak(get(), tokens, texts, n, error); });
    }
    /// Frees the work areas that no running call uses.
    void memory_trim() const noexcept { cloze_memory_trim(get(), nullptr); }

private:
    explicit Model(cloze_model *model) : handle_(model) {}

    template <typename Load>
    static Result<Model> opened(const Options &options, Load load) {
        if (options.error().status() != CLOZE_OK) return options.error();
        cloze_model *model = nullptr;
        Error error = detail::run([&](cloze_error *e) { return load(&model, e); });
        if (error.status() != CLOZE_OK) return error;
        return Model(model);
    }
    template <typename Call>
    static Result<std::size_t> size(const Request &request, Call call) {
        if (request.error().status() != CLOZE_OK) return request.error();
        std::size_t number = 0;
        Error error = detail::run([&](cloze_error *e) { return call(&number, e); });
        if (error.status() != CLOZE_OK) return error;
        return number;
    }
    static const char *start(std::string_view text) { return text.data() ? text.data() : ""; }
    static Error unequal(const Texts &texts, const Texts &pairs) {
        return {CLOZE_INVALID_ARGUMENT, std::to_string(texts.size()) + " texts and " + std::to_string(pairs.size()) + " pairs: give as many of both"};
    }

    /// Encodes into a list that is as long as it must be.
    template <typename Answer, typename Value>
    Result<Answer> encode_to(const Texts &texts, const Request &request, Answer &answer, std::vector<Value> &values) const {
        Result<std::size_t> room = room_for(texts, request);
        if (!room) return room.error();
        values.resize((*room + sizeof(Value) - 1) / sizeof(Value));
        Result<Report> done = encode_into(texts, values.data(), values.size() * sizeof(Value), request);
        if (done.status() == CLOZE_BUFFER_TOO_SMALL) {
            values.resize((done.partial().bytes + sizeof(Value) - 1) / sizeof(Value));
            done = encode_into(texts, values.data(), values.size() * sizeof(Value), request);
        }
        if (!done.has_partial()) return done.error();
        static_cast<Report &>(answer) = done.partial();
        values.resize(answer.bytes / sizeof(Value));
        std::size_t vectors = 0;
        for (const Encoded &text : answer.inputs) vectors += text.vectors;
        if (sizeof(Value) > 1 && answer.bytes != vectors * answer.dimensions * sizeof(Value))
            return Error(CLOZE_INVALID_ARGUMENT, "encode gives floats: leave `output` at f32, or call encode_packed");
        if (done.ok()) return std::move(answer);
        return {std::move(answer), done.error()};
    }
    /// Bytes for the vectors: known for one vector a text; for one a token, what as many tokens as there are may need.
    Result<std::size_t> room_for(const Texts &texts, const Request &request) const {
        Result<std::size_t> size = encode_size(texts.size(), request);
        if (size.status() != CLOZE_INVALID_ARGUMENT) return size;
        Result<std::size_t> width = dimensions(request);
        if (!width) return width;
        std::size_t vectors = 0;
        for (std::size_t i = 0; i < texts.size(); i++) {
            cloze_tokens *tokens = nullptr;
            Error error = detail::run([&](cloze_error *e) { return cloze_tokenize(get(), request.get(), texts.starts()[i], texts.lengths()[i], nullptr, 0, &tokens, e); });
            detail::Owned<cloze_tokens, cloze_tokens_free> owned(tokens);
            if (error.status() != CLOZE_OK) return error;
            for (std::size_t window = 0; window < cloze_tokens_windows(tokens); window++) vectors += cloze_tokens_count(tokens, window);
        }
        return vectors * *width * sizeof(float);
    }

    detail::Owned<cloze_model, cloze_model_free> handle_;
};

/// The version of the library that is loaded, such as "0.1.0".
inline std::string version() { return cloze_version(); }

} // namespace cloze

#endif
