//! Byte-level BPE (`tokenizer.ggml.model` = gpt2), both ways: tokens, and the pairs that are merged, in order.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::super::TokenizerFiles;
use super::super::gguf::{Array, Metadata, Value};
use super::vocabulary::{CONTROL, NORMAL, UNUSED, USER_DEFINED, Vocabulary, named, token_map};
use crate::error::{Error, ErrorKind, Result, fail, json_message};

/// The value of `tokenizer.ggml.pre` of vocabularies whose texts are composed (NFC) first, as ModernBERT's. llama.cpp leaves that out.
const COMPOSED: &str = "modern-bert";
/// That of vocabularies with two separators between the texts of a pair.
const ROBERTA: &str = "roberta-bpe";

/// Values of `tokenizer.ggml.pre` for which text is cut as GPT-2 cuts it, as the encoders' vocabularies do. Others cut
/// otherwise, and would give other ids in silence.
const GPT2: &[&str] = &["gpt-2", "roberta-bpe", "jina-v1-en", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "jina-v2-code"];

/// tokenizer.json of `vocabulary`.
pub(super) fn tokenizer_json(vocabulary: &Vocabulary) -> Result<Json> {
    let Vocabulary { tokens, merges, .. } = vocabulary;
    let composed = vocabulary.pre.as_deref() == Some(COMPOSED);
    if let Some(pre) = vocabulary.pre.as_deref().filter(|pre| !composed && !GPT2.contains(pre)) {
        let told = format!("setting \"tokenizer.ggml.pre\" is {pre:?}; byte-level vocabularies of {} are read", GPT2.join(", "));
        return fail(ErrorKind::Unsupported, told);
    }
    let pairs = merges.iter().enumerate().map(|(i, merge)| match merge.split_once(' ') {
        Some((left, right)) if !left.is_empty() && !right.is_empty() && !right.contains(' ') => Ok(json!([left, right])),
        _ => fail(ErrorKind::InvalidFile, format!("setting \"tokenizer.ggml.merges\": item {i}, {merge:?}, is no pair of tokens")),
    });
    let pairs: Vec<Json> = pairs.collect::<Result<_>>()?;
    let named = |id: u32| (tokens[id as usize].as_str(), id);
    let first = vocabulary.special.get("cls").copied().or(vocabulary.special("bos", None)).filter(|_| vocabulary.add_bos != Some(false));
    let last =
        vocabulary.special.get("seperator").copied().or(vocabulary.special("eos", None)).filter(|_| vocabulary.add_eos != Some(false));
    let prefix = vocabulary.add_space_prefix.unwrap_or(false);
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": true, "use_regex": true});
    let processor = match (first.map(named), last.map(named)) {
        (Some(cls), Some(sep)) => {
            json!({"type": "RobertaProcessing", "sep": sep, "cls": cls, "trim_offsets": true, "add_prefix_space": prefix})
        }
        _ => byte_level.clone(),
    };
    let processor = match (composed, &processor["cls"], &processor["sep"]) {
        // ModernBERT has one separator between two texts.
        (true, Json::Array(first), Json::Array(last)) => bert_template(&first[0], &first[1], &last[0], &last[1]),
        _ => processor.clone(),
    };
    let unknown = vocabulary.special("unknown", None).map(|id| tokens[id as usize].clone());
    Ok(json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": vocabulary.added_tokens(|id| tokens[id].clone()),
        "normalizer": composed.then(|| json!({"type": "NFC"})),
        "pre_tokenizer": byte_level,
        "post_processor": processor,
        "decoder": byte_level,
        "model": {"type": "BPE", "dropout": null, "unk_token": unknown, "continuing_subword_prefix": "", "end_of_word_suffix": "",
            "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": token_map(tokens.iter().cloned())?, "merges": pairs},
    }))
}

/// `[CLS] A [SEP] B [SEP]`, as tokenizer.json has it.
fn bert_template(first: &Json, first_id: &Json, last: &Json, last_id: &Json) -> Json {
    let special = |name: &Json| json!({"SpecialToken": {"id": name, "type_id": 0}});
    let text = |which: &str| json!({"Sequence": {"id": which, "type_id": 0}});
    let tokens: serde_json::Map<String, Json> = [(first, first_id), (last, last_id)]
        .into_iter()
        .map(|(name, id)| (name.as_str().unwrap_or_default().to_owned(), json!({"id": name, "ids": [id], "tokens": [name]})))
        .collect();
    json!({"type": "TemplateProcessing",
        "single": [special(first), text("A"), special(last)],
        "pair": [special(first), text("A"), special(last), text("B"), special(last)],
        "special_tokens": tokens})
}

/// Special tokens that have a key, their names in tokenizer_config.json, and their usual texts.
const NAMED: &[(&str, &str, &[&str])] = &[
    ("unknown", "unk_token", &["<unk>", "[UNK]"]),
    ("padding", "pad_token", &["<pad>", "[PAD]"]),
    ("mask", "mask_token", &["<mask>", "[MASK]"]),
];

