//! Does the model decide the order, with the scores of the reference, among what the words found?

use std::path::{Path, PathBuf};

use cloze::{Model, Options};
use cloze_tantivy::Engine;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

const QUERY: &str = "where does the fox live";

/// A tiny cross-encoder of tests/golden, its documents, and sentence-transformers' scores of QUERY and each of them.
fn case() -> (Model, Vec<String>, Vec<f64>) {
    let folder = root().join("tests/golden/heads/rerank-sigmoid");
    let expected: Value = serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let asked = |case: &&Value| case["query"] == QUERY && case["set"].as_object().unwrap().is_empty();
    let case = expected["cases"].as_array().unwrap().iter().find(asked).unwrap();
    let texts = case["inputs"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect();
    let scores = case["answers"].as_array().unwrap().iter().map(|answer| answer["scores"][0].as_f64().unwrap()).collect();
    (Model::load(folder, &Options::default()).unwrap(), texts, scores)
}

#[test]
fn what_the_words_find_has_the_order_and_the_scores_of_the_reference() {
    let (model, texts, scores) = case();
    let engine = Engine::new(&texts, model).unwrap();
    let found: Vec<usize> = engine.find(QUERY, 50).unwrap().into_iter().map(|(number, _)| number).collect();
    assert!(found.len() > 1 && found.len() < texts.len(), "{found:?}: some documents share words with the query, and some do not");
    let mut want = found.clone();
    want.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let hits = engine.search(QUERY, 50, 50).unwrap();
    assert_eq!(hits.iter().map(|hit| hit.number).collect::<Vec<_>>(), want);
    for hit in &hits {
        assert!((f64::from(hit.score) - scores[hit.number]).abs() <= 1e-4, "{hit:?} is not {}", scores[hit.number]);
        assert_eq!((&hit.text, found[hit.by_words]), (&texts[hit.number], hit.number));
    }
    assert_eq!(engine.search(QUERY, 50, 1).unwrap(), hits[..1]);
}

#[test]
fn queries_that_find_nothing_or_hold_operators_are_answered() {
    let (model, texts, _) = case();
    let engine = Engine::new(&texts, model).unwrap();
    for query in ["", "zzzz", "\"(", "AND OR +-", "text:^~", "number:[0 TO 9]", "天"] {
        assert!(engine.search(query, 10, 3).unwrap().len() <= 3, "{query:?}");
    }
    assert!(Engine::new(&[], case().0).unwrap().search("a", 10, 3).unwrap().is_empty());
}

/// The real model, where `make model` fetched it: a question that shares few words with its answer.
#[test]
fn minilm_puts_the_answer_first() {
    let folder = root().join("models/minilm");
    if !folder.join("config.json").exists() {
        println!("SKIPPED minilm_puts_the_answer_first: models/minilm is not there; make model fetches it");
        return;
    }
    let passages = std::fs::read_to_string(root().join("examples/demo/passages.txt")).unwrap();
    let passages: Vec<String> = passages.lines().map(str::to_owned).collect();
    let engine = Engine::new(&passages, Model::load(folder, &Options::default()).unwrap()).unwrap();
    let hits = engine.search("how much do I have to pay for the shipping of a parcel", 50, 3).unwrap();
    assert!(hits[0].text.contains("hipping") || hits[0].text.contains("ostage"), "{hits:?}");
}
