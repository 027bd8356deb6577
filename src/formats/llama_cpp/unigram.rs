//! SentencePiece's unigram vocabulary (`tokenizer.ggml.model` = t5), both ways.
//!
//! Pieces with scores; spaces are U+2581; text is normalised by a compiled map. The reference's tokenizer.json for such models
//! (XLM-RoBERTa) says the same with a `Precompiled` normaliser and a `Metaspace` pre-tokeniser.

use serde_json::{Value as Json, json};

use super::super::TokenizerFiles;
use super::super::gguf::{Array, Metadata, Value};
use super::base64;
use super::listed::{Listed, key};
use super::vocabulary::{BYTE, UNKNOWN, Vocabulary, template};
use crate::error::{ErrorKind, Result, fail};

const SPACE: &str = "\u{2581}";

/// The score of a row that is no token, as llama.cpp's converter writes it.
const NO_SCORE: f64 = -10_000.0;

/// tokenizer.json of `vocabulary`.
pub(super) fn tokenizer_json(vocabulary: &Vocabulary) -> Result<Json> {
    let Vocabulary { tokens, types, scores, .. } = vocabulary;
    if scores.len() != tokens.len() {
        return fail(ErrorKind::InvalidFile, "setting \"tokenizer.ggml.scores\" is missing; a unigram vocabulary needs it");
    }
    if let Some(id) = scores.iter().position(|s| !s.is_finite()) {
        return fail(ErrorKind::InvalidFile, format!("setting \"tokenizer.ggml.scores\": item {id} is not a number"));
    }
    let by_type = types.iter().position(|t| *t == UNKNOWN).map(|id| id as u32);
    let Some(unknown) = vocabulary.special.get("unknown").copied().or(by_type).or(vocabulary.special("unknown", Some(2))) else {
        return fail(ErrorKind::InvalidFile, "setting \"tokenizer.ggml.unknown_token_id\" is missing");
    };
    let named = |id: u32| (id, tokens[id as usize].as_str());
    let first = vocabulary.special.get("cls").copied().or(vocabulary.special("bos", None));
    let last = vocabulary.special.get("seperator").copied().or(vocabulary.special("eos", Some(1)));
    let first = first.filter(|_| vocabulary.add_bos != Some(false)).map(named);
    let last = last.filter(|_| vocabulary.add_eos != Some(false)).map(named);
    let scheme = if vocabulary.add_space_prefix == Some(false) { "never" } else { "always" };
    let metaspace = json!({"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": true});
    let words = json!({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]});
    let normalizer = match vocabulary.charsmap.as_slice() {
        [] => Json::Null,
        map => json!({"type": "Precompiled", "precompiled_charsmap": base64::encode(map)}),
    };
    Ok(json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": vocabulary.added_tokens(|id| tokens[id].clone()),
        "normalizer": normalizer,
        "pre_tokenizer": if vocabulary.remove_extra_whitespaces == Some(false) { &metaspace } else { &words },
        "post_processor": template(first, last),
        "decoder": metaspace,
        "model": {"type": "Unigram", "unk_id": unknown, "byte_fallback": types.contains(&BYTE),
            "vocab": tokens.iter().zip(scores).map(|(token, score)| json!([token, score])).collect::<Vec<_>>()},
    }))
}

/// Writes the keys of a unigram tokenizer that llama.cpp has too: one whose text is changed by a compiled map or not at all, then cut at
/// spaces, with a space before each word, as XLM-RoBERTa's and CamemBERT's. Nothing for other kinds.
pub(super) fn describe(files: &TokenizerFiles, file: &Json, rows: usize, into: &mut Metadata) {
    let (Some(charsmap), true) = (charsmap(&file["normalizer"]), is_theirs(file)) else { return };
    let pieces = file["model"]["vocab"].as_array().map_or(&[][..], Vec::as_slice);
    let in_model = pieces.iter().enumerate().filter_map(|(id, piece)| Some((id as u64, piece[0].as_str()?)));
    let mut listed = Listed::new(file, in_model, rows);
    if let Some(unknown) = file["model"]["unk_id"].as_u64().and_then(|id| u32::try_from(id).ok()) {
        listed.set_type(unknown, UNKNOWN);
    }
    let score = |id: usize| pieces.get(id).and_then(|piece| piece[1].as_f64()).unwrap_or(NO_SCORE) as f32;
    into.set(key("model"), Value::String("t5".into()));
    into.set(key("pre"), Value::String("default".into()));
    listed.describe(file, files, into);
    into.set(key("scores"), Value::Array(Array::F32((0..rows).map(score).collect())));
    into.set(key("add_space_prefix"), Value::Bool(true));
    into.set(key("remove_extra_whitespaces"), Value::Bool(true));
    if !charsmap.is_empty() {
        into.set(key("precompiled_charsmap"), Value::Array(Array::U8(charsmap)));
    }
}

/// The compiled map of a normaliser, empty where there is none; `None` for normalisers that do more.
fn charsmap(normalizer: &Json) -> Option<Vec<u8>> {
    match normalizer["type"].as_str() {
        None if normalizer.is_null() => Some(Vec::new()),
        Some("Precompiled") => base64::decode(normalizer["precompiled_charsmap"].as_str()?),
        _ => None,
    }
}

/// Whether llama.cpp cuts texts as this tokenizer.json does.
fn is_theirs(file: &Json) -> bool {
    let cuts = file["pre_tokenizer"]["pretokenizers"].as_array().map_or(&[][..], Vec::as_slice);
    let [words, space] = cuts else { return false };
    // Older files have add_prefix_space in place of prepend_scheme.
    let always = space["prepend_scheme"] == "always" || space["prepend_scheme"].is_null() && space["add_prefix_space"] == true;
    let bytes = file["model"]["byte_fallback"] == true;
    file["model"]["type"] == "Unigram" && !bytes && words["type"] == "WhitespaceSplit" && space["replacement"] == SPACE && always
}
