/*
 * cloze.h - embedded language understanding: BERT-family encoders in the caller's own process.
 *
 * Made by cbindgen from src/capi; do not edit. `CLOZE_UPDATE_HEADER=1 cargo test --test header` makes it anew.
 *
 * A first program (examples/c/encode.c is the whole of it):
 *
 *     cloze_error *error = cloze_error_new();
 *     cloze_model *model = NULL;
 *     if (cloze_model_load("models/minilm", NULL, &model, error) != CLOZE_OK)
 *         fprintf(stderr, "%s\n", cloze_error_message(error, NULL));
 *     size_t needed = 0, written = 0;
 *     cloze_encode_size(model, NULL, 1, &needed, error);
 *     float *vector = malloc(needed);
 *     const char *text = "How do I reset my password?";
 *     size_t length = strlen(text);
 *     cloze_encode(model, NULL, &text, &length, 1, vector, needed, &written, NULL, error);
 *     free(vector);
 *     cloze_model_free(model);
 *     cloze_error_free(error);
 *
 * CONVENTIONS, which hold for every type and function below.
 *
 * Names. A function is called cloze_<noun>_<verb>, after the handle that it works on. Inputs come first, then results, and
 * the error last.
 *
 * Handles. Every type is opaque: no structure is laid open, passed by value or allocated by the caller. What cloze_..._new,
 * cloze_model_load, cloze_encode, cloze_rerank and others give belongs to the caller, who gives it back once to the function
 * cloze_..._free of the same noun; cloze_..._free(NULL) does nothing. A `const` handle is not changed by the call. The comment
 * of each type says who owns it and which threads may use it. Strings that a function returns are never freed by the caller;
 * each function says how long they live.
 *
 * Statuses and errors. A call that can fail returns a cloze_status: CLOZE_OK, which is 0, or a positive number whose meaning
 * never changes. The last argument, `error`, receives a sentence for people; it may be NULL. There is no error state behind
 * the caller's back, per thread or global. After an error, results hold 0, false or NULL unless the function says otherwise.
 *
 * NULL. A pointer that must not be NULL and is gives CLOZE_NULL_ARGUMENT, with the argument's name in the message; nothing
 * crashes. Where NULL is allowed, the function says so. Pointers that are not NULL must be valid: that is all that the library
 * cannot check.
 *
 * Text. Texts go in as a pointer and a length in bytes, in UTF-8, and need no NUL at the end; a NUL inside is a character like
 * any other. What is not valid UTF-8 gives CLOZE_INVALID_UTF8, with the text and the byte in the message. Keys, values, names
 * and paths are NUL-terminated. Offsets into a text are in the unit that the request's key `offsets` names: Unicode code
 * points (the default), UTF-16 units, or bytes.
 *
 * Options. What a model or a call is asked for is set by key and value, both words: the same as the command line's flags.
 * There are no enumerations to mirror. cloze_options_set and cloze_request_set list the keys.
 *
 * Buffers. Results of unknown size go to a caller's buffer: capacity in, size out. If the buffer is too small nothing is
 * written to it, the size needed is reported, and the status is CLOZE_BUFFER_TOO_SMALL.
 *
 * Threads. Any number of threads may use one model at once. The library starts no thread when it is loaded; with `threads`
 * above 1, a call may use threads of its own beside the caller's. Other handles: see their types.
 *
 * Fork. A model that was loaded, and used, before fork() may be used and freed in the parent and in the child, provided that
 * no other thread of the parent was inside a call at the moment of the fork.
 *
 * A guest in your process. The library installs no signal handlers, changes no locale, no floating-point mode and no working
 * directory, reads no environment variable but CLOZE_ISA,
 * opens no files but the model's and those in which Linux says how many processors it may use, and writes nothing to
 * standard output or standard error, with one exception: a panic, which is a bug in Cloze, comes back as CLOZE_PANIC, and the
 * Rust runtime says a line or two about it on standard error before that. The hook that would silence it is shared with all
 * other Rust code in the process, and so it is left alone.
 *
 * Memory. cloze_memory_statistics, cloze_memory_peak and cloze_memory_trim say what a model holds and give it back. Large
 * blocks that the system refuses give CLOZE_OUT_OF_MEMORY; if it refuses even a small one, Rust ends the process.
 *
 * Versions. Functions are only ever added, and say `Since`; numbers are never reused. See cloze_abi_version.
 */


#ifndef CLOZE_H
#define CLOZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The version of the ABI that this header describes. It changes only when a caller would have to be compiled again.
 */
#define CLOZE_ABI_VERSION 1

/**
 * Parts of contexts that answer a question, of each context the best first. Contexts and their answers are counted from 0.
 *
 * Owner: the caller, who frees it with cloze_answers_free; it needs neither the model nor the request any more.
 * Threads: any number at once.
 */
typedef struct cloze_answers cloze_answers;

/**
 * A flag that stops calls from another thread. Give it to a request with cloze_request_set_cancel; raise it with
 * cloze_cancel_cancel, and every call that runs, or begins, with such a request stops and returns CLOZE_CANCELLED with the
 * results it had finished. One flag may serve any number of requests.
 *
 * Owner: the caller, who frees it with cloze_cancel_free, at any time: requests keep a reference of their own.
 * Threads: cloze_cancel_cancel and cloze_cancel_reset may be called from any thread at any time.
 */
typedef struct cloze_cancel cloze_cancel;

/**
 * Labels of texts, or of pairs of texts, the best first. Inputs and their labels are counted from 0.
 *
 * Owner: the caller, who frees it with cloze_classes_free; it needs neither the model nor the request any more.
 * Threads: any number at once.
 */
typedef struct cloze_classes cloze_classes;

/**
 * Entities of texts, in the order in which they stand there. Inputs and their entities are counted from 0.
 *
 * Owner: the caller, who frees it with cloze_entities_free; it needs neither the model nor the request any more.
 * Threads: any number at once.
 */
typedef struct cloze_entities cloze_entities;

/**
 * The sentence that goes with a status. Make one, pass it to any number of calls, read it after a call that failed; each call
 * replaces what the one before it said, and a call that succeeds empties it. Wherever a `cloze_error *` is asked for, NULL
 * may be given instead.
 *
 * Owner: the caller, who frees it with cloze_error_free. Threads: one at a time.
 */
typedef struct cloze_error cloze_error;

/**
 * Tokens for the blanks of texts, the best first. Inputs, their blanks and the places of tokens are counted from 0.
 *
 * Owner: the caller, who frees it with cloze_fills_free; it needs neither the model nor the request any more.
 * Threads: any number at once.
 */
typedef struct cloze_fills cloze_fills;

/**
 * How probably the second text of each pair follows the first. Pairs are counted from 0.
 *
 * Owner: the caller, who frees it with cloze_follows_free; it needs neither the model nor the request any more.
 * Threads: any number at once.
 */
typedef struct cloze_follows cloze_follows;

/**
 * The token vectors of texts as a late-interaction model (ColBERT, PyLate) compares them. Inputs and the vectors of each are counted
 * from 0.
 *
 * Owner: the caller, who frees it with cloze_late_free; it needs neither the model nor the request any more.
 * Threads: any number at once.
 */
typedef struct cloze_late cloze_late;

/**
 * Attention maps and hidden states of every layer for one text, or for a text and its pair. Layers and heads are counted from 0.
 *
 * Owner: the caller, who frees it with cloze_maps_free; it needs neither the model nor the request any more.
 * Threads: any number at once.
 */
typedef struct cloze_maps cloze_maps;

/**
 * A model: tokenizer, weights, and what the model's files say about their use. It never changes.
 *
 * Owner: counted. cloze_model_load gives the first reference, cloze_model_retain one more each time; cloze_model_free gives
 * one back, and the last one frees the model. A call holds a reference of its own from its beginning to its end: a model may
 * be freed while another thread is inside a call, which then ends as if nothing had happened. A thread that may still begin
 * a call after somebody else's free must hold a reference of its own.
 * Threads: any number at once, for every call.
 */
typedef struct cloze_model cloze_model;

/**
 * How a model is opened. A new one holds the defaults; change them by key and value with cloze_options_set and pass it to
 * cloze_model_load.
 *
 * Owner: the caller, who frees it with cloze_options_free; models that were loaded with it do not need it any more.
 * Threads: one at a time; any number of loads may read it at once.
 */
typedef struct cloze_options cloze_options;

/**
 * Documents in the order of how well they answer a query. Ranks and documents are counted from 0.
 *
 * Owner: the caller, who frees it with cloze_ranking_free; it needs neither the model nor the request any more.
 * Threads: any number at once.
 */
typedef struct cloze_ranking cloze_ranking;

/**
 * What became of each text of one cloze_encode.
 *
 * Owner: the caller, who frees it with cloze_report_free; it needs neither the model nor the request any more.
 * Threads: any number at once.
 */
typedef struct cloze_report cloze_report;

/**
 * What a call is asked for. A new one asks for what the model's own files say; change that by key and value with
 * cloze_request_set and pass it to cloze_encode, cloze_rerank and others: each takes the keys that concern it. Wherever a `const cloze_request *` is asked for,
 * NULL stands for a new one. One request may serve any number of calls and models.
 *
 * Owner: the caller, who frees it with cloze_request_free, not before the calls that were given it have returned.
 * Threads: set it from one thread at a time, while no call reads it; any number of calls may read it at once.
 */
typedef struct cloze_request cloze_request;

