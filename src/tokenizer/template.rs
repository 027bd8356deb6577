//! Which special tokens stand around the texts?
//!
//! Models state this as a post-processor of one of several kinds. Rather than read each kind, a template is learned from what
//! the post-processor does with marked tokens when a model is opened; `encode` then applies it to every window.

use std::ops::Range;

use tokenizers::{Encoding, Token};

use super::content::{Content, guarded};
use super::encode::Sequence;
use crate::error::{ErrorKind, Result, fail};

/// What a finished sequence consists of, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Special { id: u32, type_id: u32 },
    Text { which: usize, type_id: u32 },
}

/// The marked tokens of the first text, then of the second.
const MARKS: [[u32; 2]; 2] = [[1, 2], [3, 4]];

impl Template {
    /// Learns the template for one text, or for two.
    pub fn learn(inner: &tokenizers::Tokenizer, pair: bool) -> Result<Template> {
        let second = pair.then(|| marked(1));
        let done = guarded("its post-processor is malformed", || inner.post_process(marked(0), second, true))?;
        let Some(pieces) = read(&done) else {
            return fail(ErrorKind::InvalidFile, "its post-processor gives tokens without a type or without a place");
        };
        let texts: Vec<usize> = pieces.iter().filter_map(Piece::text).collect();
        let mut sorted = texts.clone();
        sorted.sort_unstable();
        if sorted != Vec::from_iter(0..=usize::from(pair)) {
            let told = format!("its post-processor uses the texts {texts:?} for {} of them; each must stand once", 1 + usize::from(pair));
            return fail(ErrorKind::Unsupported, told);
        }
        Ok(Template(pieces))
    }

    /// The template that adds nothing.
    pub fn bare(pair: bool) -> Template {
        Template((0..=usize::from(pair)).map(|which| Piece::Text { which, type_id: which as u32 }).collect())
    }

    /// How many tokens it adds.
    pub fn added(&self) -> usize {
        self.0.iter().filter(|p| p.text().is_none()).count()
    }

    /// The highest id that it adds.
    pub fn highest(&self) -> Option<u32> {
        self.0.iter().filter_map(|p| if let Piece::Special { id, .. } = p { Some(*id) } else { None }).max()
    }

    /// The sequence of one window: a range of each text's tokens, with the special tokens around them.
    pub fn apply(&self, texts: [&Content; 2], window: &[Range<usize>; 2], tokens_start: usize) -> Sequence {
        let mut sequence = Sequence::with_capacity(window[0].len() + window[1].len() + self.added(), tokens_start);
        for piece in &self.0 {
            match *piece {
                Piece::Special { id, type_id } => sequence.push_special(id, type_id),
                Piece::Text { which, type_id } => {
                    let range = window[which].clone();
                    sequence.push_text(which as u8, type_id, &texts[which].ids[range.clone()], &texts[which].offsets[range]);
                }
            }
        }
        sequence
    }
}

impl Piece {
    fn text(&self) -> Option<usize> {
        if let Piece::Text { which, .. } = self { Some(*which) } else { None }
    }
}

fn marked(which: usize) -> Encoding {
    let tokens = MARKS[which].iter().map(|&id| Token::new(id, "x".to_owned(), (0, 1))).collect();
    Encoding::from_tokens(tokens, which as u32)
}

/// The pieces that a finished encoding of marked tokens consists of.
fn read(done: &Encoding) -> Option<Vec<Piece>> {
    let (ids, type_ids, special) = (done.get_ids(), done.get_type_ids(), done.get_special_tokens_mask());
    if type_ids.len() != ids.len() || special.len() != ids.len() {
        return None;
    }
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < ids.len() {
        let type_id = type_ids[at];
        if special[at] != 0 {
            pieces.push(Piece::Special { id: ids[at], type_id });
            at += 1;
        } else {
            let which = MARKS.iter().position(|marks| ids[at..].starts_with(marks))?;
            pieces.push(Piece::Text { which, type_id });
            at += MARKS[which].len();
        }
    }
    Some(pieces)
}
