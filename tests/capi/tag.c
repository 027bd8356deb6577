/* Do entities come out as the header says, of texts and of words? Arguments: a tagger, and a model for something else. */

#include "cancel_later.h"
#include "check.h"

static void entities_of_texts(const cloze_model *model, const char *aggregation) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    cloze_entities *entities = NULL;
    size_t lengths[TEXTS_COUNT], all = 0;
    for (size_t i = 0; i < TEXTS_COUNT; i++)
        lengths[i] = strlen(TEXTS[i]);
    OK(cloze_request_set(request, "aggregation", aggregation, error));
    OK(cloze_request_set(request, "offsets", "byte", error));
    OK(cloze_tag(model, request, TEXTS, lengths, TEXTS_COUNT, &entities, error));
    CHECK(cloze_entities_count(entities) == TEXTS_COUNT && cloze_entities_finished(entities) == TEXTS_COUNT);
    for (size_t i = 0; i < TEXTS_COUNT; i++) {
        size_t tokens = 0, total = 0, windows = 0, before = 0, found = cloze_entities_found(entities, i);
        bool truncated = true;
        OK(cloze_entities_input(entities, i, &tokens, &total, &truncated, &windows, error));
        CHECK(tokens >= 2 && tokens >= total && windows >= 1 && !truncated);
        for (size_t place = 0; place < found; place++) {
            size_t start = 0, end = 0, length = 0, label_length = 0;
            float score = 0;
            OK(cloze_entities_get(entities, i, place, &start, &end, &score, error));
            const char *text = cloze_entities_text(entities, i, place, &length);
            const char *label = cloze_entities_label(entities, i, place, &label_length);
            CHECK(text != NULL && strlen(text) == length && label != NULL && strlen(label) == label_length && label_length > 0);
            CHECK(start >= before && end - start == length && end <= lengths[i] && memcmp(text, TEXTS[i] + start, length) == 0);
            CHECK(score > 0 && score <= 1 && strcmp(label, "O") != 0);
            CHECK((strncmp(label, "B-", 2) == 0 || strncmp(label, "I-", 2) == 0) == (strcmp(aggregation, "none") == 0));
            EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "not of words", cloze_entities_words(entities, i, place, &start, NULL, error));
            before = end;
        }
        all += found;
    }
    CHECK(all > 10);
    size_t start = 9;
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "input", cloze_entities_get(entities, TEXTS_COUNT, 0, &start, NULL, NULL, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "entity", cloze_entities_get(entities, 0, 9999, &start, NULL, NULL, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "input", cloze_entities_input(entities, TEXTS_COUNT, NULL, NULL, NULL, NULL, error));
    CHECK(start == 0 && cloze_entities_text(entities, 0, 9999, NULL) == NULL && cloze_entities_label(entities, 99, 0, NULL) == NULL);
    cloze_entities_free(entities);
    cloze_request_free(request);
    cloze_error_free(error);
}