/**
 * Sparse weights of texts, the largest first. Inputs and the places of weights are counted from 0.
 *
 * Owner: the caller, who frees it with cloze_sparse_free; it needs neither the model nor the request any more.
 * Threads: any number at once.
 */
typedef struct cloze_sparse cloze_sparse;

/**
 * The tokens of one text, or of a text and its pair: one window, or several where the request's truncation is `window` and
 * the text is longer than the limit. Windows, and the tokens of a window, are counted from 0.
 *
 * Owner: the caller, who frees it with cloze_tokens_free; it needs neither the model nor the request any more.
 * Threads: any number at once.
 */
typedef struct cloze_tokens cloze_tokens;

/**
 * The outcome of a call: CLOZE_OK (0), or one of the positive numbers below. A number keeps its meaning for ever; later
 * versions may add numbers, so treat one that you do not know as an error.
 */
typedef int32_t cloze_status;

/**
 * The call did what it was asked to do.
 */
#define CLOZE_OK 0

/**
 * A pointer that must not be NULL was NULL; the message names the argument.
 */
#define CLOZE_NULL_ARGUMENT 1

/**
 * An argument is outside what the call accepts: an unknown key or value, an index out of range, a request that this model
 * cannot serve.
 */
#define CLOZE_INVALID_ARGUMENT 2

/**
 * A text, key or value is not valid UTF-8; the message names it and the byte.
 */
#define CLOZE_INVALID_UTF8 3

/**
 * A file is missing, or the system refused to read it.
 */
#define CLOZE_IO 4

/**
 * A file's content is malformed, truncated or inconsistent.
 */
#define CLOZE_INVALID_FILE 5

/**
 * The file is well formed but describes something that this version does not support.
 */
#define CLOZE_UNSUPPORTED 6

/**
 * A tensor of the model is missing, unknown, or has the wrong shape or type; the message names it.
 */
#define CLOZE_INVALID_TENSOR 7

/**
 * A text has more tokens than the limit, and the truncation policy is `error`.
 */
#define CLOZE_TOO_LONG 8

/**
 * The caller's buffer is smaller than the result. Nothing was written to it; the size needed is reported.
 */
#define CLOZE_BUFFER_TOO_SMALL 9

/**
 * The deadline passed. The results finished before it were written and counted.
 */
#define CLOZE_DEADLINE_EXCEEDED 10

/**
 * The call was cancelled. The results finished before it were written and counted.
 */
#define CLOZE_CANCELLED 11

/**
 * A result is NaN or infinite: the weights are damaged, or overflow.
 */
#define CLOZE_NON_FINITE 12

/**
 * Memory for the model or the call could not be had.
 */
#define CLOZE_OUT_OF_MEMORY 13

/**
 * A bug in Cloze was caught before it reached the caller. Please report it with the message.
 */
#define CLOZE_PANIC 14

/**
 * The model's answers differ from the golden probes in its file by more than is allowed. The report was written.
 */
#define CLOZE_VERIFICATION_FAILED 15

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The ABI version of the library that is loaded. A caller that was compiled with this header works with it when it equals
 * CLOZE_ABI_VERSION. The file name of the shared library carries the same number (libcloze.so.1).
 *
 * Since: 0.1.0
 */
uint32_t cloze_abi_version(void);

/**
 * The version of the library that is loaded, such as "0.1.0": a static string, never freed.
 *
 * Since: 0.1.0
 */
const char *cloze_version(void);

/**
 * The name of a status as this header spells it, such as "CLOZE_TOO_LONG"; "CLOZE_UNKNOWN" for a number that this version
 * does not know. A static string, never freed.
 *
 * Since: 0.1.0
 */
const char *cloze_status_name(cloze_status status);

/**
 * A new error object with code CLOZE_OK and an empty message. Free it with cloze_error_free.
 *
 * Since: 0.1.0
 */
cloze_error *cloze_error_new(void);

/**
 * The status of the last call that was given `error`. NULL gives CLOZE_OK.
 *
 * Since: 0.1.0
 */
cloze_status cloze_error_code(const cloze_error *error);

/**
 * What the last call that was given `error` had to say: one sentence of valid UTF-8 that names the thing and says what to do;
 * empty after a success, and for NULL. It ends with a NUL; `length` (may be NULL) receives its bytes without the NUL. The
 * wording may change between versions. The string belongs to `error` and is valid until the next call that is given `error`.
 *
 * Since: 0.1.0
 */
const char *cloze_error_message(const cloze_error *error,
                                size_t *length);

/**
 * Frees `error`. NULL is fine.
 *
 * Since: 0.1.0
 */
void cloze_error_free(cloze_error *error);

/**
 * New options with the defaults. Free them with cloze_options_free.
 *
 * Since: 0.1.0
 */
cloze_options *cloze_options_new(void);

/**
 * Sets an option: `key` and `value` are NUL-terminated words. A value that is refused changes nothing.
 *
 * - `threads`: a number from 1 to 1024, or auto. Threads of one call, the calling thread included; auto (the default)
 *   honours the affinity mask and the cgroup quota. A request may ask for another number.
 * - `precision`: auto, f32 or int8. Arithmetic of the encoder; auto (the default) is int8 for quantised files, f32 for all others.
 * - `isa`: auto, or an instruction set of this machine: avx512bf16, avx512vnni, avx512, avxvnni, avx2, portable, reference.
 *   Instruction set of the kernels; auto (the default) takes the best one, or the one that the environment variable CLOZE_ISA
 *   names.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8; CLOZE_INVALID_ARGUMENT for an unknown key or value: the message lists what
 * is known.
 *
 * Since: 0.1.0
 */
cloze_status cloze_options_set(cloze_options *options,
                               const char *key,
                               const char *value,
                               cloze_error *error);

/**
 * Frees `options`. NULL is fine.
 *
 * Since: 0.1.0
 */
void cloze_options_free(cloze_options *options);

/**
 * Opens the model at `path`, a NUL-terminated path: a Hugging Face or sentence-transformers folder with config.json,
 * safetensors weights and a tokenizer, or a GGUF file. The weights are mapped, not copied, where their form allows: do not
 * change or shorten the files while the model is in use. `options` may be NULL for the defaults. `model` receives the
 * model's first reference, or NULL on an error; give it back with cloze_model_free.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_IO, CLOZE_INVALID_FILE, CLOZE_UNSUPPORTED and CLOZE_INVALID_TENSOR name the file or
 * tensor; CLOZE_INVALID_ARGUMENT for an instruction set that this machine lacks; CLOZE_OUT_OF_MEMORY.
 *
 * Since: 0.1.0
 */
cloze_status cloze_model_load(const char *path,
                              const cloze_options *options,
                              cloze_model **model,
                              cloze_error *error);

/**
 * Opens a model whose files are in memory: `count` files, file `i` with the NUL-terminated name `names[i]` (relative to the
 * model's folder, with `/`, such as `1_Pooling/config.json`) and the `lengths[i]` bytes at `datas[i]`; or one GGUF file, of
 * any name. The bytes are copied: the caller may free them when the call returns. Otherwise as cloze_model_load.
 *
 * Errors: as cloze_model_load; CLOZE_INVALID_ARGUMENT for a name that is given twice or leaves the folder.
 *
 * Since: 0.1.0
 */
cloze_status cloze_model_load_files(const char *const *names,
                                    const void *const *datas,
                                    const size_t *lengths,
                                    size_t count,
                                    const cloze_options *options,
                                    cloze_model **model,
                                    cloze_error *error);

/**
 * Takes one more reference and returns `model`; NULL gives NULL. Give it back with cloze_model_free.
 *
 * Since: 0.1.0
 */
cloze_model *cloze_model_retain(const cloze_model *model);

/**
 * Gives one reference back; the last one frees the model, or, while calls still run, the last of these does. NULL is fine.
 *
 * Since: 0.1.0
 */
void cloze_model_free(cloze_model *model);

/**
 * The number of values of one vector that `request` (NULL for the model's own use) gives.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_ARGUMENT for a request that the model cannot serve.
 *
 * Since: 0.1.0
 */
cloze_status cloze_model_dimensions(const cloze_model *model,
                                    const cloze_request *request,
                                    size_t *dimensions,
                                    cloze_error *error);

/**
 * Describes the model as one JSON object: family, layers, hidden, heads, vocabulary, parameters, positions, max_tokens,
 * truncation, pooling, normalize, dimensions, prompts, default_prompt, precision, isa, threads and more; later versions may
 * add names. The text and a final NUL are written to `buffer`, which holds `capacity` bytes. `needed` receives their bytes,
 * the NUL included, in every case: call with capacity 0 (and a NULL `buffer`) to learn it.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_BUFFER_TOO_SMALL.
 *
 * Since: 0.1.0
 */
cloze_status cloze_model_describe(const cloze_model *model,
                                  char *buffer,
                                  size_t capacity,
                                  size_t *needed,
                                  cloze_error *error);

/**
 * Compares the model's file with the checksums in it, computes its golden probes again (texts, and the vectors that the model
 * gave for them at f32 before it was quantised) and tells how near the answers are, as one JSON object: passed, checksums (how
 * many, null in a file without), damaged (what is not as it was written or not finite, by name), worst_cosine, mean_cosine,
 * worst_error (the largest difference of a value, as a share of the vector's length), neighbours (the share of the probes' five
 * nearest neighbours among each other that stayed), allowed, dimensions, precision, isa, and probes with one object a probe;
 * later versions may add names.
 * `buffer`, `capacity` and `needed` are as in cloze_model_describe, except that learning the size computes all of it: 16384 bytes
 * are enough for a file of this version. It takes as long as encoding some sixteen texts.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_ARGUMENT for a model without probes, as all folders are; CLOZE_INVALID_FILE for
 * probes that are damaged; CLOZE_NON_FINITE; CLOZE_BUFFER_TOO_SMALL. CLOZE_VERIFICATION_FAILED when the file is damaged or a
 * probe differs by more than is allowed: the message names it, and the report is written all the same.
 *
 * Since: 0.1.0
 */
