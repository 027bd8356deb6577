//! How does a C caller rank documents?

use std::ffi::c_char;

use super::encode::{read_texts, stopped};
use super::error::{cloze_error, cloze_status};
use super::guard::{Place, free, give, guard, shared, text, value};
use super::model::{cloze_model, enter};
use super::report::{at, input_report};
use super::request::{cloze_request, request_or_default};
use crate::tasks::Ranking;

/// Documents in the order of how well they answer a query. Ranks and documents are counted from 0.
///
/// Owner: the caller, who frees it with cloze_ranking_free; it needs neither the model nor the request any more.
/// Threads: any number at once.
pub struct cloze_ranking {
    ranking: Ranking,
}

/// Ranks `count` documents by how well they answer `query`, `query_length` bytes of UTF-8. Document `i` is the `lengths[i]`
/// bytes of UTF-8 at `documents[i]`; they must not change during the call. A document's score is the same, bit for bit, whatever
/// the other documents, their order and the number of threads. `request` may be NULL. With `count` 0, `documents` and `lengths`
/// may be NULL; with a length of 0, so may the text.
///
/// A cross-encoder (a model with a classification head of one or two labels) reads query and document as one pair; a model
/// without such a head encodes both, with its own prompts for queries and documents, and takes the cosine; a sparse encoder takes the
/// dot product of sparse weights, a late-interaction model (ColBERT) the sum of each query token's best dot product with a token of the
/// document. A model with a multiple-choice head reads a question or premise (`query`) with each of its choices (`documents`): a choice's
/// score is its probability among all choices that were scored, whatever `top` keeps, and depends on the others; its raw number does not.
/// Keys of `request`:
///
/// - `vectors`: sparse ranks by sparse weights, of any model with a head for fill_mask
/// - `activation`: how the raw number becomes a score; a cross-encoder's own, where its files declare one, else sigmoid; of choices
///   softmax. The order is that of the raw numbers, which never saturate.
/// - `top`: keep the best documents only
/// - `windows`: of documents longer than the limit, `first` reads what fits, as `truncation` cuts it; `max` and `mean` read all
///   of it, in windows that hold the whole query each
/// - `deadline_ms`, and cloze_request_set_cancel: stop, and rank what was scored by then. Documents are scored in the order in
///   which they are given, some thirty at a time: put the most promising first.
///
/// `ranking` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free
/// it with cloze_ranking_free.
///
/// Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the documents scored by then are ranked, and cloze_ranking_document says
/// which these are. CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8 names the text and the byte; CLOZE_TOO_LONG names the document;
/// CLOZE_INVALID_ARGUMENT for a request that the model cannot serve; CLOZE_NON_FINITE names the document whose score is no
/// number: it never gets a rank; CLOZE_OUT_OF_MEMORY.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_rerank(
    model: *const cloze_model,
    request: *const cloze_request,
    query: *const c_char,
    query_length: usize,
    documents: *const *const c_char,
    lengths: *const usize,
    count: usize,
    ranking: *mut *mut cloze_ranking,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, texts for their lengths.
    unsafe {
        guard(error, || {
            let place = Place::required(ranking, "ranking", std::ptr::null_mut())?;
            let (model, request) = (enter(model)?, request_or_default(request));
            let query = text(query, query_length, "query")?;
            let documents = read_texts(documents, lengths, count, "documents")?;
            let answer = model.rerank(query, &documents, &request)?;
            let outcome = stopped(answer.stopped, answer.scored, count, "documents are scored");
            place.set(give(cloze_ranking { ranking: answer }));
            outcome
        })
    }
}

/// The number of ranks: of the documents scored, or the request's `top`. NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_ranking_count(ranking: *const cloze_ranking) -> usize {
    // SAFETY: the header's contract: `ranking` is NULL or valid.
    value(0, || unsafe { ranking.as_ref() }.map_or(0, |r| r.ranking.ranked.len()))
}

/// How many documents were scored: all of them unless a deadline or a cancellation stopped the call. NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_ranking_scored(ranking: *const cloze_ranking) -> usize {
    // SAFETY: the header's contract: `ranking` is NULL or valid.
    value(0, || unsafe { ranking.as_ref() }.map_or(0, |r| r.ranking.scored))
}

/// The document at a rank, the best at rank 0, of equals the earlier document first. Each result may be NULL:
///
/// - `document`: its number in the call
/// - `score`: the raw number put through the activation
/// - `logit`: the raw number; of a model with two labels the second's minus the first's; of a model without a head the cosine, or the
///   dot product of sparse weights
///
/// Errors: CLOZE_NULL_ARGUMENT for a NULL `ranking`; CLOZE_INVALID_ARGUMENT for a rank beyond the last.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_ranking_get(
    ranking: *const cloze_ranking,
    rank: usize,
    document: *mut usize,
    score: *mut f32,
    logit: *mut f32,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let (document, score, logit) = (Place::optional(document, 0), Place::optional(score, 0.0), Place::optional(logit, 0.0));
            let ranked = at(&shared(ranking, "ranking")?.ranking.ranked, rank, "rank")?;
            document.set(ranked.index);
            score.set(ranked.score);
            logit.set(ranked.logit);
            Ok(())
        })
    }
}

/// What became of the document with number `document`. Each result may be NULL:
///
/// - `tokens`: tokens that the encoder saw, with the query's and special tokens; for windows, those of all windows
/// - `total`: tokens of query and document, before anything was cut; of a model without a head, of the document
/// - `truncated`: whether tokens were left out
/// - `windows`: number of windows, 1 where it fits or was cut; 0 for a document that was not scored
///
/// Errors: CLOZE_NULL_ARGUMENT for a NULL `ranking`; CLOZE_INVALID_ARGUMENT for a number beyond the last document.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_ranking_document(
    ranking: *const cloze_ranking,
    document: usize,
    tokens: *mut usize,
    total: *mut usize,
    truncated: *mut bool,
    windows: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        input_report(tokens, total, truncated, windows, error, || at(&shared(ranking, "ranking")?.ranking.documents, document, "document"))
    }
}

/// Frees `ranking`. NULL is fine.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_ranking_free(ranking: *mut cloze_ranking) {
    // SAFETY: the header's contract: NULL, or from cloze_rerank and not freed before.
    unsafe { free(ranking) }
}
