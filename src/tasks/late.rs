//! Texts -> a vector for each token that counts, for models that compare tokens (late interaction).
//!
//! ColBERT: a marker behind the first token says whether a text is a query or a document; queries are filled up with mask tokens,
//! whose vectors count; documents leave out punctuation; vectors are projected and of length 1. Khattab and Zaharia, ColBERT: Efficient
//! and Effective Passage Search via Contextualized Late Interaction over BERT (2020); what the files leave open is as in PyLate.
//! `rerank_vectors` compares the vectors ([`max_sim`]).

use std::collections::BTreeSet;

use super::encode::{Vectors, normalize};
use super::forward::{Packed, Run, with_prompt};
use super::heads::InputReport;
use super::rerank_vectors::{DOCUMENT, QUERY, named};
use super::tokenize::Places;
use super::{Embeddings, LayerChoice, Model, Prompt, Request, TextReport};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::{Expand, LateSettings};
use crate::model::Output;
use crate::tokenizer::{Limit, OffsetUnit, Tokenizer, Truncation};

/// How the model reads texts, as ids of its tokenizer.
#[derive(Debug)]
pub(super) struct Late {
    settings: LateSettings,
    query_marker: Option<u32>,
    document_marker: Option<u32>,
    mask: u32,
    skip: BTreeSet<u32>,
}

impl Late {
    /// Finds the settings' tokens in the vocabulary. Words to skip that it lacks are none of its tokens.
    ///
    /// # Errors
    /// `InvalidFile` naming a marker or a filler that it lacks, or for a missing mask token where queries are filled up.
    pub fn new(settings: LateSettings, tokenizer: &Tokenizer) -> Result<Late> {
        let marker = |token: &str| match tokenizer.id(token) {
            _ if token.is_empty() => Ok(None),
            Some(id) => Ok(Some(id)),
            None => fail(ErrorKind::InvalidFile, format!("the marker {token:?} of a late-interaction model is not in the vocabulary")),
        };
        let (query_marker, document_marker) = (marker(&settings.query_marker)?, marker(&settings.document_marker)?);
        let skip = settings.skip.iter().filter_map(|word| tokenizer.id(word)).collect();
        let filler = settings.filler.as_deref().map_or(Ok(None), marker)?;
        let mask = filler.or_else(|| tokenizer.mask().map(|(_, id)| id));
        let Some(mask) = mask.or(if settings.expand.is_some() { None } else { Some(0) }) else {
            return fail(ErrorKind::InvalidFile, "the vocabulary has no mask token to fill queries up with");
        };
        Ok(Late { settings, query_marker, document_marker, mask, skip })
    }
}

/// The vectors of one text.
#[derive(Clone, Debug, PartialEq)]
pub struct LateInput {
    /// The token of each vector.
    pub ids: Vec<u32>,
    /// The same as the vocabulary spells it.
    pub tokens: Vec<String>,
    /// Where it stands in the text, in the unit that the request asks for; (0, 0) for special tokens, the marker, mask tokens and a
    /// prompt's.
    pub offsets: Vec<(usize, usize)>,
    /// One vector a token, `dimensions` values each; none for a text that was not finished.
    pub vectors: Vec<f32>,
    /// What became of the text. A query's `tokens` counts the mask tokens that it was filled up with.
    pub report: InputReport,
}

impl LateInput {
    fn unfinished(report: InputReport) -> LateInput {
        LateInput { ids: Vec::new(), tokens: Vec::new(), offsets: Vec::new(), vectors: Vec::new(), report }
    }
}

/// The answer of [`Model::encode_late`].
#[derive(Clone, Debug, PartialEq)]
pub struct LateVectors {
    /// Values of one vector.
    pub dimensions: usize,
    /// One entry a text.
    pub inputs: Vec<LateInput>,
    /// How many texts, counted from the first, have their vectors.
    pub finished: usize,
    /// `DeadlineExceeded` or `Cancelled` where the call stopped before the last text.
    pub stopped: Option<ErrorKind>,
}