static void words(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    /* Three inputs: four words, none, two. */
    const char *all[] = {"The", "quick-brown", "f\xc3\xb6x", "\xf0\x9f\x98\x80", "New-York", "city"};
    size_t lengths[] = {3, 11, 4, 4, 8, 4}, counts[] = {4, 0, 2};
    size_t starts[] = {0, 4, 16, 21, 0, 9};
    cloze_entities *entities = NULL;
    OK(cloze_request_set(request, "aggregation", "first", error));
    OK(cloze_request_set(request, "scheme", "single", error));
    OK(cloze_request_set(request, "offsets", "byte", error));
    OK(cloze_tag_words(model, request, all, lengths, counts, 3, &entities, error));
    CHECK(cloze_entities_count(entities) == 3 && cloze_entities_found(entities, 1) == 0);
    for (size_t i = 0; i < 3; i++)
        for (size_t place = 0; place < cloze_entities_found(entities, i); place++) {
            size_t first = 9, end = 9, start = 9, stop = 9, base = i == 0 ? 0 : 4;
            OK(cloze_entities_words(entities, i, place, &first, &end, error));
            OK(cloze_entities_get(entities, i, place, &start, &stop, NULL, error));
            CHECK(end == first + 1 && end <= counts[i]);
            CHECK(start == starts[base + first] && stop - start == lengths[base + first]);
            CHECK(strcmp(cloze_entities_text(entities, i, place, NULL), all[base + first]) == 0);
        }
    cloze_entities_free(entities);
    size_t wild[] = {(size_t)-1, 2};
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "word_counts", cloze_tag_words(model, NULL, all, lengths, wild, 2, &entities, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "words", cloze_tag_words(model, NULL, all, lengths, wild, 1, &entities, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "word_counts", cloze_tag_words(model, NULL, all, lengths, NULL, 1, &entities, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "words", cloze_tag_words(model, NULL, NULL, lengths, counts, 1, &entities, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "entities", cloze_tag_words(model, NULL, all, lengths, counts, 1, NULL, error));
    CHECK(entities == NULL);
    cloze_request_free(request);
    cloze_error_free(error);
}

static void stops(const cloze_model *model) {
    enum { MANY = 3000 };
    static const char *texts[MANY];
    static size_t lengths[MANY];
    for (size_t i = 0; i < MANY; i++) {
        texts[i] = TEXTS[5];
        lengths[i] = strlen(TEXTS[5]);
    }
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    cloze_entities *entities = NULL;
    OK(cloze_request_set(request, "deadline_ms", "0", error));
    EXPECT(CLOZE_DEADLINE_EXCEEDED, cloze_tag(model, request, texts, lengths, MANY, &entities, error));
    CHECK(cloze_entities_count(entities) == MANY && cloze_entities_finished(entities) == 0 && cloze_entities_found(entities, 0) == 0);
    cloze_entities_free(entities);
    OK(cloze_request_set(request, "deadline_ms", "none", error));
    flag = cloze_cancel_new();
    OK(cloze_request_set_cancel(request, flag, error));
    size_t finished = 0;
    for (wait_microseconds = 500; finished == 0; wait_microseconds *= 2) {
        OK(cloze_cancel_reset(flag, error));
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, cancel_later, NULL) == 0);
        EXPECT(CLOZE_CANCELLED, cloze_tag(model, request, texts, lengths, MANY, &entities, error));
        CHECK(pthread_join(thread, NULL) == 0);
        finished = cloze_entities_finished(entities);
        size_t windows = 9;
        OK(cloze_entities_input(entities, MANY - 1, NULL, NULL, NULL, &windows, error));
        CHECK(finished < MANY && windows == 0);
        cloze_entities_free(entities);
    }
    cloze_cancel_free(flag);
    cloze_request_free(request);
    cloze_error_free(error);
}

static void nulls(const cloze_model *model, const cloze_model *other) {
    cloze_error *error = cloze_error_new();
    const char *text = "a";
    size_t length = 1;
    cloze_entities *entities = (cloze_entities *)&length;
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "model", cloze_tag(NULL, NULL, &text, &length, 1, &entities, error));
    CHECK(entities == NULL);
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "texts", cloze_tag(model, NULL, NULL, &length, 1, &entities, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "lengths", cloze_tag(model, NULL, &text, NULL, 1, &entities, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "entities", cloze_tag(model, NULL, &text, &length, 1, NULL, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "it has", cloze_tag(other, NULL, &text, &length, 1, &entities, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "entities", cloze_entities_get(NULL, 0, 0, NULL, NULL, NULL, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "entities", cloze_entities_words(NULL, 0, 0, NULL, NULL, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "entities", cloze_entities_input(NULL, 0, NULL, NULL, NULL, NULL, error));
    CHECK(cloze_entities_count(NULL) == 0 && cloze_entities_finished(NULL) == 0 && cloze_entities_found(NULL, 0) == 0);
    CHECK(cloze_entities_text(NULL, 0, 0, NULL) == NULL && cloze_entities_label(NULL, 0, 0, NULL) == NULL);
    cloze_entities_free(NULL);
    OK(cloze_tag(model, NULL, NULL, NULL, 0, &entities, error));
    CHECK(entities != NULL && cloze_entities_count(entities) == 0);
    cloze_entities_free(entities);
    OK(cloze_tag_words(model, NULL, NULL, NULL, NULL, 0, &entities, error));
    cloze_entities_free(entities);
    cloze_error_free(error);
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    CHECK(argc == 3);
    cloze_model *model = load(argv[1], "2"), *other = load(argv[2], "1");
    const char *strategies[] = {"none", "simple", "first", "average", "max"};
    for (size_t i = 0; i < 5; i++)
        entities_of_texts(model, strategies[i]);
    words(model);
    stops(model);
    nulls(model, other);
    cloze_model_free(model);
    cloze_model_free(other);
    return 0;
}
