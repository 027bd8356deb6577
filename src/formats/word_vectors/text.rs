//! Which word and which numbers does a line have?
//!
//! The numbers are the last so many fields of a line, the word is all before them: words of GloVe's 840B vectors have spaces in them
//! (`. . .`, `at name@domain.com`). A word that ends in a number would leave open where it ends; it is taken for a row with too many
//! numbers.

use std::io::BufRead;

use super::number::{looks_like_one, parse};
use super::table::Table;
use super::{Head, invalid, shown};
use crate::error::{Error, ErrorKind, Result, fail};

/// Bytes of a line at most: 65536 numbers of many digits, and a word.
pub(super) const LONGEST_LINE: usize = 4 << 20;

/// The next line without its end; `false` at the end of the file.
pub(super) fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool> {
    line.clear();
    let mut limited = std::io::Read::take(&mut *reader, LONGEST_LINE as u64 + 1);
    let read = limited.read_until(b'\n', line).map_err(|e| Error::new(ErrorKind::Io, e.to_string()))?;
    if read > LONGEST_LINE {
        return fail(ErrorKind::InvalidFile, format!("a line has more than {LONGEST_LINE} bytes"));
    }
    while line.last().is_some_and(|b| b.is_ascii_whitespace()) {
        line.pop();
    }
    Ok(read > 0)
}

/// Reads all rows. Of a file without a header, `first` is its first line.
pub(super) fn read(reader: &mut impl BufRead, head: &Head, first: Option<&[u8]>, table: &mut Table) -> Result<()> {
    // Lines are counted as an editor does.
    let mut number = 1;
    if let Some(first) = first {
        add(table, first).map_err(|e| e.within("line 1"))?;
    }
    let mut rows = usize::from(first.is_some());
    let mut line = Vec::new();
    loop {
        number += 1;
        let within = |e: Error| e.within(format!("line {number}"));
        if !read_line(reader, &mut line).map_err(within)? {
            break;
        }
        if line.is_empty() {
            // A blank line at the end is none; elsewhere a row is missing.
            let mut rest = Vec::new();
            if read_line(reader, &mut rest).map_err(within)? {
                return Err(within(invalid(format!("empty; a word and {} numbers were expected", table.dimensions()))));
            }
            break;
        }
        if head.words.is_some_and(|words| rows == words) {
            let told = format!("the header promises {rows} words, and here is one more; mend the header");
            return Err(within(invalid(told)));
        }
        add(table, &line).map_err(within)?;
        rows += 1;
    }
    match head.words {
        Some(words) if rows < words => {
            Err(invalid(format!("the header promises {words} words, and the file ends behind {rows}; copy or download it again")))
        }
        _ => Ok(()),
    }
}

fn add(table: &mut Table, line: &[u8]) -> Result<()> {
    let dimensions = table.dimensions();
    table.add(|out| {
        let word = match simple(line, dimensions, out) {
            Some(word) => word,
            None => careful(line, dimensions, out)?,
        };
        std::str::from_utf8(word).map_err(|_| invalid(format!("the word {:?} is not UTF-8; convert the file first", shown(word))))
    })
}

fn is_space(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// The word of a line that has no space in it; `None` for any other line.
fn simple<'l>(line: &'l [u8], dimensions: usize, out: &mut Vec<u8>) -> Option<&'l [u8]> {
    let before = out.len();
    let (word, rest) = line.split_at(line.iter().position(is_space)?);
    let mut count = 0;
    for field in rest.split(is_space).filter(|field| !field.is_empty()) {
        count += 1;
        match parse(field).filter(|x| x.is_finite() && count <= dimensions) {
            Some(number) => out.extend_from_slice(&number.to_le_bytes()),
            None => {
                out.truncate(before);
                return None;
            }
        }
    }
    if count < dimensions {
        out.truncate(before);
        return None;
    }
    Some(word)
}

/// The same of a line with spaces in its word, and what is wrong with it.
fn careful<'l>(line: &'l [u8], dimensions: usize, out: &mut Vec<u8>) -> Result<&'l [u8]> {
    // Ranges of the fields, the last ones first.
    let mut end = line.len();
    let mut fields = Vec::with_capacity(dimensions);
    while fields.len() < dimensions {
        let start = line[..end].iter().rposition(is_space).map_or(0, |space| space + 1);
        fields.push(&line[start..end]);
        end = line[..start].iter().rposition(|b| !is_space(b)).map_or(0, |last| last + 1);
        if end == 0 {
            break;
        }
    }
    let word = &line[..end];
    let word_field = word.rsplit(is_space).next().unwrap_or_default();
    let too_few = fields.len() < dimensions || end == 0 && !line.first().is_some_and(is_space);
    let too_many = word_field.len() < word.len() && looks_like_one(word_field);
    if too_few || too_many {
        let found = line.split(is_space).filter(|field| !field.is_empty()).count().saturating_sub(1);
        return Err(invalid(format!("{found} numbers behind the word, and {dimensions} were expected")));
    }
    for (place, field) in fields.iter().rev().enumerate() {
        match parse(field) {
            Some(number) if number.is_finite() => out.extend_from_slice(&number.to_le_bytes()),
            found => {
                let what = if found.is_some() { "not a finite number" } else { "not a number" };
                let told = format!("the word {:?}: number {} is {:?}, {what}", shown(word), place + 1, shown(field));
                return fail(if found.is_some() { ErrorKind::NonFinite } else { ErrorKind::InvalidFile }, told);
            }
        }
    }
    Ok(word)
}
