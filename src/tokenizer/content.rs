//! What are a text's own tokens, before any cut and any special token?

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, ErrorKind, Result, json_message};

/// A text's own tokens, found once and used in any number of inputs.
#[derive(Clone, Debug, Default)]
pub struct Content {
    pub(super) ids: Vec<u32>,
    /// Bytes of the text, on character boundaries.
    pub(super) offsets: Vec<(usize, usize)>,
}

impl Content {
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

    /// The first `count` tokens, or the last ones.
    pub(super) fn part(&self, count: usize, last: bool) -> Content {
        let range = if last { self.ids.len() - count..self.ids.len() } else { 0..count };
        Content { ids: self.ids[range.clone()].to_vec(), offsets: self.offsets[range].to_vec() }
    }
}

/// Cuts a text into tokens.
pub(super) fn tokenize(inner: &tokenizers::Tokenizer, text: &str) -> Result<Content> {
    let encoding = guarded("the tokenizer failed on this text", || inner.encode(text, false))?;
    let (ids, offsets) = (encoding.get_ids(), encoding.get_offsets());
    if ids.len() != offsets.len() {
        return Err(Error::new(ErrorKind::InvalidFile, "the tokenizer gives a text more tokens than places; its file is damaged"));
    }
    Ok(Content { ids: ids.to_vec(), offsets: offsets.iter().map(|&o| on_boundaries(text, o)).collect() })
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
