/* cloze.h of version 0.1.0 without its comments, as gcc -fpreprocessed -dD -E -P gives it: what programs were compiled with. Never changed. */
#ifndef CLOZE_H
#define CLOZE_H 
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define CLOZE_ABI_VERSION 1
typedef struct cloze_answers cloze_answers;
typedef struct cloze_cancel cloze_cancel;
typedef struct cloze_classes cloze_classes;
typedef struct cloze_entities cloze_entities;
typedef struct cloze_error cloze_error;
typedef struct cloze_fills cloze_fills;
typedef struct cloze_follows cloze_follows;
typedef struct cloze_late cloze_late;
typedef struct cloze_maps cloze_maps;
typedef struct cloze_model cloze_model;
typedef struct cloze_options cloze_options;
typedef struct cloze_ranking cloze_ranking;
typedef struct cloze_report cloze_report;
typedef struct cloze_request cloze_request;
typedef struct cloze_sparse cloze_sparse;
typedef struct cloze_tokens cloze_tokens;
typedef int32_t cloze_status;
#define CLOZE_OK 0
#define CLOZE_NULL_ARGUMENT 1
#define CLOZE_INVALID_ARGUMENT 2
#define CLOZE_INVALID_UTF8 3
#define CLOZE_IO 4
#define CLOZE_INVALID_FILE 5
#define CLOZE_UNSUPPORTED 6
#define CLOZE_INVALID_TENSOR 7
#define CLOZE_TOO_LONG 8
#define CLOZE_BUFFER_TOO_SMALL 9
#define CLOZE_DEADLINE_EXCEEDED 10
#define CLOZE_CANCELLED 11
#define CLOZE_NON_FINITE 12
#define CLOZE_OUT_OF_MEMORY 13
#define CLOZE_PANIC 14
#define CLOZE_VERIFICATION_FAILED 15
#ifdef __cplusplus
extern "C" {
#endif
uint32_t cloze_abi_version(void);
const char *cloze_version(void);
const char *cloze_status_name(cloze_status status);
cloze_error *cloze_error_new(void);
cloze_status cloze_error_code(const cloze_error *error);
const char *cloze_error_message(const cloze_error *error,
                                size_t *length);
void cloze_error_free(cloze_error *error);
cloze_options *cloze_options_new(void);
cloze_status cloze_options_set(cloze_options *options,
                               const char *key,
                               const char *value,
                               cloze_error *error);
void cloze_options_free(cloze_options *options);
cloze_status cloze_model_load(const char *path,
                              const cloze_options *options,
                              cloze_model **model,
                              cloze_error *error);
cloze_status cloze_model_load_files(const char *const *names,
                                    const void *const *datas,
                                    const size_t *lengths,
                                    size_t count,
                                    const cloze_options *options,
                                    cloze_model **model,
                                    cloze_error *error);
cloze_model *cloze_model_retain(const cloze_model *model);
void cloze_model_free(cloze_model *model);
cloze_status cloze_model_dimensions(const cloze_model *model,
                                    const cloze_request *request,
                                    size_t *dimensions,
                                    cloze_error *error);
cloze_status cloze_model_describe(const cloze_model *model,
                                  char *buffer,
                                  size_t capacity,
                                  size_t *needed,
                                  cloze_error *error);
cloze_status cloze_model_verify(const cloze_model *model,
                                char *buffer,
                                size_t capacity,
                                size_t *needed,
                                cloze_error *error);
cloze_request *cloze_request_new(void);
cloze_status cloze_request_set(cloze_request *request,
                               const char *key,
                               const char *value,
                               cloze_error *error);
cloze_status cloze_request_set_cancel(cloze_request *request,
                                      const cloze_cancel *cancel,
                                      cloze_error *error);
void cloze_request_free(cloze_request *request);
cloze_cancel *cloze_cancel_new(void);
cloze_status cloze_cancel_cancel(cloze_cancel *cancel, cloze_error *error);
cloze_status cloze_cancel_reset(cloze_cancel *cancel, cloze_error *error);
void cloze_cancel_free(cloze_cancel *cancel);
cloze_status cloze_encode(const cloze_model *model,
                          const cloze_request *request,
                          const char *const *texts,
                          const size_t *lengths,
                          size_t count,
                          void *vectors,
                          size_t capacity_bytes,
                          size_t *written_bytes,
                          cloze_report **report,
                          cloze_error *error);
cloze_status cloze_encode_size(const cloze_model *model,
                               const cloze_request *request,
                               size_t count,
                               size_t *needed_bytes,
                               cloze_error *error);
size_t cloze_report_count(const cloze_report *report);
size_t cloze_report_finished(const cloze_report *report);
size_t cloze_report_dimensions(const cloze_report *report);
cloze_status cloze_report_text(const cloze_report *report,
                               size_t text,
                               size_t *tokens,
                               size_t *total,
                               bool *truncated,
                               size_t *windows,
                               size_t *first_vector,
                               size_t *vectors,
                               cloze_error *error);
cloze_status cloze_report_scale(const cloze_report *report,
                                size_t vector,
                                float *scale,
                                cloze_error *error);
void cloze_report_free(cloze_report *report);
cloze_status cloze_encode_sparse(const cloze_model *model,
                                 const cloze_request *request,
                                 const char *const *texts,
                                 const size_t *lengths,
                                 size_t count,
                                 cloze_sparse **sparse,
                                 cloze_error *error);
size_t cloze_sparse_count(const cloze_sparse *sparse);
size_t cloze_sparse_finished(const cloze_sparse *sparse);
size_t cloze_sparse_weights(const cloze_sparse *sparse, size_t input);
cloze_status cloze_sparse_copy(const cloze_sparse *sparse,
                               size_t input,
                               uint32_t *ids,
                               float *weights,
                               size_t capacity,
                               size_t *count,
                               cloze_error *error);
const char *cloze_sparse_token(const cloze_sparse *sparse,
                               size_t input,
                               size_t place,
                               size_t *length);
cloze_status cloze_sparse_input(const cloze_sparse *sparse,
                                size_t input,
                                size_t *tokens,
                                size_t *total,
                                bool *truncated,
                                size_t *windows,
                                cloze_error *error);
void cloze_sparse_free(cloze_sparse *sparse);
cloze_status cloze_encode_late(const cloze_model *model,
                               const cloze_request *request,
                               const char *const *texts,
                               const size_t *lengths,
                               size_t count,
                               cloze_late **late,
                               cloze_error *error);
size_t cloze_late_count(const cloze_late *late);
size_t cloze_late_finished(const cloze_late *late);
size_t cloze_late_dimensions(const cloze_late *late);
size_t cloze_late_vectors(const cloze_late *late, size_t input);
cloze_status cloze_late_copy(const cloze_late *late,
                             size_t input,
                             float *vectors,
                             size_t capacity,
                             size_t *count,
                             cloze_error *error);
cloze_status cloze_late_get(const cloze_late *late,
                            size_t input,
                            size_t vector,
                            uint32_t *id,
                            size_t *start,
                            size_t *end,
                            cloze_error *error);
const char *cloze_late_token(const cloze_late *late,
                             size_t input,
                             size_t vector,
                             size_t *length);
cloze_status cloze_late_input(const cloze_late *late,
                              size_t input,
                              size_t *tokens,
                              size_t *total,
                              bool *truncated,
                              size_t *windows,
                              cloze_error *error);
void cloze_late_free(cloze_late *late);
cloze_status cloze_rerank(const cloze_model *model,
                          const cloze_request *request,
                          const char *query,
                          size_t query_length,
                          const char *const *documents,
                          const size_t *lengths,
                          size_t count,
                          cloze_ranking **ranking,
                          cloze_error *error);
size_t cloze_ranking_count(const cloze_ranking *ranking);
size_t cloze_ranking_scored(const cloze_ranking *ranking);
cloze_status cloze_ranking_get(const cloze_ranking *ranking,
                               size_t rank,
                               size_t *document,
                               float *score,
                               float *logit,
                               cloze_error *error);
cloze_status cloze_ranking_document(const cloze_ranking *ranking,
                                    size_t document,
                                    size_t *tokens,
                                    size_t *total,
                                    bool *truncated,
                                    size_t *windows,
                                    cloze_error *error);
void cloze_ranking_free(cloze_ranking *ranking);
cloze_status cloze_classify(const cloze_model *model,
                            const cloze_request *request,
                            const char *const *texts,
                            const size_t *lengths,
                            const char *const *pairs,
                            const size_t *pair_lengths,
                            size_t count,
                            cloze_classes **classes,
                            cloze_error *error);
cloze_status cloze_classify_as(const cloze_model *model,
                               const cloze_request *request,
                               const char *const *texts,
                               const size_t *lengths,
                               size_t count,
                               const char *const *labels,
                               const size_t *label_lengths,
                               size_t label_count,
                               cloze_classes **classes,
                               cloze_error *error);
size_t cloze_classes_count(const cloze_classes *classes);
size_t cloze_classes_finished(const cloze_classes *classes);
size_t cloze_classes_labels(const cloze_classes *classes,
                            size_t input);
cloze_status cloze_classes_get(const cloze_classes *classes,
                               size_t input,
                               size_t place,
                               size_t *label,
                               float *score,
                               float *logit,
                               cloze_error *error);
const char *cloze_classes_name(const cloze_classes *classes,
                               size_t input,
                               size_t place,
                               size_t *length);
cloze_status cloze_classes_input(const cloze_classes *classes,
                                 size_t input,
                                 size_t *tokens,
                                 size_t *total,
                                 bool *truncated,
                                 size_t *windows,
                                 cloze_error *error);
void cloze_classes_free(cloze_classes *classes);
cloze_status cloze_next_sentence(const cloze_model *model,
                                 const cloze_request *request,
                                 const char *const *texts,
                                 const size_t *lengths,
                                 const char *const *pairs,
                                 const size_t *pair_lengths,
                                 size_t count,
                                 cloze_follows **follows,
                                 cloze_error *error);
size_t cloze_follows_count(const cloze_follows *follows);
size_t cloze_follows_finished(const cloze_follows *follows);
cloze_status cloze_follows_get(const cloze_follows *follows,
                               size_t pair,
                               float *score,
                               float *logit,
                               float *other_logit,
                               cloze_error *error);
cloze_status cloze_follows_input(const cloze_follows *follows,
                                 size_t pair,
                                 size_t *tokens,
                                 size_t *total,
                                 bool *truncated,
                                 size_t *windows,
                                 cloze_error *error);
void cloze_follows_free(cloze_follows *follows);
cloze_status cloze_fill_mask(const cloze_model *model,
                             const cloze_request *request,
                             const char *const *texts,
                             const size_t *lengths,
                             size_t count,
                             const char *const *candidates,
                             const size_t *candidate_lengths,
                             size_t candidate_count,
                             cloze_fills **fills,
                             cloze_error *error);
size_t cloze_fills_count(const cloze_fills *fills);
size_t cloze_fills_finished(const cloze_fills *fills);
size_t cloze_fills_blanks(const cloze_fills *fills, size_t input);
cloze_status cloze_fills_blank(const cloze_fills *fills,
                               size_t input,
                               size_t blank,
                               size_t *start,
                               size_t *end,
                               size_t *count,
                               cloze_error *error);
cloze_status cloze_fills_get(const cloze_fills *fills,
                             size_t input,
                             size_t blank,
                             size_t place,
                             uint32_t *id,
                             float *score,
                             float *logit,
                             cloze_error *error);
const char *cloze_fills_token(const cloze_fills *fills,
                              size_t input,
                              size_t blank,
                              size_t place,
                              size_t *length);
cloze_status cloze_fills_text(const cloze_fills *fills,
                              size_t input,
                              size_t blank,
                              size_t place,
                              char *text,
                              size_t capacity,
                              size_t *length,
                              cloze_error *error);
cloze_status cloze_fills_input(const cloze_fills *fills,
                               size_t input,
                               size_t *tokens,
                               size_t *total,
                               bool *truncated,
                               size_t *windows,
                               cloze_error *error);
void cloze_fills_free(cloze_fills *fills);
cloze_status cloze_extract(const cloze_model *model,
                           const cloze_request *request,
                           const char *question,
                           size_t question_length,
                           const char *const *contexts,
                           const size_t *lengths,
                           size_t count,
                           cloze_answers **answers,
                           cloze_error *error);
size_t cloze_answers_count(const cloze_answers *answers);
size_t cloze_answers_finished(const cloze_answers *answers);
size_t cloze_answers_found(const cloze_answers *answers,
                           size_t context);
cloze_status cloze_answers_get(const cloze_answers *answers,
                               size_t context,
                               size_t place,
                               size_t *start,
                               size_t *end,
                               float *score,
                               float *logit,
                               cloze_error *error);
const char *cloze_answers_text(const cloze_answers *answers,
                               size_t context,
                               size_t place,
                               size_t *length);
cloze_status cloze_answers_none(const cloze_answers *answers,
                                size_t context,
                                float *score,
                                float *logit,
                                cloze_error *error);
cloze_status cloze_answers_context(const cloze_answers *answers,
                                   size_t context,
                                   size_t *tokens,
                                   size_t *total,
                                   bool *truncated,
                                   size_t *windows,
                                   cloze_error *error);
void cloze_answers_free(cloze_answers *answers);
cloze_status cloze_tag(const cloze_model *model,
                       const cloze_request *request,
                       const char *const *texts,
                       const size_t *lengths,
                       size_t count,
                       cloze_entities **entities,
                       cloze_error *error);
cloze_status cloze_tag_words(const cloze_model *model,
                             const cloze_request *request,
                             const char *const *words,
                             const size_t *lengths,
                             const size_t *word_counts,
                             size_t count,
                             cloze_entities **entities,
                             cloze_error *error);
size_t cloze_entities_count(const cloze_entities *entities);
size_t cloze_entities_finished(const cloze_entities *entities);
size_t cloze_entities_found(const cloze_entities *entities, size_t input);
cloze_status cloze_entities_get(const cloze_entities *entities,
                                size_t input,
                                size_t place,
                                size_t *start,
                                size_t *end,
                                float *score,
                                cloze_error *error);
cloze_status cloze_entities_words(const cloze_entities *entities,
                                  size_t input,
                                  size_t place,
                                  size_t *first,
                                  size_t *end,
                                  cloze_error *error);
const char *cloze_entities_label(const cloze_entities *entities,
                                 size_t input,
                                 size_t place,
                                 size_t *length);
const char *cloze_entities_text(const cloze_entities *entities, size_t input, size_t place, size_t *length);
cloze_status cloze_entities_input(const cloze_entities *entities,
                                  size_t input,
                                  size_t *tokens,
                                  size_t *total,
                                  bool *truncated,
                                  size_t *windows,
                                  cloze_error *error);
void cloze_entities_free(cloze_entities *entities);
cloze_status cloze_tokenize(const cloze_model *model,
                            const cloze_request *request,
                            const char *text,
                            size_t length,
                            const char *pair,
                            size_t pair_length,
                            cloze_tokens **tokens,
                            cloze_error *error);
size_t cloze_tokens_windows(const cloze_tokens *tokens);
size_t cloze_tokens_count(const cloze_tokens *tokens, size_t window);
size_t cloze_tokens_total(const cloze_tokens *tokens);
bool cloze_tokens_truncated(const cloze_tokens *tokens);
cloze_status cloze_tokens_get(const cloze_tokens *tokens,
                              size_t window,
                              size_t token,
                              uint32_t *id,
                              uint32_t *type_id,
                              bool *special,
                              size_t *start,
                              size_t *end,
                              cloze_error *error);
const char *cloze_tokens_text(const cloze_tokens *tokens,
                              size_t window,
                              size_t token,
                              size_t *length);
cloze_status cloze_tokens_ids(const cloze_tokens *tokens,
                              size_t window,
                              uint32_t *ids,
                              size_t capacity,
                              size_t *count,
                              cloze_error *error);
void cloze_tokens_free(cloze_tokens *tokens);
cloze_status cloze_attention(const cloze_model *model,
                             const cloze_request *request,
                             const char *text,
                             size_t length,
                             const char *pair,
                             size_t pair_length,
                             cloze_maps **maps,
                             cloze_error *error);
cloze_status cloze_maps_sizes(const cloze_maps *maps,
                              size_t *layers,
                              size_t *heads,
                              size_t *tokens,
                              size_t *hidden,
                              cloze_error *error);
const cloze_tokens *cloze_maps_tokens(const cloze_maps *maps);
cloze_status cloze_maps_attention(const cloze_maps *maps,
                                  size_t layer,
                                  size_t head,
                                  float *numbers,
                                  size_t capacity,
                                  size_t *count,
                                  cloze_error *error);
cloze_status cloze_maps_state(const cloze_maps *maps,
                              size_t layer,
                              float *numbers,
                              size_t capacity,
                              size_t *count,
                              cloze_error *error);
void cloze_maps_free(cloze_maps *maps);
cloze_status cloze_memory_statistics(const cloze_model *model,
                                     const char *key,
                                     size_t *value,
                                     cloze_error *error);
cloze_status cloze_memory_trim(const cloze_model *model, cloze_error *error);
cloze_status cloze_memory_peak(const cloze_model *model,
                               size_t tokens,
                               size_t texts,
                               size_t *bytes,
                               cloze_error *error);
#ifdef __cplusplus
}
#endif
#endif