cloze_status cloze_model_verify(const cloze_model *model,
                                char *buffer,
                                size_t capacity,
                                size_t *needed,
                                cloze_error *error);

/**
 * A new request that asks for what the model's own files say. Free it with cloze_request_free.
 *
 * Since: 0.1.0
 */
cloze_request *cloze_request_new(void);

/**
 * Sets what to ask for: `key` and `value` are NUL-terminated words. A value that is refused changes nothing. Whether the
 * model can serve it, and whether the values go together, shows when the request is used.
 *
 * - `pooling`: model, or one or several (joined by +) of mean, cls, max, mean_sqrt_len, last, weighted_mean, pooler. How
 *   token vectors become one vector; several are concatenated. Not with `vectors` = token.
 * - `normalize`: model, true or false. Scale vectors to length 1.
 * - `dimensions`: all, or a number from 1 to the model's dimensions. Keep this many leading values (Matryoshka), before
 *   normalising.
 * - `prompt_name`: the name of one of the model's prompts, or an empty name for no prompt. Put the model's prompt of this
 *   name before each text.
 * - `prompt`: any text. Put this text before each text.
 * - `language`: none, or the name of one of the model's languages. Which language the texts are in, for models that tell
 *   languages apart (XLM).
 * - `truncation`: model, error, left, right or window. What happens to texts longer than the limit: an error, a cut on that
 *   side, or overlapping windows whose vectors are averaged.
 * - `max_tokens`: model, or a number from 3 to the model's positions. Longest input in tokens, special tokens included.
 * - `overlap`: auto, or a number of tokens smaller than a window. Tokens that neighbouring windows share, where there are windows;
 *   auto is an eighth of the limit, for cloze_extract 128 or half the limit.
 * - `layers`: last; a layer's number (0 = embeddings, -1 = last); concat:N or mean:N of the last N layers. Which layers'
 *   hidden states make the vectors.
 * - `vectors`: text, token or sparse. One vector a text (the default), one a token, or sparse weights of the vocabulary, which
 *   cloze_encode_sparse gives and cloze_rerank compares.
 * - `role`: document or query. What a late-interaction model (ColBERT) reads the texts as, where `vectors` is token; document is the
 *   default.
 * - `threshold`: a number from 0. Of sparse weights, leave out those below this.
 * - `output`: f32, f16, int8 or binary. Number type of the vectors; cloze_encode says how each is laid out.
 * - `offsets`: byte, utf16 or codepoint. Unit of offsets into the text; codepoint is the default.
 * - `activation`: model, identity, sigmoid or softmax. How the raw numbers of a head become scores; it never changes an order.
 * - `top`: all, or a number from 1. Keep this many of the best documents, sparse weights, labels, answers or fills; unless said
 *   otherwise all, of answers one, of fills 5.
 * - `windows`: first, max or mean. Of inputs longer than the limit, heads see only what fits, or the largest or the mean logit
 *   of overlapping windows is taken.
 * - `hypothesis`: a sentence with {} where the label goes. What zero-shot classification asks of each label; `This example is
 *   {}.` is the default.
 * - `multi_label`: true or false. Whether several labels of a zero-shot classification may be true at once; false is the
 *   default.
 * - `aggregation`: model, none, simple, first, average or max. How cloze_tag makes entities of the labels of tokens: each token that has
 *   one by itself, neighbours of one kind joined (simple), or words labelled first, by their first token, the mean of their
 *   tokens or the most certain one. model (the default) is what the model's files say, simple where they say nothing.
 * - `scheme`: auto, bio, iob1, bilou or single. How labels say where an entity begins and ends; auto (the default) looks at them,
 *   single joins nothing.
 * - `max_answer`: a number of tokens from 1. The longest answer that cloze_extract gives; 15 is the default.
 * - `no_answer_threshold`: none, or a number. Answers whose logit is more than this below that of no answer are left out by
 *   cloze_extract, as SQuAD 2 is judged; none is the default.
 * - `threads`: a number from 1 to 1024, or auto. Threads of this call, the calling thread included; auto (the default) is
 *   what the model was opened with.
 * - `deadline_ms`: none, or milliseconds. Stop a call that takes longer and return what is finished. The time runs anew for
 *   each call.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8; CLOZE_INVALID_ARGUMENT for an unknown key or value: the message lists what
 * is known.
 *
 * Since: 0.1.0
 */
cloze_status cloze_request_set(cloze_request *request,
                               const char *key,
                               const char *value,
                               cloze_error *error);

/**
 * Lets `cancel` stop the calls that are given `request`; NULL takes a flag set before away. The request keeps a reference of
 * its own: `cancel` may be freed at any time.
 *
 * Errors: CLOZE_NULL_ARGUMENT for a NULL `request`.
 *
 * Since: 0.1.0
 */
cloze_status cloze_request_set_cancel(cloze_request *request,
                                      const cloze_cancel *cancel,
                                      cloze_error *error);

/**
 * Frees `request`. NULL is fine.
 *
 * Since: 0.1.0
 */
void cloze_request_free(cloze_request *request);

/**
 * A new flag, not raised. Free it with cloze_cancel_free.
 *
 * Since: 0.1.0
 */
cloze_cancel *cloze_cancel_new(void);

/**
 * Raises the flag. With `error` NULL it neither locks nor allocates, so that a signal handler may call it.
 *
 * Errors: CLOZE_NULL_ARGUMENT.
 *
 * Since: 0.1.0
 */
cloze_status cloze_cancel_cancel(cloze_cancel *cancel, cloze_error *error);

/**
 * Lowers the flag, so that it can serve the next calls.
 *
 * Errors: CLOZE_NULL_ARGUMENT.
 *
 * Since: 0.1.0
 */
cloze_status cloze_cancel_reset(cloze_cancel *cancel, cloze_error *error);

/**
 * Frees `cancel`. NULL is fine. Requests that were given it keep the flag as it stands.
 *
 * Since: 0.1.0
 */
void cloze_cancel_free(cloze_cancel *cancel);

/**
 * Turns `count` texts into vectors. Text `i` is the `lengths[i]` bytes of UTF-8 at `texts[i]`; a NUL inside is a character
 * like any other, and no NUL is needed at the end. The texts must not change during the call. A text's vector is the same,
 * bit for bit, whatever the other texts, their order and the number of threads. `request` may be NULL. With `count` 0,
 * `texts` and `lengths` may be NULL; with a length of 0, so may the text: its vector is that of the empty text. One text may
 * have at most 4 MiB, whatever the truncation policy.
 *
 * Vectors are written to `vectors`, which holds `capacity_bytes` bytes and needs no alignment, one after another in the order
 * of the texts, in the number type that the request's `output` names, in the machine's byte order:
 *
 * - `f32`: 4 bytes a value, IEEE binary32
 * - `f16`: 2 bytes a value, IEEE binary16
 * - `int8`: 1 byte a value, signed; value times the vector's scale is the original, rounded (cloze_report_scale)
 * - `binary`: 1 bit a value, set where the value is above 0, the first value in the highest bit; a vector fills whole bytes
 *
 * With the request's `vectors` = `token`, a text has as many vectors as it has tokens; cloze_report_text says which are whose. Of a
 * late-interaction model (ColBERT) these are the projected vectors that it compares: see `role` of cloze_request_set.
 *
 * `written_bytes` receives the bytes written. On CLOZE_BUFFER_TOO_SMALL nothing is written and it receives the bytes needed.
 * For one vector a text that is known before any work is done: cloze_encode_size tells it. For one vector a token it is known
 * only once the texts were encoded: the work is lost, so give room for what you expect (cloze_tokenize counts tokens).
 *
 * `report` may be NULL; otherwise it receives what became of each text after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and
 * CLOZE_CANCELLED, and NULL after anything else. Free it with cloze_report_free.
 *
 * Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the texts finished by then, counted from the first, have their vectors
 * in `vectors`, and `written_bytes` counts these. All others give no vectors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8 names
 * the text and the byte; CLOZE_TOO_LONG names the text that has more than 4 MiB or, under the truncation policy `error`, more
 * tokens than the limit; CLOZE_INVALID_ARGUMENT for a request that the model cannot serve; CLOZE_NON_FINITE;
 * CLOZE_BUFFER_TOO_SMALL; CLOZE_OUT_OF_MEMORY.
 *
 * Since: 0.1.0
 */
cloze_status cloze_encode(const cloze_model *model,
                          const cloze_request *request,
                          const char *const *texts,
                          const size_t *lengths,
                          size_t count,
                          void *vectors,
                          size_t capacity_bytes,
                          size_t *written_bytes,
                          cloze_report **report,
                          cloze_error *error);

/**
 * The bytes that the vectors of `count` texts need, for a request that gives one vector a text; `request` may be NULL.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_ARGUMENT for a request that the model cannot serve, or one that asks for a
 * vector a token: these are as many as the texts have tokens.
 *
 * Since: 0.1.0
 */
