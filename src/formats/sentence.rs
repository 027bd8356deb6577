//! What comes after the encoder, according to sentence-transformers?
//!
//! `modules.json` lists the modules in the order in which they run (`modules` checks it), each with a folder of its own.
//! `sentence_bert_config.json` limits the length, `config_sentence_transformers.json` has the prompts. A folder without
//! `modules.json` has none of this. The result goes to `tasks`, which builds pooling and dense layers from it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::checkpoint::{self, join};
use super::late::{self, LateSettings};
use super::modules::{self, Kind};
use super::static_vectors::StaticSettings;
use super::{Source, Weights};
use crate::error::{ErrorKind, Result, fail};

/// The modules of a sentence-transformers folder; empty for any other folder.
#[derive(Debug, Default)]
pub struct SentenceModules {
    /// The `config.json` of the Pooling module, an object.
    pub pooling: Option<Value>,
    /// The `config.json` of the SpladePooling module of a sparse encoder, an object.
    pub splade: Option<Value>,
    /// The Dense modules, in the order in which they run.
    pub dense: Vec<DenseModule>,
    /// How a late-interaction model (ColBERT) reads texts, where it is one; `dense` then works on tokens.
    pub late: Option<LateSettings>,
    /// How a model of static vectors reads texts, where it is one.
    pub static_vectors: Option<StaticSettings>,
    /// Whether vectors are scaled to length 1 at the end.
    pub normalize: bool,
    /// The most tokens a text may have, special tokens included.
    pub max_seq_length: Option<usize>,
    /// Whether text is lower-cased before the tokenizer sees it.
    pub do_lower_case: bool,
    /// Texts that are put before an input, by name.
    pub prompts: BTreeMap<String, String>,
    /// The name of the prompt that is used unless another is asked for; one of `prompts`.
    pub default_prompt: Option<String>,
    /// The PyTorch class of the activation that a cross-encoder's scores go through.
    pub activation: Option<String>,
    /// Whether the first module is a table of static vectors.
    pub(super) is_static: bool,
    /// Whether the folder has a `modules.json`.
    pub is_sentence_transformer: bool,
}

/// A dense layer on the pooled vector.
#[derive(Debug)]
pub struct DenseModule {
    /// Its folder (`2_Dense`), for messages.
    pub name: String,
    /// Its `config.json`, an object.
    pub config: Value,
    /// `linear.weight` and `linear.bias`.
    pub weights: Weights,
}

pub(super) const MODULES: &str = "modules.json";
pub(super) const PROMPTS: &str = "config_sentence_transformers.json";

/// The settings of the Transformer module; the first one found counts. Old versions named the file after the family.
pub(super) const SETTINGS: &[&str] = &[
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
];

/// What a Transformer module may be for: vectors, a cross-encoder's scores, or the weights of a sparse encoder.
const TASKS: &[&str] = &["feature-extraction", "sequence-classification", "fill-mask"];

