//! Do heads give the reference libraries' answers?
//!
//! `tests/golden/make/heads.py` made the folders in `tests/golden/heads` and wrote down what pipelines of `transformers` and
//! `CrossEncoder` of `sentence-transformers` answer; `answers.py` and `entities.py` did so for question answering and tagging. `cargo test --test heads -- --nocapture` prints the worst error of each
//! folder. The same answers must come from a GGUF file, near ones from a quantised one; and nothing may depend on the batch.

#[path = "heads/bad_input.rs"]
mod bad_input;
#[path = "heads/behaviour.rs"]
mod behaviour;
#[path = "heads/extract.rs"]
mod extract;
#[path = "heads/tag.rs"]
mod tag;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cloze::formats::convert::{Contents, kept, quantised};
use cloze::formats::{Source, gguf};
use cloze::quant::Dtype;
use cloze::{Model, Options, Request};
use serde::Deserialize;

/// The largest error of a score, and of a logit as a share of its size where that is above 1.
const TOLERANCE: f64 = 1e-4;

#[derive(Deserialize)]
struct Expected {
    cases: Vec<Case>,
}

/// One call and its answers.
#[derive(Deserialize)]
struct Case {
    task: String,
    set: BTreeMap<String, String>,
    inputs: Vec<Input>,
    answers: Vec<Answer>,
    #[serde(default)]
    query: String,
    #[serde(default)]
    labels: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    One(String),
    Two(String, Option<String>),
}

/// Label ids best first and their scores, logits by id; each where the reference states it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    labels: Vec<usize>,
    scores: Vec<f32>,
    logits: Vec<f32>,
}

impl Input {
    fn text(&self) -> &str {
        match self {
            Input::One(text) | Input::Two(text, _) => text,
        }
    }

    fn pair(&self) -> (&str, Option<&str>) {
        match self {
            Input::One(text) => (text, None),
            Input::Two(text, pair) => (text, pair.as_deref()),
        }
    }
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/heads").join(name)
}

fn open(name: &str) -> Model {
    Model::load(golden(name), &Options::default()).unwrap()
}

fn set(settings: &[(&str, &str)]) -> Request {
    let mut request = Request::default();
    settings.iter().for_each(|(name, value)| request.set(name, value).unwrap());
    request
}

fn folders() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(golden("")).unwrap().map(|e| e.unwrap().path()).filter(|p| !p.ends_with("cosine")).collect();
    all.sort();
    assert!(all.len() >= 10, "a folder is missing: run tests/golden/make/heads.py");
    all
}

fn cases(file: &Path) -> Vec<Case> {
    serde_json::from_slice::<Expected>(&std::fs::read(file).unwrap()).unwrap().cases
}

/// The worst difference of two lists, of large numbers as a share.
fn distance(got: &[f32], want: &[f32]) -> f64 {
    assert_eq!(got.len(), want.len());
    let one = |(g, w): (&f32, &f32)| (f64::from(*g) - f64::from(*w)).abs() / f64::from(w.abs()).max(1.0);
    got.iter().zip(want).map(one).fold(0.0, |m, e| if e > m || e.is_nan() { e } else { m })
}

/// Scores in the order of ids, and logits, as far as both are stated.
fn compare(labels: &[(usize, f32, f32)], want: &Answer) -> f64 {
    let mut by_id = labels.to_vec();
    by_id.sort_by_key(|label| label.0);
    let mut worst = 0f64;
    if !want.logits.is_empty() {
        worst = worst.max(distance(&by_id.iter().map(|l| l.2).collect::<Vec<_>>(), &want.logits));
    }
    if !want.labels.is_empty() {
        let mut wanted: Vec<(usize, f32)> = want.labels.iter().copied().zip(want.scores.iter().copied()).collect();
        wanted.sort_by_key(|label| label.0);
        worst = worst.max(distance(&by_id.iter().map(|l| l.1).collect::<Vec<_>>(), &wanted.iter().map(|l| l.1).collect::<Vec<_>>()));
        // Best first: the reference's scores in our order never rise by more than the tolerance.
        let ours: Vec<f32> = labels.iter().map(|l| wanted[l.0].1).collect();
        assert!(ours.windows(2).all(|two| two[1] - two[0] < TOLERANCE as f32), "{ours:?}");
    }
    worst
}

