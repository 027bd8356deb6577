//! Which word and which numbers does a row of word2vec's binary form have?
//!
//! A word, one space, its numbers as f32 (little endian); before a word there may be the end of a line, as word2vec itself writes it.

use std::io::BufRead;

use super::table::Table;
use super::{Head, invalid, shown};
use crate::error::{Error, ErrorKind, Result, fail};

/// Bytes of a word at most; word2vec cuts them at 100.
const LONGEST_WORD: usize = 4096;

/// Reads all rows.
pub(super) fn read(reader: &mut impl BufRead, head: &Head, table: &mut Table) -> Result<()> {
    let words = head.words.unwrap_or(0);
    let (mut word, mut numbers) = (Vec::new(), vec![0; table.dimensions() * 4]);
    for row in 1..=words {
        let ended = || invalid(format!("the header promises {words} words, and the file ends in number {row}; copy or download it again"));
        read_word(reader, &mut word).map_err(|e| e.within(format!("word {row}")))?.ok_or_else(ended)?;
        reader.read_exact(&mut numbers).map_err(|_| ended())?;
        add(table, &word, &numbers).map_err(|e| e.within(format!("word {row}")))?;
    }
    let mut rest = [0; 2];
    let mut behind = std::io::Read::take(&mut *reader, 2);
    let count = std::io::Read::read(&mut behind, &mut rest).map_err(|e| Error::new(ErrorKind::Io, e.to_string()))?;
    if rest[..count].iter().all(|b| *b == b'\n') {
        return Ok(());
    }
    Err(invalid(format!("more bytes stand behind the {words} words that the header promises; mend the header")))
}

/// The next word, `None` where the file ends in it.
fn read_word(reader: &mut impl BufRead, word: &mut Vec<u8>) -> Result<Option<()>> {
    word.clear();
    let mut limited = std::io::Read::take(&mut *reader, LONGEST_WORD as u64 + 1);
    limited.read_until(b' ', word).map_err(|e| Error::new(ErrorKind::Io, e.to_string()))?;
    if word.len() > LONGEST_WORD {
        return Err(invalid(format!(
            "no space in {LONGEST_WORD} bytes; the row before it does not have as many numbers as the header says"
        )));
    }
    if word.pop() != Some(b' ') {
        return Ok(None);
    }
    let begins = word.iter().position(|b| *b != b'\n').unwrap_or(word.len());
    word.drain(..begins);
    Ok(Some(()))
}

fn add(table: &mut Table, word: &[u8], numbers: &[u8]) -> Result<()> {
    let Ok(word) = std::str::from_utf8(word) else {
        return Err(invalid(format!("{:?} is not UTF-8; save the vectors again from gensim", shown(word))));
    };
    for (place, bytes) in numbers.chunks_exact(4).enumerate() {
        let number = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        if !number.is_finite() {
            return fail(ErrorKind::NonFinite, format!("{:?}: number {} is {number}", shown(word.as_bytes()), place + 1));
        }
    }
    table.add(|out| {
        out.extend_from_slice(numbers);
        Ok(word)
    })
}
