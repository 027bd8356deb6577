//! Which texts were given?
//!
//! Arguments, or standard input read in chunks: a chunk ends at [`MOST_TEXTS`] texts, at [`MOST_BYTES`], or where the next text
//! has not arrived yet, so that a stream of any length fits in memory and a slow one is answered as it comes.

use std::io::{BufRead, BufReader, IsTerminal, Read, Write};

use clap::ArgMatches;
use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result, fail};
use crate::tasks::LONGEST_TEXT;

const MOST_TEXTS: usize = 256;
const MOST_BYTES: usize = 4 << 20;
/// What a full pipe holds; one read takes it all.
const BUFFER: usize = 64 << 10;
/// Bytes of a line at most: a text of the longest length and its line end, and for JSON a pair of them, escaped.
const LONGEST_LINE: usize = LONGEST_TEXT + 2;
const LONGEST_JSON_LINE: usize = 16 * LONGEST_TEXT;

/// One text with its companions.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(super) struct Input {
    /// Its number, counted from 0 over the whole input.
    #[serde(skip)]
    pub index: usize,
    pub text: String,
    #[serde(default)]
    pub pair: Option<String>,
    /// Any JSON value, given back with the answer.
    #[serde(default)]
    pub id: Option<Value>,
}

/// The texts of a command, in chunks.
pub(super) struct Inputs {
    source: Source,
    json: bool,
    /// Texts given so far.
    count: usize,
    /// Lines read so far.
    line: usize,
}

enum Source {
    Arguments(std::vec::IntoIter<String>),
    Stream(BufReader<Box<dyn std::io::Read>>),
}

impl Inputs {
    /// The texts among the arguments, or else standard input.
    pub fn open(matches: &ArgMatches) -> Inputs {
        let json = matches.get_flag("json");
        let texts: Vec<String> = matches.get_many::<String>("texts").map(|texts| texts.cloned().collect()).unwrap_or_default();
        if !texts.is_empty() {
            return Inputs { source: Source::Arguments(texts.into_iter()), json, count: 0, line: 0 };
        }
        let stdin = std::io::stdin();
        if stdin.is_terminal() {
            let _ = writeln!(std::io::stderr(), "Reading texts from the terminal, one a line; end with Ctrl-D.");
        }
        Inputs::stream(stdin, json)
    }

    fn stream(reader: impl std::io::Read + 'static, json: bool) -> Inputs {
        Inputs { source: Source::Stream(BufReader::with_capacity(BUFFER, Box::new(reader))), json, count: 0, line: 0 }
    }

    /// The next texts; none at the end.
    ///
    /// # Errors
    /// Names the line that is not UTF-8 or not the JSON expected.
    pub fn chunk(&mut self) -> Result<Vec<Input>> {
        let mut chunk: Vec<Input> = Vec::new();
        let mut bytes = 0;
        while chunk.len() < MOST_TEXTS && bytes < MOST_BYTES {
            let waiting = matches!(&self.source, Source::Stream(reader) if reader.buffer().is_empty());
            if waiting && !chunk.is_empty() {
                break;
            }
            let Some(mut input) = self.next()? else { break };
            input.index = self.count;
            self.count += 1;
            bytes += input.text.len() + input.pair.as_ref().map_or(0, String::len);
            chunk.push(input);
        }
        Ok(chunk)
    }

    fn next(&mut self) -> Result<Option<Input>> {
        let reader = match &mut self.source {
            Source::Arguments(texts) => return Ok(texts.next().map(plain)),
            Source::Stream(reader) => reader,
        };
        loop {
            let Some(line) = read_line(reader, &mut self.line, if self.json { LONGEST_JSON_LINE } else { LONGEST_LINE })? else {
                return Ok(None);
            };
            if !self.json {
                return Ok(Some(plain(line)));
            }
            // Blank lines between JSON lines are no texts.
            if !line.trim().is_empty() {
                return parse(&line).map(Some).map_err(|e| e.within(place(self.line)));
            }
        }
    }
}

fn plain(text: String) -> Input {
    Input { index: 0, text, pair: None, id: None }
}

fn place(line: usize) -> String {
    format!("standard input, line {line}")
}

