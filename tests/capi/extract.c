/* Do answers come out as the header says? Arguments: a model for question answering, and one for something else. */

#include "cancel_later.h"
#include "check.h"

static const char *const QUESTION = "where does the fox live?";

static size_t length_of(const char *text) { return strlen(text); }

static void answers_of_texts(const cloze_model *model, const char *unit) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    cloze_answers *answers = NULL;
    size_t lengths[TEXTS_COUNT];
    for (size_t i = 0; i < TEXTS_COUNT; i++)
        lengths[i] = strlen(TEXTS[i]);
    OK(cloze_request_set(request, "top", "3", error));
    OK(cloze_request_set(request, "max_answer", "4", error));
    OK(cloze_request_set(request, "offsets", unit, error));
    OK(cloze_extract(model, request, QUESTION, length_of(QUESTION), TEXTS, lengths, TEXTS_COUNT, &answers, error));
    CHECK(cloze_answers_count(answers) == TEXTS_COUNT && cloze_answers_finished(answers) == TEXTS_COUNT);
    for (size_t i = 0; i < TEXTS_COUNT; i++) {
        size_t tokens = 0, total = 0, windows = 0, found = cloze_answers_found(answers, i);
        bool truncated = true;
        float none = 0, none_logit = 0, before = 2;
        OK(cloze_answers_context(answers, i, &tokens, &total, &truncated, &windows, error));
        CHECK(tokens >= total && total > 5 && windows >= 1 && !truncated);
        OK(cloze_answers_none(answers, i, &none, &none_logit, error));
        CHECK(none > 0 && none <= 1 && (found > 0) == (TEXTS[i][0] != 0) && found <= 3);
        for (size_t place = 0; place < found; place++) {
            size_t start = 9999, end = 0, length = 0;
            float score = 0, logit = 0;
            OK(cloze_answers_get(answers, i, place, &start, &end, &score, &logit, error));
            const char *text = cloze_answers_text(answers, i, place, &length);
            CHECK(text != NULL && strlen(text) == length && score > 0 && score <= before && start < end);
            if (strcmp(unit, "byte") == 0)
                CHECK(end - start == length && end <= lengths[i] && memcmp(text, TEXTS[i] + start, length) == 0);
            else
                CHECK(end - start <= length);
            before = score;
        }
    }
    size_t start = 9;
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "context", cloze_answers_get(answers, TEXTS_COUNT, 0, &start, NULL, NULL, NULL, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "answer", cloze_answers_get(answers, 0, 3, &start, NULL, NULL, NULL, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "context", cloze_answers_none(answers, TEXTS_COUNT, NULL, NULL, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "context", cloze_answers_context(answers, TEXTS_COUNT, NULL, NULL, NULL, NULL, error));
    CHECK(start == 0 && cloze_answers_text(answers, 0, 3, NULL) == NULL && cloze_answers_found(answers, TEXTS_COUNT) == 0);
    cloze_answers_free(answers);
    OK(cloze_request_set(request, "no_answer_threshold", "-1000", error));
    OK(cloze_extract(model, request, QUESTION, length_of(QUESTION), TEXTS, lengths, TEXTS_COUNT, &answers, error));
    CHECK(cloze_answers_found(answers, 0) == 0);
    cloze_answers_free(answers);
    cloze_request_free(request);
    cloze_error_free(error);
}

static void long_contexts(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    char *text = repeated("the fox in the park", 60);
    const char *contexts[] = {text};
    size_t length = strlen(text), windows = 0;
    bool truncated = true;
    cloze_answers *answers = NULL;
    OK(cloze_extract(model, NULL, QUESTION, length_of(QUESTION), contexts, &length, 1, &answers, error));
    OK(cloze_answers_context(answers, 0, NULL, NULL, &truncated, &windows, error));
    CHECK(windows > 4 && !truncated && cloze_answers_found(answers, 0) == 1);
    cloze_answers_free(answers);
    OK(cloze_request_set(request, "truncation", "right", error));
    OK(cloze_extract(model, request, QUESTION, length_of(QUESTION), contexts, &length, 1, &answers, error));
    OK(cloze_answers_context(answers, 0, NULL, NULL, &truncated, &windows, error));
    CHECK(windows == 1 && truncated);
    cloze_answers_free(answers);
    OK(cloze_request_set(request, "truncation", "error", error));
    EXPECT_WORD(CLOZE_TOO_LONG, "context 0", cloze_extract(model, request, QUESTION, length_of(QUESTION), contexts, &length, 1, &answers, error));
    CHECK(answers == NULL);
    EXPECT_WORD(CLOZE_TOO_LONG, "question", cloze_extract(model, NULL, text, length, contexts, &length, 1, &answers, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "question has no words", cloze_extract(model, NULL, NULL, 0, contexts, &length, 1, &answers, error));
    free(text);
    cloze_request_free(request);
    cloze_error_free(error);
}

static void stops(const cloze_model *model) {
    enum { MANY = 3000 };
    static const char *contexts[MANY];
    static size_t lengths[MANY];
    for (size_t i = 0; i < MANY; i++) {
        contexts[i] = TEXTS[5];
        lengths[i] = strlen(TEXTS[5]);
    }
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    cloze_answers *answers = NULL;
    OK(cloze_request_set(request, "deadline_ms", "0", error));
    EXPECT(CLOZE_DEADLINE_EXCEEDED, cloze_extract(model, request, "who", 3, contexts, lengths, MANY, &answers, error));
    CHECK(cloze_answers_count(answers) == MANY && cloze_answers_finished(answers) == 0 && cloze_answers_found(answers, 0) == 0);
    cloze_answers_free(answers);
    OK(cloze_request_set(request, "deadline_ms", "none", error));
    flag = cloze_cancel_new();
    OK(cloze_request_set_cancel(request, flag, error));
    size_t finished = 0;
    for (wait_microseconds = 500; finished == 0; wait_microseconds *= 2) {
        OK(cloze_cancel_reset(flag, error));
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, cancel_later, NULL) == 0);
        EXPECT(CLOZE_CANCELLED, cloze_extract(model, request, "who", 3, contexts, lengths, MANY, &answers, error));
        CHECK(pthread_join(thread, NULL) == 0);
        finished = cloze_answers_finished(answers);
        size_t windows = 9;
        OK(cloze_answers_context(answers, MANY - 1, NULL, NULL, NULL, &windows, error));
        CHECK(finished < MANY && windows == 0 && cloze_answers_found(answers, MANY - 1) == 0);
        CHECK(finished == 0 || cloze_answers_found(answers, finished - 1) == 1);
        cloze_answers_free(answers);
    }
    cloze_cancel_free(flag);
    cloze_request_free(request);
    cloze_error_free(error);
}

