//! A folder with safetensors, what it answers, and the same folder with another checkpoint in its place.

use std::path::{Path, PathBuf};
use std::process::Command;

use cloze::formats::convert::Contents;
use cloze::formats::{Source, huggingface};
use cloze::{Model, Options, Request, Vectors};
use serde::Deserialize;

/// In units of the largest number of an answer.
const TOLERANCE: f32 = 2e-5;

pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/checkpoints").join(name)
}

pub type Files = Vec<(String, Vec<u8>)>;

/// The files of a folder with their names relative to it.
pub fn files_below(folder: &Path, prefix: &str) -> Files {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            files.extend(files_below(&path, &format!("{name}/")));
        } else {
            files.push((name, std::fs::read(&path).unwrap()));
        }
    }
    files
}

#[derive(Deserialize)]
struct Expected {
    texts: Vec<String>,
    vectors: Vec<Vec<f32>>,
    logits: Vec<Vec<f32>>,
    pairs: Vec<(String, String)>,
    follows: Vec<Vec<f32>>,
}

/// Everything that a model answers here.
#[derive(Debug, PartialEq)]
pub struct Answers {
    vectors: Vectors,
    tokens: Vectors,
    logits: Vec<Vec<u32>>,
}

pub struct Base {
    name: &'static str,
    files: Files,
    expected: Expected,
}

impl Base {
    pub fn of(name: &'static str) -> Base {
        let mut files = files_below(&golden(name), "");
        let at = files.iter().position(|(name, _)| name == "expected.json").unwrap();
        let (_, expected) = files.swap_remove(at);
        Base { name, files, expected: serde_json::from_slice(&expected).unwrap() }
    }

    pub fn files(&self) -> Files {
        self.files.clone()
    }

    /// The folder with the files of `variant` in place of model.safetensors.
    pub fn with(&self, variant: Files) -> Files {
        let mut files = self.files();
        files.retain(|(name, _)| name != "model.safetensors" && !variant.iter().any(|(other, _)| other == name));
        files.extend(variant);
        files
    }

    pub fn answers(&self, model: &Model) -> Answers {
        let mut tokens = Request::default();
        tokens.set("vectors", "token").unwrap();
        let vectors = |request: &Request| model.encode(&self.expected.texts, request).unwrap().vectors;
        Answers { vectors: vectors(&Request::default()), tokens: vectors(&tokens), logits: self.logits(model) }
    }

    /// The head's numbers, as bits.
    fn logits(&self, model: &Model) -> Vec<Vec<u32>> {
        match self.name {
            "classifier" => {
                let texts: Vec<(&str, Option<&str>)> = self.expected.texts.iter().map(|text| (text.as_str(), None)).collect();
                let mut inputs = model.classify(&texts, &Request::default()).unwrap().inputs;
                inputs.iter_mut().for_each(|input| input.labels.sort_by_key(|label| label.id));
                inputs.iter().map(|input| input.labels.iter().map(|label| label.logit.to_bits()).collect()).collect()
            }
            "pretraining" => {
                let follows = model.next_sentence(&self.expected.pairs, &Request::default()).unwrap();
                follows.pairs.iter().map(|pair| pair.logits.map(f32::to_bits).to_vec()).collect()
            }
            _ => Vec::new(),
        }
    }

    pub fn matches_the_reference(&self) {
        let model = Model::load_files(self.files(), &Options::default()).unwrap();
        let answers = self.answers(&model);
        let got = answers.vectors.as_f32().unwrap();
        let want: Vec<f32> = self.expected.vectors.concat();
        close(&format!("{}: vectors", self.name), got, &want);
        let logits: Vec<f32> = answers.logits.concat().into_iter().map(f32::from_bits).collect();
        close(&format!("{}: logits", self.name), &logits, &[self.expected.logits.concat(), self.expected.follows.concat()].concat());
    }

    /// Opens the folder with the files of the folder `variant`, from memory, from disk, and by way of `cloze convert`; each must answer
    /// as the safetensors do.
    pub fn same_from(&self, variant: &Path) {
        self.same(&variant.display().to_string(), self.with(files_below(variant, "")));
    }

    pub fn same(&self, what: &str, files: Files) {
        let load = |files: Files| Model::load_files(files, &Options::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
        let want = self.answers(&load(self.files()));
        assert_eq!(self.answers(&load(files.clone())), want, "{what}, from memory");
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("model");
        put(&folder, &files);
        let open = |path: &Path| Model::load(path, &Options::default()).unwrap_or_else(|e| panic!("{what}, {}: {e}", path.display()));
        assert_eq!(self.answers(&open(&folder)), want, "{what}, from disk");
        for out in ["folder", "file.gguf"] {
            let out = place.path().join(out);
            run(&["convert", "-m", path(&folder), "-o", path(&out)]);
            let model = open(&out);
            assert_eq!(self.answers(&model), want, "{what}, converted to {}", out.display());
            let described = |model: &Model| serde_json::to_value(model.describe()).unwrap();
            let mut original = described(&load(self.files()));
            original["parameters"] = described(&model)["parameters"].clone(); // a head that is not in the file
            assert_eq!(described(&model), original, "{what}: pooling, prompts, labels, limits");
        }
        run(&["verify", "-m", path(&place.path().join("file.gguf"))]);
        run(&["inspect", "-m", path(&folder)]);
        self.same_tensors(what, &files, &place.path().join("folder"));
    }

    /// Of what is in the base, each tensor of the folder `out` is the same.
    fn same_tensors(&self, what: &str, files: &Files, out: &Path) {
        let base = huggingface::open(&Source::memory(self.files()).unwrap()).unwrap().weights;
        let read = huggingface::open(&Source::memory(files.clone()).unwrap()).unwrap().weights;
        let converted = huggingface::open(&Source::open(out).unwrap()).unwrap().weights;
        assert!(Contents::of(&Source::open(out).unwrap()).unwrap().items.len() >= 30, "{what}");
        for (name, tensor) in base.iter() {
            for (which, weights) in [("read", &read), ("converted", &converted)] {
                let bare = name.strip_prefix("bert.").unwrap_or(name);
                // Of parameters with the same numbers, exporters keep one name.
                let tied = name.replace("predictions.bias", "predictions.decoder.bias");
                // Keras writes the trunk's name before that of every tensor.
                let whole = format!("bert.{name}");
                let other = weights
                    .get(name)
                    .or_else(|| weights.get(bare))
                    .or_else(|| weights.get(&tied))
                    .or_else(|| weights.get(&whole))
                    .unwrap_or_else(|| panic!("{what}, {which}: {name} is missing"));
                assert_eq!((other.shape(), other.to_f32()), (tensor.shape(), tensor.to_f32()), "{what}, {which}: {name}");
            }
        }
    }
}

fn close(what: &str, got: &[f32], want: &[f32]) {
    assert_eq!(got.len(), want.len(), "{what}");
    let largest = want.iter().fold(1e-30f32, |m, v| m.max(v.abs()));
    let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs() / largest).fold(0f32, f32::max);
    println!("{what}: worst error {worst:.1e}");
    assert!(worst <= TOLERANCE, "{what}: {worst:.1e}");
}

pub fn put(folder: &Path, files: &Files) {
    for (name, bytes) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

pub fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What `cloze` prints; its failure is the test's.
pub fn run(arguments: &[&str]) -> String {
    let (good, out, err) = try_run(arguments);
    assert!(good, "cloze {}: {err}", arguments.join(" "));
    out
}

pub fn try_run(arguments: &[&str]) -> (bool, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_cloze")).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (out.status.success(), text(out.stdout), text(out.stderr))
}
