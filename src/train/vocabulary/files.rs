//! In which files does a vocabulary stand?

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value, json};
use tokenizers::processors::bert::BertProcessing;
use tokenizers::processors::roberta::RobertaProcessing;
use tokenizers::{AddedToken, ModelWrapper, PostProcessorWrapper, Tokenizer};

use super::{Vocabulary, VocabularySettings};
use crate::error::{Error, ErrorKind, Result};
use crate::formats::atomic::AtomicFolder;

/// Every file that a vocabulary may have.
pub const NAMES: &[&str] = &["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "vocab.json", "merges.txt"];

/// Puts the kind's special tokens around texts.
pub(super) fn dress(inner: &mut Tokenizer, settings: &VocabularySettings) -> Result<()> {
    let special = settings.special();
    inner.add_special_tokens(special.into_iter().map(|token| AddedToken::from(token, true))).map_err(|e| failed(&e))?;
    let with_id = |name: &str| {
        let token = settings.kind.special.iter().find(|(known, _)| *known == name).map_or("", |(_, token)| *token);
        inner.token_to_id(token).map(|id| (token.to_owned(), id))
    };
    let (Some(sep), Some(cls)) = (with_id("sep_token"), with_id("cls_token")) else {
        return Err(failed(&"it lost its special tokens"));
    };
    let around: PostProcessorWrapper = match inner.get_model() {
        ModelWrapper::BPE(_) => RobertaProcessing::new(sep, cls).trim_offsets(true).add_prefix_space(false).into(),
        _ => BertProcessing::new(sep, cls).into(),
    };
    inner.with_post_processor(Some(around));
    Ok(())
}

fn failed(reason: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("no tokenizer could be made: {reason}"))
}

impl Vocabulary {
    /// The files by name.
    ///
    /// # Errors
    /// `InvalidArgument` where the crate cannot write what it made.
    pub fn files(&self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let json = self.inner.to_string(true).map_err(|e| failed(&e))?;
        let mut files = vec![
            ("tokenizer.json", json.into_bytes()),
            ("tokenizer_config.json", pretty(&self.config())),
            ("special_tokens_map.json", pretty(&Value::Object(self.named()))),
        ];
        let mut tokens: Vec<(String, u32)> = self.inner.get_vocab(true).into_iter().collect();
        tokens.sort_by_key(|(_, id)| *id);
        match self.inner.get_model() {
            ModelWrapper::WordPiece(_) => files.push(("vocab.txt", lines(tokens.iter().map(|(token, _)| token)))),
            ModelWrapper::BPE(_) => {
                let ids: Map<String, Value> = tokens.iter().map(|(token, id)| (token.clone(), json!(id))).collect();
                files.push(("vocab.json", pretty(&Value::Object(ids))));
                files.push(("merges.txt", self.merges()?));
            }
            _ => {}
        }
        Ok(files)
    }

    /// Writes the files into a new folder, or in place of one that holds nothing but such files.
    ///
    /// # Errors
    /// As [`AtomicFolder`]: `InvalidArgument` where something else is called so, `Io` where the system refuses.
    pub fn write(&self, folder: &Path, replaces: bool) -> Result<()> {
        let names = || NAMES.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let files = self.files()?;
        let target = if replaces { AtomicFolder::replacing(folder, names())? } else { AtomicFolder::create(folder)? };
        for (name, bytes) in files {
            let mut file = target.file(name)?;
            let written = file.write_all(&bytes);
            written.map_err(|e| Error::new(ErrorKind::Io, format!("cannot write {}: {e}", folder.join(name).display())))?;
            file.commit()?;
        }
        target.commit()
    }

    /// Special tokens by name.
    fn named(&self) -> Map<String, Value> {
        let mut named: Map<String, Value> =
            self.settings.kind.special.iter().map(|(name, token)| ((*name).to_owned(), json!(token))).collect();
        // The first and the last token of a text have two names each in RoBERTa.
        if let ModelWrapper::BPE(_) = self.inner.get_model() {
            for (name, same) in [("bos_token", "cls_token"), ("eos_token", "sep_token")] {
                named.insert(name.to_owned(), named.get(same).cloned().unwrap_or_default());
            }
        }
        if !self.settings.further.is_empty() {
            named.insert("additional_special_tokens".to_owned(), json!(self.settings.further));
        }
        named
    }

    fn config(&self) -> Value {
        let mut config = self.named();
        config.insert("tokenizer_class".to_owned(), json!(self.settings.kind.class));
        // transformers' way of saying that there is no limit.
        config.insert("model_max_length".to_owned(), self.settings.max_length.map_or(json!(1e30), |length| json!(length)));
        if let ModelWrapper::WordPiece(_) = self.inner.get_model() {
            config.insert("do_lower_case".to_owned(), json!(self.settings.lower_case()));
            config.insert("strip_accents".to_owned(), json!(self.settings.strip_accents));
            let chinese = self.settings.chinese_characters.unwrap_or(self.settings.kind.chinese_characters);
            config.insert("tokenize_chinese_chars".to_owned(), json!(chinese));
        }
        Value::Object(config)
    }

    /// merges.txt, out of tokenizer.json: the crate shows merges nowhere else.
    fn merges(&self) -> Result<Vec<u8>> {
        let json = serde_json::to_value(self.inner.get_model()).map_err(|e| failed(&e))?;
        let merges: Vec<(String, String)> =
            serde_json::from_value(json.get("merges").cloned().unwrap_or_default()).map_err(|e| failed(&e))?;
        let pairs = merges.into_iter().map(|(left, right)| format!("{left} {right}"));
        Ok(lines(std::iter::once("#version: 0.2".to_owned()).chain(pairs)))
    }
}

fn lines(lines: impl Iterator<Item = impl AsRef<str>>) -> Vec<u8> {
    let mut text = String::new();
    for line in lines {
        text.push_str(line.as_ref());
        text.push('\n');
    }
    text.into_bytes()
}

fn pretty(value: &Value) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
    text.push(b'\n');
    text
}
