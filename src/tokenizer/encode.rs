//! How does a text, or a pair of texts, become windows of token ids?
//!
//! Each text's own tokens are found once, cut into windows by `windows`, and dressed with special tokens by `template`. All of
//! it is linear in the text's length, and in the windows' where they overlap.

use super::content::{Content, tokenize, tokenize_fast, tokenize_words};
use super::windows::{Limit, windows};
use super::{Tokenizer, Truncation};
use crate::error::{ErrorKind, Result, fail};

/// One input as the encoder takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// One window, or several under [`Truncation::Window`].
    pub windows: Vec<Sequence>,
    /// Tokens of the whole input, special tokens included, whatever was cut off.
    pub total: usize,
    /// Whether tokens were cut off.
    pub truncated: bool,
}

/// The tokens of one window. All lists have one entry a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// Ids in the vocabulary.
    pub ids: Vec<u32>,
    /// Segments: which of the two texts a token counts with.
    pub type_ids: Vec<u32>,
    /// Start and end in the token's own text, in bytes, on character boundaries; (0, 0) for special tokens.
    pub offsets: Vec<(usize, usize)>,
    /// Whether the template added the token. Text such as `[MASK]` is not special in this sense, although it has that id.
    pub special: Vec<bool>,
    /// The text that the token comes from: 0 the text, 1 the pair's second, none for special tokens.
    pub texts: Vec<Option<u8>>,
    /// Tokens of the text (for windows over a pair: of the second text) that come before this window's.
    pub tokens_start: usize,
}

impl Sequence {
    pub(super) fn with_capacity(tokens: usize, tokens_start: usize) -> Self {
        Sequence {
            ids: Vec::with_capacity(tokens),
            type_ids: Vec::with_capacity(tokens),
            offsets: Vec::with_capacity(tokens),
            special: Vec::with_capacity(tokens),
            texts: Vec::with_capacity(tokens),
            tokens_start,
        }
    }

    /// Keeps the tokens whose ids are wanted.
    pub(super) fn retain(&mut self, wanted: impl Fn(u32) -> bool) {
        let kept: Vec<bool> = self.ids.iter().map(|id| wanted(*id)).collect();
        fn keep<T>(list: &mut Vec<T>, kept: &[bool]) {
            let mut kept = kept.iter();
            list.retain(|_| kept.next() == Some(&true));
        }
        keep(&mut self.ids, &kept);
        keep(&mut self.type_ids, &kept);
        keep(&mut self.offsets, &kept);
        keep(&mut self.special, &kept);
        keep(&mut self.texts, &kept);
    }

    pub(super) fn push_special(&mut self, id: u32, type_id: u32) {
        self.ids.push(id);
        self.type_ids.push(type_id);
        self.offsets.push((0, 0));
        self.special.push(true);
        self.texts.push(None);
    }

    pub(super) fn push_text(&mut self, which: u8, type_id: u32, ids: &[u32], offsets: &[(usize, usize)]) {
        let length = self.ids.len() + ids.len();
        self.ids.extend_from_slice(ids);
        self.offsets.extend_from_slice(offsets);
        self.type_ids.resize(length, type_id);
        self.special.resize(length, false);
        self.texts.resize(length, Some(which));
    }
}

/// Bytes of one text at most. Finding tokens takes some hundred bytes of memory a byte of text, and cannot be stopped half-way:
/// without a bound one hostile text could end the host. A million characters of any script fit.
pub const LONGEST_TEXT: usize = 4 << 20;

fn check_size(bytes: usize) -> Result<()> {
    if bytes <= LONGEST_TEXT {
        return Ok(());
    }
    let told = format!("the text has {bytes} bytes and {LONGEST_TEXT} is the most for one; cut it into several texts");
    fail(ErrorKind::TooLong, told)
}

impl Tokenizer {
    /// Cuts a text, or a pair of texts, into tokens and applies the limit.
    ///
    /// # Errors
    /// `TooLong` where a text has more than [`LONGEST_TEXT`] bytes, or the input exceeds the limit and the policy is
    /// [`Truncation::Error`], or the first text of a pair leaves no
    /// room for windows over the second; `InvalidArgument` for a limit below the number of special tokens or an overlap that
    /// leaves windows no step; `Unsupported` for a pair where the model's template has no place for one; `InvalidFile` where the
    /// tokenizer's file turns out to be malformed.
    pub fn encode(&self, text: &str, pair: Option<&str>, limit: &Limit) -> Result<Encoded> {
        if let (Some(rules), None) = (&self.words, pair) {
            return rules.encode(self, text, limit, Tokenizer::content);
        }
        let second = pair.map(|pair| self.content(pair)).transpose()?;
        self.encode_contents(&self.content(text)?, second.as_ref(), limit)
    }

