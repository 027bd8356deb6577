//! `cloze inspect`: what is in this model's files, and does it open?
//!
//! Reads the folder through [`crate::formats`] and then opens it as a model. A folder that does not open is described as far
//! as it can be read; the reason goes to standard error and the exit code is 1.

use clap::{ArgMatches, Command};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::output::{Out, excerpt};
use super::{Outcome, Verb, flags};
use crate::error::Result;
use crate::formats::{Source, Weights, huggingface, safetensors};
use crate::tasks::{Description, Memory};

pub(super) const VERB: Verb = Verb {
    name: "inspect",
    about: "A model's files: dimensions, limits, pooling, prompts, tokenizer, tensors; says why a folder does not open",
    examples: "Examples:
  cloze inspect -m models/minilm
  cloze inspect -m models/minilm --json | jq .model

Every tensor is read and searched for values that are not finite.",
    build,
    run,
};

fn build(command: Command) -> Command {
    flags::with_model(command).arg(flags::json())
}

fn run(matches: &ArgMatches) -> Outcome {
    let path = flags::model_path(matches);
    let mut report = Report::new(path.display().to_string());
    let problem = report.read_files(&Source::open(path)?).err();
    let problem = match flags::open_model(matches) {
        Ok(model) => {
            report.model = Some(model.describe().clone());
            report.memory = Some(model.memory());
            problem
        }
        Err(error) => Some(error),
    };
    let mut out = Out::new();
    if matches.get_flag("json") {
        report.error = problem.as_ref().map(|e| e.message().to_owned());
        out.json(&report)?;
    } else {
        report.readable(&mut out)?;
    }
    out.flush()?;
    problem.map_or(Ok(()), |error| Err(error.into()))
}

/// What the files say.
#[derive(Serialize)]
struct Report {
    path: String,
    /// The model as it works, where it opens.
    model: Option<Description>,
    memory: Option<Memory>,
    tokenizer: Option<String>,
    /// The files' own words, by file name.
    files: Map<String, Value>,
    totals: Totals,
    tensors: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize, Default)]
struct Totals {
    tensors: usize,
    parameters: usize,
    bytes: usize,
    not_finite: usize,
}

#[derive(Serialize)]
struct Row {
    name: String,
    dtype: &'static str,
    shape: Vec<usize>,
    bytes: usize,
    /// Values that are NaN or infinite.
    not_finite: usize,
}

/// Small files that say how the model is meant to be used.
const SHOWN: &[&str] = &[
    "config.json",
    "modules.json",
    "1_Pooling/config.json",
    "2_Dense/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "tokenizer_config.json",
];

impl Report {
    fn new(path: String) -> Report {
        Report {
            path,
            model: None,
            memory: None,
            tokenizer: None,
            files: Map::new(),
            totals: Totals::default(),
            tensors: Vec::new(),
            error: None,
        }
    }

    /// Reads what can be read; the error is the first thing that cannot.
    fn read_files(&mut self, source: &Source) -> Result<()> {
        let mut first = Ok(());
        for name in SHOWN {
            match source.json(name) {
                Ok(Some(value)) => drop(self.files.insert((*name).to_owned(), value)),
                Ok(None) => {}
                Err(error) => first = first.and(Err(error)),
            }
        }
        match huggingface::open(source) {
            Ok(folder) => {
                self.tokenizer = tokenizer(&folder.tokenizer);
                self.add(&folder.weights, "");
                for dense in &folder.sentence.dense {
                    self.add(&dense.weights, &format!("{}/", dense.name));
                }
                first
            }
            Err(error) => {
                // The tensors may be readable all the same.
                let mut weights = Weights::default();
                if let Ok(Some(bytes)) = source.read("model.safetensors") {
                    let _ = safetensors::read("model.safetensors", &bytes, &mut weights);
                }
                self.add(&weights, "");
                first.and(Err(error))
            }
        }
    }

    fn add(&mut self, weights: &Weights, prefix: &str) {
        for (name, tensor) in weights.iter() {
            let mut row = vec![0f32; tensor.row_len()];
            let mut not_finite = 0;
            for index in 0..if tensor.dtype().is_float() { tensor.rows() } else { 0 } {
                tensor.row(index, &mut row);
                not_finite += row.iter().filter(|v| !v.is_finite()).count();
            }
            let (shape, bytes) = (tensor.shape().to_vec(), tensor.bytes().len());
            self.totals.tensors += 1;
            self.totals.parameters += shape.iter().product::<usize>();
            self.totals.bytes += bytes;
            self.totals.not_finite += not_finite;
            self.tensors.push(Row { name: format!("{prefix}{name}"), dtype: tensor.dtype().name(), shape, bytes, not_finite });
        }
    }

