//! SentencePiece's unigram vocabulary (`tokenizer.ggml.model` = t5).
//!
//! Pieces with scores; spaces are U+2581; text is normalised by a compiled map. The reference's tokenizer.json for such models
//! (XLM-RoBERTa) says the same with a `Precompiled` normaliser and a `Metaspace` pre-tokeniser.

use serde_json::{Value as Json, json};

use super::base64;
use super::vocabulary::{BYTE, UNKNOWN, Vocabulary, template};
use crate::error::{ErrorKind, Result, fail};

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
    let metaspace = json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": scheme, "split": true});
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
