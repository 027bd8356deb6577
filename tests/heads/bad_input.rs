//! What happens with folders and inputs that do not fit a head?

use std::path::Path;

use cloze::{ErrorKind, Model, Options, Request};
use serde_json::{Value, json};

use super::{golden, open, set};

/// A folder of tests/golden/heads with a changed config.json.
fn with_config(name: &str, change: impl Fn(&mut Value)) -> cloze::Result<Model> {
    with_files(name, |file, bytes| {
        if file == "config.json" {
            let mut config: Value = serde_json::from_slice(bytes).unwrap();
            change(&mut config);
            *bytes = serde_json::to_vec(&config).unwrap();
        }
    })
}

fn with_files(name: &str, change: impl FnMut(&str, &mut Vec<u8>)) -> cloze::Result<Model> {
    changed(&golden(name), change)
}

/// A folder whose files are changed.
pub(super) fn changed(folder: &Path, change: impl FnMut(&str, &mut Vec<u8>)) -> cloze::Result<Model> {
    changed_to(folder, &Options::default(), change)
}

/// The same, opened with options.
pub(super) fn changed_to(folder: &Path, options: &Options, mut change: impl FnMut(&str, &mut Vec<u8>)) -> cloze::Result<Model> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        files.push((file, std::fs::read(path).unwrap()));
    }
    // A closure that changes one file may need another first.
    files.sort();
    for (file, bytes) in &mut files {
        change(file, bytes);
    }
    Model::load_files(files, options)
}

/// A folder in which the embedding of a word of one token, `width` numbers wide, is no number.
pub(super) fn damaged(folder: &Path, word: &str, width: usize) -> Model {
    let model = Model::load(folder, &Options::default()).unwrap();
    let id = model.tokenize(&[(word, None)], &Request::default()).unwrap()[0].ids[1] as usize;
    let change = |file: &str, bytes: &mut Vec<u8>| {
        if file == "model.safetensors" {
            nan_embedding(bytes, id, width);
        }
    };
    changed(folder, change).unwrap()
}

pub(super) fn says<T: std::fmt::Debug>(result: cloze::Result<T>, kind: ErrorKind, words: &[&str]) {
    let e = result.unwrap_err();
    assert_eq!(e.kind(), kind, "{e}");
    words.iter().for_each(|word| assert!(e.message().contains(word), "{word:?} is missing from: {e}"));
}

#[test]
fn a_head_that_the_model_lacks_is_refused_with_those_that_it_has() {
    let (request, none) = (Request::default(), [("a", None::<&str>)]);
    let reranker = open("rerank-sigmoid");
    says(reranker.next_sentence(&[("a", "b")], &request), ErrorKind::InvalidArgument, &["next_sentence", "it has classify"]);
    says(open("pretraining").classify(&none, &request), ErrorKind::InvalidArgument, &["classify", "it has next_sentence"]);
    let embedding = Model::load(golden("../models/tiny-gelu"), &Options::default()).unwrap();
    says(embedding.classify(&none, &request), ErrorKind::InvalidArgument, &["classify", "none, only vectors"]);
}

#[test]
fn labels_and_problems_that_do_not_fit_are_named_when_opening() {
    let labels = |labels: Value| with_config("labels-three", |c| c["id2label"] = labels.clone());
    says(labels(json!({"0": "a", "1": "b"})), ErrorKind::InvalidFile, &["id2label has 2 labels", "gives 3"]);
    says(labels(json!({"0": "a", "1": "b", "3": "c"})), ErrorKind::InvalidFile, &["no label 2"]);
    says(labels(json!([1])), ErrorKind::InvalidFile, &["id2label"]);
    let problem = with_config("labels-three", |c| c["problem_type"] = json!("ranking"));
    says(problem, ErrorKind::Unsupported, &["problem_type", "ranking"]);
    let activation = with_config("rerank-identity", |c| c["sbert_ce_default_activation_function"] = json!("torch.nn.GELU"));
    says(activation, ErrorKind::Unsupported, &["torch.nn.GELU", "Sigmoid"]);
    let unnamed = with_config("labels-three", |c| drop(c.as_object_mut().unwrap().remove("id2label"))).unwrap();
    assert_eq!(unnamed.describe().task_heads[0].labels, ["LABEL_0", "LABEL_1", "LABEL_2"]);
}

#[test]
fn a_classifier_of_another_class_is_no_head_for_texts_and_a_stranger_is_refused() {
    let class = |name: &str| with_config("labels-three", |c| c["architectures"] = json!([name]));
    let heads = |model: Model| model.describe().task_heads.iter().map(|h| h.name.clone()).collect::<Vec<_>>();
    assert_eq!(heads(class("BertForTokenClassification").unwrap()), ["tag"]);
    says(class("BertForMultipleChoice"), ErrorKind::InvalidTensor, &["classifier.weight"]);
    // Nothing said, or nothing known: there is a pooler, so it is a head of whole texts.
    assert_eq!(heads(class("SomethingOfMine").unwrap()), ["classify"]);
    assert_eq!(heads(with_config("labels-three", |c| c["architectures"] = Value::Null).unwrap()), ["classify"]);
    says(with_config("labels-three", |c| c["architectures"] = json!(7)), ErrorKind::InvalidFile, &["architectures"]);
    // A tensor that no head explains.
    let stranger = with_files("labels-three", |file, bytes| {
        if file == "model.safetensors" {
            let at = bytes.windows(15).position(|w| w == b"classifier.bias").unwrap();
            bytes[at..at + 10].copy_from_slice(b"klassifier");
        }
    });
    says(stranger, ErrorKind::InvalidTensor, &["classifier.bias"]);
}

