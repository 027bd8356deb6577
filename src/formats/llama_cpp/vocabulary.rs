//! Which tokenizer do the `tokenizer.ggml.*` keys describe?
//!
//! [`Vocabulary`] is what the keys say, checked; a file for each kind of vocabulary turns it into the tokenizer.json that
//! `tokenizer` (and the reference) opens, so that there is one reader of tokenizers. The keys and their defaults are those of
//! llama.cpp's `llama-vocab.cpp`.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::super::TokenizerFiles;
use super::super::gguf::Metadata;
use super::{bpe, unigram, wordpiece};
use crate::error::{Error, ErrorKind, Result, fail, json_message};

/// A kind of vocabulary: the value of `tokenizer.ggml.model` and how its tokenizer.json is made.
struct Family {
    model: &'static str,
    build: fn(&Vocabulary) -> Result<Json>,
}

const FAMILIES: &[Family] = &[
    Family { model: "bert", build: wordpiece::tokenizer_json },
    Family { model: "t5", build: unigram::tokenizer_json },
    Family { model: "gpt2", build: bpe::tokenizer_json },
];

/// llama.cpp's types of tokens (`llama_token_type`) that matter here.
pub(super) const NORMAL: u32 = 1;
pub(super) const UNKNOWN: u32 = 2;
pub(super) const CONTROL: u32 = 3;
pub(super) const USER_DEFINED: u32 = 4;
pub(super) const UNUSED: u32 = 5;
pub(super) const BYTE: u32 = 6;

/// The special tokens that have a key, `tokenizer.ggml.<name>_token_id`.
const NAMED: &[&str] = &["bos", "eos", "unknown", "seperator", "padding", "cls", "mask"];

/// What the keys say.
pub(super) struct Vocabulary {
    /// The tokens by id.
    pub(super) tokens: Vec<String>,
    /// The type of each.
    pub(super) types: Vec<u32>,
    /// The score of each; empty where there are none.
    pub(super) scores: Vec<f64>,
    /// Pairs that are merged, in order.
    pub(super) merges: Vec<String>,
    /// Ids of special tokens by the names in the keys.
    pub(super) special: BTreeMap<&'static str, u32>,
    pub(super) add_bos: Option<bool>,
    pub(super) add_eos: Option<bool>,
    pub(super) add_space_prefix: Option<bool>,
    pub(super) remove_extra_whitespaces: Option<bool>,
    /// SentencePiece's compiled normaliser.
    pub(super) charsmap: Vec<u8>,
    /// `tokenizer.ggml.pre`: how text is cut before the vocabulary is asked.
    pub(super) pre: Option<String>,
    pub(super) lowercase: Option<bool>,
    pub(super) strip_accents: Option<bool>,
}

/// The tokenizer.json that the keys amount to, `None` where the file has no vocabulary.
///
/// # Errors
/// `InvalidFile` where keys contradict each other, `Unsupported` for a kind that is not read.
pub(in super::super) fn tokenizer_json(metadata: &Metadata) -> Result<Option<Vec<u8>>> {
    let Some(model) = metadata.text("tokenizer.ggml.model")? else { return Ok(None) };
    let Some(family) = FAMILIES.iter().find(|f| f.model == model) else {
        let known: Vec<_> = FAMILIES.iter().map(|f| f.model).collect();
        let told = format!("setting \"tokenizer.ggml.model\" is {model:?}; vocabularies of {} are read", known.join(", "));
        return fail(ErrorKind::Unsupported, told);
    };
    let json = (family.build)(&Vocabulary::read(metadata)?)?;
    Ok(Some(json.to_string().into_bytes()))
}

/// Writes the keys for a tokenizer that llama.cpp has too; other kinds are in tokenizer.json alone. `rows` is the number of rows
/// of the token embedding, which llama.cpp wants to be that of the tokens.
pub(in super::super) fn describe_tokenizer(files: &TokenizerFiles, lower_case: bool, rows: usize, into: &mut Metadata) -> Result<()> {
    let malformed = |e: serde_json::Error| format!("tokenizer.json: the JSON is malformed: {}", json_message(&e));
    let parse = |json| serde_json::from_slice(json).map_err(|e| Error::new(ErrorKind::InvalidFile, malformed(e)));
    let file: Option<Json> = files.json.as_deref().map(parse).transpose()?;
    wordpiece::describe(files, file.as_ref(), lower_case, rows, into)?;
    if let Some(file) = &file {
        bpe::describe(files, file, rows, into);
        unigram::describe(files, file, rows, into);
    }
    Ok(())
}

/// The special token that tokenizer_config.json or special_tokens_map.json calls `field`.
pub(super) fn named(files: &TokenizerFiles, field: &str) -> Option<String> {
    let said = [&files.config, &files.special_tokens].into_iter().flatten().find_map(|file| file.get(field).filter(|v| !v.is_null()))?;
    said.as_str().or_else(|| said.get("content").and_then(Json::as_str)).map(str::to_owned)
}

