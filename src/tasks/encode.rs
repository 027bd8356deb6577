//! Texts -> vectors.
//!
//! Each text becomes one sequence of tokens, or several windows. Sequences are packed into batches of a few hundred tokens
//! ([`super::forward`]), the encoder pools and projects them, and here windows are averaged, vectors cut (Matryoshka),
//! normalised and written in the number type asked for. Batches follow the order of the texts, so that when a deadline stops
//! the call the texts before it are complete.

use std::ops::Range;

use super::forward::{Packed, Run};
use super::{Model, Output, Request};
use crate::error::{ErrorKind, Result, fail};
use crate::quant::vectors::{to_binary, to_f16, to_int8};

/// Vectors of one number type, one after another.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Vectors {
    /// `dimensions` values a vector.
    F32(Vec<f32>),
    /// `dimensions` raw IEEE binary16 values a vector.
    F16(Vec<u16>),
    /// `dimensions` values a vector; value times the vector's scale is the original, rounded.
    Int8 {
        /// The values.
        values: Vec<i8>,
        /// One scale a vector.
        scales: Vec<f32>,
    },
    /// `ceil(dimensions / 8)` bytes a vector: bit = value > 0, first value in the highest bit.
    Binary(Vec<u8>),
}

impl Vectors {
    /// An empty list of that number type.
    pub fn new(output: Output) -> Vectors {
        match output {
            Output::F32 => Vectors::F32(Vec::new()),
            Output::F16 => Vectors::F16(Vec::new()),
            Output::Int8 => Vectors::Int8 { values: Vec::new(), scales: Vec::new() },
            Output::Binary => Vectors::Binary(Vec::new()),
        }
    }

    /// Appends one vector, converted.
    pub(super) fn push(&mut self, vector: &[f32]) {
        match self {
            Vectors::F32(all) => all.extend_from_slice(vector),
            Vectors::F16(all) => all.extend(to_f16(vector)),
            Vectors::Int8 { values, scales } => {
                let (q, scale) = to_int8(vector);
                values.extend(q);
                scales.push(scale);
            }
            Vectors::Binary(all) => all.extend(to_binary(vector)),
        }
    }

    /// The f32 values, or `None` for another number type.
    pub fn as_f32(&self) -> Option<&[f32]> {
        match self {
            Vectors::F32(all) => Some(all),
            _ => None,
        }
    }
}

/// What became of one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextReport {
    /// Tokens that the encoder saw, special tokens included; for windows, those of all windows. 0 for a text that was not
    /// finished; static vectors also see none of a text without a known word, whose vector is zeros.
    pub tokens: usize,
    /// Tokens of the whole text, special tokens included; 0 for a text that was not read when the call stopped.
    pub total: usize,
    /// Whether tokens were left out of the vector. Never with windows.
    pub truncated: bool,
    /// Number of windows, 1 where the text fits, 0 for a text that was not finished.
    pub windows: usize,
    /// Which vectors are this text's: one, or one a token. Empty for texts that were not finished.
    pub rows: Range<usize>,
}

/// The answer of [`Model::encode`].
#[derive(Clone, Debug, PartialEq)]
pub struct Embeddings {
    /// Values of one vector.
    pub dimensions: usize,
    /// The vectors of the finished texts, in order.
    pub vectors: Vectors,
    /// One report a text.
    pub texts: Vec<TextReport>,
    /// How many texts, counted from the first, have their vectors.
    pub finished: usize,
    /// `DeadlineExceeded` or `Cancelled` where the call stopped before the last text.
    pub stopped: Option<ErrorKind>,
}

