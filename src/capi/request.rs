//! How does a C caller say what a call is asked for?

use std::ffi::c_char;

use super::cancel::cloze_cancel;
use super::error::{cloze_error, cloze_status};
use super::guard::{exclusive, free, give, guard, value, word};
use crate::tasks::Request;

/// What a call is asked for. A new one asks for what the model's own files say; change that by key and value with
/// cloze_request_set and pass it to cloze_encode, cloze_rerank and others: each takes the keys that concern it. Wherever a `const cloze_request *` is asked for,
/// NULL stands for a new one. One request may serve any number of calls and models.
///
/// Owner: the caller, who frees it with cloze_request_free, not before the calls that were given it have returned.
/// Threads: set it from one thread at a time, while no call reads it; any number of calls may read it at once.
pub struct cloze_request {
    pub(super) request: Request,
}

/// A new request that asks for what the model's own files say. Free it with cloze_request_free.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn cloze_request_new() -> *mut cloze_request {
    value(std::ptr::null_mut(), || give(cloze_request { request: Request::default() }))
}

/// Sets what to ask for: `key` and `value` are NUL-terminated words. A value that is refused changes nothing. Whether the
/// model can serve it, and whether the values go together, shows when the request is used.
///
/// - `pooling`: model, or one or several (joined by +) of mean, cls, max, mean_sqrt_len, last, weighted_mean, pooler. How
///   token vectors become one vector; several are concatenated. Not with `vectors` = token.
/// - `normalize`: model, true or false. Scale vectors to length 1.
/// - `dimensions`: all, or a number from 1 to the model's dimensions. Keep this many leading values (Matryoshka), before
///   normalising.
/// - `prompt_name`: the name of one of the model's prompts, or an empty name for no prompt. Put the model's prompt of this
///   name before each text.
/// - `prompt`: any text. Put this text before each text.
/// - `language`: none, or the name of one of the model's languages. Which language the texts are in, for models that tell
///   languages apart (XLM).
/// - `truncation`: model, error, left, right or window. What happens to texts longer than the limit: an error, a cut on that
///   side, or overlapping windows whose vectors are averaged.
/// - `max_tokens`: model, or a number from 3 to the model's positions. Longest input in tokens, special tokens included.
/// - `overlap`: auto, or a number of tokens smaller than a window. Tokens that neighbouring windows share, where there are windows;
///   auto is an eighth of the limit, for cloze_extract 128 or half the limit.
/// - `layers`: last; a layer's number (0 = embeddings, -1 = last); concat:N or mean:N of the last N layers. Which layers'
///   hidden states make the vectors.
/// - `vectors`: text, token or sparse. One vector a text (the default), one a token, or sparse weights of the vocabulary, which
///   cloze_encode_sparse gives and cloze_rerank compares.
/// - `role`: document or query. What a late-interaction model (ColBERT) reads the texts as, where `vectors` is token; document is the
///   default.
/// - `threshold`: a number from 0. Of sparse weights, leave out those below this.
/// - `output`: f32, f16, int8 or binary. Number type of the vectors; cloze_encode says how each is laid out.
/// - `offsets`: byte, utf16 or codepoint. Unit of offsets into the text; codepoint is the default.
/// - `activation`: model, identity, sigmoid or softmax. How the raw numbers of a head become scores; it never changes an order.
/// - `top`: all, or a number from 1. Keep this many of the best documents, sparse weights, labels, answers or fills; unless said
///   otherwise all, of answers one, of fills 5.
/// - `windows`: first, max or mean. Of inputs longer than the limit, heads see only what fits, or the largest or the mean logit
///   of overlapping windows is taken.
/// - `hypothesis`: a sentence with {} where the label goes. What zero-shot classification asks of each label; `This example is
///   {}.` is the default.
/// - `multi_label`: true or false. Whether several labels of a zero-shot classification may be true at once; false is the
///   default.
/// - `aggregation`: model, none, simple, first, average or max. How cloze_tag makes entities of the labels of tokens: each token that has
///   one by itself, neighbours of one kind joined (simple), or words labelled first, by their first token, the mean of their
///   tokens or the most certain one. model (the default) is what the model's files say, simple where they say nothing.
/// - `scheme`: auto, bio, iob1, bilou or single. How labels say where an entity begins and ends; auto (the default) looks at them,
///   single joins nothing.
/// - `max_answer`: a number of tokens from 1. The longest answer that cloze_extract gives; 15 is the default.
/// - `no_answer_threshold`: none, or a number. Answers whose logit is more than this below that of no answer are left out by
///   cloze_extract, as SQuAD 2 is judged; none is the default.
/// - `threads`: a number from 1 to 1024, or auto. Threads of this call, the calling thread included; auto (the default) is
///   what the model was opened with.
/// - `deadline_ms`: none, or milliseconds. Stop a call that takes longer and return what is finished. The time runs anew for
///   each call.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8; CLOZE_INVALID_ARGUMENT for an unknown key or value: the message lists what
/// is known.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_request_set(
    request: *mut cloze_request,
    key: *const c_char,
    value: *const c_char,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, and `request` is not in use elsewhere.
    unsafe { guard(error, || exclusive(request, "request")?.request.set(word(key, "key")?, word(value, "value")?)) }
}

/// Lets `cancel` stop the calls that are given `request`; NULL takes a flag set before away. The request keeps a reference of
/// its own: `cancel` may be freed at any time.
///
/// Errors: CLOZE_NULL_ARGUMENT for a NULL `request`.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_request_set_cancel(
    request: *mut cloze_request,
    cancel: *const cloze_cancel,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, and `request` is not in use elsewhere.
    unsafe {
        guard(error, || {
            exclusive(request, "request")?.request.cancel = cancel.as_ref().map(|c| c.cancel.clone());
            Ok(())
        })
    }
}

/// Frees `request`. NULL is fine.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_request_free(request: *mut cloze_request) {
    // SAFETY: the header's contract: NULL, or from cloze_request_new and not freed before.
    unsafe { free(request) }
}

/// The request behind a pointer; NULL asks for what the model's files say.
///
/// # Safety
/// NULL or valid; nobody sets or frees it during the call.
pub(super) unsafe fn request_or_default(request: *const cloze_request) -> Request {
    // SAFETY: the caller's contract.
    unsafe { request.as_ref() }.map_or_else(Request::default, |r| r.request.clone())
}
