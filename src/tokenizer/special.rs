//! Which tokens does a model call special, and which did it add to its vocabulary?
//!
//! `tokenizer_config.json` and `special_tokens_map.json` name them, as strings or as objects with a content. They are added to
//! the tokenizer, so that text such as `[MASK]` is one token, as in the reference.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use tokenizers::AddedToken;

use super::content::guarded;
use crate::error::{ErrorKind, Result, fail};

/// A special token where the files do not name it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usual {
    name: &'static str,
    text: &'static str,
    /// Whether it takes the space before it, also where the files name it as a plain string.
    takes_space: bool,
}

impl Usual {
    pub const fn new(name: &'static str, text: &'static str) -> Usual {
        Usual { name, text, takes_space: false }
    }

    const fn taking_space(name: &'static str, text: &'static str) -> Usual {
        Usual { name, text, takes_space: true }
    }
}

/// The special tokens of BERT.
pub(super) const BERT: &[Usual] = &[
    Usual::new("unk_token", "[UNK]"),
    Usual::new("sep_token", "[SEP]"),
    Usual::new("pad_token", "[PAD]"),
    Usual::new("cls_token", "[CLS]"),
    Usual::new("mask_token", "[MASK]"),
];

/// Those of RoBERTa and XLM-RoBERTa.
pub(super) const ROBERTA: &[Usual] = &roberta("<unk>", Usual::new("mask_token", "<mask>"));
/// Those of CamemBERT.
pub(super) const CAMEMBERT: &[Usual] = &roberta("<unk>", Usual::taking_space("mask_token", "<mask>"));
/// Those of MPNet.
pub(super) const MPNET: &[Usual] = &roberta("[UNK]", Usual::taking_space("mask_token", "<mask>"));

/// Those of BigBird.
pub(super) const BIG_BIRD: &[Usual] = &[
    Usual::new("bos_token", "<s>"),
    Usual::new("eos_token", "</s>"),
    Usual::new("unk_token", "<unk>"),
    Usual::new("sep_token", "[SEP]"),
    Usual::new("pad_token", "<pad>"),
    Usual::new("cls_token", "[CLS]"),
    Usual::taking_space("mask_token", "[MASK]"),
];
/// That of GPT-2.
pub(super) const GPT2: &[Usual] =
    &[Usual::new("bos_token", "<|endoftext|>"), Usual::new("eos_token", "<|endoftext|>"), Usual::new("unk_token", "<|endoftext|>")];
/// That of GPT.
pub(super) const GPT: &[Usual] = &[Usual::new("unk_token", "<unk>")];
/// Those of the first DeBERTa.
pub(super) const DEBERTA: &[Usual] = &[
    Usual::new("bos_token", "[CLS]"),
    Usual::new("eos_token", "[SEP]"),
    Usual::new("sep_token", "[SEP]"),
    Usual::new("cls_token", "[CLS]"),
    Usual::new("unk_token", "[UNK]"),
    Usual::new("pad_token", "[PAD]"),
    Usual::taking_space("mask_token", "[MASK]"),
];

const fn roberta(unknown: &'static str, mask: Usual) -> [Usual; 7] {
    [
        Usual::new("bos_token", "<s>"),
        Usual::new("eos_token", "</s>"),
        Usual::new("sep_token", "</s>"),
        Usual::new("cls_token", "<s>"),
        Usual::new("unk_token", unknown),
        Usual::new("pad_token", "<pad>"),
        mask,
    ]
}

/// Lists of further special tokens.
const LISTS: &[&str] = &["additional_special_tokens", "extra_special_tokens"];

/// What the two files say about special and added tokens.
#[derive(Clone, Debug, Default)]
pub(super) struct SpecialTokens {
    /// Tokens by name, such as `cls_token`.
    named: BTreeMap<String, AddedToken>,
    /// Which of them are plain strings in the files.
    plain: BTreeSet<String>,
    /// Special tokens without a name.
    further: Vec<AddedToken>,
    /// Tokens with the id that they must have.
    added: Vec<(u32, AddedToken)>,
}