impl Model {
    /// Encodes `texts`. One vector a token of a late-interaction model is what [`Model::encode_late`] gives. The result of a text is the same, bit for bit, whatever the other texts, their order and the number
    /// of threads. An empty list gives no vectors; an empty text gives the vector of the template's special tokens (of static
    /// vectors, which add none: zeros).
    ///
    /// A deadline or a cancellation is no error: the answer then holds the texts finished and says why it stopped.
    ///
    /// # Errors
    /// `TooLong` under the truncation policy `error`; `InvalidArgument` for a request that the model cannot serve;
    /// `NonFinite` when a vector is not finite.
    pub fn encode<T: AsRef<str>>(&self, texts: &[T], request: &Request) -> Result<Embeddings> {
        if request.token_vectors && self.late().is_some() {
            return self.late_embeddings(texts, request);
        }
        let threads = request.threads.unwrap_or(self.threads());
        if self.has_blocks(texts, threads) {
            return self.encode_in_blocks(texts, request, threads);
        }
        self.encode_from(0, texts, request)
    }

    /// Encodes `texts`, the first of which has the number `first` in the caller's list.
    ///
    /// # Errors
    /// As [`Model::encode`].
    pub(super) fn encode_from<T: AsRef<str>>(&self, first: usize, texts: &[T], request: &Request) -> Result<Embeddings> {
        let run = Run::new(self, request)?;
        let mut answer = Answer::new(&run, request, (first, texts.len()));
        let mut packed = Packed::default();
        for (index, text) in texts.iter().enumerate() {
            if run.stopped().is_some() {
                break;
            }
            run.add(&mut packed, text.as_ref()).map_err(|e| e.within(format!("text {}", first + index)))?;
            if run.is_full(&packed) && !answer.take(&run, &mut packed)? {
                break;
            }
        }
        if run.stopped().is_none() {
            answer.take(&run, &mut packed)?;
        }
        Ok(answer.finish(&run, packed))
    }
}

/// Collects the batches' results.
struct Answer {
    embeddings: Embeddings,
    /// The number of the first text.
    first: usize,
    count: usize,
    token_vectors: bool,
    normalize: bool,
}

impl Answer {
    fn new(run: &Run, request: &Request, (first, count): (usize, usize)) -> Answer {
        let embeddings = Embeddings {
            dimensions: run.dimensions(),
            vectors: Vectors::new(request.output),
            texts: Vec::with_capacity(count),
            finished: 0,
            stopped: None,
        };
        Answer { embeddings, first, count, token_vectors: request.token_vectors, normalize: run.normalize() }
    }

    /// Runs `packed` and appends its texts; `false` when the call was stopped.
    fn take(&mut self, run: &Run, packed: &mut Packed) -> Result<bool> {
        let batch = std::mem::take(packed);
        let Some(mut output) = run.forward(&batch)? else {
            *packed = batch;
            return Ok(false);
        };
        let width = run.width();
        // The next text's first row: rows are tokens or windows.
        let mut first = 0;
        for text in &batch.texts {
            let start = self.rows();
            if self.token_vectors {
                for row in text.token_rows(first) {
                    self.push(&mut output[row * width..(row + 1) * width])?;
                }
                first += text.rows();
            } else {
                let windows = text.window_tokens.len();
                self.push(&mut mean(&output[first * width..(first + windows) * width], width, &text.window_tokens))?;
                first += windows;
            }
            let rows = start..self.rows();
            self.embeddings.texts.push(text.report(rows));
            self.embeddings.finished += 1;
        }
        Ok(true)
    }

    /// Number of vectors so far.
    fn rows(&self) -> usize {
        let d = self.embeddings.dimensions;
        match &self.embeddings.vectors {
            Vectors::F32(all) => all.len() / d,
            Vectors::F16(all) => all.len() / d,
            Vectors::Int8 { scales, .. } => scales.len(),
            Vectors::Binary(all) => all.len() / d.div_ceil(8),
        }
    }

    fn push(&mut self, vector: &mut [f32]) -> Result<()> {
        let vector = &mut vector[..self.embeddings.dimensions];
        if !vector.iter().all(|v| v.is_finite()) {
            return fail(
                ErrorKind::NonFinite,
                format!(
                    "text {}: its vector is not finite; the model's weights are damaged or overflow f32, check them with `cloze inspect`",
                    self.first + self.embeddings.texts.len()
                ),
            );
        }
        if self.normalize {
            normalize(vector);
        }
        self.embeddings.vectors.push(vector);
        Ok(())
    }

