/* Is the library a polite guest: no signal handlers, threads, files, output or changed settings behind the host's back?
 *
 * Arguments: the library, which is loaded by hand to look at the process before and after, and the model. The caller checks
 * that nothing was printed, and links with -rdynamic: then the library's calls of getenv and open come to this file. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fenv.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "check.h"

static const char *model_folder;
static bool watched; /* while the library is at work */
static int files_opened;

static bool starts(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* Which environment variables does it read? */
char *getenv(const char *name) {
    CHECK(!watched || strcmp(name, "CLOZE_ISA") == 0);
    for (char **entry = environ; *entry != NULL; entry++)
        if (starts(*entry, name) && (*entry)[strlen(name)] == '=')
            return *entry + strlen(name) + 1;
    return NULL;
}

/* Which files does it open? The model's, for reading, and those that tell how many processors it may use. */
int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
    va_end(rest);
    if (watched) {
        files_opened++;
        CHECK((flags & O_ACCMODE) == O_RDONLY);
        CHECK(starts(path, model_folder) || starts(path, "/nowhere") || starts(path, "/proc/self/") || starts(path, "/sys/fs/cgroup"));
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

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
    watched = true;
    cloze_options *options = library.options_new();
    cloze_model *model = NULL;
    CHECK(library.options_set(options, "threads", threads, NULL) == CLOZE_OK);
    CHECK(library.model_load(path, options, &model, NULL) == CLOZE_OK);
    library.options_free(options);
    watched = false;
    CHECK(files_opened > 0); /* else this file does not see what the library opens */
    unchanged(before, before->threads);
    watched = true;
    CHECK(library.encode(model, NULL, texts, lengths, MANY, vectors, room, &written, NULL, NULL) == CLOZE_OK);
    watched = false;
    unchanged(before, before->threads + (atoi(threads) > 0 ? atoi(threads) : (int)sysconf(_SC_NPROCESSORS_ONLN)) - 1);
    watched = true;
    library.model_free(model);
    /* Errors are silent, too. */
    CHECK(library.model_load("/nowhere", NULL, &model, NULL) == CLOZE_IO);
    watched = false;
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
    watched = true;
    void *handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    watched = false;
    CHECK(handle != NULL);
    unchanged(&before, before.threads);
    *(void **)&library.options_new = find(handle, "cloze_options_new");
    *(void **)&library.options_set = find(handle, "cloze_options_set");
    *(void **)&library.options_free = find(handle, "cloze_options_free");
    *(void **)&library.model_load = find(handle, "cloze_model_load");
    *(void **)&library.model_free = find(handle, "cloze_model_free");
    *(void **)&library.encode = find(handle, "cloze_encode");
    model_folder = argv[2];
    use(argv[2], "1", &before);
    use(argv[2], "3", &before);
    use(argv[2], "auto", &before);
    return 0;
}