impl SpecialTokens {
    /// Reads both files. Where the first lists all added tokens with their ids, the second is out of date, and the reference
    /// ignores it.
    pub fn read(config: Option<&Value>, map: Option<&Value>) -> Result<Self> {
        let mut found = SpecialTokens::default();
        let config = object("tokenizer_config.json", config)?;
        let map = object("special_tokens_map.json", map)?;
        let listed = config.and_then(|c| c.get("added_tokens_decoder")).filter(|v| !v.is_null());
        if let Some(config) = config {
            found.read_names(config).map_err(|e| e.within("tokenizer_config.json"))?;
        }
        match (listed, map) {
            (Some(listed), _) => found.read_added(listed).map_err(|e| e.within("tokenizer_config.json"))?,
            (None, Some(map)) => found.read_names(map).map_err(|e| e.within("special_tokens_map.json"))?,
            (None, None) => {}
        }
        Ok(found)
    }

    /// With the tokens that a class has where the files do not name them.
    #[must_use]
    pub fn completed(mut self, usual: &[Usual]) -> Self {
        for Usual { name, text, takes_space } in usual {
            let stated = self.named.contains_key(*name);
            let token = self.named.entry((*name).to_owned()).or_insert_with(|| AddedToken::from((*text).to_owned(), true));
            token.lstrip |= *takes_space && (!stated || self.plain.contains(*name));
        }
        self
    }

    /// The text of a named token, empty for one that nobody named.
    pub fn name(&self, name: &str) -> String {
        self.named.get(name).map(|token| token.content.clone()).unwrap_or_default()
    }

    /// Adds the tokens to a tokenizer that does not have them yet. Special tokens that its vocabulary lacks are left out: the
    /// model has no embedding for them.
    pub fn register(&self, inner: &mut tokenizers::Tokenizer) -> Result<()> {
        add(inner, self.added.iter().map(|(_, token)| token.clone()))?;
        for (id, token) in &self.added {
            let given = inner.token_to_id(&token.content);
            if given != Some(*id) {
                let given = given.map_or("none".to_owned(), |id| id.to_string());
                let token = &token.content;
                let told = format!(
                    "tokenizer_config.json: added_tokens_decoder gives {token:?} the id {id}, but its id in the vocabulary is {given}"
                );
                return fail(ErrorKind::InvalidFile, told);
            }
        }
        let stated = self.named.values().chain(&self.further).cloned();
        let known: Vec<AddedToken> = stated.filter(|token| inner.token_to_id(&token.content).is_some()).collect();
        add(inner, known.into_iter())
    }

    fn read_names(&mut self, file: &Map<String, Value>) -> Result<()> {
        for (name, value) in file {
            // Models may name more than BERT does; flags such as add_bos_token look like names too.
            let is_name =
                BERT.iter().any(|usual| usual.name == name) || (name.ends_with("_token") && (value.is_string() || value.is_object()));
            if is_name && !value.is_null() {
                self.named.insert(name.clone(), special(name, value)?);
                if value.is_string() {
                    self.plain.insert(name.clone());
                } else {
                    self.plain.remove(name);
                }
            }
        }
        for name in LISTS {
            match file.get(*name) {
                Some(Value::Array(tokens)) => self.further.extend(tokens.iter().map(|t| special(name, t)).collect::<Result<Vec<_>>>()?),
                Some(Value::Object(tokens)) => self.further.extend(tokens.values().map(|t| special(name, t)).collect::<Result<Vec<_>>>()?),
                _ => {}
            }
        }
        Ok(())
    }

    fn read_added(&mut self, listed: &Value) -> Result<()> {
        let Some(listed) = listed.as_object() else {
            return fail(ErrorKind::InvalidFile, "added_tokens_decoder must be an object from ids to tokens");
        };
        for (id, token) in listed {
            let Ok(id) = id.parse::<u32>() else {
                return fail(ErrorKind::InvalidFile, format!("added_tokens_decoder: {id:?} is not a token id"));
            };
            self.added.push((id, token_of("added_tokens_decoder", token, false)?));
        }
        self.added.sort_by_key(|(id, _)| *id);
        Ok(())
    }
}

/// Adds the tokens that are new, in one go: each call builds the search for added tokens anew.
fn add(inner: &mut tokenizers::Tokenizer, tokens: impl Iterator<Item = AddedToken>) -> Result<()> {
    let present = inner.get_added_vocabulary().get_vocab();
    let new: Vec<AddedToken> = tokens.filter(|token| !present.contains_key(&token.content)).collect();
    if new.is_empty() {
        return Ok(());
    }
    guarded("the special tokens cannot be added to the vocabulary", || inner.add_tokens(new).map(|_| ()))
}

