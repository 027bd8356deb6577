//! What does a shard hold?
//!
//! The file is mapped. Opening reads it once from end to end: checksum, order of the lists, range of the ids; nothing behind checks
//! again.

use std::ops::Range;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::format::{HEADER, Header, Layout, number};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::map_file;
use crate::quant::Bytes;

/// A shard, checked.
#[derive(Debug)]
pub(super) struct Shard {
    bytes: Bytes,
    layout: Layout,
    pub header: Header,
}

impl Shard {
    pub fn open(path: &Path) -> Result<Shard> {
        let told = |e: Error| e.within(path.display());
        let bytes = map_file(path).map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.display())))?;
        let (header, layout) = Header::parse(&bytes).map_err(told)?;
        if xxh3_64(&bytes[HEADER..]) != header.body_hash {
            let damaged = "the checksum of the token ids is wrong: the file is damaged; make the shards again";
            return fail(ErrorKind::InvalidFile, damaged).map_err(told);
        }
        let shard = Shard { bytes, layout, header };
        shard.check().map_err(told)?;
        Ok(shard)
    }

    /// A checksum says that the file is as it was written, not that it was written well.
    fn check(&self) -> Result<()> {
        let header = &self.header;
        for (what, list, count, last) in [
            ("sentences", &self.layout.sentences, header.sentences, header.tokens),
            ("documents", &self.layout.documents, header.documents, header.sentences),
        ] {
            let mut before = 0;
            for i in 0..count {
                let end = self.entry(list, i);
                if end <= before {
                    return fail(ErrorKind::InvalidFile, format!("entry {i} of the list of {what} is not behind the one before it"));
                }
                before = end;
            }
            if before != last {
                return fail(ErrorKind::InvalidFile, format!("the list of {what} ends at {before}, not at {last}"));
            }
        }
        match (0..header.tokens).find(|&token| self.id(token) as usize >= header.vocabulary) {
            Some(token) => {
                let told = format!("token {token} has the id {}, but the vocabulary ends at {}", self.id(token), header.vocabulary);
                fail(ErrorKind::InvalidFile, told)
            }
            None => Ok(()),
        }
    }

    /// An end in one of the lists; behind every end that fits memory in this process.
    fn entry(&self, list: &Range<usize>, i: usize) -> usize {
        usize::try_from(number(&self.bytes, list.start + 8 * i)).unwrap_or(usize::MAX)
    }

    fn range(&self, list: &Range<usize>, i: usize) -> Range<usize> {
        let start = if i == 0 { 0 } else { self.entry(list, i - 1) };
        start..self.entry(list, i)
    }

    /// The sentences of a document.
    pub fn document(&self, document: usize) -> Range<usize> {
        self.range(&self.layout.documents, document)
    }

    /// The document of a sentence.
    pub fn document_of(&self, sentence: usize) -> usize {
        let (mut low, mut high) = (0, self.header.documents);
        while low < high {
            let middle = low.midpoint(high);
            if self.entry(&self.layout.documents, middle) <= sentence { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The tokens of a sentence.
    pub fn sentence(&self, sentence: usize) -> Range<usize> {
        self.range(&self.layout.sentences, sentence)
    }

    pub fn id(&self, token: usize) -> u32 {
        let at = self.layout.ids.start + token * self.header.id_bytes;
        let byte = |i: usize| u32::from(self.bytes[at + i]) << (8 * i);
        if self.header.id_bytes == 2 { byte(0) | byte(1) } else { byte(0) | byte(1) | byte(2) | byte(3) }
    }

    /// Whether a word begins with a token.
    pub fn begins_word(&self, token: usize) -> bool {
        self.bytes[self.layout.starts.start + token / 8] >> (token % 8) & 1 == 1
    }
}