#[derive(Default, Deserialize)]
#[serde(expecting = "an object of settings")]
struct TransformerSettings {
    max_seq_length: Option<usize>,
    do_lower_case: Option<bool>,
    transformer_task: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object of settings")]
struct PromptSettings {
    prompts: Option<BTreeMap<String, Option<String>>>,
    default_prompt_name: Option<String>,
    activation_fn: Option<String>,
}

/// The folder of the Transformer within `source` (empty for the source's own), and the other modules.
pub(super) fn read(source: &Source) -> Result<(String, SentenceModules)> {
    let Some(entries) = source.parse::<Vec<modules::Entry>>(MODULES)? else { return Ok(Default::default()) };
    let modules = modules::classify(entries).map_err(|e| e.within(source.label(MODULES)))?;
    let mut sentence = SentenceModules { is_sentence_transformer: true, ..Default::default() };
    let mut transformer = String::new();
    let mask = modules.iter().find(|(kind, _)| *kind == Kind::Mask).map(|(_, dir)| dir.clone());
    let read = if mask.is_some() { TOKENS } else { TEXT };
    for (kind, dir) in modules {
        match kind {
            Kind::Transformer => transformer = dir,
            Kind::Static => (transformer, sentence.is_static) = (dir, true),
            Kind::Pooling => sentence.pooling = Some(source.require_object(&join(&dir, "config.json"))?),
            Kind::Splade => sentence.splade = Some(source.require_object(&join(&dir, "config.json"))?),
            Kind::TokenDense if mask.is_none() => {
                sentence.dense.push(dense(source, dir, read)?);
                sentence.late = Some(late::of_pylate(source)?);
            }
            Kind::Dense | Kind::TokenDense => sentence.dense.push(dense(source, dir, read)?),
            Kind::Mask => {}
            Kind::Normalize => {
                let file = join(&dir, "config.json");
                if let Some(config) = if dir.is_empty() { None } else { source.object(&file)? } {
                    check_features(&source.label(&file), &config, read)?;
                }
                sentence.normalize = true;
            }
        }
    }
    if let Some(mask) = mask {
        sentence.late = Some(late::of_multi_vector(source, &transformer, &mask, sentence.normalize)?);
    }
    if !sentence.is_static {
        read_settings(source, &transformer, &mut sentence)?;
    }
    read_prompts(source, &mut sentence)?;
    Ok((transformer, sentence))
}

/// What Dense and Normalize work on.
const TEXT: &str = "sentence_embedding";
const TOKENS: &str = "token_embeddings";

fn dense(source: &Source, name: String, read: &str) -> Result<DenseModule> {
    let file = join(&name, "config.json");
    let config = source.require_object(&file)?;
    check_features(&source.label(&file), &config, read)?;
    if !matches!(config.get("use_residual"), None | Some(Value::Null | Value::Bool(false))) {
        return fail(ErrorKind::Unsupported, format!("{}: use_residual is not supported", source.label(&file)));
    }
    let weights = checkpoint::read(source, &name)?;
    Ok(DenseModule { name, config, weights })
}

/// Dense and Normalize can be told to work on other things than what is `read` here.
fn check_features(file: &str, config: &Value, read: &str) -> Result<()> {
    for key in ["module_input_name", "module_output_name"] {
        match config.get(key) {
            None | Some(Value::Null) => {}
            Some(value) if value == read => {}
            Some(value) => return fail(ErrorKind::Unsupported, format!("{file}: {key} is {value}; only {read:?} is supported here")),
        }
    }
    Ok(())
}

/// The file of the Transformer module's settings, where it has one.
pub(super) fn settings_file(source: &Source, transformer: &str) -> Option<String> {
    SETTINGS.iter().map(|name| join(transformer, name)).find(|file| source.contains(file))
}

fn read_settings(source: &Source, transformer: &str, sentence: &mut SentenceModules) -> Result<()> {
    if let Some(file) = settings_file(source, transformer) {
        let settings = source.parse::<TransformerSettings>(&file)?.unwrap_or_default();
        if let Some(task) = settings.transformer_task.filter(|task| !TASKS.contains(&task.as_str())) {
            return fail(
                ErrorKind::Unsupported,
                format!("{}: transformer_task is {task:?}; supported: {}", source.label(&file), TASKS.join(", ")),
            );
        }
        if settings.max_seq_length == Some(0) {
            return fail(ErrorKind::InvalidFile, format!("{}: max_seq_length is 0; a text needs at least 1 token", source.label(&file)));
        }
        sentence.max_seq_length = settings.max_seq_length;
        sentence.do_lower_case = settings.do_lower_case.unwrap_or(false);
    }
    Ok(())
}

fn read_prompts(source: &Source, sentence: &mut SentenceModules) -> Result<()> {
    let settings = source.parse::<PromptSettings>(PROMPTS)?.unwrap_or_default();
    // A prompt of null is an empty prompt there.
    sentence.prompts = settings.prompts.unwrap_or_default().into_iter().map(|(name, text)| (name, text.unwrap_or_default())).collect();
    if let Some(name) = settings.default_prompt_name.as_ref().filter(|name| !sentence.prompts.contains_key(*name)) {
        return fail(
            ErrorKind::InvalidFile,
            format!("{}: default_prompt_name is {name:?}, which prompts does not have", source.label(PROMPTS)),
        );
    }
    sentence.default_prompt = settings.default_prompt_name;
    sentence.activation = settings.activation_fn;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::formats::fixtures::{F32Tensor, Files, reference_file};

    /// `modules.json` of these classes and paths.
    fn modules(list: &[(&str, &str)]) -> String {
        let entries = list.iter().enumerate().map(|(idx, (class, path))| {
            serde_json::json!({"idx": idx, "name": idx.to_string(), "path": path, "type": format!("sentence_transformers.models.{class}")})
        });
        Value::from_iter(entries).to_string()
    }

    const TRANSFORMER: (&str, &str) = ("Transformer", "");
    const POOLING: (&str, &str) = ("Pooling", "1_Pooling");
    const DENSE: (&str, &str) = ("Dense", "2_Dense");
    const NORMALIZE: (&str, &str) = ("Normalize", "3_Normalize");

    /// A sentence-transformers folder with these modules, and files for each that the tests use.
    fn files(list: &[(&str, &str)]) -> Files {
        let linear = reference_file(&[F32Tensor::counting("linear.weight", &[2, 3]), F32Tensor::counting("linear.bias", &[2])]);
        Files::none()
            .with(MODULES, modules(list))
            .with("1_Pooling/config.json", r#"{"pooling_mode":"mean"}"#)
            .with("2_Dense/config.json", r#"{"in_features":3,"out_features":2}"#)
            .with("2_Dense/model.safetensors", &linear)
            .with("3_Dense/config.json", r#"{"in_features":3,"out_features":2}"#)
            .with("3_Dense/model.safetensors", &linear)
    }

    fn open(files: Files) -> Result<SentenceModules> {
        read(&files.source()).map(|(_, sentence)| sentence)
    }

    fn error(files: Files) -> Error {
        open(files).unwrap_err()
    }

    #[test]
    fn a_folder_without_modules_has_none_even_with_the_other_files() {
        let s = open(files(&[]).without(MODULES).with("sentence_bert_config.json", r#"{"max_seq_length":3}"#)).unwrap();
        assert!(!s.is_sentence_transformer && !s.normalize && s.pooling.is_none() && s.dense.is_empty() && s.max_seq_length.is_none());
    }

    #[test]
    fn modules_are_read_in_the_order_of_the_list() {
        let s = open(files(&[TRANSFORMER, POOLING, ("Dense", "3_Dense"), DENSE, NORMALIZE])).unwrap();
        assert!(s.is_sentence_transformer && s.normalize);
        assert_eq!(s.pooling.unwrap()["pooling_mode"], "mean");
        assert_eq!(s.dense.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["3_Dense", "2_Dense"]);
        assert_eq!(s.dense[0].weights.names().collect::<Vec<_>>(), ["linear.bias", "linear.weight"]);
        assert_eq!(s.dense[0].config["in_features"], 3);
        let bare = open(files(&[TRANSFORMER])).unwrap();
        assert!(bare.is_sentence_transformer && bare.pooling.is_none() && !bare.normalize);
    }

    #[test]
    fn what_is_wrong_with_the_list_is_said_of_the_file() {
        let e = error(files(&[TRANSFORMER, POOLING, NORMALIZE, DENSE]));
        assert_eq!(e.kind(), ErrorKind::Unsupported);
        assert!(e.message().starts_with(MODULES) && e.message().contains("2_Dense"), "{e}");
        for bad in ["{}", "[{}]", r#"[{"path":null,"type":"x"}]"#, r#"[{"path":"","path":"","type":"x"}]"#, "[1]"] {
            let e = error(files(&[]).with(MODULES, bad));
            assert_eq!(e.kind(), ErrorKind::InvalidFile);
            assert!(e.message().starts_with(MODULES) && e.message().contains("line 1"), "{e}");
        }
    }

    #[test]
    fn files_of_modules_that_are_missing_are_named() {
        let all = [TRANSFORMER, POOLING, DENSE];
        for name in ["1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors"] {
            let e = error(files(&all).without(name));
            assert_eq!(e.kind(), ErrorKind::Io);
            assert!(
                e.message().contains(name.split('/').next().unwrap()) && e.message().contains(name.split('/').next_back().unwrap()),
                "{e}"
            );
        }
        // PyTorch's file is read as one, wherever it stands.
        let old = files(&all).without("2_Dense/model.safetensors").with("2_Dense/pytorch_model.bin", "x");
        let e = error(old);
        assert_eq!(e.kind(), ErrorKind::InvalidFile);
        assert!(e.message().contains("2_Dense/pytorch_model.bin"), "{e}");
    }

    #[test]
    fn what_a_module_is_told_to_do_otherwise_is_refused() {
        let all = [TRANSFORMER, POOLING, DENSE, NORMALIZE];
        for (file, config) in [
            ("2_Dense/config.json", r#"{"module_input_name":"token_embeddings"}"#),
            ("2_Dense/config.json", r#"{"module_output_name":"x"}"#),
            ("2_Dense/config.json", r#"{"use_residual":true}"#),
            ("3_Normalize/config.json", r#"{"module_input_name":"token_embeddings"}"#),
            ("sentence_bert_config.json", r#"{"transformer_task":"text-generation"}"#),
        ] {
            let e = error(files(&all).with(file, config));
            assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
            assert!(e.message().contains(file), "{e}");
        }
        let usual = r#"{"module_input_name":"sentence_embedding","module_output_name":null,"use_residual":false}"#;
        assert!(open(files(&all).with("2_Dense/config.json", usual).with("3_Normalize/config.json", usual)).is_ok());
    }

    #[test]
    fn the_first_settings_file_found_counts() {
        let list = [TRANSFORMER, POOLING];
        let roberta = files(&list).with("sentence_roberta_config.json", r#"{"max_seq_length":128,"do_lower_case":true}"#);
        let s = open(roberta).unwrap();
        assert_eq!((s.max_seq_length, s.do_lower_case), (Some(128), true));
        let both = files(&list).with(SETTINGS[0], r#"{"max_seq_length":256}"#).with(SETTINGS[1], r#"{"max_seq_length":128}"#);
        assert_eq!(open(both).unwrap().max_seq_length, Some(256));
        let none =
            open(files(&list).with("sentence_bert_config.json", r#"{"max_seq_length":null,"transformer_task":"feature-extraction"}"#))
                .unwrap();
        assert_eq!((none.max_seq_length, none.do_lower_case), (None, false));
        for bad in [r#"{"max_seq_length":0}"#, r#"{"max_seq_length":-1}"#, r#"{"max_seq_length":"x"}"#, r#"{"do_lower_case":1}"#, "[", "3"]
        {
            let e = error(files(&list).with("sentence_bert_config.json", bad));
            assert_eq!(e.kind(), ErrorKind::InvalidFile, "{bad}");
            let place = if bad.contains(":0}") { "max_seq_length" } else { "line 1" };
            assert!(e.message().contains("sentence_bert_config.json") && e.message().contains(place), "{e}");
        }
    }

    #[test]
    fn prompts_are_read_by_name() {
        let with = |text: &str| files(&[TRANSFORMER, POOLING]).with(PROMPTS, text);
        let s =
            open(with(r#"{"prompts":{"query":"query: ","document":null},"default_prompt_name":"query","similarity_fn_name":"cosine"}"#))
                .unwrap();
        assert_eq!(s.prompts, [("document".to_owned(), String::new()), ("query".to_owned(), "query: ".to_owned())].into());
        assert_eq!(s.default_prompt.as_deref(), Some("query"));
        let old = open(with(r#"{"__version__":{"sentence_transformers":"2.0.0"}}"#)).unwrap();
        assert!(old.prompts.is_empty() && old.default_prompt.is_none());
        assert!(open(with(r#"{"prompts":{"a":"b"},"default_prompt_name":null}"#)).unwrap().default_prompt.is_none());
        for bad in [
            r#"{"prompts":{"a":"b"},"default_prompt_name":"c"}"#,
            r#"{"prompts":{"a":1}}"#,
            r#"{"prompts":"a"}"#,
            r#"{"default_prompt_name":1}"#,
        ] {
            let e = error(with(bad));
            assert_eq!(e.kind(), ErrorKind::InvalidFile, "{bad}");
            assert!(e.message().contains(PROMPTS), "{e}");
        }
    }
}