/// One line without its end (`\n` or `\r\n`); the byte order mark that some editors put first is no part of a text.
fn read_line(reader: &mut impl BufRead, number: &mut usize, longest: usize) -> Result<Option<String>> {
    let mut bytes = Vec::new();
    *number += 1;
    match reader.take(longest as u64 + 1).read_until(b'\n', &mut bytes) {
        Ok(0) => return Ok(None),
        Ok(n) if n > longest => {
            let told = format!("{}: longer than {longest} bytes; cut it into several texts", place(*number));
            return fail(ErrorKind::TooLong, told);
        }
        Ok(_) => {}
        Err(e) => return fail(ErrorKind::Io, format!("standard input: {e}")),
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    if *number == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map(Some).map_err(|e| {
        let at = e.utf8_error().valid_up_to() + 1;
        Error::new(
            ErrorKind::InvalidUtf8,
            format!("{}: byte {at} is not UTF-8; convert the text first, for example with iconv", place(*number)),
        )
    })
}

fn parse(line: &str) -> Result<Input> {
    serde_json::from_str(line).map_err(|e| {
        // serde_json counts lines in what it was given: always one.
        let message = e.to_string().replace(" at line 1 column ", " at column ");
        Error::new(
            ErrorKind::InvalidArgument,
            format!("{message}; expected {{\"text\":..., \"pair\":..., \"id\":...}}, pair and id optional"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], json: bool) -> Result<Vec<Input>> {
        let mut inputs = Inputs::stream(std::io::Cursor::new(bytes.to_vec()), json);
        let mut all = Vec::new();
        loop {
            let chunk = inputs.chunk()?;
            if chunk.is_empty() {
                return Ok(all);
            }
            all.extend(chunk);
        }
    }

    fn texts(bytes: &[u8]) -> Vec<String> {
        read(bytes, false).unwrap().into_iter().map(|i| i.text).collect()
    }

    #[test]
    fn lines_end_in_either_way_and_empty_lines_are_texts() {
        assert_eq!(texts(b"a\r\n\nb\n"), ["a", "", "b"]);
        assert_eq!(texts(b"a\nb"), ["a", "b"]);
        assert_eq!(texts(b""), [""; 0]);
        assert_eq!(texts(b"\n"), [""]);
        assert_eq!(texts(b"a\rb\r\r\n"), ["a\rb\r"], "only one carriage return belongs to the line's end");
        assert_eq!(texts(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n"), ["a", "\u{feff}b"]);
        assert_eq!(texts(b"a\0b\n"), ["a\0b"]);
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let mut inputs = Inputs::stream(std::io::repeat(b'a'), false);
        let e = inputs.chunk().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::TooLong);
        assert!(e.message().contains("line 1"), "{e}");
        let mut longest = vec![b'a'; LONGEST_TEXT];
        longest.extend(b"\r\n");
        assert_eq!(texts(&longest)[0].len(), LONGEST_TEXT);
    }

    #[test]
    fn json_lines_carry_pair_and_id() {
        let all = read(b"{\"text\":\"a\"}\n\n{\"text\":\"b\",\"pair\":\"c\",\"id\":[1]}\r\n", true).unwrap();
        assert_eq!(all[0], Input { index: 0, ..plain("a".to_owned()) });
        assert_eq!(all[1], Input { index: 1, text: "b".to_owned(), pair: Some("c".to_owned()), id: Some(serde_json::json!([1])) });
    }

    #[test]
    fn a_bad_line_is_named() {
        for (bytes, json, expected) in [
            (&b"a\nb\xff\n"[..], false, "line 2: byte 2 is not UTF-8"),
            (b"{\"text\":\"a\"}\n{\"txt\":\"b\"}\n", true, "line 2: unknown field `txt`"),
            (b"{\"text\":\"a\"}\n\n{}\n", true, "line 3: missing field `text`"),
            (b"\"a\"\n", true, "line 1: invalid type"),
            (b"{\"text\":1}\n", true, "line 1: invalid type"),
            (b"{\"text\":\"a\",\"text\":\"b\"}\n", true, "line 1: duplicate field"),
            (b"{\"text\":\"a\"} x\n", true, "line 1: trailing characters at column 14"),
        ] {
            let error = read(bytes, json).unwrap_err();
            assert!(error.message().contains(expected), "{error}");
        }
    }

    #[test]
    fn long_input_comes_in_chunks_and_keeps_its_numbers() {
        let bytes: Vec<u8> = (0..1000).flat_map(|i| format!("text {i}\n").into_bytes()).collect();
        let mut inputs = Inputs::stream(std::io::Cursor::new(bytes), false);
        let first = inputs.chunk().unwrap();
        assert_eq!((first.len(), first[255].index), (MOST_TEXTS, 255));
        assert_eq!(inputs.chunk().unwrap()[0].text, "text 256");
    }

    #[test]
    fn a_slow_stream_is_answered_as_it_comes() {
        /// Gives one line a read, as a pipe does whose writer is slow.
        struct Slow(usize);
        impl std::io::Read for Slow {
            fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
                self.0 += 1;
                out[..2].copy_from_slice(b"a\n");
                Ok(if self.0 > 3 { 0 } else { 2 })
            }
        }
        let mut inputs = Inputs::stream(Slow(0), false);
        assert_eq!((0..4).map(|_| inputs.chunk().unwrap().len()).collect::<Vec<_>>(), [1, 1, 1, 0]);
    }
}
