/* Is every NULL that is not allowed refused by name, with the results left defined, and every other one accepted? */

#include "check.h"

#define REFUSES(name, call) EXPECT_WORD(CLOZE_NULL_ARGUMENT, name, call)

static void handles(cloze_error *error) {
    cloze_options_free(NULL);
    cloze_request_free(NULL);
    cloze_cancel_free(NULL);
    cloze_model_free(NULL);
    cloze_report_free(NULL);
    cloze_tokens_free(NULL);
    cloze_error_free(NULL);
    CHECK(cloze_model_retain(NULL) == NULL);

    cloze_options *options = cloze_options_new();
    REFUSES("options", cloze_options_set(NULL, "threads", "1", error));
    REFUSES("key", cloze_options_set(options, NULL, "1", error));
    REFUSES("value", cloze_options_set(options, "threads", NULL, error));
    cloze_options_free(options);

    cloze_request *request = cloze_request_new();
    REFUSES("request", cloze_request_set(NULL, "pooling", "mean", error));
    REFUSES("key", cloze_request_set(request, NULL, "mean", error));
    REFUSES("value", cloze_request_set(request, "pooling", NULL, error));
    REFUSES("request", cloze_request_set_cancel(NULL, NULL, error));
    OK(cloze_request_set_cancel(request, NULL, error));
    cloze_request_free(request);

    REFUSES("cancel", cloze_cancel_cancel(NULL, error));
    REFUSES("cancel", cloze_cancel_reset(NULL, error));
}

static void errors(void) {
    size_t length = 9;
    CHECK(cloze_error_code(NULL) == CLOZE_OK);
    CHECK(*cloze_error_message(NULL, &length) == 0 && length == 0);
    CHECK(*cloze_error_message(NULL, NULL) == 0);
    /* The status comes back without an error object. */
    CHECK(cloze_options_set(NULL, "threads", "1", NULL) == CLOZE_NULL_ARGUMENT);
    CHECK(cloze_model_load("/nowhere", NULL, NULL, NULL) == CLOZE_NULL_ARGUMENT);
}

static void loading(const char *path, cloze_error *error) {
    cloze_model *model = (cloze_model *)&model;
    REFUSES("path", cloze_model_load(NULL, NULL, &model, error));
    CHECK(model == NULL);
    REFUSES("model", cloze_model_load(path, NULL, NULL, error));

    const char *names[] = {"config.json", NULL};
    const void *datas[] = {"{}", "x"};
    size_t lengths[] = {2, 1};
    REFUSES("names", cloze_model_load_files(NULL, datas, lengths, 2, NULL, &model, error));
    REFUSES("datas", cloze_model_load_files(names, NULL, lengths, 2, NULL, &model, error));
    REFUSES("lengths", cloze_model_load_files(names, datas, NULL, 2, NULL, &model, error));
    REFUSES("model", cloze_model_load_files(names, datas, lengths, 2, NULL, NULL, error));
    REFUSES("names[1]", cloze_model_load_files(names, datas, lengths, 2, NULL, &model, error));
    names[1] = "b";
    datas[1] = NULL;
    REFUSES("datas[1]", cloze_model_load_files(names, datas, lengths, 2, NULL, &model, error));
    CHECK(model == NULL);
}

static void describing(const cloze_model *model, cloze_error *error) {
    size_t number = 9;
    REFUSES("model", cloze_model_dimensions(NULL, NULL, &number, error));
    CHECK(number == 0);
    REFUSES("dimensions", cloze_model_dimensions(model, NULL, NULL, error));
    REFUSES("model", cloze_model_describe(NULL, NULL, 0, &number, error));
    REFUSES("needed", cloze_model_describe(model, NULL, 0, NULL, error));
    REFUSES("buffer", cloze_model_describe(model, NULL, 100000, &number, error));
    REFUSES("model", cloze_model_verify(NULL, NULL, 0, &number, error));
    REFUSES("needed", cloze_model_verify(model, NULL, 0, NULL, error));
    REFUSES("buffer", cloze_model_verify(model, NULL, 100000, &number, error));

    REFUSES("model", cloze_memory_statistics(NULL, "calls", &number, error));
    REFUSES("key", cloze_memory_statistics(model, NULL, &number, error));
    REFUSES("value", cloze_memory_statistics(model, "calls", NULL, error));
    REFUSES("model", cloze_memory_trim(NULL, error));
    REFUSES("model", cloze_memory_peak(NULL, 1, 1, &number, error));
    REFUSES("bytes", cloze_memory_peak(model, 1, 1, NULL, error));
}