    /// As [`Tokenizer::encode`] of one text, for those who need no places: these are all (0, 0), and the tokens are found sooner.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_ids(&self, text: &str, limit: &Limit) -> Result<Encoded> {
        match &self.words {
            Some(rules) => rules.encode(self, text, limit, Tokenizer::content_without_places),
            None => self.encode_contents(&self.content_without_places(text)?, None, limit),
        }
    }

    fn content_without_places(&self, text: &str) -> Result<Content> {
        check_size(text.len())?;
        let short = self.short_way.as_ref().and_then(|way| way.ids(&self.inner, text));
        short.map_or_else(|| tokenize_fast(&self.inner, text), |ids| Ok(Content::from_ids(ids)))
    }

    /// The own tokens of a text, to be used in several inputs.
    ///
    /// # Errors
    /// `TooLong` for a text of more than [`LONGEST_TEXT`] bytes; `InvalidFile` where the tokenizer's file is malformed.
    pub fn content(&self, text: &str) -> Result<Content> {
        check_size(text.len())?;
        tokenize(&self.inner, text)
    }

    /// As [`Tokenizer::encode`], of texts whose tokens are known.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_contents(&self, text: &Content, pair: Option<&Content>, limit: &Limit) -> Result<Encoded> {
        let template = if pair.is_some() { self.pair.as_ref().map_err(Clone::clone)? } else { &self.single };
        let counts = (text.tokens(), pair.map(Content::tokens));
        let total = counts.0 + counts.1.unwrap_or(0) + template.added();
        let windows = windows(counts.0, counts.1, template.added(), limit)?;
        let sliding = usize::from(pair.is_some() && limit.truncation == Truncation::Window);
        let none = Content::default();
        let texts = [text, pair.unwrap_or(&none)];
        Ok(Encoded {
            windows: windows.iter().map(|w| template.apply(texts, w, w[sliding].start)).collect(),
            total,
            truncated: limit.truncation != Truncation::Window && total > limit.max_tokens,
        })
    }

    /// The own tokens of words, which stand in a text with a space between neighbours; places are in that text.
    ///
    /// # Errors
    /// As [`Tokenizer::content`].
    pub fn content_of_words(&self, words: &[&str]) -> Result<Content> {
        let mut length = 0;
        let mut starts = Vec::with_capacity(words.len());
        for word in words {
            starts.push(length);
            length += word.len() + 1;
        }
        check_size(length.saturating_sub(1))?;
        tokenize_words(&self.inner, words, &starts)
    }

    /// As [`Tokenizer::encode_contents`] of a pair, but only one of the texts is cut, the first (0) or the second (1): the other one
    /// is a question put to it. Not for windows.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`], and `TooLong` where the other text leaves no room.
    pub fn encode_cutting(&self, which: usize, texts: [&Content; 2], limit: &Limit) -> Result<Encoded> {
        let added = self.special_tokens(true);
        let [text, pair] = texts;
        let total = text.tokens() + pair.tokens() + added;
        if total <= limit.max_tokens || limit.truncation == Truncation::Error {
            return self.encode_contents(text, Some(pair), limit);
        }
        let kept = texts[1 - which].tokens();
        let Some(room) = limit.max_tokens.checked_sub(kept + added).filter(|room| *room > 0) else {
            let (one, other) = if which == 0 { ("second", "first") } else { ("first", "second") };
            let told = format!("the {one} text has {kept} tokens, and a limit of {} leaves the {other} no room", limit.max_tokens);
            return fail(ErrorKind::TooLong, told);
        };
        let cut = texts[which].part(room, limit.truncation == Truncation::Left);
        let encoded =
            if which == 0 { self.encode_contents(&cut, Some(pair), limit) } else { self.encode_contents(text, Some(&cut), limit) }?;
        Ok(Encoded { total, truncated: true, ..encoded })
    }
}
