//! Does a masked language model give the reference's answers, and is what it looks at the reference's?
//!
//! `tests/golden/make/fill_mask.py` made the folders in `tests/golden/fill_mask` and wrote down what the fill-mask pipeline of
//! `transformers` answers, and the attention maps and hidden states of the model. `cargo test --test fill_mask -- --nocapture` prints
//! the worst errors.

#[path = "fill_mask/bad_input.rs"]
mod bad_input;
#[path = "fill_mask/behaviour.rs"]
mod behaviour;
#[path = "fill_mask/looks.rs"]
mod looks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cloze::formats::convert::{Contents, kept, quantised};
use cloze::formats::{Source, gguf};
use cloze::quant::{Bytes, Dtype};
use cloze::{Blank, Model, Options, Precision, Request};
use serde::Deserialize;

/// The largest error of a score, and of a logit as a share of its size where that is above 1.
const TOLERANCE: f64 = 1e-4;

const FOLDERS: &[&str] = &["tied", "untied", "pretraining"];

#[derive(Deserialize)]
struct Expected {
    cases: Vec<Case>,
}

/// One call and its answers: of each text, of each blank.
#[derive(Deserialize)]
struct Case {
    set: BTreeMap<String, String>,
    candidates: Vec<String>,
    texts: Vec<String>,
    answers: Vec<Vec<Answer>>,
}

/// Tokens best first. Logits and words where the reference states them.
#[derive(Deserialize)]
struct Answer {
    ids: Vec<u32>,
    scores: Vec<f32>,
    logits: Vec<f32>,
    words: Vec<String>,
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/fill_mask").join(name)
}

fn open(name: &str) -> Model {
    Model::load(golden(name), &Options::default()).unwrap()
}

fn set<'a>(settings: impl IntoIterator<Item = (&'a str, &'a str)>) -> Request {
    let mut request = Request::default();
    settings.into_iter().for_each(|(name, value)| request.set(name, value).unwrap());
    request
}

fn cases(name: &str) -> Vec<Case> {
    serde_json::from_slice::<Expected>(&std::fs::read(golden(name).join("expected.json")).unwrap()).unwrap().cases
}

