//! Which sentences does each example begin with?
//!
//! The corpus is cut once into chunks of sentences that fill a sequence: every sentence is in exactly one of them. What a chunk becomes differs from epoch
//! to epoch, its place does not, so that any example is known by its number. Eight bytes a chunk are kept.

use std::ops::Range;

use super::sequences::Sequences;
use crate::train::shards::Shards;

/// The first sentence of each chunk, and the number behind the last sentence.
#[derive(Debug)]
pub(super) struct Chunks {
    firsts: Vec<usize>,
    /// How many chunks have a single sentence.
    pub lonely: usize,
}

impl Chunks {
    /// Cuts a corpus into chunks of at most `capacity` tokens, or of one sentence, or, for pairs, of two.
    pub fn new(shards: &Shards, sequences: &Sequences, capacity: usize) -> Chunks {
        let mut chunks = Chunks { firsts: Vec::new(), lonely: 0 };
        let least = if sequences.pairs() { 2 } else { 1 };
        let (mut sentences, mut tokens) = (0, 0);
        for document in 0..shards.documents() {
            for (place, sentence) in shards.document(document).enumerate() {
                let length = shards.length(sentence);
                // A document within a sequence begins behind a separator.
                let between = usize::from(place == 0 && sentences > 0);
                let full = sentences >= least && tokens + between + length > capacity;
                if full || sentences == 0 || (place == 0 && !sequences.crosses_documents) {
                    chunks.begin(sentence, sentences);
                    (sentences, tokens) = (1, length);
                } else {
                    (sentences, tokens) = (sentences + 1, tokens + between + length);
                }
            }
        }
        chunks.begin(shards.sentences(), sentences);
        chunks
    }

    fn begin(&mut self, sentence: usize, before: usize) {
        self.firsts.push(sentence);
        self.lonely += usize::from(before == 1);
    }

    pub fn len(&self) -> usize {
        self.firsts.len() - 1
    }

    /// The sentences of a chunk.
    pub fn get(&self, chunk: usize) -> Range<usize> {
        self.firsts[chunk]..self.firsts[chunk + 1]
    }
}
