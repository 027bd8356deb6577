//! What does the index of a TensorFlow checkpoint hold?
//!
//! A sorted table of keys and values as LevelDB writes it (`doc/table_format.md` there; `tensorflow/core/lib/io/table.cc`): blocks of
//! entries whose keys leave out what they share with the key before, each with a checksum; a block that lists the blocks; and a footer
//! of fixed length that says where that one lies.

use std::ops::Range;

use super::{crc32c, invalid};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::protobuf::varint;

const MAGIC: u64 = 0xdb47_7524_8b80_fb57;
const FOOTER: usize = 48;
/// A byte that says how the block is packed, and a checksum.
const TRAILER: usize = 5;
/// About 100 bytes a tensor: no checkpoint's index is near it. Keys, written out, share the limit.
const LONGEST: usize = 1 << 26;
const KEY_MAX: usize = 4096;

/// Keys and values, in order.
pub(super) type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Reads every entry.
///
/// # Errors
/// `InvalidFile` when the file is damaged, `Unsupported` for compressed blocks.
pub(super) fn read(bytes: &[u8]) -> Result<Entries> {
    if bytes.len() > LONGEST {
        return Err(invalid(format!("{} bytes; longer than the index of any checkpoint", bytes.len())));
    }
    let footer = bytes.len().checked_sub(FOOTER).map(|at| &bytes[at..]).ok_or_else(cut)?;
    if !footer.ends_with(&MAGIC.to_le_bytes()) {
        return Err(invalid("not the index of a TensorFlow checkpoint, or truncated; copy or download it again"));
    }
    let mut at = 0;
    let (metaindex, index) = (handle(footer, &mut at)?, handle(footer, &mut at)?);
    let mut budget = LONGEST;
    // Nothing in it is used, but it is part of a file that is whole.
    block(bytes, metaindex, &mut budget)?;
    let mut entries: Entries = Vec::new();
    let mut free = 0;
    for (_, place) in block(bytes, index, &mut budget)? {
        let place = handle(&place, &mut 0)?;
        // Else one block could be read a million times.
        if place.start < free {
            return Err(invalid("blocks of the index overlap"));
        }
        free = place.end;
        let found = block(bytes, place, &mut budget)?;
        if let (Some((last, _)), Some((first, _))) = (entries.last(), found.first())
            && last >= first
        {
            return Err(invalid("the names in the index are not in order"));
        }
        entries.extend(found);
    }
    Ok(entries)
}

fn cut() -> Error {
    invalid("the index is damaged or truncated; copy or download it again")
}

/// Place and length of a block.
fn handle(bytes: &[u8], at: &mut usize) -> Result<Range<usize>> {
    let offset = usize::try_from(varint(bytes, at)?).map_err(|_| cut())?;
    let len = usize::try_from(varint(bytes, at)?).map_err(|_| cut())?;
    Ok(offset..offset.checked_add(len).ok_or_else(cut)?)
}

/// The entries of the block in `range`.
fn block(bytes: &[u8], range: Range<usize>, budget: &mut usize) -> Result<Entries> {
    let end = range.end.checked_add(TRAILER).filter(|end| *end <= bytes.len() - FOOTER).ok_or_else(cut)?;
    let (content, trailer) = (&bytes[range.clone()], &bytes[range.end..end]);
    let stated = u32::from_le_bytes(trailer[1..].first_chunk().copied().ok_or_else(cut)?);
    if crc32c::masked(&bytes[range.start..range.end + 1]) != stated {
        return Err(invalid("a block of the index does not have its checksum; it is damaged, copy or download it again"));
    }
    match trailer[0] {
        0 => entries(content, budget),
        1 => fail(ErrorKind::Unsupported, "the index is compressed with Snappy; load the checkpoint with TensorFlow and save it again"),
        other => fail(ErrorKind::Unsupported, format!("the index is compressed in form {other}")),
    }
}

fn entries(block: &[u8], budget: &mut usize) -> Result<Entries> {
    let restarts = block.last_chunk().map(|n| u32::from_le_bytes(*n) as usize).ok_or_else(cut)?;
    let end = restarts.checked_mul(4).and_then(|len| block.len().checked_sub(4 + len)).ok_or_else(cut)?;
    let block = &block[..end];
    let (mut found, mut at): (Entries, usize) = (Vec::new(), 0);
    while at < end {
        let mut length = || usize::try_from(varint(block, &mut at)?).map_err(|_| cut());
        let (shared, own, len) = (length()?, length()?, length()?);
        let last: &[u8] = found.last().map_or(&[], |(key, _)| key);
        let before = last.get(..shared).ok_or_else(cut)?;
        let middle = at.checked_add(own).ok_or_else(cut)?;
        let next = middle.checked_add(len).ok_or_else(cut)?;
        let (Some(rest), Some(value)) = (block.get(at..middle), block.get(middle..next)) else { return Err(cut()) };
        *budget =
            budget.checked_sub(shared + own + 64).filter(|_| shared + own <= KEY_MAX).ok_or_else(|| invalid("its names are too long"))?;
        let key = [before, rest].concat();
        if !found.is_empty() && key.as_slice() <= last {
            return Err(invalid("the names in the index are not in order"));
        }
        found.push((key, value.to_vec()));
        at = next;
    }
    Ok(found)
}