cloze_status cloze_encode_size(const cloze_model *model,
                               const cloze_request *request,
                               size_t count,
                               size_t *needed_bytes,
                               cloze_error *error);

/**
 * The number of texts of the call. NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_report_count(const cloze_report *report);

/**
 * How many texts, counted from the first, have their vectors: all of them unless a deadline or a cancellation stopped the
 * call. NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_report_finished(const cloze_report *report);

/**
 * The number of values of one vector. NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_report_dimensions(const cloze_report *report);

/**
 * What became of the text with number `text`, counted from 0. Each result may be NULL:
 *
 * - `tokens`: tokens that the encoder saw, special tokens included; for windows, those of all windows; 0 where a model of static
 *   vectors knows none of the text's, whose vector is zeros then
 * - `total`: tokens of the whole text, special tokens included, before anything was cut
 * - `truncated`: whether tokens were left out of the vector
 * - `windows`: number of windows, 1 where the text fits as a whole
 * - `first_vector`, `vectors`: which vectors are the text's: `vectors` of them from number `first_vector` on; none for a text
 *   that was not finished
 *
 * For a text that a deadline or a cancellation left unfinished all of them are 0, except that `total` is known where the text
 * had been read by then.
 *
 * Errors: CLOZE_NULL_ARGUMENT for a NULL `report`; CLOZE_INVALID_ARGUMENT for a number beyond the last text.
 *
 * Since: 0.1.0
 */
cloze_status cloze_report_text(const cloze_report *report,
                               size_t text,
                               size_t *tokens,
                               size_t *total,
                               bool *truncated,
                               size_t *windows,
                               size_t *first_vector,
                               size_t *vectors,
                               cloze_error *error);

/**
 * The scale of the vector with number `vector`, counted from 0, of an `int8` answer: value times scale is the original,
 * rounded; 0 for a vector of zeros.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_ARGUMENT for a number beyond the last vector, or an answer that is not `int8`.
 *
 * Since: 0.1.0
 */
cloze_status cloze_report_scale(const cloze_report *report,
                                size_t vector,
                                float *scale,
                                cloze_error *error);

/**
 * Frees `report`. NULL is fine.
 *
 * Since: 0.1.0
 */
void cloze_report_free(cloze_report *report);

/**
 * Turns `count` texts into sparse weights of the vocabulary (SPLADE), by the model's head of masked language modelling: which tokens a
 * text is about, those that it does not contain included. Text `i` is the `lengths[i]` bytes of UTF-8 at `texts[i]`; the texts must not
 * change during the call. A model's files may say how the scores of tokens become weights; otherwise the weight of a token of the
 * vocabulary is the largest `log(1 + max(score, 0))` of all tokens of the text. The answer for a text is the same, bit for bit,
 * whatever the other texts, their order and the number of threads. `request` may be NULL. With `count` 0, `texts` and `lengths` may
 * be NULL. Keys of `request`:
 *
 * - `top`: keep the largest weights only
 * - `threshold`: leave out weights below this
 * - `truncation`: `window` gives each token its largest weight of all windows
 * - `prompt`, `prompt_name`, `max_tokens`, `overlap`, `threads`: as in cloze_encode
 * - `deadline_ms`, and cloze_request_set_cancel: stop, and keep what is finished
 *
 * `sparse` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free it
 * with cloze_sparse_free.
 *
 * Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the texts finished by then, counted from the first, have their weights.
 * CLOZE_INVALID_ARGUMENT for a model without a head for fill_mask (the message says which it has), or a request that it cannot
 * serve; CLOZE_TOO_LONG; CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8; CLOZE_NON_FINITE; CLOZE_OUT_OF_MEMORY.
 *
 * Since: 0.1.0
 */
cloze_status cloze_encode_sparse(const cloze_model *model,
                                 const cloze_request *request,
                                 const char *const *texts,
                                 const size_t *lengths,
                                 size_t count,
                                 cloze_sparse **sparse,
                                 cloze_error *error);

/**
 * The number of texts of the call. NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_sparse_count(const cloze_sparse *sparse);

/**
 * How many texts, counted from the first, have their weights: all of them unless a deadline or a cancellation stopped the call.
 * NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_sparse_finished(const cloze_sparse *sparse);

/**
 * The number of weights of a text; 0 for one that was not finished or does not exist, and for NULL.
 *
 * Since: 0.1.0
 */
size_t cloze_sparse_weights(const cloze_sparse *sparse, size_t input);

/**
 * Copies the weights of a text, the largest first, of equals the one with the lower id: `ids` and `weights` each hold `capacity`
 * numbers. `count` receives the number copied; on CLOZE_BUFFER_TOO_SMALL nothing is copied and it receives the number needed.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_BUFFER_TOO_SMALL; CLOZE_INVALID_ARGUMENT for an input that does not exist.
 *
 * Since: 0.1.0
 */
cloze_status cloze_sparse_copy(const cloze_sparse *sparse,
                               size_t input,
                               uint32_t *ids,
                               float *weights,
                               size_t capacity,
                               size_t *count,
                               cloze_error *error);

/**
 * The token of a weight as the vocabulary spells it, in UTF-8 with a final NUL; `length` (may be NULL) receives its bytes without the
 * NUL. NULL for an input or a place that does not exist, and for NULL `sparse`. The string belongs to `sparse` and is valid until
 * cloze_sparse_free.
 *
 * Since: 0.1.0
 */
const char *cloze_sparse_token(const cloze_sparse *sparse,
                               size_t input,
                               size_t place,
                               size_t *length);

/**
 * What became of an input. Each result may be NULL:
 *
 * - `tokens`: tokens that the encoder saw, special tokens included; for windows, those of all windows
 * - `total`: tokens of the whole text, special tokens included, before anything was cut
 * - `truncated`: whether tokens were left out
 * - `windows`: number of windows, 1 where it fits or was cut; 0 for a text that was not finished
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `sparse`; CLOZE_INVALID_ARGUMENT for a number beyond the last text.
 *
 * Since: 0.1.0
 */
cloze_status cloze_sparse_input(const cloze_sparse *sparse,
                                size_t input,
                                size_t *tokens,
                                size_t *total,
                                bool *truncated,
                                size_t *windows,
                                cloze_error *error);

/**
 * Frees `sparse`. NULL is fine.
 *
 * Since: 0.1.0
 */
void cloze_sparse_free(cloze_sparse *sparse);

/**
 * Turns `count` texts into one vector for each token that counts, with its token: ids, and places in the text. Text `i` is the
 * `lengths[i]` bytes of UTF-8 at `texts[i]`; the texts must not change during the call. Documents leave out the tokens that the model's
 * files say, queries are filled up with mask tokens where they say so. The answer for a text is the same, bit for bit, whatever the other
 * texts, their order and the number of threads. `request` may be NULL. With `count` 0, `texts` and `lengths` may be NULL. Keys of
 * `request`:
 *
 * - `role`: `query` or `document`, the latter unless said otherwise
 * - `offsets`: the unit of places
 * - `normalize`: `false` leaves vectors as long as the projection makes them; otherwise their length is 1
 * - `prompt`, `prompt_name`, `max_tokens`, `truncation` (not `window`), `threads`: as in cloze_encode
 * - `deadline_ms`, and cloze_request_set_cancel: stop, and keep what is finished
 *
 * `late` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free it with
 * cloze_late_free.
 *
 * Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the texts finished by then, counted from the first, have their vectors.
 * CLOZE_INVALID_ARGUMENT for a model of another kind, or a request that it cannot serve; CLOZE_TOO_LONG; CLOZE_NULL_ARGUMENT;
 * CLOZE_INVALID_UTF8; CLOZE_NON_FINITE; CLOZE_OUT_OF_MEMORY.
 *
 * Since: 0.1.0
 */
cloze_status cloze_encode_late(const cloze_model *model,
                               const cloze_request *request,
                               const char *const *texts,
                               const size_t *lengths,
                               size_t count,
                               cloze_late **late,
                               cloze_error *error);

/**
 * The number of texts of the call. NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_late_count(const cloze_late *late);

/**
 * How many texts, counted from the first, have their vectors: all of them unless a deadline or a cancellation stopped the call. NULL
 * gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_late_finished(const cloze_late *late);

/**
 * The number of values of one vector. NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_late_dimensions(const cloze_late *late);

/**
 * The number of vectors of a text; 0 for one that was not finished or does not exist, and for NULL.
 *
 * Since: 0.1.0
 */
size_t cloze_late_vectors(const cloze_late *late, size_t input);

/**
 * Copies the vectors of a text, one after another, to `vectors`, which holds `capacity` numbers. `count` receives the number of numbers
 * copied, cloze_late_vectors times cloze_late_dimensions; on CLOZE_BUFFER_TOO_SMALL nothing is copied and it receives the number needed.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_BUFFER_TOO_SMALL; CLOZE_INVALID_ARGUMENT for an input that does not exist.
 *
 * Since: 0.1.0
 */
cloze_status cloze_late_copy(const cloze_late *late,
                             size_t input,
                             float *vectors,
                             size_t capacity,
                             size_t *count,
                             cloze_error *error);

/**
 * The token that a vector stands for. Each result may be NULL:
 *
 * - `id`: the token's number in the vocabulary
 * - `start`, `end`: where it stands in the text, from `start` up to but not including `end`, in the unit that the request's `offsets`
 *   names; both 0 for special tokens, the marker, mask tokens and a prompt's
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `late`; CLOZE_INVALID_ARGUMENT for an input or a vector that does not exist.
 *
 * Since: 0.1.0
 */
