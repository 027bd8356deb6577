/* Do labels, and the answers for pairs, come out as the header says? Arguments: a model with three labels, and one of
 * BERT's pre-training. */

#include "check.h"

static void labels_of_texts(const cloze_model *model, const cloze_request *request, size_t wanted) {
    cloze_error *error = cloze_error_new();
    cloze_classes *classes = NULL;
    size_t lengths[TEXTS_COUNT];
    for (size_t i = 0; i < TEXTS_COUNT; i++)
        lengths[i] = strlen(TEXTS[i]);
    OK(cloze_classify(model, request, TEXTS, lengths, NULL, NULL, TEXTS_COUNT, &classes, error));
    CHECK(cloze_classes_count(classes) == TEXTS_COUNT && cloze_classes_finished(classes) == TEXTS_COUNT);
    for (size_t i = 0; i < TEXTS_COUNT; i++) {
        size_t tokens = 0, total = 0, windows = 0, length = 0;
        bool truncated = true;
        OK(cloze_classes_input(classes, i, &tokens, &total, &truncated, &windows, error));
        CHECK(tokens >= 2 && tokens == total && windows == 1 && !truncated);
        CHECK(cloze_classes_labels(classes, i) == wanted);
        float before = 2, sum = 0;
        for (size_t place = 0; place < wanted; place++) {
            size_t label = 9;
            float score = 0, logit = 0;
            OK(cloze_classes_get(classes, i, place, &label, &score, &logit, error));
            const char *name = cloze_classes_name(classes, i, place, &length);
            CHECK(label < 3 && score > 0 && score <= before && name != NULL && strlen(name) == length);
            CHECK(strcmp(name, label == 0 ? "contradiction" : label == 1 ? "neutral" : "entailment") == 0);
            before = score;
            sum += score;
        }
        CHECK(wanted < 3 || (sum > 0.9999f && sum < 1.0001f));
    }
    size_t none = 9;
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "input", cloze_classes_get(classes, TEXTS_COUNT, 0, &none, NULL, NULL, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "label", cloze_classes_get(classes, 0, wanted, &none, NULL, NULL, error));
    CHECK(none == 0 && cloze_classes_name(classes, 0, wanted, NULL) == NULL && cloze_classes_labels(classes, TEXTS_COUNT) == 0);
    cloze_classes_free(classes);
    cloze_error_free(error);
}

/* A pair is not the text alone; a NULL among the pairs means that there is none; an empty pair is a pair. */
static void pairs(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    const char *texts[] = {"one text", "one text", "one text"}, *seconds[] = {"and another", NULL, ""};
    size_t lengths[] = {8, 8, 8}, second_lengths[] = {11, 0, 0}, tokens[3];
    cloze_classes *classes = NULL;
    OK(cloze_classify(model, NULL, texts, lengths, seconds, second_lengths, 3, &classes, error));
    for (size_t i = 0; i < 3; i++)
        OK(cloze_classes_input(classes, i, &tokens[i], NULL, NULL, NULL, error));
    CHECK(tokens[0] > tokens[2] && tokens[2] == tokens[1] + 1);
    cloze_classes_free(classes);
    cloze_error_free(error);
}

static void zero_shot(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    const char *text = "the fox lives in the park", *labels[] = {"animals", "politics"};
    size_t length = strlen(text), label_lengths[] = {7, 8}, label = 9, name_length = 0;
    for (int multi = 0; multi < 2; multi++) {
        OK(cloze_request_set(request, "multi_label", multi ? "true" : "false", error));
        OK(cloze_request_set(request, "hypothesis", "About {}.", error));
        cloze_classes *classes = NULL;
        OK(cloze_classify_as(model, request, &text, &length, 1, labels, label_lengths, 2, &classes, error));
        CHECK(cloze_classes_count(classes) == 1 && cloze_classes_labels(classes, 0) == 2);
        float score[2] = {0, 0};
        for (size_t i = 0; i < 2; i++) {
            OK(cloze_classes_get(classes, 0, i, &label, &score[i], NULL, error));
            CHECK(strcmp(cloze_classes_name(classes, 0, i, &name_length), labels[label]) == 0 && name_length == label_lengths[label]);
        }
        CHECK(score[0] >= score[1] && (multi || (score[0] + score[1] > 0.9999f && score[0] + score[1] < 1.0001f)));
        cloze_classes_free(classes);
    }
    cloze_classes *classes = (cloze_classes *)&label;
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "label", cloze_classify_as(model, NULL, &text, &length, 1, NULL, NULL, 0, &classes, error));
    CHECK(classes == NULL);
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "{}", cloze_request_set(request, "hypothesis", "no place", error));
    cloze_request_free(request);
    cloze_error_free(error);
}

