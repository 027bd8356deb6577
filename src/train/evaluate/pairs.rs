//! How well are documents ranked, and do vectors say which texts are alike?

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::json;

use super::texts::{agreement, number_of};
use super::{Outcome, whole};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::tasks::{Model, Ranked, Request};
use crate::train::finetune::vectors::dot;
use crate::train::labelled::Row;
use crate::train::labelled::choices::Choices;
use crate::train::labelled::retrieval::{Collection, Document};
use crate::train::labelled::triplets::Triplet;
use crate::train::metrics::retrieval::{self, Judgements, Measure, Run};
use crate::train::run::Figures;

/// The second text of a row.
fn second(row: &Row) -> Result<&str> {
    match &row.pair {
        Some(pair) => Ok(pair),
        None => {
            fail(ErrorKind::InvalidFile, "there is no second text; name its column with `pair`").map_err(|e: Error| e.within(&row.place))
        }
    }
}

/// All documents of a query, the best first.
fn ranked<T: AsRef<str>>(model: &Model, query: &str, documents: &[T], request: &Request) -> Result<Vec<Ranked>> {
    let ranking = model.rerank(query, documents, &Request { top: None, ..request.clone() })?;
    whole(ranking.stopped)?;
    Ok(ranking.ranked)
}

/// Rows of the same first text are the documents of a query, and their numbers how relevant they are.
pub(super) fn ranking(model: &Model, rows: &[Row], request: &Request) -> Result<Outcome> {
    let mut queries: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, row) in rows.iter().enumerate() {
        queries.entry(&row.text).or_default().push(i);
    }
    let (mut judged, mut run, mut predictions) = (Judgements::new(), Run::new(), Vec::new());
    for (query, own) in &queries {
        let documents = own.iter().map(|i| second(&rows[*i])).collect::<Result<Vec<&str>>>()?;
        let ranked = ranked(model, query, &documents, request)?;
        let name = |i: usize| format!("{i:08}");
        judged.insert((*query).to_owned(), own.iter().map(|i| (name(*i), number_of(&rows[*i]).round() as i64)).collect());
        run.insert((*query).to_owned(), ranked.iter().map(|r| (name(own[r.index]), r.logit)).collect());
        for r in &ranked {
            let row = &rows[own[r.index]];
            predictions.push(json!({"text": query, "pair": row.pair, "right": number_of(row), "said": r.logit, "rank": r.index}));
        }
    }
    let scores = retrieval::evaluate(&judged, &run, Measure::USUAL)?;
    let named: Vec<(String, f64)> = scores.means.iter().map(|(measure, mean)| (measure.name(), *mean)).collect();
    let loss = 1.0 - named.first().map_or(0.0, |(_, mean)| *mean);
    Ok(Outcome::new(Figures::of(loss, named), predictions))
}

/// Which choice is likeliest.
pub(super) fn choices(model: &Model, questions: &[Choices], request: &Request) -> Result<Outcome> {
    let (mut right, mut predictions) = (0, Vec::new());
    for question in questions {
        let ranked = ranked(model, &question.first, &question.seconds, request)?;
        let said = ranked.first().map(|best| best.index);
        right += usize::from(said.is_some() && said == question.right);
        predictions.push(json!({"text": question.first, "choices": question.seconds, "right": question.right, "said": said}));
    }
    let accuracy = right as f64 / questions.len().max(1) as f64;
    Ok(Outcome::new(Figures::of(1.0 - accuracy, vec![("accuracy", accuracy)]), predictions))
}

/// The documents that are judged, for each query.
pub(super) fn judged(collection: &Collection) -> Run {
    let known: HashSet<&str> = collection.documents.iter().map(|document| document.id.as_str()).collect();
    let own = |ids: &BTreeMap<String, i64>| ids.keys().filter(|id| known.contains(id.as_str())).map(|id| (id.clone(), 0.0)).collect();
    collection.judgements.iter().map(|(query, ids)| (query.clone(), own(ids))).collect()
}

