//! `cloze inspect`: what is in this model's files, and does it open?
//!
//! Reads folder or GGUF file through [`crate::formats`] and then opens it as a model. What does not open is described as far as
//! it can be read; the reason goes to standard error and the exit code is 1, as it is
//! for a model that opens and has numbers that are not finite.

use clap::builder::ArgAction;
use clap::{Arg, ArgMatches, Command};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::output::{Out, excerpt};
use super::settings::Shown;
use super::types::{Types, size};
use super::{Outcome, Verb, flags};
use crate::error::{Error, ErrorKind, Result};
use crate::formats::gguf::Reader;
use crate::formats::{Source, Tensor, Weights, huggingface};
use crate::tasks::{Description, HeadDescription, Memory, Probes, Tolerance};

pub(super) const VERB: Verb = Verb {
    name: "inspect",
    about: "A model's files: dimensions, limits, pooling, prompts, tokenizer, tensors, settings; says why a model does not open",
    examples: "Examples:
  cloze inspect -m models/minilm
  cloze inspect -m models/minilm --json | jq .model
  cloze inspect -m minilm-q8_0.gguf
  cloze inspect -m minilm-q8_0.gguf --json --full | jq .gguf.settings

Every tensor is read and searched for values that are not finite: then, and when the model does not open, the exit
code is 1. Of a GGUF file, tensors have the names that
--tensor of `cloze quantize` takes, and long settings are shortened unless --full asks for all of them.",
    build,
    run,
};

fn build(command: Command) -> Command {
    let full = Arg::new("full").long("full").action(ArgAction::SetTrue).help("Show long settings of a GGUF file as a whole");
    flags::with_model(command).args([full, flags::json()])
}

fn run(matches: &ArgMatches) -> Outcome {
    let path = flags::model_path(matches);
    let mut report = Report::new(path.display().to_string(), matches.get_flag("full"));
    let problem = match Source::open(path) {
        Ok(source) => report.read_files(&source).err(),
        // A GGUF file that is none of a model that we know.
        Err(error) => match Source::open_gguf(path) {
            Ok(reader) => {
                report.add_gguf(&reader);
                Some(error)
            }
            Err(_) => return Err(error.into()),
        },
    };
    let problem = match flags::open_model(matches) {
        Ok(model) => {
            report.model = Some(model.describe().clone());
            report.memory = Some(model.memory());
            problem
        }
        Err(error) => Some(error),
    };
    let problem = problem.or_else(|| report.damage());
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
    #[serde(skip_serializing_if = "Option::is_none")]
    gguf: Option<Gguf>,
    totals: Totals,
    types: Types,
    tensors: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip)]
    full: bool,
}

/// What only a GGUF file has.
#[derive(Serialize)]
struct Gguf {
    version: u32,
    alignment: usize,
    probes: Option<ProbesFound>,
    settings: Shown,
}

