//! BERT's vocabulary (`tokenizer.ggml.model` = bert), both ways.
//!
//! llama.cpp marks the pieces that begin a word with U+2581 and takes the `##` away from the others; special tokens stay as they
//! are. Here that is undone, and done.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::super::TokenizerFiles;
use super::super::gguf::{Array, Metadata, Value};
use super::vocabulary::{CONTROL, NORMAL, UNKNOWN, UNUSED, Vocabulary, named, token_map};
use crate::error::{ErrorKind, Result, fail};

const WORD_START: char = '\u{2581}';
const INSIDE_WORD: &str = "##";

/// The tokens that have a key, their names in tokenizer_config.json, their usual text, and llama.cpp's id where the key is absent.
const NAMED: &[(&str, &str, &str, u32)] = &[
    ("bos", "cls_token", "[CLS]", 101),
    ("seperator", "sep_token", "[SEP]", 102),
    ("unknown", "unk_token", "[UNK]", 100),
    ("padding", "pad_token", "[PAD]", 0),
    ("mask", "mask_token", "[MASK]", 103),
];

/// tokenizer.json of `vocabulary`.
pub(super) fn tokenizer_json(vocabulary: &Vocabulary) -> Result<Json> {
    let pieces: Vec<String> = vocabulary.tokens.iter().zip(&vocabulary.types).map(|(token, t)| piece(token, *t)).collect();
    let special = |key: &str| -> Result<(u32, &str)> {
        let (.., text, default) = NAMED.iter().find(|(k, ..)| *k == key).map_or(("", "", 0), |(_, _, t, d)| ("", *t, *d));
        let alias = if key == "bos" { "cls" } else { key };
        let by_text = || pieces.iter().position(|p| p == text).map(|id| id as u32);
        match vocabulary
            .special
            .get(alias)
            .copied()
            .or_else(|| vocabulary.special(key, None))
            .or_else(by_text)
            .or_else(|| vocabulary.special(key, Some(default)))
        {
            Some(id) => Ok((id, &pieces[id as usize])),
            None => {
                fail(ErrorKind::InvalidFile, format!("setting \"tokenizer.ggml.{key}_token_id\" is missing, and no token is called {text}"))
            }
        }
    };
    let ((cls, cls_text), (sep, sep_text), (_, unk_text)) = (special("bos")?, special("seperator")?, special("unknown")?);
    // Not stated by all converters.
    let lowercase = vocabulary.lowercase.unwrap_or_else(|| !cased(&pieces, &vocabulary.types));
    Ok(json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": vocabulary.added_tokens(|id| pieces[id].clone()),
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": vocabulary.strip_accents, "lowercase": lowercase},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": [sep_text, sep], "cls": [cls_text, cls]},
        "decoder": {"type": "WordPiece", "prefix": INSIDE_WORD, "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": unk_text, "continuing_subword_prefix": INSIDE_WORD,
            "max_input_chars_per_word": 100, "vocab": token_map(pieces.iter().cloned())?},
    }))
}

/// Whether a vocabulary tells capitals from small letters: whether lower-casing would change a piece. (That of lower-cased text may
/// have capitals too: the double-struck R has no small letter, and stands in BERT's.)
fn cased(pieces: &[String], types: &[u32]) -> bool {
    pieces.iter().zip(types).any(|(piece, t)| *t == NORMAL && !piece.starts_with('[') && piece.to_lowercase() != *piece)
}

/// BERT's piece of llama.cpp's token.
fn piece(token: &str, token_type: u32) -> String {
    let bracketed = token.len() > 2 && token.starts_with('[') && token.ends_with(']');
    match token.strip_prefix(WORD_START) {
        _ if matches!(token_type, CONTROL | UNKNOWN) => token.to_owned(),
        Some(piece) => piece.to_owned(),
        // Older converters left [unused7] as it is.
        None if bracketed => token.to_owned(),
        None => format!("{INSIDE_WORD}{token}"),
    }
}

/// llama.cpp's token of BERT's piece.
fn token(piece: &str, special: bool) -> String {
    match piece.strip_prefix(INSIDE_WORD) {
        _ if special => piece.to_owned(),
        Some(inside) => inside.to_owned(),
        None => format!("{WORD_START}{piece}"),
    }
}

