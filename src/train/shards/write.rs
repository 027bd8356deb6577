//! How does a shard get onto the disk?
//!
//! Ids go to the file as they come; the lists about them wait until the end, a few bytes a sentence.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use xxhash_rust::xxh3::Xxh3;

use super::build::Tokens;
use super::format::{HEADER, Header, id_bytes};
use crate::error::{Error, ErrorKind, Result};
use crate::formats::atomic::AtomicFile;

/// A shard that is being written.
pub(super) struct Writer {
    file: AtomicFile,
    header: Header,
    hash: Xxh3,
    starts: Vec<u8>,
    sentences: Vec<u64>,
    documents: Vec<u64>,
}

impl Writer {
    pub fn new(file: AtomicFile, vocabulary: usize, tokenizer: u64) -> Result<Writer> {
        let header = Header { id_bytes: id_bytes(vocabulary), vocabulary, tokenizer, ..Header::default() };
        let mut writer = Writer { file, header, hash: Xxh3::new(), starts: Vec::new(), sentences: Vec::new(), documents: Vec::new() };
        writer.file.write_all(&[0; HEADER]).map_err(|e| refused(writer.file.target(), &e))?;
        Ok(writer)
    }

    pub fn tokens(&self) -> usize {
        self.header.tokens
    }

    /// Whether sentences wait for the end of their document.
    pub fn inside(&self) -> bool {
        self.documents.last().map_or(0, |end| *end as usize) < self.sentences.len()
    }

    /// The next sentence of the document.
    pub fn sentence(&mut self, tokens: &Tokens) -> Result<()> {
        let mut bytes = Vec::with_capacity(tokens.ids.len() * self.header.id_bytes);
        for (id, begins) in tokens.ids.iter().zip(&tokens.starts) {
            bytes.extend_from_slice(&id.to_le_bytes()[..self.header.id_bytes]);
            let bit = self.header.tokens % 8;
            if bit == 0 {
                self.starts.push(0);
            }
            if let Some(last) = self.starts.last_mut() {
                *last |= u8::from(*begins) << bit;
            }
            self.header.tokens += 1;
        }
        self.sentences.push(self.header.tokens as u64);
        self.put(&bytes)
    }

    /// The document of the last sentences is over.
    pub fn end_document(&mut self) {
        self.documents.push(self.sentences.len() as u64);
    }

    /// Writes what waited, and gives the file its name. The checksum of what is in it.
    pub fn commit(mut self) -> Result<Header> {
        let starts = std::mem::take(&mut self.starts);
        self.pad(self.header.tokens * self.header.id_bytes)?;
        self.put(&starts)?;
        self.pad(starts.len())?;
        let numbers = |list: &[u64]| list.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        let lists = [numbers(&self.sentences), numbers(&self.documents)];
        lists.iter().try_for_each(|list| self.put(list))?;
        self.header.sentences = self.sentences.len();
        self.header.documents = self.documents.len();
        self.header.body_hash = self.hash.digest();
        let written = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.write_all(&self.header.bytes()));
        written.map_err(|e| refused(self.file.target(), &e))?;
        self.file.commit()?;
        Ok(self.header)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        self.file.write_all(bytes).map_err(|e| refused(self.file.target(), &e))
    }

    fn pad(&mut self, length: usize) -> Result<()> {
        self.put(&[0; 8][..length.next_multiple_of(8) - length])
    }
}

fn refused(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot write {}: {error}", path.display()))
}
