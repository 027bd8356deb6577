//! Which words make up a phrase that is hidden as a whole?
//!
//! Sun and others, "ERNIE: enhanced representation through knowledge integration", 2019: names and phrases are hidden together, so that the model
//! learns them from their surroundings. Here a list of them is given; they are found as the longest ones from left to right, on the borders of words.

use std::collections::HashSet;
use std::ops::Range;

use crate::error::{ErrorKind, Result, fail};
use crate::tokenizer::Tokenizer;

/// A list of phrases as token ids.
#[derive(Clone, Debug, Default)]
pub struct Phrases {
    all: HashSet<Vec<u32>>,
    /// Tokens of the longest.
    longest: usize,
}

impl Phrases {
    /// Reads a list, one phrase a line.
    ///
    /// # Errors
    /// `InvalidArgument` where there is no phrase in it; as [`Tokenizer::content`].
    pub fn read(list: &str, tokenizer: &Tokenizer) -> Result<Phrases> {
        let unknown = tokenizer.special_ids();
        let mut phrases = Phrases::default();
        for line in list.trim_start_matches('\u{feff}').lines().filter(|line| !line.trim().is_empty()) {
            let ids = tokenizer.content(line.trim())?.ids().to_vec();
            // What the vocabulary does not know could be anything.
            if !ids.is_empty() && ids.iter().all(|id| unknown.binary_search(id).is_err()) {
                phrases.longest = phrases.longest.max(ids.len());
                phrases.all.insert(ids);
            }
        }
        if phrases.all.is_empty() {
            return fail(ErrorKind::InvalidArgument, "the list has no phrase that the vocabulary knows; give one phrase a line");
        }
        Ok(phrases)
    }

    /// The words, those of a phrase joined. Words of one phrase follow each other without a gap.
    pub(super) fn join(&self, ids: &[u32], words: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut units = Vec::with_capacity(words.len());
        let mut at = 0;
        while let Some(first) = words.get(at) {
            let mut end = first.end;
            let joined = words[at..].iter().take_while(|word| {
                let follows = word.start == first.start || word.start == std::mem::replace(&mut end, word.end);
                follows && word.end - first.start <= self.longest
            });
            let longest = joined.enumerate().filter(|(_, word)| self.all.contains(&ids[first.start..word.end])).last();
            let count = longest.map_or(1, |(more, _)| more + 1);
            units.push(first.start..words[at + count - 1].end);
            at += count;
        }
        units
    }
}
