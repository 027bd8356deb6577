//! Does fine-tuning do what PyTorch and sentence-transformers do?
//!
//! `tests/golden/make/finetune.py` wrote down examples of each task and the losses of ten steps of tiny models. Here the same files are read and
//! learned from, through the same code as `cloze-train finetune`. `cargo test --test finetune -- --nocapture` prints the worst error of each.
#![cfg(feature = "train")]

#[cfg(feature = "cli")]
#[path = "finetune/command.rs"]
mod command;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cloze::tasks::{Cancel, Model, Options, Request};
use cloze::train::evaluate::{evaluate, report};
use cloze::train::finetune::{Data, FinetuneSettings, Finetuning, TASKS, Task};
use cloze::train::labelled::{ReadSettings, TargetKind};
use cloze::train::run::Event;
use cloze::train::team::Team;
use serde::Deserialize;

/// Losses of the first step, and of the later ones, relative to the first.
const FIRST: f64 = 1e-5;
const LATER: f64 = 1e-4;

#[derive(Deserialize)]
struct Expected {
    rate: f64,
    decay: f64,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    task: String,
    model: String,
    settings: BTreeMap<String, String>,
    form: String,
    content: String,
    losses: Vec<f64>,
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn expected() -> Expected {
    serde_json::from_str(&std::fs::read_to_string(golden("finetune/expected.json")).unwrap()).unwrap()
}

fn task(name: &str) -> &'static Task {
    TASKS.iter().find(|task| task.name == name).unwrap()
}

impl Case {
    fn data(&self, folder: &Path) -> Data {
        let file = folder.join(format!("{}.{}", self.name, self.form));
        std::fs::write(&file, &self.content).unwrap();
        let relation = self.settings.get("vector_loss").is_some_and(|loss| loss == "relation");
        let read = ReadSettings { kind: relation.then_some(TargetKind::Class), ..ReadSettings::default() };
        let (data, told) = Data::read(task(&self.task), &file, "train", &read).unwrap();
        assert_eq!(told, [""; 0], "{}: nothing is left out", self.name);
        data
    }

    fn settings(&self, of: &Expected) -> FinetuneSettings {
        let mut settings = FinetuneSettings::default();
        let usual = [
            ("steps", self.losses.len().to_string()),
            ("batch", "1000".to_owned()),
            ("rate", of.rate.to_string()),
            ("decay", of.decay.to_string()),
            ("warmup", "0".to_owned()),
            ("course", "constant".to_owned()),
            ("dropout", "0".to_owned()),
            ("part_tokens", "40".to_owned()),
            ("threads", "2".to_owned()),
        ];
        let own = self.settings.iter().map(|(name, value)| (name.as_str(), value.clone()));
        usual.into_iter().chain(own).for_each(|(name, value)| settings.set(name, &value).unwrap());
        settings
    }
}

#[test]
fn each_task_learns_as_the_reference_does() {
    let expected = expected();
    let scratch = tempfile::tempdir().unwrap();
    for case in &expected.cases {
        let data = case.data(scratch.path());
        let from = golden(&case.model);
        let mut run = Finetuning::new(&from, task(&case.task), &data, None, None, case.settings(&expected)).unwrap();
        assert_eq!(run.made(), [""; 0], "{}: the checkpoint has the head", case.name);
        let mut losses = Vec::new();
        let mut watch = |event: Event| {
            if let Event::Step { figures, .. } = event {
                losses.push(figures.get("loss").unwrap());
            }
            Ok(())
        };
        run.run(&scratch.path().join(&case.name), false, &Team::alone(), &Cancel::new(), &mut watch).unwrap();
        let error = |(ours, theirs): (&f64, &f64)| (ours - theirs).abs() / case.losses[0];
        let errors: Vec<f64> = losses.iter().zip(&case.losses).map(error).collect();
        assert_eq!(errors.len(), case.losses.len());
        let later = errors.iter().copied().fold(0.0, f64::max);
        println!("{}: first loss {:.6}, off by {:.1e}, later by {later:.1e}", case.name, losses[0], errors[0]);
        assert!(errors[0] <= FIRST && later <= LATER, "{}: {losses:?}, expected {:?}", case.name, case.losses);
    }
}

/// A run over rows of JSON with the model in `model`, in a folder of its own.
struct Trial {
    folder: tempfile::TempDir,
    model: PathBuf,
}

impl Trial {
    fn new(model: &str) -> Trial {
        Trial { folder: tempfile::tempdir().unwrap(), model: golden(model) }
    }

