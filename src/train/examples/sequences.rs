//! Which texts does a sequence consist of?
//!
//! A kind of sequences is a row of [`SEQUENCES`]: what becomes of a chunk of sentences.

use std::ops::Range;

use super::chunks::Chunks;
use crate::train::random::Key;
use crate::train::shards::Shards;

/// A kind of sequences.
#[derive(Debug)]
pub struct Sequences {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Whether a sequence may go on with the next document.
    pub crosses_documents: bool,
    /// The share of sequences that are cut short unless told otherwise.
    pub(super) short_share: f64,
    /// Makes two texts of a chunk, where it takes two.
    pair: Option<fn(&Maker<'_>, Range<usize>) -> Pair>,
}

/// Every kind; the first is the default.
pub const SEQUENCES: &[Sequences] = &[
    Sequences {
        name: "next_sentence",
        about: "two texts, of which the second follows the first or is from another document (BERT)",
        crosses_documents: false,
        short_share: 0.1,
        pair: Some(next_sentence),
    },
    Sequences {
        name: "sentence_order",
        about: "two texts that follow each other, in order or swapped (ALBERT)",
        crosses_documents: false,
        short_share: 0.1,
        pair: Some(sentence_order),
    },
    Sequences { name: "single", about: "one text of one document", crosses_documents: false, short_share: 0.0, pair: None },
    Sequences {
        name: "packed",
        about: "full sentences, also of several documents (RoBERTa)",
        crosses_documents: true,
        short_share: 0.0,
        pair: None,
    },
];

/// A text as token ids, and whether a word begins with each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    pub ids: Vec<u32>,
    pub starts: Vec<bool>,
}

/// Two texts, and what is asked of them.
pub(super) struct Pair {
    pub first: Text,
    pub second: Text,
    pub label: u32,
}

/// What a sequence is made of.
pub(super) struct Maker<'a> {
    pub shards: &'a Shards,
    pub chunks: &'a Chunks,
    /// Tokens of the texts together at most.
    pub capacity: usize,
    /// Tokens to aim at: fewer in a sequence that is cut short.
    pub target: usize,
    /// What stands between documents.
    pub separator: u32,
    pub key: Key,
}

/// Counters of a maker's key.
const FIRST_SENTENCE: u64 = 1;
const END_OF_FIRST: u64 = 2;
const LABEL: u64 = 3;
const OTHER_DOCUMENT: u64 = 4;
const OTHER_SENTENCE: u64 = 5;
/// From here on one for each token that is cut off.
const CUTTING: u64 = 1 << 32;

impl Sequences {
    /// Whether a sequence consists of two texts.
    pub fn pairs(&self) -> bool {
        self.pair.is_some()
    }

    /// The texts of a chunk and their label, at most `capacity` tokens together.
    pub(super) fn make(&self, maker: &Maker<'_>, chunk: Range<usize>) -> (Text, Option<(Text, u32)>) {
        match self.pair {
            Some(pair) => {
                let mut pair = pair(maker, maker.part(chunk, 2));
                maker.cut(&mut pair.first, &mut pair.second);
                (pair.first, Some((pair.second, pair.label)))
            }
            None => {
                let sentences = maker.part(chunk, 1);
                let mut text = if self.crosses_documents { maker.with_separators(sentences) } else { maker.text(sentences) };
                maker.cut(&mut text, &mut Text::default());
                (text, None)
            }
        }
    }
}

/// BERT: half of the second texts are from another document. A chunk of one sentence has no next one; so that the labels stay even, other
/// chunks get a random text accordingly more seldom.
fn next_sentence(maker: &Maker<'_>, sentences: Range<usize>) -> Pair {
    let end = maker.end_of_first(&sentences);
    let first = maker.text(sentences.start..end);
    let (lonely, all) = (maker.chunks.lonely as f64, maker.chunks.len() as f64);
    let random = ((0.5 * all - lonely) / (all - lonely)).max(0.0);
    if end < sentences.end && maker.key.unit(LABEL) >= random {
        return Pair { first, second: maker.text(end..sentences.end), label: 0 };
    }
    let here = maker.shards.document_of(sentences.start);
    // One of the others: there are at least two documents.
    let other = maker.key.place(OTHER_DOCUMENT, maker.shards.documents() - 1);
    let other = maker.shards.document(other + usize::from(other >= here));
    let start = other.start + maker.key.place(OTHER_SENTENCE, other.len());
    let room = maker.target.saturating_sub(first.ids.len());
    let second = maker.text(maker.up_to(start..other.end, room, 1));
    Pair { first, second, label: 1 }
}

