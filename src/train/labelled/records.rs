//! What are the records of a file: cells with something between them, or JSON objects?
//!
//! One reader of lines for all formats, so that a byte order mark, carriage returns, bytes that are no text and line numbers are the same in
//! each. Quotes are those of RFC 4180: a cell that begins with one goes on to the next single one, over delimiters and line ends; a doubled
//! quote is a quote. One inside a bare cell is a character like any other.

use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Place;
use crate::error::{Error, ErrorKind, Result, json_message};
use crate::train::text::lines::{BYTE_ORDER_MARK, Lines};
use crate::train::text::{open, unreadable};

/// Bytes of a line, and of a record in several, at most.
const LONGEST: usize = 256 << 20;

/// Cells of a record at most: a line of nothing but delimiters would take a hundred times its size.
pub(super) const MOST_CELLS: usize = 1 << 16;

/// How records stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A line each, cut into cells.
    Cells {
        /// What stands between cells.
        delimiter: char,
        /// Whether cells may be quoted.
        quoted: bool,
    },
    /// A JSON object a line.
    Objects,
}

/// A record.
#[derive(Debug, PartialEq)]
pub(super) struct Record {
    /// Number of its first line.
    pub line: u64,
    pub content: Content,
}

#[derive(Debug, PartialEq)]
pub(super) enum Content {
    Cells(Vec<String>),
    Object(Map<String, Value>),
}

/// What is wrong with a record or a row, and its line.
pub(super) type Bad = (u64, Error);

/// The lines of a file, each whole and checked.
pub(super) struct CheckedLines {
    lines: Lines<Box<dyn BufRead>>,
    pub file: Arc<Path>,
}

impl CheckedLines {
    pub fn open(path: &Path) -> Result<CheckedLines> {
        let (source, _) = open::open(path).map_err(|e| unreadable(path, None, &e))?;
        Ok(CheckedLines { lines: Lines::new(source, LONGEST), file: Arc::from(path) })
    }

    pub fn place(&self, line: u64) -> Place {
        Place { file: self.file.clone(), line }
    }

    /// The number of the line that was read last.
    pub fn number(&self) -> u64 {
        self.lines.line
    }

    /// The next line, with what is wrong with it; `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<(String, Option<Error>)>> {
        let replaced = self.lines.replaced;
        let Some(first) = self.piece()? else { return Ok(None) };
        let mut ends = first.ends_line;
        let too_long = !ends;
        while !ends {
            ends = self.piece()?.is_none_or(|piece| piece.ends_line);
        }
        let bad = |told: String| Some(Error::new(ErrorKind::InvalidFile, told));
        let wrong = if too_long {
            bad(format!("the line has more than {} MiB", LONGEST >> 20))
        } else if self.lines.replaced > replaced {
            Some(Error::new(ErrorKind::InvalidUtf8, "the line is not UTF-8; convert the file, for instance with iconv"))
        } else if first.text.contains('\0') {
            bad("the line has a NUL: the file is damaged, or UTF-16; convert it, for instance with iconv".to_owned())
        } else {
            None
        };
        Ok(Some((first.text, wrong)))
    }

    fn piece(&mut self) -> Result<Option<crate::train::text::lines::Piece>> {
        self.lines.next().map_err(|e| unreadable(&self.file, Some(self.lines.line), &e))
    }
}

/// The bytes of a whole file without a byte order mark.
pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// The records of a file.
pub(super) struct Records {
    pub lines: CheckedLines,
    shape: Shape,
}

impl Records {
    pub fn open(path: &Path, shape: Shape) -> Result<Records> {
        Ok(Records { lines: CheckedLines::open(path)?, shape })
    }

    /// The next record, or what is wrong with it; `None` at the end of the file. Empty lines are no records.
    ///
    /// # Errors
    /// Where no record can be read any more: `Io`, or a quote that nothing closes.
    pub fn next(&mut self) -> Result<Option<std::result::Result<Record, Bad>>> {
        let (text, wrong) = loop {
            match self.lines.next()? {
                None => return Ok(None),
                Some((text, None)) if text.trim().is_empty() && !self.is_row(&text) => {}
                Some(line) => break line,
            }
        };
        let line = self.lines.number();
        let (content, wrong) = match self.shape {
            Shape::Cells { delimiter, quoted: true } => self.quoted(text, wrong, delimiter)?,
            _ if wrong.is_some() => (Content::Cells(Vec::new()), wrong),
            Shape::Cells { delimiter, quoted: false } => {
                let cells: Vec<String> = text.split(delimiter).take(MOST_CELLS + 1).map(str::to_owned).collect();
                let wrong = too_many(cells.len());
                (Content::Cells(cells), wrong)
            }
            Shape::Objects => match serde_json::from_str(&text) {
                Ok(object) => (Content::Object(object), None),
                Err(e) => {
                    let told = format!("the line is no JSON object: {}", json_message(&e));
                    (Content::Cells(Vec::new()), Some(Error::new(ErrorKind::InvalidFile, told)))
                }
            },
        };
        Ok(Some(match wrong {
            None => Ok(Record { line, content }),
            Some(e) => Err((line, e)),
        }))
    }