/// The worst error of a case.
fn check(model: &Model, case: &Case) -> f64 {
    let settings: Vec<(&str, &str)> = case.set.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let request = set(&settings);
    let texts: Vec<&str> = case.inputs.iter().map(Input::text).collect();
    let labelled = |classes: cloze::Classes| -> f64 {
        assert_eq!((classes.finished, classes.stopped), (case.inputs.len(), None));
        let one = |i: usize| classes.inputs[i].labels.iter().map(|l| (l.id, l.score, l.logit)).collect::<Vec<_>>();
        (0..case.inputs.len()).map(|i| compare(&one(i), &case.answers[i])).fold(0.0, f64::max)
    };
    match case.task.as_str() {
        "classify" => {
            let inputs: Vec<(&str, Option<&str>)> = case.inputs.iter().map(Input::pair).collect();
            labelled(model.classify(&inputs, &request).unwrap())
        }
        "zero_shot" => labelled(model.classify_as(&texts, &case.labels, &request).unwrap()),
        "next_sentence" => {
            let pairs: Vec<(&str, &str)> = case.inputs.iter().map(|i| (i.text(), i.pair().1.unwrap_or_default())).collect();
            let answer = model.next_sentence(&pairs, &request).unwrap();
            let one =
                |(got, want): (&cloze::Follows, &Answer)| distance(&[got.score], &want.scores).max(distance(&got.logits, &want.logits));
            answer.pairs.iter().zip(&case.answers).map(one).fold(0.0, f64::max)
        }
        "rerank" => ranking(model, case, &texts, &request),
        other => panic!("no task {other}"),
    }
}

fn ranking(model: &Model, case: &Case, texts: &[&str], request: &Request) -> f64 {
    let got = model.rerank(&case.query, texts, request).unwrap();
    assert_eq!((got.ranked.len(), got.scored, got.stopped), (texts.len(), texts.len(), None));
    let wanted = |r: &cloze::Ranked| &case.answers[r.index];
    // Best first, as the reference ranks them; equals may change places.
    let order: Vec<f32> = got.ranked.iter().map(|r| wanted(r).logits[0]).collect();
    assert!(order.windows(2).all(|two| two[1] - two[0] < TOLERANCE as f32 * two[0].abs().max(1.0)), "{order:?}");
    got.ranked.iter().map(|r| distance(&[r.score], &wanted(r).scores).max(distance(&[r.logit], &wanted(r).logits))).fold(0.0, f64::max)
}

fn worst(model: &Model, cases: &[Case]) -> f64 {
    cases.iter().map(|case| check(model, case)).fold(0.0, |m, e| if e > m || e.is_nan() { e } else { m })
}

#[test]
fn every_head_gives_the_reference_answers() {
    for folder in folders() {
        for isa in ["avx512", "avx2", "portable"] {
            let Ok(model) = Model::load(&folder, &Options { isa: Some(isa.into()), ..Options::default() }) else { continue };
            let error = worst(&model, &cases(&folder.join("expected.json")));
            println!("{:<20} {isa:<9} worst error {error:.1e}", folder.file_name().unwrap().to_string_lossy());
            assert!(error <= TOLERANCE, "{} on {isa}: {error}", folder.display());
        }
    }
}

#[test]
fn an_embedding_model_ranks_by_cosine_with_its_prompts() {
    for name in ["tiny-prompts", "tiny-gelu", "tiny-f16"] {
        let model = Model::load(golden("../models").join(name), &Options::default()).unwrap();
        let error = worst(&model, &cases(&golden("cosine").join(format!("{name}.json"))));
        println!("{name:<20} worst error {error:.1e}");
        assert!(error <= TOLERANCE, "{name}: {error}");
    }
}

