//! How are the bytes of a pickle read?

use super::invalid;
use crate::error::Result;

/// Bytes that are read once, from the front; a mapped file may change behind our back.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let Some(taken) = rest.get(..len) else {
            return Err(invalid(format!(
                "the file ends at byte {}, within its pickle; truncated, copy or download it again",
                self.bytes.len()
            )));
        };
        self.at += len;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn length(&mut self, width: usize) -> Result<usize> {
        let mut wide = [0; 8];
        wide[..width].copy_from_slice(self.take(width)?);
        usize::try_from(u64::from_le_bytes(wide)).map_err(|_| invalid("a length is beyond this machine"))
    }

    pub(super) fn text(&mut self, len: usize) -> Result<String> {
        String::from_utf8(self.take(len)?.to_vec()).map_err(|_| invalid("a text in the pickle is not UTF-8"))
    }

    pub(super) fn line(&mut self) -> Result<String> {
        let len = self.bytes[self.at..].iter().take(256).position(|b| *b == b'\n');
        let Some(len) = len else { return Err(invalid("a name in the pickle is cut off or too long")) };
        let line = self.text(len)?;
        self.take(1)?;
        Ok(line)
    }
}