#[derive(Serialize)]
struct ProbesFound {
    count: usize,
    dimensions: usize,
    #[serde(flatten)]
    tolerance: Tolerance,
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
    fn new(path: String, full: bool) -> Report {
        Report {
            path,
            full,
            gguf: None,
            types: Types::default(),
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
                if let Some(reader) = source.gguf() {
                    self.add_gguf(reader);
                    return first;
                }
                self.add(&folder.weights, "");
                for dense in &folder.sentence.dense {
                    self.add(&dense.weights, &format!("{}/", dense.name));
                }
                first
            }
            Err(error) => {
                // The tensors may be readable all the same.
                if let Some(reader) = source.gguf() {
                    self.add_gguf(reader);
                    return first.and(Err(error));
                }
                if let Ok(weights) = huggingface::weights(source) {
                    self.add(&weights, "");
                }
                first.and(Err(error))
            }
        }
    }

    fn add(&mut self, weights: &Weights, prefix: &str) {
        weights.iter().for_each(|(name, tensor)| self.add_tensor(format!("{prefix}{name}"), tensor));
    }

    /// The file's own names, in its own order.
    fn add_gguf(&mut self, reader: &Reader) {
        reader.tensors().for_each(|(name, tensor)| self.add_tensor(name.to_owned(), tensor));
        let told = |p: Probes| ProbesFound { count: p.len(), dimensions: p.dimensions(), tolerance: p.tolerance };
        self.gguf = Some(Gguf {
            version: reader.version(),
            alignment: reader.alignment(),
            // `verify` says what is wrong with damaged ones.
            probes: Probes::read(reader.metadata()).ok().flatten().map(told),
            settings: Shown::new(reader.metadata().clone(), self.full),
        });
    }

    fn add_tensor(&mut self, name: String, tensor: &Tensor) {
        let mut row = vec![0f32; tensor.row_len()];
        let mut not_finite = 0;
        for index in 0..if tensor.dtype().is_float() { tensor.rows() } else { 0 } {
            tensor.row(index, &mut row);
            not_finite += row.iter().filter(|v| !v.is_finite()).count();
        }
        let (shape, bytes, dtype) = (tensor.shape().to_vec(), tensor.bytes().len(), tensor.dtype().name());
        self.totals.tensors += 1;
        self.totals.parameters += tensor.elements();
        self.totals.bytes += bytes;
        self.totals.not_finite += not_finite;
        self.types.add(dtype, tensor.elements(), bytes);
        self.tensors.push(Row { name, dtype, shape, bytes, not_finite });
    }

    /// The first tensor with numbers that are not finite: a model that opens may still have such rows of embeddings.
    fn damage(&self) -> Option<Error> {
        let Row { name, not_finite, .. } = self.tensors.iter().find(|row| row.not_finite > 0)?;
        let told = format!("{}: tensor {name:?} has {not_finite} numbers that are NaN or infinite; the model is damaged", self.path);
        Some(Error::new(ErrorKind::NonFinite, told))
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
        self.gguf.as_ref().map_or(Ok(()), |gguf| gguf.readable(self.full, out))?;
        let Totals { tensors, parameters, bytes, not_finite } = self.totals;
        out.line("")?;
        out.line(format!("{tensors} tensors, {parameters} numbers, {}", size(bytes)))?;
        self.types.lines().try_for_each(|line| out.line(line))?;
        if not_finite > 0 {
            out.line(format!("{not_finite} numbers are NaN or infinite: this file is damaged"))?;
        }
        out.line("")?;
        for row in &self.tensors {
            let shape = row.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
            let note = if row.not_finite > 0 { format!("  {} NaN or infinite", row.not_finite) } else { String::new() };
            out.line(format!("  {:<6} {shape:>14} {:>10}  {}{note}", row.dtype, size(row.bytes), row.name))?;
        }
        Ok(())
    }

    /// The model in a few lines.
    fn summary(&self) -> Vec<(&'static str, String)> {
        let tokenizer = self.tokenizer.iter().map(|t| ("tokenizer", t.clone()));
        let Some(m) = &self.model else { return tokenizer.collect() };
        let prompts: Vec<String> = m.prompts.iter().map(|(name, text)| format!("{name} = {text:?}")).collect();
        let cut = match m.layers {
            0 if m.max_tokens == m.positions => "texts of any length".to_owned(),
            0 => format!("at most {} tokens, cut on the {}", m.max_tokens, m.truncation),
            _ => format!("at most {} tokens, cut on the {}; positions for {}", m.max_tokens, m.truncation, m.positions),
        };
        let family = match m.layers {
            0 => format!("{}, a table of {} vectors", m.family, m.vocabulary),
            _ => format!("{}, {} layers, hidden {}, {} heads, feed-forward {}", m.family, m.layers, m.hidden, m.heads, m.intermediate),
        };
        let vector = format!("{} values, pooling {}{}", m.dimensions, m.pooling.join(" + "), if m.normalize { ", length 1" } else { "" });
        let mut lines = vec![
            ("family", family),
            ("input", cut),
            ("vector", vector),
            ("runs as", format!("{} on {}, {} threads", m.precision, m.isa, m.threads)),
        ];
        lines.extend(m.task_heads.iter().map(|head| ("head", head_words(head))));
        if !m.languages.is_empty() {
            lines.push(("languages", m.languages.join(", ")));
        }
        if !prompts.is_empty() {
            let default = m.default_prompt.as_ref().map(|name| format!("; {name} unless asked otherwise")).unwrap_or_default();
            lines.push(("prompts", prompts.join(", ") + &default));
        }
        if let Some(memory) = &self.memory {
            lines.push((
                "memory",
                format!("{} mapped from the file, {} of its own", size(memory.weights_mapped), size(memory.weights_owned)),
            ));
        }
        lines.extend(tokenizer);
        lines
    }
}

