/* Can a model be opened from a folder and from memory, shared, described, measured, and freed without a trace? */

#include <dirent.h>
#include <sys/stat.h>

#include "check.h"

static void versions(void) {
    CHECK(cloze_abi_version() == CLOZE_ABI_VERSION);
    int major = 0, minor = 0, patch = 0;
    CHECK(sscanf(cloze_version(), "%d.%d.%d", &major, &minor, &patch) == 3);
    CHECK(strcmp(cloze_status_name(CLOZE_OK), "CLOZE_OK") == 0);
    CHECK(strcmp(cloze_status_name(CLOZE_TOO_LONG), "CLOZE_TOO_LONG") == 0);
    CHECK(strcmp(cloze_status_name(-5), "CLOZE_UNKNOWN") == 0);
    CHECK(strcmp(cloze_status_name(1 << 30), "CLOZE_UNKNOWN") == 0);
}

static void errors(const char *path) {
    cloze_error *error = cloze_error_new();
    CHECK(cloze_error_code(error) == CLOZE_OK && *cloze_error_message(error, NULL) == 0);
    cloze_model *model = NULL;
    EXPECT_WORD(CLOZE_IO, "/nowhere/at/all", cloze_model_load("/nowhere/at/all", NULL, &model, error));
    CHECK(model == NULL);
    /* A success empties the object. */
    OK(cloze_model_load(path, NULL, &model, error));
    cloze_model_free(model);
    cloze_error_free(error);
}

static void options(const char *path) {
    cloze_error *error = cloze_error_new();
    cloze_options *options = cloze_options_new();
    OK(cloze_options_set(options, "threads", "2", error));
    OK(cloze_options_set(options, "precision", "f32", error));
    OK(cloze_options_set(options, "isa", "reference", error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "threads", cloze_options_set(options, "threads", "0", error));
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "colour", cloze_options_set(options, "colour", "red", error));
    EXPECT_WORD(CLOZE_INVALID_UTF8, "value", cloze_options_set(options, "threads", "\xff", error));
    cloze_model *model = NULL;
    OK(cloze_model_load(path, options, &model, error));
    cloze_options_free(options);
    CHECK(described(model, "threads") == 2);
    char *json = description(model);
    CHECK(strstr(json, "\"isa\":\"reference\"") != NULL);
    free(json);
    cloze_model_free(model);
    cloze_error_free(error);
}

static void describing(const cloze_model *model) {
    cloze_error *error = cloze_error_new();
    char *json = description(model);
    CHECK(strstr(json, "\"family\":\"bert\"") != NULL);
    CHECK(described(model, "dimensions") == (long)dimensions_of(model, NULL));
    /* One byte too few: nothing is written. */
    char room[8192];
    CHECK(strlen(json) < sizeof room);
    memset(room, 'x', sizeof room);
    size_t needed = 0;
    EXPECT(CLOZE_BUFFER_TOO_SMALL, cloze_model_describe(model, room, strlen(json), &needed, error));
    CHECK(needed == strlen(json) + 1 && room[0] == 'x');
    OK(cloze_model_describe(model, room, needed, &needed, error));
    CHECK(strcmp(room, json) == 0 && room[needed] == 'x');
    free(json);

    cloze_request *request = cloze_request_new();
    size_t one = dimensions_of(model, NULL);
    OK(cloze_request_set(request, "pooling", "cls+mean", error));
    size_t two = dimensions_of(model, request);
    CHECK(two == 2 * (size_t)described(model, "hidden"));
    OK(cloze_request_set(request, "pooling", "model", error));
    OK(cloze_request_set(request, "dimensions", "3", error));
    CHECK(dimensions_of(model, request) == 3);
    OK(cloze_request_set(request, "dimensions", "1000000", error));
    size_t none = 9;
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "dimensions", cloze_model_dimensions(model, request, &none, error));
    CHECK(none == 0 && one == dimensions_of(model, NULL));
    cloze_request_free(request);
    cloze_error_free(error);
}

