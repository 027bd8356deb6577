//! Do small models of every shape give the reference libraries' answers, on every instruction set?
//!
//! `tests/golden/make/models.py` made the folders in `tests/golden/models` and wrote down, beside each, what `transformers` and
//! `sentence-transformers` answer: token ids, hidden states of every layer, sentence vectors. A case is a list of request
//! settings, texts, and their vectors; one loop runs them all. `cargo test --test golden -- --nocapture` prints the worst
//! error of each model.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cloze::engine::{Batch, Control, Precision};
use cloze::formats::{Source, huggingface};
use cloze::model::{Encoder, Output, Setup};
use cloze::{LayerChoice, Model, Options, Request, Tokens, Vectors};
use serde::Deserialize;

/// Largest error allowed, in units of the root mean square of the answer (fp32 itself is 1e-6 to 3e-6 away from float64 here).
const TOLERANCE: f64 = 2e-5;

/// `expected.json` of a folder.
#[derive(Deserialize)]
struct Expected {
    texts: Vec<String>,
    ids: Vec<Vec<u32>>,
    totals: Vec<usize>,
    limit: usize,
    pairs: Vec<(String, String)>,
    pair_ids: Vec<Vec<u32>>,
    pair_type_ids: Vec<Vec<u32>>,
    values: usize,
    cases: Vec<Case>,
}

/// Texts encoded with some settings, and where their vectors are in `expected.f32`.
#[derive(Deserialize)]
struct Case {
    what: String,
    set: std::collections::BTreeMap<String, String>,
    texts: Vec<usize>,
    #[serde(default)]
    pairs: Vec<usize>,
    rows: Vec<usize>,
    dimensions: usize,
    at: usize,
}

/// A folder with its answers.
struct Golden {
    name: String,
    path: PathBuf,
    expected: Expected,
    values: Vec<f32>,
}

fn goldens() -> Vec<Golden> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/models");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 16, "a folder is missing: run tests/golden/make/models.py");
    paths.into_iter().map(golden).collect()
}

fn golden(path: PathBuf) -> Golden {
    let expected: Expected = serde_json::from_slice(&std::fs::read(path.join("expected.json")).unwrap()).unwrap();
    let bytes = std::fs::read(path.join("expected.f32")).unwrap();
    let values: Vec<f32> = bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    assert_eq!(values.len(), expected.values, "{}", path.display());
    Golden { name: path.file_name().unwrap().to_string_lossy().into_owned(), path, expected, values }
}

/// Whether this machine has `isa`, asked independently of the library.
fn machine_has(isa: &str) -> bool {
    match isa {
        #[cfg(target_arch = "x86_64")]
        "avx512" => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl"),
        #[cfg(target_arch = "x86_64")]
        "avx2" => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
        name => name == "portable" || name == "reference",
    }
}

/// Largest error of `got`, in units of the root mean square of `want`.
fn error(got: &[f32], want: &[f32]) -> f64 {
    let squares: f64 = want.iter().map(|v| f64::from(*v).powi(2)).sum();
    let rms = (squares / want.len() as f64).sqrt();
    let worst =
        got.iter().zip(want).map(|(a, b)| (f64::from(*a) - f64::from(*b)).abs()).fold(0f64, |m, e| if e > m || e.is_nan() { e } else { m });
    if rms > 0.0 { worst / rms } else { worst }
}

fn request(case: &Case) -> Request {
    let mut request = Request::default();
    for (name, value) in &case.set {
        request.set(name, value).unwrap();
    }
    request
}