    fn read(&self, name: &str, task_name: &str, rows: &str) -> cloze::error::Result<Data> {
        let file = self.folder.path().join(name);
        std::fs::write(&file, rows).unwrap();
        Data::read(task(task_name), &file, "train", &ReadSettings::default()).map(|(data, _)| data)
    }

    fn settings(&self, own: &[(&str, &str)]) -> FinetuneSettings {
        let mut settings = FinetuneSettings::default();
        own.iter().for_each(|(name, value)| settings.set(name, value).unwrap());
        settings
    }

    /// Runs until `stop_after` steps.
    fn run(&self, out: &str, finetuning: &mut Finetuning, resume: bool, stop_after: u64) -> Vec<Event> {
        let (stop, mut events) = (Cancel::new(), Vec::new());
        let mut watch = |event: Event| {
            if matches!(event, Event::Step { step, .. } if step >= stop_after) {
                stop.cancel();
            }
            events.push(event);
            Ok(())
        };
        finetuning.run(&self.folder.path().join(out), resume, &Team::alone(), &stop, &mut watch).unwrap();
        events
    }
}

const ROWS: &str = r#"{"text": "the lazy dog", "label": "bad"}
{"text": "a quick brown fox", "label": "good"}
{"text": "the river and the city", "label": "good"}
{"text": "what is the weather", "label": "neither"}
{"text": "my house is slow", "label": "bad"}
"#;

#[test]
fn a_run_that_was_stopped_goes_on_bit_for_bit() {
    let trial = Trial::new("heads/labels-three");
    let begin = || {
        let data = trial.read("train.jsonl", "classify", ROWS).unwrap();
        let settings = trial.settings(&[("batch", "2"), ("epochs", "4"), ("rate", "1e-3"), ("threads", "2")]);
        Finetuning::new(&trial.model, task("classify"), &data, trial.read("dev.jsonl", "classify", ROWS).ok(), None, settings).unwrap()
    };
    let whole = trial.run("whole", &mut begin(), false, u64::MAX);
    trial.run("parts", &mut begin(), false, 5);
    trial.run("parts", &mut begin(), true, u64::MAX);
    let weights = |out: &str| std::fs::read(trial.folder.path().join(out).join("model/model.safetensors")).unwrap();
    assert!(weights("whole") == weights("parts"), "the same bits");
    assert_eq!(whole.iter().filter(|event| matches!(event, Event::Evaluated { .. })).count(), 4, "an evaluation an epoch");
}

#[test]
fn an_evaluation_that_was_stopped_is_made_when_the_run_goes_on() {
    let trial = Trial::new("heads/labels-three");
    let begin = || {
        let data = trial.read("train.jsonl", "classify", ROWS).unwrap();
        let settings = trial.settings(&[("batch", "5"), ("epochs", "3"), ("rate", "1e-3")]);
        Finetuning::new(&trial.model, task("classify"), &data, trial.read("dev.jsonl", "classify", ROWS).ok(), None, settings).unwrap()
    };
    let evaluated = |events: &[Event]| {
        let figures =
            |event: &Event| if let Event::Evaluated { step, figures, .. } = event { Some((*step, figures.clone())) } else { None };
        events.iter().filter_map(figures).collect::<Vec<_>>()
    };
    let whole = evaluated(&trial.run("whole", &mut begin(), false, u64::MAX));
    // The model is saved just before it is tried.
    let (stop, mut events) = (Cancel::new(), Vec::new());
    let mut watch = |event: Event| {
        if matches!(event, Event::Saved { step: 2 }) {
            stop.cancel();
        }
        events.push(event);
        Ok(())
    };
    begin().run(&trial.folder.path().join("parts"), false, &Team::alone(), &stop, &mut watch).unwrap();
    assert_eq!(evaluated(&events), whole[..1], "the second was stopped");
    assert_eq!(evaluated(&trial.run("parts", &mut begin(), true, u64::MAX)), whole[1..], "and is made up for");
}

