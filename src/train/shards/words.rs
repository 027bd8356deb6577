//! Where do words begin among the tokens of a sentence?

use jieba_rs::Jieba;

use crate::tokenizer::Content;
use crate::train::text::is_han;

/// Who knows where words begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WordRule {
    /// The tokenizer: words are what it cuts a text into before it looks for pieces. Each Chinese character is a word to BERT's.
    #[default]
    Tokenizer,
    /// jieba for Chinese characters, the tokenizer for all others.
    Jieba,
}

impl WordRule {
    /// Every rule by name.
    pub const ALL: &'static [(&'static str, WordRule)] = &[("tokenizer", WordRule::Tokenizer), ("jieba", WordRule::Jieba)];
}

/// A rule, ready for use.
pub(super) struct Segmenter(Option<Box<Jieba>>);

impl Segmenter {
    /// Reads jieba's dictionary, which takes half a second, where it is needed.
    pub fn new(rule: WordRule) -> Segmenter {
        Segmenter((rule == WordRule::Jieba).then(|| Box::new(Jieba::new())))
    }

    /// For each token whether a word begins with it.
    pub fn starts(&self, text: &str, content: &Content) -> Vec<bool> {
        let mut starts: Vec<bool> = (0..content.tokens()).map(|token| !content.continues_word(token)).collect();
        let Some(jieba) = &self.0 else { return starts };
        if !text.chars().any(is_han) {
            return starts;
        }
        let words = jieba.cut(text, true);
        let mut word = 0;
        // The word of jieba that the token before lies in, if that is Chinese.
        let mut before = None;
        for (start, (at, _)) in starts.iter_mut().zip(content.offsets()) {
            while words.get(word).is_some_and(|word| word.byte_end <= *at) {
                word += 1;
            }
            let han = text[*at..].chars().next().is_some_and(is_han);
            let here = han.then_some(word);
            match (before, here) {
                (Some(a), Some(b)) => *start = a != b,
                (None, None) => {}
                _ => *start = true,
            }
            before = here;
        }
        if let Some(first) = starts.first_mut() {
            *first = true;
        }
        starts
    }
}
