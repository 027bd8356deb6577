/* What do the C tests share? Checks that say where they failed, and a few readers.
 *
 * Every program takes the model's folder as its first argument, and the number of rounds as its second where it repeats
 * things. It prints nothing and exits with 0 when all is well. */

#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cloze.h"

/* A test that hangs has failed: the signal ends it. */
#define TIME_LIMIT_SECONDS 500

#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);          \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

/* Calls, and wants that status; a variable `error` is in scope, is what the call was given, and must tell the same. */
#define EXPECT(status, call) expect_(__FILE__, __LINE__, #call, (status), (call), error)
#define OK(call) EXPECT(CLOZE_OK, call)

/* The same, and the message must contain that word. */
#define EXPECT_WORD(status, word, call)                                                              \
    do {                                                                                             \
        EXPECT(status, call);                                                                        \
        if (strstr(cloze_error_message(error, NULL), word) == NULL) {                                \
            fprintf(stderr, "%s:%d: no \"%s\" in: %s\n", __FILE__, __LINE__, word, cloze_error_message(error, NULL)); \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)

static inline void expect_(const char *file, int line, const char *call, cloze_status wanted, cloze_status got, const cloze_error *error) {
    size_t length = 0;
    const char *message = cloze_error_message(error, &length);
    if (got != wanted || cloze_error_code(error) != got || strlen(message) != length || (length == 0) != (got == CLOZE_OK)) {
        fprintf(stderr, "%s:%d: %s\n  gave %s (%d), wanted %s; the error says %d: %s\n", file, line, call, cloze_status_name(got), (int)got,
                cloze_status_name(wanted), (int)cloze_error_code(error), message);
        exit(1);
    }
}

/* The number of rounds: the second argument. */
static inline long rounds(int argc, char **argv) {
    CHECK(argc == 3);
    long n = strtol(argv[2], NULL, 10);
    CHECK(n > 0);
    return n;
}

/* A model with that number of threads. */
static inline cloze_model *load(const char *path, const char *threads) {
    cloze_error *error = cloze_error_new();
    cloze_options *options = cloze_options_new();
    cloze_model *model = NULL;
    OK(cloze_options_set(options, "threads", threads, error));
    OK(cloze_model_load(path, options, &model, error));
    CHECK(model != NULL);
    cloze_options_free(options);
    cloze_error_free(error);
    return model;
}

static inline size_t dimensions_of(const cloze_model *model, const cloze_request *request) {
    cloze_error *error = cloze_error_new();
    size_t dimensions = 0;
    OK(cloze_model_dimensions(model, request, &dimensions, error));
    cloze_error_free(error);
    return dimensions;
}

static inline size_t statistic(const cloze_model *model, const char *key) {
    cloze_error *error = cloze_error_new();
    size_t value = 0;
    OK(cloze_memory_statistics(model, key, &value, error));
    cloze_error_free(error);
    return value;
}

/* The model's description; the caller frees it. */
static inline char *description(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    size_t needed = 0;
    EXPECT(CLOZE_BUFFER_TOO_SMALL, cloze_model_describe(model, NULL, 0, &needed, error));
    char *json = malloc(needed);
    CHECK(json != NULL);
    OK(cloze_model_describe(model, json, needed, &needed, error));
    CHECK(strlen(json) + 1 == needed && json[0] == '{' && json[needed - 2] == '}');
    cloze_error_free(error);
    return json;
}

/* A number of the description. */
static inline long described(const cloze_model *model, const char *name) {
    char *json = description(model);
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    char *at = strstr(json, key);
    CHECK(at != NULL);
    long number = strtol(at + strlen(key), NULL, 10);
    free(json);
    return number;
}

/* The f32 vectors of `count` NUL-terminated texts; the caller frees them. */
static inline float *encode(const cloze_model *model, const cloze_request *request, const char *const *texts, size_t count) {
    cloze_error *error = cloze_error_new();
    size_t needed = 0, written = 0;
    size_t *lengths = malloc((count + 1) * sizeof *lengths);
    CHECK(lengths != NULL);
    for (size_t i = 0; i < count; i++)
        lengths[i] = strlen(texts[i]);
    OK(cloze_encode_size(model, request, count, &needed, error));
    float *vectors = malloc(needed + 1);
    CHECK(vectors != NULL);
    OK(cloze_encode(model, request, texts, lengths, count, vectors, needed, &written, NULL, error));
    CHECK(written == needed);
    free(lengths);
    cloze_error_free(error);
    return vectors;
}

/* A word repeated, with spaces between; the caller frees it. */
static inline char *repeated(const char *word, size_t times) {
    size_t length = strlen(word);
    char *text = malloc(times * (length + 1) + 1);
    CHECK(text != NULL);
    char *at = text;
    for (size_t i = 0; i < times; i++) {
        memcpy(at, word, length);
        at[length] = ' ';
        at += length + 1;
    }
    *at = 0;
    return text;
}

/* Everyday texts of many lengths. */
static const char *const TEXTS[] = {
    "How do I reset my password?",
    "",
    "Forgotten credentials can be renewed on the account page.",
    "naïve café, 東京 and 🙂",
    "a",
    "The quick brown fox jumps over the lazy dog, and then it sleeps for the rest of the afternoon in the shade of a tree.",
    "UPPER lower MiXeD 12345 -- !?",
    "search search search",
};
#define TEXTS_COUNT (sizeof TEXTS / sizeof TEXTS[0])

#endif