#[test]
fn what_was_learned_is_what_is_served() {
    let trial = Trial::new("heads/labels-three");
    let data = trial.read("train.jsonl", "classify", ROWS).unwrap();
    let settings = trial.settings(&[("batch", "5"), ("steps", "60"), ("rate", "3e-3"), ("dropout", "0")]);
    let mut finetuning = Finetuning::new(&trial.model, task("classify"), &data, None, None, settings).unwrap();
    assert_eq!(finetuning.made(), ["classifier.weight", "classifier.bias"], "its labels are others");
    trial.run("out", &mut finetuning, false, u64::MAX);
    let model = Model::load(trial.folder.path().join("out/model"), &Options::default()).unwrap();
    let said = |text: &str| model.classify(&[(text, None)], &Request::default()).unwrap().inputs[0].labels[0].label.clone();
    let rows: Vec<serde_json::Value> = ROWS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for row in &rows {
        assert_eq!(said(row["text"].as_str().unwrap()), row["label"].as_str().unwrap());
    }
    let outcome = evaluate(&model, task("classify"), &data, &Request::default()).unwrap();
    assert_eq!((outcome.figures.get("accuracy"), outcome.predictions.len()), (Some(1.0), 5));
    let page = report::page(task("classify"), &outcome, 10);
    assert!(page.contains("accuracy") && page.contains("0 of 5"), "{page}");
}

#[test]
fn a_model_that_becomes_no_better_is_not_taught_on() {
    let trial = Trial::new("heads/labels-three");
    let data = trial.read("train.jsonl", "classify", ROWS).unwrap();
    let settings = trial.settings(&[("batch", "5"), ("epochs", "50"), ("rate", "0"), ("patience", "3")]);
    let held_out = trial.read("dev.jsonl", "classify", ROWS).ok();
    let mut finetuning = Finetuning::new(&trial.model, task("classify"), &data, held_out, None, settings).unwrap();
    let events = trial.run("out", &mut finetuning, false, u64::MAX);
    let steps = events.iter().filter(|event| matches!(event, Event::Step { .. })).count();
    assert_eq!(steps, 4, "one that is the best so far, and three that are no better");
}

#[test]
fn what_does_not_fit_is_named() {
    let trial = Trial::new("heads/labels-three");
    let told = |data: cloze::error::Result<Data>, dev: Option<&str>, settings: &[(&str, &str)]| {
        let held_out = dev.map(|rows| trial.read("dev.jsonl", "classify", rows).unwrap());
        let made = data.and_then(|data| Finetuning::new(&trial.model, task("classify"), &data, held_out, None, trial.settings(settings)));
        made.err().map(|e| e.message().to_owned()).unwrap_or_default()
    };
    let rows = |text: &str| trial.read("train.jsonl", "classify", text);
    let unknown = told(rows(ROWS), Some("{\"text\": \"a\", \"label\": \"good\"}\n{\"text\": \"b\", \"label\": \"strange\"}\n"), &[]);
    assert!(unknown.contains("dev.jsonl, line 2") && unknown.contains("strange"), "{unknown}");
    let one = told(rows("{\"text\": \"a\", \"label\": \"good\"}\n"), None, &[]);
    assert!(one.contains("nothing to tell apart"), "{one}");
    let missing = told(rows("{\"text\": \"a\", \"label\": \"good\"}\n{\"text\": \"b\"}\n"), None, &[]);
    assert!(missing.contains("train.jsonl, line 2") && missing.contains("label"), "{missing}");
    let long = told(rows(ROWS), None, &[("max_length", "4000")]);
    assert!(long.contains("max_length = 4000"), "{long}");
    let lengths = {
        let pairs = trial.read("pairs.jsonl", "encode", "{\"text\": \"a\", \"pair\": \"b\", \"label\": 0.5}\n").unwrap();
        let settings = trial.settings(&[("lengths", "8,99")]);
        Finetuning::new(&trial.model, task("encode"), &pairs, None, None, settings).err().unwrap().message().to_owned()
    };
    assert!(lengths.contains("lengths = 99"), "{lengths}");
    let weights = told(rows(ROWS), None, &[("class_weights", "1,2")]);
    assert!(weights.contains("2 numbers for 3 classes"), "{weights}");
    // A class that only the training file has is no error, and texts of any length are cut.
    let long = format!("{{\"text\": \"{}\", \"label\": \"good\"}}\n{ROWS}", "dog ".repeat(10_000));
    assert_eq!(told(rows(&long), Some("{\"text\": \"a\", \"label\": \"good\"}\n"), &[]), "");
}

