//! How is a large vocabulary of whole words opened without keeping it three times over?
//!
//! The crate reads a model's part of tokenizer.json as a JSON value, then as another, then as a map: seconds for a million words. Where the
//! model is `WordLevel` and no token is added to it, its words are read here, straight into the map, and all the rest by the crate.
//!
//! Such tokenizers, as files of word vectors get them, also have a short way ([`ShortWay`]) for texts of ASCII: the crate takes about a
//! microsecond a word for what is one look into the map.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use tokenizers::models::wordlevel::WordLevel;
use tokenizers::{Model as _, ModelWrapper, NormalizerWrapper, PreTokenizerWrapper};

use super::content::guarded;
use crate::error::Result;

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "type")]
    kind: String,
    vocab: Words,
    unk_token: String,
}

/// Words and ids as they come.
struct Words(Vec<(String, u32)>);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Words;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of words and ids")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Words, A::Error> {
                let mut words = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    words.push(pair);
                }
                Ok(Words(words))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// The tokenizer, or `None` where the file is of another kind, or has something that the crate should judge.
///
/// # Errors
/// `InvalidFile` where the crate refuses the rest.
pub(super) fn open(json: &[u8]) -> Result<Option<tokenizers::Tokenizer>> {
    let Ok(mut file) = serde_json::from_slice::<BTreeMap<String, &RawValue>>(json) else { return Ok(None) };
    let adds_none = file.get("added_tokens").is_none_or(|tokens| matches!(tokens.get(), "[]" | "null"));
    // Most vocabularies are of other kinds: their words need not be looked at.
    let Some(raw) = file.remove("model").filter(|model| adds_none && model.get().contains("\"WordLevel\"")) else { return Ok(None) };
    let Ok(Model { kind, vocab: Words(words), unk_token }) = serde_json::from_str(raw.get()) else { return Ok(None) };
    if kind != "WordLevel" {
        return Ok(None);
    }
    let mut rest = String::from("{");
    for (name, value) in &file {
        rest += &format!("{}:{},", serde_json::Value::from(name.as_str()), value.get());
    }
    rest += r#""model":{"type":"WordLevel","vocab":{},"unk_token":""}}"#;
    guarded("tokenizer.json", || {
        let mut inner = tokenizers::Tokenizer::from_bytes(rest.as_bytes())?;
        inner.with_model(WordLevel::builder().vocab(words.into_iter().collect()).unk_token(unk_token).build()?);
        Ok(inner)
    })
    .map(Some)
}

/// A tokenizer that lower-cases or not, cuts into runs of word characters and runs of others, and looks them up.
pub(super) struct ShortWay {
    lower_cases: bool,
    unknown: u32,
}

impl ShortWay {
    /// The short way, where the tokenizer does nothing else.
    pub fn of(inner: &tokenizers::Tokenizer) -> Option<ShortWay> {
        let ModelWrapper::WordLevel(model) = inner.get_model() else { return None };
        let lower_cases = match inner.get_normalizer() {
            None => false,
            Some(NormalizerWrapper::Lowercase(_)) => true,
            Some(_) => return None,
        };
        let cuts = matches!(inner.get_pre_tokenizer(), Some(PreTokenizerWrapper::Whitespace(_)));
        let adds = !inner.get_added_vocabulary().get_vocab().is_empty() || inner.get_post_processor().is_some();
        if !cuts || adds {
            return None;
        }
        Some(ShortWay { lower_cases, unknown: model.token_to_id(&model.unk_token)? })
    }