/// Writes the keys of a WordPiece tokenizer, whose tokenizer.json is `file`; nothing for other kinds.
pub(super) fn describe(files: &TokenizerFiles, file: Option<&Json>, lower_case: bool, rows: usize, into: &mut Metadata) -> Result<()> {
    let Some(read) = Pieces::read(files, file)? else { return Ok(()) };
    let text = |field: &str, usual: &str| named(files, field).unwrap_or_else(|| usual.to_owned());
    let special: Vec<(&str, String)> = NAMED.iter().map(|(key, field, usual, _)| (*key, text(field, usual))).collect();
    let is_special = |piece: &str| read.special.iter().any(|s| s == piece) || special.iter().any(|(_, s)| s == piece);
    // llama.cpp has as many tokens as the embedding has rows; ids beyond the embedding are an error when the model is opened.
    let (mut tokens, mut types) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    for id in 0..rows as u32 {
        let (text, kind) = match read.by_id.get(&id) {
            Some(piece) if is_special(piece) => (token(piece, true), CONTROL),
            Some(piece) => (token(piece, false), NORMAL),
            None => (format!("[PAD{id}]"), UNUSED),
        };
        tokens.push(text);
        types.push(kind as i32);
    }
    into.set("tokenizer.ggml.model", Value::String("bert".into()));
    into.set("tokenizer.ggml.tokens", Value::Array(Array::String(tokens)));
    into.set("tokenizer.ggml.token_type", Value::Array(Array::I32(types)));
    for (key, text) in special {
        if let Some((id, _)) = read.by_id.iter().find(|(id, piece)| **piece == text && (**id as usize) < rows) {
            into.set(format!("tokenizer.ggml.{key}_token_id"), Value::U32(*id));
        }
    }
    let option = |name: &str| files.config.as_ref().and_then(|c| c.get(name)).and_then(Json::as_bool);
    let lowercase = lower_case || option("do_lower_case").or(read.lowercase).unwrap_or(true);
    into.set("tokenizer.ggml.normalizer.lowercase", Value::Bool(lowercase));
    let strip = option("strip_accents").or(read.strip_accents).unwrap_or(lowercase);
    into.set("tokenizer.ggml.normalizer.strip_accents", Value::Bool(strip));
    Ok(())
}

/// What a tokenizer's file says of its pieces.
struct Pieces {
    by_id: BTreeMap<u32, String>,
    special: Vec<String>,
    lowercase: Option<bool>,
    strip_accents: Option<bool>,
}

impl Pieces {
    /// `None` for a tokenizer that is not WordPiece.
    fn read(files: &TokenizerFiles, file: Option<&Json>) -> Result<Option<Pieces>> {
        match (file, &files.vocab) {
            (Some(file), _) => Ok(Self::of_json(file)),
            (None, Some(vocab)) => Self::of_lines(vocab).map(Some),
            (None, None) => Ok(None),
        }
    }

    fn of_json(file: &Json) -> Option<Pieces> {
        let model = &file["model"];
        if model["type"] != "WordPiece" || model["continuing_subword_prefix"] != INSIDE_WORD {
            return None;
        }
        let id = |v: &Json| v.as_u64().and_then(|id| u32::try_from(id).ok()).filter(|id| *id < 1 << 24);
        let in_model = model["vocab"].as_object().into_iter().flatten().filter_map(|(piece, v)| Some((id(v)?, piece.clone())));
        let added = || file["added_tokens"].as_array().into_iter().flatten();
        let content = |t: &Json| t["content"].as_str().map(str::to_owned);
        let by_id = in_model.chain(added().filter_map(|t| Some((id(&t["id"])?, content(t)?)))).collect();
        let special = added().filter(|t| t["special"] == true).filter_map(content).collect();
        let normalizer = &file["normalizer"];
        let (lowercase, strip_accents) = (normalizer["lowercase"].as_bool(), normalizer["strip_accents"].as_bool());
        Some(Pieces { by_id, special, lowercase, strip_accents })
    }

    fn of_lines(vocab: &[u8]) -> Result<Pieces> {
        let Ok(text) = std::str::from_utf8(vocab) else { return fail(ErrorKind::InvalidFile, "vocab.txt is not UTF-8") };
        let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim_end);
        let by_id = lines.enumerate().filter(|(_, l)| !l.is_empty()).map(|(id, line)| (id as u32, line.to_owned())).collect();
        Ok(Pieces { by_id, special: Vec::new(), lowercase: None, strip_accents: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capital_without_a_small_letter_does_not_make_a_vocabulary_cased() {
        let is_cased = |pieces: &[&str], t: u32| cased(&pieces.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>(), &vec![t; pieces.len()]);
        assert!(!is_cased(&["the", "\u{211d}", "##ing", "[unused1]", "[MASK]", "\u{df}", "\u{4e2d}"], NORMAL));
        assert!(is_cased(&["the", "The"], NORMAL));
        assert!(is_cased(&["##A"], NORMAL));
        assert!(!is_cased(&["The"], CONTROL));
    }

    #[test]
    fn pieces_become_tokens_and_back() {
        for (text, kind, marked) in [
            ("the", NORMAL, "\u{2581}the"),
            ("##ing", NORMAL, "ing"),
            ("##", NORMAL, ""),
            ("[CLS]", CONTROL, "[CLS]"),
            ("[unused1]", NORMAL, "\u{2581}[unused1]"),
            ("[", NORMAL, "\u{2581}["),
            ("##]", NORMAL, "]"),
            ("\u{2581}", NORMAL, "\u{2581}\u{2581}"),
        ] {
            assert_eq!(token(text, kind == CONTROL), marked);
            assert_eq!(piece(marked, kind), text);
        }
        assert_eq!(piece("[unused1]", NORMAL), "[unused1]", "as older converters wrote it");
    }
}