#[test]
fn a_teacher_is_listened_to() {
    let trial = Trial::new("heads/labels-three");
    let rows = ROWS.replace("bad", "neutral").replace("good", "entailment").replace("neither", "contradiction");
    let data = trial.read("train.jsonl", "classify", &rows).unwrap();
    let teacher = Model::load(&trial.model, &Options::default()).unwrap();
    // All of the cost is the teacher's, and the student is the teacher: there is nothing to learn.
    let settings = trial.settings(&[("steps", "1"), ("teacher_share", "1"), ("dropout", "0")]);
    let mut finetuning = Finetuning::new(&trial.model, task("classify"), &data, None, Some(&teacher), settings).unwrap();
    let Some(Event::Step { figures, norm, .. }) = trial.run("out", &mut finetuning, false, u64::MAX).into_iter().next() else { panic!() };
    assert!(figures.loss.abs() < 1e-6 && norm < 1e-5, "{figures:?} {norm}");
    let other = trial.read("train.jsonl", "classify", ROWS).unwrap();
    let refused = Finetuning::new(&trial.model, task("classify"), &other, None, Some(&teacher), trial.settings(&[])).err().unwrap();
    assert!(refused.message().contains("the teacher does not know the label \"bad\""), "{refused:?}");
}

#[test]
fn small_matrices_learn_beside_large_ones_and_are_part_of_what_is_written() {
    let trial = Trial::new("heads/labels-three");
    let rows = ROWS.replace("bad", "neutral").replace("good", "entailment").replace("neither", "contradiction");
    let data = trial.read("train.jsonl", "classify", &rows).unwrap();
    let run = |steps: &str, out: &str| {
        let own = [
            ("batch", "5"),
            ("steps", steps),
            ("rate", "1e-2"),
            ("dropout", "0"),
            ("course", "constant"),
            ("lora_rank", "4"),
            ("decay", "0"),
        ];
        let mut finetuning = Finetuning::new(&trial.model, task("classify"), &data, None, None, trial.settings(&own)).unwrap();
        let losses = trial.run(out, &mut finetuning, false, u64::MAX).into_iter().filter_map(|event| match event {
            Event::Step { figures, .. } => Some(figures.loss),
            _ => None,
        });
        losses.collect::<Vec<f64>>()
    };
    let cost =
        |folder: &Path| evaluate(&Model::load(folder, &Options::default()).unwrap(), task("classify"), &data, &Request::default()).unwrap();
    let (few, more) = (run("20", "few"), run("21", "more"));
    assert_eq!(few, more[..20], "the same run");
    assert!((few[0] - cost(&trial.model).figures.loss).abs() < 1e-5, "they add nothing at first");
    let written = trial.folder.path().join("few/model");
    assert!((more[20] - cost(&written).figures.loss).abs() < 1e-5, "what is written is what had learned: {more:?}");
    assert!(more[20] < 0.2 * few[0], "{more:?}");
    let tensors = |folder: &Path| safetensors_of(&folder.join("model.safetensors"));
    let (before, after) = (tensors(&trial.model), tensors(&written));
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "no tensor came or went");
    let moved = |name: &str| before[name] != after[name];
    assert!(moved("bert.encoder.layer.0.attention.self.query.weight") && moved("classifier.weight"));
    assert!(!moved("bert.embeddings.word_embeddings.weight") && !moved("bert.encoder.layer.0.attention.self.query.bias"), "the rest stays");
}

/// A few sentences whose words have tags, several tokens a word among them.
const TAGGED: &str = "my O\nhouse B-LOC\n\nthe O\nlazyish B-PER\ndogs I-PER\n\nquickest B-PER\nriver B-LOC\n";

