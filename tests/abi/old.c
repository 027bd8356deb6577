/* Does a program that was compiled with the header of version 0.1.0 still link, run, and read what it asked for? */

#include <cloze.h>

#include <stdio.h>
#include <string.h>

#define CHECK(condition)                                                                                      \
    do {                                                                                                      \
        if (!(condition)) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, cloze_error_message(error, NULL)); \
            return 1;                                                                                         \
        }                                                                                                     \
    } while (0)

int main(int argc, char **argv) {
    cloze_error *error = cloze_error_new();
    cloze_options *options = cloze_options_new();
    cloze_request *request = cloze_request_new();
    cloze_model *model = NULL;
    CHECK(argc == 2 && cloze_abi_version() == CLOZE_ABI_VERSION);
    CHECK(cloze_options_set(options, "threads", "1", error) == CLOZE_OK);
    CHECK(cloze_model_load(argv[1], options, &model, error) == CLOZE_OK);

    const char *texts[] = {"how to search", "a text", "how to search"};
    size_t lengths[] = {13, 6, 13}, bytes = 0, written = 0, tokens = 0, document = 9;
    float vectors[3 * 512], score = 0;
    cloze_report *report = NULL;
    CHECK(cloze_encode_size(model, request, 3, &bytes, error) == CLOZE_OK && bytes <= sizeof vectors);
    CHECK(cloze_encode(model, request, texts, lengths, 3, vectors, bytes, &written, &report, error) == CLOZE_OK && written == bytes);
    CHECK(memcmp(vectors, (char *)vectors + 2 * bytes / 3, bytes / 3) == 0);
    CHECK(cloze_report_text(report, 0, &tokens, NULL, NULL, NULL, NULL, NULL, error) == CLOZE_OK && tokens > 3);

    cloze_ranking *ranking = NULL;
    CHECK(cloze_request_set(request, "top", "1", error) == CLOZE_OK);
    CHECK(cloze_rerank(model, request, texts[0], lengths[0], texts + 1, lengths + 1, 2, &ranking, error) == CLOZE_OK);
    CHECK(cloze_ranking_count(ranking) == 1 && cloze_ranking_get(ranking, 0, &document, &score, NULL, error) == CLOZE_OK);
    CHECK(document == 1);

    CHECK(cloze_request_set(request, "deadline_ms", "0", error) == CLOZE_OK);
    CHECK(cloze_encode(model, request, texts, lengths, 3, vectors, bytes, &written, NULL, error) == CLOZE_DEADLINE_EXCEEDED && written == 0);
    CHECK(cloze_request_set(request, "colour", "red", error) == CLOZE_INVALID_ARGUMENT);
    CHECK(strcmp(cloze_status_name(cloze_error_code(error)), "CLOZE_INVALID_ARGUMENT") == 0);

    cloze_ranking_free(ranking);
    cloze_report_free(report);
    cloze_model_free(model);
    cloze_request_free(request);
    cloze_options_free(options);
    cloze_error_free(error);
    return 0;
}
