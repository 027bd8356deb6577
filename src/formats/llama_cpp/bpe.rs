//! Byte-level BPE (`tokenizer.ggml.model` = gpt2), both ways: tokens, and the pairs that are merged, in order.

use serde_json::{Value as Json, json};

use super::super::TokenizerFiles;
use super::super::gguf::{Array, Metadata, Value};
use super::listed::{Listed, key};
use super::vocabulary::{Vocabulary, token_map};
use crate::error::{ErrorKind, Result, fail};

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

/// Writes the keys of a byte-level tokenizer that llama.cpp has too: one that cuts as GPT-2 does, puts no space before a text, and changes
/// nothing in it but to compose it (which llama.cpp leaves out). Nothing for other kinds.
pub(super) fn describe(files: &TokenizerFiles, file: &Json, rows: usize, into: &mut Metadata) {
    let (Some(merges), true) = (merges(&file["model"]), is_theirs(file)) else { return };
    let in_model = file["model"]["vocab"].as_object().into_iter().flatten().filter_map(|(token, id)| Some((id.as_u64()?, token.as_str())));
    into.set(key("model"), Value::String("gpt2".into()));
    into.set(key("pre"), Value::String(pre(file).into()));
    Listed::new(file, in_model, rows).describe(file, files, into);
    into.set(key("merges"), Value::Array(Array::String(merges)));
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

/// The value of `tokenizer.ggml.pre`.
fn pre(file: &Json) -> &'static str {
    if file["post_processor"]["type"] == "RobertaProcessing" {
        ROBERTA
    } else if file["normalizer"]["type"] == "NFC" {
        COMPOSED
    } else {
        "gpt-2"
    }
}
