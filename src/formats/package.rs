//! How is a GGUF file a model's folder?
//!
//! [`Package::open`] gives every file that the folder would have, and the tensors of the trunk and of each dense module under
//! their Hugging Face names, so that the readers of folders (`sentence`, `huggingface`) read both. Our own files carry the
//! folder's files under `cloze.files.*`; for those of llama.cpp's converter they are made from its keys (`llama_cpp`).

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::gguf::{Array, Metadata, Reader, Value};
use super::names::{FUSED, Family, OWN, RANKS};
use super::source::inside;
use super::{Weights, huggingface, llama_cpp, positions};
use crate::error::{Error, ErrorKind, Result, fail, json_message};
use crate::quant::{Bytes, Tensor};

/// Keys of our own.
pub(super) const FILES: &str = "cloze.files.";
/// The folder of the Transformer module, where it has one.
pub(super) const TRUNK: &str = "cloze.trunk";
/// What the names of the trunk's tensors begin with in the checkpoint.
pub(super) const PREFIX: &str = "cloze.prefix";
/// llama.cpp's key of tokenizer.json.
pub(super) const TOKENIZER: &str = "tokenizer.huggingface.json";
/// llama.cpp's key of the number of files that a model is spread over.
const SPLIT: &str = "split.count";
pub(super) const ARCHITECTURE: &str = "general.architecture";

/// A GGUF file as a folder.
#[derive(Debug)]
pub(super) struct Package {
    reader: Reader,
    bytes: Bytes,
    files: BTreeMap<String, Bytes>,
    weights: BTreeMap<String, Weights>,
}

impl Package {
    pub(super) fn open(bytes: &Bytes) -> Result<Package> {
        let reader = Reader::open(bytes)?;
        let metadata = reader.metadata();
        if metadata.count(SPLIT)?.is_some_and(|files| files > 1) {
            let told = "this is one of several files of a model; join them with llama.cpp's gguf-split --merge";
            return fail(ErrorKind::Unsupported, told);
        }
        let Some(architecture) = metadata.text(ARCHITECTURE)? else {
            return fail(ErrorKind::InvalidFile, format!("setting {ARCHITECTURE:?} is missing; the file holds no model"));
        };
        let trunk = metadata.text(TRUNK)?.unwrap_or_default().to_owned();
        let config = stated_config(metadata, &trunk);
        let Some(family) = config.as_ref().and_then(Family::of_config).or_else(|| Family::of_architecture(architecture)) else {
            let known: Vec<_> = Family::architectures().collect();
            let told = format!("setting {ARCHITECTURE:?} is {architecture:?}; this version opens {}", known.join(", "));
            return fail(ErrorKind::Unsupported, told);
        };
        if family.architecture != architecture {
            let told = format!(
                "setting {ARCHITECTURE:?} is {architecture:?}, and the file's own config.json says model_type {:?}, which is {:?}; convert the model again",
                family.model_type, family.architecture
            );
            return fail(ErrorKind::InvalidFile, told);
        }
        let ranks = reader.tensors().any(|(name, _)| name == RANKS);
        let skipped = config.as_ref().map_or(0, |config| family.skipped_positions(config));
        let weights =
            Names { family, prefix: metadata.text(PREFIX)?.unwrap_or_default(), trunk: &trunk, ranks }.weights(&reader, skipped)?;
        let files = files(family, metadata, &trunk, weights.get(&trunk), ranks)?;
        Ok(Package { reader, bytes: bytes.clone(), files, weights })
    }

    /// The file of that name.
    pub(super) fn file(&self, name: &str) -> Option<&Bytes> {
        self.files.get(name)
    }

    /// The names of all files.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The tensors of the folder `dir`.
    pub(super) fn weights(&self, dir: &str) -> Option<&Weights> {
        self.weights.get(dir)
    }

    /// The file itself.
    pub(super) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

/// The file's own config.json, which also says which of several families with one architecture it is of.
fn stated_config(metadata: &Metadata, trunk: &str) -> Option<Json> {
    let key = format!("{FILES}{}", super::checkpoint::join(trunk, "config.json"));
    serde_json::from_str(metadata.text(&key).ok()??).ok()
}

/// What the names of a file's tensors are to be in a folder.
struct Names<'a> {
    family: &'static Family,
    /// What the trunk's names begin with.
    prefix: &'a str,
    trunk: &'a str,
    /// Whether the model has a classifier.
    ranks: bool,
}

