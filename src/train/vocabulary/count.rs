//! How often does each word occur in the text?
//!
//! Sums of counts do not depend on which thread saw which sentence.

use std::collections::HashMap;

use tokenizers::{NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, Tokenizer};

use super::{Stage, VocabularySettings};
use crate::engine::threads::default_threads;
use crate::error::{Error, ErrorKind, Result};
use crate::train::text::{Part, Texts};

/// Characters of a word at most: longer ones are unknown words to WordPiece.
pub(super) const LONGEST_WORD: usize = 100;

/// Bytes of text that are handed to the threads at a time.
const BATCH: usize = 8 << 20;

/// Words that occur so often, and how many were too long.
#[derive(Default)]
pub(super) struct Words {
    pub counts: HashMap<String, u64>,
    pub long: u64,
}

impl Words {
    fn add(&mut self, word: &str, count: u64, cuts: bool) {
        if word.len() <= LONGEST_WORD || word.chars().count() <= LONGEST_WORD {
            return self.put(word, count);
        }
        self.long += count;
        if cuts {
            let mut rest = word;
            while !rest.is_empty() {
                let end = rest.char_indices().nth(LONGEST_WORD).map_or(rest.len(), |(at, _)| at);
                self.put(&rest[..end], count);
                rest = &rest[end..];
            }
        }
    }

    fn put(&mut self, word: &str, count: u64) {
        match self.counts.get_mut(word) {
            Some(sum) => *sum += count,
            None => drop(self.counts.insert(word.to_owned(), count)),
        }
    }
}

/// One thread's sums.
#[derive(Default)]
struct Counter {
    /// ASCII between spaces, not yet normalised: most of an English text is few of them.
    raw: HashMap<Vec<u8>, u64>,
    words: Words,
}

/// Counts the words of a text to its end.
pub(super) fn words(texts: &mut Texts, frame: &Tokenizer, settings: &VocabularySettings, progress: &mut dyn FnMut(Stage)) -> Result<Words> {
    let mut counters: Vec<Counter> = (0..settings.threads.unwrap_or_else(default_threads).max(1)).map(|_| Counter::default()).collect();
    let mut bytes = 0;
    loop {
        let (batch, size) = batch(texts)?;
        if batch.is_empty() {
            break;
        }
        let share = batch.len().div_ceil(counters.len());
        let run = |(counter, sentences): (&mut Counter, &[String])| {
            sentences.iter().try_for_each(|sentence| counter.sentence(sentence, frame, settings))
        };
        std::thread::scope(|scope| {
            let tasks: Vec<_> = counters.iter_mut().zip(batch.chunks(share)).map(|task| scope.spawn(|| run(task))).collect();
            tasks.into_iter().try_for_each(|task| task.join().unwrap_or_else(|_| Err(failed("it panicked"))))
        })?;
        bytes += size as u64;
        progress(Stage::Counting(bytes));
    }
    let mut sum = Words::default();
    let mut raw: HashMap<Vec<u8>, u64> = HashMap::new();
    for counter in counters {
        counter.raw.into_iter().for_each(|(word, count)| *raw.entry(word).or_default() += count);
        sum.long += counter.words.long;
        counter.words.counts.into_iter().for_each(|(word, count)| *sum.counts.entry(word).or_default() += count);
    }
    for (word, count) in raw {
        // It was ASCII.
        let word = String::from_utf8(word).unwrap_or_default();
        each_word(&word, frame, |word| sum.add(word, count, settings.kind.cuts_long_words))?;
    }
    Ok(sum)
}

/// The next sentences, and their bytes.
fn batch(texts: &mut Texts) -> Result<(Vec<String>, usize)> {
    let (mut batch, mut size) = (Vec::new(), 0);
    while size < BATCH {
        match texts.next()? {
            Some(Part::Sentence(text)) => {
                size += text.len();
                batch.push(text);
            }
            Some(Part::EndOfDocument) => {}
            None => break,
        }
    }
    Ok((batch, size))
}

impl Counter {
    fn sentence(&mut self, sentence: &str, frame: &Tokenizer, settings: &VocabularySettings) -> Result<()> {
        let cuts = settings.kind.cuts_long_words;
        if !settings.kind.by_space {
            return each_word(sentence, frame, |word| self.words.add(word, 1, cuts));
        }
        for part in sentence.split(' ').filter(|part| !part.is_empty()) {
            if !part.is_ascii() || part.len() > LONGEST_WORD {
                each_word(part, frame, |word| self.words.add(word, 1, cuts))?;
            } else if let Some(count) = self.raw.get_mut(part.as_bytes()) {
                *count += 1;
            } else {
                self.raw.insert(part.as_bytes().to_vec(), 1);
            }
        }
        Ok(())
    }
}

/// The words of a text as the tokenizer cuts it before it looks for pieces.
fn each_word(text: &str, frame: &Tokenizer, mut found: impl FnMut(&str)) -> Result<()> {
    let mut normalized = NormalizedString::from(text);
    if let Some(normalizer) = frame.get_normalizer() {
        normalizer.normalize(&mut normalized).map_err(failed)?;
    }
    let mut parts = PreTokenizedString::from(normalized);
    if let Some(splitter) = frame.get_pre_tokenizer() {
        splitter.pre_tokenize(&mut parts).map_err(failed)?;
    }
    for (word, ..) in parts.get_splits(OffsetReferential::Normalized, OffsetType::Byte) {
        if !word.is_empty() {
            found(word);
        }
    }
    Ok(())
}

fn failed(reason: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidFile, format!("a text could not be cut into words: {reason}"))
}