impl Model {
    /// The token vectors of `texts` as a late-interaction model compares them: as documents, or as queries where the request's role
    /// says so. Of length 1 unless the request says otherwise. The answer for a text is the same, bit for bit, whatever the other texts,
    /// their order and the number of threads.
    ///
    /// A deadline or a cancellation is no error: the answer then holds the texts finished and says why it stopped.
    ///
    /// # Errors
    /// `InvalidArgument` for a model of another kind, and a request that the model cannot serve; `TooLong` under the truncation policy
    /// `error`; `NonFinite` when a vector is not finite.
    pub fn encode_late<T: AsRef<str>>(&self, texts: &[T], request: &Request) -> Result<LateVectors> {
        let Some(late) = self.late() else {
            let told = "the model has no projection of tokens (ColBERT, PyLate) to compare tokens by; ask for token vectors as they are, \
                        by encode with vectors token, or open a late-interaction model";
            return fail(ErrorKind::InvalidArgument, told);
        };
        let mut call = Call::new(self, late, request)?;
        for (i, text) in texts.iter().enumerate() {
            if call.run.stopped().is_some() {
                break;
            }
            call.add(text.as_ref()).map_err(|e| e.within(format!("text {i}")))?;
            if call.run.is_full(&call.packed) && !call.take()? {
                break;
            }
        }
        if call.run.stopped().is_none() {
            call.take()?;
        }
        let finished = call.finished.len();
        let stopped = if finished < texts.len() { call.run.stopped() } else { None };
        let unfinished = |total| InputReport { total, ..InputReport::default() };
        let waiting = call.waiting.iter().map(|text| unfinished(text.report.total));
        let rest = waiting.chain(std::iter::repeat(unfinished(0))).take(texts.len() - finished);
        let rest: Vec<_> = rest.map(LateInput::unfinished).collect();
        let dimensions = call.run.width();
        call.finished.extend(rest);
        Ok(LateVectors { dimensions, inputs: call.finished, finished, stopped })
    }

    /// The same as embeddings, for `encode` with one vector a token.
    pub(super) fn late_embeddings<T: AsRef<str>>(&self, texts: &[T], request: &Request) -> Result<Embeddings> {
        let LateVectors { dimensions, inputs, finished, stopped } = self.encode_late(texts, request)?;
        let mut vectors = Vectors::new(request.output);
        let mut reports = Vec::with_capacity(inputs.len());
        let mut rows = 0;
        for LateInput { ids, vectors: values, report, .. } in inputs {
            values.chunks_exact(dimensions.max(1)).for_each(|vector| vectors.push(vector));
            let InputReport { tokens, total, truncated, windows } = report;
            reports.push(TextReport { tokens, total, truncated, windows, rows: rows..rows + ids.len() });
            rows += ids.len();
        }
        Ok(Embeddings { dimensions, vectors, texts: reports, finished, stopped })
    }
}

/// A text that waits for the encoder.
struct Waiting {
    ids: Vec<u32>,
    offsets: Vec<(usize, usize)>,
    report: InputReport,
}

/// One call.
struct Call<'m> {
    model: &'m Model,
    late: &'m Late,
    run: Run<'m>,
    limit: Limit,
    marker: Option<u32>,
    as_query: bool,
    offsets: OffsetUnit,
    normalize: bool,
    packed: Packed,
    waiting: Vec<Waiting>,
    finished: Vec<LateInput>,
}

