/* Do fills of blanks, attention maps and hidden states come out as the header says? Argument: a masked language model with 421
 * tokens, 2 layers of 4 heads and 48 columns. */

#include "check.h"

#define MANY 400

static void fills_of_texts(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    OK(cloze_request_set(request, "offsets", "byte", error));
    const char *texts[] = {"The [MASK] and the [MASK].", "[MASK]"};
    size_t lengths[] = {26, 6};
    cloze_fills *fills = NULL;
    OK(cloze_fill_mask(model, request, texts, lengths, 2, NULL, NULL, 0, &fills, error));
    CHECK(cloze_fills_count(fills) == 2 && cloze_fills_finished(fills) == 2);
    CHECK(cloze_fills_blanks(fills, 0) == 2 && cloze_fills_blanks(fills, 1) == 1 && cloze_fills_blanks(fills, 2) == 0);
    size_t start = 0, end = 0, count = 0, length = 0;
    OK(cloze_fills_blank(fills, 0, 1, &start, &end, &count, error));
    CHECK(start == 19 && end == 25 && count == 5);
    float before = 1;
    for (size_t place = 0; place < count; place++) {
        unsigned id = 999;
        float score = 0, logit = 0;
        OK(cloze_fills_get(fills, 0, 1, place, &id, &score, &logit, error));
        CHECK(id < 421 && score > 0 && score <= before);
        before = score;
        const char *token = cloze_fills_token(fills, 0, 1, place, &length);
        CHECK(token != NULL && strlen(token) == length);
    }
    size_t none = 9;
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "token", cloze_fills_get(fills, 0, 1, 5, NULL, NULL, NULL, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "blank", cloze_fills_blank(fills, 1, 1, &none, NULL, NULL, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "input", cloze_fills_input(fills, 2, &none, NULL, NULL, NULL, error));
    CHECK(none == 0 && cloze_fills_token(fills, 0, 2, 0, NULL) == NULL);
    cloze_fills_free(fills);
    cloze_request_free(request);
    cloze_error_free(error);
}

static void candidates_and_texts(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    const char *text = "The [MASK] runs.", *words[] = {"fox", "the", "Fox"};
    size_t length = strlen(text), lengths[] = {3, 3, 3}, count = 0, needed = 0;
    cloze_fills *fills = NULL;
    OK(cloze_fill_mask(model, NULL, &text, &length, 1, words, lengths, 3, &fills, error));
    OK(cloze_fills_blank(fills, 0, 0, NULL, NULL, &count, error));
    CHECK(count == 2); /* two of them are one token */
    bool seen = false;
    for (size_t place = 0; place < count; place++) {
        char buffer[32];
        EXPECT(CLOZE_BUFFER_TOO_SMALL, cloze_fills_text(fills, 0, 0, place, buffer, 3, &needed, error));
        CHECK(needed == 13);
        OK(cloze_fills_text(fills, 0, 0, place, buffer, sizeof buffer, &needed, error));
        CHECK(needed == 13);
        seen = seen || memcmp(buffer, "The fox runs.", 13) == 0;
    }
    CHECK(seen);
    size_t tokens = 0, total = 0, windows = 0;
    bool truncated = true;
    OK(cloze_fills_input(fills, 0, &tokens, &total, &truncated, &windows, error));
    CHECK(tokens == total && tokens > 4 && windows == 1 && !truncated);
    cloze_fills_free(fills);
    const char *two = "foxes and dogs";
    size_t two_length = strlen(two);
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "foxes and dogs", cloze_fill_mask(model, NULL, &text, &length, 1, &two, &two_length, 1, &fills, error));
    CHECK(fills == NULL);
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "no blank", cloze_fill_mask(model, NULL, &two, &two_length, 1, NULL, NULL, 0, &fills, error));
    cloze_error_free(error);
}