cloze_status cloze_late_get(const cloze_late *late,
                            size_t input,
                            size_t vector,
                            uint32_t *id,
                            size_t *start,
                            size_t *end,
                            cloze_error *error);

/**
 * The token of a vector as the vocabulary spells it, in UTF-8 with a final NUL; `length` (may be NULL) receives its bytes without the NUL.
 * NULL for an input or a vector that does not exist, and for NULL `late`. The string belongs to `late` and is valid until
 * cloze_late_free.
 *
 * Since: 0.1.0
 */
const char *cloze_late_token(const cloze_late *late,
                             size_t input,
                             size_t vector,
                             size_t *length);

/**
 * What became of an input. Each result may be NULL:
 *
 * - `tokens`: tokens that the encoder saw, special tokens, the marker and mask tokens included
 * - `total`: tokens of the whole text, special tokens and the marker included, before anything was cut
 * - `truncated`: whether tokens were left out
 * - `windows`: 1; 0 for a text that was not finished
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `late`; CLOZE_INVALID_ARGUMENT for a number beyond the last text.
 *
 * Since: 0.1.0
 */
cloze_status cloze_late_input(const cloze_late *late,
                              size_t input,
                              size_t *tokens,
                              size_t *total,
                              bool *truncated,
                              size_t *windows,
                              cloze_error *error);

/**
 * Frees `late`. NULL is fine.
 *
 * Since: 0.1.0
 */
void cloze_late_free(cloze_late *late);

/**
 * Ranks `count` documents by how well they answer `query`, `query_length` bytes of UTF-8. Document `i` is the `lengths[i]`
 * bytes of UTF-8 at `documents[i]`; they must not change during the call. A document's score is the same, bit for bit, whatever
 * the other documents, their order and the number of threads. `request` may be NULL. With `count` 0, `documents` and `lengths`
 * may be NULL; with a length of 0, so may the text.
 *
 * A cross-encoder (a model with a classification head of one or two labels) reads query and document as one pair; a model
 * without such a head encodes both, with its own prompts for queries and documents, and takes the cosine; a sparse encoder takes the
 * dot product of sparse weights, a late-interaction model (ColBERT) the sum of each query token's best dot product with a token of the
 * document. A model with a multiple-choice head reads a question or premise (`query`) with each of its choices (`documents`): a choice's
 * score is its probability among all choices that were scored, whatever `top` keeps, and depends on the others; its raw number does not.
 * Keys of `request`:
 *
 * - `vectors`: sparse ranks by sparse weights, of any model with a head for fill_mask
 * - `activation`: how the raw number becomes a score; a cross-encoder's own, where its files declare one, else sigmoid; of choices
 *   softmax. The order is that of the raw numbers, which never saturate.
 * - `top`: keep the best documents only
 * - `windows`: of documents longer than the limit, `first` reads what fits, as `truncation` cuts it; `max` and `mean` read all
 *   of it, in windows that hold the whole query each
 * - `deadline_ms`, and cloze_request_set_cancel: stop, and rank what was scored by then. Documents are scored in the order in
 *   which they are given, some thirty at a time: put the most promising first.
 *
 * `ranking` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free
 * it with cloze_ranking_free.
 *
 * Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the documents scored by then are ranked, and cloze_ranking_document says
 * which these are. CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8 names the text and the byte; CLOZE_TOO_LONG names the document;
 * CLOZE_INVALID_ARGUMENT for a request that the model cannot serve; CLOZE_NON_FINITE names the document whose score is no
 * number: it never gets a rank; CLOZE_OUT_OF_MEMORY.
 *
 * Since: 0.1.0
 */
cloze_status cloze_rerank(const cloze_model *model,
                          const cloze_request *request,
                          const char *query,
                          size_t query_length,
                          const char *const *documents,
                          const size_t *lengths,
                          size_t count,
                          cloze_ranking **ranking,
                          cloze_error *error);

/**
 * The number of ranks: of the documents scored, or the request's `top`. NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_ranking_count(const cloze_ranking *ranking);

/**
 * How many documents were scored: all of them unless a deadline or a cancellation stopped the call. NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_ranking_scored(const cloze_ranking *ranking);

/**
 * The document at a rank, the best at rank 0, of equals the earlier document first. Each result may be NULL:
 *
 * - `document`: its number in the call
 * - `score`: the raw number put through the activation
 * - `logit`: the raw number; of a model with two labels the second's minus the first's; of a model without a head the cosine, or the
 *   dot product of sparse weights
 *
 * Errors: CLOZE_NULL_ARGUMENT for a NULL `ranking`; CLOZE_INVALID_ARGUMENT for a rank beyond the last.
 *
 * Since: 0.1.0
 */
cloze_status cloze_ranking_get(const cloze_ranking *ranking,
                               size_t rank,
                               size_t *document,
                               float *score,
                               float *logit,
                               cloze_error *error);

/**
 * What became of the document with number `document`. Each result may be NULL:
 *
 * - `tokens`: tokens that the encoder saw, with the query's and special tokens; for windows, those of all windows
 * - `total`: tokens of query and document, before anything was cut; of a model without a head, of the document
 * - `truncated`: whether tokens were left out
 * - `windows`: number of windows, 1 where it fits or was cut; 0 for a document that was not scored
 *
 * Errors: CLOZE_NULL_ARGUMENT for a NULL `ranking`; CLOZE_INVALID_ARGUMENT for a number beyond the last document.
 *
 * Since: 0.1.0
 */
cloze_status cloze_ranking_document(const cloze_ranking *ranking,
                                    size_t document,
                                    size_t *tokens,
                                    size_t *total,
                                    bool *truncated,
                                    size_t *windows,
                                    cloze_error *error);

/**
 * Frees `ranking`. NULL is fine.
 *
 * Since: 0.1.0
 */
void cloze_ranking_free(cloze_ranking *ranking);

/**
 * Labels `count` texts, or pairs of texts, by the model's classification head. Text `i` is the `lengths[i]` bytes of UTF-8 at
 * `texts[i]`. `pairs` and `pair_lengths` may be NULL: there are single texts only. Otherwise a `pairs[i]` that is NULL, with a
 * length of 0, means that text `i` is single. The texts must not change during the call. The answer for an input is the same,
 * bit for bit, whatever the other inputs, their order and the number of threads. `request` may be NULL. With `count` 0 all
 * lists may be NULL. Keys of `request`:
 *
 * - `activation`: how raw numbers become scores; `model` goes by the `problem_type` of the model's files: softmax for labels that
 *   exclude each other, sigmoid for those that stand for themselves, identity for regression
 * - `top`: keep the best labels only
 * - `windows`: how inputs longer than the limit are read: what fits (`first`), or all, in windows whose raw numbers are joined
 * - `deadline_ms`, and cloze_request_set_cancel: stop, and keep what is finished
 *
 * `classes` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free
 * it with cloze_classes_free.
 *
 * Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the inputs finished by then, counted from the first, have their labels.
 * CLOZE_INVALID_ARGUMENT for a model without the head (the message says which it has), or a request that it cannot serve;
 * CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8; CLOZE_TOO_LONG; CLOZE_NON_FINITE; CLOZE_OUT_OF_MEMORY.
 *
 * Since: 0.1.0
 */
cloze_status cloze_classify(const cloze_model *model,
                            const cloze_request *request,
                            const char *const *texts,
                            const size_t *lengths,
                            const char *const *pairs,
                            const size_t *pair_lengths,
                            size_t count,
                            cloze_classes **classes,
                            cloze_error *error);

/**
 * Says how well each of `label_count` labels fits each of `count` texts, by a model of natural language inference: one of its
 * own labels must begin with "entail". Label `i` is the `label_lengths[i]` bytes of UTF-8 at `labels[i]`. The request's
 * `hypothesis` is the sentence that is asked of each label, with {} in its place; with `multi_label` = true several labels may be
 * true at once, otherwise their scores add up to 1. Only texts are cut, never a hypothesis. Otherwise as cloze_classify; the
 * number of a label, in cloze_classes_get, is that in `labels`.
 *
 * Errors: as cloze_classify; CLOZE_INVALID_ARGUMENT for no labels, or a model of another kind.
 *
 * Since: 0.1.0
 */
cloze_status cloze_classify_as(const cloze_model *model,
                               const cloze_request *request,
                               const char *const *texts,
                               const size_t *lengths,
                               size_t count,
                               const char *const *labels,
                               const size_t *label_lengths,
                               size_t label_count,
                               cloze_classes **classes,
                               cloze_error *error);

/**
 * The number of inputs of the call. NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_classes_count(const cloze_classes *classes);

/**
 * How many inputs, counted from the first, have their labels: all of them unless a deadline or a cancellation stopped the
 * call. NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_classes_finished(const cloze_classes *classes);

/**
 * The number of labels of an input: those of the model, or the request's `top`; 0 for an input that was not finished or does
 * not exist, and for NULL.
 *
 * Since: 0.1.0
 */
size_t cloze_classes_labels(const cloze_classes *classes,
                            size_t input);

/**
 * A label of an input, the best at place 0, of equals the one with the lower number. Each result may be NULL:
 *
 * - `label`: its number among the model's labels, or among those given to cloze_classify_as
 * - `score`: the raw number put through the activation
 * - `logit`: the raw number
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `classes`; CLOZE_INVALID_ARGUMENT for an input or a place that does not exist.
 *
 * Since: 0.1.0
 */
