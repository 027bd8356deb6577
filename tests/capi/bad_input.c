/* Does input that nobody should send, but somebody will, get a clear answer? */

#include <sys/stat.h>

#include "check.h"

static float room[4096];
static size_t written;

static cloze_status encode_one(const cloze_model *model, const cloze_request *request, const char *text, size_t length, cloze_error *error) {
    return cloze_encode(model, request, &text, &length, 1, room, sizeof room, &written, NULL, error);
}

static void texts(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    size_t vector = dimensions_of(model, NULL) * sizeof(float);
    CHECK(vector <= sizeof room);

    /* Nothing, spaces, characters that the tokenizer strips: the vector of the empty text, or near it, and finite. */
    const char *blank[] = {"", " ", " \t\n\r ", "\x01\x02\x7f", "\xe2\x80\x8b\xef\xbb\xbf"};
    for (size_t i = 0; i < sizeof blank / sizeof blank[0]; i++) {
        OK(encode_one(model, NULL, blank[i], strlen(blank[i]), error));
        CHECK(written == vector && room[0] == room[0]);
    }

    /* A NUL inside is a character: what follows it counts. */
    OK(encode_one(model, NULL, "one\0two", 7, error));
    float first = room[0];
    OK(encode_one(model, NULL, "one", 3, error));
    CHECK(first != room[0]);

    /* 10^6 characters: cut like any other text. */
    char *huge = repeated("word ", 200000);
    CHECK(strlen(huge) >= 1000000);
    OK(encode_one(model, NULL, huge, strlen(huge), error));
    CHECK(written == vector);
    memset(huge, 'x', strlen(huge));
    OK(encode_one(model, NULL, huge, strlen(huge), error));
    free(huge);

    /* Not UTF-8: stray byte, cut sequence, surrogate, overlong form, beyond the last code point. */
    const char *broken[] = {"ab\x80", "ab\xe2\x82", "ab\xed\xa0\x80", "ab\xc0\xaf", "ab\xf4\x90\x80\x80"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        EXPECT_WORD(CLOZE_INVALID_UTF8, "byte 2", encode_one(model, NULL, broken[i], strlen(broken[i]), error));
        CHECK(written == 0);
    }
    const char *two[] = {"fine", "not \xff fine"};
    size_t lengths[] = {4, 10};
    EXPECT_WORD(CLOZE_INVALID_UTF8, "texts[1]", cloze_encode(model, NULL, two, lengths, 2, room, sizeof room, &written, NULL, error));

    /* Sizes that no memory holds. */
    lengths[0] = SIZE_MAX;
    EXPECT(CLOZE_INVALID_ARGUMENT, cloze_encode(model, NULL, two, lengths, 1, room, sizeof room, &written, NULL, error));
    EXPECT(CLOZE_INVALID_ARGUMENT, cloze_encode(model, NULL, two, lengths, SIZE_MAX, room, sizeof room, &written, NULL, error));
    EXPECT(CLOZE_INVALID_ARGUMENT, cloze_encode_size(model, NULL, SIZE_MAX, &written, error));
    CHECK(written == 0);
    cloze_error_free(error);
}

