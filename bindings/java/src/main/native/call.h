/* What does every call of Native.java go through? A call gathers its arguments, and its reply goes back as one array of bytes:
 *
 *     status (i32), its sentence (bytes, of a status that is not CLOZE_OK), whether a body follows (u8), the body
 *
 * in the machine's byte order; bytes are their number (i32) and themselves. Reply.java reads it. So the shim calls no Java code, throws nothing but the
 * JVM's own OutOfMemoryError, and holds nothing of the heap while the library works. */

#ifndef CLOZE_CALL_H
#define CLOZE_CALL_H

#include <cloze.h>
#include <jni.h>

/* Bytes that grow. After a refusal of memory `failed` is set, and nothing more is written. */
struct reply {
    unsigned char *bytes;
    size_t length, room;
    bool failed;
};

/* Texts as the library takes them. Those of the heap are copied to `copy`, since the heap moves; direct buffers are used where they lie. */
struct texts {
    const char **pointers;
    size_t *lengths, count;
    char *copy;
};

/* One call. `status` is the first that was not CLOZE_OK; what follows it is left out. */
struct call {
    JNIEnv *env;
    cloze_status status;
    cloze_error *error;
    cloze_request *request;
    struct texts texts, more;
    struct reply body;
    bool has_body;
};

/* A call without a request. */
void call_begin(struct call *call, JNIEnv *env);

/* A call with a request of these settings (key, value, key, value ..., each a byte[] that ends with a NUL), and of a cancel flag where it is not 0. */
void call_begin_with(struct call *call, JNIEnv *env, jobjectArray settings, jlong cancel);

/* Whether the library may be asked. */
bool call_is_good(const struct call *call);

/* Sets the status of a step. */
void call_said(struct call *call, cloze_status status);

/* The texts of an array, each a byte[], a direct buffer (from its beginning to its capacity) or, for none, null. */
void call_texts(struct call *call, jobjectArray array, struct texts *texts);
void free_texts(struct texts *texts);

/* The reply, and the end of the call. */
jbyteArray call_end(struct call *call);

/* Writing to a body. */
void put_byte(struct call *call, bool value);
void put_size(struct call *call, size_t value); /* i32: no text has more than 4 MiB */
void put_id(struct call *call, uint32_t value);
void put_long(struct call *call, int64_t value);
void put_float(struct call *call, float value);
void put_bytes(struct call *call, const void *bytes, size_t length);

/* Room for `length` bytes at the end of the body, to be written to at once; NULL where there is no memory. */
void *put_room(struct call *call, size_t length);

/* What became of each input: their number, and what the getter says. */
typedef cloze_status input_getter(const void *handle, size_t input, size_t *tokens, size_t *total, bool *truncated, size_t *windows, cloze_error *error);
void put_inputs(struct call *call, const void *handle, size_t count, input_getter *getter);

#endif