cloze_status cloze_classes_get(const cloze_classes *classes,
                               size_t input,
                               size_t place,
                               size_t *label,
                               float *score,
                               float *logit,
                               cloze_error *error);

/**
 * The name of the label at a place, in UTF-8 with a final NUL; `length` (may be NULL) receives its bytes without the NUL. NULL
 * for an input or a place that does not exist, and for NULL `classes`. The string belongs to `classes` and is valid until
 * cloze_classes_free.
 *
 * Since: 0.1.0
 */
const char *cloze_classes_name(const cloze_classes *classes,
                               size_t input,
                               size_t place,
                               size_t *length);

/**
 * What became of an input. Each result may be NULL:
 *
 * - `tokens`: tokens that the encoder saw, special tokens included; for windows, those of all windows
 * - `total`: tokens of the whole input, special tokens included, before anything was cut
 * - `truncated`: whether tokens were left out
 * - `windows`: number of windows, 1 where it fits or was cut; 0 for an input that was not finished
 *
 * Of cloze_classify_as these are the longest pair's of text and hypothesis.
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `classes`; CLOZE_INVALID_ARGUMENT for a number beyond the last input.
 *
 * Since: 0.1.0
 */
cloze_status cloze_classes_input(const cloze_classes *classes,
                                 size_t input,
                                 size_t *tokens,
                                 size_t *total,
                                 bool *truncated,
                                 size_t *windows,
                                 cloze_error *error);

/**
 * Frees `classes`. NULL is fine.
 *
 * Since: 0.1.0
 */
void cloze_classes_free(cloze_classes *classes);

/**
 * Says for each of `count` pairs how probably its second text follows its first, by the head of BERT's pre-training. Pair `i` is
 * the `lengths[i]` bytes of UTF-8 at `texts[i]` and the `pair_lengths[i]` bytes at `pairs[i]`; they must not change during the
 * call. The answer for a pair is the same, bit for bit, whatever the other pairs, their order and the number of threads.
 * `request` may be NULL; its `windows`, `truncation`, `deadline_ms` and cancellation are as for cloze_classify. With `count` 0 all
 * lists may be NULL.
 *
 * `follows` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free
 * it with cloze_follows_free.
 *
 * Errors: as cloze_classify.
 *
 * Since: 0.1.0
 */
cloze_status cloze_next_sentence(const cloze_model *model,
                                 const cloze_request *request,
                                 const char *const *texts,
                                 const size_t *lengths,
                                 const char *const *pairs,
                                 const size_t *pair_lengths,
                                 size_t count,
                                 cloze_follows **follows,
                                 cloze_error *error);

/**
 * The number of pairs of the call. NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_follows_count(const cloze_follows *follows);

/**
 * How many pairs, counted from the first, have their answer: all of them unless a deadline or a cancellation stopped the call.
 * NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_follows_finished(const cloze_follows *follows);

/**
 * The answer for a pair. Each result may be NULL:
 *
 * - `score`: the probability that the second text follows the first
 * - `logit`, `other_logit`: the raw number for "it follows", and the one for "it was taken from elsewhere"
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `follows`; CLOZE_INVALID_ARGUMENT for a pair that was not finished or does not exist.
 *
 * Since: 0.1.0
 */
cloze_status cloze_follows_get(const cloze_follows *follows,
                               size_t pair,
                               float *score,
                               float *logit,
                               float *other_logit,
                               cloze_error *error);

/**
 * What became of a pair; each result may be NULL. See cloze_classes_input.
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `follows`; CLOZE_INVALID_ARGUMENT for a number beyond the last pair.
 *
 * Since: 0.1.0
 */
cloze_status cloze_follows_input(const cloze_follows *follows,
                                 size_t pair,
                                 size_t *tokens,
                                 size_t *total,
                                 bool *truncated,
                                 size_t *windows,
                                 cloze_error *error);

/**
 * Frees `follows`. NULL is fine.
 *
 * Since: 0.1.0
 */
void cloze_follows_free(cloze_follows *follows);

/**
 * Fills the blanks of `count` texts by the model's head of masked language modelling. Text `i` is the `lengths[i]` bytes of UTF-8 at
 * `texts[i]`; a blank is the tokenizer's mask token as it is written, `[MASK]` or `<mask>`. Each blank is filled for itself, the
 * others left blank. With `candidate_count` 0, `candidates` and `candidate_lengths` may be NULL, and each blank gets the best
 * tokens of the vocabulary. Otherwise only candidates are scored, `candidate_lengths[i]` bytes of UTF-8 at `candidates[i]`: each
 * is a token as the vocabulary spells it, or a word that becomes one token; those that are the same token count once. Scores are
 * probabilities of the whole vocabulary in either case. The texts must not change during the call. The answer for a text is the
 * same, bit for bit, whatever the other texts, their order and the number of threads. `request` may be NULL. With `count` 0 all
 * lists may be NULL. Keys of `request`:
 *
 * - `top`: tokens for each blank; 5, or all candidates, unless said otherwise, and at most 1000 of the vocabulary
 * - `truncation`: of a text longer than the limit, unless said otherwise, the encoder sees a window around its blanks; `left` and
 *   `right` cut as everywhere
 * - `offsets`: the unit of places in the text
 * - `deadline_ms`, and cloze_request_set_cancel: stop, and keep what is finished
 *
 * `fills` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free it
 * with cloze_fills_free.
 *
 * Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the texts finished by then, counted from the first, have their tokens.
 * CLOZE_INVALID_ARGUMENT for a model without the head (the message says which it has), a text without a blank, a candidate that is
 * not one token, or a request that the model cannot serve; CLOZE_TOO_LONG where the blanks of a text stand further apart than the
 * limit, or are cut off; CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8; CLOZE_NON_FINITE; CLOZE_OUT_OF_MEMORY.
 *
 * Since: 0.1.0
 */
cloze_status cloze_fill_mask(const cloze_model *model,
                             const cloze_request *request,
                             const char *const *texts,
                             const size_t *lengths,
                             size_t count,
                             const char *const *candidates,
                             const size_t *candidate_lengths,
                             size_t candidate_count,
                             cloze_fills **fills,
                             cloze_error *error);

/**
 * The number of texts of the call. NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_fills_count(const cloze_fills *fills);

/**
 * How many texts, counted from the first, have their tokens: all of them unless a deadline or a cancellation stopped the call.
 * NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_fills_finished(const cloze_fills *fills);

/**
 * The number of blanks of a text; 0 for one that was not finished or does not exist, and for NULL.
 *
 * Since: 0.1.0
 */
size_t cloze_fills_blanks(const cloze_fills *fills, size_t input);

/**
 * Where a blank stands, and how many tokens there are for it. Each result may be NULL:
 *
 * - `start`, `end`: from `start` up to but not including `end`, in the unit that the request's `offsets` named
 * - `count`: tokens
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `fills`; CLOZE_INVALID_ARGUMENT for an input or a blank that does not exist.
 *
 * Since: 0.1.0
 */
cloze_status cloze_fills_blank(const cloze_fills *fills,
                               size_t input,
                               size_t blank,
                               size_t *start,
                               size_t *end,
                               size_t *count,
                               cloze_error *error);

/**
 * A token for a blank, the best at place 0, of equals the one with the lower number. Each result may be NULL:
 *
 * - `id`: its number in the vocabulary
 * - `score`: its probability
 * - `logit`: the raw number
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `fills`; CLOZE_INVALID_ARGUMENT for an input, a blank or a place that does not exist.
 *
 * Since: 0.1.0
 */
cloze_status cloze_fills_get(const cloze_fills *fills,
                             size_t input,
                             size_t blank,
                             size_t place,
                             uint32_t *id,
                             float *score,
                             float *logit,
                             cloze_error *error);

/**
 * The token at a place as it reads on its own, in UTF-8 with a final NUL; `length` (may be NULL) receives its bytes without the
 * NUL. NULL for an input, a blank or a place that does not exist, and for NULL `fills`. The string belongs to `fills` and is valid
 * until cloze_fills_free.
 *
 * Since: 0.1.0
 */
const char *cloze_fills_token(const cloze_fills *fills,
                              size_t input,
                              size_t blank,
                              size_t place,
                              size_t *length);

/**
 * Copies the whole text of an input with the token at a place in its blank to `text`, which holds `capacity` bytes: UTF-8 without a
 * NUL. A token that continues a word joins the word before the blank; other blanks stay. `length` receives the bytes written; on
 * CLOZE_BUFFER_TOO_SMALL nothing is written and it receives the bytes needed.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_BUFFER_TOO_SMALL; CLOZE_INVALID_ARGUMENT for an input, a blank or a place that does not exist.
 *
 * Since: 0.1.0
 */
cloze_status cloze_fills_text(const cloze_fills *fills,
                              size_t input,
                              size_t blank,
                              size_t place,
                              char *text,
                              size_t capacity,
                              size_t *length,
                              cloze_error *error);

/**
 * What became of an input. Each result may be NULL:
 *
 * - `tokens`: tokens that the encoder saw, special tokens included
 * - `total`: tokens of the whole text, special tokens included, before anything was cut
 * - `truncated`: whether tokens were left out
 * - `windows`: 1; 0 for a text that was not finished
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `fills`; CLOZE_INVALID_ARGUMENT for a number beyond the last text.
 *
 * Since: 0.1.0
 */
cloze_status cloze_fills_input(const cloze_fills *fills,
                               size_t input,
                               size_t *tokens,
                               size_t *total,
                               bool *truncated,
                               size_t *windows,
                               cloze_error *error);

