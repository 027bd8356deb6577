/* Do late-interaction models come out as the header says? Argument: tests/golden/late/colbert, whose numbers are PyLate's: queries are filled
 * up to 20 tokens, vectors have 24 values, punctuation of documents has none. */

#include <math.h>

#include "check.h"

#define WIDTH 24
#define QUERY "where does the fox live?"
#define DOCUMENT "The quick brown fox jumps over the lazy dog."

static void vectors(const cloze_model *model, const char *role, const size_t rows[2]) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    OK(cloze_request_set(request, "vectors", "token", error));
    OK(cloze_request_set(request, "role", role, error));
    const char *texts[] = {rows[1] == 20 ? QUERY : DOCUMENT, ""};
    size_t lengths[] = {strlen(texts[0]), 0}, written = 0, count = 0;
    static float numbers[64 * WIDTH];
    cloze_report *report = NULL;
    OK(cloze_encode(model, request, texts, lengths, 2, numbers, sizeof numbers, &written, &report, error));
    CHECK(written == (rows[0] + rows[1]) * WIDTH * sizeof(float) && cloze_report_dimensions(report) == WIDTH);
    for (size_t text = 0; text < 2; text++) {
        OK(cloze_report_text(report, text, NULL, NULL, NULL, NULL, NULL, &count, error));
        CHECK(count == rows[text]);
    }
    for (size_t row = 0; row < rows[0] + rows[1]; row++) {
        double square = 0;
        for (size_t i = 0; i < WIDTH; i++) square += (double)numbers[row * WIDTH + i] * numbers[row * WIDTH + i];
        CHECK(fabs(square - 1) < 1e-5);
    }
    cloze_report_free(report);
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "role", cloze_request_set(request, "role", "judge", error));
    cloze_request_free(request);
    cloze_error_free(error);
}

/* The ids and places of tests/golden/late/colbert/tokens.json. */
static void tokens(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    const char *texts[] = {DOCUMENT, ""};
    const size_t lengths[] = {strlen(DOCUMENT), 0};
    cloze_late *late = NULL;
    OK(cloze_encode_late(model, NULL, texts, lengths, 2, &late, error));
    CHECK(cloze_late_count(late) == 2 && cloze_late_finished(late) == 2 && cloze_late_dimensions(late) == WIDTH);
    CHECK(cloze_late_vectors(late, 0) == 13 && cloze_late_vectors(late, 1) == 3 && cloze_late_vectors(late, 2) == 0);
    const uint32_t ids[] = {2, 420, 211, 378, 377, 379, 382, 59, 286, 211, 380, 381, 3};
    const size_t starts[] = {0, 0, 0, 4, 10, 16, 20, 24, 26, 31, 35, 40, 0}, ends[] = {0, 0, 3, 9, 15, 19, 24, 25, 30, 34, 39, 43, 0};
    for (size_t vector = 0; vector < 13; vector++) {
        uint32_t id = 0;
        size_t start = 9, end = 9, length = 0;
        OK(cloze_late_get(late, 0, vector, &id, &start, &end, error));
        CHECK(id == ids[vector] && start == starts[vector] && end == ends[vector]);
        const char *token = cloze_late_token(late, 0, vector, &length);
        CHECK(token && strlen(token) == length && length > 0);
    }
    CHECK(strcmp(cloze_late_token(late, 0, 1, NULL), "[unused1]") == 0 && !cloze_late_token(late, 0, 13, NULL));
    static float numbers[13 * WIDTH], same[64 * WIDTH];
    size_t count = 0, written = 0;
    CHECK(cloze_late_copy(late, 0, numbers, 13 * WIDTH - 1, &count, error) == CLOZE_BUFFER_TOO_SMALL && count == 13 * WIDTH);
    OK(cloze_late_copy(late, 0, numbers, 13 * WIDTH, &count, error));
    OK(cloze_request_set(request, "vectors", "token", error));
    OK(cloze_encode(model, request, texts, lengths, 2, same, sizeof same, &written, NULL, error));
    CHECK(count == 13 * WIDTH && memcmp(numbers, same, sizeof numbers) == 0);
    size_t seen = 0, total = 0, windows = 0;
    bool cut = true;
    OK(cloze_late_input(late, 0, &seen, &total, &cut, &windows, error));
    CHECK(seen == 14 && total == 14 && !cut && windows == 1);
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "input 2", cloze_late_input(late, 2, NULL, NULL, NULL, NULL, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "vector 13", cloze_late_get(late, 0, 13, NULL, NULL, NULL, error));
    cloze_late_free(late);
    OK(cloze_request_set(request, "deadline_ms", "0", error));
    CHECK(cloze_encode_late(model, request, texts, lengths, 2, &late, error) == CLOZE_DEADLINE_EXCEEDED);
    CHECK(late && cloze_late_count(late) == 2 && cloze_late_finished(late) == 0 && cloze_late_vectors(late, 0) == 0);
    cloze_late_free(late);
    CHECK(cloze_encode_late(model, NULL, texts, lengths, 2, NULL, error) == CLOZE_NULL_ARGUMENT);
    cloze_late_free(NULL);
    cloze_request_free(request);
    cloze_error_free(error);
}

static void ranks(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    const char *documents[] = {DOCUMENT, "", "a"};
    const double sums[] = {18.252714157104492, 17.536006927490234, 17.784303665161133};
    const size_t lengths[] = {strlen(DOCUMENT), 0, 1}, order[] = {0, 2, 1};
    cloze_ranking *ranking = NULL;
    OK(cloze_rerank(model, NULL, QUERY, strlen(QUERY), documents, lengths, 3, &ranking, error));
    CHECK(cloze_ranking_count(ranking) == 3);
    for (size_t rank = 0; rank < 3; rank++) {
        size_t document = 9;
        float score = 0;
        OK(cloze_ranking_get(ranking, rank, &document, &score, NULL, error));
        CHECK(document == order[rank] && fabs(score - sums[document]) < 1e-3);
    }
    cloze_ranking_free(ranking);
    cloze_error_free(error);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    alarm(TIME_LIMIT_SECONDS);
    cloze_error *error = cloze_error_new();
    cloze_model *model = NULL;
    OK(cloze_model_load(arguments[1], NULL, &model, error));
    vectors(model, "query", (const size_t[]){20, 20});
    vectors(model, "document", (const size_t[]){13, 3});
    tokens(model);
    ranks(model);
    cloze_model_free(model);
    cloze_error_free(error);
    return 0;
}
