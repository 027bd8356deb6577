//! What does a Hugging Face folder hold?
//!
//! [`open`] gathers the parts and says where each goes: `config` and `weights` to `model`, the tokenizer's files to
//! `tokenizer`, the sentence-transformers modules to `tasks`. In a folder whose `modules.json` places the Transformer in a
//! folder of its own (`0_Transformer`), the parts are read from there.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{SentenceModules, Source, Weights, checkpoint, late, modules, sentence, static_vectors};
use crate::error::{ErrorKind, Result, fail};
use crate::quant::Bytes;

/// An opened folder: everything read and checked as a file, nothing yet as a model.
#[derive(Debug)]
pub struct Folder {
    /// The folder of the Transformer in the source, empty for the source's own.
    pub dir: String,
    /// `config.json`, an object.
    pub config: Value,
    /// The encoder's tensors, under the names of the file.
    pub weights: Weights,
    /// What the tokenizer is made from.
    pub tokenizer: TokenizerFiles,
    /// What comes after the encoder.
    pub sentence: SentenceModules,
}

/// The files that a tokenizer is made from, each where it exists.
#[derive(Clone, Debug, Default)]
pub struct TokenizerFiles {
    /// `tokenizer.json`.
    pub json: Option<Bytes>,
    /// `vocab.txt`.
    pub vocab: Option<Bytes>,
    /// `vocab.json`.
    pub vocab_json: Option<Bytes>,
    /// `merges.txt`.
    pub merges: Option<Bytes>,
    /// A model of SentencePiece, with the name of its file: one of [`PIECES`].
    pub pieces: Option<(String, Bytes)>,
    /// `tokenizer_config.json`, an object.
    pub config: Option<Value>,
    /// `special_tokens_map.json`, an object.
    pub special_tokens: Option<Value>,
}

/// Opens a folder in the layout of transformers, sentence-transformers or model2vec, or a GGUF file or one of word vectors, which hold
/// the same.
///
/// # Errors
/// `Io` for a missing file, `InvalidFile` for a malformed one, `InvalidTensor` where index and shards disagree, `Unsupported`
/// for a checkpoint or a module that this version does not read. Each names the file.
pub fn open(source: &Source) -> Result<Folder> {
    let (dir, mut sentence) = sentence::read(source)?;
    let named = |name: &str| checkpoint::join(&dir, name);
    let mut config = source.require_object(&named("config.json"))?;
    if late::is_colbert(&config) {
        sentence.late = Some(late::of_colbert(source, &dir)?);
    }
    let mut weights = checkpoint::read(source, &dir)?;
    static_vectors::settle(&source.label(&named("config.json")), &mut config, &mut weights, &mut sentence)?;
    Ok(Folder { config, weights, tokenizer: tokenizer(source, &dir)?, sentence, dir })
}

/// The tokenizer's files in a folder, empty for the source's own, whatever else is there.
///
/// # Errors
/// As [`open`], for these files.
pub fn tokenizer(source: &Source, dir: &str) -> Result<TokenizerFiles> {
    let named = |name: &str| checkpoint::join(dir, name);
    Ok(TokenizerFiles {
        json: source.read(&named("tokenizer.json"))?,
        vocab: source.read(&named("vocab.txt"))?,
        vocab_json: source.read(&named("vocab.json"))?,
        merges: source.read(&named("merges.txt"))?,
        pieces: pieces(source, dir)?,
        config: source.object(&named("tokenizer_config.json"))?,
        special_tokens: source.object(&named("special_tokens_map.json"))?,
    })
}

/// The files that a tokenizer is made from, models of SentencePiece aside.
pub(super) const VOCABULARIES: &[&str] = &["tokenizer.json", "vocab.txt", "vocab.json"];

/// The names that models of SentencePiece have.
pub const PIECES: &[&str] = &["sentencepiece.bpe.model", "spiece.model", "spm.model"];

fn pieces(source: &Source, dir: &str) -> Result<Option<(String, Bytes)>> {
    for name in PIECES {
        if let Some(bytes) = source.read(&checkpoint::join(dir, name))? {
            return Ok(Some(((*name).to_owned(), bytes)));
        }
    }
    Ok(None)
}

/// The tensors alone of a model whose other files may be damaged, from its own folder.
///
/// # Errors
/// As [`open`], for files of tensors.
pub fn weights(source: &Source) -> Result<Weights> {
    checkpoint::read(source, "")
}

