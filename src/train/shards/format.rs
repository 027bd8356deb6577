//! Which bytes is a shard made of?
//!
//! A header of 128 bytes, then four lists, each filled up with zeros to a multiple of 8 bytes. All numbers are little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | `CLZSHARD` |
//! | 8..12, 12..16 | version; bytes of a token id, 2 or 4 |
//! | 16..24, 24..32 | tokens of the vocabulary; fingerprint of the tokenizer |
//! | 32..40, 40..48, 48..56 | documents, sentences, tokens |
//! | 56..64 | XXH3 of all bytes behind the header |
//! | 64..120 | zeros |
//! | 120..128 | XXH3 of bytes 0..120 |
//!
//! 1. token ids; 2. a bit a token, lowest first: whether a word begins with it; 3. for each sentence, as u64, how many tokens there are up to
//!    its end; 4. for each document, as u64, how many sentences there are up to its end.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{ErrorKind, Result, fail};

pub(super) const HEADER: usize = 128;
const MAGIC: &[u8; 8] = b"CLZSHARD";
const VERSION: u32 = 1;

/// What the header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub id_bytes: usize,
    pub vocabulary: usize,
    pub tokenizer: u64,
    pub documents: usize,
    pub sentences: usize,
    pub tokens: usize,
    pub body_hash: u64,
}

/// Where the lists lie in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub ids: Range<usize>,
    pub starts: Range<usize>,
    pub sentences: Range<usize>,
    pub documents: Range<usize>,
    pub end: usize,
}

/// Bytes of an id in a vocabulary of so many tokens.
pub(super) fn id_bytes(vocabulary: usize) -> usize {
    if vocabulary <= 1 << 16 { 2 } else { 4 }
}

impl Header {
    /// The lists, or `None` where no file could be so large.
    pub fn layout(&self) -> Option<Layout> {
        let mut end = HEADER;
        let mut list = |count: usize, bytes: usize| {
            let length = count.checked_mul(bytes)?;
            let range = end..end.checked_add(length)?;
            end = range.end.checked_next_multiple_of(8)?;
            Some(range)
        };
        let ids = list(self.tokens, self.id_bytes)?;
        let starts = list(self.tokens.div_ceil(8), 1)?;
        let sentences = list(self.sentences, 8)?;
        let documents = list(self.documents, 8)?;
        Some(Layout { ids, starts, sentences, documents, end })
    }

    pub fn bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.id_bytes as u32).to_le_bytes());
        let numbers =
            [self.vocabulary as u64, self.tokenizer, self.documents as u64, self.sentences as u64, self.tokens as u64, self.body_hash];
        for (i, number) in numbers.iter().enumerate() {
            bytes[16 + 8 * i..24 + 8 * i].copy_from_slice(&number.to_le_bytes());
        }
        let hash = xxh3_64(&bytes[..120]);
        bytes[120..].copy_from_slice(&hash.to_le_bytes());
        bytes
    }

    /// Reads the header of a file of these bytes, and checks it against their number.
    pub fn parse(file: &[u8]) -> Result<(Header, Layout)> {
        let damaged = |told: String| fail(ErrorKind::InvalidFile, format!("{told}; make the shards again"));
        let Some(bytes) = file.get(..HEADER) else {
            return damaged(format!("the file has {} bytes, fewer than a shard's header: it is cut off", file.len()));
        };
        if bytes[..8] != *MAGIC {
            return damaged("the file is no shard of token ids".to_owned());
        }
        if number(bytes, 120) != xxh3_64(&bytes[..120]) {
            return damaged("the header's checksum is wrong: the file is damaged".to_owned());
        }
        let small = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if small(8) != VERSION {
            let told = format!("version {} of shards is not known here, {VERSION} is", small(8));
            return fail(ErrorKind::Unsupported, format!("{told}; make the shards again"));
        }
        let size = |at: usize| usize::try_from(number(bytes, at)).unwrap_or(usize::MAX);
        let header = Header {
            id_bytes: small(12) as usize,
            vocabulary: size(16),
            tokenizer: number(bytes, 24),
            documents: size(32),
            sentences: size(40),
            tokens: size(48),
            body_hash: number(bytes, 56),
        };
        if header.id_bytes != id_bytes(header.vocabulary) || bytes[64..120].iter().any(|&byte| byte != 0) {
            return damaged("the header contradicts itself".to_owned());
        }
        match header.layout() {
            Some(layout) if layout.end == file.len() => Ok((header, layout)),
            Some(layout) if layout.end > file.len() => {
                damaged(format!("the file has {} bytes of {}: it is cut off", file.len(), layout.end))
            }
            _ => damaged(format!("the file has {} bytes, which its header does not explain", file.len())),
        }
    }
}

/// The u64 at byte `at`.
pub(super) fn number(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}
