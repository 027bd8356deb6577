/* Are vectors laid out, sized, converted and reported as the header says? */

#include <math.h>

#include "check.h"

static size_t lengths[TEXTS_COUNT];

/* The answer of one request, with its report; the caller frees both. */
static void *answer(const cloze_model *model, const cloze_request *request, size_t *bytes, cloze_report **report) {
    cloze_error *error = cloze_error_new();
    size_t needed = 0;
    /* One byte too few: nothing is written, the size is told. */
    EXPECT(CLOZE_BUFFER_TOO_SMALL, cloze_encode(model, request, TEXTS, lengths, TEXTS_COUNT, NULL, 0, &needed, report, error));
    CHECK(*report == NULL && needed > 0);
    unsigned char *vectors = malloc(needed + 1);
    memset(vectors, 0x5a, needed + 1);
    EXPECT(CLOZE_BUFFER_TOO_SMALL, cloze_encode(model, request, TEXTS, lengths, TEXTS_COUNT, vectors, needed - 1, bytes, report, error));
    CHECK(*bytes == needed && *report == NULL);
    for (size_t i = 0; i <= needed; i++)
        CHECK(vectors[i] == 0x5a);
    OK(cloze_encode(model, request, TEXTS, lengths, TEXTS_COUNT, vectors, needed, bytes, report, error));
    CHECK(*bytes == needed && vectors[needed] == 0x5a && *report != NULL);
    CHECK(cloze_report_count(*report) == TEXTS_COUNT && cloze_report_finished(*report) == TEXTS_COUNT);
    CHECK(cloze_report_dimensions(*report) == dimensions_of(model, request));
    cloze_error_free(error);
    return vectors;
}

/* A request with `output` set. */
static cloze_request *output(const char *name) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    OK(cloze_request_set(request, "output", name, error));
    cloze_error_free(error);
    return request;
}

static double from_f16(unsigned bits) {
    double fraction = bits & 1023, sign = bits & 0x8000 ? -1 : 1;
    int exponent = (int)(bits >> 10 & 31);
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25));
}

static void number_types(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    size_t bytes = 0, width = dimensions_of(model, NULL);
    cloze_report *report = NULL;
    cloze_request *f32 = output("f32"), *f16 = output("f16"), *int8 = output("int8"), *binary = output("binary");

    float *exact = answer(model, f32, &bytes, &report);
    CHECK(bytes == TEXTS_COUNT * width * 4);
    float scale = 9;
    EXPECT(CLOZE_INVALID_ARGUMENT, cloze_report_scale(report, 0, &scale, error));
    cloze_report_free(report);

    unsigned short *half = answer(model, f16, &bytes, &report);
    CHECK(bytes == TEXTS_COUNT * width * 2);
    for (size_t i = 0; i < TEXTS_COUNT * width; i++)
        CHECK(fabs(from_f16(half[i]) - exact[i]) <= fabs(exact[i]) / 2048 + 6e-8);
    cloze_report_free(report);

    signed char *small = answer(model, int8, &bytes, &report);
    CHECK(bytes == TEXTS_COUNT * width);
    for (size_t text = 0; text < TEXTS_COUNT; text++) {
        OK(cloze_report_scale(report, text, &scale, error));
        CHECK(scale > 0);
        for (size_t i = text * width; i < (text + 1) * width; i++)
            CHECK(fabs(small[i] * scale - exact[i]) <= scale * 0.501);
    }
    EXPECT(CLOZE_INVALID_ARGUMENT, cloze_report_scale(report, TEXTS_COUNT, &scale, error));
    cloze_report_free(report);

    unsigned char *bits = answer(model, binary, &bytes, &report);
    size_t row = (width + 7) / 8;
    CHECK(bytes == TEXTS_COUNT * row);
    for (size_t i = 0; i < TEXTS_COUNT * width; i++) {
        size_t text = i / width, value = i % width;
        CHECK((bits[text * row + value / 8] >> (7 - value % 8) & 1) == (exact[i] > 0));
    }
    cloze_report_free(report);

    free(exact);
    free(half);
    free(small);
    free(bits);
    cloze_request_free(f32);
    cloze_request_free(f16);
    cloze_request_free(int8);
    cloze_request_free(binary);
    cloze_error_free(error);
}