/**
 * Frees `fills`. NULL is fine.
 *
 * Since: 0.1.0
 */
void cloze_fills_free(cloze_fills *fills);

/**
 * Finds the parts of each of `count` contexts that answer `question`, `question_length` bytes of UTF-8, by the model's head for
 * question answering. Context `i` is the `lengths[i]` bytes of UTF-8 at `contexts[i]`; they must not change during the call.
 * Contexts longer than the limit are read in overlapping windows, each beside the whole question. The answer for a context is the
 * same, bit for bit, whatever the other contexts, their order and the number of threads. `request` may be NULL. With `count` 0,
 * `contexts` and `lengths` may be NULL; with a length of 0, so may the context. Keys of `request`:
 *
 * - `top`: how many answers of each context, one unless it is set; each place counts once
 * - `max_answer`: the longest answer in tokens
 * - `no_answer_threshold`: leave out answers whose logit is more than this below that of no answer
 * - `offsets`: the unit of cloze_answers_get
 * - `max_tokens`, `overlap`: the size of windows (384 tokens at most unless set), and what they share (128, or half a window)
 * - `truncation`: `right` or `left` cut long contexts instead, `error` refuses them
 * - `deadline_ms`, and cloze_request_set_cancel: stop, and keep what is finished
 *
 * `answers` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free
 * it with cloze_answers_free.
 *
 * Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the contexts finished by then, counted from the first, have their answers.
 * CLOZE_INVALID_ARGUMENT for a model without the head (the message says which it has), a question without words, or a request
 * that cannot be served; CLOZE_TOO_LONG for a question that leaves contexts no room; CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8;
 * CLOZE_NON_FINITE; CLOZE_OUT_OF_MEMORY.
 *
 * Since: 0.1.0
 */
cloze_status cloze_extract(const cloze_model *model,
                           const cloze_request *request,
                           const char *question,
                           size_t question_length,
                           const char *const *contexts,
                           const size_t *lengths,
                           size_t count,
                           cloze_answers **answers,
                           cloze_error *error);

/**
 * The number of contexts of the call. NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_answers_count(const cloze_answers *answers);

/**
 * How many contexts, counted from the first, are finished: all of them unless a deadline or a cancellation stopped the call. NULL
 * gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_answers_finished(const cloze_answers *answers);

/**
 * The number of answers of a context: the request's `top` at most, fewer where there are no more; 0 for a context that was not
 * finished or does not exist, and for NULL.
 *
 * Since: 0.1.0
 */
size_t cloze_answers_found(const cloze_answers *answers,
                           size_t context);

/**
 * An answer of a context, the best at place 0. Each result may be NULL:
 *
 * - `start`, `end`: where it stands in the context, from `start` up to but not including `end`, in the unit that the request's
 *   `offsets` names
 * - `score`: the probability that it starts there times the probability that it ends there
 * - `logit`: the sum of the two raw numbers
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `answers`; CLOZE_INVALID_ARGUMENT for a context or a place that does not exist.
 *
 * Since: 0.1.0
 */
cloze_status cloze_answers_get(const cloze_answers *answers,
                               size_t context,
                               size_t place,
                               size_t *start,
                               size_t *end,
                               float *score,
                               float *logit,
                               cloze_error *error);

/**
 * The text of the answer at a place, as it stands in the context, in UTF-8 with a final NUL; `length` (may be NULL) receives its
 * bytes without the NUL. NULL for a context or a place that does not exist, and for NULL `answers`. The string belongs to
 * `answers` and is valid until cloze_answers_free.
 *
 * Since: 0.1.0
 */
const char *cloze_answers_text(const cloze_answers *answers,
                               size_t context,
                               size_t place,
                               size_t *length);

/**
 * How probable it is that a context has no answer. Each result may be NULL:
 *
 * - `score`: the probability, of all windows the smallest; 0 for a context that was not finished
 * - `logit`: the sum of the two raw numbers of no answer, of all windows the smallest
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `answers`; CLOZE_INVALID_ARGUMENT for a context that does not exist.
 *
 * Since: 0.1.0
 */
cloze_status cloze_answers_none(const cloze_answers *answers,
                                size_t context,
                                float *score,
                                float *logit,
                                cloze_error *error);

/**
 * What became of a context. Each result may be NULL:
 *
 * - `tokens`: tokens that the encoder saw, the question's and special tokens included; for windows, those of all windows
 * - `total`: tokens of question and context, special tokens included, before anything was cut
 * - `truncated`: whether tokens were left out
 * - `windows`: number of windows, 1 where it fits or was cut; 0 for a context that was not finished
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `answers`; CLOZE_INVALID_ARGUMENT for a number beyond the last context.
 *
 * Since: 0.1.0
 */
cloze_status cloze_answers_context(const cloze_answers *answers,
                                   size_t context,
                                   size_t *tokens,
                                   size_t *total,
                                   bool *truncated,
                                   size_t *windows,
                                   cloze_error *error);

/**
 * Frees `answers`. NULL is fine.
 *
 * Since: 0.1.0
 */
void cloze_answers_free(cloze_answers *answers);

/**
 * Finds the entities of `count` texts by the model's head for tokens. Text `i` is the `lengths[i]` bytes of UTF-8 at `texts[i]`; they
 * must not change during the call. Texts longer than the limit are read in overlapping windows, which cut no word and no entity.
 * The answer for a text is the same, bit for bit, whatever the other texts, their order and the number of threads. `request` may
 * be NULL. With `count` 0 both lists may be NULL; with a length of 0, so may the text. Keys of `request`:
 *
 * - `aggregation`: how labels of tokens become entities
 * - `scheme`: how labels say where an entity begins and ends
 * - `offsets`: the unit of cloze_entities_get
 * - `max_tokens`, `overlap`: the size of windows and what they share
 * - `truncation`: `right` or `left` cut long texts instead, `error` refuses them
 * - `deadline_ms`, and cloze_request_set_cancel: stop, and keep what is finished
 *
 * `entities` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free
 * it with cloze_entities_free.
 *
 * Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the texts finished by then, counted from the first, have their entities.
 * CLOZE_INVALID_ARGUMENT for a model without the head (the message says which it has), or a request that cannot be served;
 * CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8; CLOZE_TOO_LONG; CLOZE_NON_FINITE; CLOZE_OUT_OF_MEMORY.
 *
 * Since: 0.1.0
 */
cloze_status cloze_tag(const cloze_model *model,
                       const cloze_request *request,
                       const char *const *texts,
                       const size_t *lengths,
                       size_t count,
                       cloze_entities **entities,
                       cloze_error *error);

/**
 * As cloze_tag, of words that the caller has found. The words of all inputs stand one after another in `words` and `lengths`; input
 * `i` has `word_counts[i]` of them. A word is never divided in two, whatever the tokenizer makes of it. Places are those in the text
 * that the words of an input make with one space between neighbours; cloze_entities_words tells which words an entity has.
 *
 * Errors: as cloze_tag; CLOZE_INVALID_ARGUMENT where the counts add up to more than memory can hold.
 *
 * Since: 0.1.0
 */
cloze_status cloze_tag_words(const cloze_model *model,
                             const cloze_request *request,
                             const char *const *words,
                             const size_t *lengths,
                             const size_t *word_counts,
                             size_t count,
                             cloze_entities **entities,
                             cloze_error *error);

/**
 * The number of inputs of the call. NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_entities_count(const cloze_entities *entities);

/**
 * How many inputs, counted from the first, have their entities: all of them unless a deadline or a cancellation stopped the call.
 * NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_entities_finished(const cloze_entities *entities);

/**
 * The number of entities of an input; 0 for an input that was not finished or does not exist, and for NULL.
 *
 * Since: 0.1.0
 */
size_t cloze_entities_found(const cloze_entities *entities, size_t input);

/**
 * An entity of an input. Each result may be NULL:
 *
 * - `start`, `end`: where it stands in the text, from `start` up to but not including `end`, in the unit that the request's
 *   `offsets` names
 * - `score`: the probability of its label, the mean over its tokens or words
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `entities`; CLOZE_INVALID_ARGUMENT for an input or a place that does not exist.
 *
 * Since: 0.1.0
 */
cloze_status cloze_entities_get(const cloze_entities *entities,
                                size_t input,
                                size_t place,
                                size_t *start,
                                size_t *end,
                                float *score,
                                cloze_error *error);

/**
 * Which words of an input of cloze_tag_words an entity has: from number `first` up to but not including `end`. Each result may be
 * NULL.
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `entities`; CLOZE_INVALID_ARGUMENT for an input or a place that does not exist, and for a
 * text, whose words nobody counted.
 *
 * Since: 0.1.0
 */
cloze_status cloze_entities_words(const cloze_entities *entities,
                                  size_t input,
                                  size_t place,
                                  size_t *first,
                                  size_t *end,
                                  cloze_error *error);

/**
 * The label of an entity, in UTF-8 with a final NUL; `length` (may be NULL) receives its bytes without the NUL. NULL for an input or
 * a place that does not exist, and for NULL `entities`. The string belongs to `entities` and is valid until cloze_entities_free.
 *
 * Since: 0.1.0
 */
const char *cloze_entities_label(const cloze_entities *entities,
                                 size_t input,
                                 size_t place,
                                 size_t *length);

/**
 * The text of an entity, as it stands in its input; otherwise as cloze_entities_label.
 *
 * Since: 0.1.0
 */
const char *cloze_entities_text(const cloze_entities *entities, size_t input, size_t place, size_t *length);

