/* How does Java open a model, ask what it is, and stop calls? */

#include "call.h"

#include <stdlib.h>
#include <string.h>

#define NATIVE(type, name) JNIEXPORT type JNICALL Java_org_cloze_Native_##name
#define MODEL(address) ((const cloze_model *)(intptr_t)(address))

static jbyteArray words(JNIEnv *env, const char *text) {
    jsize length = (jsize)strlen(text);
    jbyteArray array = (*env)->NewByteArray(env, length);
    if (array != NULL)
        (*env)->SetByteArrayRegion(env, array, 0, length, (const jbyte *)text);
    return array;
}

NATIVE(jint, abiVersion)(JNIEnv *env, jclass self) {
    (void)env, (void)self;
    return (jint)cloze_abi_version();
}

NATIVE(jbyteArray, version)(JNIEnv *env, jclass self) {
    (void)self;
    return words(env, cloze_version());
}

NATIVE(jbyteArray, statusName)(JNIEnv *env, jclass self, jint status) {
    (void)self;
    return words(env, cloze_status_name(status));
}

/* Options of these words, which end with a NUL. */
static cloze_options *options(struct call *call, jobjectArray array) {
    struct texts words = {0};
    cloze_options *options = cloze_options_new();
    call_texts(call, array, &words);
    for (size_t i = 0; i + 1 < words.count && call_is_good(call); i += 2)
        call_said(call, cloze_options_set(options, words.pointers[i], words.pointers[i + 1], call->error));
    free_texts(&words);
    return options;
}

static jbyteArray opened(struct call *call, cloze_model *model) {
    put_long(call, (int64_t)(intptr_t)model);
    call->has_body = call_is_good(call);
    jbyteArray reply = call_end(call);
    /* Nobody else knows of it. */
    if (reply == NULL || call->body.failed)
        cloze_model_free(model);
    return reply;
}

/* `path` and the words of `settings` end with a NUL. */
NATIVE(jbyteArray, open)(JNIEnv *env, jclass self, jobjectArray path, jobjectArray settings) {
    (void)self;
    struct call call;
    cloze_model *model = NULL;
    call_begin(&call, env);
    cloze_options *asked = options(&call, settings);
    call_texts(&call, path, &call.texts);
    if (call_is_good(&call))
        call_said(&call, cloze_model_load(call.texts.pointers[0], asked, &model, call.error));
    cloze_options_free(asked);
    return opened(&call, model);
}

/* `names` end with a NUL. */
NATIVE(jbyteArray, openFiles)(JNIEnv *env, jclass self, jobjectArray names, jobjectArray datas, jobjectArray settings) {
    (void)self;
    struct call call;
    cloze_model *model = NULL;
    call_begin(&call, env);
    cloze_options *asked = options(&call, settings);
    call_texts(&call, names, &call.texts);
    call_texts(&call, datas, &call.more);
    if (call_is_good(&call)) {
        const void *const *files = (const void *const *)call.more.pointers;
        call_said(&call, cloze_model_load_files(call.texts.pointers, files, call.more.lengths, call.texts.count, asked, &model, call.error));
    }
    cloze_options_free(asked);
    return opened(&call, model);
}

NATIVE(void, free)(JNIEnv *env, jclass self, jlong model) {
    (void)env, (void)self;
    cloze_model_free((cloze_model *)(intptr_t)model);
}

NATIVE(jlong, cancelNew)(JNIEnv *env, jclass self) {
    (void)env, (void)self;
    return (jlong)(intptr_t)cloze_cancel_new();
}

/* Neither fails: the address is that of a flag. */
NATIVE(void, cancelSet)(JNIEnv *env, jclass self, jlong cancel, jboolean raised) {
    (void)env, (void)self;
    cloze_cancel *flag = (cloze_cancel *)(intptr_t)cancel;
    if (raised)
        cloze_cancel_cancel(flag, NULL);
    else
        cloze_cancel_reset(flag, NULL);
}

NATIVE(void, cancelFree)(JNIEnv *env, jclass self, jlong cancel) {
    (void)env, (void)self;
    cloze_cancel_free((cloze_cancel *)(intptr_t)cancel);
}

/* A text of the model, `verify` or `describe`: they take the same arguments, and the room is right after two tries. */
static jbyteArray told(JNIEnv *env, jlong model, bool verify) {
    struct call call;
    size_t room = 16384;
    call_begin(&call, env);
    for (;;) {
        size_t needed = 0;
        char *buffer = malloc(room);
        if (buffer == NULL) {
            call.status = CLOZE_OUT_OF_MEMORY;
            break;
        }
        call.status = verify ? cloze_model_verify(MODEL(model), buffer, room, &needed, call.error)
                             : cloze_model_describe(MODEL(model), buffer, room, &needed, call.error);
        if (call.status == CLOZE_OK || call.status == CLOZE_VERIFICATION_FAILED) {
            put_bytes(&call, buffer, needed - 1);
            call.has_body = true;
        }
        free(buffer);
        if (call.status != CLOZE_BUFFER_TOO_SMALL)
            break;
        room = needed;
    }
    return call_end(&call);
}

NATIVE(jbyteArray, describe)(JNIEnv *env, jclass self, jlong model) {
    (void)self;
    return told(env, model, false);
}

NATIVE(jbyteArray, verify)(JNIEnv *env, jclass self, jlong model) {
    (void)self;
    return told(env, model, true);
}

NATIVE(jbyteArray, dimensions)(JNIEnv *env, jclass self, jlong model, jobjectArray settings) {
    (void)self;
    struct call call;
    size_t dimensions = 0;
    call_begin_with(&call, env, settings, 0);
    if (call_is_good(&call))
        call_said(&call, cloze_model_dimensions(MODEL(model), call.request, &dimensions, call.error));
    put_size(&call, dimensions);
    call.has_body = call_is_good(&call);
    return call_end(&call);
}

/* `key` ends with a NUL. */
NATIVE(jbyteArray, memory)(JNIEnv *env, jclass self, jlong model, jobjectArray key) {
    (void)self;
    struct call call;
    size_t value = 0;
    call_begin(&call, env);
    call_texts(&call, key, &call.texts);
    if (call_is_good(&call))
        call_said(&call, cloze_memory_statistics(MODEL(model), call.texts.pointers[0], &value, call.error));
    put_long(&call, (int64_t)value);
    call.has_body = call_is_good(&call);
    return call_end(&call);
}

NATIVE(jbyteArray, memoryPeak)(JNIEnv *env, jclass self, jlong model, jlong tokens, jlong texts) {
    (void)self;
    struct call call;
    size_t bytes = 0;
    call_begin(&call, env);
    call_said(&call, cloze_memory_peak(MODEL(model), (size_t)tokens, (size_t)texts, &bytes, call.error));
    put_long(&call, (int64_t)bytes);
    call.has_body = call_is_good(&call);
    return call_end(&call);
}

NATIVE(jbyteArray, memoryTrim)(JNIEnv *env, jclass self, jlong model) {
    (void)self;
    struct call call;
    call_begin(&call, env);
    call_said(&call, cloze_memory_trim(MODEL(model), call.error));
    return call_end(&call);
}