#[test]
fn a_tagger_is_served_as_it_was_learned() {
    let trial = Trial::new("models/tiny-gelu");
    let file = trial.folder.path().join("train.conll");
    std::fs::write(&file, TAGGED).unwrap();
    for crf in ["false", "true"] {
        let (data, _) = Data::read(task("tag"), &file, "train", &ReadSettings::default()).unwrap();
        let own = [("batch", "3"), ("steps", "80"), ("rate", "3e-3"), ("dropout", "0"), ("crf", crf)];
        let mut finetuning = Finetuning::new(&trial.model, task("tag"), &data, None, None, trial.settings(&own)).unwrap();
        trial.run(crf, &mut finetuning, false, u64::MAX);
        let folder = trial.folder.path().join(crf).join("model");
        let tensors = safetensors_of(&folder.join("model.safetensors"));
        assert_eq!(tensors.keys().filter(|name| name.starts_with("crf.")).count(), if crf == "true" { 3 } else { 0 });
        let model = Model::load(&folder, &Options::default()).unwrap();
        let outcome = evaluate(&model, task("tag"), &data, &Request::default()).unwrap();
        assert_eq!(outcome.figures.get("f1"), Some(1.0), "crf {crf}: {:?}", outcome.predictions);
        let tagged = |request: &Request| model.tag(&["the lazyish dogs", "quickest river"], request).unwrap().inputs;
        let mut first = Request::default();
        first.set("aggregation", "first").unwrap();
        let said = tagged(&Request::default());
        assert_eq!(said, tagged(&first), "the model's files say how labels become entities");
        let told: Vec<(&str, &str)> = said.iter().flat_map(|text| &text.entities).map(|e| (e.label.as_str(), e.text.as_str())).collect();
        assert_eq!(told, [("PER", "lazyish dogs"), ("PER", "quickest"), ("LOC", "river")], "crf {crf}");
    }
    // A model with transitions learns on with them; a head for other labels, or another task, leaves them behind.
    let from = trial.folder.path().join("true/model");
    let again = |name: &str, data: &Data, own: &[(&str, &str)]| {
        let mut finetuning = Finetuning::new(&from, task(name), data, None, None, trial.settings(own)).unwrap();
        trial.run(&format!("again-{name}-{}", own.len()), &mut finetuning, false, u64::MAX);
        let folder = trial.folder.path().join(format!("again-{name}-{}/model", own.len()));
        Model::load(&folder, &Options::default()).unwrap();
        safetensors_of(&folder.join("model.safetensors")).keys().any(|name| name.starts_with("crf."))
    };
    let (data, _) = Data::read(task("tag"), &file, "train", &ReadSettings::default()).unwrap();
    assert!(again("tag", &data, &[("steps", "1")]));
    let rows = trial.read("train.jsonl", "classify", ROWS).unwrap();
    assert!(!again("classify", &rows, &[("steps", "1")]));
}

#[test]
fn a_model_of_another_kind_is_no_model_of_vectors_to_learn() {
    for (model, word) in [("models/tiny-dense", "dense layer"), ("late/colbert", "late-interaction"), ("models/tiny-prompts", "")] {
        let trial = Trial::new(model);
        if !trial.model.exists() {
            panic!("{model} is not there");
        }
        let pairs = trial.read("pairs.jsonl", "encode", "{\"text\": \"a\", \"pair\": \"b\", \"label\": 0.5}\n").unwrap();
        let told = Finetuning::new(&trial.model, task("encode"), &pairs, None, None, trial.settings(&[])).err();
        let told = told.map(|e| e.message().to_owned()).unwrap_or_default();
        assert!(word.is_empty() || (told.contains("task encode learns one vector a text") && told.contains(word)), "{model}: {told}");
    }
}

#[test]
fn vectors_learn_and_are_written_by_the_models_own_modules() {
    for (model, module) in
        [("models/tiny-subfolder", "1_Pooling"), ("gguf/tiny-gelu.gguf", "1_Pooling"), ("gguf/xlm-roberta.gguf", "1_Pooling")]
    {
        let trial = Trial::new(model);
        let pairs = trial.read("pairs.jsonl", "encode", "{\"text\": \"a dog\", \"pair\": \"b\", \"label\": 0.5}\n").unwrap();
        let mut finetuning =
            Finetuning::new(&trial.model, task("encode"), &pairs, None, None, trial.settings(&[("steps", "1"), ("rate", "0")])).unwrap();
        trial.run("out", &mut finetuning, false, u64::MAX);
        let written = trial.folder.path().join("out/model");
        assert!(written.join(module).join("config.json").exists(), "{model}");
        let config: serde_json::Value = serde_json::from_slice(&std::fs::read(written.join("tokenizer_config.json")).unwrap()).unwrap();
        assert!(config["tokenizer_class"].is_string() && config["pad_token"].is_string(), "{model}: {config}");
        // Nothing moved, so that the vectors are those of the model before.
        let vector = |path: &Path| {
            let found = Model::load(path, &Options::default()).unwrap().encode(&["the lazy dog"], &Request::default()).unwrap();
            found.vectors.as_f32().unwrap().to_vec()
        };
        let (before, after) = (vector(&trial.model), vector(&written));
        assert_eq!(before.len(), after.len());
        assert!(before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-4), "{model}");
    }
}

/// The bytes of each tensor of a file.
fn safetensors_of(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let bytes = std::fs::read(path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    file.tensors().into_iter().map(|(name, view)| (name, view.data().to_vec())).collect()
}
