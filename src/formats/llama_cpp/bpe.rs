//! Byte-level BPE (`tokenizer.ggml.model` = gpt2): tokens, and the pairs that are merged, in order.

use serde_json::{Value as Json, json};

use super::vocabulary::{Vocabulary, token_map};
use crate::error::{ErrorKind, Result, fail};

/// Values of `tokenizer.ggml.pre` for which text is cut as GPT-2 cuts it, as the encoders' vocabularies do. Others cut
/// otherwise, and would give other ids in silence.
const GPT2: &[&str] = &["gpt-2", "roberta-bpe", "jina-v1-en", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "jina-v2-code"];

/// tokenizer.json of `vocabulary`.
pub(super) fn tokenizer_json(vocabulary: &Vocabulary) -> Result<Json> {
    let Vocabulary { tokens, merges, .. } = vocabulary;
    if let Some(pre) = vocabulary.pre.as_deref().filter(|pre| !GPT2.contains(pre)) {
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
    let unknown = vocabulary.special("unknown", None).map(|id| tokens[id as usize].clone());
    Ok(json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": vocabulary.added_tokens(|id| tokens[id].clone()),
        "normalizer": null,
        "pre_tokenizer": byte_level,
        "post_processor": processor,
        "decoder": byte_level,
        "model": {"type": "BPE", "dropout": null, "unk_token": unknown, "continuing_subword_prefix": "", "end_of_word_suffix": "",
            "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": token_map(tokens.iter().cloned())?, "merges": pairs},
    }))
}
