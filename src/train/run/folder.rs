//! How does what was learned become a folder that `transformers` and `cloze` open?
//!
//! config.json, model.safetensors and the tokenizer's files, written as a whole or not at all. Tensors have the names and shapes that the
//! family's loader took them by.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::engine::cpu::Learner;
use crate::engine::graph::WeightId;
use crate::error::{Error, ErrorKind, Result};
use crate::formats::atomic::AtomicFolder;
use crate::formats::{Source, TensorPlan, huggingface, safetensors};
use crate::model::heads::Kind;
use crate::model::{Learnable, Part};
use crate::quant::{Bytes, Dtype};

/// The files of a tokenizer that go with a model, models of SentencePiece aside.
const TOKENIZER: &[&str] =
    &["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt"];

/// The file of a tokenizer that says which class reads the others.
const TOKENIZER_CONFIG: &str = "tokenizer_config.json";

/// The special tokens that it names, as they are usually written.
const SPECIAL: &[(&str, &[&str])] = &[
    ("unk_token", &["[UNK]", "<unk>"]),
    ("cls_token", &["[CLS]", "<s>"]),
    ("sep_token", &["[SEP]", "</s>"]),
    ("pad_token", &["[PAD]", "<pad>"]),
    ("mask_token", &["[MASK]", "<mask>"]),
];

/// What the classes of a `model_type` begin with in `transformers`.
const CLASSES: &[(&str, &str)] = &[
    ("bert", "Bert"),
    ("roberta", "Roberta"),
    ("camembert", "Camembert"),
    ("xlm-roberta", "XLMRoberta"),
    ("distilbert", "DistilBert"),
    ("electra", "Electra"),
    ("albert", "Albert"),
    ("ernie", "Ernie"),
    ("mpnet", "MPNet"),
    ("modernbert", "ModernBert"),
    ("nomic_bert", "NomicBert"),
    ("gte", "Gte"),
    ("new", "New"),
    ("deberta-v2", "DebertaV2"),
    ("longformer", "Longformer"),
    ("big_bird", "BigBird"),
    ("deberta", "Deberta"),
    ("mobilebert", "MobileBert"),
    ("xlm", "XLM"),
    ("flaubert", "Flaubert"),
    ("gpt2", "GPT2"),
    ("openai-gpt", "OpenAIGPT"),
];

/// The small files that every model of a run has.
pub(in crate::train) struct Companions {
    pub config: Value,
    files: Vec<(String, Bytes)>,
}

impl Companions {
    /// `config`, and the tokenizer's files in the folder `dir` of `source`, empty for its own.
    pub(in crate::train) fn new(config: Value, source: &Source, dir: &str) -> Result<Companions> {
        let mut companions = Companions { config, files: Vec::new() };
        companions.take(source, dir, &[TOKENIZER, huggingface::PIECES].concat())?;
        if !companions.has(TOKENIZER_CONFIG) {
            companions.describe_tokenizer()?;
        }
        Ok(companions)
    }

    /// Takes those of these files that the folder `dir` of `source` has.
    pub(in crate::train) fn take(&mut self, source: &Source, dir: &str, names: &[&str]) -> Result<()> {
        for name in names {
            let path = if dir.is_empty() { (*name).to_owned() } else { format!("{dir}/{name}") };
            if let Some(bytes) = source.read(&path)? {
                self.files.push(((*name).to_owned(), bytes));
            }
        }
        Ok(())
    }

    /// Whether there is a file of this name.
    fn has(&self, name: &str) -> bool {
        self.files.iter().any(|(known, _)| known == name)
    }

    /// Adds the file that `transformers` needs beside tokenizer.json: without it the class of the model's family is taken, which makes another
    /// tokenizer of it. Files from llama.cpp's converter have none.
    fn describe_tokenizer(&mut self) -> Result<()> {
        let Some((_, bytes)) = self.files.iter().find(|(name, _)| name == "tokenizer.json") else { return Ok(()) };
        let wrong = |e: serde_json::Error| Error::new(ErrorKind::InvalidFile, format!("tokenizer.json: {e}"));
        let tokenizer: Value = serde_json::from_slice(bytes).map_err(wrong)?;
        let texts: Vec<&str> =
            tokenizer["added_tokens"].as_array().into_iter().flatten().filter_map(|token| token["content"].as_str()).collect();
        let mut described = json!({"tokenizer_class": "PreTrainedTokenizerFast"});
        for (name, usual) in SPECIAL {
            if let Some(text) = usual.iter().find(|text| texts.contains(text)) {
                described[name] = json!(text);
            }
        }
        if self.config["type_vocab_size"].as_u64().is_some_and(|types| types < 2) {
            described["model_input_names"] = json!(["input_ids", "attention_mask"]);
        }
        self.add(TOKENIZER_CONFIG, described.to_string());
        Ok(())
    }