#[test]
fn queries_longer_than_the_model_are_cut_or_refused_and_never_in_silence() {
    let model = open("rerank-sigmoid");
    let query = "what is a long query ".repeat(40);
    let documents = ["a document", "", "another one"];
    let cut = model.rerank(&query, &documents, &Request::default()).unwrap();
    assert!(cut.documents.iter().all(|d| d.truncated && d.tokens == 64 && d.total > 64), "{:?}", cut.documents);
    says(model.rerank(&query, &documents, &set(&[("truncation", "error")])), ErrorKind::TooLong, &["document 0", "64"]);
    says(model.rerank(&query, &documents, &set(&[("windows", "max")])), ErrorKind::TooLong, &["document 0", "first text"]);
    says(
        open("labels-three").classify_as(&["a"], &[&query], &Request::default()),
        ErrorKind::TooLong,
        &["text 0", "leaves the first no room"],
    );
}

#[test]
fn requests_that_say_nothing_or_two_things_are_refused() {
    let (model, pair) = (open("rerank-sigmoid"), ["a"]);
    let rerank = |settings: &[(&str, &str)]| model.rerank("q", &pair, &set(settings));
    says(rerank(&[("activation", "softmax")]), ErrorKind::InvalidArgument, &["softmax", "always 1"]);
    says(rerank(&[("truncation", "window")]), ErrorKind::InvalidArgument, &["windows max or mean"]);
    says(rerank(&[("truncation", "left"), ("windows", "max")]), ErrorKind::InvalidArgument, &["windows max and mean"]);
    says(open("labels-three").rerank("q", &pair, &Request::default()), ErrorKind::InvalidArgument, &["gives 3", "neutral"]);
    let none: [&str; 0] = [];
    says(open("labels-three").classify_as(&pair, &none, &Request::default()), ErrorKind::InvalidArgument, &["no labels"]);
    says(open("labels-multi").classify_as(&pair, &["x"], &Request::default()), ErrorKind::InvalidArgument, &["entail", "sport"]);
    let embedding = Model::load(golden("../models/tiny-gelu"), &Options::default()).unwrap();
    says(embedding.rerank("q", &pair, &set(&[("activation", "sigmoid")])), ErrorKind::InvalidArgument, &["no head", "alike"]);
}

/// Puts NaN where the embedding of one token is.
fn nan_embedding(bytes: &mut [u8], id: usize, width: usize) {
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let table: Value = serde_json::from_slice(&bytes[8..8 + header]).unwrap();
    let start = table["bert.embeddings.word_embeddings.weight"]["data_offsets"][0].as_u64().unwrap() as usize;
    let at = 8 + header + start + id * width * 4;
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
}

#[test]
fn a_score_that_is_no_number_is_an_error_and_never_a_rank() {
    let damaged = damaged(&golden("rerank-sigmoid"), "fox", 48);
    let documents = ["the dog", "a cat", "the fox", "a lazy dog"];
    for settings in [&[][..], &[("windows", "max"), ("max_tokens", "16")], &[("windows", "mean")]] {
        says(damaged.rerank("who", &documents, &set(settings)), ErrorKind::NonFinite, &["document 2"]);
        says(damaged.classify(&[("a", None), ("fox", None)], &set(settings)), ErrorKind::NonFinite, &["text 1"]);
    }
    assert_eq!(damaged.rerank("who", &documents[..2], &Request::default()).unwrap().scored, 2);
}

#[test]
fn empty_lists_and_empty_documents_have_answers() {
    let (request, none): (Request, [&str; 0]) = (Request::default(), []);
    for model in [open("rerank-sigmoid"), Model::load(golden("../models/tiny-gelu"), &Options::default()).unwrap()] {
        let empty = model.rerank("q", &none, &request).unwrap();
        assert_eq!((empty.ranked.len(), empty.documents.len(), empty.stopped), (0, 0, None));
        let ranking = model.rerank("q", &["full", "", "fuller", ""], &request).unwrap();
        assert_eq!(ranking.ranked.len(), 4);
        let at = |index| ranking.ranked.iter().position(|r| r.index == index).unwrap();
        assert_eq!(at(1) + 1, at(3), "equal documents keep their order: {:?}", ranking.ranked);
    }
    assert!(open("labels-three").classify(&[] as &[(&str, Option<&str>)], &request).unwrap().inputs.is_empty());
    assert!(open("labels-three").classify_as(&none, &["x"], &request).unwrap().inputs.is_empty());
    assert!(open("pretraining").next_sentence(&[] as &[(&str, &str)], &request).unwrap().pairs.is_empty());
}
