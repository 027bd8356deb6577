/* How do vectors, tokens and maps reach Java? */

#include "call.h"

#include <stdlib.h>
#include <string.h>

#define TASK(name) JNIEXPORT jbyteArray JNICALL Java_org_cloze_Native_##name
#define MODEL(address) ((const cloze_model *)(intptr_t)(address))

/* What became of each text, and of `int8` the scale of each vector. */
static void put_report(struct call *call, const cloze_report *report, bool scaled) {
    size_t count = cloze_report_count(report), rows = 0;
    put_size(call, cloze_report_dimensions(report));
    put_size(call, cloze_report_finished(report));
    put_size(call, count);
    for (size_t text = 0; text < count; text++) {
        size_t tokens = 0, total = 0, windows = 0, first = 0, vectors = 0;
        bool truncated = false;
        cloze_report_text(report, text, &tokens, &total, &truncated, &windows, &first, &vectors, NULL);
        put_size(call, tokens);
        put_size(call, total);
        put_byte(call, truncated);
        put_size(call, windows);
        put_size(call, vectors);
        rows += vectors;
    }
    put_size(call, scaled ? rows : 0);
    for (size_t row = 0; scaled && row < rows; row++) {
        float scale = 0;
        cloze_report_scale(report, row, &scale, NULL);
        put_float(call, scale);
    }
}

/* The bytes that all vectors need: of `tokens` tokens where it is not 0, which is a guess, else of the texts. */
static size_t room_for(struct call *call, const cloze_model *model, size_t tokens) {
    size_t bytes = 0;
    if (tokens == 0) {
        call_said(call, cloze_encode_size(model, call->request, call->texts.count, &bytes, call->error));
        return bytes;
    }
    call_said(call, cloze_model_dimensions(model, call->request, &bytes, call->error));
    return tokens * bytes * sizeof(float);
}

/* Writes vectors to `out`, a direct buffer, or, where it is NULL, to a buffer that goes back in the reply. */
TASK(encode)(JNIEnv *env, jclass self, jlong model, jobjectArray settings, jlong cancel, jobjectArray texts, jobject out, jlong tokens, jboolean scaled) {
    (void)self;
    struct call call;
    cloze_report *report = NULL;
    size_t written = 0, capacity = 0;
    void *vectors = NULL;
    call_begin_with(&call, env, settings, cancel);
    if (call_is_good(&call))
        call_texts(&call, texts, &call.texts);
    if (call_is_good(&call))
        capacity = out != NULL ? (size_t)(*env)->GetDirectBufferCapacity(env, out) : room_for(&call, MODEL(model), (size_t)tokens);
    while (call_is_good(&call)) {
        vectors = out != NULL ? (*env)->GetDirectBufferAddress(env, out) : malloc(capacity + 1);
        if (vectors == NULL && out == NULL) {
            call.status = CLOZE_OUT_OF_MEMORY;
            break;
        }
        call.status = cloze_encode(MODEL(model), call.request, call.texts.pointers, call.texts.lengths, call.texts.count, vectors, capacity, &written,
                                   &report, call.error);
        if (call.status != CLOZE_BUFFER_TOO_SMALL || out != NULL)
            break;
        /* A vector a token needs as much room as the texts have tokens, which is known now. */
        free(vectors);
        vectors = NULL;
        capacity = written;
        call.status = CLOZE_OK;
    }
    call.has_body = report != NULL;
    if (report != NULL) {
        put_report(&call, report, scaled);
        put_bytes(&call, vectors, out != NULL ? 0 : written);
    }
    if (out == NULL)
        free(vectors);
    cloze_report_free(report);
    return call_end(&call);
}

static void put_window(struct call *call, const cloze_tokens *tokens, size_t window) {
    size_t count = cloze_tokens_count(tokens, window);
    put_size(call, count);
    for (size_t token = 0; token < count; token++) {
        uint32_t id = 0, type_id = 0;
        bool special = false;
        size_t start = 0, end = 0, length = 0;
        cloze_tokens_get(tokens, window, token, &id, &type_id, &special, &start, &end, NULL);
        const char *text = cloze_tokens_text(tokens, window, token, &length);
        put_bytes(call, text, length);
        put_id(call, id);
        put_id(call, type_id);
        put_byte(call, special);
        put_size(call, start);
        put_size(call, end);
    }
}

/* `texts` are a text and its pair, or null in place of it. */
TASK(tokenize)(JNIEnv *env, jclass self, jlong model, jobjectArray settings, jobjectArray texts) {
    (void)self;
    struct call call;
    cloze_tokens *tokens = NULL;
    call_begin_with(&call, env, settings, 0);
    if (call_is_good(&call))
        call_texts(&call, texts, &call.texts);
    if (call_is_good(&call))
        call.status = cloze_tokenize(MODEL(model), call.request, call.texts.pointers[0], call.texts.lengths[0], call.texts.pointers[1],
                                     call.texts.lengths[1], &tokens, call.error);
    call.has_body = tokens != NULL;
    put_size(&call, cloze_tokens_total(tokens));
    put_byte(&call, cloze_tokens_truncated(tokens));
    put_size(&call, cloze_tokens_windows(tokens));
    for (size_t window = 0; window < cloze_tokens_windows(tokens); window++)
        put_window(&call, tokens, window);
    cloze_tokens_free(tokens);
    return call_end(&call);
}

/* The numbers of all maps, then those of all states. */
static void put_maps(struct call *call, const cloze_maps *maps) {
    size_t layers = 0, heads = 0, tokens = 0, hidden = 0, count = 0;
    call_said(call, cloze_maps_sizes(maps, &layers, &heads, &tokens, &hidden, call->error));
    put_size(call, layers);
    put_size(call, heads);
    put_size(call, tokens);
    put_size(call, hidden);
    put_window(call, cloze_maps_tokens(maps), 0);
    /* Through memory of its own: a place in the reply has no alignment. */
    size_t most = tokens * (tokens > hidden ? tokens : hidden);
    float *numbers = malloc(most * sizeof *numbers + 1);
    if (numbers == NULL) {
        call->body.failed = true;
        return;
    }
    for (size_t map = 0; map < layers * heads + layers + 1; map++) {
        cloze_status status = map < layers * heads ? cloze_maps_attention(maps, map / heads, map % heads, numbers, most, &count, call->error)
                                                   : cloze_maps_state(maps, map - layers * heads, numbers, most, &count, call->error);
        call_said(call, status);
        void *room = put_room(call, count * sizeof *numbers);
        if (room == NULL)
            break;
        memcpy(room, numbers, count * sizeof *numbers);
    }
    free(numbers);
}

TASK(attention)(JNIEnv *env, jclass self, jlong model, jobjectArray settings, jlong cancel, jobjectArray texts) {
    (void)self;
    struct call call;
    cloze_maps *maps = NULL;
    call_begin_with(&call, env, settings, cancel);
    if (call_is_good(&call))
        call_texts(&call, texts, &call.texts);
    if (call_is_good(&call))
        call.status = cloze_attention(MODEL(model), call.request, call.texts.pointers[0], call.texts.lengths[0], call.texts.pointers[1],
                                      call.texts.lengths[1], &maps, call.error);
    call.has_body = maps != NULL;
    if (maps != NULL)
        put_maps(&call, maps);
    cloze_maps_free(maps);
    return call_end(&call);
}
