//! A query and documents -> the documents, best first.
//!
//! A cross-encoder (a classification head of one or two labels) reads query and document as one pair. Any other model encodes both
//! and compares what it gives ([`super::rerank_vectors`]), so that one call serves every kind. Documents are taken in the order in which they come,
//! which is usually the order of an earlier stage, a few at a time; of these the shortest come first.

use super::forward::Packed;
use super::heads::{HeadRun, InputReport};
use super::{Model, Request, Score, rerank_vectors};
use crate::error::{ErrorKind, Result, fail};
use crate::model::heads::{Head, Kind};
use crate::tokenizer::Encoded;

/// Documents, and tokens, that are read before the first of them is scored.
const READ_AHEAD: usize = 32;
const READ_AHEAD_TOKENS: usize = 4096;

/// A document's place in a ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// The document's number in the call.
    pub index: usize,
    /// The logit put through the activation; the cosine, the dot product of sparse weights, or the sum of the best dot
    /// products of tokens.
    pub score: f32,
    /// The raw number that decides the order: of a cross-encoder with two labels the second's minus the first's, whose sigmoid
    /// is the probability of the second; without a head the score.
    pub logit: f32,
}

/// The answer of [`Model::rerank`].
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The documents scored, best first, of equals the earlier; all of them, or as many as the request's `top`.
    pub ranked: Vec<Ranked>,
    /// What became of each document, with its query: `windows` is 0 for those that were not scored.
    pub documents: Vec<InputReport>,
    /// How many documents were scored.
    pub scored: usize,
    /// `DeadlineExceeded` or `Cancelled` where the call stopped before all were.
    pub stopped: Option<ErrorKind>,
}

impl Ranking {
    pub(super) fn new(documents: usize) -> Ranking {
        Ranking { ranked: Vec::new(), documents: vec![InputReport::default(); documents], scored: 0, stopped: None }
    }

    /// Puts the documents scored in order, by the raw number: an activation may saturate.
    pub(super) fn finish(mut self, stopped: Option<ErrorKind>, top: Option<usize>) -> Ranking {
        self.scored = self.ranked.len();
        self.stopped = stopped.filter(|_| self.scored < self.documents.len());
        self.ranked.sort_by(|a, b| b.logit.total_cmp(&a.logit).then(a.index.cmp(&b.index)));
        self.ranked.truncate(top.unwrap_or(usize::MAX));
        self
    }
}

impl Model {
    /// Ranks `documents` by how well they answer `query`. A document's score is the same, bit for bit, whatever the other
    /// documents, their order and the number of threads.
    ///
    /// A model with a classification head reads query and document together. A sparse encoder, or any model with a fill_mask head where
    /// the request asks for sparse vectors, takes the dot product of their sparse weights; a late-interaction model (ColBERT) the sum of
    /// each query token's best dot product with a token of the document; other models the cosine of their vectors.
    ///
    /// A deadline or a cancellation is no error: the answer then ranks the documents scored, and says which they are.
    ///
    /// # Errors
    /// `InvalidArgument` for a model whose head has more than two labels, or a request that it cannot serve; `TooLong` under the
    /// truncation policy `error`, or for a query that leaves windows no room; `NonFinite` when a score is not finite: it never
    /// gets a rank.
    pub fn rerank<T: AsRef<str>>(&self, query: &str, documents: &[T], request: &Request) -> Result<Ranking> {
        if request.sparse {
            rerank_vectors::by_sparse(self, query, documents, request)
        } else if self.encoder().heads().iter().any(|head| head.kind == Kind::Classify) {
            cross(self, query, documents, request)
        } else if self.late().is_some() {
            rerank_vectors::by_tokens(self, query, documents, request)
        } else if self.describe().sparse {
            rerank_vectors::by_sparse(self, query, documents, request)
        } else {
            rerank_vectors::by_cosine(self, query, documents, request)
        }
    }
}

