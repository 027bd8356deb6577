//! A query and documents -> the documents, best first.
//!
//! A cross-encoder (a classification head of one or two labels) reads query and document as one pair; so does a model with a multiple-choice
//! head, whose documents are the choices of one question. Any other model encodes both
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
    /// The logit put through the activation; of a choice its probability among the choices scored, unless the request asks for another
    /// activation; the cosine, the dot product of sparse weights, or the sum of the best dot products of tokens.
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
        self.sort();
        self.ranked.truncate(top.unwrap_or(usize::MAX));
        self
    }

    fn sort(&mut self) {
        self.ranked.sort_by(|a, b| b.logit.total_cmp(&a.logit).then(a.index.cmp(&b.index)));
    }

    /// Scores what was ranked against each other, before anything is left out: the best first, so that the order in which documents were
    /// given tells in no bit.
    fn score_together(&mut self, score: Score) {
        self.sort();
        let logits: Vec<f32> = self.ranked.iter().map(|ranked| ranked.logit).collect();
        self.ranked.iter_mut().zip(score.apply(&logits)).for_each(|(ranked, score)| ranked.score = score);
    }
}

impl Model {
    /// Ranks `documents` by how well they answer `query`. A document's score is the same, bit for bit, whatever the other
    /// documents, their order and the number of threads; of a choice that holds for the raw number.
    ///
    /// A model with a classification head reads query and document together. One with a multiple-choice head does so, too: `query` is the
    /// question or the premise, `documents` are its choices, and the scores are their probabilities, which sum to 1 over all choices that
    /// were scored, also where `top` keeps fewer. A sparse encoder, or any model with a fill_mask head where
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
        let has = |kind: &Kind| self.encoder().heads().iter().any(|head| head.kind == *kind);
        if request.sparse {
            rerank_vectors::by_sparse(self, query, documents, request)
        } else if let Some(kind) = [Kind::Classify, Kind::MultipleChoice].into_iter().find(has) {
            cross(self, kind, query, documents, request)
        } else if self.late().is_some() {
            rerank_vectors::by_tokens(self, query, documents, request)
        } else if self.describe().sparse {
            rerank_vectors::by_sparse(self, query, documents, request)
        } else {
            rerank_vectors::by_cosine(self, query, documents, request)
        }
    }
}

/// Query and document as one pair, for a head of this kind.
fn cross<T: AsRef<str>>(model: &Model, kind: Kind, query: &str, documents: &[T], request: &Request) -> Result<Ranking> {
    let run = HeadRun::new(model, request, kind)?;
    let choices = kind == Kind::MultipleChoice;
    let score = if choices { request.activation.unwrap_or(Score::Softmax) } else { activation(run.head, request)? };
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
        if !score_all(&run, &read, &mut ranking)? {
            break;
        }
    }
    if choices {
        ranking.score_together(score);
    } else {
        ranking.ranked.iter_mut().for_each(|ranked| ranked.score = score.apply(&[ranked.logit])[0]);
    }
    Ok(ranking.finish(run.stopped(), request.top))
}

/// The raw numbers of documents that were read; `false` when the call was stopped.
fn score_all(run: &HeadRun<'_>, read: &[(usize, Encoded)], ranking: &mut Ranking) -> Result<bool> {
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
            ranking.ranked.push(Ranked { index: *index, score: row[0], logit: row[0] });
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
    fn choices_are_measured_against_all_of_them_whatever_their_order_and_however_few_are_kept() {
        let ranking = |order: [usize; 4]| {
            let mut ranking = Ranking::new(4);
            let logits = [0.3, 2.0, -1.5, 0.7];
            ranking.ranked = order.map(|index| Ranked { index, logit: logits[index], score: 0.0 }).to_vec();
            ranking.score_together(Score::Softmax);
            ranking
        };
        let all = ranking([0, 1, 2, 3]).finish(None, None);
        assert_eq!(all, ranking([3, 1, 0, 2]).finish(None, None));
        assert!((all.ranked.iter().map(|ranked| ranked.score).sum::<f32>() - 1.0).abs() < 1e-6);
        assert_eq!(all.ranked.iter().map(|ranked| ranked.index).collect::<Vec<_>>(), [1, 3, 0, 2]);
        assert_eq!(ranking([2, 3, 1, 0]).finish(None, Some(2)).ranked, all.ranked[..2]);
    }

    #[test]
    fn two_labels_are_one_number() {
        assert_eq!(relevance(&[1.0, 3.5]), [2.5]);
        assert_eq!(relevance(&[1.5]), [1.5]);
    }
}