static void encoding(const cloze_model *model, cloze_error *error) {
    const char *texts[] = {"one", NULL};
    size_t lengths[] = {3, 0};
    char room[65536];
    size_t written = 9;
    cloze_report *report = (cloze_report *)&report;

    REFUSES("model", cloze_encode(NULL, NULL, texts, lengths, 1, room, sizeof room, &written, &report, error));
    CHECK(report == NULL && written == 0);
    REFUSES("texts", cloze_encode(model, NULL, NULL, lengths, 1, room, sizeof room, &written, &report, error));
    REFUSES("lengths", cloze_encode(model, NULL, texts, NULL, 1, room, sizeof room, &written, &report, error));
    REFUSES("vectors", cloze_encode(model, NULL, texts, lengths, 1, NULL, sizeof room, &written, &report, error));
    REFUSES("written_bytes", cloze_encode(model, NULL, texts, lengths, 1, room, sizeof room, NULL, &report, error));
    lengths[1] = 1;
    REFUSES("texts[1]", cloze_encode(model, NULL, texts, lengths, 2, room, sizeof room, &written, &report, error));
    CHECK(report == NULL && written == 0);

    REFUSES("model", cloze_encode_size(NULL, NULL, 1, &written, error));
    REFUSES("needed_bytes", cloze_encode_size(model, NULL, 1, NULL, error));

    /* Allowed: no request, no report, no texts where there are none, no text where its length is 0. */
    OK(cloze_encode(model, NULL, NULL, NULL, 0, NULL, 0, &written, NULL, error));
    CHECK(written == 0);
    lengths[1] = 0;
    OK(cloze_encode(model, NULL, texts, lengths, 2, room, sizeof room, &written, NULL, error));
    CHECK(written == 2 * dimensions_of(model, NULL) * sizeof(float));
    CHECK(cloze_encode(model, NULL, texts, lengths, 2, room, sizeof room, &written, NULL, NULL) == CLOZE_OK);
}

static void reports(const cloze_model *model, cloze_error *error) {
    size_t n = 0;
    float scale = 9;
    CHECK(cloze_report_count(NULL) == 0 && cloze_report_finished(NULL) == 0 && cloze_report_dimensions(NULL) == 0);
    REFUSES("report", cloze_report_text(NULL, 0, &n, NULL, NULL, NULL, NULL, NULL, error));
    REFUSES("report", cloze_report_scale(NULL, 0, &scale, error));
    CHECK(scale == 0);

    const char *texts[] = {"one"};
    size_t lengths[] = {3};
    char room[65536];
    cloze_report *report = NULL;
    OK(cloze_encode(model, NULL, texts, lengths, 1, room, sizeof room, &n, &report, error));
    OK(cloze_report_text(report, 0, NULL, NULL, NULL, NULL, NULL, NULL, error));
    REFUSES("scale", cloze_report_scale(report, 0, NULL, error));
    cloze_report_free(report);
}

static void tokens(const cloze_model *model, cloze_error *error) {
    cloze_tokens *tokens = (cloze_tokens *)&tokens;
    size_t n = 9;
    REFUSES("model", cloze_tokenize(NULL, NULL, "a", 1, NULL, 0, &tokens, error));
    CHECK(tokens == NULL);
    REFUSES("text", cloze_tokenize(model, NULL, NULL, 1, NULL, 0, &tokens, error));
    REFUSES("pair", cloze_tokenize(model, NULL, "a", 1, NULL, 1, &tokens, error));
    REFUSES("tokens", cloze_tokenize(model, NULL, "a", 1, NULL, 0, NULL, error));

    CHECK(cloze_tokens_windows(NULL) == 0 && cloze_tokens_count(NULL, 0) == 0 && cloze_tokens_total(NULL) == 0);
    CHECK(!cloze_tokens_truncated(NULL) && cloze_tokens_text(NULL, 0, 0, &n) == NULL && n == 0);
    REFUSES("tokens", cloze_tokens_get(NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, error));
    REFUSES("tokens", cloze_tokens_ids(NULL, 0, NULL, 0, &n, error));

    OK(cloze_tokenize(model, NULL, NULL, 0, NULL, 0, &tokens, error));
    CHECK(cloze_tokens_windows(tokens) == 1 && cloze_tokens_count(tokens, 0) >= 2);
    CHECK(cloze_tokens_text(tokens, 0, 0, NULL) != NULL);
    OK(cloze_tokens_get(tokens, 0, 0, NULL, NULL, NULL, NULL, NULL, error));
    REFUSES("count", cloze_tokens_ids(tokens, 0, NULL, 0, NULL, error));
    REFUSES("ids", cloze_tokens_ids(tokens, 0, NULL, 100, &n, error));
    cloze_tokens_free(tokens);
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    CHECK(argc == 2);
    cloze_error *error = cloze_error_new();
    CHECK(error != NULL);
    cloze_model *model = load(argv[1], "1");
    handles(error);
    errors();
    loading(argv[1], error);
    describing(model, error);
    encoding(model, error);
    reports(model, error);
    tokens(model, error);
    cloze_model_free(model);
    cloze_error_free(error);
    return 0;
}
