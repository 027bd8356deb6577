/* How do Java's calls reach the tasks, and how are their answers written? Each answer begins with the inputs that are finished and what became of
 * all of them (put_inputs); Replies.java reads what follows. */

#include "call.h"

#include <stdlib.h>

#define TASK(name) JNIEXPORT jbyteArray JNICALL Java_org_cloze_Native_##name
#define MODEL(address) ((const cloze_model *)(intptr_t)(address))
#define COUNTED(texts) (texts).pointers, (texts).lengths, (texts).count

/* The getter of a handle's inputs, as put_inputs takes it. */
#define INPUTS(noun, what)                                                                                                     \
    static cloze_status noun##_of(const void *handle, size_t input, size_t *tokens, size_t *total, bool *truncated, size_t *windows,             \
                                  cloze_error *error) {                                                                         \
        return cloze_##noun##_##what(handle, input, tokens, total, truncated, windows, error);                                  \
    }

INPUTS(ranking, document)
INPUTS(classes, input)
INPUTS(follows, input)
INPUTS(answers, context)
INPUTS(entities, input)
INPUTS(fills, input)
INPUTS(sparse, input)
INPUTS(late, input)

/* The place of a part of a text. */
static void put_place(struct call *call, size_t start, size_t end) {
    put_size(call, start);
    put_size(call, end);
}

