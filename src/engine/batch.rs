//! Which tokens does one run see?
//!
//! Packed: the tokens of all sequences stand one after another, without padding; `offsets` says where each sequence begins.
//! `tasks` fills a batch from what the tokenizer gives.

use std::ops::Range;

/// The packed input of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    ids: Vec<u32>,
    segments: Vec<u32>,
    offsets: Vec<usize>,
    skips: Vec<usize>,
    picks: Vec<usize>,
    /// By pick: the tokens on both sides of the span that it is in.
    borders: Vec<[usize; 2]>,
    seen: Vec<usize>,
}

/// Which token a pick stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The picked one.
    Own,
    /// The one in front of its span.
    Before,
    /// The one behind its span.
    Behind,
}

impl Default for Batch {
    fn default() -> Self {
        Batch {
            ids: Vec::new(),
            segments: Vec::new(),
            offsets: vec![0],
            skips: Vec::new(),
            picks: Vec::new(),
            borders: Vec::new(),
            seen: Vec::new(),
        }
    }
}

impl Batch {
    /// Appends a sequence. `skip` leading tokens are left out of pooled sums, means and maxima (the prompt, where a model says so);
    /// at least one token stays in. A sequence may be empty where nothing is computed of its tokens but what is pooled: that is zeros
    /// then.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn push(&mut self, ids: &[u32], segments: &[u32], skip: usize) {
        assert!(ids.len() == segments.len(), "each token has a segment");
        self.ids.extend_from_slice(ids);
        self.segments.extend_from_slice(segments);
        self.offsets.push(self.ids.len());
        self.skips.push(skip.min(ids.len().saturating_sub(1)));
        self.seen.push(ids.len());
    }

    /// Lets attention see only the first `seen` tokens of the last sequence (at least one, at most all): the others see these, and
    /// no token sees them, themselves included. The padding of a query that late-interaction models compute with is such.
    pub fn see_first(&mut self, seen: usize) {
        let tokens = self.sequences().checked_sub(1).map_or(0, |last| self.rows(last).len());
        if let Some(last) = self.seen.last_mut() {
            *last = seen.max(1).min(tokens);
        }
    }

    /// How many tokens of sequence `index` attention sees, counted from its first.
    pub fn seen(&self, index: usize) -> usize {
        self.seen[index]
    }

    /// Picks a token of the last sequence, counted from its start: heads that answer for some tokens only see those. Rows stand
    /// in the order of the calls.
    ///
    /// # Panics
    /// If there is no such token.
    pub fn pick(&mut self, token: usize) {
        self.pick_between(token, token, token);
    }

    /// As [`Batch::pick`], of a token in the span between the tokens `before` and `behind`.
    ///
    /// # Panics
    /// If one of them is not there.
    pub fn pick_between(&mut self, token: usize, before: usize, behind: usize) {
        let last = self.sequences().checked_sub(1);
        let row = |token: usize| last.map(|last| self.offsets[last] + token).filter(|row| *row < self.tokens());
        let (Some(own), Some(before), Some(behind)) = (row(token), row(before), row(behind)) else {
            panic!("a picked token is one of the last sequence's")
        };
        self.picks.push(own);
        self.borders.push([before, behind]);
    }

    /// The rows of the tokens picked.
    pub fn picks(&self) -> &[usize] {
        &self.picks
    }

    /// The row of a token that pick `index` stands for.
    pub fn picked(&self, index: usize, which: Which) -> usize {
        match which {
            Which::Own => self.picks[index],
            Which::Before => self.borders[index][0],
            Which::Behind => self.borders[index][1],
        }
    }

    /// The place of pick `index` in its span, from 0.
    pub fn place_in_span(&self, index: usize) -> usize {
        self.picks[index].saturating_sub(self.borders[index][0] + 1)
    }

    /// Number of tokens.
    pub fn tokens(&self) -> usize {
        self.ids.len()
    }

    /// Number of sequences.
    pub fn sequences(&self) -> usize {
        self.skips.len()
    }

    /// The rows of sequence `index`.
    pub fn rows(&self, index: usize) -> Range<usize> {
        self.offsets[index]..self.offsets[index + 1]
    }

    /// The rows of sequence `index` that count in pooled sums, means and maxima.
    pub fn pooled_rows(&self, index: usize) -> Range<usize> {
        self.offsets[index] + self.skips[index]..self.offsets[index + 1]
    }

    /// Where each sequence begins; the last entry is the number of tokens.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Token ids.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Segment of each token.
    pub fn segments(&self) -> &[u32] {
        &self.segments
    }

    /// Whether a sequence has no token.
    pub fn has_empty(&self) -> bool {
        self.offsets.windows(2).any(|w| w[0] == w[1])
    }

    /// The longest sequence, in tokens.
    pub fn longest(&self) -> usize {
        self.offsets.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_stand_one_after_another() {
        let mut b = Batch::default();
        b.push(&[1, 2, 3], &[0, 0, 1], 1);
        b.push(&[4], &[0], 9);
        assert_eq!((b.tokens(), b.sequences(), b.longest()), (4, 2, 3));
        assert_eq!((b.rows(0), b.rows(1)), (0..3, 3..4));
        assert_eq!((b.pooled_rows(0), b.pooled_rows(1)), (1..3, 3..4), "a skip never empties a sequence");
        b.pick(0);
        assert_eq!(b.picks(), [3], "a pick counts from the last sequence's start");
    }
}
