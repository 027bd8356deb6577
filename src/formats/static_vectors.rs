//! How does a model of static vectors read texts, according to its files?
//!
//! Three layouts, one table of vectors each. Folders of model2vec: `config.json` of `model_type` `model2vec` (or none, beside a
//! StaticEmbedding in `modules.json`), a tensor `embeddings`, perhaps `weights` and `mapping`. Folders of sentence-transformers' own:
//! StaticEmbedding in `modules.json`, a tensor `embedding.weight`, no `config.json`; one is made, of `model_type` `static-embedding`, so
//! that a converted model says what it is. Files of word vectors are folders of model2vec by way of `word_vectors`. The rules of the two
//! differ: what they do with the same text is in [`StaticSettings`], which goes to `tasks`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::checkpoint::join;
use super::word_vectors::TABLE;
use super::{SentenceModules, Source, Weights, modules, sentence};
use crate::error::{ErrorKind, Result, fail};
use crate::quant::Bytes;

/// The `model_type` of folders that model2vec reads.
pub(super) const MODEL2VEC: &str = "model2vec";

/// The `model_type` that folders of sentence-transformers' StaticEmbedding get here.
const STATIC_EMBEDDING: &str = "static-embedding";

/// The name of the table in sentence-transformers' checkpoints.
const THEIR_TABLE: &str = "embedding.weight";

/// What model2vec takes where config.json states no `max_length`.
const MAX_LENGTH: usize = 512;

/// How texts become the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticSettings {
    /// Whether tokens that the tokenizer does not know are left out; else they have a vector as all others.
    pub drop_unknown: bool,
    /// Whether a text is cut after the limit's number of tokens times the median length of a token, in characters, before tokens are
    /// looked for.
    pub cut_characters: bool,
    /// Whether the limit is the one that is stored in tokenizer.json.
    pub stored_limit: bool,
}

/// model2vec's rules, as in its version 0.10.
const OF_MODEL2VEC: StaticSettings = StaticSettings { drop_unknown: true, cut_characters: true, stored_limit: false };

/// Those of sentence-transformers, as in its version 6.2.
const OF_SENTENCE_TRANSFORMERS: StaticSettings = StaticSettings { drop_unknown: false, cut_characters: false, stored_limit: true };

/// The config.json that a folder of sentence-transformers' StaticEmbedding lacks. What is wrong with `modules.json` is said when it is
/// read.
pub(super) fn made(source: &Source) -> BTreeMap<String, Bytes> {
    let first = source.parse::<Vec<modules::Entry>>(sentence::MODULES).ok().flatten().and_then(|list| modules::classify(list).ok());
    match first.unwrap_or_default().first() {
        Some((modules::Kind::Static, dir)) if !source.contains(&join(dir, "config.json")) => {
            let config = json!({"architectures": ["StaticEmbedding"], "model_type": STATIC_EMBEDDING});
            [(join(dir, "config.json"), Bytes::owned(format!("{config:#}\n")))].into()
        }
        _ => BTreeMap::new(),
    }
}

/// Finds the rules of a model of static vectors and puts them into `sentence`; gives the table and config.json's `model_type` one name
/// each. Other models are left as they are.
pub(super) fn settle(file: &str, config: &mut Value, weights: &mut Weights, sentence: &mut SentenceModules) -> Result<()> {
    let model_type = match config.get("model_type").and_then(Value::as_str) {
        Some(MODEL2VEC) => MODEL2VEC,
        Some(STATIC_EMBEDDING) => STATIC_EMBEDDING,
        _ if sentence.is_static && weights.get(TABLE).is_some() => MODEL2VEC,
        _ if sentence.is_static => STATIC_EMBEDDING,
        _ => return Ok(()),
    };
    config["model_type"] = model_type.into();
    weights.rename(THEIR_TABLE, TABLE)?;
    if model_type == STATIC_EMBEDDING {
        sentence.static_vectors = Some(OF_SENTENCE_TRANSFORMERS);
        return Ok(());
    }
    sentence.static_vectors = Some(OF_MODEL2VEC);
    sentence.max_seq_length = match config.get("max_length") {
        None => Some(MAX_LENGTH),
        Some(Value::Null) => None,
        Some(length) => match length.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0) {
            Some(length) => Some(length),
            None => return fail(ErrorKind::InvalidFile, format!("{file}: max_length = {length}; expected a number of tokens or null")),
        },
    };
    sentence.normalize = match config.get("normalize") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(normalize)) => *normalize,
        Some(other) => return fail(ErrorKind::InvalidFile, format!("{file}: normalize = {other}; expected true or false")),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::fixtures::{F32Tensor, Files, reference_file};

    const MODULES: &str = r#"[{"path":".","type":"sentence_transformers.models.StaticEmbedding"}]"#;

    fn folder(table: &str) -> Files {
        Files::none().with("modules.json", MODULES).with("model.safetensors", reference_file(&[F32Tensor::counting(table, &[2, 2])]))
    }

    #[test]
    fn each_layout_has_its_rules_and_one_name_for_the_table() {
        let rules = |files: Files| {
            let folder = files.open().unwrap();
            assert_eq!(folder.weights.names().collect::<Vec<_>>(), [TABLE]);
            (folder.config["model_type"].as_str().unwrap().to_owned(), folder.sentence.static_vectors.unwrap(), folder.sentence)
        };
        let (name, found, _) = rules(folder(THEIR_TABLE));
        assert_eq!((name.as_str(), found), (STATIC_EMBEDDING, OF_SENTENCE_TRANSFORMERS));
        let (name, found, sentence) = rules(folder(TABLE).with("config.json", r#"{"normalize":true}"#));
        assert_eq!((name.as_str(), found, sentence.normalize, sentence.max_seq_length), (MODEL2VEC, OF_MODEL2VEC, true, Some(512)));
        let without_modules = folder(TABLE).without("modules.json").with("config.json", r#"{"model_type":"model2vec","max_length":null}"#);
        let (_, found, sentence) = rules(without_modules);
        assert_eq!((found, sentence.normalize, sentence.max_seq_length), (OF_MODEL2VEC, false, None));
        let (name, found, _) = rules(folder(TABLE).with("config.json", r#"{"model_type":"static-embedding"}"#));
        assert_eq!((name.as_str(), found), (STATIC_EMBEDDING, OF_SENTENCE_TRANSFORMERS));
    }

    #[test]
    fn settings_of_the_wrong_kind_are_named() {
        for (field, value) in [("max_length", "0"), ("max_length", "-1"), ("max_length", "\"x\""), ("normalize", "1")] {
            let e = folder(TABLE).with("config.json", format!(r#"{{"{field}":{value}}}"#)).open().unwrap_err();
            assert!(e.kind() == ErrorKind::InvalidFile && e.message().contains(field) && e.message().contains("config.json"), "{e}");
        }
        let both = reference_file(&[F32Tensor::counting(TABLE, &[2, 2]), F32Tensor::counting(THEIR_TABLE, &[2, 2])]);
        let e = folder(TABLE).with("model.safetensors", both).open().unwrap_err();
        assert!(e.message().contains("twice"), "{e}");
    }
}