/// Writes the keys of a byte-level tokenizer that llama.cpp has too: one that cuts as GPT-2 does, puts no space before a text, and changes
/// nothing in it but to compose it (which llama.cpp leaves out). Nothing for other kinds, and where there is no tokenizer.json.
pub(super) fn describe(files: &TokenizerFiles, rows: usize, into: &mut Metadata) -> Result<()> {
    let Some(json) = &files.json else { return Ok(()) };
    let malformed = |e: serde_json::Error| format!("tokenizer.json: the JSON is malformed: {}", json_message(&e));
    let file: Json = serde_json::from_slice(json).map_err(|e| Error::new(ErrorKind::InvalidFile, malformed(e)))?;
    let (Some(merges), true) = (merges(&file["model"]), is_theirs(&file)) else { return Ok(()) };
    let id = |v: &Json| v.as_u64().and_then(|id| u32::try_from(id).ok()).filter(|id| (*id as usize) < rows);
    let in_model =
        file["model"]["vocab"].as_object().into_iter().flatten().filter_map(|(token, v)| Some((id(v)?, (token.as_str(), NORMAL))));
    let added = file["added_tokens"].as_array().into_iter().flatten().filter_map(|token| {
        let kind = if token["special"] == true { CONTROL } else { USER_DEFINED };
        Some((id(&token["id"])?, (token["content"].as_str()?, kind)))
    });
    let by_id: BTreeMap<u32, (&str, u32)> = in_model.chain(added).collect();
    // llama.cpp has as many tokens as the embedding has rows.
    let token = |id: u32| by_id.get(&id).map_or_else(|| (format!("[PAD{id}]"), UNUSED), |(text, kind)| ((*text).to_owned(), *kind));
    let (tokens, types): (Vec<String>, Vec<i32>) = (0..rows as u32).map(token).map(|(text, kind)| (text, kind as i32)).unzip();
    let id_of = |text: &str| by_id.iter().find(|(_, (token, _))| *token == text).map(|(id, _)| *id);
    let (first, last, pre) = ends(&file);
    let key = |name: &str| format!("tokenizer.ggml.{name}");
    into.set(key("model"), Value::String("gpt2".into()));
    into.set(key("pre"), Value::String(pre.into()));
    into.set(key("tokens"), Value::Array(Array::String(tokens)));
    into.set(key("token_type"), Value::Array(Array::I32(types)));
    into.set(key("merges"), Value::Array(Array::String(merges)));
    for (names, flag, text) in [(["bos", "cls"], "add_bos_token", first), (["eos", "seperator"], "add_eos_token", last)] {
        let found = text.and_then(|text| id_of(&text));
        into.set(key(flag), Value::Bool(found.is_some()));
        names
            .iter()
            .filter_map(|name| Some((name, found?)))
            .for_each(|(name, id)| into.set(key(&format!("{name}_token_id")), Value::U32(id)));
    }
    for (name, field, usual) in NAMED {
        let found = named(files, field).and_then(|text| id_of(&text)).or_else(|| usual.iter().find_map(|text| id_of(text)));
        found.into_iter().for_each(|id| into.set(key(&format!("{name}_token_id")), Value::U32(id)));
    }
    Ok(())
}

/// Whether llama.cpp cuts texts as this tokenizer.json does.
fn is_theirs(file: &Json) -> bool {
    let (model, cut) = (&file["model"], &file["pre_tokenizer"]);
    let absent = |name: &str| model[name].is_null() || model[name] == "" || model[name] == false;
    let plain = ["dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges"].into_iter().all(absent);
    let composed = file["normalizer"].is_null() || file["normalizer"]["type"] == "NFC";
    let by_bytes = cut["type"] == "ByteLevel" && cut["add_prefix_space"] == false && cut["use_regex"] != false;
    model["type"] == "BPE" && plain && composed && by_bytes
}

/// The pairs that are merged, each with a space between; older files have them so, newer ones as lists.
fn merges(model: &Json) -> Option<Vec<String>> {
    let pair = |pair: &Json| match pair {
        Json::String(pair) => Some(pair.clone()),
        Json::Array(pair) => Some(format!("{} {}", pair.first()?.as_str()?, pair.get(1)?.as_str()?)),
        _ => None,
    };
    model["merges"].as_array()?.iter().map(pair).collect()
}

/// The tokens before and behind a text, and the value of `tokenizer.ggml.pre`.
fn ends(file: &Json) -> (Option<String>, Option<String>, &'static str) {
    let processor = &file["post_processor"];
    let text = |v: &Json| v.as_str().map(str::to_owned);
    let otherwise = if file["normalizer"]["type"] == "NFC" { COMPOSED } else { "gpt-2" };
    match processor["type"].as_str() {
        Some("RobertaProcessing") => (text(&processor["cls"][0]), text(&processor["sep"][0]), ROBERTA),
        Some("TemplateProcessing") => {
            let pieces = processor["single"].as_array().map_or(&[][..], Vec::as_slice);
            let special = |piece: Option<&Json>| piece.and_then(|piece| text(&piece["SpecialToken"]["id"]));
            (special(pieces.first()), special(pieces.last()), otherwise)
        }
        _ => (None, None, otherwise),
    }
}