static void stops(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    const char *text = "a text";
    size_t length = 6, total = 9;
    cloze_classes *classes = NULL;
    OK(cloze_request_set(request, "deadline_ms", "0", error));
    EXPECT(CLOZE_DEADLINE_EXCEEDED, cloze_classify(model, request, &text, &length, NULL, NULL, 1, &classes, error));
    CHECK(cloze_classes_count(classes) == 1 && cloze_classes_finished(classes) == 0 && cloze_classes_labels(classes, 0) == 0);
    OK(cloze_classes_input(classes, 0, NULL, &total, NULL, NULL, error));
    CHECK(total == 0);
    cloze_classes_free(classes);
    cloze_request_free(request);
    cloze_error_free(error);
}

static void next_sentence(const cloze_model *model, const cloze_model *other) {
    cloze_error *error = cloze_error_new();
    const char *texts[] = {"the fox lives here", ""}, *seconds[] = {"it is quick", "and then"};
    size_t lengths[] = {18, 0}, second_lengths[] = {11, 8}, tokens = 0, windows = 0;
    cloze_follows *follows = NULL;
    OK(cloze_next_sentence(model, NULL, texts, lengths, seconds, second_lengths, 2, &follows, error));
    CHECK(cloze_follows_count(follows) == 2 && cloze_follows_finished(follows) == 2);
    for (size_t i = 0; i < 2; i++) {
        float score = 2, logit = 0, against = 0;
        OK(cloze_follows_get(follows, i, &score, &logit, &against, error));
        CHECK(score > 0 && score < 1 && (score > 0.5f) == (logit > against));
        OK(cloze_follows_input(follows, i, &tokens, NULL, NULL, &windows, error));
        CHECK(tokens > 3 && windows == 1);
    }
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "pair", cloze_follows_get(follows, 2, NULL, NULL, NULL, error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "pair", cloze_follows_input(follows, 2, NULL, NULL, NULL, NULL, error));
    cloze_follows_free(follows);
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "classify", cloze_next_sentence(other, NULL, texts, lengths, seconds, second_lengths, 2, &follows, error));
    CHECK(follows == NULL);
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "pairs", cloze_next_sentence(model, NULL, texts, lengths, NULL, NULL, 2, &follows, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "follows", cloze_next_sentence(model, NULL, texts, lengths, seconds, second_lengths, 2, NULL, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "follows", cloze_follows_get(NULL, 0, NULL, NULL, NULL, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "follows", cloze_follows_input(NULL, 0, NULL, NULL, NULL, NULL, error));
    CHECK(cloze_follows_count(NULL) == 0 && cloze_follows_finished(NULL) == 0);
    cloze_follows_free(NULL);
    cloze_error_free(error);
}

static void nulls(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    const char *text = "a", *labels[] = {"x"};
    size_t length = 1;
    cloze_classes *classes = (cloze_classes *)&length;
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "model", cloze_classify(NULL, NULL, &text, &length, NULL, NULL, 1, &classes, error));
    CHECK(classes == NULL);
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "texts", cloze_classify(model, NULL, NULL, &length, NULL, NULL, 1, &classes, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "lengths", cloze_classify(model, NULL, &text, NULL, NULL, NULL, 1, &classes, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "pair_lengths", cloze_classify(model, NULL, &text, &length, &text, NULL, 1, &classes, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "pairs", cloze_classify(model, NULL, &text, &length, NULL, &length, 1, &classes, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "classes", cloze_classify(model, NULL, &text, &length, NULL, NULL, 1, NULL, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "labels", cloze_classify_as(model, NULL, &text, &length, 1, NULL, &length, 1, &classes, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "classes", cloze_classify_as(model, NULL, &text, &length, 1, labels, &length, 1, NULL, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "classes", cloze_classes_get(NULL, 0, 0, NULL, NULL, NULL, error));
    EXPECT_WORD(CLOZE_NULL_ARGUMENT, "classes", cloze_classes_input(NULL, 0, NULL, NULL, NULL, NULL, error));
    CHECK(cloze_classes_count(NULL) == 0 && cloze_classes_finished(NULL) == 0 && cloze_classes_labels(NULL, 0) == 0);
    CHECK(cloze_classes_name(NULL, 0, 0, NULL) == NULL);
    cloze_classes_free(NULL);
    OK(cloze_classify(model, NULL, NULL, NULL, NULL, NULL, 0, &classes, error));
    CHECK(classes != NULL && cloze_classes_count(classes) == 0);
    cloze_classes_free(classes);
    cloze_error_free(error);
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    CHECK(argc == 3);
    cloze_model *model = load(argv[1], "1"), *pretrained = load(argv[2], "1");
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    labels_of_texts(model, NULL, 3);
    OK(cloze_request_set(request, "top", "1", error));
    labels_of_texts(model, request, 1);
    pairs(model);
    zero_shot(model);
    stops(model);
    next_sentence(pretrained, model);
    nulls(model);
    cloze_request_free(request);
    cloze_error_free(error);
    cloze_model_free(model);
    cloze_model_free(pretrained);
    return 0;
}