impl Vocabulary {
    fn read(metadata: &Metadata) -> Result<Vocabulary> {
        let key = |name: &str| format!("tokenizer.ggml.{name}");
        let tokens = metadata.texts(&key("tokens"))?.unwrap_or_default().to_vec();
        if tokens.is_empty() || tokens.len() > u32::MAX as usize {
            return fail(ErrorKind::InvalidFile, "setting \"tokenizer.ggml.tokens\" is missing or empty; convert the model again");
        }
        let whole = |name: &str| -> Result<Option<Vec<f64>>> {
            match metadata.numbers(&key(name))? {
                Some(found) if found.len() != tokens.len() => {
                    let told = format!("setting {:?} has {} items for {} tokens", key(name), found.len(), tokens.len());
                    fail(ErrorKind::InvalidFile, told)
                }
                found => Ok(found),
            }
        };
        let types = whole("token_type")?.map_or_else(|| vec![NORMAL; tokens.len()], |types| types.iter().map(|t| *t as u32).collect());
        let scores = whole("scores")?.unwrap_or_default();
        let mut special = BTreeMap::new();
        for name in NAMED {
            let key = key(&format!("{name}_token_id"));
            match metadata.count(&key)? {
                None => {}
                Some(id) if id < tokens.len() as u64 => drop(special.insert(*name, id as u32)),
                Some(id) => {
                    return fail(ErrorKind::InvalidFile, format!("setting {key:?} is {id}, but there are only {} tokens", tokens.len()));
                }
            }
        }
        let charsmap = metadata.numbers(&key("precompiled_charsmap"))?.unwrap_or_default();
        Ok(Vocabulary {
            types,
            scores,
            merges: metadata.texts(&key("merges"))?.unwrap_or_default().to_vec(),
            special,
            add_bos: metadata.flag(&key("add_bos_token"))?,
            add_eos: metadata.flag(&key("add_eos_token"))?,
            add_space_prefix: metadata.flag(&key("add_space_prefix"))?,
            remove_extra_whitespaces: metadata.flag(&key("remove_extra_whitespaces"))?,
            // Written as bytes of either sign.
            charsmap: charsmap.iter().map(|b| *b as i64 as u8).collect(),
            pre: metadata.text(&key("pre"))?.map(str::to_owned),
            lowercase: metadata.flag(&key("normalizer.lowercase"))?,
            strip_accents: metadata.flag(&key("normalizer.strip_accents"))?,
            tokens,
        })
    }

    /// The special token of that name: its key's, or llama.cpp's `default` where that is a token.
    pub(super) fn special(&self, name: &str, default: Option<u32>) -> Option<u32> {
        self.special.get(name).copied().or(default.filter(|id| (*id as usize) < self.tokens.len()))
    }

    /// tokenizer.json's list of tokens that are found in the text before all else; `content` is a token's text by id.
    pub(super) fn added_tokens(&self, content: impl Fn(usize) -> String) -> Vec<Json> {
        let added = self.types.iter().enumerate().filter(|(_, t)| matches!(**t, UNKNOWN | CONTROL | USER_DEFINED));
        added
            .map(|(id, t)| {
                let special = *t != USER_DEFINED;
                json!({"id": id, "content": content(id), "single_word": false, "lstrip": false, "rstrip": false, "normalized": !special, "special": special})
            })
            .collect()
    }
}

/// tokenizer.json's map from tokens to ids. Two ids of one token leave open which one a text gets.
pub(super) fn token_map(tokens: impl Iterator<Item = String>) -> Result<Json> {
    let mut map = serde_json::Map::new();
    for (id, token) in tokens.enumerate() {
        if let Some(first) = map.get(&token) {
            return fail(ErrorKind::InvalidFile, format!("setting \"tokenizer.ggml.tokens\" has {token:?} at {first} and at {id}"));
        }
        map.insert(token, json!(id));
    }
    Ok(Json::Object(map))
}

/// tokenizer.json's template: `first` before a text, `last` behind it, and for pairs what the reference of these models does.
pub(super) fn template(first: Option<(u32, &str)>, last: Option<(u32, &str)>) -> Json {
    let special = |token: Option<(u32, &str)>| token.map(|(_, text)| json!({"SpecialToken": {"id": text, "type_id": 0}}));
    let text = |which: &str| Some(json!({"Sequence": {"id": which, "type_id": 0}}));
    let single: Vec<Json> = [special(first), text("A"), special(last)].into_iter().flatten().collect();
    // With a token before the text, as RoBERTa: two behind the first text.
    let between = [special(last), first.and(special(last))];
    let pair: Vec<Json> = [special(first), text("A")].into_iter().chain(between).chain([text("B"), special(last)]).flatten().collect();
    let special_tokens: serde_json::Map<String, Json> = [first, last]
        .into_iter()
        .flatten()
        .map(|(id, text)| (text.to_owned(), json!({"id": text, "ids": [id], "tokens": [text]})))
        .collect();
    json!({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special_tokens})
}
