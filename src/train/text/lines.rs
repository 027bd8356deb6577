//! Where are the lines of a file, and are they text?
//!
//! Lines are handed over in pieces of bounded size, so that a file without line ends is read like any other. A byte order mark at
//! the start and a carriage return at a line's end are left out; bytes that are not UTF-8 become U+FFFD and are counted.

use std::borrow::Cow;
use std::io::{BufRead, Result};

/// Bytes of a piece at most, unless the whole line is asked for.
pub(super) const LONGEST_PIECE: usize = 64 << 10;

pub(in crate::train) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A line, or a part of a long one.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::train) struct Piece {
    pub text: String,
    /// Whether the line ends with it.
    pub ends_line: bool,
}

pub(in crate::train) struct Lines<R> {
    source: R,
    /// What was read and not handed over.
    pending: Vec<u8>,
    longest: usize,
    /// Number of the line of the last piece, from 1.
    pub line: u64,
    /// Whether the next piece begins a line.
    fresh: bool,
    ended: bool,
    /// Sequences of bytes that are not UTF-8, and the line of the first.
    pub replaced: u64,
    pub first_replaced: Option<u64>,
    /// Lines that were handed over in several pieces.
    pub cut: u64,
}

impl<R: BufRead> Lines<R> {
    /// Pieces have at most `longest` bytes.
    pub fn new(source: R, longest: usize) -> Lines<R> {
        Lines { source, pending: Vec::new(), longest, line: 0, fresh: true, ended: false, replaced: 0, first_replaced: None, cut: 0 }
    }

    /// The next piece, `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<Piece>> {
        if self.ended {
            return Ok(None);
        }
        let ends_line = self.fill()?;
        if self.ended && self.pending.is_empty() && self.fresh {
            return Ok(None);
        }
        let length = if ends_line { self.pending.len() } else { cut(&self.pending, self.longest) };
        let rest = self.pending.split_off(length);
        let mut bytes = std::mem::replace(&mut self.pending, rest);
        if self.fresh {
            self.line += 1;
            if self.line == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
            }
            self.cut += u64::from(!ends_line);
        }
        self.fresh = ends_line;
        if ends_line && bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        Ok(Some(Piece { text: self.decode(bytes), ends_line }))
    }

    /// Reads until a line ends (its end is dropped), or more is there than a piece may have. Whether the line ends.
    fn fill(&mut self) -> Result<bool> {
        loop {
            if self.pending.len() > self.longest {
                return Ok(false);
            }
            let buffer = match self.source.fill_buf() {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if buffer.is_empty() {
                self.ended = true;
                return Ok(true);
            }
            let room = self.longest + 1 - self.pending.len();
            let part = &buffer[..buffer.len().min(room)];
            let end = part.iter().position(|&byte| byte == b'\n');
            self.pending.extend_from_slice(&part[..end.unwrap_or(part.len())]);
            let used = end.map_or(part.len(), |end| end + 1);
            self.source.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn decode(&mut self, bytes: Vec<u8>) -> String {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => return text,
            Err(e) => e.into_bytes(),
        };
        self.replaced += bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count() as u64;
        self.first_replaced.get_or_insert(self.line);
        match String::from_utf8_lossy(&bytes) {
            Cow::Owned(text) => text,
            Cow::Borrowed(text) => text.to_owned(),
        }
    }
}

/// Where to cut a line that goes on: behind a space if there is one in its second half, else between characters.
fn cut(bytes: &[u8], longest: usize) -> usize {
    let most = longest.min(bytes.len());
    if let Some(space) = bytes[most / 2..most].iter().rposition(u8::is_ascii_whitespace) {
        return most / 2 + space + 1;
    }
    // A character has at most four bytes; what has no start among them is no text anyway.
    let starts = |i: &usize| bytes.get(*i).is_none_or(|byte| byte & 0xc0 != 0x80);
    (most.saturating_sub(3).max(1)..=most).rev().find(starts).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piece, whether its line ends with it, and the line's number.
    type Found = (String, bool, u64);

    fn pieces(bytes: &[u8], longest: usize) -> (Vec<Found>, Lines<&[u8]>) {
        let mut lines = Lines::new(bytes, longest);
        let mut found = Vec::new();
        while let Some(piece) = lines.next().unwrap() {
            found.push((piece.text, piece.ends_line, lines.line));
        }
        (found, lines)
    }

    fn whole(bytes: &[u8]) -> Vec<String> {
        pieces(bytes, LONGEST_PIECE).0.into_iter().map(|piece| piece.0).collect()
    }

    #[test]
    fn lines_end_as_they_do_on_any_system() {
        assert_eq!(whole(b"a\nb\r\n\nc"), ["a", "b", "", "c"]);
        assert_eq!(whole(b"a\n"), ["a"]);
        assert_eq!(whole(b"\n\n"), ["", ""]);
        assert_eq!(whole(b""), Vec::<String>::new());
        assert_eq!(whole(b"\xef\xbb\xbfa\n\xef\xbb\xbfb"), ["a", "\u{feff}b"]);
        assert_eq!(whole(b"a\rb\n"), ["a\rb"]);
    }

    #[test]
    fn what_is_no_text_is_replaced_and_counted() {
        let (found, lines) = pieces(b"good\nb\xffa\xfe\xfed\n\xe6\xbc", 100);
        let texts: Vec<_> = found.iter().map(|piece| piece.0.as_str()).collect();
        assert_eq!(texts, ["good", "b\u{fffd}a\u{fffd}\u{fffd}d", "\u{fffd}"]);
        assert_eq!((lines.replaced, lines.first_replaced), (4, Some(2)));
    }

    #[test]
    fn long_lines_are_cut_between_words_or_characters_and_lose_nothing() {
        let (found, lines) = pieces("one two three\n漢字漢字\nx".as_bytes(), 8);
        let expected = [("one two ", false, 1), ("three", true, 1), ("漢字", false, 2), ("漢字", true, 2), ("x", true, 3)];
        assert_eq!(found, expected.map(|(text, ends, line)| (text.to_owned(), ends, line)));
        assert_eq!(lines.cut, 2);
        for longest in [4, 5, 6, 7, 64] {
            let text = "é漢😀 aé漢".repeat(20);
            let joined: String = pieces(text.as_bytes(), longest).0.into_iter().map(|piece| piece.0).collect();
            assert_eq!(joined, text, "{longest}");
        }
    }

    #[test]
    fn a_piece_that_ends_exactly_with_the_line_is_not_cut() {
        let (found, lines) = pieces(b"12345678\n1234567\r\n", 8);
        assert_eq!((found.len(), lines.cut), (2, 0));
        assert!(found.iter().all(|piece| piece.1 && !piece.0.contains('\r')));
    }
}