    /// Adds a file.
    pub(in crate::train) fn add(&mut self, name: &str, text: String) {
        self.files.push((name.to_owned(), Bytes::owned(text.into_bytes())));
    }

    /// Names the class of `transformers` that has these heads.
    pub(in crate::train) fn name_class(&mut self, kinds: &[Kind]) {
        let ending = match self.config["model_type"].as_str() {
            _ if kinds.contains(&Kind::NextToken) => "LMHeadModel",
            Some("xlm" | "flaubert") => "WithLMHeadModel",
            _ if kinds.contains(&Kind::NextSentence) || kinds.contains(&Kind::Replaced) => "ForPreTraining",
            _ => "ForMaskedLM",
        };
        name_class(&mut self.config, ending);
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
        let tensors = tensors(model);
        let plans: Vec<TensorPlan> = tensors.iter().map(|(plan, ..)| plan.clone()).collect();
        let places: HashMap<&str, (WeightId, &Part)> = tensors.iter().map(|(plan, id, part)| (plan.name.as_str(), (*id, *part))).collect();
        let bytes = |plan: &TensorPlan| {
            let (id, part) = places[plan.name.as_str()];
            let width = model.weights()[id.0].tensors[0].row_len();
            Ok(Bytes::owned(bytes_of(&part.taken(&model.learned(learner, id, part.rows.clone()), width))))
        };
        safetensors::write(&mut file, &plans, bytes, |_| {}).map_err(|e| e.within(target.display()))?;
        file.commit()?;
        folder.commit()
    }
}

/// Copies a model that was written into another folder, in place of an earlier one.
///
/// # Errors
/// `Io` where it cannot be read or written; `InvalidArgument` where something else is in the way.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let source = Source::open(from)?;
    let names: BTreeSet<String> = files_below(from, from)?;
    let folder = AtomicFolder::replacing(to, names.clone())?;
    for name in &names {
        if let Some(bytes) = source.read(name)? {
            write_file(&folder, name, &bytes)?;
        }
    }
    folder.commit()
}

/// The files of a folder, by their names relative to `root`.
fn files_below(folder: &Path, root: &Path) -> Result<BTreeSet<String>> {
    let refused = |e: std::io::Error| Error::new(ErrorKind::Io, format!("{}: {e}", folder.display()));
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        if path.is_dir() {
            found.append(&mut files_below(&path, root)?);
        } else if let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str) {
            found.insert(name.to_owned());
        }
    }
    Ok(found)
}

/// Names a class of `transformers` that ends so, as far as what config.json says allows the family's name to be told.
pub(in crate::train) fn name_class(config: &mut Value, ending: &str) {
    // What it says counts first: a family of another's model_type has classes of its own.
    let said = config["architectures"][0].as_str().and_then(|class| Some(class.split_once("For")?.0.to_owned()));
    // A crf is no part of a family's name: `BertCrfForNer`.
    let said = said.map(|family| family.replace("Crf", "").replace("CRF", "")).filter(|family| !family.is_empty());
    let of_family = || CLASSES.iter().find(|(known, _)| config["model_type"] == **known).map(|(_, family)| (*family).to_owned());
    let bare = || Some(config["architectures"][0].as_str()?.strip_suffix("Model")?.to_owned());
    if let Some(family) = said.or_else(of_family).or_else(bare) {
        config["architectures"] = json!([format!("{family}{ending}")]);
    }
}

/// Numbers as files hold them.
pub(super) fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn write_file(folder: &AtomicFolder, name: &str, bytes: &[u8]) -> Result<()> {
    let mut file = folder.file(name)?;
    file.write_all(bytes).map_err(|e| Error::new(ErrorKind::Io, format!("{name}: {e}")))?;
    file.commit()
}

/// The tensors of a model: what is written, the weight that has its numbers, and where in it.
fn tensors(model: &Learnable) -> Vec<(TensorPlan, WeightId, &Part)> {
    let of_weight = |id: WeightId| {
        let plan = |part: &Part| TensorPlan { name: part.name.clone(), dtype: Dtype::F32, shape: part.shape.clone() };
        model.parts(id).iter().map(move |part| (plan(part), id, part))
    };
    (0..model.weights().len()).map(WeightId).flat_map(of_weight).collect()
}