static void sharing(const char *path) {
    cloze_model *model = load(path, "1");
    cloze_model *second = cloze_model_retain(model);
    CHECK(second == model);
    cloze_model_free(model);
    CHECK(dimensions_of(second, NULL) > 0);
    cloze_model_free(second);
}

static void memory(const char *path) {
    cloze_error *error = cloze_error_new();
    cloze_model *model = load(path, "1");
    CHECK(statistic(model, "weights_mapped") + statistic(model, "weights_owned") > 1000);
    CHECK(statistic(model, "calls") == 0);
    float *before = encode(model, NULL, TEXTS, TEXTS_COUNT);
    size_t worked = statistic(model, "workspaces");
    CHECK(worked > 0);
    OK(cloze_memory_trim(model, error));
    CHECK(statistic(model, "workspaces") < worked);
    float *after = encode(model, NULL, TEXTS, TEXTS_COUNT);
    CHECK(memcmp(before, after, TEXTS_COUNT * dimensions_of(model, NULL) * sizeof *after) == 0);
    free(before);
    free(after);

    size_t small = 0, large = 0, none = 9;
    OK(cloze_memory_peak(model, 16, 1, &small, error));
    OK(cloze_memory_peak(model, 16, 64, &large, error));
    CHECK(small > 0 && large >= small);
    EXPECT(CLOZE_INVALID_ARGUMENT, cloze_memory_peak(model, 1000000, 1, &none, error));
    CHECK(none == 0);
    EXPECT_WORD(CLOZE_INVALID_ARGUMENT, "weights_mapped", cloze_memory_statistics(model, "heap", &none, error));
    CHECK(none == 0);
    cloze_model_free(model);
    cloze_error_free(error);
}

/* The files of a model's folder, read into memory. */
#define MOST_FILES 32
static char *names[MOST_FILES];
static void *datas[MOST_FILES];
static size_t lengths[MOST_FILES];
static size_t count;

static void read_folder(const char *root, const char *inside) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", root, inside);
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        char name[1024], file[8192];
        snprintf(name, sizeof name, "%s%s%s", inside, *inside ? "/" : "", entry->d_name);
        snprintf(file, sizeof file, "%s/%s", root, name);
        struct stat about;
        CHECK(stat(file, &about) == 0);
        if (S_ISDIR(about.st_mode)) {
            read_folder(root, name);
            continue;
        }
        CHECK(count < MOST_FILES);
        names[count] = strdup(name);
        lengths[count] = (size_t)about.st_size;
        datas[count] = malloc(lengths[count] + 1);
        FILE *stream = fopen(file, "rb");
        CHECK(stream != NULL && fread(datas[count], 1, lengths[count], stream) == lengths[count]);
        fclose(stream);
        count++;
    }
    closedir(folder);
}

static void from_memory(const char *path) {
    cloze_error *error = cloze_error_new();
    cloze_model *model = NULL, *mapped = load(path, "1");
    read_folder(path, "");
    OK(cloze_model_load_files((const char *const *)names, (const void *const *)datas, lengths, count, NULL, &model, error));
    /* The bytes were copied: what becomes of them now does not matter. */
    for (size_t i = 0; i < count; i++) {
        memset(datas[i], 0xee, lengths[i]);
        free(datas[i]);
        free(names[i]);
    }
    float *one = encode(mapped, NULL, TEXTS, TEXTS_COUNT), *two = encode(model, NULL, TEXTS, TEXTS_COUNT);
    CHECK(memcmp(one, two, TEXTS_COUNT * dimensions_of(model, NULL) * sizeof *one) == 0);
    CHECK(statistic(model, "weights_mapped") == 0);
    free(one);
    free(two);
    cloze_model_free(model);
    cloze_model_free(mapped);
    cloze_error_free(error);
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    CHECK(argc == 2);
    versions();
    errors(argv[1]);
    options(argv[1]);
    cloze_model *model = load(argv[1], "1");
    describing(model);
    cloze_model_free(model);
    sharing(argv[1]);
    memory(argv[1]);
    from_memory(argv[1]);
    return 0;
}
