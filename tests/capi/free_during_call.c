/* Is a model that is freed while another thread is inside a call kept until that call ends? */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "check.h"

#define MANY 2000

static const char *texts[MANY];
static size_t lengths[MANY], width;
static float *alone;
static atomic_bool done;

static void *work(void *model) {
    cloze_error *error = cloze_error_new();
    size_t needed = MANY * width * sizeof(float), written = 0;
    float *vectors = malloc(needed);
    CHECK(vectors != NULL);
    /* From here on the model belongs to the other thread. */
    OK(cloze_encode(model, NULL, texts, lengths, MANY, vectors, needed, &written, NULL, error));
    atomic_store(&done, true);
    CHECK(written == needed && memcmp(vectors, alone, needed) == 0);
    free(vectors);
    cloze_error_free(error);
    return NULL;
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    long times = rounds(argc, argv), early = 0;
    for (size_t i = 0; i < MANY; i++) {
        texts[i] = TEXTS[i % TEXTS_COUNT];
        lengths[i] = strlen(texts[i]);
    }
    cloze_model *first = load(argv[1], "1");
    width = dimensions_of(first, NULL);
    alone = encode(first, NULL, texts, MANY);
    cloze_model_free(first);

    for (long i = 0; i < times; i++) {
        cloze_model *model = load(argv[1], i % 2 ? "1" : "2");
        atomic_store(&done, false);
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, work, model) == 0);
        while (!atomic_load(&done) && statistic(model, "calls") == 0)
            sched_yield();
        cloze_model_free(model); /* the last reference that anybody but the call holds */
        early += !atomic_load(&done);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    CHECK(early > 0); /* else the calls were over before the model was freed, and nothing was tested */
    free(alone);
    return 0;
}
