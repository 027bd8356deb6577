//! Words and their vectors, as they come -> one table, and the words' ids.
//!
//! A word's id is its place in the file. Of a word that occurs twice the first vector counts, as in gensim. Behind the last word comes
//! one row of zeros, for words that the file lacks; it is left out of every mean (`tokenizer::words`). The table goes to [`Weights`],
//! the words to `vocabulary`.

use std::collections::HashSet;

use super::vocabulary::Vocabulary;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::Weights;
use crate::quant::{Bytes, Dtype, Tensor};

/// The name of the table, as in model2vec's folders.
pub(in crate::formats) const TABLE: &str = "embeddings";

/// Ids are 32 bits, and one is for unknown words.
const MOST_WORDS: usize = u32::MAX as usize - 1;

/// Words and vectors so far.
pub(super) struct Table {
    dimensions: usize,
    /// f32, little endian, row after row.
    numbers: Vec<u8>,
    seen: HashSet<Box<str>>,
    vocabulary: Vocabulary,
}

impl Table {
    /// A table of rows of `dimensions` numbers, with room for `rows` of them.
    pub(super) fn new(dimensions: usize, rows: usize) -> Result<Table> {
        let mut table = Table { dimensions, numbers: Vec::new(), seen: HashSet::new(), vocabulary: Vocabulary::default() };
        table.reserve(rows)?;
        Ok(table)
    }

    /// Numbers of a row.
    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn reserve(&mut self, rows: usize) -> Result<()> {
        let bytes = rows.checked_mul(self.dimensions).and_then(|numbers| numbers.checked_mul(4));
        let reserved = bytes.is_some_and(|bytes| self.numbers.try_reserve(bytes).is_ok());
        if reserved { Ok(()) } else { fail(ErrorKind::OutOfMemory, "the vectors do not fit in memory") }
    }

    /// Adds a row whose numbers `fill` writes; nothing is added where it fails, or where the word is there.
    pub(super) fn add<'w>(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> Result<&'w str>) -> Result<()> {
        self.reserve(1)?;
        let before = self.numbers.len();
        let word = fill(&mut self.numbers)?;
        if self.numbers.len() - before != self.dimensions * 4 {
            return fail(ErrorKind::InvalidFile, format!("the word {word:?} does not have {} numbers", self.dimensions));
        }
        if self.seen.contains(word) {
            self.numbers.truncate(before);
            return Ok(());
        }
        if self.seen.len() == MOST_WORDS {
            return fail(ErrorKind::Unsupported, format!("more than {MOST_WORDS} words"));
        }
        self.vocabulary.add(word)?;
        self.seen.insert(word.into());
        Ok(())
    }

    /// Whether there is no word.
    pub(super) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// The table's tensor, and the words with one more for those that are unknown.
    pub(super) fn finish(mut self) -> Result<(Weights, Vocabulary, String)> {
        self.reserve(1)?;
        self.numbers.resize(self.numbers.len() + self.dimensions * 4, 0);
        let unknown = unknown_word(|word| self.seen.contains(word));
        self.vocabulary.add(&unknown)?;
        let shape = vec![self.seen.len() + 1, self.dimensions];
        let mut weights = Weights::default();
        let tensor = Tensor::new(Dtype::F32, shape, Bytes::owned(self.numbers));
        let damaged = || Error::new(ErrorKind::InvalidFile, "the numbers do not fill the rows");
        weights.insert(TABLE.to_owned(), tensor.ok_or_else(damaged)?)?;
        Ok((weights, self.vocabulary, unknown))
    }
}

/// A word for those that are unknown, which the file does not have.
fn unknown_word(taken: impl Fn(&str) -> bool) -> String {
    let mut word = "[UNK]".to_owned();
    while taken(&word) {
        word = format!("[{word}]");
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_two_equal_words_counts_and_unknown_ones_have_zeros() {
        let mut table = Table::new(2, 0).unwrap();
        for (word, numbers) in [("a", [1f32, 2.0]), ("[UNK]", [3.0, 4.0]), ("a", [5.0, 6.0])] {
            let fill = |out: &mut Vec<u8>| {
                numbers.iter().for_each(|x| out.extend(x.to_le_bytes()));
                Ok(word)
            };
            table.add(fill).unwrap();
        }
        let (weights, _, unknown) = table.finish().unwrap();
        assert_eq!(weights.get(TABLE).unwrap().to_f32(), [1.0, 2.0, 3.0, 4.0, 0.0, 0.0]);
        assert_eq!(unknown, "[[UNK]]");
    }

    #[test]
    fn a_row_that_is_refused_leaves_nothing_behind() {
        let mut table = Table::new(2, 0).unwrap();
        let short = |out: &mut Vec<u8>| {
            out.extend(1f32.to_le_bytes());
            Ok("a")
        };
        assert!(table.add(short).unwrap_err().message().contains("\"a\""));
        assert_eq!(Table::new(usize::MAX / 2, usize::MAX).err().unwrap().kind(), ErrorKind::OutOfMemory);
    }
}
