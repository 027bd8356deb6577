//! Where does each entry lie in a zip archive?
//!
//! PyTorch's checkpoints are archives whose entries are stored as they are, so that a tensor is read where it lies in a mapped file.
//! [`Archive::open`] reads the central directory (the format is PKWARE's APPNOTE.TXT, with zip64) and compares it with each entry's
//! own header. Names are only compared, never used as paths; entries that overlap, are encrypted, or lie outside the file are
//! errors; an entry that is compressed is an error when it is asked for, so nothing is ever unpacked.
//!
//! Checksums (CRC-32) are not compared: tensors are read only when they are needed, and PyTorch lets writers leave them out.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::Bytes;

const LOCAL: &[u8; 4] = b"PK\x03\x04";
const CENTRAL: &[u8; 4] = b"PK\x01\x02";
const END: &[u8; 4] = b"PK\x05\x06";
const END64: &[u8; 4] = b"PK\x06\x06";
const LOCATOR64: &[u8; 4] = b"PK\x06\x07";
const END_LEN: usize = 22;
const LOCATOR64_LEN: usize = 20;
const END64_LEN: usize = 56;
const CENTRAL_LEN: usize = 46;
const LOCAL_LEN: usize = 30;
/// The end record stands before a comment of up to 65535 bytes.
const COMMENT_MAX: usize = u16::MAX as usize;
/// About 90 bytes an entry: no checkpoint has as many storages.
const DIRECTORY_MAX: usize = 1 << 26;
/// The number of the extra field with 64-bit sizes.
const EXTRA64: u16 = 1;

/// An archive whose directory was checked.
#[derive(Debug)]
pub(super) struct Archive {
    bytes: Bytes,
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug)]
struct Entry {
    method: u16,
    data: Range<usize>,
}

impl Archive {
    /// # Errors
    /// `InvalidFile` for an archive that is damaged or contradicts itself, `Unsupported` for one that is encrypted or split.
    pub(super) fn open(bytes: &Bytes) -> Result<Archive> {
        let (directory, count) = directory(bytes)?;
        // Copied, since a mapped file could change between a check and a use.
        let listed = bytes[directory.clone()].to_vec();
        let mut entries = BTreeMap::new();
        let mut places = Vec::new();
        let mut at = 0;
        for _ in 0..count {
            let (name, entry, start) = central(&listed, &mut at, bytes, directory.start)?;
            places.push((start, entry.data.end));
            if entries.insert(name.clone(), entry).is_some() {
                return Err(invalid(format!("entry {name:?} occurs twice")));
            }
        }
        if at != listed.len() {
            return Err(invalid("the zip directory has another length than it says"));
        }
        places.sort_unstable();
        if places.windows(2).any(|pair| pair[0].1 > pair[1].0) {
            return Err(invalid("entries of the zip archive overlap"));
        }
        Ok(Archive { bytes: bytes.clone(), entries })
    }

    /// The names of all entries.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The bytes of an entry, `None` where there is none of that name.
    ///
    /// # Errors
    /// `Unsupported` for a compressed entry.
    pub(super) fn entry(&self, name: &str) -> Result<Option<Bytes>> {
        match self.entries.get(name) {
            None => Ok(None),
            Some(entry) if entry.method == 0 => Ok(self.bytes.slice(entry.data.clone())),
            Some(_) => fail(
                ErrorKind::Unsupported,
                format!("entry {name:?} is compressed, which PyTorch never does; unpack the archive and pack it again with `zip -0`"),
            ),
        }
    }
}

fn invalid(sentence: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidFile, sentence)
}