    /// Reports the texts that were not finished.
    fn finish(mut self, run: &Run, rest: Packed) -> Embeddings {
        let rows = self.rows();
        let waiting = rest.texts.iter().map(|t| t.unseen(rows..rows));
        self.embeddings.texts.extend(waiting);
        let unread = TextReport { tokens: 0, total: 0, truncated: false, windows: 0, rows: rows..rows };
        self.embeddings.texts.resize(self.count, unread);
        if self.embeddings.finished < self.count {
            self.embeddings.stopped = run.stopped();
        }
        self.embeddings
    }
}

/// The mean of a text's window vectors, each weighted by its number of tokens; where there is none, all are alike.
fn mean(rows: &[f32], width: usize, window_tokens: &[usize]) -> Vec<f32> {
    if window_tokens.len() == 1 {
        return rows.to_vec();
    }
    let total: usize = window_tokens.iter().sum();
    if total == 0 {
        return rows[..width].to_vec();
    }
    let mut mean = vec![0f32; width];
    for (row, tokens) in rows.chunks_exact(width).zip(window_tokens) {
        let weight = *tokens as f32 / total as f32;
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += weight * v);
    }
    mean
}

/// Scales to length 1; a zero vector stays zero (length at least 1e-12, as `torch.nn.functional.normalize`).
pub(super) fn normalize(vector: &mut [f32]) {
    let squares: f64 = vector.iter().map(|v| f64::from(*v) * f64::from(*v)).sum();
    let length = squares.sqrt().max(1e-12) as f32;
    vector.iter_mut().for_each(|v| *v /= length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_text_that_waits_when_the_call_stops_the_encoder_saw_nothing() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/models/tiny-gelu");
        let model = Model::load(folder, &crate::tasks::Options::default()).unwrap();
        let cancel = crate::tasks::Cancel::new();
        let request = Request { cancel: Some(cancel.clone()), ..Request::default() };
        let run = Run::new(&model, &request).unwrap();
        let mut answer = Answer::new(&run, &request, (0, 3));
        let mut packed = Packed::default();
        run.add(&mut packed, "a text that is finished").unwrap();
        assert!(answer.take(&run, &mut packed).unwrap());
        run.add(&mut packed, "a text that is read and waits").unwrap();
        cancel.cancel();
        assert!(!answer.take(&run, &mut packed).unwrap());
        let Embeddings { texts, finished, stopped, .. } = answer.finish(&run, packed);
        assert_eq!((finished, stopped), (1, Some(ErrorKind::Cancelled)));
        let seen: Vec<_> = texts.iter().map(|t| (t.tokens > 0, t.total > 2, t.windows, t.rows.len())).collect();
        assert_eq!(seen, [(true, true, 1, 1), (false, true, 0, 0), (false, false, 0, 0)]);
    }

    #[test]
    fn windows_are_averaged_by_their_tokens() {
        assert_eq!(mean(&[9.0, 8.0], 2, &[5]), [9.0, 8.0]);
        assert_eq!(mean(&[1.0, 0.0, 0.0, 1.0], 2, &[3, 1]), [0.75, 0.25]);
        assert_eq!(mean(&[7.0, 1.0, 0.0, 1.0], 2, &[0, 1]), [0.0, 1.0]);
        assert_eq!(mean(&[0.5, 0.0, 0.5, 0.0], 2, &[0, 0]), [0.5, 0.0]);
    }

    #[test]
    fn normalising_keeps_zero_at_zero() {
        let mut v = [3.0, 4.0];
        normalize(&mut v);
        assert_eq!(v, [0.6, 0.8]);
        let mut zero = [0.0, 0.0];
        normalize(&mut zero);
        assert_eq!(zero, [0.0, 0.0]);
    }
}