fn request(case: &Case) -> Request {
    set(case.set.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

/// The worst difference of two lists, of large numbers as a share.
fn distance(got: &[f32], want: &[f32]) -> f64 {
    assert_eq!(got.len(), want.len());
    let one = |(g, w): (&f32, &f32)| (f64::from(*g) - f64::from(*w)).abs() / f64::from(w.abs()).max(1.0);
    got.iter().zip(want).map(one).fold(0.0, |m, e| if e > m || e.is_nan() { e } else { m })
}

fn compare(blank: &Blank, want: &Answer) -> f64 {
    assert_eq!(blank.fills.len(), want.ids.len());
    let scores: Vec<f32> = blank.fills.iter().map(|f| f.score).collect();
    let mut worst = distance(&scores, &want.scores);
    for (place, fill) in blank.fills.iter().enumerate() {
        // Nearly equal tokens may change places.
        let Some(at) = want.ids.iter().position(|id| *id == fill.id) else {
            assert!(want.scores[place] - want.scores.last().unwrap() < 1e-6, "{} at {place}: {:?}", fill.id, want.ids);
            continue;
        };
        assert!((want.scores[at] - want.scores[place]).abs() < 1e-6, "{:?} {:?}", blank.fills, want.ids);
        if let Some(logit) = want.logits.get(at) {
            worst = worst.max(distance(&[fill.logit], &[*logit]));
        }
        if let Some(word) = want.words.get(at) {
            assert_eq!(&fill.token, word);
        }
    }
    worst
}

/// The worst error of a case.
fn check(model: &Model, case: &Case) -> f64 {
    let fills = model.fill_mask(&case.texts, &case.candidates, &request(case)).unwrap();
    assert_eq!((fills.finished, fills.stopped), (case.texts.len(), None));
    let mut worst = 0f64;
    for ((filled, answers), text) in fills.inputs.iter().zip(&case.answers).zip(&case.texts) {
        assert_eq!(filled.blanks.len(), answers.len(), "{text}");
        for (blank, want) in filled.blanks.iter().zip(answers) {
            let cut: String = text.chars().skip(blank.start).take(blank.end - blank.start).collect();
            assert_eq!(cut, "[MASK]");
            worst = worst.max(compare(blank, want));
        }
    }
    worst
}

#[test]
fn fills_are_those_of_the_reference() {
    for name in FOLDERS {
        for isa in ["avx512", "avx2", "portable"] {
            let Ok(model) = Model::load(golden(name), &Options { isa: Some(isa.into()), ..Options::default() }) else { continue };
            let error = cases(name).iter().map(|case| check(&model, case)).fold(0.0, f64::max);
            println!("{name:<12} {isa:<9} worst error {error:.1e}");
            assert!(error <= TOLERANCE, "{name} on {isa}: {error}");
        }
    }
}

fn as_gguf(contents: &Contents, quantise: bool) -> Vec<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let types = |item: &_| if quantise { quantised(Dtype::Q8_0)(item) } else { kept(item) };
    contents.write_gguf_to(&mut std::io::Cursor::new(&mut bytes), types, |_, _| {}).unwrap();
    vec![("model.gguf".to_owned(), bytes)]
}

#[test]
fn a_gguf_file_gives_the_fills_of_its_folder_and_int8_near_ones() {
    for name in FOLDERS {
        let contents = Contents::of(&Source::open(&golden(name)).unwrap()).unwrap();
        let files = as_gguf(&contents, false);
        let reader = gguf::Reader::open(&Bytes::owned(files[0].1.clone())).unwrap();
        let names: Vec<String> = reader.tensors().map(|(n, _)| n.to_owned()).collect();
        assert!(names.iter().any(|n| n == "cloze.cls.predictions.transform.dense.weight"), "{names:?}");
        assert_eq!(names.iter().any(|n| n == "cloze.cls.predictions.decoder.weight"), *name == "untied", "{names:?}");
        let whole = Model::load_files(files, &Options::default()).unwrap();
        for case in cases(name) {
            assert!(check(&whole, &case) <= TOLERANCE, "{name}");
        }
        let options = Options { precision: Precision::Int8, ..Options::default() };
        let small = Model::load_files(as_gguf(&contents, true), &options).unwrap();
        let int8 = Model::load(golden(name), &options).unwrap();
        for near in [&small, &int8] {
            assert_eq!(near.describe().precision, "int8");
            let logits = |m: &Model| -> Vec<f32> {
                let fills = m.fill_mask(&["the [MASK] lives in 天[MASK] 😀"], &["fox", "the", "天", "dog"], &Request::default()).unwrap();
                let mut all: Vec<_> = fills.inputs[0].blanks.iter().flat_map(|b| b.fills.clone()).collect();
                all.sort_by_key(|fill| fill.id);
                all.iter().map(|fill| fill.logit).collect()
            };
            let far = logits(&whole).iter().zip(logits(near)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            println!("{name:<12} int8: worst difference of a raw number {far:.3}");
            assert!(far > 0.0 && far < 0.5, "{name}: {far}");
        }
    }
}

/// A checkpoint that holds `name` once more, as `copy`.
fn doubled(checkpoint: &[u8], name: &str, copy: &str) -> Vec<u8> {
    let length = u64::from_le_bytes(checkpoint[..8].try_into().unwrap()) as usize;
    let (head, data) = checkpoint[8..].split_at(length);
    let mut head: serde_json::Value = serde_json::from_slice(head).unwrap();
    let mut entry = head[name].clone();
    let place = |i: usize| entry["data_offsets"][i].as_u64().unwrap() as usize;
    let numbers = data[place(0)..place(1)].to_vec();
    entry["data_offsets"] = serde_json::json!([data.len(), data.len() + numbers.len()]);
    head[copy] = entry;
    let head = serde_json::to_vec(&head).unwrap();
    [&(head.len() as u64).to_le_bytes()[..], &head, data, &numbers].concat()
}

#[test]
fn a_decoder_that_a_checkpoint_holds_twice_is_used_and_stored_once() {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for file in ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"] {
        files.push((file.to_owned(), std::fs::read(golden("tied").join(file)).unwrap()));
    }
    let table = "bert.embeddings.word_embeddings.weight";
    files[1].1 = doubled(&files[1].1, table, "cls.predictions.decoder.weight");
    files[1].1 = doubled(&files[1].1, "cls.predictions.bias", "cls.predictions.decoder.bias");
    let model = Model::load_files(files.clone(), &Options::default()).unwrap();
    assert!(cases("tied").iter().all(|case| check(&model, case) <= TOLERANCE));
    let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
        let contents = Contents::of(&Source::memory(files.to_vec()).unwrap()).unwrap();
        contents.items.iter().map(|item| item.name.clone()).filter(|name| name.contains("decoder")).collect()
    };
    assert!(names(&files).is_empty(), "{:?}", names(&files));
    // A decoder that says it is no copy stays, and so does one with other numbers.
    let mut apart = files.clone();
    let mut config: serde_json::Value = serde_json::from_slice(&apart[0].1).unwrap();
    config["tie_word_embeddings"] = false.into();
    apart[0].1 = serde_json::to_vec(&config).unwrap();
    assert_eq!(names(&apart).len(), 2);
    let last = files[1].1.len() - 1;
    files[1].1[last] ^= 1;
    assert_eq!(names(&files), ["cls.predictions.decoder.bias"]);
}
