//! A query and documents, each encoded for itself -> the documents, best first.
//!
//! The way of embedding models: what is compared, and how, is the only difference between them. `rerank` chooses the way.

use std::cell::Cell;
use std::time::Instant;

use super::cosine::cosine;
use super::heads::{InputReport, renamed};
use super::late::max_sim;
use super::rerank::{Ranked, Ranking};
use super::{Embeddings, Model, Output, Prompt, Request};
use crate::error::{ErrorKind, Result, fail};

/// Documents of one call of the encoder, whose vectors are held at once.
const CHUNK: usize = 256;

/// Names of the prompt before queries, and before documents; the first that the model has.
pub(super) const QUERY: &[&str] = &["query"];
pub(super) const DOCUMENT: &[&str] = &["document", "passage", "corpus"];

/// What the encoder gives for some texts.
struct Encoded<V> {
    /// Of the texts finished.
    vectors: Vec<V>,
    reports: Vec<InputReport>,
    stopped: Option<ErrorKind>,
}

/// The cosine of the query's vector and the document's.
pub(super) fn by_cosine<T: AsRef<str>>(model: &Model, query: &str, documents: &[T], request: &Request) -> Result<Ranking> {
    let encode = |texts: &[&str], request: &Request| {
        let request = Request { as_query: false, token_vectors: false, output: Output::F32, ..request.clone() };
        let Embeddings { dimensions, vectors, texts, stopped, .. } = model.encode(texts, &request)?;
        let report = |text: super::TextReport| {
            let (tokens, total, truncated, windows) = (text.tokens, text.total, text.truncated, text.windows);
            InputReport { tokens, total, truncated, windows }
        };
        let vectors = vectors.as_f32().unwrap_or_default().chunks(dimensions.max(1)).map(<[f32]>::to_vec).collect();
        Ok(Encoded { vectors, reports: texts.into_iter().map(report).collect(), stopped })
    };
    rank(model, query, documents, request, encode, |query: &Vec<f32>, document| cosine(query, document))
}

/// The dot product of the query's sparse weights and the document's.
pub(super) fn by_sparse<T: AsRef<str>>(model: &Model, query: &str, documents: &[T], request: &Request) -> Result<Ranking> {
    let encode = |texts: &[&str], request: &Request| {
        let weights = model.sparse_weights(texts, &Request { as_query: false, top: None, ..request.clone() })?;
        let by_id = |mut terms: Vec<(u32, f32)>| {
            terms.sort_unstable_by_key(|(id, _)| *id);
            terms
        };
        Ok(Encoded { vectors: weights.terms.into_iter().map(by_id).collect(), reports: weights.reports, stopped: weights.stopped })
    };
    rank(model, query, documents, request, encode, |query, document| sparse_dot(query, document))
}

/// The sum, over the query's tokens, of the best dot product with a token of the document (MaxSim).
pub(super) fn by_tokens<T: AsRef<str>>(model: &Model, query: &str, documents: &[T], request: &Request) -> Result<Ranking> {
    let dimensions = Cell::new(1);
    let encode = |texts: &[&str], request: &Request| {
        let answer = model.encode_late(texts, request)?;
        dimensions.set(answer.dimensions.max(1));
        let (mut vectors, reports): (Vec<_>, _) = answer.inputs.into_iter().map(|input| (input.vectors, input.report)).unzip();
        vectors.truncate(answer.finished);
        Ok(Encoded { vectors, reports, stopped: answer.stopped })
    };
    rank(model, query, documents, request, encode, |query: &Vec<f32>, document| max_sim(query, document, dimensions.get()))
}

/// The dot product of two lists in the order of their ids.
fn sparse_dot(a: &[(u32, f32)], b: &[(u32, f32)]) -> f32 {
    let (mut i, mut j, mut sum) = (0, 0, 0f64);
    while let (Some((left, x)), Some((right, y))) = (a.get(i), b.get(j)) {
        if left == right {
            sum += f64::from(*x) * f64::from(*y);
        }
        i += usize::from(left <= right);
        j += usize::from(right <= left);
    }
    sum as f32
}

/// Encodes the query, then the documents a chunk at a time, and ranks them by `score`.
fn rank<T: AsRef<str>, V>(
    model: &Model,
    query: &str,
    documents: &[T],
    request: &Request,
    encode: impl Fn(&[&str], &Request) -> Result<Encoded<V>>,
    score: impl Fn(&V, &V) -> f32,
) -> Result<Ranking> {
    if request.activation.is_some_and(|score| score != super::Score::Identity) {
        let told = "activation: the model has no head for pairs, so documents are ranked by how alike their vectors and the query's are; \
                    leave activation out";
        return fail(ErrorKind::InvalidArgument, told);
    }
    let told = "role: rerank reads the query as a query and the others as documents; leave role out";
    if request.as_query {
        return fail(ErrorKind::InvalidArgument, told);
    }
    let started = Instant::now();
    let left = |prompt: Prompt| Request {
        prompt,
        as_query: false,
        deadline: request.deadline.map(|limit| limit.saturating_sub(started.elapsed())),
        ..request.clone()
    };
    let mut ranking = Ranking::new(documents.len());
    let asked = if request.prompt == Prompt::Model { named(model, QUERY) } else { request.prompt.clone() };
    let answer = encode(&[query], &Request { as_query: true, ..left(asked) }).map_err(|e| e.within("the query"))?;
    let mut stopped = answer.stopped;
    let Some(query) = answer.vectors.first() else { return Ok(ranking.finish(stopped, request.top)) };
    let prompt = named(model, DOCUMENT);
    for (number, chunk) in documents.chunks(CHUNK).enumerate() {
        let first = number * CHUNK;
        let texts: Vec<&str> = chunk.iter().map(AsRef::as_ref).collect();
        let answer = encode(&texts, &left(prompt.clone())).map_err(|e| renamed(&e, |i| format!("document {}", first + i)))?;
        ranking.documents[first..first + answer.reports.len()].copy_from_slice(&answer.reports);
        let scored = answer.vectors.iter().map(|document| score(query, document));
        ranking.ranked.extend(scored.enumerate().map(|(i, score)| Ranked { index: first + i, score, logit: score }));
        stopped = answer.stopped;
        if stopped.is_some() {
            break;
        }
    }
    Ok(ranking.finish(stopped, request.top))
}

/// The model's prompt of the first of these names that it has, else its default.
pub(super) fn named(model: &Model, names: &[&str]) -> Prompt {
    let found = names.iter().find(|name| model.describe().prompts.contains_key(**name));
    found.map_or(Prompt::Model, |name| Prompt::Named((*name).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparse_dot_product_counts_what_both_have() {
        let a = [(1, 2.0), (5, 3.0), (9, 1.0)];
        assert_eq!(sparse_dot(&a, &[(0, 7.0), (5, 0.5), (9, 4.0), (12, 1.0)]), 5.5);
        assert_eq!((sparse_dot(&a, &[]), sparse_dot(&[], &a), sparse_dot(&a, &[(2, 1.0)])), (0.0, 0.0, 0.0));
    }
}