    fn readable(&self, out: &mut Out) -> Outcome {
        out.line(&self.path)?;
        for (label, words) in self.summary() {
            out.line(format!("  {label:<12} {words}"))?;
        }
        for (name, value) in &self.files {
            out.line("")?;
            out.line(name)?;
            for (key, value) in entries(value) {
                out.line(format!("  {key:<30} {}", excerpt(&value.to_string(), 90)))?;
            }
        }
        let Totals { tensors, parameters, bytes, not_finite } = self.totals;
        out.line("")?;
        out.line(format!("{tensors} tensors, {parameters} numbers, {}", megabytes(bytes)))?;
        if not_finite > 0 {
            out.line(format!("{not_finite} numbers are NaN or infinite: this file is damaged"))?;
        }
        for row in &self.tensors {
            let shape = row.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
            let note = if row.not_finite > 0 { format!("  {} NaN or infinite", row.not_finite) } else { String::new() };
            out.line(format!("  {:<5} {shape:>14} {:>10}  {}{note}", row.dtype, megabytes(row.bytes), row.name))?;
        }
        Ok(())
    }

    /// The model in a few lines.
    fn summary(&self) -> Vec<(&'static str, String)> {
        let tokenizer = self.tokenizer.iter().map(|t| ("tokenizer", t.clone()));
        let Some(m) = &self.model else { return tokenizer.collect() };
        let prompts: Vec<String> = m.prompts.iter().map(|(name, text)| format!("{name} = {text:?}")).collect();
        let cut = format!("at most {} tokens, cut on the {}; positions for {}", m.max_tokens, m.truncation, m.positions);
        let vector = format!("{} values, pooling {}{}", m.dimensions, m.pooling.join(" + "), if m.normalize { ", length 1" } else { "" });
        let mut lines = vec![
            (
                "family",
                format!("{}, {} layers, hidden {}, {} heads, feed-forward {}", m.family, m.layers, m.hidden, m.heads, m.intermediate),
            ),
            ("input", cut),
            ("vector", vector),
            ("runs as", format!("{} on {}, {} threads", m.precision, m.isa, m.threads)),
        ];
        if !prompts.is_empty() {
            let default = m.default_prompt.as_ref().map(|name| format!("; {name} unless asked otherwise")).unwrap_or_default();
            lines.push(("prompts", prompts.join(", ") + &default));
        }
        if let Some(memory) = &self.memory {
            lines.push((
                "memory",
                format!("{} mapped from the file, {} of its own", megabytes(memory.weights_mapped), megabytes(memory.weights_owned)),
            ));
        }
        lines.extend(tokenizer);
        lines
    }
}

/// The entries of an object, or the items of a list by number.
fn entries(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect(),
        other => vec![(String::new(), other)],
    }
}

fn megabytes(bytes: usize) -> String {
    match bytes {
        0..100_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Which file the tokenizer comes from, and of which kind it is.
fn tokenizer(files: &huggingface::TokenizerFiles) -> Option<String> {
    if let Some(bytes) = &files.json {
        let value: Value = serde_json::from_slice(bytes).unwrap_or(json!(null));
        let kind = value["model"]["type"].as_str().unwrap_or("of unknown kind");
        let entries = value["model"]["vocab"].as_object().map(|v| format!(", {} entries", v.len())).unwrap_or_default();
        return Some(format!("tokenizer.json, {kind}{entries}"));
    }
    let vocab = files.vocab.as_ref()?;
    let lines = vocab.iter().filter(|b| **b == b'\n').count() + usize::from(vocab.last().is_some_and(|b| *b != b'\n'));
    Some(format!("vocab.txt, WordPiece, {lines} entries"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_given_in_a_unit_that_shows_them() {
        assert_eq!(megabytes(1536), "1.5 kB");
        assert_eq!(megabytes(46_881_792), "46.9 MB");
    }

    #[test]
    fn a_folder_that_does_not_open_is_described_as_far_as_it_can_be() {
        let files = vec![("config.json".to_owned(), br#"{"model_type":"bert"}"#.to_vec()), ("modules.json".to_owned(), b"[".to_vec())];
        let mut report = Report::new("here".to_owned());
        let error = report.read_files(&Source::memory(files).unwrap()).unwrap_err();
        assert!(error.message().contains("modules.json"), "{error}");
        assert_eq!(report.files["config.json"]["model_type"], "bert");
        assert_eq!(report.totals.tensors, 0);
    }
}