    /// Whether a line of space is a record all the same: one of empty cells.
    fn is_row(&self, text: &str) -> bool {
        matches!(self.shape, Shape::Cells { delimiter, .. } if text.contains(delimiter))
    }

    /// Cells of a line, and of those after it as long as a quote is open.
    fn quoted(&mut self, first: String, wrong: Option<Error>, delimiter: char) -> Result<(Content, Option<Error>)> {
        let mut cutter = Cutter { delimiter, cells: Vec::new(), cell: String::new(), state: State::Start, opened: 0, wrong };
        let mut length = first.len();
        cutter.line(&first, self.lines.number());
        while cutter.state == State::Quoted {
            let next = if length > LONGEST { None } else { self.lines.next()? };
            let Some((text, wrong)) = next else {
                let told = "a quote that opens in this line never closes; where quotes are characters like others, set `quoting = none`";
                return Err(Error::new(ErrorKind::InvalidFile, told).within(self.lines.place(cutter.opened)));
            };
            cutter.wrong = cutter.wrong.or(wrong);
            cutter.cell.push('\n');
            length += text.len() + 1;
            cutter.line(&text, self.lines.number());
        }
        cutter.cells.push(cutter.cell);
        cutter.wrong = cutter.wrong.or_else(|| too_many(cutter.cells.len()));
        Ok((Content::Cells(cutter.cells), cutter.wrong))
    }
}

fn too_many(cells: usize) -> Option<Error> {
    (cells > MOST_CELLS).then(|| Error::new(ErrorKind::InvalidFile, format!("the row has more than {MOST_CELLS} cells")))
}

/// Cuts a record into cells.
struct Cutter {
    delimiter: char,
    cells: Vec<String>,
    /// The cell so far.
    cell: String,
    state: State,
    /// The line in which the last quote opened a cell.
    opened: u64,
    wrong: Option<Error>,
}

/// Where in a cell the next character is.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Start,
    Bare,
    Quoted,
    /// Behind a quote that closed the cell, unless another follows.
    Closed,
}

impl Cutter {
    fn line(&mut self, text: &str, number: u64) {
        for c in text.chars() {
            self.state = match (self.state, c) {
                (State::Quoted, '"') => State::Closed,
                (State::Quoted, _) => self.add(c, State::Quoted),
                (State::Start, '"') => {
                    self.opened = number;
                    State::Quoted
                }
                (State::Closed, '"') => self.add(c, State::Quoted),
                (_, c) if c == self.delimiter => {
                    let cell = std::mem::take(&mut self.cell);
                    if self.cells.len() <= MOST_CELLS {
                        self.cells.push(cell);
                    }
                    State::Start
                }
                (State::Closed, _) => {
                    let told = format!(
                        "cell {} goes on behind its closing quote; where quotes are characters like others, set `quoting = none`",
                        self.cells.len() + 1
                    );
                    self.wrong.get_or_insert(Error::new(ErrorKind::InvalidFile, told));
                    self.add(c, State::Bare)
                }
                (State::Start | State::Bare, _) => self.add(c, State::Bare),
            };
        }
    }

    fn add(&mut self, c: char, state: State) -> State {
        self.cell.push(c);
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Golden {
        files: Vec<File>,
    }

    #[derive(serde::Deserialize)]
    struct File {
        delimiter: char,
        text: String,
        /// None where a strict reader refuses the file.
        rows: Option<Vec<Vec<String>>>,
    }

    /// The cells of each record; an error for a file with a bad one.
    fn cells(text: &str, delimiter: char) -> Result<Vec<Vec<String>>> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let mut records = Records::open(file.path(), Shape::Cells { delimiter, quoted: true })?;
        let mut found = Vec::new();
        while let Some(record) = records.next()? {
            match record.map_err(|(_, e)| e)?.content {
                Content::Cells(cells) => found.push(cells),
                Content::Object(_) => unreachable!("these are no objects"),
            }
        }
        // The script leaves records of white space out, quoted or not.
        found.retain(|cells| cells.len() > 1 || !cells[0].trim().is_empty());
        Ok(found)
    }

    #[test]
    fn cells_are_those_of_a_strict_reader_of_python() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/labelled/csv.json");
        let golden: Golden = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert!(golden.files.len() > 300);
        for File { delimiter, text, rows } in golden.files {
            match (cells(&text, delimiter), rows) {
                (Ok(found), Some(rows)) => assert_eq!(found, rows, "{text:?} by {delimiter:?}"),
                (Err(_), None) => {}
                (found, rows) => panic!("{text:?} by {delimiter:?}: {found:?}, and Python says {rows:?}"),
            }
        }
    }
}