/// The folder as a GGUF file in memory.
fn as_gguf(folder: &Path, quantise: bool) -> Vec<(String, Vec<u8>)> {
    let contents = Contents::of(&Source::open(folder).unwrap()).unwrap();
    let mut bytes = Vec::new();
    let types = |item: &_| if quantise { quantised(Dtype::Q8_0)(item) } else { kept(item) };
    contents.write_gguf_to(&mut std::io::Cursor::new(&mut bytes), types, |_, _| {}).unwrap();
    vec![("model.gguf".to_owned(), bytes)]
}

#[test]
fn a_classifier_without_the_folders_files_as_llama_cpp_writes_it_opens_with_its_labels() {
    for (name, labels) in [("labels-three", &["contradiction", "neutral", "entailment"][..]), ("rerank-two", &["irrelevant", "relevant"])] {
        let mut contents = Contents::of(&Source::open(&golden(name)).unwrap()).unwrap();
        contents.metadata.remove(|key| key.starts_with("cloze."));
        let mut bytes = Vec::new();
        contents.write_gguf_to(&mut std::io::Cursor::new(&mut bytes), kept, |_, _| {}).unwrap();
        let bare = Model::load_files(vec![("model.gguf".to_owned(), bytes)], &Options::default()).unwrap();
        assert_eq!(bare.describe().task_heads[0].labels, labels);
        assert!(furthest(&open(name), &bare) < 1e-5, "{name}");
    }
}

/// How far raw numbers of a quantised model may be from those of its original; these models are small, random and lively, and
/// their numbers go up to about ten.
const NEAR: f32 = 0.5;

/// The largest difference of a raw number for a few pairs.
fn furthest(model: &Model, small: &Model) -> f32 {
    let pairs = [("where does the fox live", "The quick brown fox."), ("今天天气", "我们去公园 😀"), ("a", "")];
    let logits = |m: &Model| -> Vec<f32> {
        if m.describe().task_heads[0].name == "multiple_choice" {
            let mut ranking = m.rerank(pairs[0].0, &pairs.map(|(_, choice)| choice), &Request::default()).unwrap();
            ranking.ranked.sort_by_key(|ranked| ranked.index);
            return ranking.ranked.iter().map(|ranked| ranked.logit).collect();
        }
        if m.describe().task_heads[0].name == "next_sentence" {
            return m.next_sentence(&pairs, &Request::default()).unwrap().pairs.iter().flat_map(|p| p.logits).collect();
        }
        let mut classes = m.classify(&pairs.map(|(a, b)| (a, Some(b))), &Request::default()).unwrap();
        classes.inputs.iter_mut().for_each(|input| input.labels.sort_by_key(|label| label.id));
        classes.inputs.iter().flat_map(|input| input.labels.iter().map(|label| label.logit)).collect()
    };
    logits(model).iter().zip(logits(small)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn a_gguf_file_gives_the_answers_of_its_folder_and_a_quantised_one_near_ones() {
    for folder in folders() {
        let cases = cases(&folder.join("expected.json"));
        let files = as_gguf(&folder, false);
        let reader = gguf::Reader::open(&cloze::quant::Bytes::owned(files[0].1.clone())).unwrap();
        let has = |name: &str| reader.tensors().any(|(n, _)| n == name);
        assert!(has("cls.weight") && (has("cls.output.weight") || has("cloze.cls.seq_relationship.weight")), "{}", folder.display());
        let model = Model::load_files(files, &Options::default()).unwrap();
        assert!(worst(&model, &cases) <= TOLERANCE, "{}", folder.display());
        let small = Model::load_files(as_gguf(&folder, true), &Options::default()).unwrap();
        let far = furthest(&model, &small);
        println!("{:<20} q8_0: worst difference of a raw number {far:.3}", folder.file_name().unwrap().to_string_lossy());
        assert!(far < NEAR, "{}: {far}", folder.display());
        let heads = |m: &Model| m.describe().task_heads.iter().map(|h| (h.name.clone(), h.labels.clone())).collect::<Vec<_>>();
        assert_eq!(heads(&small), heads(&model));
    }
}
