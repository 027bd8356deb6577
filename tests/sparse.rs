//! Are sparse weights the reference's?
//!
//! `tests/golden/make/sparse.py` made the folders in `tests/golden/sparse` and wrote down what `SparseEncoder` of
//! sentence-transformers answers. `cargo test --test sparse -- --nocapture` prints the worst errors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cloze::formats::Source;
use cloze::formats::convert::{Contents, kept};
use cloze::{Cancel, ErrorKind, Model, Options, Request, SparseVectors};
use serde::Deserialize;

/// The largest error of a weight, as a share of it where it is above 1.
const TOLERANCE: f64 = 1e-4;

const FOLDERS: &[&str] = &["max", "sum", "plain"];

#[derive(Deserialize)]
struct Expected {
    cases: Vec<Case>,
    rankings: Vec<Ranking>,
}

#[derive(Deserialize)]
struct Case {
    set: BTreeMap<String, String>,
    texts: Vec<String>,
    answers: Vec<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    ids: Vec<u32>,
    weights: Vec<f32>,
}

#[derive(Deserialize)]
struct Ranking {
    query: String,
    documents: Vec<String>,
    scores: Vec<f32>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The model: "plain" is one without modules.json.
fn folder(name: &str) -> PathBuf {
    if name == "plain" { root().join("fill_mask/tied") } else { root().join("sparse").join(name) }
}

fn expected(name: &str) -> Expected {
    serde_json::from_slice(&std::fs::read(root().join("sparse").join(name).join("expected.json")).unwrap()).unwrap()
}

fn open(name: &str) -> Model {
    Model::load(folder(name), &Options::default()).unwrap()
}

fn set(settings: &[(&str, &str)]) -> Request {
    let mut request = Request::default();
    settings.iter().for_each(|(name, value)| request.set(name, value).unwrap());
    request
}

/// The worst error of a weight. A token that only one side lists has weight 0 on the other, or, where the case keeps the largest, at most
/// the least that the other keeps.
fn compare(got: &cloze::SparseVector, want: &Answer) -> f64 {
    assert!(got.terms.is_sorted_by(|a, b| a.weight > b.weight || (a.weight == b.weight && a.id < b.id)));
    assert!(got.terms.len().abs_diff(want.ids.len()) <= 1, "{} weights, the reference has {}", got.terms.len(), want.ids.len());
    let got: BTreeMap<u32, f32> = got.terms.iter().map(|term| (term.id, term.weight)).collect();
    let want: BTreeMap<u32, f32> = want.ids.iter().copied().zip(want.weights.iter().copied()).collect();
    let least = if got.len() == want.len() { want.values().copied().fold(f32::INFINITY, f32::min) } else { 0.0 };
    let weight = |side: &BTreeMap<u32, f32>, id: &u32| f64::from(side.get(id).copied().unwrap_or(least));
    let error = |id: &u32| (weight(&got, id) - weight(&want, id)).abs() / weight(&want, id).max(1.0);
    got.keys().chain(want.keys()).map(error).fold(0.0, |worst, e| if e > worst || e.is_nan() { e } else { worst })
}

fn check(model: &Model, expected: &Expected) -> f64 {
    let mut worst = 0f64;
    for case in &expected.cases {
        let settings: Vec<(&str, &str)> = case.set.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let got = model.encode_sparse(&case.texts, &set(&settings)).unwrap();
        assert_eq!((got.finished, got.stopped, got.inputs.len()), (case.texts.len(), None, case.texts.len()));
        for (got, want) in got.inputs.iter().zip(&case.answers) {
            worst = worst.max(compare(got, want));
        }
    }
    for ranking in &expected.rankings {
        let got = model.rerank(&ranking.query, &ranking.documents, &set(&[("vectors", "sparse")])).unwrap();
        assert_eq!(got.ranked.len(), ranking.scores.len());
        for ranked in &got.ranked {
            let want = ranking.scores[ranked.index];
            worst = worst.max(f64::from((ranked.score - want).abs()) / f64::from(want).max(1.0));
        }
        assert!(got.ranked.is_sorted_by(|a, b| a.score >= b.score));
    }
    worst
}

#[test]
fn weights_and_rankings_are_those_of_the_reference() {
    for name in FOLDERS {
        for isa in ["avx512", "avx2", "portable"] {
            let Ok(model) = Model::load(folder(name), &Options { isa: Some(isa.into()), ..Options::default() }) else { continue };
            let error = check(&model, &expected(name));
            println!("{name:<6} {isa:<9} worst error {error:.1e}");
            assert!(error <= TOLERANCE, "{name} on {isa}: {error}");
        }
    }
}

#[test]
fn a_gguf_file_gives_the_weights_of_its_folder() {
    for name in FOLDERS {
        let contents = Contents::of(&Source::open(&folder(name)).unwrap()).unwrap();
        let mut bytes = Vec::new();
        contents.write_gguf_to(&mut std::io::Cursor::new(&mut bytes), kept, |_, _| {}).unwrap();
        let model = Model::load_files(vec![("model.gguf".to_owned(), bytes)], &Options::default()).unwrap();
        assert_eq!(model.describe().sparse, *name != "plain");
        let error = check(&model, &expected(name));
        assert!(error <= TOLERANCE, "{name}: {error}");
    }
}

fn terms(answer: &SparseVectors) -> Vec<Vec<(u32, u32)>> {
    answer.inputs.iter().map(|input| input.terms.iter().map(|t| (t.id, t.weight.to_bits())).collect()).collect()
}

#[test]
fn an_answer_is_the_same_alone_in_any_batch_and_on_any_threads() {
    for name in FOLDERS {
        let texts = expected(name).cases[0].texts.clone();
        let model = open(name);
        let alone: Vec<_> = texts.iter().map(|t| terms(&model.encode_sparse(&[t], &Request::default()).unwrap()).remove(0)).collect();
        for threads in ["1", "3"] {
            assert!(terms(&model.encode_sparse(&texts, &set(&[("threads", threads)])).unwrap()) == alone, "{name}");
        }
    }
}

#[test]
fn a_sparse_encoder_ranks_by_its_weights_without_being_asked() {
    for name in ["max", "sum"] {
        let (model, ranking) = (open(name), &expected(name).rankings[0]);
        let plain = model.rerank(&ranking.query, &ranking.documents, &Request::default()).unwrap();
        assert_eq!(plain, model.rerank(&ranking.query, &ranking.documents, &set(&[("vectors", "sparse")])).unwrap());
    }
    let (model, ranking) = (open("plain"), &expected("plain").rankings[0]);
    let cosine = model.rerank(&ranking.query, &ranking.documents, &Request::default()).unwrap();
    assert!(cosine.ranked.iter().all(|r| r.score <= 1.0001));
    // top is of documents, never of weights.
    let best = model.rerank(&ranking.query, &ranking.documents, &set(&[("vectors", "sparse"), ("top", "2")])).unwrap();
    let all = model.rerank(&ranking.query, &ranking.documents, &set(&[("vectors", "sparse")])).unwrap();
    assert_eq!(best.ranked, all.ranked[..2]);
}

#[test]
fn windows_keep_the_largest_weight_and_the_threshold_drops_small_ones() {
    let (model, texts) = (open("max"), expected("max").cases[0].texts.clone());
    let long = &texts[6];
    let request = set(&[("truncation", "window"), ("max_tokens", "20"), ("overlap", "4")]);
    let answer = model.encode_sparse(&[long.as_str(), "a"], &request).unwrap();
    assert!(answer.inputs[0].report.windows > 2 && !answer.inputs[0].report.truncated);
    let mut want: BTreeMap<u32, f32> = BTreeMap::new();
    for window in model.tokenize(&[(long.as_str(), None)], &request).unwrap() {
        // Each window for itself: its own text, from the first of its tokens to the last.
        let places: Vec<_> = window.offsets.iter().zip(&window.special).filter(|(_, special)| !**special).map(|(o, _)| *o).collect();
        let part: String = long.chars().skip(places[0].0).take(places.last().unwrap().1 - places[0].0).collect();
        for term in &model.encode_sparse(&[part], &Request::default()).unwrap().inputs[0].terms {
            let most = want.entry(term.id).or_insert(0.0);
            *most = most.max(term.weight);
        }
    }
    let got: BTreeMap<u32, f32> = answer.inputs[0].terms.iter().map(|t| (t.id, t.weight)).collect();
    assert_eq!(got, want);
    let cut = model.encode_sparse(&[long], &set(&[("threshold", "1.5")])).unwrap();
    let whole = model.encode_sparse(&[long], &Request::default()).unwrap();
    let kept: Vec<_> = whole.inputs[0].terms.iter().filter(|t| t.weight >= 1.5).cloned().collect();
    assert!(!kept.is_empty() && kept.len() < whole.inputs[0].terms.len() && cut.inputs[0].terms == kept);
}

#[test]
fn what_cannot_be_asked_is_named() {
    let error = |model: &Model, settings: &[(&str, &str)]| model.encode_sparse(&["a text"], &set(settings)).unwrap_err();
    let model = open("max");
    for (settings, says) in [
        (&[("pooling", "cls")][..], "pooling"),
        (&[("layers", "1")], "layers"),
        (&[("normalize", "true")], "normalize"),
        (&[("dimensions", "4")], "dimensions"),
        (&[("output", "int8")], "output"),
        (&[("vectors", "token")], "vectors token"),
        (&[("prompt_name", "none")], "none"),
    ] {
        let e = error(&model, settings);
        assert!(e.kind() == ErrorKind::InvalidArgument && e.message().contains(says), "{e}");
    }
    let e = error(&open("sum"), &[("truncation", "window")]);
    assert!(e.message().contains("sums over tokens"), "{e}");
    let e = model.encode(&["a"], &set(&[("vectors", "sparse")])).unwrap_err();
    assert!(e.message().contains("encode_sparse"), "{e}");
    let other = Model::load(root().join("heads/labels-three"), &Options::default()).unwrap();
    for e in [error(&other, &[]), other.rerank("a", &["b"], &set(&[("vectors", "sparse")])).unwrap_err()] {
        assert!(e.kind() == ErrorKind::InvalidArgument && e.message().contains("fill_mask") && e.message().contains("classify"), "{e}");
    }
    let long = "the fox ".repeat(200);
    let e = model.encode_sparse(&["a", &long], &set(&[("truncation", "error")])).unwrap_err();
    assert!(e.kind() == ErrorKind::TooLong && e.message().starts_with("text 1: "), "{e}");
}

#[test]
fn a_call_that_is_stopped_keeps_what_is_finished() {
    let model = open("max");
    let cancel = Cancel::new();
    cancel.cancel();
    let texts = vec!["the quick brown fox"; 50];
    let answer = model.encode_sparse(&texts, &Request { cancel: Some(cancel), ..Request::default() }).unwrap();
    assert_eq!((answer.finished, answer.stopped, answer.inputs.len()), (0, Some(ErrorKind::Cancelled), 50));
    assert!(answer.inputs.iter().all(|input| input.terms.is_empty() && input.report.windows == 0));
    let empty: [&str; 0] = [];
    assert_eq!(model.encode_sparse(&empty, &Request::default()).unwrap().inputs, []);
}

/// A checkpoint whose modules.json promises sparse weights must have the head.
#[test]
fn a_sparse_encoder_without_its_head_does_not_open() {
    let read = |path: PathBuf| std::fs::read(path).unwrap();
    let bert = root().join("models/tiny-gelu");
    let sparse = root().join("sparse/max");
    let mut files: Vec<(String, Vec<u8>)> =
        ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"].map(|n| (n.to_owned(), read(bert.join(n)))).into();
    files.extend(["modules.json", "1_SpladePooling/config.json"].map(|n| (n.to_owned(), read(sparse.join(n)))));
    let e = Model::load_files(files, &Options::default()).unwrap_err();
    assert!(e.kind() == ErrorKind::InvalidFile && e.message().contains("fill_mask"), "{e}");
}