/* The vectors of tokens, averaged, are the vector of the text. */
static void token_vectors(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    OK(cloze_request_set(request, "pooling", "mean", error));
    OK(cloze_request_set(request, "normalize", "false", error));
    size_t width = dimensions_of(model, request), bytes = 0, next = 0;
    float *pooled = encode(model, request, TEXTS, TEXTS_COUNT);
    OK(cloze_request_set(request, "pooling", "model", error));
    OK(cloze_request_set(request, "vectors", "token", error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "cloze_tokenize", cloze_encode_size(model, request, 1, &bytes, error));
    cloze_report *report = NULL;
    float *vectors = answer(model, request, &bytes, &report);
    for (size_t text = 0; text < TEXTS_COUNT; text++) {
        size_t tokens = 0, total = 0, windows = 0, first = 0, rows = 0;
        bool truncated = true;
        OK(cloze_report_text(report, text, &tokens, &total, &truncated, &windows, &first, &rows, error));
        CHECK(tokens == total && !truncated && windows == 1 && first == next && rows == tokens && tokens >= 2);
        next += rows;
        for (size_t d = 0; d < width; d++) {
            double sum = 0;
            for (size_t row = first; row < first + rows; row++)
                sum += vectors[row * width + d];
            CHECK(fabs(sum / (double)rows - pooled[text * width + d]) < 1e-4);
        }
    }
    CHECK(bytes == next * width * sizeof(float));
    size_t none = 9;
    EXPECT(CLOZE_INVALID_ARGUMENT, cloze_report_text(report, TEXTS_COUNT, &none, NULL, NULL, NULL, NULL, NULL, error));
    CHECK(none == 0);
    cloze_report_free(report);
    free(vectors);
    free(pooled);
    cloze_request_free(request);
    cloze_error_free(error);
}

/* What a limit does to a long text is reported. */
static void truncation(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    char *text = repeated("word", 50);
    size_t length = strlen(text), written = 0, tokens = 0, total = 0, windows = 0, rows = 0;
    bool truncated = false;
    float vectors[4096];
    cloze_report *report = NULL;
    OK(cloze_request_set(request, "max_tokens", "16", error));
    const char *texts[] = {text};

    const char *sides[] = {"left", "right"};
    for (size_t i = 0; i < 2; i++) {
        OK(cloze_request_set(request, "truncation", sides[i], error));
        OK(cloze_encode(model, request, texts, &length, 1, vectors, sizeof vectors, &written, &report, error));
        OK(cloze_report_text(report, 0, &tokens, &total, &truncated, &windows, NULL, &rows, error));
        CHECK(tokens == 16 && total >= 52 && truncated && windows == 1 && rows == 1);
        cloze_report_free(report);
    }

    OK(cloze_request_set(request, "truncation", "window", error));
    OK(cloze_request_set(request, "overlap", "4", error));
    OK(cloze_encode(model, request, texts, &length, 1, vectors, sizeof vectors, &written, &report, error));
    OK(cloze_report_text(report, 0, &tokens, &total, &truncated, &windows, NULL, &rows, error));
    CHECK(tokens > total && total >= 52 && !truncated && windows > 3 && rows == 1);
    cloze_report_free(report);

    OK(cloze_request_set(request, "overlap", "auto", error));
    OK(cloze_request_set(request, "truncation", "error", error));
    EXPECT(CLOZE_TOO_LONG, cloze_encode(model, request, texts, &length, 1, vectors, sizeof vectors, &written, &report, error));
    CHECK(report == NULL && written == 0);
    free(text);
    cloze_request_free(request);
    cloze_error_free(error);
}

/* A vector does not depend on its neighbours, nor on where it is written. */
static void neighbours(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    size_t width = dimensions_of(model, NULL), written = 0;
    float *all = encode(model, NULL, TEXTS, TEXTS_COUNT);
    unsigned char *odd = malloc(width * sizeof(float) + 1);
    for (size_t i = 0; i < TEXTS_COUNT; i++) {
        OK(cloze_encode(model, NULL, TEXTS + i, lengths + i, 1, odd + 1, width * sizeof(float), &written, NULL, error));
        CHECK(memcmp(odd + 1, all + i * width, width * sizeof(float)) == 0);
    }
    free(odd);
    free(all);
    cloze_error_free(error);
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    CHECK(argc == 2);
    for (size_t i = 0; i < TEXTS_COUNT; i++)
        lengths[i] = strlen(TEXTS[i]);
    cloze_model *model = load(argv[1], "2");
    number_types(model);
    token_vectors(model);
    truncation(model);
    neighbours(model);
    cloze_model_free(model);
    return 0;
}