/// Small files of the Transformer's folder that say how the model is used; `sentence` has a list of more.
const SMALL: &[&str] = &[
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    late::METADATA,
];

/// Names of files that models have, all or their ends. No other is ever written into a folder, whatever a GGUF file says.
const WRITTEN: &[&str] = &["vocab.txt", "merges.txt", "README.md", late::METADATA];
const WRITTEN_ENDS: &[&str] = &[".json", ".model"];

/// Whether a file of that name may be written for a model whose modules have these folders.
fn may_be_written(name: &str, dirs: &[&str]) -> bool {
    let (dir, file) = name.rsplit_once('/').unwrap_or(("", name));
    let known = WRITTEN.contains(&file) || WRITTEN_ENDS.iter().any(|end| file.ends_with(end));
    let tensors = file.ends_with(".safetensors.index.json");
    let hidden = name.split('/').any(|part| part.starts_with('.'));
    known && !tensors && !hidden && (dir.is_empty() || dirs.contains(&dir))
}

/// The folder of the Transformer (empty for the model's own), and every small file that this or another version reads, by name.
pub(super) fn files(source: &Source) -> Result<(String, BTreeMap<String, Bytes>)> {
    let entries = source.parse::<Vec<modules::Entry>>(sentence::MODULES)?.unwrap_or_default();
    let listed =
        if entries.is_empty() { Vec::new() } else { modules::classify(entries).map_err(|e| e.within(source.label(sentence::MODULES)))? };
    let trunk = listed.first().map(|(_, dir)| dir.clone()).unwrap_or_default();
    let of_trunk = SMALL.iter().chain(PIECES).chain(sentence::SETTINGS).map(|name| checkpoint::join(&trunk, name));
    let of_modules = listed.iter().filter(|(_, dir)| !dir.is_empty()).map(|(_, dir)| checkpoint::join(dir, "config.json"));
    let of_root = [sentence::MODULES, sentence::PROMPTS].map(str::to_owned);
    let names = source.names().unwrap_or_else(|| of_trunk.chain(of_modules).chain(of_root).collect());
    let dirs: Vec<&str> = listed.iter().map(|(_, dir)| dir.as_str()).chain([trunk.as_str()]).collect();
    if let Some(other) = names.iter().find(|name| !may_be_written(name, &dirs)) {
        let told = format!("{}: {other:?} is no name of a model's file; the file was not made by `cloze convert`", source.describe());
        return fail(ErrorKind::InvalidFile, told);
    }
    let mut found = BTreeMap::new();
    for name in names {
        if let Some(bytes) = source.read(&name)? {
            found.insert(name, bytes);
        }
    }
    Ok((trunk, found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::fixtures::{Files, ab};
    use proptest::prelude::*;

    const MODULES: &str = r#"[{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
        {"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]"#;

    #[test]
    fn a_plain_folder_has_no_modules_and_every_part_that_exists() {
        let folder =
            Files::minimal().with("vocab.txt", "[PAD]\n").with("tokenizer_config.json", r#"{"do_lower_case":true}"#).open().unwrap();
        assert_eq!(folder.config["model_type"], "bert");
        assert_eq!(folder.weights.names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(folder.tokenizer.vocab.as_deref(), Some(b"[PAD]\n".as_slice()));
        assert_eq!(folder.tokenizer.config.unwrap()["do_lower_case"], true);
        assert!(folder.tokenizer.json.is_none() && folder.tokenizer.special_tokens.is_none());
        assert!(!folder.sentence.is_sentence_transformer && folder.sentence.pooling.is_none());
    }

    #[test]
    fn a_transformer_in_a_folder_of_its_own_is_read_from_there() {
        let modules = MODULES.replacen(r#""path":"""#, r#""path":"0_Transformer""#, 1);
        let files = Files::none()
            .with("modules.json", modules)
            .with("config.json", r#"{"model_type":"wrong"}"#)
            .with("tokenizer.json", "wrong")
            .with("1_Pooling/config.json", r#"{"pooling_mode":"cls"}"#)
            .with("0_Transformer/config.json", r#"{"model_type":"bert"}"#)
            .with("0_Transformer/model.safetensors", ab())
            .with("0_Transformer/tokenizer.json", "right")
            .with("0_Transformer/special_tokens_map.json", "{}")
            .with("0_Transformer/sentence_bert_config.json", r#"{"max_seq_length":77}"#);
        let folder = files.open().unwrap();
        assert_eq!(folder.config["model_type"], "bert");
        assert_eq!(folder.tokenizer.json.as_deref(), Some(b"right".as_slice()));
        assert!(folder.tokenizer.special_tokens.is_some());
        assert_eq!(folder.sentence.max_seq_length, Some(77));
        assert_eq!(folder.sentence.pooling.unwrap()["pooling_mode"], "cls");
    }

    #[test]
    fn a_missing_or_malformed_file_is_named() {
        let e = Files::minimal().without("config.json").open().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Io);
        assert!(e.message().contains("config.json"), "{e}");
        let e = Files::minimal().with("modules.json", "[\n{]").open().unwrap_err();
        assert!(e.message().contains("modules.json") && e.message().contains("line 2 column 2"), "{e}");
        for name in ["config.json", "tokenizer_config.json", "special_tokens_map.json"] {
            for (text, place) in [("{\"a\":\n tru}", "line 2 column"), ("3", name), ("\"x\"", name)] {
                let e = Files::minimal().with(name, text).open().unwrap_err();
                assert_eq!(e.kind(), ErrorKind::InvalidFile, "{name}: {e}");
                assert!(e.message().contains(name) && e.message().contains(place), "{e}");
            }
        }
        let e = Files::minimal().without("model.safetensors").with("pytorch_model.bin", "x").open().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidFile);
        let e = Files::minimal().without("model.safetensors").with("flax_model.msgpack", "x").open().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn a_folder_on_disk_is_mapped_and_its_errors_name_the_path() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config.json"), "{}").unwrap();
        std::fs::write(folder.path().join("model.safetensors"), ab()).unwrap();
        let opened = open(&Source::open(folder.path()).unwrap()).unwrap();
        assert!(opened.weights.iter().all(|(_, t)| t.bytes().is_mapped()));
        assert_eq!(opened.weights.get("b").unwrap().to_f32(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);

        std::fs::write(folder.path().join("model.safetensors"), &ab()[..100]).unwrap();
        let e = open(&Source::open(folder.path()).unwrap()).unwrap_err();
        assert!(e.message().starts_with(&folder.path().join("model.safetensors").display().to_string()), "{e}");
    }

    #[test]
    fn only_names_that_models_files_have_are_written() {
        for name in ["config.json", "vocab.txt", "merges.txt", "spiece.model", "README.md", "1_Pooling/config.json"] {
            assert!(may_be_written(name, &["1_Pooling"]), "{name}");
        }
        for name in [
            "run.py",
            "x.sh",
            "thesis.doc",
            "model.safetensors",
            "model.safetensors.index.json",
            ".json",
            ".ssh/config.json",
            "other/config.json",
            "1_Pooling/.x.json",
            "1_Pooling/deep/config.json",
            "vocab.txt.sh",
        ] {
            assert!(!may_be_written(name, &["1_Pooling", ".ssh"]), "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_folder_with_one_damaged_json_file_never_panics(
            which in 0usize..5,
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in any::<bool>(),
        ) {
            let dense = r#"{"in_features":3,"out_features":2,"bias":true,"activation_function":"torch.nn.modules.activation.Tanh"}"#;
            let modules = MODULES.replace("}]", r#"},{"idx":2,"name":"2","path":"2_Dense","type":"sentence_transformers.models.Dense"}]"#);
            let texts = [
                ("modules.json", modules.as_str()),
                ("1_Pooling/config.json", r#"{"pooling_mode":"mean"}"#),
                ("2_Dense/config.json", dense),
                ("sentence_bert_config.json", r#"{"max_seq_length":256,"do_lower_case":false}"#),
                ("config_sentence_transformers.json", r#"{"prompts":{"query":"q: "},"default_prompt_name":"query"}"#),
            ];
            let sound = texts.iter().fold(Files::minimal().with("2_Dense/model.safetensors", ab()), |files, (name, text)| files.with(name, text));
            let (name, text) = texts[which];
            let mut damaged = text.as_bytes().to_vec();
            let at = at.index(damaged.len());
            damaged[at] = byte;
            if cut {
                damaged.truncate(at);
            }
            let _ = sound.with(name, damaged).open();
        }
    }
}
