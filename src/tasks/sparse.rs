//! Texts -> sparse weights of the vocabulary: which tokens a text is about, those that it does not contain included.
//!
//! SPLADE: the head of masked language modelling scores every token of the vocabulary at every token of the text, special tokens
//! included; `log(1 + max(score, 0))`, and of all tokens the largest (or the sum, as the model's files say; `model::sparse` names the
//! papers). The engine reduces scores a few columns at a time, so that tokens times vocabulary never stand in memory; rows of a
//! vocabulary's size are read out and dropped a few at a time here.

use super::forward::{Packed, Run, with_prompt};
use super::heads::InputReport;
use super::{LayerChoice, Model, Output as NumberType, Request};
use crate::error::{ErrorKind, Result, fail};
use crate::model::Output;
use crate::tokenizer::{Encoded, Limit, Truncation};

/// Numbers of vocabulary rows at once: 16 MiB.
const MOST_WEIGHTS: usize = 4 << 20;

/// One token of the vocabulary and its weight.
#[derive(Clone, Debug, PartialEq)]
pub struct TermWeight {
    /// The token's number in the vocabulary.
    pub id: u32,
    /// The token as the vocabulary spells it; empty where the embedding has more rows than the vocabulary.
    pub token: String,
    /// The weight, above 0.
    pub weight: f32,
}

/// The answer for one text.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseVector {
    /// The weights above 0 and not below the request's threshold, largest first, of equals the lower id; none for a text that was not
    /// finished.
    pub terms: Vec<TermWeight>,
    /// What became of the text.
    pub report: InputReport,
}

/// The answer of [`Model::encode_sparse`].
#[derive(Clone, Debug, PartialEq)]
pub struct SparseVectors {
    /// One entry a text.
    pub inputs: Vec<SparseVector>,
    /// How many texts, counted from the first, have their weights.
    pub finished: usize,
    /// `DeadlineExceeded` or `Cancelled` where the call stopped before the last text.
    pub stopped: Option<ErrorKind>,
}

/// Weights without the tokens' spelling.
pub(super) struct Weights {
    /// Of the texts finished: ids and weights, largest first.
    pub terms: Vec<Vec<(u32, f32)>>,
    pub reports: Vec<InputReport>,
    pub stopped: Option<ErrorKind>,
}

impl Model {
    /// The sparse weights of `texts`, by the model's head of masked language modelling. The request's `top` keeps the largest, its
    /// `threshold` leaves out small ones. The answer for a text is the same, bit for bit, whatever the other texts, their order and
    /// the number of threads. Of a text in windows (truncation `window`) each token has its largest weight.
    ///
    /// A deadline or a cancellation is no error: the answer then holds the texts finished and says why it stopped.
    ///
    /// # Errors
    /// `InvalidArgument` for a model without a fill_mask head, saying which heads it has, and for a request that the model cannot
    /// serve; `TooLong` under the truncation policy `error`; `NonFinite` when a weight is not finite.
    pub fn encode_sparse<T: AsRef<str>>(&self, texts: &[T], request: &Request) -> Result<SparseVectors> {
        let Weights { mut terms, reports, stopped } = self.sparse_weights(texts, request)?;
        let finished = terms.len();
        terms.resize_with(texts.len(), Vec::new);
        let term = |(id, weight)| TermWeight { id, token: self.tokenizer().token(id).unwrap_or_default(), weight };
        let vector = |(terms, report): (Vec<_>, _)| SparseVector { terms: terms.into_iter().map(term).collect(), report };
        Ok(SparseVectors { inputs: terms.into_iter().zip(reports).map(vector).collect(), finished, stopped })
    }

    /// As [`Model::encode_sparse`], ids without their tokens.
    pub(super) fn sparse_weights<T: AsRef<str>>(&self, texts: &[T], request: &Request) -> Result<Weights> {
        let mut call = Call::new(self, request)?;
        for (i, text) in texts.iter().enumerate() {
            if call.run.stopped().is_some() || !call.add(text.as_ref()).map_err(|e| e.within(format!("text {i}")))? {
                break;
            }
        }
        if call.run.stopped().is_none() {
            call.take()?;
        }
        let stopped = if call.terms.len() < texts.len() { call.run.stopped() } else { None };
        let mut reports = call.reports;
        for report in reports.iter_mut().skip(call.terms.len()) {
            *report = InputReport { total: report.total, ..InputReport::default() };
        }
        reports.resize(texts.len(), InputReport::default());
        Ok(Weights { terms: call.terms, reports, stopped })
    }
}

