//! How does what was learned become a folder that `transformers` and `cloze` open?
//!
//! config.json, model.safetensors and the tokenizer's files, written as a whole or not at all. Tensors have the names and shapes that the
//! family's loader took them by.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::engine::cpu::Learner;
use crate::engine::graph::WeightId;
use crate::error::{Error, ErrorKind, Result};
use crate::formats::atomic::AtomicFolder;
use crate::formats::{Source, TensorPlan, huggingface, safetensors};
use crate::model::Learnable;
use crate::quant::{Bytes, Dtype};

/// The files of a tokenizer that go with a model, models of SentencePiece aside.
const TOKENIZER: &[&str] =
    &["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt"];

/// The small files that every model of a run has.
pub(super) struct Companions {
    pub config: Value,
    files: Vec<(String, Bytes)>,
}

impl Companions {
    /// `config`, and the tokenizer's files in `source`.
    pub(super) fn new(config: Value, source: &Source) -> Result<Companions> {
        let mut files = Vec::new();
        for name in TOKENIZER.iter().chain(huggingface::PIECES) {
            if let Some(bytes) = source.read(name)? {
                files.push(((*name).to_owned(), bytes));
            }
        }
        Ok(Companions { config, files })
    }

    /// Names the class whose heads the model has, as far as what config.json says allows it to be told.
    pub(super) fn name_class(&mut self, pairs: bool) {
        let Some(said) = self.config["architectures"][0].as_str() else { return };
        let family = said.split("For").next().unwrap_or(said);
        let family = family.strip_suffix("Model").unwrap_or(family);
        self.config["architectures"] = json!([format!("{family}{}", if pairs { "ForPreTraining" } else { "ForMaskedLM" })]);
    }

    /// Writes the model into `target`, in place of an earlier one.
    pub(super) fn write(&self, target: &Path, model: &Learnable, learner: &Learner) -> Result<()> {
        let names = self.files.iter().map(|(name, _)| name.clone());
        let ours: BTreeSet<String> = names.chain(["config.json", "model.safetensors"].map(str::to_owned)).collect();
        let folder = AtomicFolder::replacing(target, ours)?;
        let mut config = self.config.clone();
        config["dtype"] = json!("float32");
        let text = serde_json::to_vec_pretty(&config).map_err(|e| Error::new(ErrorKind::InvalidArgument, e.to_string()))?;
        write_file(&folder, "config.json", &text)?;
        for (name, bytes) in &self.files {
            write_file(&folder, name, bytes)?;
        }
        let mut file = folder.file("model.safetensors")?;
        safetensors::write(&mut file, &plans(model), |plan| tensor(model, learner, plan), |_| {})?;
        file.commit()?;
        folder.commit()
    }
}

fn write_file(folder: &AtomicFolder, name: &str, bytes: &[u8]) -> Result<()> {
    let mut file = folder.file(name)?;
    file.write_all(bytes).map_err(|e| Error::new(ErrorKind::Io, format!("{name}: {e}")))?;
    file.commit()
}

fn plans(model: &Learnable) -> Vec<TensorPlan> {
    let parts = (0..model.weights().len()).flat_map(|id| model.parts(WeightId(id)));
    parts.map(|part| TensorPlan { name: part.name.clone(), dtype: Dtype::F32, shape: part.shape.clone() }).collect()
}

/// The numbers of a planned tensor.
fn tensor(model: &Learnable, learner: &Learner, plan: &TensorPlan) -> Result<Bytes> {
    for id in (0..model.weights().len()).map(WeightId) {
        let mut from = 0;
        for part in model.parts(id) {
            let count: usize = part.shape.iter().product();
            if part.name == plan.name {
                let numbers = learner.weight(id);
                return Ok(Bytes::owned(numbers[from..from + count].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()));
            }
            from += count;
        }
    }
    Err(Error::new(ErrorKind::InvalidTensor, format!("tensor {:?} is none of the model's", plan.name)))
}
