/* What does one call cost from C? Encodes a text again and again and prints the processor's microseconds of a call (others may be busy beside it):
 * what a binding's figure is compared with.
 *
 * Arguments: MODEL TEXT CALLS. One thread; a hundredth of the calls go before and are not counted. */

#define _POSIX_C_SOURCE 200809L
#include <cloze.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    cloze_error *error = cloze_error_new();
    cloze_options *options = cloze_options_new();
    cloze_model *model = NULL;
    const char *text = argv[2];
    size_t length = strlen(text), bytes = 0, written = 0;
    long calls = atol(argv[3]), warm = calls / 100;
    if (cloze_options_set(options, "threads", "1", error) || cloze_model_load(argv[1], options, &model, error) ||
        cloze_encode_size(model, NULL, 1, &bytes, error)) {
        fprintf(stderr, "%s\n", cloze_error_message(error, NULL));
        return 1;
    }
    float *vector = malloc(bytes);
    double begun = 0;
    for (long call = -warm; call < calls; call++) {
        if (call == 0)
            begun = seconds();
        if (cloze_encode(model, NULL, &text, &length, 1, vector, bytes, &written, NULL, error)) {
            fprintf(stderr, "%s\n", cloze_error_message(error, NULL));
            return 1;
        }
    }
    printf("%.3f\n", (seconds() - begun) / (double)calls * 1e6);
    free(vector);
    cloze_model_free(model);
    cloze_options_free(options);
    cloze_error_free(error);
    return 0;
}