/// One call.
struct Call<'m> {
    model: &'m Model,
    run: Run<'m>,
    limit: Limit,
    top: usize,
    threshold: f32,
    /// Sequences that wait for the encoder.
    packed: Packed,
    waiting: usize,
    /// Of the texts read.
    reports: Vec<InputReport>,
    /// Of the texts finished.
    terms: Vec<Vec<(u32, f32)>>,
    /// The weights of the text that comes next, from so many of its windows.
    joined: Vec<f32>,
    seen: usize,
}

impl<'m> Call<'m> {
    fn new(model: &'m Model, request: &Request) -> Result<Call<'m>> {
        let run = Run::of(model, request, &Output::Terms)?;
        refuse(request, model)?;
        Ok(Call {
            limit: model.limit(request)?,
            model,
            run,
            top: request.top.unwrap_or(usize::MAX),
            threshold: request.threshold,
            packed: Packed::default(),
            waiting: 0,
            reports: Vec::new(),
            terms: Vec::new(),
            joined: Vec::new(),
            seen: 0,
        })
    }

    /// Reads a text; runs what waits whenever that is enough. `false` when the call must stop.
    fn add(&mut self, text: &str) -> Result<bool> {
        let Encoded { windows, total, truncated, .. } =
            self.model.tokenizer().encode(&with_prompt(self.run.prompt(), text), None, &self.limit)?;
        let tokens = windows.iter().map(|window| window.ids.len()).sum();
        self.reports.push(InputReport { tokens, total, truncated, windows: windows.len() });
        let most = (MOST_WEIGHTS / self.run.width().max(1)).max(1);
        for window in &windows {
            self.run.add_tokens(&mut self.packed, &window.ids, &window.type_ids)?;
            self.waiting += 1;
            if (self.waiting >= most || self.run.is_full(&self.packed)) && !self.take()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs what waits; `false` when the call must stop.
    fn take(&mut self) -> Result<bool> {
        self.waiting = 0;
        let Some(rows) = self.run.forward(&std::mem::take(&mut self.packed))? else { return Ok(false) };
        for row in rows.chunks_exact(self.run.width()) {
            if !row.iter().all(|v| v.is_finite()) {
                let text = self.terms.len();
                let told = format!(
                    "text {text}: a weight is not finite; the model's weights are damaged or overflow f32, check them with `cloze inspect`"
                );
                return fail(ErrorKind::NonFinite, told);
            }
            if self.seen == 0 {
                row.clone_into(&mut self.joined);
            } else {
                self.joined.iter_mut().zip(row).for_each(|(most, w)| *most = most.max(*w));
            }
            self.seen += 1;
            if self.seen == self.reports[self.terms.len()].windows {
                self.terms.push(largest(&self.joined, self.threshold, self.top));
                self.seen = 0;
            }
        }
        Ok(true)
    }
}

/// The weights above 0 and not below `threshold`, the largest `top` of them, largest first, of equals the lower id.
fn largest(weights: &[f32], threshold: f32, top: usize) -> Vec<(u32, f32)> {
    let mut terms: Vec<(u32, f32)> = (0u32..).zip(weights.iter().copied()).filter(|(_, w)| *w > 0.0 && *w >= threshold).collect();
    let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if top < terms.len() {
        terms.select_nth_unstable_by(top, order);
        terms.truncate(top);
    }
    terms.sort_unstable_by(order);
    terms
}

/// What a request may not ask for: it would be ignored.
fn refuse(request: &Request, model: &Model) -> Result<()> {
    let sums = model.encoder().sparse().terms.sum;
    let told = if request.pooling.is_some() || request.layers != LayerChoice::Last {
        "pooling, layers: sparse weights come from the last layer's scores, pooled as the model's files say; leave both out"
    } else if request.token_vectors {
        "vectors token: sparse weights are of whole texts; set vectors to sparse"
    } else if request.normalize.is_some() || request.dimensions.is_some() {
        "normalize, dimensions: sparse weights are left as they are; use top and threshold, and leave these out"
    } else if request.output != NumberType::F32 {
        "output: sparse weights are f32; leave output out"
    } else if sums && request.truncation == Some(Truncation::Window) {
        "truncation window: the model sums over tokens, and windows share some; cut the text, or choose left or right"
    } else {
        return Ok(());
    };
    fail(ErrorKind::InvalidArgument, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_weights_come_first_and_of_equals_the_lower_id() {
        let weights = [0.0, 0.5, 2.0, 0.5, 1.0, 0.0];
        assert_eq!(largest(&weights, 0.0, usize::MAX), [(2, 2.0), (4, 1.0), (1, 0.5), (3, 0.5)]);
        assert_eq!(largest(&weights, 0.5, 3), [(2, 2.0), (4, 1.0), (1, 0.5)]);
        assert_eq!(largest(&weights, 0.6, 3), [(2, 2.0), (4, 1.0)]);
        assert_eq!(largest(&[0.0; 3], 0.0, 2), []);
    }
}
