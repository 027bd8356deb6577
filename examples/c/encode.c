/* Turn texts into vectors and compare them.
 *
 *     cc encode.c -lcloze -lm -o encode
 *     ./encode models/minilm
 *     ./encode models/minilm "first text" "second text" "third text"
 */

#include <cloze.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double cosine(const float *a, const float *b, size_t n) {
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < n; i++) {
        ab += a[i] * b[i];
        aa += a[i] * a[i];
        bb += b[i] * b[i];
    }
    return ab / sqrt(aa * bb);
}

/* Encodes `count` texts and prints how near each is to each: 1 is the same direction, 0 is unrelated. */
static cloze_status compare(const cloze_model *model, const char *const *texts, size_t count, cloze_error *error) {
    size_t dimensions = 0, needed = 0, written = 0;
    cloze_status status = cloze_model_dimensions(model, NULL, &dimensions, error);
    if (status == CLOZE_OK)
        status = cloze_encode_size(model, NULL, count, &needed, error);
    if (status != CLOZE_OK)
        return status;

    float *vectors = malloc(needed);
    size_t *lengths = malloc(count * sizeof *lengths);
    if (vectors == NULL || lengths == NULL)
        abort();
    for (size_t i = 0; i < count; i++)
        lengths[i] = strlen(texts[i]);

    status = cloze_encode(model, NULL, texts, lengths, count, vectors, needed, &written, NULL, error);
    for (size_t i = 0; status == CLOZE_OK && i < count; i++) {
        for (size_t j = 0; j < count; j++)
            printf("%6.2f", cosine(vectors + i * dimensions, vectors + j * dimensions, dimensions));
        printf("  %s\n", texts[i]);
    }
    free(lengths);
    free(vectors);
    return status;
}

int main(int argc, char **argv) {
    static const char *const examples[] = {
        "How do I reset my password?",
        "I forgot my login and cannot get into my account.",
        "The cat sleeps on the warm windowsill.",
        "A kitten naps in the sun by the window.",
        "Interest rates rose by half a percent in March.",
    };
    if (argc < 2) {
        fprintf(stderr, "usage: %s MODEL [TEXT...]\n", argv[0]);
        return 2;
    }
    const char *const *texts = argc > 2 ? (const char *const *)argv + 2 : examples;
    size_t count = argc > 2 ? (size_t)argc - 2 : sizeof examples / sizeof examples[0];

    cloze_error *error = cloze_error_new();
    cloze_model *model = NULL;
    cloze_status status = cloze_model_load(argv[1], NULL, &model, error);
    if (status == CLOZE_OK)
        status = compare(model, texts, count, error);
    if (status != CLOZE_OK)
        fprintf(stderr, "%s: %s\n", cloze_status_name(status), cloze_error_message(error, NULL));

    cloze_model_free(model);
    cloze_error_free(error);
    return status == CLOZE_OK ? 0 : 1;
}