fn cut() -> Error {
    invalid("the zip archive is damaged or truncated; copy or download it again")
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16> {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map(|b| u16::from_le_bytes(*b)).ok_or_else(cut)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32> {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map(|b| u32::from_le_bytes(*b)).ok_or_else(cut)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<usize> {
    let wide = bytes.get(at..).and_then(|rest| rest.first_chunk()).map(|b| u64::from_le_bytes(*b)).ok_or_else(cut)?;
    usize::try_from(wide).map_err(|_| cut())
}

fn begins(bytes: &[u8], at: usize, magic: &[u8; 4]) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(magic))
}

/// The range of the central directory, and how many entries it has.
fn directory(bytes: &[u8]) -> Result<(Range<usize>, usize)> {
    let last = bytes.len().checked_sub(END_LEN).ok_or_else(cut)?;
    let is_end = |at: &usize| {
        begins(bytes, *at, END) && u16_at(bytes, at + 20).is_ok_and(|comment| at + END_LEN + usize::from(comment) == bytes.len())
    };
    let end = (last.saturating_sub(COMMENT_MAX)..=last).rev().find(is_end).ok_or_else(cut)?;
    let (disk, count) = (u32_at(bytes, end + 4)?, u16_at(bytes, end + 10)?);
    let (size, offset) = (u32_at(bytes, end + 12)?, u32_at(bytes, end + 16)?);
    if disk != 0 && disk != u32::MAX {
        return fail(ErrorKind::Unsupported, "a part of a zip archive that is split over several files");
    }
    // PyTorch writes the wide record whether it needs it or not.
    let (count, size, offset, end) = match end.checked_sub(LOCATOR64_LEN).filter(|at| begins(bytes, *at, LOCATOR64)) {
        None => (usize::from(count), size as usize, offset as usize, end),
        Some(locator) => {
            let end64 = u64_at(bytes, locator + 8)?;
            if !begins(bytes, end64, END64) || end64.checked_add(END64_LEN).is_none_or(|at| at > locator) {
                return Err(cut());
            }
            let wide = (u64_at(bytes, end64 + 32)?, u64_at(bytes, end64 + 40)?, u64_at(bytes, end64 + 48)?);
            let agree = |narrow: u32, most: u32, wide: usize| narrow == most || narrow as usize == wide;
            if !agree(count.into(), u16::MAX.into(), wide.0) || !agree(size, u32::MAX, wide.1) || !agree(offset, u32::MAX, wide.2) {
                return Err(invalid("the two directories of the zip archive contradict each other"));
            }
            (wide.0, wide.1, wide.2, end64)
        }
    };
    if offset.checked_add(size) != Some(end) || size > DIRECTORY_MAX || count > size / CENTRAL_LEN {
        return Err(cut());
    }
    Ok((offset..end, count))
}

/// The entry at `at` of the directory: its name, what it is, and where its own header starts.
fn central(listed: &[u8], at: &mut usize, bytes: &[u8], limit: usize) -> Result<(String, Entry, usize)> {
    let start = *at;
    if !begins(listed, start, CENTRAL) {
        return Err(cut());
    }
    let (flags, method) = (u16_at(listed, start + 8)?, u16_at(listed, start + 10)?);
    let lengths = [u16_at(listed, start + 28)?, u16_at(listed, start + 30)?, u16_at(listed, start + 32)?].map(usize::from);
    let name_end = start + CENTRAL_LEN + lengths[0];
    let extra_end = name_end + lengths[1];
    let (Some(name), Some(extra)) = (listed.get(start + CENTRAL_LEN..name_end), listed.get(name_end..extra_end)) else { return Err(cut()) };
    *at = extra_end + lengths[2];
    let Ok(name) = String::from_utf8(name.to_vec()) else { return Err(invalid("the name of a zip entry is not UTF-8")) };
    if flags & 1 != 0 {
        return fail(ErrorKind::Unsupported, format!("entry {name:?} is encrypted"));
    }
    let narrow = [u32_at(listed, start + 24)?, u32_at(listed, start + 20)?, u32_at(listed, start + 42)?];
    let [size, packed, header] = sizes(narrow, extra)?;
    if method == 0 && size != packed {
        return Err(invalid(format!("entry {name:?} is stored as it is, and yet has two sizes")));
    }
    let data = local(bytes, header, &name, packed, limit)?;
    Ok((name, Entry { method, data }, header))
}

/// Size, size in the archive and place of an entry: those that do not fit in 32 bits stand in an extra field, in this order.
fn sizes(narrow: [u32; 3], extra: &[u8]) -> Result<[usize; 3]> {
    let mut wide = narrow.map(|n| n as usize);
    if narrow.contains(&u32::MAX) {
        let mut field = 0;
        while u16_at(extra, field)? != EXTRA64 {
            field += 4 + usize::from(u16_at(extra, field + 2)?);
        }
        let end = field + 4 + usize::from(u16_at(extra, field + 2)?);
        let mut at = field + 4;
        for (wide, _) in wide.iter_mut().zip(narrow).filter(|(_, narrow)| *narrow == u32::MAX) {
            *wide = u64_at(extra.get(..end).ok_or_else(cut)?, at)?;
            at += 8;
        }
    }
    Ok(wide)
}

/// Where the data of the entry lies whose own header is at `at`; everything must end before `limit`.
fn local(bytes: &[u8], at: usize, name: &str, len: usize, limit: usize) -> Result<Range<usize>> {
    let named = at.checked_add(LOCAL_LEN).filter(|named| *named <= limit && begins(bytes, at, LOCAL)).ok_or_else(cut)?;
    let lengths = [u16_at(bytes, at + 26)?, u16_at(bytes, at + 28)?].map(usize::from);
    if bytes.get(named..named + lengths[0]) != Some(name.as_bytes()) {
        return Err(invalid(format!("entry {name:?} has another name in its own header")));
    }
    let start = named + lengths[0] + lengths[1];
    match start.checked_add(len) {
        Some(end) if end <= limit => Ok(start..end),
        _ => Err(cut()),
    }
}
