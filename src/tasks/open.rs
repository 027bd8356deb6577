//! A model's files -> a [`Model`] that answers.

use std::path::Path;
use std::sync::Arc;

use super::late::Late;
use super::options::{Precision, check_threads};
use super::{Description, HeadDescription, Memory, Options, Probes, Prompt, Request, Score, sample};
use crate::engine::cpu::kernels;
use crate::engine::{Batch, threads};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::{Folder, SentenceModules, Source, StaticSettings, TokenizerFiles, huggingface};
use crate::model::heads::Head;
use crate::model::{Encoder, Output, Setup, pooling::LayerChoice};
use crate::quant::Bytes;
use crate::tokenizer::{Files, Tokenizer, Truncation, Words};

/// An opened model: immutable, used from any number of threads at once. A clone is another handle to the same model.
#[derive(Clone)]
pub struct Model {
    inner: Arc<Inner>,
}

struct Inner {
    tokenizer: Tokenizer,
    encoder: Encoder,
    /// How a late-interaction model reads texts.
    late: Option<Late>,
    description: Description,
    /// What is wrong with them does not keep a model from its work.
    probes: Result<Option<Probes>>,
    /// The GGUF file that the model was opened from. Its tensors hold on to it anyway.
    file: Option<Bytes>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Model").field(&self.inner.description).finish()
    }
}

impl Model {
    /// Opens the model in the folder or the GGUF file `path`. Weights are mapped: the files must not be changed or cut while the
    /// model lives.
    ///
    /// # Errors
    /// `Io` for files that are missing or unreadable; `InvalidFile`, `InvalidTensor`, `Unsupported` or `NonFinite` for what is
    /// wrong with them, by name; `InvalidArgument` for options that this machine cannot serve.
    pub fn load(path: impl AsRef<Path>, options: &Options) -> Result<Model> {
        Self::open(&Source::open(path.as_ref())?, options)
    }