fn object<'v>(file: &str, value: Option<&'v Value>) -> Result<Option<&'v Map<String, Value>>> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(map)) => Ok(Some(map)),
        Some(_) => fail(ErrorKind::InvalidFile, format!("{file} must hold an object")),
    }
}

fn special(name: &str, value: &Value) -> Result<AddedToken> {
    match value {
        Value::String(content) => Ok(AddedToken::from(content.clone(), true)),
        _ => token_of(name, value, true),
    }
}

/// A token written as an object; what it does not say is as in the reference.
fn token_of(name: &str, value: &Value, special: bool) -> Result<AddedToken> {
    let Some(content) = value.get("content").and_then(Value::as_str) else {
        return fail(ErrorKind::InvalidFile, format!("{name} must be a string or an object with a content, not {value}"));
    };
    let flag = |key: &str, default: bool| value.get(key).and_then(Value::as_bool).unwrap_or(default);
    let special = special || flag("special", false);
    Ok(AddedToken {
        content: content.to_owned(),
        single_word: flag("single_word", false),
        lstrip: flag("lstrip", false),
        rstrip: flag("rstrip", false),
        normalized: flag("normalized", !special),
        special,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_come_from_either_file_as_strings_or_objects() {
        let config =
            json!({"cls_token": "<s>", "unk_token": {"content": "<unk>", "lstrip": true}, "add_bos_token": true, "pad_token": null});
        let map = json!({"sep_token": {"content": "</s>"}, "cls_token": "<cls>"});
        let read = SpecialTokens::read(Some(&config), Some(&map)).unwrap().completed(BERT);
        let names: Vec<String> = ["cls_token", "sep_token", "unk_token", "pad_token"].iter().map(|n| read.name(n)).collect();
        assert_eq!(names, ["<cls>", "</s>", "<unk>", "[PAD]"]);
    }

    #[test]
    fn what_a_class_adds_gives_way_to_what_the_files_say() {
        let config = json!({"mask_token": {"content": "<m>", "lstrip": false}, "pad_token": "[PAD]"});
        let read = SpecialTokens::read(Some(&config), None).unwrap().completed(MPNET);
        let of = |name: &str| (read.named[name].content.as_str(), read.named[name].lstrip);
        assert_eq!((of("mask_token"), of("pad_token"), of("unk_token")), (("<m>", false), ("[PAD]", false), ("[UNK]", false)));
        let plain = SpecialTokens::read(Some(&json!({"mask_token": "<m>"})), None).unwrap();
        assert!(plain.completed(CAMEMBERT).named["mask_token"].lstrip);
    }

    #[test]
    fn a_list_of_added_tokens_makes_the_other_file_irrelevant() {
        let config = json!({"cls_token": "<s>", "added_tokens_decoder": {"3": {"content": "<s>", "special": true}}});
        let read = SpecialTokens::read(Some(&config), Some(&json!({"cls_token": "<cls>"}))).unwrap();
        assert_eq!(read.name("cls_token"), "<s>");
        assert_eq!((read.added[0].0, read.added[0].1.normalized), (3, false));
    }

    #[test]
    fn malformed_entries_are_errors_that_name_the_file_and_the_entry() {
        for (config, map, told) in [
            (json!([]), Value::Null, "tokenizer_config.json"),
            (json!({"cls_token": 7}), Value::Null, "cls_token"),
            (json!({"cls_token": {}}), Value::Null, "cls_token"),
            (json!({"added_tokens_decoder": []}), Value::Null, "added_tokens_decoder"),
            (json!({"added_tokens_decoder": {"x": {"content": "a"}}}), Value::Null, "token id"),
            (json!({"added_tokens_decoder": {"1": "a"}}), Value::Null, "content"),
            (Value::Null, json!("x"), "special_tokens_map.json"),
            (Value::Null, json!({"additional_special_tokens": [1]}), "special_tokens_map.json: additional_special_tokens"),
        ] {
            let e = SpecialTokens::read(Some(&config), Some(&map)).unwrap_err();
            assert!(e.kind() == ErrorKind::InvalidFile && e.message().contains(told), "{e}");
        }
    }
}