impl Golden {
    /// Worst error of a case, or what else is wrong with the answer.
    fn check(&self, model: &Model, case: &Case) -> Result<f64, String> {
        let texts: Vec<&str> = case.texts.iter().map(|t| self.expected.texts[*t].as_str()).collect();
        let answer = model.encode(&texts, &request(case)).map_err(|e| e.to_string())?;
        let Vectors::F32(got) = &answer.vectors else { return Err("not f32".into()) };
        let rows: Vec<usize> = answer.texts.iter().map(|t| t.rows.len()).collect();
        if (answer.dimensions, &rows, answer.finished) != (case.dimensions, &case.rows, texts.len()) {
            return Err(format!("{} x {rows:?} values instead of {} x {:?}", answer.dimensions, case.dimensions, case.rows));
        }
        Ok(self.worst(case, got))
    }

    /// Worst error over the texts of a case, each measured against its own root mean square.
    fn worst(&self, case: &Case, got: &[f32]) -> f64 {
        let mut at = 0;
        let errors = case.rows.iter().map(|rows| {
            let range = at..at + rows * case.dimensions;
            at = range.end;
            error(&got[range.clone()], &self.values[case.at..][range])
        });
        errors.fold(0f64, |m, e| if e > m || e.is_nan() { e } else { m })
    }

    /// Worst error of the hidden states of pairs. No task of this version takes pairs yet, so the encoder is asked itself.
    fn check_pairs(&self, case: &Case, isa: &str) -> Result<f64, String> {
        let run = || -> cloze::Result<Vec<f32>> {
            let mut folder = huggingface::open(&Source::open(&self.path)?)?;
            let setup = Setup { isa: Some(isa), precision: Some(Precision::F32), sample: &|| Ok(Vec::new()) };
            let encoder = Encoder::new(&folder.config, folder.weights, &mut folder.sentence, &setup)?;
            let graph = encoder.graph(&Output::Tokens(LayerChoice::Last))?;
            let mut batch = Batch::default();
            case.pairs.iter().for_each(|p| batch.push(&self.expected.pair_ids[*p], &self.expected.pair_type_ids[*p], 0));
            let values = encoder.engine().run(&graph, &Arc::new(batch), 1, &Control::default())?;
            Ok(values.unwrap_or_default())
        };
        run().map(|values| self.worst(case, &values)).map_err(|e| e.to_string())
    }

    /// All cases on one instruction set: the worst error, and every case that is wrong.
    fn run(&self, model: &Model, isa: &str, wrong: &mut Vec<String>) {
        let mut worst = (0.0, "");
        for case in &self.expected.cases {
            let error = if case.pairs.is_empty() { self.check(model, case) } else { self.check_pairs(case, isa) };
            match error {
                Ok(e) if e <= TOLERANCE => worst = if e > worst.0 { (e, &case.what) } else { worst },
                Ok(e) => wrong.push(format!("{} on {isa}, {}: error {e:.1e} x rms", self.name, case.what)),
                Err(problem) => wrong.push(format!("{} on {isa}, {}: {problem}", self.name, case.what)),
            }
        }
        println!("{:<16} {isa:<9} worst error {:.1e} x rms ({})", self.name, worst.0, worst.1);
    }
}

