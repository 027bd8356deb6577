/* How are arguments gathered and replies written? See call.h. */

#include "call.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------------------------------
 * Bytes that grow */

static void *grow(struct reply *reply, size_t more) {
    if (reply->failed)
        return NULL;
    /* An array of Java has at most 2^31 - 1 bytes. */
    if (more > INT32_MAX - 64 || reply->length > INT32_MAX - 64 - more) {
        reply->failed = true;
        return NULL;
    }
    if (reply->length + more > reply->room) {
        size_t room = 2 * reply->room + more + 256;
        unsigned char *bytes = realloc(reply->bytes, room);
        if (bytes == NULL) {
            reply->failed = true;
            return NULL;
        }
        reply->bytes = bytes;
        reply->room = room;
    }
    void *at = reply->bytes + reply->length;
    reply->length += more;
    return at;
}

static void append(struct reply *reply, const void *bytes, size_t length) {
    void *at = grow(reply, length);
    if (at != NULL && length > 0)
        memcpy(at, bytes, length);
}

static void append_int(struct reply *reply, int32_t value) {
    append(reply, &value, sizeof value);
}

void put_byte(struct call *call, bool value) {
    unsigned char byte = value;
    append(&call->body, &byte, 1);
}

void put_size(struct call *call, size_t value) {
    append_int(&call->body, value > INT32_MAX ? INT32_MAX : (int32_t)value);
}

void put_id(struct call *call, uint32_t value) {
    append(&call->body, &value, sizeof value);
}

void put_long(struct call *call, int64_t value) {
    append(&call->body, &value, sizeof value);
}

void put_float(struct call *call, float value) {
    append(&call->body, &value, sizeof value);
}

void put_bytes(struct call *call, const void *bytes, size_t length) {
    put_size(call, length);
    append(&call->body, bytes, length);
}

void *put_room(struct call *call, size_t length) {
    return grow(&call->body, length);
}

void put_inputs(struct call *call, const void *handle, size_t count, input_getter *getter) {
    put_size(call, count);
    for (size_t input = 0; input < count; input++) {
        size_t tokens = 0, total = 0, windows = 0;
        bool truncated = false;
        call_said(call, getter(handle, input, &tokens, &total, &truncated, &windows, call->error));
        put_size(call, tokens);
        put_size(call, total);
        put_byte(call, truncated);
        put_size(call, windows);
    }
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Calls */

void call_said(struct call *call, cloze_status status) {
    if (call->status == CLOZE_OK)
        call->status = status;
}

bool call_is_good(const struct call *call) {
    return call->status == CLOZE_OK;
}

void call_begin(struct call *call, JNIEnv *env) {
    memset(call, 0, sizeof *call);
    call->env = env;
    call->error = cloze_error_new();
}

void free_texts(struct texts *texts) {
    free(texts->pointers);
    free(texts->lengths);
    free(texts->copy);
}

void call_begin_with(struct call *call, JNIEnv *env, jobjectArray settings, jlong cancel) {
    struct texts words = {0};
    call_begin(call, env);
    call->request = cloze_request_new();
    call_texts(call, settings, &words);
    for (size_t i = 0; i + 1 < words.count && call_is_good(call); i += 2)
        call_said(call, cloze_request_set(call->request, words.pointers[i], words.pointers[i + 1], call->error));
    free_texts(&words);
    if (cancel != 0 && call_is_good(call))
        call_said(call, cloze_request_set_cancel(call->request, (cloze_cancel *)(intptr_t)cancel, call->error));
}

/* The bytes of all arrays of the heap together; direct buffers are entered at once. */
static size_t measure(JNIEnv *env, jobjectArray array, struct texts *texts) {
    size_t bytes = 0;
    for (size_t i = 0; i < texts->count; i++) {
        jobject text = (*env)->GetObjectArrayElement(env, array, (jsize)i);
        if (text != NULL) {
            texts->pointers[i] = (*env)->GetDirectBufferAddress(env, text);
            if (texts->pointers[i] != NULL) {
                texts->lengths[i] = (size_t)(*env)->GetDirectBufferCapacity(env, text);
            } else {
                texts->lengths[i] = (size_t)(*env)->GetArrayLength(env, text);
                bytes += texts->lengths[i];
            }
            (*env)->DeleteLocalRef(env, text);
        }
    }
    return bytes;
}

void call_texts(struct call *call, jobjectArray array, struct texts *texts) {
    JNIEnv *env = call->env;
    texts->count = (size_t)(*env)->GetArrayLength(env, array);
    texts->pointers = calloc(texts->count + 1, sizeof *texts->pointers);
    texts->lengths = calloc(texts->count + 1, sizeof *texts->lengths);
    if (texts->pointers == NULL || texts->lengths == NULL) {
        call_said(call, CLOZE_OUT_OF_MEMORY);
        return;
    }
    /* One byte more: a text of no bytes has an address, too. */
    texts->copy = malloc(measure(env, array, texts) + 1);
    if (texts->copy == NULL) {
        call_said(call, CLOZE_OUT_OF_MEMORY);
        return;
    }
    char *at = texts->copy;
    for (size_t i = 0; i < texts->count; i++) {
        if (texts->pointers[i] != NULL)
            continue;
        jobject text = (*env)->GetObjectArrayElement(env, array, (jsize)i);
        if (text == NULL)
            continue;
        (*env)->GetByteArrayRegion(env, text, 0, (jsize)texts->lengths[i], (jbyte *)at);
        (*env)->DeleteLocalRef(env, text);
        texts->pointers[i] = at;
        at += texts->lengths[i];
    }
}

jbyteArray call_end(struct call *call) {
    struct reply reply = {0};
    /* The sentence of a failure is the error's; a refusal of memory here has none. */
    const char *no_memory = "the answer does not fit into memory, or into an array of Java: ask in parts";
    bool lost = call->body.failed || (call->status == CLOZE_OUT_OF_MEMORY && cloze_error_code(call->error) == CLOZE_OK);
    if (lost)
        call->status = CLOZE_OUT_OF_MEMORY;
    append_int(&reply, call->status);
    if (call->status != CLOZE_OK) {
        size_t length = strlen(no_memory);
        const char *message = lost ? no_memory : cloze_error_message(call->error, &length);
        append_int(&reply, (int32_t)length);
        append(&reply, message, length);
    }
    unsigned char has_body = call->has_body && !lost;
    append(&reply, &has_body, 1);

    JNIEnv *env = call->env;
    size_t body = has_body ? call->body.length : 0;
    jbyteArray array = NULL;
    if (reply.failed || body > INT32_MAX - reply.length) {
        jclass kind = (*env)->FindClass(env, "java/lang/OutOfMemoryError");
        if (kind != NULL)
            (*env)->ThrowNew(env, kind, "native memory");
    } else if ((array = (*env)->NewByteArray(env, (jsize)(reply.length + body))) != NULL) {
        (*env)->SetByteArrayRegion(env, array, 0, (jsize)reply.length, (const jbyte *)reply.bytes);
        if (body > 0)
            (*env)->SetByteArrayRegion(env, array, (jsize)reply.length, (jsize)body, (const jbyte *)call->body.bytes);
    }
    free(reply.bytes);
    free(call->body.bytes);
    free_texts(&call->texts);
    free_texts(&call->more);
    cloze_request_free(call->request);
    cloze_error_free(call->error);
    return array;
}