static void nulls(const cloze_model *model, const cloze_model *other) {
    cloze_error *error = cloze_error_new();
    const char *text = "a";
    size_t length = 1;
    cloze_answers *answers = (cloze_answers *)&length;
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "model", cloze_extract(NULL, NULL, "q", 1, &text, &length, 1, &answers, error));
    CHECK(answers == NULL);
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "question", cloze_extract(model, NULL, NULL, 1, &text, &length, 1, &answers, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "contexts", cloze_extract(model, NULL, "q", 1, NULL, &length, 1, &answers, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "lengths", cloze_extract(model, NULL, "q", 1, &text, NULL, 1, &answers, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "answers", cloze_extract(model, NULL, "q", 1, &text, &length, 1, NULL, error));
    EXPECT_WORD(CLOZE_INVALID_UTF8, "contexts[0]", cloze_extract(model, NULL, "q", 1, (const char *const[]){"\xff"}, &length, 1, &answers, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "it has", cloze_extract(other, NULL, "q", 1, &text, &length, 1, &answers, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "answers", cloze_answers_get(NULL, 0, 0, NULL, NULL, NULL, NULL, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "answers", cloze_answers_none(NULL, 0, NULL, NULL, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "answers", cloze_answers_context(NULL, 0, NULL, NULL, NULL, NULL, error));
    CHECK(cloze_answers_count(NULL) == 0 && cloze_answers_finished(NULL) == 0 && cloze_answers_found(NULL, 0) == 0);
    CHECK(cloze_answers_text(NULL, 0, 0, NULL) == NULL);
    cloze_answers_free(NULL);
    OK(cloze_extract(model, NULL, "q", 1, NULL, NULL, 0, &answers, error));
    CHECK(answers != NULL && cloze_answers_count(answers) == 0);
    cloze_answers_free(answers);
    cloze_error_free(error);
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    CHECK(argc == 3);
    cloze_model *model = load(argv[1], "2"), *other = load(argv[2], "1");
    answers_of_texts(model, "byte");
    answers_of_texts(model, "utf16");
    answers_of_texts(model, "codepoint");
    long_contexts(model);
    stops(model);
    nulls(model, other);
    cloze_model_free(model);
    cloze_model_free(other);
    return 0;
}