/// Runs every folder on `isa`, or says aloud that this machine cannot.
fn every_folder_on(isa: &str) {
    let options = Options { isa: Some(isa.into()), ..Options::default() };
    let mut wrong = Vec::new();
    for golden in goldens() {
        match Model::load(&golden.path, &options) {
            Ok(model) => {
                assert_eq!(model.describe().isa, isa);
                golden.run(&model, isa, &mut wrong);
            }
            Err(e) if machine_has(isa) => wrong.push(format!("{} on {isa}: {e}", golden.name)),
            Err(e) => {
                // Straight to the stream: the test runner would swallow a print of a test that passes.
                std::io::stderr().write_all(format!("SKIPPED: this machine lacks {isa} ({e})\n").as_bytes()).unwrap();
                return;
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_folder_gives_the_reference_answers_on_avx512() {
    every_folder_on("avx512");
}

#[test]
fn every_folder_gives_the_reference_answers_on_avx2() {
    every_folder_on("avx2");
}

#[test]
fn every_folder_gives_the_reference_answers_on_portable() {
    every_folder_on("portable");
}

#[test]
fn every_folder_gives_the_reference_answers_on_reference() {
    every_folder_on("reference");
}

fn tokens(model: &Model, text: &str, pair: Option<&str>) -> Tokens {
    let mut all = model.tokenize(&[(text, pair)], &Request::default()).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn token_ids_segments_and_totals_are_the_reference_tokenizers() {
    for golden in goldens() {
        let (model, expected) = (Model::load(&golden.path, &Options::default()).unwrap(), &golden.expected);
        assert_eq!(model.describe().max_tokens, expected.limit, "{}", golden.name);
        for (i, text) in expected.texts.iter().enumerate() {
            let got = tokens(&model, text, None);
            assert_eq!((&got.ids, got.total), (&expected.ids[i], expected.totals[i]), "{}: {text:?}", golden.name);
            assert_eq!(got.truncated, expected.totals[i] > expected.limit, "{}: {text:?}", golden.name);
            let report = &model.encode(&[text], &Request::default()).unwrap().texts[0];
            assert_eq!((report.tokens, report.total, report.truncated), (got.ids.len(), got.total, got.truncated));
        }
        for (i, (first, second)) in expected.pairs.iter().enumerate() {
            let got = tokens(&model, first, Some(second));
            assert_eq!(got.ids, expected.pair_ids[i], "{}: {first:?}, {second:?}", golden.name);
            assert_eq!(got.type_ids, expected.pair_type_ids[i], "{}: {first:?}, {second:?}", golden.name);
        }
    }
}

#[test]
fn a_model_opens_from_memory_as_from_its_folder() {
    for golden in goldens() {
        let files = files_below(&golden.path, "");
        let (disk, memory) = (Model::load(&golden.path, &Options::default()), Model::load_files(files, &Options::default()));
        let vectors = |model: Model| model.encode(&golden.expected.texts, &Request::default()).unwrap().vectors;
        assert_eq!(vectors(disk.unwrap()), vectors(memory.unwrap()), "{}", golden.name);
    }
}

#[test]
fn other_number_types_are_the_f32_vectors_converted() {
    let golden = goldens().into_iter().find(|g| g.name == "tiny-gelu").unwrap();
    let model = Model::load(&golden.path, &Options::default()).unwrap();
    let encode = |output: &str, dimensions: &str| {
        let mut request = Request::default();
        request.set("output", output).unwrap();
        request.set("dimensions", dimensions).unwrap();
        model.encode(&golden.expected.texts, &request).unwrap().vectors
    };
    for dimensions in [48, 11] {
        let plain = encode("f32", &dimensions.to_string());
        let rows = || plain.as_f32().unwrap().chunks(dimensions);
        let half: Vec<u16> = rows().flatten().map(|v| half::f16::from_f32(*v).to_bits()).collect();
        assert_eq!(encode("f16", &dimensions.to_string()), Vectors::F16(half));
        let bit = |bits: &[f32]| (0..8).map(|i| u8::from(bits.get(i).is_some_and(|v| *v > 0.0)) << (7 - i)).sum::<u8>();
        let bits: Vec<u8> = rows().flat_map(|row| row.chunks(8).map(bit).collect::<Vec<_>>()).collect();
        assert_eq!(encode("binary", &dimensions.to_string()), Vectors::Binary(bits));
        let Vectors::Int8 { values, scales } = encode("int8", &dimensions.to_string()) else { panic!("not int8") };
        for ((row, scale), q) in rows().zip(scales).zip(values.chunks(dimensions)) {
            assert!(row.iter().zip(q).all(|(v, q)| (v - f32::from(*q) * scale).abs() <= scale * 0.501), "{row:?}: {q:?} x {scale}");
        }
    }
}

/// The files of a folder with their names relative to it.
fn files_below(folder: &Path, prefix: &str) -> Vec<(String, Vec<u8>)> {
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