    /// The ids of a text's tokens; `None` for a text that is not ASCII.
    pub fn ids(&self, inner: &tokenizers::Tokenizer, text: &str) -> Option<Vec<u32>> {
        let ModelWrapper::WordLevel(model) = inner.get_model() else { return None };
        if !text.is_ascii() {
            return None;
        }
        let lowered = if self.lower_cases { Cow::Owned(text.to_ascii_lowercase()) } else { Cow::Borrowed(text) };
        let text: &str = &lowered;
        let (bytes, mut start) = (text.as_bytes(), 0);
        let mut ids = Vec::with_capacity(text.len() / 4);
        while start < bytes.len() {
            let class = class(bytes[start]);
            let end = bytes[start..].iter().position(|b| self::class(*b) != class).map_or(bytes.len(), |length| start + length);
            if class != Class::Space {
                ids.push(model.token_to_id(&text[start..end]).unwrap_or(self.unknown));
            }
            start = end;
        }
        Some(ids)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Space,
    Other,
}

/// Unicode's `\w` and `\s`, of ASCII.
fn class(byte: u8) -> Class {
    match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' => Class::Word,
        b'\t'..=b'\r' | b' ' => Class::Space,
        _ => Class::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_short_way_finds_what_the_crate_finds(text in "[ -~\\t\\n\u{b}\u{c}\r\u{1c}\u{0}\u{7f}]{0,40}|[A-Ca-c_0-1 .,!?]{0,40}|[a-cé ]{0,8}") {
            let model = r#"{"type":"WordLevel","vocab":{"a":0,"B":1,"b":2,"ab":3,"a_b":4,".":5,"!?":6,"0":7,"[UNK]":8},"unk_token":"[UNK]"}"#;
            for json in [file("[]", model), file("[]", model).replace(r#"{"type":"Lowercase"}"#, "null")] {
                let inner = open(json.as_bytes()).unwrap().unwrap();
                let found = ShortWay::of(&inner).unwrap().ids(&inner, &text);
                prop_assert_eq!(found.is_some(), text.is_ascii());
                if let Some(ids) = found {
                    let theirs = inner.encode_fast(text.as_str(), false).unwrap();
                    prop_assert_eq!(ids, theirs.get_ids());
                }
            }
        }
    }

    #[test]
    fn other_tokenizers_have_no_short_way() {
        let model = r#"{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}"#;
        let plain = file("[]", model);
        for json in [
            plain.replace("Lowercase", "NFKC"),
            plain.replace("Whitespace", "WhitespaceSplit"),
            plain.replace(r#""unk_token":"a""#, r#""unk_token":"b""#),
            file(r#"[{"id":1,"content":"b","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}]"#, model),
        ] {
            assert!(ShortWay::of(&tokenizers::Tokenizer::from_bytes(json.as_bytes()).unwrap()).is_none(), "{json}");
        }
        assert!(ShortWay::of(&tokenizers::Tokenizer::from_bytes(plain.as_bytes()).unwrap()).is_some());
    }

    const REST: &str = r#""version":"1.0","truncation":null,"padding":null,"normalizer":{"type":"Lowercase"},"pre_tokenizer":{"type":"Whitespace"},"post_processor":null,"decoder":null"#;

    fn file(added: &str, model: &str) -> String {
        format!(r#"{{{REST},"added_tokens":{added},"model":{model}}}"#)
    }

    #[test]
    fn a_tokenizer_is_the_one_that_the_crate_reads() {
        let json = file("[]", r#"{"type":"WordLevel","vocab":{"a":0,"\u00e9\"":2,"[UNK]":1,"a b":7,"a":3},"unk_token":"[UNK]"}"#);
        let ours = open(json.as_bytes()).unwrap().unwrap();
        let theirs = tokenizers::Tokenizer::from_bytes(json.as_bytes()).unwrap();
        assert_eq!(ours.to_string(false).unwrap(), theirs.to_string(false).unwrap());
        for text in ["A é\" zzz", "", "a b"] {
            assert_eq!(ours.encode(text, false).unwrap().get_ids(), theirs.encode(text, false).unwrap().get_ids());
        }
    }

    #[test]
    fn other_files_are_left_to_the_crate() {
        for json in [
            file("[]", r#"{"type":"WordPiece","vocab":{"a":0,"WordLevel":1},"unk_token":"a"}"#),
            file("[]", r#"{"type":"WordLevel","vocab":{"a":-1},"unk_token":"a"}"#),
            file("[]", r#"{"type":"WordLevel","vocab":{"a":0}}"#),
            file(r#"[{"id":1,"content":"b"}]"#, r#"{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}"#),
            "[".to_owned(),
            "{}".to_owned(),
        ] {
            assert!(open(json.as_bytes()).unwrap().is_none(), "{json}");
        }
        let malformed = file("[]", r#"{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}"#).replace("Lowercase", "Nothing");
        assert!(open(malformed.as_bytes()).unwrap_err().message().contains("tokenizer.json"));
    }
}