    /// Opens a model whose files are in memory: relative names (`config.json`, `1_Pooling/config.json`) and their contents, or one
    /// GGUF file.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn load_files(files: Vec<(String, Vec<u8>)>, options: &Options) -> Result<Model> {
        Self::open(&Source::memory(files)?, options)
    }

    /// Opens a model whose files were looked at before: one that is read as a whole is not read twice.
    pub(crate) fn open(source: &Source, options: &Options) -> Result<Model> {
        check_threads(options.threads)?;
        // Before the files: a wrong option is not the folder's fault.
        kernels::choose(options.isa.as_deref())?;
        let Folder { config, weights, tokenizer: files, mut sentence, .. } = huggingface::open(source)?;
        let opened = || {
            let words = sentence.static_vectors.map(words);
            let model_type = config.get("model_type").and_then(serde_json::Value::as_str);
            let stated = Files { lower_case: sentence.do_lower_case, words, ..tokenizer_files(&files, model_type) };
            // Static vectors take tokenizer.json as it is.
            let alone = Files { config: None, special_tokens: None, ..stated };
            let tokenizer = Tokenizer::open(if words.is_some() { &alone } else { &stated })?;
            let encoder = Encoder::new(
                &config,
                weights,
                &mut sentence,
                &Setup { isa: options.isa.as_deref(), precision: options.precision.engine(), sample: &|| sample::ids(&tokenizer) },
            )?;
            check_vocabulary(&tokenizer, &encoder)?;
            let late = sentence.late.take().map(|settings| Late::new(settings, &tokenizer)).transpose()?;
            let max_tokens = max_tokens(&sentence, &tokenizer, &encoder)?;
            let description = describe(&encoder, &tokenizer, sentence, max_tokens, options)?;
            Ok(Model {
                inner: Arc::new(Inner {
                    tokenizer,
                    encoder,
                    late,
                    description,
                    probes: Probes::of(source),
                    file: source.gguf_bytes().cloned(),
                }),
            })
        };
        opened().map_err(|e: Error| e.within(source.describe()))
    }

    /// What the model is, and how it is used when a request asks for nothing else.
    pub fn describe(&self) -> &Description {
        &self.inner.description
    }

    /// Memory that the model holds now.
    pub fn memory(&self) -> Memory {
        let usage = self.encoder().engine().usage();
        Memory { weights_mapped: usage.weights_mapped, weights_owned: usage.weights_owned, workspaces: usage.areas, calls: usage.runs }
    }

    /// Frees the work areas that are kept for the next calls.
    pub fn trim(&self) {
        self.encoder().engine().trim();
    }

    /// The most bytes that encoding `texts` texts of `tokens` tokens each needs at once, beside the weights and the vectors
    /// returned, on the model's number of threads.
    ///
    /// # Errors
    /// `InvalidArgument` for more tokens than the model has positions.
    pub fn peak_bytes(&self, tokens: usize, texts: usize) -> Result<usize> {
        let positions = self.encoder().sizes().positions;
        if tokens == 0 || tokens > positions {
            return fail(ErrorKind::InvalidArgument, format!("{tokens} tokens: a text has from 1 to {positions} here"));
        }
        let mut batch = Batch::default();
        for _ in 0..texts.min(super::forward::batch_tokens(self.threads()).div_ceil(tokens)) {
            batch.push(&vec![0; tokens], &vec![0; tokens], 0);
        }
        let graph = self.encoder().graph(&self.output(&Request::default()))?;
        self.encoder().engine().run_bytes(&graph, &batch, self.threads())
    }

    /// The golden probes of the model's file, if it has any.
    pub(super) fn probes(&self) -> Result<Option<&Probes>> {
        self.inner.probes.as_ref().map(Option::as_ref).map_err(Error::clone)
    }

    /// The GGUF file that the model was opened from.
    pub(super) fn file(&self) -> Option<&Bytes> {
        self.inner.file.as_ref()
    }

    pub(super) fn tokenizer(&self) -> &Tokenizer {
        &self.inner.tokenizer
    }

    /// How the model compares tokens, where it does.
    pub(super) fn late(&self) -> Option<&Late> {
        self.inner.late.as_ref()
    }

    pub(super) fn encoder(&self) -> &Encoder {
        &self.inner.encoder
    }

    pub(super) fn threads(&self) -> usize {
        self.inner.description.threads
    }

    pub(super) fn normalizes(&self) -> bool {
        self.inner.description.normalize
    }

    /// The prompt that `request` asks for.
    pub(super) fn prompt<'a>(&'a self, request: &'a Request) -> Result<Option<&'a str>> {
        let description = self.describe();
        let name = match &request.prompt {
            Prompt::Text(text) => return Ok(Some(text)),
            Prompt::Named(name) if name.is_empty() => return Ok(None),
            Prompt::Named(name) => Some(name),
            Prompt::Model => description.default_prompt.as_ref(),
        };
        let Some(name) = name else { return Ok(None) };
        match description.prompts.get(name) {
            Some(prompt) => Ok(Some(prompt)),
            None => {
                let known: Vec<_> = description.prompts.keys().map(String::as_str).collect();
                let known = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
                fail(ErrorKind::InvalidArgument, format!("prompt_name {name:?}: the model has no such prompt; {known}"))
            }
        }
    }
}

/// What a model's files say about its tokenizer.
fn tokenizer_files<'a>(files: &'a TokenizerFiles, model_type: Option<&'a str>) -> Files<'a> {
    Files {
        json: files.json.as_deref(),
        vocab: files.vocab.as_deref(),
        vocab_json: files.vocab_json.as_deref(),
        merges: files.merges.as_deref(),
        pieces: files.pieces.as_ref().map(|(name, bytes)| (name.as_str(), bytes)),
        model_type,
        config: files.config.as_ref(),
        special_tokens: files.special_tokens.as_ref(),
        lower_case: false,
        words: None,
    }
}

/// Opens the tokenizer of a folder that need not hold a model; config.json says of which family it is, where there is one.
///
/// # Errors
/// As [`Tokenizer::open`], and `Io` where there is no such folder.
#[cfg(feature = "train")]
pub(crate) fn open_tokenizer(folder: &Path) -> Result<Tokenizer> {
    let source = Source::open(folder)?;
    let config = source.object("config.json")?;
    let files = huggingface::tokenizer(&source, "")?;
    let model_type = config.as_ref().and_then(|config| config.get("model_type")).and_then(serde_json::Value::as_str);
    Tokenizer::open(&tokenizer_files(&files, model_type)).map_err(|e| e.within(source.describe()))
}

