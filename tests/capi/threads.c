/* Do many threads that share one model get the answers that one thread gets? */

#include <pthread.h>

#include "check.h"

#define THREADS 16

static cloze_model *model;
static float *alone; /* the vector of each text, encoded by one thread */
static size_t width;
static long calls;

static void *work(void *argument) {
    size_t seed = (size_t)argument;
    cloze_error *error = cloze_error_new();
    cloze_model *mine = cloze_model_retain(model);
    float *vectors = malloc(3 * width * sizeof *vectors);
    for (long call = 0; call < calls; call++) {
        const char *texts[3];
        size_t at[3], lengths[3], written = 0, count = 1 + (size_t)call % 3;
        for (size_t i = 0; i < count; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            at[i] = (seed >> 33) % TEXTS_COUNT;
            texts[i] = TEXTS[at[i]];
            lengths[i] = strlen(texts[i]);
        }
        OK(cloze_encode(mine, NULL, texts, lengths, count, vectors, count * width * sizeof *vectors, &written, NULL, error));
        for (size_t i = 0; i < count; i++)
            CHECK(memcmp(vectors + i * width, alone + at[i] * width, width * sizeof *vectors) == 0);
        if (call % 100 == 7) {
            OK(cloze_memory_trim(mine, error));
            cloze_tokens *tokens = NULL;
            OK(cloze_tokenize(mine, NULL, texts[0], lengths[0], NULL, 0, &tokens, error));
            CHECK(cloze_tokens_count(tokens, 0) >= 2);
            cloze_tokens_free(tokens);
        }
    }
    free(vectors);
    cloze_model_free(mine);
    cloze_error_free(error);
    return NULL;
}

int main(int argc, char **argv) {
    alarm(TIME_LIMIT_SECONDS);
    calls = rounds(argc, argv);
    cloze_model *single = load(argv[1], "1");
    width = dimensions_of(single, NULL);
    alone = encode(single, NULL, TEXTS, TEXTS_COUNT);
    cloze_model_free(single);

    model = load(argv[1], "2");
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(statistic(model, "calls") == 0);
    cloze_model_free(model);
    free(alone);
    return 0;
}