static void requests(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    cloze_request *request = cloze_request_new();
    struct {
        const char *key, *value;
    } refused[] = {
        {"pooling", "average"},  {"pooling", ""},         {"normalize", "maybe"}, {"dimensions", "0"},   {"truncation", "middle"},
        {"max_tokens", "2"},     {"overlap", "-1"},       {"layers", "concat:0"}, {"vectors", "word"},   {"output", "f64"},
        {"offsets", "grapheme"}, {"deadline_ms", "soon"}, {"threads", "0"},       {"threads", "100000"}, {"no_such_key", "1"},
        {"POOLING", "mean"},     {"", ""},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        EXPECT_WORD(CLOZE_INVALID_ARGUMENT, refused[i].key, cloze_request_set(request, refused[i].key, refused[i].value, error));
    EXPECT_WORD(CLOZE_INVALID_UTF8, "key", cloze_request_set(request, "\xc3", "1", error));
    OK(encode_one(model, request, "a refused value changes nothing", 31, error));

    /* Accepted as words, refused by this model. */
    struct {
        const char *key, *value, *back;
    } unfit[] = {
        {"dimensions", "100000", "all"}, {"layers", "99", "last"},    {"layers", "concat:99", "last"},
        {"max_tokens", "4096", "model"}, {"prompt_name", "nobody", ""},
    };
    for (size_t i = 0; i < sizeof unfit / sizeof unfit[0]; i++) {
        OK(cloze_request_set(request, unfit[i].key, unfit[i].value, error));
        EXPECT(CLOZE_INVALID_ARGUMENT, encode_one(model, request, "text", 4, error));
        CHECK(written == 0);
        OK(cloze_request_set(request, unfit[i].key, unfit[i].back, error));
    }

    /* Words that do not go together: what would be ignored is refused. */
    OK(cloze_request_set(request, "overlap", "6", error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "overlap 6", encode_one(model, request, "text", 4, error));
    size_t needed = 9;
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "overlap 6", cloze_encode_size(model, request, 1, &needed, error));
    CHECK(needed == 0);
    OK(cloze_request_set(request, "overlap", "auto", error));
    OK(cloze_request_set(request, "vectors", "token", error));
    OK(cloze_request_set(request, "pooling", "cls+mean", error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "pooling cls+mean", encode_one(model, request, "text", 4, error));
    OK(cloze_request_set(request, "pooling", "model", error));
    OK(cloze_request_set(request, "vectors", "text", error));
    OK(encode_one(model, request, "text", 4, error));

    /* A window that cannot move on. */
    OK(cloze_request_set(request, "truncation", "window", error));
    OK(cloze_request_set(request, "max_tokens", "8", error));
    OK(cloze_request_set(request, "overlap", "6", error));
    char *text = repeated("word", 30);
    EXPECT(CLOZE_INVALID_ARGUMENT, encode_one(model, request, text, strlen(text), error));
    free(text);
    cloze_request_free(request);
    cloze_error_free(error);
}

static void folders(const char *path) {
    cloze_error *error = cloze_error_new();
    cloze_model *model = NULL;
    EXPECT_WORD(CLOZE_IO, "/nowhere", cloze_model_load("/nowhere", NULL, &model, error));
    EXPECT(CLOZE_IO, cloze_model_load("", NULL, &model, error));
    EXPECT(CLOZE_IO, cloze_model_load("/nowhere/\xff\xfe", NULL, &model, error)); /* a path is any bytes */

    char file[4096];
    snprintf(file, sizeof file, "%s/config.json", path);
    cloze_status status = cloze_model_load(file, NULL, &model, error);
    CHECK(status != CLOZE_OK && status != CLOZE_PANIC);

    char empty[] = "/tmp/cloze-empty-XXXXXX";
    CHECK(mkdtemp(empty) != NULL);
    status = cloze_model_load(empty, NULL, &model, error);
    CHECK(status == CLOZE_IO || status == CLOZE_INVALID_FILE);
    CHECK(strstr(cloze_error_message(error, NULL), "config.json") != NULL);
    CHECK(rmdir(empty) == 0);

    cloze_options *options = cloze_options_new();
    OK(cloze_options_set(options, "isa", "z80", error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "z80", cloze_model_load(path, options, &model, error));
    cloze_options_free(options);
    CHECK(model == NULL);
    cloze_error_free(error);
}

static void files_in_memory(void) {
    cloze_error *error = cloze_error_new();
    cloze_model *model = NULL;
    const char *names[] = {"config.json", "model.safetensors", "config.json"};
    const void *datas[] = {"{ not json", "\xff\xff\xff\xff\xff\xff\xff\x0f", "{}"};
    size_t lengths[] = {10, 8, 2};
    EXPECT(CLOZE_INVALID_ARGUMENT, cloze_model_load_files(names, datas, lengths, 3, NULL, &model, error));
    EXPECT_WORD(CLOZE_INVALID_FILE, "config.json", cloze_model_load_files(names, datas, lengths, 2, NULL, &model, error));
    datas[0] = "{}";
    lengths[0] = 2;
    cloze_status status = cloze_model_load_files(names, datas, lengths, 2, NULL, &model, error);
    CHECK(status != CLOZE_OK && status != CLOZE_PANIC);
    status = cloze_model_load_files(NULL, NULL, NULL, 0, NULL, &model, error);
    CHECK(status != CLOZE_OK && status != CLOZE_PANIC);
    names[0] = "../config.json";
    EXPECT(CLOZE_INVALID_ARGUMENT, cloze_model_load_files(names, datas, lengths, 1, NULL, &model, error));
    names[0] = "/etc/passwd";
    EXPECT(CLOZE_INVALID_ARGUMENT, cloze_model_load_files(names, datas, lengths, 1, NULL, &model, error));
    lengths[1] = SIZE_MAX;
    names[0] = "config.json";
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "datas[1]", cloze_model_load_files(names, datas, lengths, 2, NULL, &model, error));
    CHECK(model == NULL);
    cloze_error_free(error);
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    CHECK(argc == 2);
    cloze_model *model = load(argv[1], "2");
    texts(model);
    requests(model);
    cloze_model_free(model);
    folders(argv[1]);
    files_in_memory();
    return 0;
}