/// ALBERT: two texts that follow each other, swapped half of the time. A single sentence is cut in two between words.
fn sentence_order(maker: &Maker<'_>, sentences: Range<usize>) -> Pair {
    let (first, second) = if sentences.len() > 1 {
        let end = maker.end_of_first(&sentences);
        (maker.text(sentences.start..end), maker.text(end..sentences.end))
    } else {
        let mut first = maker.text(sentences);
        let borders: Vec<usize> = (1..first.ids.len()).filter(|&token| first.starts[token]).collect();
        let at = match borders.len() {
            0 => first.ids.len() / 2,
            count => borders[maker.key.place(END_OF_FIRST, count)],
        };
        let second = Text { ids: first.ids.split_off(at), starts: first.starts.split_off(at) };
        (first, second)
    };
    let swapped = maker.key.below(LABEL, 2) == 1;
    let (first, second) = if swapped { (second, first) } else { (first, second) };
    Pair { first, second, label: u32::from(swapped) }
}

impl Maker<'_> {
    fn text(&self, sentences: Range<usize>) -> Text {
        let mut text = Text::default();
        sentences.for_each(|sentence| self.shards.read(sentence, &mut text.ids, &mut text.starts));
        text
    }

    fn with_separators(&self, sentences: Range<usize>) -> Text {
        let mut text = Text::default();
        let mut end = self.shards.document(self.shards.document_of(sentences.start)).end;
        for sentence in sentences {
            if sentence >= end {
                text.ids.push(self.separator);
                text.starts.push(true);
                end = self.shards.document(self.shards.document_of(sentence)).end;
            }
            self.shards.read(sentence, &mut text.ids, &mut text.starts);
        }
        text
    }

    /// The sentences of a chunk, or where the sequence is cut short a random part of them, of at least `least` sentences if there are so many.
    fn part(&self, chunk: Range<usize>, least: usize) -> Range<usize> {
        if self.target >= self.capacity {
            return chunk;
        }
        // The last sentence from which there are enough up to the end.
        let (mut last, mut tokens) = (chunk.end, 0);
        while last > chunk.start && (tokens < self.target || chunk.end - last < least) {
            last -= 1;
            tokens += self.shards.length(last);
        }
        let start = chunk.start + self.key.place(FIRST_SENTENCE, last - chunk.start + 1);
        self.up_to(start..chunk.end, self.target, least)
    }

    /// So many sentences from the start that they have `wanted` tokens, and at least `least` sentences if there are so many.
    fn up_to(&self, sentences: Range<usize>, wanted: usize, least: usize) -> Range<usize> {
        let mut end = sentences.start;
        let mut tokens = 0;
        while end < sentences.end && (tokens < wanted || end - sentences.start < least) {
            tokens += self.shards.length(end);
            end += 1;
        }
        sentences.start..end
    }

    /// Where the second text begins: at any sentence but the first.
    fn end_of_first(&self, sentences: &Range<usize>) -> usize {
        match sentences.len() {
            1 => sentences.end,
            count => sentences.start + 1 + self.key.place(END_OF_FIRST, count - 1),
        }
    }

    /// BERT's rule for too many tokens: one after the other goes from the longer text, from its start or its end by lot.
    fn cut(&self, first: &mut Text, second: &mut Text) {
        let mut rest = [0..first.ids.len(), 0..second.ids.len()];
        let mut counter = CUTTING;
        while rest[0].len() + rest[1].len() > self.capacity {
            let longer = &mut rest[usize::from(rest[0].len() <= rest[1].len())];
            if self.key.below(counter, 2) == 1 {
                longer.start += 1
            } else {
                longer.end -= 1
            }
            counter += 1;
        }
        for (text, rest) in [first, second].into_iter().zip(rest) {
            text.ids.truncate(rest.end);
            text.starts.truncate(rest.end);
            text.ids.drain(..rest.start);
            text.starts.drain(..rest.start);
        }
    }
}
