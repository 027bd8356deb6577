//! How does text become shards?
//!
//! Sentences are tokenised by several threads and written in their order: the shards are the same, byte for byte, whatever the number of
//! threads. Memory holds one batch of text, and of the shard that is being written eight bytes a sentence.

use std::path::Path;

use super::manifest::{MANIFEST, Manifest, ShardEntry};
use super::words::Segmenter;
use super::write::Writer;
use super::{ShardSettings, Shards};
use crate::engine::threads::default_threads;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::atomic::AtomicFolder;
use crate::tokenizer::Tokenizer;
use crate::train::text::{Part, Texts};

/// Bytes of text that are handed to the threads at a time.
const BATCH: usize = 4 << 20;

/// The tokens of a sentence, and with which of them a word begins.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    pub ids: Vec<u32>,
    pub starts: Vec<bool>,
}

/// How far the work is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of text that have been read.
    pub bytes: u64,
    /// Tokens that have been written.
    pub tokens: u64,
}

/// What is being made.
struct Builder<'a> {
    folder: &'a AtomicFolder,
    tokenizer: &'a Tokenizer,
    fingerprint: u64,
    settings: &'a ShardSettings,
    segmenter: Segmenter,
    writer: Option<Writer>,
    entries: Vec<ShardEntry>,
}

impl Shards {
    /// Tokenises the text, which is read to its end, into a new folder of shards. The folder appears when it is whole.
    ///
    /// # Errors
    /// As [`Texts::next`]; `Io` where the system refuses to write, `InvalidArgument` where something is called so already.
    pub fn build(
        folder: &Path,
        texts: &mut Texts,
        tokenizer: &Tokenizer,
        settings: &ShardSettings,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Shards> {
        let target = AtomicFolder::create(folder)?;
        let fingerprint = tokenizer.fingerprint()?;
        let segmenter = Segmenter::new(settings.words);
        let mut builder = Builder { folder: &target, tokenizer, fingerprint, settings, segmenter, writer: None, entries: Vec::new() };
        let mut told = Progress::default();
        loop {
            let (parts, size) = batch(texts)?;
            if parts.is_empty() {
                break;
            }
            builder.take(&parts)?;
            told.bytes += size as u64;
            told.tokens = builder.tokens();
            progress(told);
        }
        builder.close()?;
        if builder.entries.is_empty() {
            return fail(ErrorKind::InvalidFile, "the text has no tokens in this vocabulary; is it the right one?");
        }
        let manifest = Manifest::new(settings, tokenizer.vocabulary(), fingerprint, texts, builder.entries);
        manifest.write(target.file(MANIFEST)?)?;
        target.commit()?;
        Shards::open(folder)
    }
}

/// The next parts of the text, and its bytes.
fn batch(texts: &mut Texts) -> Result<(Vec<Part>, usize)> {
    let (mut parts, mut size) = (Vec::new(), 0);
    while size < BATCH {
        match texts.next()? {
            Some(part) => {
                if let Part::Sentence(text) = &part {
                    size += text.len();
                }
                parts.push(part);
            }
            None => break,
        }
    }
    Ok((parts, size))
}

impl Builder<'_> {
    fn tokens(&self) -> u64 {
        let open = self.writer.as_ref().map_or(0, Writer::tokens) as u64;
        open + self.entries.iter().map(|entry| entry.tokens).sum::<u64>()
    }

    /// Tokenises and writes some parts.
    fn take(&mut self, parts: &[Part]) -> Result<()> {
        for (part, sentences) in parts.iter().zip(self.tokenise(parts)?) {
            match part {
                Part::Sentence(_) => {
                    for tokens in &sentences {
                        self.writer()?.sentence(tokens)?;
                    }
                }
                Part::EndOfDocument => self.end_document()?,
            }
        }
        Ok(())
    }

    fn tokenise(&self, parts: &[Part]) -> Result<Vec<Vec<Tokens>>> {
        let threads = self.settings.threads.unwrap_or_else(default_threads).max(1);
        let share = parts.len().div_ceil(threads).max(1);
        let run = |parts: &[Part]| parts.iter().map(|part| self.part(part)).collect::<Result<Vec<_>>>();
        let shares: Vec<Result<Vec<_>>> = std::thread::scope(|scope| {
            let tasks: Vec<_> = parts.chunks(share).map(|share| scope.spawn(move || run(share))).collect();
            let panicked = || fail(ErrorKind::Panic, "tokenising a text panicked; please report it");
            tasks.into_iter().map(|task| task.join().unwrap_or_else(|_| panicked())).collect()
        });
        let mut all = Vec::with_capacity(parts.len());
        for share in shares {
            all.extend(share?);
        }
        Ok(all)
    }

    /// The tokens of a sentence, which is cut where it is too long.
    fn part(&self, part: &Part) -> Result<Vec<Tokens>> {
        let Part::Sentence(text) = part else { return Ok(Vec::new()) };
        let content = self.tokenizer.content(text)?;
        let starts = self.segmenter.starts(text, &content);
        Ok(cut(content.ids(), &starts, self.settings.longest_sentence))
    }

    fn writer(&mut self) -> Result<&mut Writer> {
        if self.writer.is_none() {
            let file = self.folder.file(&ShardEntry::name(self.entries.len()))?;
            self.writer = Some(Writer::new(file, self.tokenizer.vocabulary(), self.fingerprint)?);
        }
        self.writer.as_mut().ok_or_else(|| Error::new(ErrorKind::Panic, "there is no shard to write to; please report it"))
    }

    fn end_document(&mut self) -> Result<()> {
        let Some(writer) = self.writer.as_mut().filter(|writer| writer.inside()) else { return Ok(()) };
        writer.end_document();
        if writer.tokens() >= self.settings.shard_tokens { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let header = writer.commit()?;
        self.entries.push(ShardEntry::new(self.entries.len(), &header));
        Ok(())
    }
}

/// A sentence in parts of at most `longest` tokens, cut before a word where one begins in the second half.
fn cut(ids: &[u32], starts: &[bool], longest: usize) -> Vec<Tokens> {
    let longest = longest.max(1);
    let mut parts = Vec::new();
    let mut from = 0;
    while from < ids.len() {
        let most = (from + longest).min(ids.len());
        let to = if most == ids.len() { most } else { (from + longest.div_ceil(2)..=most).rev().find(|&at| starts[at]).unwrap_or(most) };
        parts.push(Tokens { ids: ids[from..to].to_vec(), starts: starts[from..to].to_vec() });
        from = to;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sentences_are_cut_before_words_and_lose_nothing() {
        let ids: Vec<u32> = (0..23).collect();
        let starts: Vec<bool> = (0..23).map(|i| i % 3 == 0).collect();
        let parts = cut(&ids, &starts, 10);
        assert_eq!(parts.iter().map(|part| part.ids.len()).collect::<Vec<_>>(), [9, 9, 5]);
        assert_eq!(parts.iter().flat_map(|part| part.ids.clone()).collect::<Vec<_>>(), ids);
        let one_word = cut(&ids, &[false; 23], 10);
        assert_eq!(one_word.iter().map(|part| part.ids.len()).collect::<Vec<_>>(), [10, 10, 3]);
        assert_eq!(cut(&[], &[], 10), []);
    }
}
