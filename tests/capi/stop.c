/* Do a deadline and a cancellation stop a call in the middle, with the finished texts' vectors written and counted? */

#include "cancel_later.h"
#include "check.h"

#define MANY 6000
#define CANARY 0x5a

static const char *texts[MANY];
static size_t lengths[MANY];
static float *whole;       /* every vector, from a call that nobody stopped */
static unsigned char *out; /* the same room for calls that are stopped */
static size_t width, needed;

/* Runs, wants `status`, and checks what was written; returns how many texts were finished. */
static size_t stopped(const cloze_model *model, const cloze_request *request, cloze_status status) {
    cloze_error *error = cloze_error_new();
    size_t written = 0;
    cloze_report *report = NULL;
    memset(out, CANARY, needed);
    EXPECT(status, cloze_encode(model, request, texts, lengths, MANY, out, needed, &written, &report, error));
    CHECK(report != NULL && cloze_report_count(report) == MANY);
    size_t finished = cloze_report_finished(report);
    CHECK(written == finished * width * sizeof(float));
    CHECK(memcmp(out, whole, written) == 0);
    /* Nothing behind: every byte at first, then one here and there, which is enough and bearable under a sanitizer. */
    for (size_t i = written; i < needed; i += i < written + 1000 ? 1 : 61)
        CHECK(out[i] == CANARY);
    for (size_t i = 0; i < MANY; i += 97) {
        size_t tokens = 9, total = 9, windows = 9, first = 9, vectors = 9;
        bool truncated = true;
        OK(cloze_report_text(report, i, &tokens, &total, &truncated, &windows, &first, &vectors, error));
        CHECK(vectors == (i < finished) && first == (i < finished ? i : 0));
        /* Of a text that is not finished the encoder saw nothing, counted or not. */
        CHECK(i < finished ? tokens == total && total >= 2 && windows == 1 : tokens == 0 && windows == 0);
        CHECK(!truncated);
    }
    cloze_report_free(report);
    cloze_error_free(error);
    return finished;
}

static void deadlines(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    OK(cloze_request_set(request, "deadline_ms", "0", error));
    CHECK(stopped(model, request, CLOZE_DEADLINE_EXCEEDED) == 0);
    /* Grow the time until something is finished: the rest must not be. */
    size_t finished = 0;
    for (int ms = 1; finished == 0; ms *= 2) {
        char value[16];
        snprintf(value, sizeof value, "%d", ms);
        OK(cloze_request_set(request, "deadline_ms", value, error));
        finished = stopped(model, request, CLOZE_DEADLINE_EXCEEDED);
        CHECK(finished < MANY);
    }
    OK(cloze_request_set(request, "deadline_ms", "none", error));
    CHECK(stopped(model, request, CLOZE_OK) == MANY);
    OK(cloze_request_set(request, "deadline_ms", "1000000", error));
    CHECK(stopped(model, request, CLOZE_OK) == MANY);
    cloze_request_free(request);
    cloze_error_free(error);
}

static void cancellation(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    flag = cloze_cancel_new();
    OK(cloze_request_set_cancel(request, flag, error));
    CHECK(stopped(model, request, CLOZE_OK) == MANY);
    OK(cloze_cancel_cancel(flag, error));
    CHECK(stopped(model, request, CLOZE_CANCELLED) == 0);

    size_t finished = 0;
    for (wait_microseconds = 500; finished == 0; wait_microseconds *= 2) {
        OK(cloze_cancel_reset(flag, error));
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, cancel_later, NULL) == 0);
        finished = stopped(model, request, CLOZE_CANCELLED);
        CHECK(finished < MANY);
        CHECK(pthread_join(thread, NULL) == 0);
    }

    /* The request keeps the flag when the handle is gone; NULL takes it away. */
    cloze_cancel_free(flag);
    CHECK(stopped(model, request, CLOZE_CANCELLED) == 0);
    OK(cloze_request_set_cancel(request, NULL, error));
    CHECK(stopped(model, request, CLOZE_OK) == MANY);
    cloze_request_free(request);
    cloze_error_free(error);
}

/* A deadline of one token-vector call: only whole texts are written. */
static void token_vectors(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    OK(cloze_request_set(request, "vectors", "token", error));
    OK(cloze_request_set(request, "deadline_ms", "0", error));
    size_t written = 9;
    cloze_report *report = NULL;
    EXPECT(CLOZE_DEADLINE_EXCEEDED, cloze_encode(model, request, texts, lengths, MANY, out, needed, &written, &report, error));
    CHECK(written == 0 && cloze_report_finished(report) == 0);
    cloze_report_free(report);
    cloze_request_free(request);
    cloze_error_free(error);
}

/* What a stopped call's helpers still do must not reach the next call, which takes over its work area. */
static void many_stops(const char *path, long times) {
    enum { FEW = 64 };
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    cloze_model *model = load(path, "4");
    size_t bytes = FEW * width * sizeof(float), written = 0;
    for (long i = 0; i < times; i++) {
        OK(cloze_request_set(request, "deadline_ms", i % 2 ? "1" : "2", error));
        cloze_status status = cloze_encode(model, request, texts, lengths, FEW, out, bytes, &written, NULL, error);
        CHECK(status == CLOZE_OK || status == CLOZE_DEADLINE_EXCEEDED);
        CHECK(memcmp(out, whole, written) == 0);
        OK(cloze_encode(model, NULL, texts, lengths, FEW, out, bytes, &written, NULL, error));
        CHECK(memcmp(out, whole, bytes) == 0);
    }
    cloze_model_free(model);
    cloze_request_free(request);
    cloze_error_free(error);
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    long times = rounds(argc, argv);
    for (size_t i = 0; i < MANY; i++) {
        texts[i] = TEXTS[i % TEXTS_COUNT];
        lengths[i] = strlen(texts[i]);
    }
    cloze_model *model = load(argv[1], "2");
    width = dimensions_of(model, NULL);
    needed = MANY * width * sizeof(float);
    whole = encode(model, NULL, texts, MANY);
    out = malloc(needed);
    CHECK(out != NULL);
    deadlines(model);
    cancellation(model);
    token_vectors(model);
    many_stops(argv[1], times);
    free(whole);
    free(out);
    cloze_model_free(model);
    return 0;
}