impl Gguf {
    fn readable(&self, full: bool, out: &mut Out) -> Outcome {
        out.line("")?;
        out.line(format!("GGUF version {}, tensors aligned to {} bytes", self.version, self.alignment))?;
        match &self.probes {
            Some(ProbesFound { count, dimensions, tolerance: Tolerance { lowest_cosine, largest_error } }) => out.line(format!(
                "  {count} probes of {dimensions} values; `cloze verify` allows a cosine from {lowest_cosine} and an error up to {largest_error}"
            ))?,
            None => out.line("  no probes: `cloze verify` has nothing to compare with")?,
        }
        for (key, words) in self.settings.lines() {
            out.line(format!("  {key:<42} {}", if full { words } else { excerpt(&words, 90) }))?;
        }
        Ok(())
    }
}

/// A head in one line.
fn head_words(head: &HeadDescription) -> String {
    let labels = if head.labels.is_empty() { String::new() } else { format!(" {}", excerpt(&head.labels.join(", "), 60)) };
    let activation = head.declared_activation.as_ref().or(head.activation.as_ref());
    let more = activation.into_iter().chain(&head.aggregation).map(|word| format!(", {word}")).collect::<String>();
    format!("{}: {} outputs{labels}{more}", head.name, head.outputs)
}

/// The entries of an object, or the items of a list by number.
fn entries(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect(),
        other => vec![(String::new(), other)],
    }
}

/// Which file the tokenizer comes from, and of which kind it is.
fn tokenizer(files: &huggingface::TokenizerFiles) -> Option<String> {
    if let Some(bytes) = &files.json {
        let value: Value = serde_json::from_slice(bytes).unwrap_or(json!(null));
        let kind = value["model"]["type"].as_str().unwrap_or("of unknown kind");
        let vocab = &value["model"]["vocab"];
        let entries = vocab.as_object().map(serde_json::Map::len).or_else(|| vocab.as_array().map(Vec::len));
        let entries = entries.map(|n| format!(", {n} entries")).unwrap_or_default();
        return Some(format!("tokenizer.json, {kind}{entries}"));
    }
    if let (None, Some(vocab), Some(_)) = (&files.vocab, &files.vocab_json, &files.merges) {
        let entries = serde_json::from_slice::<Value>(vocab).ok().and_then(|v| Some(format!(", {} entries", v.as_object()?.len())));
        return Some(format!("vocab.json and merges.txt, byte-level BPE{}", entries.unwrap_or_default()));
    }
    if let (None, Some((name, _))) = (&files.vocab, &files.pieces) {
        return Some(format!("{name}, SentencePiece"));
    }
    let vocab = files.vocab.as_ref()?;
    let lines = vocab.iter().filter(|b| **b == b'\n').count() + usize::from(vocab.last().is_some_and(|b| *b != b'\n'));
    Some(format!("vocab.txt, WordPiece, {lines} entries"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_does_not_open_is_described_as_far_as_it_can_be() {
        let files = vec![("config.json".to_owned(), br#"{"model_type":"bert"}"#.to_vec()), ("modules.json".to_owned(), b"[".to_vec())];
        let mut report = Report::new("here".to_owned(), false);
        let error = report.read_files(&Source::memory(files).unwrap()).unwrap_err();
        assert!(error.message().contains("modules.json"), "{error}");
        assert_eq!(report.files["config.json"]["model_type"], "bert");
        assert_eq!(report.totals.tensors, 0);
    }
}