/* A call with a request and its texts. */
static void begin(struct call *call, JNIEnv *env, jobjectArray settings, jlong cancel, jobjectArray texts, jobjectArray more) {
    call_begin_with(call, env, settings, cancel);
    if (call_is_good(call))
        call_texts(call, texts, &call->texts);
    if (more != NULL && call_is_good(call))
        call_texts(call, more, &call->more);
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Ranks, labels, what follows */

TASK(rerank)(JNIEnv *env, jclass self, jlong model, jobjectArray settings, jlong cancel, jobjectArray query, jobjectArray documents) {
    (void)self;
    struct call call;
    cloze_ranking *ranking = NULL;
    begin(&call, env, settings, cancel, documents, query);
    if (call_is_good(&call))
        call.status = cloze_rerank(MODEL(model), call.request, call.more.pointers[0], call.more.lengths[0], COUNTED(call.texts), &ranking, call.error);
    call.has_body = ranking != NULL;
    put_size(&call, cloze_ranking_scored(ranking));
    put_inputs(&call, ranking, ranking != NULL ? call.texts.count : 0, ranking_of);
    put_size(&call, cloze_ranking_count(ranking));
    for (size_t rank = 0; rank < cloze_ranking_count(ranking); rank++) {
        size_t document = 0;
        float score = 0, logit = 0;
        cloze_ranking_get(ranking, rank, &document, &score, &logit, NULL);
        put_size(&call, document);
        put_float(&call, score);
        put_float(&call, logit);
    }
    cloze_ranking_free(ranking);
    return call_end(&call);
}

static jbyteArray labelled(struct call *call, cloze_classes *classes) {
    call->has_body = classes != NULL;
    put_size(call, cloze_classes_finished(classes));
    put_inputs(call, classes, cloze_classes_count(classes), classes_of);
    for (size_t input = 0; input < cloze_classes_finished(classes); input++) {
        size_t labels = cloze_classes_labels(classes, input);
        put_size(call, labels);
        for (size_t place = 0; place < labels; place++) {
            size_t label = 0, length = 0;
            float score = 0, logit = 0;
            cloze_classes_get(classes, input, place, &label, &score, &logit, NULL);
            const char *name = cloze_classes_name(classes, input, place, &length);
            put_bytes(call, name, length);
            put_size(call, label);
            put_float(call, score);
            put_float(call, logit);
        }
    }
    cloze_classes_free(classes);
    return call_end(call);
}

TASK(classify)(JNIEnv *env, jclass self, jlong model, jobjectArray settings, jlong cancel, jobjectArray texts, jobjectArray pairs) {
    (void)self;
    struct call call;
    cloze_classes *classes = NULL;
    begin(&call, env, settings, cancel, texts, pairs);
    if (call_is_good(&call))
        call.status = cloze_classify(MODEL(model), call.request, call.texts.pointers, call.texts.lengths, call.more.pointers, call.more.lengths,
                                     call.texts.count, &classes, call.error);
    return labelled(&call, classes);
}

TASK(classifyAs)(JNIEnv *env, jclass self, jlong model, jobjectArray settings, jlong cancel, jobjectArray texts, jobjectArray labels) {
    (void)self;
    struct call call;
    cloze_classes *classes = NULL;
    begin(&call, env, settings, cancel, texts, labels);
    if (call_is_good(&call))
        call.status = cloze_classify_as(MODEL(model), call.request, COUNTED(call.texts), COUNTED(call.more), &classes, call.error);
    return labelled(&call, classes);
}

TASK(nextSentence)(JNIEnv *env, jclass self, jlong model, jobjectArray settings, jlong cancel, jobjectArray texts, jobjectArray pairs) {
    (void)self;
    struct call call;
    cloze_follows *follows = NULL;
    begin(&call, env, settings, cancel, texts, pairs);
    if (call_is_good(&call))
        call.status = cloze_next_sentence(MODEL(model), call.request, call.texts.pointers, call.texts.lengths, call.more.pointers,
                                          call.more.lengths, call.texts.count, &follows, call.error);
    call.has_body = follows != NULL;
    put_size(&call, cloze_follows_finished(follows));
    put_inputs(&call, follows, cloze_follows_count(follows), follows_of);
    for (size_t pair = 0; pair < cloze_follows_finished(follows); pair++) {
        float score = 0, logit = 0, other = 0;
        cloze_follows_get(follows, pair, &score, &logit, &other, NULL);
        put_float(&call, score);
        put_float(&call, logit);
        put_float(&call, other);
    }
    cloze_follows_free(follows);
    return call_end(&call);
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Answers, entities, blanks */

TASK(extract)(JNIEnv *env, jclass self, jlong model, jobjectArray settings, jlong cancel, jobjectArray question, jobjectArray contexts) {
    (void)self;
    struct call call;
    cloze_answers *answers = NULL;
    begin(&call, env, settings, cancel, contexts, question);
    if (call_is_good(&call))
        call.status = cloze_extract(MODEL(model), call.request, call.more.pointers[0], call.more.lengths[0], COUNTED(call.texts), &answers, call.error);
    call.has_body = answers != NULL;
    put_size(&call, cloze_answers_finished(answers));
    put_inputs(&call, answers, cloze_answers_count(answers), answers_of);
    for (size_t context = 0; context < cloze_answers_finished(answers); context++) {
        size_t found = cloze_answers_found(answers, context), start = 0, end = 0, length = 0;
        float score = 0, logit = 0;
        put_size(&call, found);
        for (size_t place = 0; place < found; place++) {
            cloze_answers_get(answers, context, place, &start, &end, &score, &logit, NULL);
            const char *text = cloze_answers_text(answers, context, place, &length);
            put_bytes(&call, text, length);
            put_place(&call, start, end);
            put_float(&call, score);
            put_float(&call, logit);
        }
        cloze_answers_none(answers, context, &score, &logit, NULL);
        put_float(&call, score);
        put_float(&call, logit);
    }
    cloze_answers_free(answers);
    return call_end(&call);
}

static void put_entity(struct call *call, const cloze_entities *entities, size_t input, size_t place, bool of_words) {
    size_t start = 0, end = 0, length = 0;
    float score = 0;
    cloze_entities_get(entities, input, place, &start, &end, &score, NULL);
    const char *label = cloze_entities_label(entities, input, place, &length);
    put_bytes(call, label, length);
    const char *text = cloze_entities_text(entities, input, place, &length);
    put_bytes(call, text, length);
    put_place(call, start, end);
    put_float(call, score);
    start = end = 0;
    if (of_words)
        cloze_entities_words(entities, input, place, &start, &end, NULL);
    put_place(call, start, end);
}

static jbyteArray tagged(struct call *call, cloze_entities *entities, bool of_words) {
    call->has_body = entities != NULL;
    put_size(call, cloze_entities_finished(entities));
    put_inputs(call, entities, cloze_entities_count(entities), entities_of);
    for (size_t input = 0; input < cloze_entities_finished(entities); input++) {
        size_t found = cloze_entities_found(entities, input);
        put_size(call, found);
        for (size_t place = 0; place < found; place++)
            put_entity(call, entities, input, place, of_words);
    }
    cloze_entities_free(entities);
    return call_end(call);
}

TASK(tag)(JNIEnv *env, jclass self, jlong model, jobjectArray settings, jlong cancel, jobjectArray texts) {
    (void)self;
    struct call call;
    cloze_entities *entities = NULL;
    begin(&call, env, settings, cancel, texts, NULL);
    if (call_is_good(&call))
        call.status = cloze_tag(MODEL(model), call.request, COUNTED(call.texts), &entities, call.error);
    return tagged(&call, entities, false);
}

/* `words` are those of all inputs, one after another; `counts` says how many each has. */
TASK(tagWords)(JNIEnv *env, jclass self, jlong model, jobjectArray settings, jlong cancel, jobjectArray words, jintArray counts) {
    (void)self;
    struct call call;
    cloze_entities *entities = NULL;
    jsize inputs = (*env)->GetArrayLength(env, counts);
    size_t *each = calloc((size_t)inputs + 1, sizeof *each);
    begin(&call, env, settings, cancel, words, NULL);
    if (each == NULL)
        call_said(&call, CLOZE_OUT_OF_MEMORY);
    for (jsize input = 0; each != NULL && input < inputs; input++) {
        jint count = 0;
        (*env)->GetIntArrayRegion(env, counts, input, 1, &count);
        each[input] = (size_t)count;
    }
    if (call_is_good(&call))
        call.status = cloze_tag_words(MODEL(model), call.request, call.texts.pointers, call.texts.lengths, each, (size_t)inputs, &entities, call.error);
    free(each);
    return tagged(&call, entities, true);
}

static void put_fill(struct call *call, const cloze_fills *fills, size_t input, size_t blank, size_t place, bool with_text) {
    uint32_t id = 0;
    float score = 0, logit = 0;
    size_t length = 0;
    cloze_fills_get(fills, input, blank, place, &id, &score, &logit, NULL);
    const char *token = cloze_fills_token(fills, input, blank, place, &length);
    put_bytes(call, token, length);
    put_id(call, id);
    put_float(call, score);
    put_float(call, logit);
    length = 0;
    if (with_text)
        cloze_fills_text(fills, input, blank, place, NULL, 0, &length, NULL);
    put_size(call, length);
    char *room = put_room(call, length);
    if (with_text && room != NULL)
        cloze_fills_text(fills, input, blank, place, room, length, &length, NULL);
}

TASK(fillMask)(JNIEnv *env, jclass self, jlong model, jobjectArray settings, jlong cancel, jobjectArray texts, jobjectArray candidates, jboolean with_text) {
    (void)self;
    struct call call;
    cloze_fills *fills = NULL;
    begin(&call, env, settings, cancel, texts, candidates);
    if (call_is_good(&call))
        call.status = cloze_fill_mask(MODEL(model), call.request, COUNTED(call.texts), COUNTED(call.more), &fills, call.error);
    call.has_body = fills != NULL;
    put_size(&call, cloze_fills_finished(fills));
    put_inputs(&call, fills, cloze_fills_count(fills), fills_of);
    for (size_t input = 0; input < cloze_fills_finished(fills); input++) {
        size_t blanks = cloze_fills_blanks(fills, input);
        put_size(&call, blanks);
        for (size_t blank = 0; blank < blanks; blank++) {
            size_t start = 0, end = 0, count = 0;
            cloze_fills_blank(fills, input, blank, &start, &end, &count, NULL);
            put_place(&call, start, end);
            put_size(&call, count);
            for (size_t place = 0; place < count; place++)
                put_fill(&call, fills, input, blank, place, with_text);
        }
    }
    cloze_fills_free(fills);
    return call_end(&call);
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Sparse and late vectors */

TASK(encodeSparse)(JNIEnv *env, jclass self, jlong model, jobjectArray settings, jlong cancel, jobjectArray texts) {
    (void)self;
    struct call call;
    cloze_sparse *sparse = NULL;
    begin(&call, env, settings, cancel, texts, NULL);
    if (call_is_good(&call))
        call.status = cloze_encode_sparse(MODEL(model), call.request, COUNTED(call.texts), &sparse, call.error);
    call.has_body = sparse != NULL;
    put_size(&call, cloze_sparse_finished(sparse));
    put_inputs(&call, sparse, cloze_sparse_count(sparse), sparse_of);
    for (size_t input = 0; input < cloze_sparse_finished(sparse); input++) {
        size_t count = cloze_sparse_weights(sparse, input), length = 0;
        put_size(&call, count);
        uint32_t *ids = malloc(count * sizeof *ids + 1);
        float *weights = malloc(count * sizeof *weights + 1);
        if (ids == NULL || weights == NULL)
            call.body.failed = true;
        else
            cloze_sparse_copy(sparse, input, ids, weights, count, &count, NULL);
        for (size_t place = 0; place < count && !call.body.failed; place++) {
            put_id(&call, ids[place]);
            put_float(&call, weights[place]);
            const char *token = cloze_sparse_token(sparse, input, place, &length);
            put_bytes(&call, token, length);
        }
        free(ids);
        free(weights);
    }
    cloze_sparse_free(sparse);
    return call_end(&call);
}

TASK(encodeLate)(JNIEnv *env, jclass self, jlong model, jobjectArray settings, jlong cancel, jobjectArray texts) {
    (void)self;
    struct call call;
    cloze_late *late = NULL;
    begin(&call, env, settings, cancel, texts, NULL);
    if (call_is_good(&call))
        call.status = cloze_encode_late(MODEL(model), call.request, COUNTED(call.texts), &late, call.error);
    call.has_body = late != NULL;
    put_size(&call, cloze_late_finished(late));
    put_inputs(&call, late, cloze_late_count(late), late_of);
    size_t width = cloze_late_dimensions(late);
    put_size(&call, width);
    for (size_t input = 0; input < cloze_late_finished(late); input++) {
        size_t rows = cloze_late_vectors(late, input), start = 0, end = 0, length = 0;
        put_size(&call, rows);
        float *numbers = malloc(rows * width * sizeof *numbers + 1);
        if (numbers == NULL)
            call.body.failed = true;
        else
            cloze_late_copy(late, input, numbers, rows * width, &length, NULL);
        for (size_t row = 0; row < rows && !call.body.failed; row++) {
            uint32_t id = 0;
            cloze_late_get(late, input, row, &id, &start, &end, NULL);
            put_id(&call, id);
            put_place(&call, start, end);
            const char *token = cloze_late_token(late, input, row, &length);
            put_bytes(&call, token, length);
            for (size_t i = 0; i < width; i++)
                put_float(&call, numbers[row * width + i]);
        }
        free(numbers);
    }
    cloze_late_free(late);
    return call_end(&call);
}