/// Query and document as one pair.
fn cross<T: AsRef<str>>(model: &Model, query: &str, documents: &[T], request: &Request) -> Result<Ranking> {
    let run = HeadRun::new(model, request, Kind::Classify)?;
    let score = activation(run.head, request)?;
    let mut ranking = Ranking::new(documents.len());
    // Once for all documents.
    let query = run.first(query).map_err(|e| e.within("the query"))?;
    let mut next = 0;
    while next < documents.len() && run.stopped().is_none() {
        let mut read: Vec<(usize, Encoded)> = Vec::new();
        let mut tokens = 0;
        while next < documents.len() && read.len() < READ_AHEAD && tokens < READ_AHEAD_TOKENS && run.stopped().is_none() {
            let encoded = run.second(documents[next].as_ref()).and_then(|document| run.encode(&query, Some(&document)));
            let encoded = encoded.map_err(|e| e.within(format!("document {next}")))?;
            ranking.documents[next].total = encoded.total;
            tokens += encoded.windows.iter().map(|window| window.ids.len()).sum::<usize>();
            read.push((next, encoded));
            next += 1;
        }
        read.sort_by_key(|(index, encoded)| (encoded.total, *index));
        if !score_all(&run, &read, score, &mut ranking)? {
            break;
        }
    }
    Ok(ranking.finish(run.stopped(), request.top))
}

/// Scores documents that were read; `false` when the call was stopped.
fn score_all(run: &HeadRun<'_>, read: &[(usize, Encoded)], score: Score, ranking: &mut Ranking) -> Result<bool> {
    let mut waiting = read;
    while !waiting.is_empty() {
        let mut packed = Packed::default();
        let mut count = 0;
        while count < waiting.len() && !run.is_full(&packed) {
            let (index, encoded) = &waiting[count];
            run.add(&mut packed, encoded).map_err(|e| e.within(format!("document {index}")))?;
            count += 1;
        }
        let (batch, rest) = waiting.split_at(count);
        let Some(rows) = run.forward(&packed, relevance, |i| format!("document {}", batch[i].0))? else { return Ok(false) };
        for (((index, _), text), row) in batch.iter().zip(&packed.texts).zip(rows) {
            ranking.documents[*index] = InputReport::seen(text);
            ranking.ranked.push(Ranked { index: *index, score: score.apply(&row)[0], logit: row[0] });
        }
        waiting = rest;
    }
    Ok(run.stopped().is_none())
}

/// The number that says how relevant a document is: the only one, or by how much the second label beats the first.
fn relevance(logits: &[f32]) -> Vec<f32> {
    match logits {
        [irrelevant, relevant] => vec![relevant - irrelevant],
        _ => logits[..1].to_vec(),
    }
}

/// How the relevance becomes a score: as asked, as the model declares, or as a probability. Two labels leave one number, their
/// difference, whose sigmoid is their softmax.
fn activation(head: &Head, request: &Request) -> Result<Score> {
    let asked = request.activation.or(head.meaning.declared).unwrap_or(Score::Sigmoid);
    match (head.outputs, asked) {
        (1, Score::Softmax) => {
            fail(ErrorKind::InvalidArgument, "activation softmax: of one number it is always 1; ask for sigmoid or identity")
        }
        (1 | 2, Score::Identity) => Ok(Score::Identity),
        (1 | 2, _) => Ok(Score::Sigmoid),
        (n, _) => {
            let labels = head.meaning.labels.join(", ");
            let told = format!("a reranker gives one number or two; this model's head for classify gives {n} ({labels}); use classify");
            fail(ErrorKind::InvalidArgument, told)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_documents_keep_their_order_and_saturated_scores_do_not_decide() {
        let mut ranking = Ranking::new(4);
        let ranked = |index, logit: f32| Ranked { index, logit, score: Score::Sigmoid.apply(&[logit])[0] };
        ranking.ranked = vec![ranked(2, 300.0), ranked(3, 100.0), ranked(1, 100.0)];
        let done = ranking.clone().finish(Some(ErrorKind::Cancelled), None);
        assert_eq!(done.ranked.iter().map(|r| r.index).collect::<Vec<_>>(), [2, 1, 3]);
        assert_eq!((done.scored, done.stopped), (3, Some(ErrorKind::Cancelled)));
        let best = ranking.finish(None, Some(1));
        assert_eq!((best.ranked.len(), best.scored, best.stopped), (1, 3, None));
    }

    #[test]
    fn two_labels_are_one_number() {
        assert_eq!(relevance(&[1.0, 3.5]), [2.5]);
        assert_eq!(relevance(&[1.5]), [1.5]);
    }
}
