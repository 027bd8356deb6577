/* Does a ranking that is stopped, by its deadline of 20 ms or by another thread, rank what was scored, rightly? */

#include "cancel_later.h"
#include "check.h"

#define MANY 100
#define QUERY "where does the fox live", 23

static char *documents[MANY];
static const char *texts[MANY];
static size_t lengths[MANY];
static float scores[MANY], logits[MANY]; /* of each document, from a call that nobody stopped */

/* Long documents, read in windows: all of them take far longer than the deadline. */
static void write_documents(void) {
    const char *const words[] = {"fox", "the river", "search and find", "dog", "city park"};
    for (size_t i = 0; i < MANY; i++) {
        documents[i] = repeated(words[i % 5], 1000 + i * 37 % 400);
        texts[i] = documents[i];
        lengths[i] = strlen(documents[i]);
    }
}

/* Ranks, wants `status`, and checks that documents scored stand in the order of the whole ranking; returns how many. */
static size_t rerank(const cloze_model *model, const cloze_request *request, cloze_status status) {
    cloze_error *error = cloze_error_new();
    cloze_ranking *ranking = NULL;
    EXPECT(status, cloze_rerank(model, request, QUERY, texts, lengths, MANY, &ranking, error));
    CHECK(ranking != NULL);
    size_t count = cloze_ranking_count(ranking), marked = 0;
    CHECK(count == cloze_ranking_scored(ranking));
    bool seen[MANY] = {false};
    float before = 0;
    for (size_t rank = 0; rank < count; rank++) {
        size_t document = MANY;
        float score = 0, logit = 0;
        OK(cloze_ranking_get(ranking, rank, &document, &score, &logit, error));
        CHECK(document < MANY && !seen[document]);
        seen[document] = true;
        CHECK(rank == 0 || logit <= before);
        before = logit;
        if (status == CLOZE_OK) {
            scores[document] = score;
            logits[document] = logit;
        }
        CHECK(score == scores[document] && logit == logits[document] && score > 0 && score < 1);
    }
    for (size_t i = 0; i < MANY; i++) {
        size_t tokens = 9, total = 9, windows = 9;
        bool truncated = true;
        OK(cloze_ranking_document(ranking, i, &tokens, &total, &truncated, &windows, error));
        CHECK((windows > 1) == seen[i] && (tokens > total) == (seen[i]) && !truncated);
        marked += windows > 0;
    }
    CHECK(marked == count);
    size_t none = 9;
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "rank", cloze_ranking_get(ranking, count, &none, NULL, NULL, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "document", cloze_ranking_document(ranking, MANY, &none, NULL, NULL, NULL, error));
    CHECK(none == 0);
    cloze_ranking_free(ranking);
    cloze_error_free(error);
    return count;
}

static void a_deadline(const cloze_model *model, cloze_request *request) {
    cloze_error *error = cloze_error_new();
    size_t scored = 0;
    /* 20 ms; longer only where the machine was busy with something else. */
    for (int ms = 20; scored == 0; ms *= 2) {
        char value[16];
        snprintf(value, sizeof value, "%d", ms);
        OK(cloze_request_set(request, "deadline_ms", value, error));
        scored = rerank(model, request, CLOZE_DEADLINE_EXCEEDED);
        CHECK(scored < MANY);
    }
    OK(cloze_request_set(request, "deadline_ms", "0", error));
    CHECK(rerank(model, request, CLOZE_DEADLINE_EXCEEDED) == 0);
    OK(cloze_request_set(request, "deadline_ms", "none", error));
    cloze_error_free(error);
}

static void cancellation(const cloze_model *model, cloze_request *request) {
    cloze_error *error = cloze_error_new();
    flag = cloze_cancel_new();
    OK(cloze_request_set_cancel(request, flag, error));
    size_t scored = 0;
    for (wait_microseconds = 5000; scored == 0; wait_microseconds *= 2) {
        OK(cloze_cancel_reset(flag, error));
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, cancel_later, NULL) == 0);
        scored = rerank(model, request, CLOZE_CANCELLED);
        CHECK(scored < MANY);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    cloze_cancel_free(flag);
    OK(cloze_request_set_cancel(request, NULL, error));
    cloze_error_free(error);
}

static void the_best(const cloze_model *model, cloze_request *request) {
    cloze_error *error = cloze_error_new();
    cloze_ranking *ranking = NULL;
    OK(cloze_request_set(request, "top", "3", error));
    OK(cloze_request_set(request, "activation", "identity", error));
    OK(cloze_rerank(model, request, QUERY, texts, lengths, MANY, &ranking, error));
    CHECK(cloze_ranking_count(ranking) == 3 && cloze_ranking_scored(ranking) == MANY);
    float score = 0, logit = 1;
    OK(cloze_ranking_get(ranking, 0, NULL, &score, &logit, error));
    CHECK(score == logit);
    cloze_ranking_free(ranking);
    OK(cloze_rerank(model, NULL, QUERY, NULL, NULL, 0, &ranking, error));
    CHECK(ranking != NULL && cloze_ranking_count(ranking) == 0);
    cloze_ranking_free(ranking);
    cloze_error_free(error);
}

static void nulls(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_ranking *ranking = (cloze_ranking *)&ranking;
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "model", cloze_rerank(NULL, NULL, QUERY, texts, lengths, 1, &ranking, error));
    CHECK(ranking == NULL);
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "query", cloze_rerank(model, NULL, NULL, 1, texts, lengths, 1, &ranking, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "documents", cloze_rerank(model, NULL, QUERY, NULL, lengths, 1, &ranking, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "lengths", cloze_rerank(model, NULL, QUERY, texts, NULL, 1, &ranking, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "ranking", cloze_rerank(model, NULL, QUERY, texts, lengths, 1, NULL, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "ranking", cloze_ranking_get(NULL, 0, NULL, NULL, NULL, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "ranking", cloze_ranking_document(NULL, 0, NULL, NULL, NULL, NULL, error));
    CHECK(cloze_ranking_count(NULL) == 0 && cloze_ranking_scored(NULL) == 0);
    cloze_ranking_free(NULL);
    const char *bad[] = {"\xff"};
    size_t one = 1;
    EXPECT_WORD(CLOZE_INVALID_UTF8, "documents[0]", cloze_rerank(model, NULL, QUERY, bad, &one, 1, &ranking, error));
    cloze_error_free(error);
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    CHECK(argc == 2);
    cloze_model *model = load(argv[1], "1");
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    OK(cloze_request_set(request, "windows", "max", error));
    write_documents();
    CHECK(rerank(model, request, CLOZE_OK) == MANY);
    a_deadline(model, request);
    cancellation(model, request);
    the_best(model, request);
    nulls(model);
    for (size_t i = 0; i < MANY; i++)
        free(documents[i]);
    cloze_request_free(request);
    cloze_error_free(error);
    cloze_model_free(model);
    return 0;
}
