//! How are bytes read in order, without ever reading past their end?

use crate::error::{ErrorKind, Result, fail};
use crate::quant::Bytes;

/// A place in a file, moving forward.
pub(super) struct Cursor<'a> {
    bytes: &'a Bytes,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a Bytes) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Bytes left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `N` bytes.
    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.bytes[self.at..].first_chunk::<N>() {
            Some(found) => {
                self.at += N;
                Ok(*found)
            }
            None => self.cut_off(N as u64),
        }
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// A string: its length in bytes, then UTF-8.
    pub(super) fn string(&mut self) -> Result<String> {
        let start = self.at;
        let len = self.count(1, "a string of", "bytes")?;
        // Copied before it is checked: a mapped file could change in between.
        let copy = self.bytes[self.at..self.at + len].to_vec();
        self.at += len;
        String::from_utf8(copy).or_else(|e| {
            let shown = String::from_utf8_lossy(e.as_bytes()).chars().take(40).collect::<String>();
            fail(ErrorKind::InvalidFile, format!("the string at byte {start} is not UTF-8: {shown:?}"))
        })
    }

    /// A number of things that take at least `size` bytes each: not more than the file can hold.
    pub(super) fn count(&mut self, size: usize, what: &str, things: &str) -> Result<usize> {
        let start = self.at;
        let stated = self.u64()?;
        let possible = (self.left() / size) as u64;
        if stated > possible {
            let told = format!(
                "byte {start} states {what} {stated} {things}, but only {} bytes follow; damaged or cut off, copy or download it again",
                self.left()
            );
            return fail(ErrorKind::InvalidFile, told);
        }
        Ok(stated as usize)
    }

    fn cut_off<T>(&self, needed: u64) -> Result<T> {
        let told = format!(
            "the file ends at byte {}, {needed} more are needed at byte {}; cut off, copy or download it again",
            self.bytes.len(),
            self.at
        );
        fail(ErrorKind::InvalidFile, told)
    }
}