/**
 * What became of an input. Each result may be NULL:
 *
 * - `tokens`: tokens that the encoder saw, special tokens included; for windows, those of all windows
 * - `total`: tokens of the whole input, special tokens included, before anything was cut
 * - `truncated`: whether tokens were left out
 * - `windows`: number of windows, 1 where it fits or was cut; 0 for an input that was not finished
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `entities`; CLOZE_INVALID_ARGUMENT for a number beyond the last input.
 *
 * Since: 0.1.0
 */
cloze_status cloze_entities_input(const cloze_entities *entities,
                                  size_t input,
                                  size_t *tokens,
                                  size_t *total,
                                  bool *truncated,
                                  size_t *windows,
                                  cloze_error *error);

/**
 * Frees `entities`. NULL is fine.
 *
 * Since: 0.1.0
 */
void cloze_entities_free(cloze_entities *entities);

/**
 * Cuts a text into the tokens that the encoder would see: the prompt, the limit, the truncation policy and the offset unit of
 * `request` (NULL for the model's own use) apply. `text` is `length` bytes of UTF-8. `pair` is a second text of `pair_length`
 * bytes that goes with the first, as a reranker takes a query and a passage; NULL means that there is none. `tokens` receives
 * the result, or NULL on an error; free it with cloze_tokens_free.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8 names the text and the byte; CLOZE_TOO_LONG for a text or a pair of more
 * than 4 MiB and, under the truncation policy `error`, of more tokens than the limit; CLOZE_INVALID_ARGUMENT for a request that
 * the model cannot serve.
 *
 * Since: 0.1.0
 */
cloze_status cloze_tokenize(const cloze_model *model,
                            const cloze_request *request,
                            const char *text,
                            size_t length,
                            const char *pair,
                            size_t pair_length,
                            cloze_tokens **tokens,
                            cloze_error *error);

/**
 * The number of windows: 1, or more where the request's truncation is `window` and the text is longer than the limit. NULL
 * gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_tokens_windows(const cloze_tokens *tokens);

/**
 * The number of tokens of a window, special tokens included; 0 for a window that does not exist, and for NULL.
 *
 * Since: 0.1.0
 */
size_t cloze_tokens_count(const cloze_tokens *tokens, size_t window);

/**
 * The number of tokens of the whole input, special tokens included, before anything was cut. NULL gives 0.
 *
 * Since: 0.1.0
 */
size_t cloze_tokens_total(const cloze_tokens *tokens);

/**
 * Whether tokens were left out. NULL gives false.
 *
 * Since: 0.1.0
 */
bool cloze_tokens_truncated(const cloze_tokens *tokens);

/**
 * One token of a window. Each result may be NULL:
 *
 * - `id`: the token's number in the vocabulary
 * - `type_id`: the segment, 0 for the text and 1 for its pair
 * - `special`: whether the template added it, as `[CLS]` and `[SEP]`
 * - `start`, `end`: where it stands in its own text (the pair's tokens: in the pair), from `start` up to but not including
 *   `end`, in the unit that the request's `offsets` names; both 0 for special tokens and for a prompt's
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `tokens`; CLOZE_INVALID_ARGUMENT for a window or token that does not exist.
 *
 * Since: 0.1.0
 */
cloze_status cloze_tokens_get(const cloze_tokens *tokens,
                              size_t window,
                              size_t token,
                              uint32_t *id,
                              uint32_t *type_id,
                              bool *special,
                              size_t *start,
                              size_t *end,
                              cloze_error *error);

/**
 * The token as the vocabulary spells it, in UTF-8 with a final NUL; `length` (may be NULL) receives its bytes without the NUL.
 * NULL for a window or token that does not exist, and for NULL `tokens`. The string belongs to `tokens` and is valid until
 * cloze_tokens_free.
 *
 * Since: 0.1.0
 */
const char *cloze_tokens_text(const cloze_tokens *tokens,
                              size_t window,
                              size_t token,
                              size_t *length);

/**
 * Copies the ids of a window's tokens to `ids`, which holds `capacity` ids. `count` receives the number of ids written; on
 * CLOZE_BUFFER_TOO_SMALL nothing is written and it receives the number needed.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_BUFFER_TOO_SMALL; CLOZE_INVALID_ARGUMENT for a window that does not exist.
 *
 * Since: 0.1.0
 */
cloze_status cloze_tokens_ids(const cloze_tokens *tokens,
                              size_t window,
                              uint32_t *ids,
                              size_t capacity,
                              size_t *count,
                              cloze_error *error);

/**
 * Frees `tokens`. NULL is fine.
 *
 * Since: 0.1.0
 */
void cloze_tokens_free(cloze_tokens *tokens);

/**
 * Runs the encoder over a text, and keeps what each head of each layer looks at and all hidden states. `text` is `length` bytes of
 * UTF-8; `pair` is a second text of `pair_length` bytes, NULL with a length of 0 for none. Prompt, limit, truncation (not
 * `window`), offset unit and deadline of `request` (NULL for the model's own use) apply. `maps` receives the result, or NULL on an
 * error; free it with cloze_maps_free.
 *
 * Errors: CLOZE_TOO_LONG where all of it would take more than 4 GiB, with the size in the message;
 * CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: there are no half maps; CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8;
 * CLOZE_INVALID_ARGUMENT for a request that the model cannot serve; CLOZE_NON_FINITE; CLOZE_OUT_OF_MEMORY.
 *
 * Since: 0.1.0
 */
cloze_status cloze_attention(const cloze_model *model,
                             const cloze_request *request,
                             const char *text,
                             size_t length,
                             const char *pair,
                             size_t pair_length,
                             cloze_maps **maps,
                             cloze_error *error);

/**
 * The sizes of all maps and states. Each result may be NULL:
 *
 * - `layers`, `heads`: layers, and heads of a layer
 * - `tokens`: rows and columns of a map, rows of a state
 * - `hidden`: columns of a state
 *
 * Errors: CLOZE_NULL_ARGUMENT for NULL `maps`.
 *
 * Since: 0.1.0
 */
cloze_status cloze_maps_sizes(const cloze_maps *maps,
                              size_t *layers,
                              size_t *heads,
                              size_t *tokens,
                              size_t *hidden,
                              cloze_error *error);

/**
 * The tokens that rows and columns stand for, in one window: what they are, where they stand in their texts, and which of them are
 * special. They belong to `maps`: never free them; they are valid until cloze_maps_free. NULL gives NULL.
 *
 * Since: 0.1.0
 */
const cloze_tokens *cloze_maps_tokens(const cloze_maps *maps);

/**
 * Copies the attention map of a head to `numbers`, which holds `capacity` numbers: row after row, how much the row's token takes from
 * each token; a row adds up to 1. `count` receives the numbers written, tokens times tokens; on CLOZE_BUFFER_TOO_SMALL nothing is
 * written and it receives the numbers needed.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_BUFFER_TOO_SMALL; CLOZE_INVALID_ARGUMENT for a layer or a head that does not exist.
 *
 * Since: 0.1.0
 */
cloze_status cloze_maps_attention(const cloze_maps *maps,
                                  size_t layer,
                                  size_t head,
                                  float *numbers,
                                  size_t capacity,
                                  size_t *count,
                                  cloze_error *error);

/**
 * Copies the hidden states behind a layer to `numbers`, which holds `capacity` numbers: row after row, those of each token; layer 0
 * are those before the first layer. `count` receives the numbers written, tokens times hidden; on CLOZE_BUFFER_TOO_SMALL nothing is
 * written and it receives the numbers needed.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_BUFFER_TOO_SMALL; CLOZE_INVALID_ARGUMENT for a layer above the number of layers.
 *
 * Since: 0.1.0
 */
cloze_status cloze_maps_state(const cloze_maps *maps,
                              size_t layer,
                              float *numbers,
                              size_t capacity,
                              size_t *count,
                              cloze_error *error);

/**
 * Frees `maps`, and the tokens that cloze_maps_tokens gave. NULL is fine.
 *
 * Since: 0.1.0
 */
void cloze_maps_free(cloze_maps *maps);

/**
 * One statistic of the memory that a model holds at this moment; `key` is a NUL-terminated word:
 *
 * - `weights_mapped`: bytes of weights used where they lie in the mapped file, shared with other processes
 * - `weights_owned`: bytes of weights in this process's own memory: packed for the kernels, or loaded from memory
 * - `workspaces`: bytes of the work areas of calls, running or kept for the next ones
 * - `calls`: number of calls running now
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8; CLOZE_INVALID_ARGUMENT for an unknown key: the message lists the known.
 *
 * Since: 0.1.0
 */
cloze_status cloze_memory_statistics(const cloze_model *model,
                                     const char *key,
                                     size_t *value,
                                     cloze_error *error);

/**
 * Frees the work areas that no running call uses. The next calls make new ones: use it when a model rests for a while.
 *
 * Errors: CLOZE_NULL_ARGUMENT.
 *
 * Since: 0.1.0
 */
cloze_status cloze_memory_trim(const cloze_model *model, cloze_error *error);

/**
 * The most bytes that one call needs at once to encode `texts` texts of `tokens` tokens each (special tokens included), beside
 * the weights and the vectors: what to plan for, times the calls that run at once.
 *
 * Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_ARGUMENT for more tokens than the model has positions, or none.
 *
 * Since: 0.1.0
 */
cloze_status cloze_memory_peak(const cloze_model *model,
                               size_t tokens,
                               size_t texts,
                               size_t *bytes,
                               cloze_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CLOZE_H */