static void a_call_that_is_stopped(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    char *long_text = repeated("the fox", 20);
    char text[400];
    snprintf(text, sizeof text, "[MASK] %s", long_text);
    const char *texts[MANY];
    size_t lengths[MANY];
    for (size_t i = 0; i < MANY; i++) {
        texts[i] = text;
        lengths[i] = strlen(text);
    }
    cloze_fills *fills = NULL;
    OK(cloze_request_set(request, "deadline_ms", "0", error));
    EXPECT(CLOZE_DEADLINE_EXCEEDED, cloze_fill_mask(model, request, texts, lengths, MANY, NULL, NULL, 0, &fills, error));
    CHECK(cloze_fills_count(fills) == MANY && cloze_fills_finished(fills) == 0 && cloze_fills_blanks(fills, 0) == 0);
    cloze_fills_free(fills);
    OK(cloze_request_set(request, "deadline_ms", "none", error));
    cloze_cancel *flag = cloze_cancel_new();
    OK(cloze_cancel_cancel(flag, error));
    OK(cloze_request_set_cancel(request, flag, error));
    EXPECT(CLOZE_CANCELLED, cloze_fill_mask(model, request, texts, lengths, MANY, NULL, NULL, 0, &fills, error));
    CHECK(cloze_fills_finished(fills) == 0);
    cloze_fills_free(fills);
    cloze_maps *maps = NULL;
    EXPECT(CLOZE_CANCELLED, cloze_attention(model, request, texts[0], lengths[0], NULL, 0, &maps, error));
    CHECK(maps == NULL);
    cloze_request_free(request);
    cloze_cancel_free(flag);
    free(long_text);
    cloze_error_free(error);
}

static void maps_of_a_pair(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_maps *maps = NULL;
    OK(cloze_attention(model, NULL, "the fox", 7, "a dog", 5, &maps, error));
    size_t layers = 0, heads = 0, tokens = 0, hidden = 0, count = 0;
    OK(cloze_maps_sizes(maps, &layers, &heads, &tokens, &hidden, error));
    CHECK(layers == 2 && heads == 4 && tokens == 7 && hidden == 48);
    const cloze_tokens *named = cloze_maps_tokens(maps);
    CHECK(cloze_tokens_windows(named) == 1 && cloze_tokens_count(named, 0) == tokens);
    CHECK(strcmp(cloze_tokens_text(named, 0, 0, NULL), "[CLS]") == 0 && strcmp(cloze_tokens_text(named, 0, 2, NULL), "fox") == 0);
    float map[49], state[7 * 48];
    EXPECT(CLOZE_BUFFER_TOO_SMALL, cloze_maps_attention(maps, 0, 0, map, 48, &count, error));
    CHECK(count == 49);
    for (size_t layer = 0; layer < layers; layer++)
        for (size_t head = 0; head < heads; head++) {
            OK(cloze_maps_attention(maps, layer, head, map, 49, &count, error));
            CHECK(count == 49);
            for (size_t row = 0; row < tokens; row++) {
                float sum = 0;
                for (size_t column = 0; column < tokens; column++)
                    sum += map[row * tokens + column];
                CHECK(sum > 0.9999f && sum < 1.0001f);
            }
        }
    OK(cloze_maps_state(maps, 2, state, 7 * 48, &count, error));
    CHECK(count == 7 * 48 && state[0] != state[48]);
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "layer 3", cloze_maps_state(maps, 3, state, 7 * 48, &count, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "head 4", cloze_maps_attention(maps, 0, 4, map, 49, &count, error));
    cloze_maps_free(maps);
    cloze_error_free(error);
}

static void nulls(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_fills *fills = (cloze_fills *)&fills;
    cloze_maps *maps = (cloze_maps *)&maps;
    size_t count = 9;
    float number = 9;
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "model", cloze_fill_mask(NULL, NULL, NULL, NULL, 0, NULL, NULL, 0, &fills, error));
    CHECK(fills == NULL);
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "fills", cloze_fill_mask(model, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "texts", cloze_fill_mask(model, NULL, NULL, NULL, 1, NULL, NULL, 0, &fills, error));
    OK(cloze_fill_mask(model, NULL, NULL, NULL, 0, NULL, NULL, 0, &fills, error));
    CHECK(cloze_fills_count(fills) == 0);
    cloze_fills_free(fills);
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "model", cloze_attention(NULL, NULL, "a", 1, NULL, 0, &maps, error));
    CHECK(maps == NULL);
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "maps", cloze_attention(model, NULL, "a", 1, NULL, 0, NULL, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "maps", cloze_maps_attention(NULL, 0, 0, &number, 1, &count, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "fills", cloze_fills_text(NULL, 0, 0, 0, NULL, 0, &count, error));
    CHECK(count == 0 && cloze_maps_tokens(NULL) == NULL && cloze_fills_count(NULL) == 0 && cloze_fills_token(NULL, 0, 0, 0, NULL) == NULL);
    cloze_maps_free(NULL);
    cloze_fills_free(NULL);
    cloze_error_free(error);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    alarm(TIME_LIMIT_SECONDS);
    cloze_model *model = load(argv[1], "1");
    fills_of_texts(model);
    candidates_and_texts(model);
    a_call_that_is_stopped(model);
    maps_of_a_pair(model);
    nulls(model);
    cloze_model_free(model);
    return 0;
}
