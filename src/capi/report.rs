//! What became of each text?

use super::error::{cloze_error, cloze_status};
use super::guard::{Place, free, guard, shared, value};
use crate::error::{ErrorKind, Result, fail};
use crate::tasks::{Embeddings, InputReport, TextReport, Vectors};

/// What became of each text of one cloze_encode.
///
/// Owner: the caller, who frees it with cloze_report_free; it needs neither the model nor the request any more.
/// Threads: any number at once.
pub struct cloze_report {
    dimensions: usize,
    finished: usize,
    texts: Vec<TextReport>,
    scales: Vec<f32>,
}

impl cloze_report {
    /// Keeps all of an answer but the vectors.
    pub(super) fn new(answer: Embeddings) -> cloze_report {
        let scales = match answer.vectors {
            Vectors::Int8 { scales, .. } => scales,
            _ => Vec::new(),
        };
        cloze_report { dimensions: answer.dimensions, finished: answer.finished, texts: answer.texts, scales }
    }
}

/// The number of texts of the call. NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_report_count(report: *const cloze_report) -> usize {
    // SAFETY: the header's contract: `report` is NULL or valid.
    value(0, || unsafe { report.as_ref() }.map_or(0, |r| r.texts.len()))
}

/// How many texts, counted from the first, have their vectors: all of them unless a deadline or a cancellation stopped the
/// call. NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_report_finished(report: *const cloze_report) -> usize {
    // SAFETY: the header's contract: `report` is NULL or valid.
    value(0, || unsafe { report.as_ref() }.map_or(0, |r| r.finished))
}

/// The number of values of one vector. NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_report_dimensions(report: *const cloze_report) -> usize {
    // SAFETY: the header's contract: `report` is NULL or valid.
    value(0, || unsafe { report.as_ref() }.map_or(0, |r| r.dimensions))
}

/// What became of the text with number `text`, counted from 0. Each result may be NULL:
///
/// - `tokens`: tokens that the encoder saw, special tokens included; for windows, those of all windows; 0 where a model of static
///   vectors knows none of the text's, whose vector is zeros then
/// - `total`: tokens of the whole text, special tokens included, before anything was cut
/// - `truncated`: whether tokens were left out of the vector
/// - `windows`: number of windows, 1 where the text fits as a whole
/// - `first_vector`, `vectors`: which vectors are the text's: `vectors` of them from number `first_vector` on; none for a text
///   that was not finished
///
/// For a text that a deadline or a cancellation left unfinished all of them are 0, except that `total` is known where the text
/// had been read by then.
///
/// Errors: CLOZE_NULL_ARGUMENT for a NULL `report`; CLOZE_INVALID_ARGUMENT for a number beyond the last text.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_report_text(
    report: *const cloze_report,
    text: usize,
    tokens: *mut usize,
    total: *mut usize,
    truncated: *mut bool,
    windows: *mut usize,
    first_vector: *mut usize,
    vectors: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let (tokens, total) = (Place::optional(tokens, 0), Place::optional(total, 0));
            let (truncated, windows) = (Place::optional(truncated, false), Place::optional(windows, 0));
            let (first_vector, vectors) = (Place::optional(first_vector, 0), Place::optional(vectors, 0));
            let text = at(&shared(report, "report")?.texts, text, "text")?;
            tokens.set(text.tokens);
            total.set(text.total);
            truncated.set(text.truncated);
            windows.set(text.windows);
            vectors.set(text.rows.len());
            first_vector.set(if text.rows.is_empty() { 0 } else { text.rows.start });
            Ok(())
        })
    }
}

/// The scale of the vector with number `vector`, counted from 0, of an `int8` answer: value times scale is the original,
/// rounded; 0 for a vector of zeros.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_ARGUMENT for a number beyond the last vector, or an answer that is not `int8`.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_report_scale(
    report: *const cloze_report,
    vector: usize,
    scale: *mut f32,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let place = Place::required(scale, "scale", 0.0)?;
            place.set(*at(&shared(report, "report")?.scales, vector, "int8 vector")?);
            Ok(())
        })
    }
}

/// Frees `report`. NULL is fine.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_report_free(report: *mut cloze_report) {
    // SAFETY: the header's contract: NULL, or from cloze_encode and not freed before.
    unsafe { free(report) }
}

/// The body of a getter that tells what became of an input; each result may be NULL.
///
/// # Safety
/// Each pointer is NULL or valid for writes during the call.
pub(super) unsafe fn input_report<'a>(
    tokens: *mut usize,
    total: *mut usize,
    truncated: *mut bool,
    windows: *mut usize,
    error: *mut cloze_error,
    find: impl FnOnce() -> Result<&'a InputReport>,
) -> cloze_status {
    // SAFETY: the caller's contract.
    unsafe {
        guard(error, || {
            let (tokens, total) = (Place::optional(tokens, 0), Place::optional(total, 0));
            let (truncated, windows) = (Place::optional(truncated, false), Place::optional(windows, 0));
            let report = find()?;
            tokens.set(report.tokens);
            total.set(report.total);
            truncated.set(report.truncated);
            windows.set(report.windows);
            Ok(())
        })
    }
}

/// The element with that number, or an error that says how many there are.
pub(super) fn at<'a, T>(list: &'a [T], number: usize, what: &str) -> Result<&'a T> {
    list.get(number).map_or_else(|| fail(ErrorKind::InvalidArgument, format!("there is no {what} {number}: there are {}", list.len())), Ok)
}
