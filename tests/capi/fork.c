/* Can a host that has already encoded with several threads fork, and encode in the child?
 *
 * Children end with _exit: LeakSanitizer cannot judge them, since the parent's threads, which they do not have, held memory
 * that nobody in the child can free. The parent is judged. */

#include <sys/wait.h>

#include "check.h"

#define MANY 200

static const char *texts[MANY];

/* Encodes, and compares with what was encoded before the first fork. */
static void same(const cloze_model *model, const float *before) {
    float *now = encode(model, NULL, texts, MANY);
    CHECK(memcmp(now, before, MANY * dimensions_of(model, NULL) * sizeof *now) == 0);
    free(now);
}

static void parent(pid_t child) {
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    CHECK(argc == 2);
    for (size_t i = 0; i < MANY; i++)
        texts[i] = TEXTS[i % TEXTS_COUNT];
    cloze_model *model = load(argv[1], "4");
    float *before = encode(model, NULL, texts, MANY);

    /* Children one after another and of one another; each frees what it inherited. */
    for (int i = 0; i < 8; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(TIME_LIMIT_SECONDS);
            same(model, before);
            same(model, before);
            pid_t grandchild = fork();
            CHECK(grandchild >= 0);
            if (grandchild > 0)
                parent(grandchild);
            else
                same(model, before);
            free(before);
            cloze_model_free(model);
            _exit(0);
        }
        if (i % 2)
            same(model, before); /* both at work at once */
        parent(child);
    }

    /* A child that frees the model without a call, and one that loads another. */
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(TIME_LIMIT_SECONDS);
        cloze_model_free(model);
        model = load(argv[1], "4");
        same(model, before);
        cloze_model_free(model);
        free(before);
        _exit(0);
    }
    parent(child);
    same(model, before);
    free(before);
    cloze_model_free(model);
    return 0;
}
