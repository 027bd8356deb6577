/* Do sparse weights come out as the header says? Arguments: a sparse encoder of 421 tokens, and a model without a head for fill_mask. */

#include "check.h"

#define MANY 300

static void weights_of_texts(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    OK(cloze_request_set(request, "top", "5", error));
    const char *texts[] = {"The quick brown fox", ""};
    size_t lengths[] = {19, 0}, count = 0, length = 0;
    cloze_sparse *sparse = NULL;
    OK(cloze_encode_sparse(model, request, texts, lengths, 2, &sparse, error));
    CHECK(cloze_sparse_count(sparse) == 2 && cloze_sparse_finished(sparse) == 2);
    CHECK(cloze_sparse_weights(sparse, 0) == 5 && cloze_sparse_weights(sparse, 1) == 5 && cloze_sparse_weights(sparse, 2) == 0);
    unsigned ids[5] = {0};
    float weights[5] = {0};
    EXPECT(CLOZE_BUFFER_TOO_SMALL, cloze_sparse_copy(sparse, 0, ids, weights, 4, &count, error));
    CHECK(count == 5 && weights[0] == 0);
    OK(cloze_sparse_copy(sparse, 0, ids, weights, 5, &count, error));
    CHECK(count == 5);
    for (size_t place = 0; place < count; place++) {
        CHECK(ids[place] < 421 && weights[place] > 0 && (place == 0 || weights[place] <= weights[place - 1]));
        const char *token = cloze_sparse_token(sparse, 0, place, &length);
        CHECK(token != NULL && length > 0 && strlen(token) == length);
    }
    CHECK(cloze_sparse_token(sparse, 0, 5, &length) == NULL && cloze_sparse_token(sparse, 2, 0, NULL) == NULL);
    size_t tokens = 0, total = 0, windows = 0;
    bool truncated = true;
    OK(cloze_sparse_input(sparse, 0, &tokens, &total, &truncated, &windows, error));
    CHECK(tokens == total && tokens > 4 && windows == 1 && !truncated);
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "input", cloze_sparse_input(sparse, 2, &tokens, NULL, NULL, NULL, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "input", cloze_sparse_copy(sparse, 2, ids, weights, 5, &count, error));
    CHECK(tokens == 0 && count == 0);
    cloze_sparse_free(sparse);
    cloze_request_free(request);
    cloze_error_free(error);
}

static void a_call_that_is_stopped(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    const char *texts[MANY];
    size_t lengths[MANY];
    for (size_t i = 0; i < MANY; i++) {
        texts[i] = "the fox";
        lengths[i] = 7;
    }
    cloze_sparse *sparse = NULL;
    OK(cloze_request_set(request, "deadline_ms", "0", error));
    EXPECT(CLOZE_DEADLINE_EXCEEDED, cloze_encode_sparse(model, request, texts, lengths, MANY, &sparse, error));
    CHECK(cloze_sparse_count(sparse) == MANY && cloze_sparse_finished(sparse) == 0 && cloze_sparse_weights(sparse, 0) == 0);
    cloze_sparse_free(sparse);
    cloze_request_free(request);
    cloze_error_free(error);
}

static void ranks(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    const char *documents[] = {"a dog", "the quick brown fox", "price"};
    size_t lengths[] = {5, 19, 5};
    cloze_ranking *ranking = NULL;
    OK(cloze_rerank(model, NULL, "the quick brown fox", 19, documents, lengths, 3, &ranking, error));
    float score = 0, before = 0;
    for (size_t rank = 0; rank < cloze_ranking_count(ranking); rank++) {
        OK(cloze_ranking_get(ranking, rank, NULL, &score, NULL, error));
        CHECK(score > 1 && (rank == 0 || score <= before)); /* no cosine */
        before = score;
    }
    cloze_ranking_free(ranking);
    cloze_error_free(error);
}

static void nulls(const cloze_model *model, const cloze_model *other) {
    cloze_error *error = cloze_error_new();
    const char *text = "a";
    size_t length = 1, count = 9;
    cloze_sparse *sparse = (cloze_sparse *)&sparse;
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "model", cloze_encode_sparse(NULL, NULL, &text, &length, 1, &sparse, error));
    CHECK(sparse == NULL);
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "sparse", cloze_encode_sparse(model, NULL, &text, &length, 1, NULL, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "texts", cloze_encode_sparse(model, NULL, NULL, NULL, 1, &sparse, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "classify", cloze_encode_sparse(other, NULL, &text, &length, 1, &sparse, error));
    CHECK(sparse == NULL);
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "sparse", cloze_sparse_copy(NULL, 0, NULL, NULL, 0, &count, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "sparse", cloze_sparse_input(NULL, 0, NULL, NULL, NULL, NULL, error));
    CHECK(count == 0 && cloze_sparse_count(NULL) == 0 && cloze_sparse_finished(NULL) == 0 && cloze_sparse_weights(NULL, 0) == 0);
    CHECK(cloze_sparse_token(NULL, 0, 0, &count) == NULL);
    OK(cloze_encode_sparse(model, NULL, NULL, NULL, 0, &sparse, error));
    CHECK(cloze_sparse_count(sparse) == 0);
    cloze_sparse_free(sparse);
    cloze_sparse_free(NULL);
    cloze_error_free(error);
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    CHECK(argc == 3);
    cloze_model *model = load(argv[1], "2"), *other = load(argv[2], "1");
    weights_of_texts(model);
    a_call_that_is_stopped(model);
    ranks(model);
    nulls(model, other);
    cloze_model_free(model);
    cloze_model_free(other);
    return 0;
}
