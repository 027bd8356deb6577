/* Does memory stay flat over very many mixed calls, successes and failures alike? */

#include "check.h"

static const char *path;
static const cloze_model *model;
static char *long_text;
static unsigned char room[1 << 18];

/* Pages that the process holds, in bytes. */
static long resident(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long size = 0, pages = 0;
    CHECK(file != NULL && fscanf(file, "%ld %ld", &size, &pages) == 2);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void encodes(long round, cloze_error *error) {
    static const char *const settings[][2] = {
        {"output", "int8"},       {"output", "binary"}, {"output", "f16"},       {"vectors", "token"},    {"normalize", "true"},
        {"pooling", "max+cls"},   {"layers", "mean:2"}, {"truncation", "left"},  {"truncation", "error"}, {"dimensions", "3"},
        {"prompt", "in short: "}, {"threads", "1"},     {"truncation", "window"}, {"deadline_ms", "0"},
    };
    cloze_request *request = cloze_request_new();
    size_t kinds = sizeof settings / sizeof settings[0], written = 0, lengths[TEXTS_COUNT + 1];
    const char *texts[TEXTS_COUNT + 1];
    OK(cloze_request_set(request, settings[(size_t)round % kinds][0], settings[(size_t)round % kinds][1], error));
    size_t count = 1 + (size_t)round % TEXTS_COUNT;
    for (size_t i = 0; i < count; i++)
        texts[i] = TEXTS[((size_t)round + i) % TEXTS_COUNT];
    if (round % 3 == 0)
        texts[count++] = long_text;
    for (size_t i = 0; i < count; i++)
        lengths[i] = strlen(texts[i]);
    cloze_report *report = NULL;
    cloze_status status = cloze_encode(model, request, texts, lengths, count, room, sizeof room, &written, round % 2 ? &report : NULL, error);
    CHECK(status == CLOZE_OK || status == CLOZE_TOO_LONG || status == CLOZE_DEADLINE_EXCEEDED);
    cloze_report_free(report);
    cloze_request_free(request);
}

static void failures(long round, cloze_error *error) {
    const char *text = round % 2 ? "bad \xff" : "text";
    size_t length = strlen(text), written = 0;
    EXPECT(round % 2 ? CLOZE_INVALID_UTF8 : CLOZE_BUFFER_TOO_SMALL, cloze_encode(model, NULL, &text, &length, 1, room, 3, &written, NULL, error));
    cloze_model *none = NULL;
    EXPECT(CLOZE_IO, cloze_model_load("/nowhere", NULL, &none, error));
}

static void others(long round, cloze_error *error) {
    const char *text = TEXTS[(size_t)round % TEXTS_COUNT];
    cloze_tokens *tokens = NULL;
    OK(cloze_tokenize(model, NULL, text, strlen(text), round % 2 ? "pair" : NULL, round % 2 ? 4 : 0, &tokens, error));
    cloze_tokens_free(tokens);
    free(description(model));
    CHECK(statistic(model, "calls") == 0);
    if (round % 50 == 3)
        OK(cloze_memory_trim(model, error));
    if (round % 500 == 3) {
        cloze_model *other = load(path, "2");
        free(encode(other, NULL, TEXTS, TEXTS_COUNT));
        cloze_model_free(other);
    }
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    long calls = rounds(argc, argv);
    path = argv[1];
    model = load(path, "2");
    long_text = repeated("word", 100);
    cloze_error *error = cloze_error_new();
    long warm = 0;
    for (long round = 0; round < calls; round++) {
        if (round == calls / 4)
            warm = resident();
        if (round % 4 == 1)
            failures(round / 4, error);
        else if (round % 4 == 3)
            others(round / 4, error);
        else
            encodes(round / 2, error);
    }
    long growth = resident() - warm;
    /* The smallest block, lost by each of the failures alone (a quarter of the calls), would be 600,000 bytes. */
    if (growth > 400000) {
        fprintf(stderr, "memory grew by %ld bytes over the last three quarters of %ld calls\n", growth, calls);
        return 1;
    }
    free(long_text);
    cloze_error_free(error);
    cloze_model_free((cloze_model *)model);
    return 0;
}
