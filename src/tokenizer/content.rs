//! What are a text's own tokens, before any cut and any special token?

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokenizers::{Encoding, InputSequence};

use crate::error::{Error, ErrorKind, Result, fail, json_message};

/// A text's own tokens, found once and used in any number of inputs.
#[derive(Clone, Debug, Default)]
pub struct Content {
    pub(super) ids: Vec<u32>,
    /// Bytes of the text, on character boundaries.
    pub(super) offsets: Vec<(usize, usize)>,
    /// The word of the text that each token belongs to, counted from 0.
    words: Vec<u32>,
}

/// No word: what the tokenizer does not say.
const NO_WORD: u32 = u32::MAX;

impl Content {
    /// Tokens whose places and words nobody knows any more, or asked for.
    pub fn from_ids(ids: Vec<u32>) -> Content {
        let (offsets, words) = (vec![(0, 0); ids.len()], vec![NO_WORD; ids.len()]);
        Content { ids, offsets, words }
    }

    /// How many tokens there are.
    pub fn tokens(&self) -> usize {
        self.ids.len()
    }

    /// The token ids.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Where the tokens stand in the text, in bytes, on character boundaries.
    pub fn offsets(&self) -> &[(usize, usize)] {
        &self.offsets
    }

    /// Whether a token belongs to the same word as the one before it. Words are those that the tokenizer cuts a text into before
    /// it looks for pieces, or those that the caller gave.
    pub fn continues_word(&self, token: usize) -> bool {
        token > 0 && self.words[token] != NO_WORD && self.words[token] == self.words[token - 1]
    }

    /// The word that a token belongs to: of words that the caller gave, its number.
    pub fn word(&self, token: usize) -> Option<usize> {
        Some(self.words[token]).filter(|word| *word != NO_WORD).map(|word| word as usize)
    }

    /// The first `count` tokens, or the last ones.
    pub(super) fn part(&self, count: usize, last: bool) -> Content {
        let range = if last { self.ids.len() - count..self.ids.len() } else { 0..count };
        Content { ids: self.ids[range.clone()].to_vec(), offsets: self.offsets[range.clone()].to_vec(), words: self.words[range].to_vec() }
    }
}

/// Cuts a text into tokens.
pub(super) fn tokenize(inner: &tokenizers::Tokenizer, text: &str) -> Result<Content> {
    let encoding = guarded(FAILURE, || inner.encode(text, false))?;
    Content::of(&encoding, |_, offset| on_boundaries(text, offset))
}

/// Cuts a text into tokens without their places and words.
pub(super) fn tokenize_fast(inner: &tokenizers::Tokenizer, text: &str) -> Result<Content> {
    let encoding = guarded(FAILURE, || inner.encode_fast(text, false))?;
    Ok(Content::from_ids(encoding.get_ids().to_vec()))
}

/// Cuts each of `words` into tokens; word `i` starts at byte `starts[i]` of the text that they stand in.
pub(super) fn tokenize_words(inner: &tokenizers::Tokenizer, words: &[&str], starts: &[usize]) -> Result<Content> {
    let encoding = guarded(FAILURE, || inner.encode(InputSequence::from(words), false))?;
    Content::of(&encoding, |word, offset| {
        let (Some(word), Some(first)) = (words.get(word as usize), starts.get(word as usize)) else { return (0, 0) };
        let (start, end) = on_boundaries(word, offset);
        (first + start, first + end)
    })
}

const FAILURE: &str = "the tokenizer failed on this text";

impl Content {
    /// What an encoding says; `place` turns a token's word and its place there into its place in the text.
    fn of(encoding: &Encoding, place: impl Fn(u32, (usize, usize)) -> (usize, usize)) -> Result<Content> {
        let (ids, offsets, words) = (encoding.get_ids(), encoding.get_offsets(), encoding.get_word_ids());
        if ids.len() != offsets.len() || ids.len() != words.len() {
            return fail(ErrorKind::InvalidFile, "the tokenizer gives a text more tokens than places; its file is damaged");
        }
        let words: Vec<u32> = words.iter().map(|word| word.unwrap_or(NO_WORD)).collect();
        let offsets = offsets.iter().zip(&words).map(|(offset, word)| place(*word, *offset)).collect();
        Ok(Content { ids: ids.to_vec(), offsets, words })
    }
}

/// Widens a place to whole characters inside the text: byte-level vocabularies may cut a character in two.
fn on_boundaries(text: &str, (start, end): (usize, usize)) -> (usize, usize) {
    let mut start = start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = end.clamp(start, text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    (start, end)
}

/// Runs code of the `tokenizers` crate over data that a file controls. The crate panics on some malformed files, late and on
/// some texts only, so that checks at the door cannot be complete; a panic there must not reach the host program.
pub(super) fn guarded<T>(failure: &str, run: impl FnOnce() -> tokenizers::Result<T>) -> Result<T> {
    let reason = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(e)) => json_message(&e),
        Err(panic) => panic_text(panic.as_ref()).to_owned(),
    };
    Err(Error::new(ErrorKind::InvalidFile, format!("{failure}: {reason}")))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it describes something impossible")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_widened_to_whole_characters_inside_the_text() {
        let text = "aé漢";
        assert_eq!(on_boundaries(text, (1, 3)), (1, 3));
        assert_eq!(on_boundaries(text, (2, 2)), (1, 3));
        assert_eq!(on_boundaries(text, (4, 5)), (3, 6));
        assert_eq!(on_boundaries(text, (9, 2)), (6, 6));
        assert_eq!(on_boundaries("", (0, 1)), (0, 0));
    }

    #[test]
    fn a_panic_becomes_an_error_with_its_reason() {
        let e = guarded::<()>("tokenizer.json", || panic!("no such piece {}", 7)).unwrap_err();
        assert_eq!((e.kind(), e.message()), (ErrorKind::InvalidFile, "tokenizer.json: no such piece 7"));
        let e = guarded::<()>("tokenizer.json", || Err("odd".into())).unwrap_err();
        assert_eq!(e.message(), "tokenizer.json: odd");
    }
}