impl Names<'_> {
    /// The tensors by folder, under their Hugging Face names; of the table of positions, `skipped` rows are in the settings.
    fn weights(&self, reader: &Reader, skipped: usize) -> Result<BTreeMap<String, Weights>> {
        let mut found = BTreeMap::from([(self.trunk.to_owned(), Weights::default())]);
        for (origin, tensor) in reader.tensors() {
            let parts = match origin {
                positions::TABLE if skipped > 0 => vec![(origin.to_owned(), positions::whole(tensor, skipped, reader.metadata())?)],
                _ if self.family.is_fused() => vec![(origin.to_owned(), tensor.clone())],
                _ => split(origin, tensor)?,
            };
            for (name, tensor) in parts {
                let (dir, name) = self.place(&name)?;
                found.entry(dir).or_default().insert_as(name, origin, tensor)?;
            }
        }
        Ok(found)
    }

    /// The folder and the name of a tensor.
    fn place(&self, name: &str) -> Result<(String, String)> {
        if let Some((dir, own)) = name.strip_prefix(OWN).and_then(|own| own.rsplit_once('/')) {
            return match inside(dir) {
                Some(dir) => Ok((dir, own.to_owned())),
                None => fail(ErrorKind::InvalidFile, format!("tensor {name:?}: its folder leaves the model's")),
            };
        }
        match self.family.to_theirs(name, self.prefix, self.ranks) {
            Some(theirs) => Ok((self.trunk.to_owned(), theirs)),
            None => {
                let architecture = self.family.architecture;
                let told = format!("tensor {name:?} is not one of the architecture {architecture:?} as this version knows it");
                fail(ErrorKind::InvalidTensor, told)
            }
        }
    }
}

/// A tensor, or the three that a fused one holds one above the other.
fn split(name: &str, tensor: &Tensor) -> Result<Vec<(String, Tensor)>> {
    let (fused, parts) = FUSED;
    let Some((layer, parameter)) = name.split_once(&format!(".{fused}.")) else { return Ok(vec![(name.to_owned(), tensor.clone())]) };
    let (rows, bytes) = (tensor.rows() / parts.len(), tensor.bytes().len() / parts.len());
    let mut shape = tensor.shape().to_vec();
    if shape.is_empty() || !tensor.rows().is_multiple_of(parts.len()) {
        return fail(ErrorKind::InvalidTensor, format!("tensor {name:?} of shape {shape:?} is not query, key and value in one"));
    }
    shape[0] = rows;
    let part = |(i, part): (usize, &&str)| {
        let slice = tensor.bytes().slice(i * bytes..(i + 1) * bytes).and_then(|bytes| Tensor::new(tensor.dtype(), shape.clone(), bytes));
        let whole = || Error::new(ErrorKind::InvalidTensor, format!("tensor {name:?} does not divide into three"));
        Ok((format!("{layer}.{part}.{parameter}"), slice.ok_or_else(whole)?))
    };
    parts.iter().enumerate().map(part).collect()
}

/// The configuration of the Pooling module, where the files have one. What is malformed is named by `sentence`.
fn pooling(files: &BTreeMap<String, Bytes>) -> Option<Json> {
    let modules: Json = serde_json::from_slice(files.get(super::sentence::MODULES)?).ok()?;
    let is_pooling = |entry: &&Json| entry["type"].as_str().is_some_and(|class| class.ends_with(".Pooling"));
    let dir = modules.as_array()?.iter().find(is_pooling)?["path"].as_str()?;
    serde_json::from_slice(files.get(&super::checkpoint::join(dir, "config.json"))?).ok()
}

/// The folder's files.
fn files(family: &Family, metadata: &Metadata, trunk: &str, weights: Option<&Weights>, ranks: bool) -> Result<BTreeMap<String, Bytes>> {
    let mut files = BTreeMap::new();
    for (key, value) in metadata.iter() {
        let Some(name) = key.strip_prefix(FILES) else { continue };
        let content = match value {
            Value::String(text) => Bytes::owned(text.clone()),
            // Files that are no text: models of SentencePiece.
            Value::Array(Array::U8(bytes)) => Bytes::owned(bytes.clone()),
            _ => return fail(ErrorKind::InvalidFile, format!("setting {key:?} is not the content of a file")),
        };
        if inside(name).as_deref() != Some(name) {
            return fail(ErrorKind::InvalidFile, format!("setting {key:?}: {name:?} is no name of a file in a folder"));
        }
        files.insert(name.to_owned(), content);
    }
    let in_trunk = |name: &str| super::checkpoint::join(trunk, name);
    match files.get(&in_trunk("config.json")) {
        _ if !family.in_llama_cpp => {}
        Some(config) => {
            let config = serde_json::from_slice(config).map_err(|e| {
                Error::new(ErrorKind::InvalidFile, format!("setting \"{FILES}{}\": {}", in_trunk("config.json"), json_message(&e)))
            })?;
            llama_cpp::check(family, metadata, &config, pooling(&files).as_ref(), ranks)?;
        }
        None => {
            let rows = |name: &str| weights.and_then(|w| w.get(name)).map_or(0, Tensor::rows);
            let (tokens, segments) = (rows("embeddings.word_embeddings.weight"), rows("embeddings.token_type_embeddings.weight"));
            for (name, json) in llama_cpp::folder_files(family, metadata, tokens, segments)? {
                files.entry(name.to_owned()).or_insert_with(|| Bytes::owned(json.to_string()));
            }
        }
    }
    if let Some(json) = metadata.text(TOKENIZER)? {
        files.insert(in_trunk("tokenizer.json"), Bytes::owned(json.to_owned()));
    } else if !huggingface::VOCABULARIES.iter().chain(huggingface::PIECES).any(|name| files.contains_key(&in_trunk(name)))
        && let Some(json) = llama_cpp::tokenizer_json(metadata)?
    {
        files.insert(in_trunk("tokenizer.json"), Bytes::owned(json));
    }
    Ok(files)
}
