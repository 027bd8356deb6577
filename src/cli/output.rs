//! How is an answer written?
//!
//! Everything a command answers goes through [`Out`] to standard output; when its reader has gone (`| head`), the command
//! ends quietly.

use std::io::{BufWriter, StdoutLock, Write};

use serde::Serialize;

use super::{Failure, Outcome};
use crate::error::{Error, ErrorKind};

/// Standard output, buffered; [`Out::flush`] at the end of each chunk.
pub(super) struct Out(BufWriter<StdoutLock<'static>>);

impl Out {
    pub fn new() -> Out {
        Out(BufWriter::with_capacity(64 << 10, std::io::stdout().lock()))
    }

    /// One JSON line. f32 numbers have the shortest form that reads back as the same f32.
    pub fn json(&mut self, value: &impl Serialize) -> Outcome {
        serde_json::to_writer(&mut self.0, value).map_err(|e| Failure::from(std::io::Error::from(e)))?;
        self.line("")
    }

    /// One line of text. Control characters become spaces: names from a model's files must not steer a terminal.
    pub fn line(&mut self, text: impl AsRef<str>) -> Outcome {
        let steers = |c: char| c.is_control() && c != '\t';
        self.0.write_all(text.as_ref().replace(steers, " ").as_bytes())?;
        Ok(self.0.write_all(b"\n")?)
    }

    /// Hands over what was written.
    pub fn flush(&mut self) -> Outcome {
        Ok(self.0.flush()?)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Failure::Closed
        } else {
            Failure::Failed(Error::new(ErrorKind::Io, format!("standard output: {error}")))
        }
    }
}

/// At most `most` characters of a text on one line, for people: control characters become spaces, a cut is marked.
pub(super) fn excerpt(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(most).is_some() {
        short.pop();
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_stay_on_one_line() {
        assert_eq!(excerpt("a\tb\nc", 10), "a b c");
        assert_eq!(excerpt("abcdef", 6), "abcdef");
        assert_eq!(excerpt("abcdefg", 6), "abcde…");
        assert_eq!(excerpt("", 6), "");
    }

    #[test]
    fn f32_numbers_read_back_as_the_same_f32() {
        for bits in [0x3dcccccd_u32, 0x00000001, 0x7f7fffff, 0x3f800000, 0x80000000, 0x33d6bf95] {
            let value = f32::from_bits(bits);
            let text = serde_json::to_string(&value).unwrap();
            assert_eq!(text.parse::<f32>().unwrap().to_bits(), bits, "{text}");
            assert!(text.len() <= 14, "{text} is not short");
        }
    }
}
