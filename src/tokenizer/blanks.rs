//! Which token is the blank, which words are one token, and how does a token read in its place?
//!
//! What `fill_mask` needs of a tokenizer. The blank is the tokenizer's own mask token, written in the text as it is: `[MASK]`,
//! `<mask>`.

use std::ops::Range;

use super::content::{Content, guarded};
use super::encode::Encoded;
use super::{Limit, Tokenizer, Truncation};
use crate::error::{ErrorKind, Result, fail};

/// How a token reads where the blank was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its letters, without the mark of the vocabulary and without space around them.
    pub text: String,
    /// Whether it goes on where the text before it ends, without a space.
    pub continues: bool,
}

impl Tokenizer {
    /// The mask token's text and id, where the vocabulary has one.
    pub fn mask(&self) -> Option<(&str, u32)> {
        Some((self.mask.as_str(), self.id(&self.mask)?))
    }

    /// The one token that `word` is: the token that is spelled so, else what the word is cut into.
    ///
    /// # Errors
    /// `InvalidArgument` for a word of several tokens, of none, or of one that the vocabulary does not have.
    pub fn single_token(&self, word: &str) -> Result<u32> {
        if let Some(id) = self.id(word) {
            return Ok(id);
        }
        let ids = self.content(word)?.ids;
        let told = match ids[..] {
            [id] if Some(id) != self.unknown => return Ok(id),
            [_] => "the vocabulary does not have it".to_owned(),
            [] => "it is no token at all".to_owned(),
            _ => {
                let spelled: Vec<_> = ids.iter().map(|id| self.token(*id).unwrap_or_default()).collect();
                format!("it is {} tokens here ({}), and a blank holds one", ids.len(), spelled.join(" "))
            }
        };
        fail(ErrorKind::InvalidArgument, format!("candidate {word:?}: {told}; give words of one token"))
    }

    /// How the token reads on its own: the vocabulary's marks for spaces undone, those of continued words kept, as the reference
    /// shows tokens.
    ///
    /// # Errors
    /// `InvalidFile` for a tokenizer whose decoder fails.
    pub fn spelled(&self, id: u32) -> Result<String> {
        guarded("the tokenizer's decoder failed", || self.inner.decode(&[id], false))
    }

    /// How the token reads behind other text.
    ///
    /// # Errors
    /// As [`Tokenizer::spelled`].
    pub fn word(&self, id: u32) -> Result<Word> {
        // What the decoder makes of it behind the mask token, which no decoder changes.
        let behind = match self.mask() {
            Some((mask, mask_id)) => {
                let both = guarded("the tokenizer's decoder failed", || self.inner.decode(&[mask_id, id], false))?;
                both.strip_prefix(mask).map(str::to_owned)
            }
            None => None,
        };
        let behind = behind.map_or_else(|| self.spelled(id).map(|word| format!(" {word}")), Ok)?;
        Ok(Word { continues: !behind.starts_with(char::is_whitespace), text: behind.trim().to_owned() })
    }

    /// A window of one text that holds the tokens `kept`, with as much of the text on either side as the limit leaves, the same on
    /// both where the text goes on.
    ///
    /// # Errors
    /// `TooLong` where the tokens lie further apart than the limit.
    pub fn encode_around(&self, text: &Content, kept: &Range<usize>, limit: &Limit) -> Result<Encoded> {
        let special = self.single.added();
        let (total, room) = (text.tokens() + special, limit.max_tokens.saturating_sub(special));
        if text.tokens() <= room {
            return self.encode_contents(text, None, &Limit { truncation: Truncation::Error, ..*limit });
        }
        let Some(spare) = room.checked_sub(kept.len()) else {
            let told = format!(
                "its first and last {} stand {} tokens apart, and the limit is {}, special tokens included: cut the text into several",
                self.mask,
                kept.len(),
                limit.max_tokens
            );
            return fail(ErrorKind::TooLong, told);
        };
        let start = kept.start.saturating_sub(spare / 2).min(text.tokens() - room);
        let window = [start..start + room, 0..0];
        Ok(Encoded { windows: vec![self.single.apply([text, &Content::default()], &window, start)], total, truncated: true })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Files;
    use super::*;

    fn tokenizer() -> Tokenizer {
        let vocab = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nplay\n##ing\n.\na\nb\n";
        Tokenizer::open(&Files { vocab: Some(vocab), ..Files::default() }).unwrap()
    }

    #[test]
    fn tokens_read_as_words_and_as_continuations() {
        let t = tokenizer();
        let word = |token: &str| t.word(t.id(token).unwrap()).unwrap();
        assert_eq!(word("play"), Word { text: "play".into(), continues: false });
        assert_eq!(word("##ing"), Word { text: "ing".into(), continues: true });
        assert_eq!(t.spelled(t.id("##ing").unwrap()).unwrap(), "##ing");
        assert_eq!(t.mask(), Some(("[MASK]", 4)));
    }

    #[test]
    fn words_that_are_not_one_token_are_refused() {
        let t = tokenizer();
        assert_eq!(t.single_token("Play").unwrap(), 5);
        assert_eq!(t.single_token("##ing").unwrap(), 6);
        for (word, told) in [("playing", "2 tokens here (play ##ing)"), ("zebra", "does not have it"), (" ", "no token at all")] {
            let e = t.single_token(word).unwrap_err();
            assert!(e.kind() == ErrorKind::InvalidArgument && e.message().contains(told), "{e}");
        }
    }

    #[test]
    fn a_window_holds_the_tokens_and_the_same_on_both_sides() {
        let t = tokenizer();
        let text = t.content(&"a b ".repeat(50)).unwrap();
        let limit = Limit { max_tokens: 12, truncation: Truncation::Right, overlap: 0 };
        for (kept, start) in [(0..1, 0), (50..52, 46), (99..100, 90), (2..8, 0), (40..50, 40)] {
            let encoded = t.encode_around(&text, &kept, &limit).unwrap();
            assert_eq!((encoded.windows[0].tokens_start, encoded.windows[0].ids.len()), (start, 12), "{kept:?}");
            assert!(encoded.truncated && encoded.total == 102);
        }
        assert_eq!(t.encode_around(&text, &(0..11), &limit).unwrap_err().kind(), ErrorKind::TooLong);
        let short = t.encode_around(&t.content("a b").unwrap(), &(0..1), &limit).unwrap();
        assert!(!short.truncated && short.windows[0].ids.len() == 4);
    }

    #[test]
    fn byte_level_and_metaspace_tokens_read_as_words_and_as_continuations() {
        let json = |decoder: &str, start: &str| {
            format!(
                r#"{{"version":"1.0","normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":{decoder},
                "added_tokens":[{{"id":0,"content":"<mask>","single_word":false,"lstrip":true,"rstrip":false,"normalized":false,"special":true}}],
                "model":{{"type":"WordLevel","vocab":{{"<mask>":0,"{start}dog":1,"s":2,"<unk>":3}},"unk_token":"<unk>"}}}}"#
            )
        };
        let byte_level = json(r#"{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}"#, "Ġ");
        let metaspace = json(r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}"#, "▁");
        for json in [byte_level, metaspace] {
            let t = Tokenizer::open(&Files { json: Some(json.as_bytes()), ..Files::default() }).unwrap();
            assert_eq!(t.mask(), Some(("<mask>", 0)));
            assert_eq!(t.word(1).unwrap(), Word { text: "dog".into(), continues: false });
            assert_eq!(t.word(2).unwrap(), Word { text: "s".into(), continues: true });
        }
    }
}
