//! Are the token vectors of late-interaction models, and their sums, the reference's?
//!
//! `tests/golden/make/late.py` made the folders in `tests/golden/late` and wrote down what PyLate answers, `multi_vector.py` those of sentence-transformers'
//! MultiVectorEncoder. `cargo test --test late --
//! --nocapture` prints the worst errors.

use std::path::{Path, PathBuf};

use cloze::formats::Source;
use cloze::formats::convert::{Contents, kept};
use cloze::{Cancel, ErrorKind, LateVectors, Model, OffsetUnit, Options, Request};
use serde::Deserialize;

const TOLERANCE: f32 = 2e-5;

const FOLDERS: &[&str] = &["colbert", "pylate", "multi-vector", "multi-vector-min"];

#[derive(Deserialize)]
struct Expected {
    dimensions: usize,
    cases: Vec<Case>,
    rankings: Vec<Ranking>,
}

#[derive(Deserialize)]
struct Case {
    query: bool,
    texts: Vec<String>,
    rows: Vec<usize>,
}

#[derive(Deserialize)]
struct Ranking {
    query: String,
    documents: Vec<String>,
    scores: Vec<f32>,
}

/// Of each case and text: the token of each vector, and its place in code points.
#[derive(Deserialize)]
struct Spelled {
    cases: Vec<Vec<Tokens>>,
}

#[derive(Deserialize)]
struct Tokens {
    ids: Vec<u32>,
    offsets: Vec<(usize, usize)>,
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/late").join(name)
}

fn expected(name: &str) -> (Expected, Vec<f32>) {
    let numbers = std::fs::read(golden(name).join("vectors.f32")).unwrap();
    let numbers = numbers.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    (serde_json::from_slice(&std::fs::read(golden(name).join("expected.json")).unwrap()).unwrap(), numbers)
}

fn set(settings: &[(&str, &str)]) -> Request {
    let mut request = Request::default();
    settings.iter().for_each(|(name, value)| request.set(name, value).unwrap());
    request
}

fn role(query: bool) -> Request {
    set(&[("role", if query { "query" } else { "document" })])
}

/// The worst error of a number, and of a sum over a query's tokens.
fn check(model: &Model, name: &str) -> (f32, f32) {
    let (Expected { dimensions, cases, rankings }, numbers) = expected(name);
    let (mut worst, mut sums, mut at) = (0f32, 0f32, 0);
    for case in &cases {
        let answer = model.encode_late(&case.texts, &role(case.query)).unwrap();
        assert_eq!((answer.dimensions, answer.finished, answer.stopped), (dimensions, case.texts.len(), None));
        for ((input, rows), text) in answer.inputs.iter().zip(&case.rows).zip(&case.texts) {
            assert_eq!((input.ids.len(), input.vectors.len()), (*rows, rows * dimensions), "{text}");
            let want = &numbers[at..at + rows * dimensions];
            worst = input.vectors.iter().zip(want).map(|(g, w)| (g - w).abs()).fold(worst, |m, e| if e > m || e.is_nan() { e } else { m });
            at += rows * dimensions;
        }
    }
    assert_eq!(at, numbers.len());
    for ranking in &rankings {
        let got = model.rerank(&ranking.query, &ranking.documents, &Request::default()).unwrap();
        assert_eq!(got.ranked.len(), ranking.scores.len());
        assert!(got.ranked.is_sorted_by(|a, b| a.score >= b.score));
        sums = got.ranked.iter().map(|r| (r.score - ranking.scores[r.index]).abs()).fold(sums, f32::max);
    }
    (worst, sums)
}

#[test]
fn token_vectors_and_sums_are_those_of_the_reference() {
    for name in FOLDERS {
        for isa in ["avx512", "avx2", "portable"] {
            let Ok(model) = Model::load(golden(name), &Options { isa: Some(isa.into()), ..Options::default() }) else { continue };
            assert!(model.describe().late);
            let (vectors, sums) = check(&model, name);
            println!("{name:<8} {isa:<9} worst error of a number {vectors:.1e}, of a sum {sums:.1e}");
            assert!(vectors <= TOLERANCE && sums <= 20.0 * TOLERANCE, "{name} on {isa}: {vectors}, {sums}");
        }
    }
}

#[test]
fn each_vector_has_the_reference_token_and_its_place() {
    for name in FOLDERS {
        let model = Model::load(golden(name), &Options::default()).unwrap();
        let spelled: Spelled = serde_json::from_slice(&std::fs::read(golden(name).join("tokens.json")).unwrap()).unwrap();
        for (case, answers) in expected(name).0.cases.iter().zip(&spelled.cases) {
            let got = model.encode_late(&case.texts, &role(case.query)).unwrap();
            let bytes = Request { offsets: OffsetUnit::Byte, ..role(case.query) };
            let in_bytes = model.encode_late(&case.texts, &bytes).unwrap();
            for (i, ((input, tokens), text)) in got.inputs.iter().zip(answers).zip(&case.texts).enumerate() {
                assert_eq!((&input.ids, &input.offsets), (&tokens.ids, &tokens.offsets), "{name}: {text}");
                let byte = |place: usize| text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(place).unwrap();
                let want: Vec<_> = tokens.offsets.iter().map(|(start, end)| (byte(*start), byte(*end))).collect();
                assert_eq!(in_bytes.inputs[i].offsets, want, "{name}: {text}");
                assert_eq!(input.tokens.len(), input.ids.len());
            }
        }
        let prompted = set(&[("prompt", "a a a a a a a a a "), ("offsets", "byte")]);
        let plain = model.encode_late(&["quick fox"], &set(&[("offsets", "byte")])).unwrap();
        let with = model.encode_late(&["quick fox"], &prompted).unwrap();
        let last = |answer: &LateVectors| answer.inputs[0].offsets[answer.inputs[0].offsets.len() - 2];
        assert!(with.inputs[0].ids.len() > plain.inputs[0].ids.len() && last(&with) == last(&plain), "a prompt moves no place");
    }
}

