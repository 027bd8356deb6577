//! Is this one file of word vectors, and what does it hold?
//!
//! word2vec's text and binary files, fastText's `.vec` (word2vec's text form), and GloVe's text without a header. The file is read once,
//! row by row ([`text`], [`binary`]), into a [`table`] and a [`vocabulary`]: the tensor and the small files of a folder of model2vec,
//! which `source` then is. What is read is gensim's, whose rules are followed where a file leaves something open.

mod binary;
mod number;
mod table;
mod text;
mod vocabulary;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};

use super::Weights;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::Bytes;
pub(super) use table::TABLE;
use table::Table;

/// Word vectors as a folder.
#[derive(Debug)]
pub(super) struct WordVectors {
    pub(super) files: BTreeMap<String, Bytes>,
    pub(super) weights: Weights,
}

/// What stands before the rows, or follows from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    /// Rows that the file promises; `None` where it promises none.
    words: Option<usize>,
    /// Numbers of a row.
    dimensions: usize,
}

/// Bytes that are read at once; the first row is looked at in them.
const BUFFER: usize = 1 << 20;

/// Numbers of a row at most.
const MOST_DIMENSIONS: usize = 1 << 16;

/// What some files begin with that are not read, and what to do.
const REFUSED: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "is compressed; unpack it with gunzip"),
    (b"BZh", "is compressed; unpack it with bunzip2"),
    (b"\xfd7zXZ\0", "is compressed; unpack it with unxz"),
    (b"\x28\xb5\x2f\xfd", "is compressed; unpack it with unzstd"),
    (b"\xba\x16\x4f\x2f", "is a model of fastText, which makes vectors of words from their parts; give its .vec file"),
];

/// The word vectors in a file of `len` bytes, `None` where it holds something else. `name` is the file's: an end of `.bin` decides
/// where a first row could be text or numbers.
///
/// # Errors
/// `InvalidFile` naming the line or the word, `NonFinite` for a number that is none, `Unsupported` for compressed files and fastText's
/// own, `OutOfMemory`.
pub(super) fn open(name: &str, file: impl Read, len: u64) -> Result<Option<WordVectors>> {
    let mut reader = BufReader::with_capacity(BUFFER, file);
    let begins = reader.fill_buf().map_err(|e| Error::new(ErrorKind::Io, e.to_string()))?;
    if let Some((_, told)) = REFUSED.iter().find(|(magic, _)| begins.starts_with(magic)) {
        return fail(ErrorKind::Unsupported, format!("the file {told}"));
    }
    // Before a line is read as a whole: most files of other kinds have none.
    if !begins.iter().take(text::LONGEST_LINE).any(|b| *b == b'\n') && len > BUFFER as u64 {
        return Ok(None);
    }
    let mut first = Vec::new();
    text::read_line(&mut reader, &mut first)?;
    let (head, header) = match header(&first)? {
        Some(head) => (head, true),
        None => match first_row(&first) {
            Some(dimensions) => (Head { words: None, dimensions }, false),
            None => return Ok(None),
        },
    };
    let sampled = reader.fill_buf().map_err(|e| Error::new(ErrorKind::Io, e.to_string()))?;
    let is_text = !header || is_text_row(sampled, head.dimensions, name.ends_with(".bin"));
    let mut table = Table::new(head.dimensions, promised(&head, is_text, len)?)?;
    if is_text {
        text::read(&mut reader, &head, (!header).then_some(&first[..]), &mut table)?;
    } else {
        binary::read(&mut reader, &head, &mut table)?;
    }
    if table.is_empty() {
        return Err(invalid("the file has no words".to_owned()));
    }
    let (weights, vocabulary, unknown) = table.finish()?;
    Ok(Some(WordVectors { files: vocabulary.files(&unknown, head.dimensions), weights }))
}

fn invalid(told: String) -> Error {
    Error::new(ErrorKind::InvalidFile, told)
}

/// Bytes of a file as text for messages, not all of them.
fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MOST)]);
    text.chars().take(MOST).collect()
}

/// The header, two numbers alone on the first line; `None` where the line is another.
fn header(line: &[u8]) -> Result<Option<Head>> {
    let fields: Vec<&[u8]> = line.split(|b| b.is_ascii_whitespace()).filter(|field| !field.is_empty()).collect();
    let [words, dimensions] = fields[..] else { return Ok(None) };
    if !fields.iter().all(|field| field.iter().all(u8::is_ascii_digit)) {
        return Ok(None);
    }
    let count = |field: &[u8]| shown(field).parse::<usize>().ok();
    match (count(words), count(dimensions)) {
        (Some(words @ 1..), Some(dimensions @ 1..=MOST_DIMENSIONS)) => Ok(Some(Head { words: Some(words), dimensions })),
        _ => {
            let (words, dimensions) = (shown(words), shown(dimensions));
            let told = format!(
                "line 1 promises {words} words of {dimensions} numbers; expected at least one word, of 1 to {MOST_DIMENSIONS} numbers"
            );
            Err(invalid(told))
        }
    }
}

/// The numbers of a row, by a first line that is a word and at least two numbers; where fewer than half of its fields are
/// numbers, it is something else.
fn first_row(line: &[u8]) -> Option<usize> {
    let mut fields = line.split(|b| matches!(b, b' ' | b'\t')).filter(|field| !field.is_empty());
    fields.next()?;
    let are_numbers: Vec<bool> = fields.map(|field| number::parse(field).is_some()).collect();
    let (count, numbers) = (are_numbers.len(), are_numbers.iter().filter(|is_number| **is_number).count());
    (numbers >= 2 && 2 * numbers >= count && count <= MOST_DIMENSIONS).then_some(count)
}

/// Whether the row at the start of `bytes` is text. One whose numbers can be read is; of others, those that look like it, unless the
/// file's name says otherwise.
fn is_text_row(bytes: &[u8], dimensions: usize, named_binary: bool) -> bool {
    let row = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    let row = row.trim_ascii_end();
    let fields = row.split(|b| matches!(b, b' ' | b'\t')).filter(|field| !field.is_empty());
    let numbers = fields.skip(1).filter(|field| number::parse(field).is_some()).count();
    let printable = || std::str::from_utf8(row).is_ok_and(|text| !text.contains(|c: char| c.is_control() && c != '\t'));
    numbers >= dimensions || !named_binary && printable()
}

/// Rows to make room for: those that the header promises, if the file is long enough for them.
fn promised(head: &Head, is_text: bool, len: u64) -> Result<usize> {
    let Some(words) = head.words else { return Ok(0) };
    // Of text, a space and a digit a number, and the end of the line; else four bytes a number, and a space.
    let row = if is_text { 2 * head.dimensions + 1 } else { 4 * head.dimensions + 1 } as u64;
    // The last line may lack its end.
    if (words as u64).checked_mul(row).is_some_and(|least| least <= len.saturating_add(1)) {
        return Ok(words);
    }
    let told = format!(
        "line 1 promises {words} words of {} numbers, for which {len} bytes are too few; copy or download the file again",
        head.dimensions
    );
    Err(invalid(told))
}

#[cfg(test)]
mod tests;