/// The tokenizer of a model's folder that was opened.
///
/// # Errors
/// As [`Tokenizer::open`].
#[cfg(feature = "train")]
pub(crate) fn tokenizer_of(folder: &Folder) -> Result<Tokenizer> {
    let model_type = folder.config.get("model_type").and_then(serde_json::Value::as_str);
    Tokenizer::open(&Files { lower_case: folder.sentence.do_lower_case, ..tokenizer_files(&folder.tokenizer, model_type) })
}

fn words(settings: StaticSettings) -> Words {
    let StaticSettings { drop_unknown, cut_characters, stored_limit } = settings;
    Words { drop_unknown, cut_characters, stored_limit }
}

/// A tokenizer with ids beyond the embedding belongs to another model. (An embedding may have more rows: some are padded.)
fn check_vocabulary(tokenizer: &Tokenizer, encoder: &Encoder) -> Result<()> {
    let rows = encoder.sizes().vocabulary;
    if tokenizer.vocabulary() <= rows {
        return Ok(());
    }
    let highest = tokenizer.vocabulary() - 1;
    let told =
        format!("the tokenizer has ids up to {highest}, the token embedding has {rows} rows; the tokenizer belongs to another model");
    fail(ErrorKind::InvalidFile, told)
}

/// The longest input that the model's files allow. As in sentence-transformers, its own limit counts rather than the
/// tokenizer's.
fn max_tokens(sentence: &SentenceModules, tokenizer: &Tokenizer, encoder: &Encoder) -> Result<usize> {
    let positions = encoder.sizes().positions;
    let stated = sentence.max_seq_length.or(tokenizer.model_max_length());
    let max_tokens = stated.map_or(positions, |stated| stated.min(positions));
    let special = tokenizer.special_tokens(false);
    if max_tokens >= special {
        return Ok(max_tokens);
    }
    let told = format!(
        "texts are limited to {max_tokens} tokens, fewer than the template's {special} special tokens; mend max_seq_length or model_max_length"
    );
    fail(ErrorKind::InvalidFile, told)
}

fn describe(
    encoder: &Encoder,
    tokenizer: &Tokenizer,
    sentence: SentenceModules,
    max_tokens: usize,
    options: &Options,
) -> Result<Description> {
    let sizes = encoder.sizes().clone();
    let modes = encoder.pooling().modes.clone();
    let graph = encoder.graph(&Output::Pooled(LayerChoice::Last, modes.clone()))?;
    Ok(Description {
        family: encoder.family().to_owned(),
        layers: sizes.layers,
        hidden: sizes.hidden,
        heads: sizes.heads,
        intermediate: sizes.intermediate,
        vocabulary: sizes.vocabulary,
        languages: encoder.languages().names().to_vec(),
        parameters: encoder.parameters(),
        positions: sizes.positions,
        max_tokens,
        truncation: if tokenizer.truncation_side() == Truncation::Left { "left" } else { "right" }.to_owned(),
        pooling: modes.iter().map(|m| m.name().to_owned()).collect(),
        normalize: sentence.normalize,
        dimensions: graph.nodes().last().map_or(0, |n| n.width),
        sparse: encoder.sparse().declared,
        late: encoder.is_late(),
        pooler: encoder.has_pooler(),
        task_heads: encoder.heads().iter().map(describe_head).collect(),
        prompts: sentence.prompts,
        default_prompt: sentence.default_prompt,
        precision: Precision::word(encoder.engine().precision()).to_owned(),
        isa: encoder.engine().isa().to_owned(),
        threads: options.threads.unwrap_or_else(threads::default_threads),
    })
}

fn describe_head(head: &Head) -> HeadDescription {
    let word = |score: Score| score.name().to_owned();
    HeadDescription {
        name: head.kind.name().to_owned(),
        outputs: head.outputs,
        labels: head.meaning.labels.clone(),
        activation: head.meaning.score.map(word),
        declared_activation: head.meaning.declared.map(word),
        aggregation: head.meaning.aggregation.map(|way| way.name().to_owned()),
    }
}
