/* Does a file's own proof come out as the header says: passed, failed with the report, or none there? */

#include "check.h"

static char report[16384];

static const char *verified(const cloze_model *model, cloze_status status) {
    cloze_error *error = cloze_error_new();
    size_t needed = 0;
    memset(report, 'x', sizeof report);
    EXPECT(status, cloze_model_verify(model, report, sizeof report, &needed, error));
    CHECK(needed > 1000 && needed < sizeof report && report[needed - 1] == 0 && report[needed] == 'x');
    CHECK(strlen(report) == needed - 1);
    cloze_error_free(error);
    return report;
}

static void sound(const char *path) {
    cloze_error *error = cloze_error_new();
    cloze_model *model = load(path, "1");
    CHECK(strstr(verified(model, CLOZE_OK), "\"passed\":true") != NULL);
    CHECK(strstr(report, "\"worst_cosine\":") != NULL && strstr(report, "\"precision\":\"") != NULL);

    /* The size alone, and one byte too few: nothing is written. */
    size_t size = strlen(report) + 1, needed = 0;
    char room[4] = "xxx";
    EXPECT(CLOZE_BUFFER_TOO_SMALL, cloze_model_verify(model, NULL, 0, &needed, error));
    CHECK(needed == size);
    EXPECT(CLOZE_BUFFER_TOO_SMALL, cloze_model_verify(model, room, sizeof room, &needed, error));
    CHECK(needed == size && strcmp(room, "xxx") == 0);
    cloze_model_free(model);
    cloze_error_free(error);
}

static void tampered(const char *path) {
    cloze_error *error = cloze_error_new();
    cloze_model *model = load(path, "1");
    CHECK(strstr(verified(model, CLOZE_VERIFICATION_FAILED), "\"passed\":false") != NULL);
    size_t needed = 0;
    EXPECT_WORD(CLOZE_VERIFICATION_FAILED, "the worst is probe", cloze_model_verify(model, report, sizeof report, &needed, error));
    CHECK(strcmp(cloze_status_name(cloze_error_code(error)), "CLOZE_VERIFICATION_FAILED") == 0);
    cloze_model_free(model);
    cloze_error_free(error);
}

static void without_probes(const char *path) {
    cloze_error *error = cloze_error_new();
    cloze_model *model = load(path, "1");
    size_t needed = 9;
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "cloze convert", cloze_model_verify(model, report, sizeof report, &needed, error));
    CHECK(needed == 0);
    cloze_model_free(model);
    cloze_error_free(error);
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    CHECK(argc == 4);
    without_probes(argv[1]);
    sound(argv[2]);
    tampered(argv[3]);
    return 0;
}
