/* Is the library a polite guest: no signal handlers, threads, files, output or changed settings behind the host's back?
 *
 * Arguments: the library, which is loaded by hand to look at the process before and after, and the model. The caller checks
 * that nothing was printed. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>

#include "check.h"

/* What a guest must leave as it was. */
struct process {
    struct sigaction signals[65];
    sigset_t blocked;
    int threads, files, rounding, traps;
    unsigned vector_mode;
    char folder[4096], locale[256];
    size_t environment;
};

static int entries(const char *path) {
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    int count = 0;
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* Everything in `environ`, as one number. */
static size_t environment(void) {
    size_t hash = 5381;
    for (char **entry = environ; *entry != NULL; entry++)
        for (char *at = *entry; *at; at++)
            hash = hash * 33 + (unsigned char)*at;
    return hash;
}

static void look(struct process *process) {
    memset(process, 0, sizeof *process);
    for (int number = 1; number < 65; number++)
        sigaction(number, NULL, &process->signals[number]);
    sigprocmask(SIG_SETMASK, NULL, &process->blocked);
    process->threads = entries("/proc/self/task");
    process->files = entries("/proc/self/fd");
    process->rounding = fegetround();
    process->traps = fegetexcept();
#ifdef __x86_64__
    process->vector_mode = __builtin_ia32_stmxcsr() & ~63u; /* all but the sticky flags */
#endif
    CHECK(getcwd(process->folder, sizeof process->folder) != NULL);
    snprintf(process->locale, sizeof process->locale, "%s", setlocale(LC_ALL, NULL));
    process->environment = environment();
}

/* `now` looks like `before`, apart from threads that a call was asked to use. */
static void unchanged(const struct process *before, int threads) {
    static struct process now;
    look(&now);
    for (int number = 1; number < 65; number++) {
        CHECK(now.signals[number].sa_handler == before->signals[number].sa_handler);
        CHECK(now.signals[number].sa_flags == before->signals[number].sa_flags);
    }
    CHECK(memcmp(&now.blocked, &before->blocked, sizeof now.blocked) == 0);
    CHECK(now.threads <= threads);
    CHECK(now.files == before->files);
    CHECK(now.rounding == before->rounding && now.traps == before->traps && now.vector_mode == before->vector_mode);
    CHECK(strcmp(now.folder, before->folder) == 0 && strcmp(now.locale, before->locale) == 0);
    CHECK(now.environment == before->environment);
}

/* The functions that are used, from the library that was loaded by hand. */
static struct {
    __typeof__(&cloze_options_new) options_new;
    __typeof__(&cloze_options_set) options_set;
    __typeof__(&cloze_options_free) options_free;
    __typeof__(&cloze_model_load) model_load;
    __typeof__(&cloze_model_free) model_free;
    __typeof__(&cloze_encode) encode;
} library;

static void *find(void *handle, const char *name) {
    void *symbol = dlsym(handle, name);
    CHECK(symbol != NULL);
    return symbol;
}

/* Loads, encodes enough that helpers are worth their start, and frees, looking at the process in between. */
static void use(const char *path, const char *threads, const struct process *before) {
    enum { MANY = 400 };
    const char *texts[MANY];
    size_t lengths[MANY], written = 0;
    for (size_t i = 0; i < MANY; i++) {
        texts[i] = TEXTS[i % TEXTS_COUNT];
        lengths[i] = strlen(texts[i]);
    }
    size_t room = (size_t)4 << 20;
    void *vectors = malloc(room);
    cloze_options *options = library.options_new();
    cloze_model *model = NULL;
    CHECK(library.options_set(options, "threads", threads, NULL) == CLOZE_OK);
    CHECK(library.model_load(path, options, &model, NULL) == CLOZE_OK);
    library.options_free(options);
    unchanged(before, before->threads);
    CHECK(library.encode(model, NULL, texts, lengths, MANY, vectors, room, &written, NULL, NULL) == CLOZE_OK);
    unchanged(before, before->threads + atoi(threads) - 1);
    library.model_free(model);
    /* Errors are silent, too. */
    CHECK(library.model_load("/nowhere", NULL, &model, NULL) == CLOZE_IO);
    free(vectors);
    for (int wait = 0; wait < 200 && entries("/proc/self/task") > before->threads; wait++)
        usleep(10000);
    unchanged(before, before->threads);
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    CHECK(argc == 3);
    setlocale(LC_ALL, "C");
    static struct process before;
    look(&before);
    void *handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(handle != NULL);
    unchanged(&before, before.threads);
    *(void **)&library.options_new = find(handle, "cloze_options_new");
    *(void **)&library.options_set = find(handle, "cloze_options_set");
    *(void **)&library.options_free = find(handle, "cloze_options_free");
    *(void **)&library.model_load = find(handle, "cloze_model_load");
    *(void **)&library.model_free = find(handle, "cloze_model_free");
    *(void **)&library.encode = find(handle, "cloze_encode");
    use(argv[2], "1", &before);
    use(argv[2], "3", &before);
    return 0;
}