/// Documents in the order of their scores for each query: all of them, or those that `candidates` has for it.
///
/// # Errors
/// As [`super::evaluate`]; `InvalidFile` for a candidate that is no document.
pub fn collection(model: &Model, collection: &Collection, candidates: Option<&Run>, request: &Request) -> Result<Outcome> {
    let texts: Vec<String> = collection.documents.iter().map(Document::whole).collect();
    let places: HashMap<&str, usize> = collection.documents.iter().enumerate().map(|(i, d)| (d.id.as_str(), i)).collect();
    let described = model.describe();
    let head = described.late || described.sparse || described.task_heads.iter().any(|head| head.name == "classify");
    // Vectors of documents are computed once for all queries.
    let vectors = if head || candidates.is_some() { None } else { Some(unit_vectors(model, &texts, request)?) };
    let (mut run, mut predictions) = (Run::new(), Vec::new());
    for query in &collection.queries {
        let own: Vec<usize> = match candidates {
            None => (0..texts.len()).collect(),
            Some(candidates) => candidates
                .get(&query.id)
                .into_iter()
                .flatten()
                .map(|(id, _)| {
                    places.get(id.as_str()).copied().ok_or_else(|| {
                        Error::new(ErrorKind::InvalidFile, format!("query {}: the run names document {id:?}, which is not there", query.id))
                    })
                })
                .collect::<Result<_>>()?,
        };
        let scores: Vec<f32> = match &vectors {
            Some(vectors) => {
                let asked = unit_vectors(model, &[&query.text], request)?;
                vectors.iter().map(|vector| dot(vector, &asked[0]) as f32).collect()
            }
            None => {
                let documents: Vec<&str> = own.iter().map(|i| texts[*i].as_str()).collect();
                let mut scores = vec![0.0; documents.len()];
                let ranked = ranked(model, &query.text, &documents, request)?;
                ranked.iter().for_each(|r| scores[r.index] = r.logit);
                scores
            }
        };
        let named: Vec<(String, f32)> = own.iter().zip(&scores).map(|(i, score)| (collection.documents[*i].id.clone(), *score)).collect();
        let best = named.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(id, _)| id.clone());
        let relevant: Vec<&String> = collection.judgements[&query.id].iter().filter(|(_, grade)| **grade > 0).map(|(id, _)| id).collect();
        predictions.push(json!({"id": query.id, "text": query.text, "right": relevant, "said": best}));
        run.insert(query.id.clone(), named);
    }
    let scores = retrieval::evaluate(&collection.judgements, &run, Measure::USUAL)?;
    let named: Vec<(String, f64)> = scores.means.iter().map(|(measure, mean)| (measure.name(), *mean)).collect();
    let loss = 1.0 - named.first().map_or(0.0, |(_, mean)| *mean);
    Ok(Outcome::new(Figures::of(loss, named), predictions))
}

/// The vectors of texts, of length 1.
fn unit_vectors<T: AsRef<str>>(model: &Model, texts: &[T], request: &Request) -> Result<Vec<Vec<f64>>> {
    let found = model.encode(texts, &Request { normalize: Some(true), ..request.clone() })?;
    whole(found.stopped)?;
    let numbers = found.vectors.as_f32().unwrap_or(&[]);
    Ok(numbers.chunks_exact(found.dimensions.max(1)).map(|v| v.iter().map(|x| f64::from(*x)).collect()).collect())
}

/// The cosine of two texts against the number that they have.
pub(super) fn vectors(model: &Model, rows: &[Row], request: &Request) -> Result<Outcome> {
    let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
    let others = rows.iter().map(second).collect::<Result<Vec<&str>>>()?;
    let (first, second) = (unit_vectors(model, &texts, request)?, unit_vectors(model, &others, request)?);
    let said: Vec<f64> = first.iter().zip(&second).map(|(a, b)| dot(a, b)).collect();
    let told = rows.iter().zip(&said).map(|(row, said)| json!({"text": row.text, "pair": row.pair, "right": number_of(row), "said": said}));
    let gold: Vec<f64> = rows.iter().map(number_of).collect();
    let mut figures = agreement(&gold, &said)?;
    // A cosine and a number need not be of one scale.
    figures.named.retain(|(name, _)| name != "squared_error");
    Ok(Outcome::new(figures, told.collect()))
}

/// Whether the text that belongs to one is nearest to it, among those that belong to all others and its own negatives.
pub(super) fn belonging(model: &Model, triplets: &[Triplet], request: &Request) -> Result<Outcome> {
    let of = |text: fn(&Triplet) -> &str| unit_vectors(model, &triplets.iter().map(text).collect::<Vec<_>>(), request);
    let (first, second) = (of(|t| &t.anchor)?, of(|t| &t.positive)?);
    let negatives: Vec<Vec<Vec<f64>>> = triplets.iter().map(|t| unit_vectors(model, &t.negatives, request)).collect::<Result<_>>()?;
    let (mut nearest, mut reciprocal, mut predictions) = (0.0, 0.0, Vec::new());
    for (i, (vector, triplet)) in first.iter().zip(triplets).enumerate() {
        let own = dot(vector, &second[i]);
        let rank = second.iter().chain(&negatives[i]).filter(|other| dot(vector, other) > own).count();
        nearest += f64::from(u8::from(rank == 0));
        reciprocal += if rank < 10 { 1.0 / (rank + 1) as f64 } else { 0.0 };
        predictions.push(json!({"text": triplet.anchor, "pair": triplet.positive, "right": 0, "said": rank}));
    }
    let share = |sum: f64| sum / first.len().max(1) as f64;
    let named = vec![("mrr@10", share(reciprocal)), ("accuracy@1", share(nearest))];
    Ok(Outcome::new(Figures::of(1.0 - share(reciprocal), named), predictions))
}
