/* Do tokens, their ids, segments, offsets and windows come out as the header says? */

#include "check.h"

/* The checks that hold for every window: bulk and single ids agree, strings end with NUL, ends follow starts. */
static void consistent(const cloze_tokens *tokens) {
    cloze_error *error = cloze_error_new();
    for (size_t window = 0; window < cloze_tokens_windows(tokens); window++) {
        size_t count = cloze_tokens_count(tokens, window), written = 0;
        CHECK(count >= 2);
        uint32_t *ids = malloc(count * sizeof *ids);
        EXPECT(CLOZE_BUFFER_TOO_SMALL, cloze_tokens_ids(tokens, window, ids, count - 1, &written, error));
        CHECK(written == count);
        OK(cloze_tokens_ids(tokens, window, ids, count, &written, error));
        CHECK(written == count);
        for (size_t i = 0; i < count; i++) {
            uint32_t id = 0, type = 9;
            bool special = false;
            size_t start = 9, end = 9, length = 0;
            OK(cloze_tokens_get(tokens, window, i, &id, &type, &special, &start, &end, error));
            const char *text = cloze_tokens_text(tokens, window, i, &length);
            CHECK(id == ids[i] && type <= 1 && start <= end && text != NULL && text[length] == 0);
            CHECK(!special || (start == 0 && end == 0));
        }
        uint32_t none = 9;
        EXPECT(CLOZE_INVALID_ARGUMENT, cloze_tokens_get(tokens, window, count, &none, NULL, NULL, NULL, NULL, error));
        CHECK(none == 0 && cloze_tokens_text(tokens, window, count, NULL) == NULL);
        free(ids);
    }
    size_t beyond = cloze_tokens_windows(tokens), written = 9;
    CHECK(cloze_tokens_count(tokens, beyond) == 0 && cloze_tokens_text(tokens, beyond, 0, NULL) == NULL);
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "window", cloze_tokens_ids(tokens, beyond, NULL, 0, &written, error));
    CHECK(written == 0);
    cloze_error_free(error);
}

static cloze_tokens *cut(const cloze_model *model, const cloze_request *request, const char *text, const char *pair) {
    cloze_error *error = cloze_error_new();
    cloze_tokens *tokens = NULL;
    OK(cloze_tokenize(model, request, text, strlen(text), pair, pair ? strlen(pair) : 0, &tokens, error));
    CHECK(tokens != NULL);
    consistent(tokens);
    cloze_error_free(error);
    return tokens;
}

static void one_text(const cloze_model *model) {
    cloze_tokens *tokens = cut(model, NULL, "search", NULL);
    size_t count = cloze_tokens_count(tokens, 0);
    CHECK(cloze_tokens_windows(tokens) == 1 && cloze_tokens_total(tokens) == count && !cloze_tokens_truncated(tokens));
    CHECK(strcmp(cloze_tokens_text(tokens, 0, 0, NULL), "[CLS]") == 0);
    CHECK(strcmp(cloze_tokens_text(tokens, 0, count - 1, NULL), "[SEP]") == 0);
    cloze_tokens_free(tokens);
}

static void a_pair(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_tokens *tokens = cut(model, NULL, "one text", "and its pair");
    size_t count = cloze_tokens_count(tokens, 0), specials = 0, changes = 0;
    uint32_t before = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t type = 9;
        bool special = false;
        OK(cloze_tokens_get(tokens, 0, i, NULL, &type, &special, NULL, NULL, error));
        specials += special;
        changes += type != before;
        before = type;
    }
    CHECK(specials == 3 && changes == 1 && before == 1);
    cloze_tokens_free(tokens);

    /* An empty pair is a pair. */
    OK(cloze_tokenize(model, NULL, "one", 3, "", 0, &tokens, error));
    CHECK(cloze_tokens_count(tokens, 0) == cloze_tokens_total(tokens));
    uint32_t type = 0;
    OK(cloze_tokens_get(tokens, 0, cloze_tokens_count(tokens, 0) - 1, NULL, &type, NULL, NULL, NULL, error));
    CHECK(type == 1);
    cloze_tokens_free(tokens);
    cloze_error_free(error);
}

/* The largest offset of the last word of "🙂 é b" in each unit. */
static void offsets(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    struct {
        const char *unit;
        size_t end;
    } units[] = {{"byte", 4 + 1 + 2 + 1 + 1}, {"utf16", 2 + 1 + 1 + 1 + 1}, {"codepoint", 1 + 1 + 1 + 1 + 1}};
    for (size_t u = 0; u < 3; u++) {
        cloze_request *request = cloze_request_new();
        OK(cloze_request_set(request, "offsets", units[u].unit, error));
        cloze_tokens *tokens = cut(model, request, "\xf0\x9f\x99\x82 \xc3\xa9 b", NULL);
        size_t end = 0;
        OK(cloze_tokens_get(tokens, 0, cloze_tokens_count(tokens, 0) - 2, NULL, NULL, NULL, NULL, &end, error));
        CHECK(end == units[u].end);
        cloze_tokens_free(tokens);
        cloze_request_free(request);
    }
    cloze_error_free(error);
}

static void windows(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    char *text = repeated("word", 50);
    OK(cloze_request_set(request, "max_tokens", "16", error));
    OK(cloze_request_set(request, "truncation", "window", error));
    cloze_tokens *tokens = cut(model, request, text, NULL);
    CHECK(cloze_tokens_windows(tokens) > 3 && !cloze_tokens_truncated(tokens) && cloze_tokens_count(tokens, 0) == 16);
    size_t total = cloze_tokens_total(tokens), end = 0;
    CHECK(total >= 52);
    size_t last = cloze_tokens_windows(tokens) - 1;
    OK(cloze_tokens_get(tokens, last, cloze_tokens_count(tokens, last) - 2, NULL, NULL, NULL, NULL, &end, error));
    CHECK(end == strlen(text) - 1);
    cloze_tokens_free(tokens);

    OK(cloze_request_set(request, "truncation", "right", error));
    tokens = cut(model, request, text, NULL);
    CHECK(cloze_tokens_windows(tokens) == 1 && cloze_tokens_truncated(tokens) && cloze_tokens_total(tokens) == total);
    cloze_tokens_free(tokens);

    OK(cloze_request_set(request, "truncation", "error", error));
    EXPECT(CLOZE_TOO_LONG, cloze_tokenize(model, request, text, strlen(text), NULL, 0, &tokens, error));
    CHECK(tokens == NULL);
    free(text);
    cloze_request_free(request);
    cloze_error_free(error);
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    CHECK(argc == 2);
    cloze_model *model = load(argv[1], "1");
    one_text(model);
    a_pair(model);
    offsets(model);
    windows(model);
    cloze_model_free(model);
    return 0;
}