#[test]
fn a_gguf_file_gives_the_vectors_of_its_folder() {
    for name in FOLDERS {
        let contents = Contents::of(&Source::open(&golden(name)).unwrap()).unwrap();
        let mut bytes = Vec::new();
        contents.write_gguf_to(&mut std::io::Cursor::new(&mut bytes), kept, |_, _| {}).unwrap();
        let model = Model::load_files(vec![("model.gguf".to_owned(), bytes)], &Options::default()).unwrap();
        let (vectors, sums) = check(&model, name);
        assert!(vectors <= TOLERANCE && sums <= 20.0 * TOLERANCE, "{name}: {vectors}, {sums}");
    }
}

#[test]
fn an_answer_is_the_same_alone_in_any_batch_and_on_any_threads() {
    for name in FOLDERS {
        let model = Model::load(golden(name), &Options::default()).unwrap();
        for case in expected(name).0.cases {
            let bits = |texts: &[String], threads| -> Vec<Vec<u32>> {
                let request = Request { threads: Some(threads), ..role(case.query) };
                let answer = model.encode_late(texts, &request).unwrap();
                answer.inputs.iter().map(|input| input.vectors.iter().map(|v| v.to_bits()).collect()).collect()
            };
            let alone: Vec<_> = case.texts.iter().flat_map(|text| bits(std::slice::from_ref(text), 1)).collect();
            assert!(bits(&case.texts, 1) == alone && bits(&case.texts, 3) == alone, "{name}");
        }
    }
}

#[test]
fn encode_gives_the_same_vectors_one_a_token() {
    let model = Model::load(golden("colbert"), &Options::default()).unwrap();
    let texts = &expected("colbert").0.cases[1].texts;
    for query in ["document", "query"] {
        let late = model.encode_late(texts, &role(query == "query")).unwrap();
        let plain = model.encode(texts, &set(&[("vectors", "token"), ("role", query)])).unwrap();
        let all: Vec<f32> = late.inputs.iter().flat_map(|input| input.vectors.clone()).collect();
        assert_eq!(plain.vectors.as_f32().unwrap(), all);
        assert_eq!(
            plain.texts.iter().map(|t| t.rows.len()).collect::<Vec<_>>(),
            late.inputs.iter().map(|i| i.ids.len()).collect::<Vec<_>>()
        );
    }
    assert_eq!(model.encode(&["a"], &Request::default()).unwrap().dimensions, model.describe().hidden);
}

#[test]
fn what_cannot_be_asked_is_named() {
    let model = Model::load(golden("colbert"), &Options::default()).unwrap();
    for (settings, says) in [
        (&[("layers", "1")][..], "layers"),
        (&[("dimensions", "4")], "dimensions"),
        (&[("truncation", "window")], "truncation window"),
        (&[("max_tokens", "400")], "max_tokens"),
    ] {
        let e = model.encode_late(&["a text"], &set(settings)).unwrap_err();
        assert!(e.kind() == ErrorKind::InvalidArgument && e.message().contains(says), "{e}");
    }
    let e = model.encode(&["a"], &role(true)).unwrap_err();
    assert!(e.message().contains("role query"), "{e}");
    let plain = Model::load(golden("../models/tiny-gelu"), &Options::default()).unwrap();
    let e = plain.encode_late(&["a"], &Request::default()).unwrap_err();
    assert!(e.kind() == ErrorKind::InvalidArgument && e.message().contains("late-interaction"), "{e}");
    let cancel = Cancel::new();
    cancel.cancel();
    let answer = model.encode_late(&["a", "b"], &Request { cancel: Some(cancel), ..Request::default() }).unwrap();
    assert_eq!((answer.finished, answer.stopped, answer.inputs.len()), (0, Some(ErrorKind::Cancelled), 2));
}

#[test]
fn damaged_files_are_named() {
    let files = |change: &dyn Fn(&str, Vec<u8>) -> Vec<u8>| -> Vec<(String, Vec<u8>)> {
        let names = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "artifact.metadata"];
        names.map(|name| (name.to_owned(), change(name, std::fs::read(golden("colbert").join(name)).unwrap()))).into()
    };
    let replaced = |file: &str, from: &str, to: &str| {
        let change = |name: &str, bytes: Vec<u8>| {
            if name == file { String::from_utf8(bytes).unwrap().replace(from, to).into_bytes() } else { bytes }
        };
        Model::load_files(files(&change), &Options::default()).unwrap_err()
    };
    assert!(Model::load_files(files(&|_, bytes| bytes), &Options::default()).is_ok());
    for (e, says) in [
        (replaced("artifact.metadata", "[unused0]", "[nowhere]"), "[nowhere]"),
        (replaced("artifact.metadata", "\"query_maxlen\": 20", "\"query_maxlen\": 99999999"), "99999999"),
        (replaced("artifact.metadata", "\"doc_maxlen\": 40", "\"doc_maxlen\": \"many\""), "artifact.metadata"),
        (replaced("config.json", "HF_ColBERT", "BertModel"), "linear.weight"),
    ] {
        assert!(e.message().contains(says), "{e}");
    }
}