impl<'m> Call<'m> {
    fn new(model: &'m Model, late: &'m Late, request: &Request) -> Result<Call<'m>> {
        let mut request = Request { pooling: None, ..request.clone() };
        if late.settings.prompts && request.prompt == Prompt::Model {
            request.prompt = named(model, if request.as_query { QUERY } else { DOCUMENT });
        }
        refuse(&request)?;
        let run = Run::of(model, &request, &Output::Late)?;
        let (length, marker) = if request.as_query {
            (late.settings.query_length, late.query_marker)
        } else {
            (late.settings.document_length, late.document_marker)
        };
        let limit = model.limit(&Request {
            max_tokens: request.max_tokens.or(length.map(|length| length.min(model.encoder().sizes().positions))),
            ..request.clone()
        })?;
        Ok(Call {
            model,
            late,
            run,
            // The marker takes a place.
            limit: Limit { max_tokens: limit.max_tokens.saturating_sub(usize::from(marker.is_some())), ..limit },
            marker,
            as_query: request.as_query,
            offsets: request.offsets,
            normalize: request.normalize.unwrap_or(late.settings.normalize),
            packed: Packed::default(),
            waiting: Vec::new(),
            finished: Vec::new(),
        })
    }

    fn add(&mut self, text: &str) -> Result<()> {
        let whole = with_prompt(self.run.prompt(), text);
        let encoded = self.model.tokenizer().encode(&whole, None, &self.limit)?;
        let Some(window) = encoded.windows.into_iter().next() else { return fail(ErrorKind::InvalidArgument, "it has no tokens") };
        let places = Places::new(text, whole.len() - text.len(), self.offsets);
        let place = |(range, text): (&(usize, usize), &Option<u8>)| text.map_or((0, 0), |_| places.span(*range));
        let mut offsets: Vec<_> = window.offsets.iter().zip(&window.texts).map(place).collect();
        let (mut ids, mut types) = (window.ids, window.type_ids);
        let added = usize::from(self.marker.is_some());
        if let Some(marker) = self.marker {
            let place = ids.len().min(1);
            ids.insert(place, marker);
            types.insert(place, 0);
            offsets.insert(place, (0, 0));
        }
        let seen = ids.len();
        if let Some(expand) = self.late.settings.expand.filter(|_| self.as_query) {
            let most = self.limit.max_tokens + added;
            let least = if let Expand::AtLeast(least) = expand { least.min(most) } else { most };
            let length = ids.len().max(least);
            ids.resize(length, self.late.mask);
            types.resize(length, 0);
            offsets.resize(length, (0, 0));
        }
        self.run.add_tokens(&mut self.packed, &ids, &types)?;
        if !self.late.settings.attend
            && let Some(batch) = self.packed.batches.last_mut()
        {
            batch.see_first(seen);
        }
        let report = InputReport { tokens: ids.len(), total: encoded.total + added, truncated: encoded.truncated, windows: 1 };
        self.waiting.push(Waiting { ids, offsets, report });
        Ok(())
    }

    /// Runs what waits; `false` when the call must stop.
    fn take(&mut self) -> Result<bool> {
        let Some(rows) = self.run.forward(&self.packed)? else { return Ok(false) };
        self.packed = Packed::default();
        let mut rows = rows.chunks_exact(self.run.width());
        for Waiting { ids, offsets, report } in std::mem::take(&mut self.waiting) {
            let counts = |id: &u32| self.as_query || !self.late.skip.contains(id);
            let mut vectors = Vec::with_capacity(ids.len() * self.run.width());
            for (id, row) in ids.iter().zip(rows.by_ref()) {
                if !row.iter().all(|v| v.is_finite()) {
                    let told = format!(
                        "text {}: its vector is not finite; the model's weights are damaged or overflow f32, check them with `cloze inspect`",
                        self.finished.len()
                    );
                    return Err(Error::new(ErrorKind::NonFinite, told));
                }
                if counts(id) {
                    let first = vectors.len();
                    vectors.extend_from_slice(row);
                    if self.normalize {
                        normalize(&mut vectors[first..]);
                    }
                }
            }
            let (ids, offsets): (Vec<u32>, Vec<_>) = ids.into_iter().zip(offsets).filter(|(id, _)| counts(id)).unzip();
            let tokens = ids.iter().map(|id| self.model.tokenizer().token(*id).unwrap_or_default()).collect();
            self.finished.push(LateInput { ids, tokens, offsets, vectors, report });
        }
        Ok(true)
    }
}

/// How well a document answers a query: for each of the query's vectors the largest dot product with one of the document's, summed.
pub(super) fn max_sim(query: &[f32], document: &[f32], dimensions: usize) -> f32 {
    let best = |q: &[f32]| document.chunks_exact(dimensions).map(|d| dot(q, d)).fold(f32::NEG_INFINITY, f32::max);
    query.chunks_exact(dimensions).map(|q| f64::from(best(q))).filter(|best| best.is_finite()).sum::<f64>() as f32
}

/// Eight sums side by side, so that the compiler can use vector instructions; their order is fixed.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; 8];
    let (heads, tails) =
        (a.chunks_exact(8).zip(b.chunks_exact(8)), a.chunks_exact(8).remainder().iter().zip(b.chunks_exact(8).remainder()));
    for (x, y) in heads {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += x * y;
        }
    }
    sums.iter().sum::<f32>() + tails.map(|(x, y)| x * y).sum::<f32>()
}

/// What a request may not ask for: it would be ignored.
fn refuse(request: &Request) -> Result<()> {
    let told = if request.layers != LayerChoice::Last {
        "layers: the projection of a late-interaction model reads the last layer; leave layers out"
    } else if request.dimensions.is_some() {
        "dimensions: vectors of a late-interaction model are compared whole; leave dimensions out"
    } else if request.truncation == Some(Truncation::Window) {
        "truncation window: a late-interaction model reads what fits; cut the text into several, or choose left or right"
    } else {
        return Ok(());
    };
    fail(ErrorKind::InvalidArgument, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_sim_takes_the_best_document_vector_of_each_query_vector() {
        let (query, document) = ([1.0, 0.0, 0.0, 1.0], [0.5, 0.5, 0.9, -0.1, -1.0, 0.2]);
        assert!((max_sim(&query, &document, 2) - 1.4).abs() < 1e-6);
        assert_eq!(max_sim(&query, &[], 2), 0.0);
        let (long, other): (Vec<f32>, Vec<f32>) = ((0..19).map(|i| i as f32).collect(), vec![2.0; 19]);
        assert_eq!(dot(&long, &other), 342.0);
    }
}
