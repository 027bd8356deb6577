//! Words -> the tokenizer.json and config.json that a folder with them would have.
//!
//! A tokenizer.json rather than a structure of its own, because then `tokenizer` has one way in, and what is written to a folder opens
//! in model2vec too. Texts are cut into runs of letters, digits and underscores, and runs of other characters that are not spaces
//! (`Whitespace` of `tokenizers`: `\w+|[^\w\s]+`), and each run is looked up as a word.
//!
//! **Letter case.** The files do not say whether their texts were lower-cased, their words do: where at most one word in a hundred
//! would change, texts are lower-cased. (Cased vocabularies have every third word or so in capitals; others may have `</S>` or `UNK`.)

use std::collections::BTreeMap;

use serde_json::json;

use crate::error::{Error, ErrorKind, Result};
use crate::quant::Bytes;

/// Of so many words, one may have capitals without the vocabulary being cased.
const ONE_IN: usize = 100;

/// The words in the order of their ids, as the inside of a JSON object.
#[derive(Default)]
pub(super) struct Vocabulary {
    entries: Vec<u8>,
    count: usize,
    /// Words that lower-casing would change.
    cased: usize,
}

impl Vocabulary {
    pub(super) fn add(&mut self, word: &str) -> Result<()> {
        let refused = |_| Error::new(ErrorKind::OutOfMemory, "the words do not fit in memory");
        self.entries.try_reserve(word.len() + 16).map_err(refused)?;
        if self.count > 0 {
            self.entries.push(b',');
        }
        let written = serde_json::to_writer(&mut self.entries, word);
        written.map_err(|e| Error::new(ErrorKind::InvalidFile, format!("the word {word:?}: {e}")))?;
        self.entries.extend_from_slice(format!(":{}", self.count).as_bytes());
        self.count += 1;
        self.cased += usize::from(word.chars().any(|c| c.to_lowercase().next() != Some(c)));
        Ok(())
    }

    /// Whether texts are lower-cased before words are looked for.
    fn lower_cases(&self) -> bool {
        // The word for unknown ones is no word of the file.
        self.cased.saturating_sub(1) * ONE_IN <= self.count.saturating_sub(1)
    }

    /// The folder's small files. `unknown` is the last word, which stands for those that are not there.
    pub(super) fn files(self, unknown: &str, dimensions: usize) -> BTreeMap<String, Bytes> {
        let normalizer = if self.lower_cases() { json!({"type": "Lowercase"}) } else { json!(null) };
        let head = format!(
            r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":{normalizer},"pre_tokenizer":{{"type":"Whitespace"}},"post_processor":null,"decoder":null,"model":{{"type":"WordLevel","vocab":{{"#
        );
        let tail = format!(r#"}},"unk_token":{}}}}}"#, json!(unknown));
        let mut tokenizer = self.entries;
        tokenizer.splice(0..0, head.into_bytes());
        tokenizer.extend_from_slice(tail.as_bytes());
        let config = json!({
            "architectures": ["StaticModel"],
            "embedding_dtype": "float32",
            "hidden_dim": dimensions,
            "max_length": null,
            "model_type": super::super::static_vectors::MODEL2VEC,
            "normalize": false,
        });
        let files = [("config.json", format!("{config:#}\n").into_bytes()), ("tokenizer.json", tokenizer)];
        files.into_iter().map(|(name, bytes)| (name.to_owned(), Bytes::owned(bytes))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lower_cases(words: &[&str]) -> bool {
        let mut vocabulary = Vocabulary::default();
        words.iter().chain(&["[UNK]"]).for_each(|word| vocabulary.add(word).unwrap());
        vocabulary.lower_cases()
    }

    #[test]
    fn words_say_whether_texts_are_lower_cased() {
        assert!(lower_cases(&["the", "łódź", "ß", "漢", "ℝ", "1"]), "none would change");
        assert!(!lower_cases(&["the", "The"]) && !lower_cases(&["Ł"]) && !lower_cases(&["É", "a"]));
        let many = |stray: usize| {
            let words: Vec<String> = (0..400 - stray).map(|i| format!("w{i}")).chain((0..stray).map(|i| format!("W{i}"))).collect();
            lower_cases(&words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        assert!(many(4) && !many(5), "one in a hundred is a stray");
    }

    #[test]
    fn the_files_are_json_whatever_the_words() {
        let mut vocabulary = Vocabulary::default();
        ["\"", "\\", "\u{1}", "漢", "[UNK]"].iter().for_each(|word| vocabulary.add(word).unwrap());
        let files = vocabulary.files("[UNK]", 3);
        let tokenizer: serde_json::Value = serde_json::from_slice(&files["tokenizer.json"]).unwrap();
        assert_eq!(tokenizer["model"]["vocab"].as_object().unwrap().len(), 5);
        assert_eq!((&tokenizer["model"]["vocab"]["漢"], &tokenizer["model"]["unk_token"]), (&json!(3), &json!("[UNK]")));
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&files["config.json"]).unwrap()["hidden_dim"], 3);
    }
}
