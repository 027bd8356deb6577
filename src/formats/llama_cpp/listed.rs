//! Which tokens does a tokenizer.json list, and which keys of llama.cpp's say so?
//!
//! What byte-level and SentencePiece vocabularies have in common on their way into a GGUF file; `bpe` and `unigram` add what is theirs.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::super::TokenizerFiles;
use super::super::gguf::{Array, Metadata, Value};
use super::vocabulary::{CONTROL, NORMAL, UNUSED, USER_DEFINED, named};

/// Special tokens that have a key, their names in tokenizer_config.json, and their usual texts.
const NAMED: &[(&str, &str, &[&str])] = &[
    ("unknown", "unk_token", &["<unk>", "[UNK]"]),
    ("padding", "pad_token", &["<pad>", "[PAD]"]),
    ("mask", "mask_token", &["<mask>", "[MASK]"]),
];

/// The key `tokenizer.ggml.<name>`.
pub(super) fn key(name: &str) -> String {
    format!("tokenizer.ggml.{name}")
}

/// The tokens of a tokenizer.json by id, those that were added last, each with llama.cpp's type of it.
pub(super) struct Listed<'a> {
    by_id: BTreeMap<u32, (&'a str, u32)>,
    /// How many rows the embedding has.
    rows: usize,
}

impl<'a> Listed<'a> {
    /// `in_model` are the tokens of the vocabulary itself. Ids beyond the embedding are an error when the model is opened.
    pub(super) fn new(file: &'a Json, in_model: impl Iterator<Item = (u64, &'a str)>, rows: usize) -> Listed<'a> {
        let id = |id: u64| u32::try_from(id).ok().filter(|id| (*id as usize) < rows);
        let in_model = in_model.filter_map(|(at, token)| Some((id(at)?, (token, NORMAL))));
        let added = file["added_tokens"].as_array().into_iter().flatten().filter_map(|token| {
            let kind = if token["special"] == true { CONTROL } else { USER_DEFINED };
            Some((id(token["id"].as_u64()?)?, (token["content"].as_str()?, kind)))
        });
        Listed { by_id: in_model.chain(added).collect(), rows }
    }

    /// Gives a token another type.
    pub(super) fn set_type(&mut self, id: u32, kind: u32) {
        self.by_id.entry(id).and_modify(|(_, stated)| *stated = kind);
    }

    fn id_of(&self, text: &str) -> Option<u32> {
        self.by_id.iter().find(|(_, (token, _))| *token == text).map(|(id, _)| *id)
    }

    /// Writes the tokens, their types, the special tokens' ids, and what stands before and behind a text.
    pub(super) fn describe(&self, file: &Json, files: &TokenizerFiles, into: &mut Metadata) {
        // llama.cpp has as many tokens as the embedding has rows.
        let token =
            |id: u32| self.by_id.get(&id).map_or_else(|| (format!("[PAD{id}]"), UNUSED), |(text, kind)| ((*text).to_owned(), *kind));
        let (tokens, types): (Vec<String>, Vec<i32>) = (0..self.rows as u32).map(token).map(|(text, kind)| (text, kind as i32)).unzip();
        into.set(key("tokens"), Value::Array(Array::String(tokens)));
        into.set(key("token_type"), Value::Array(Array::I32(types)));
        let (first, last) = ends(file);
        for (names, flag, text) in [(["bos", "cls"], "add_bos_token", first), (["eos", "seperator"], "add_eos_token", last)] {
            let found = text.and_then(|text| self.id_of(text));
            into.set(key(flag), Value::Bool(found.is_some()));
            for (name, id) in names.iter().filter_map(|name| Some((name, found?))) {
                into.set(key(&format!("{name}_token_id")), Value::U32(id));
            }
        }
        for (name, field, usual) in NAMED {
            let found = named(files, field).and_then(|text| self.id_of(&text));
            if let Some(id) = found.or_else(|| usual.iter().find_map(|text| self.id_of(text))) {
                into.set(key(&format!("{name}_token_id")), Value::U32(id));
            }
        }
    }
}

/// The tokens before and behind a text.
fn ends(file: &Json) -> (Option<&str>, Option<&str>) {
    let processor = &file["post_processor"];
    match processor["type"].as_str() {
        Some("RobertaProcessing") => (processor["cls"][0].as_str(), processor["sep"][0].as_str()),
        Some("TemplateProcessing") => {
            let pieces = processor["single"].as_array().map_or(&[][..], Vec::as_slice);
            (special_text(pieces.first()), special_text(pieces.last()))
        }
        _ => (None, None),
    }
}

/// The special token that a piece of a template is, where it is one.
fn special_text(piece: Option<&Json>) -> Option<&str> {
    piece?.get("SpecialToken")?.get("id")?.as_str()
}
