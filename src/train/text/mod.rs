//! Which sentences and documents do files of text hold?
//!
//! Files -> [`Texts::open`] -> [`Texts::next`]: one [`Part`] after the other, in the order of the files and of their lines, whatever the
//! files' size. `vocabulary` counts the words of the sentences, `shards` turns them into token ids.

pub(in crate::train) mod lines;
pub(in crate::train) mod open;
mod sentences;
mod settings;

use std::collections::VecDeque;
use std::io::BufRead;
use std::path::{Path, PathBuf};

pub use sentences::sentences;
pub use settings::{TextForm, TextSettings};

use crate::error::{Error, ErrorKind, Result, fail, json_message};
use lines::Lines;
use open::Seen;

/// What comes next in the files.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// A sentence with letters in it, without the space around it.
    Sentence(String),
    /// The document of the sentences before has ended; there is at least one.
    EndOfDocument,
}

/// A file that was read, for noticing later that it has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Where it was.
    pub path: PathBuf,
    /// Its length on the disk.
    pub bytes: u64,
    /// XXH3 of its bytes on the disk.
    pub hash: u64,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextReport {
    /// Documents and their sentences.
    pub documents: u64,
    /// Sentences, after long ones were cut.
    pub sentences: u64,
    /// Files in which there is no text, and the first of them.
    pub empty: (u64, Option<PathBuf>),
    /// Sequences of bytes that are not UTF-8 and became U+FFFD, and the file and line of the first.
    pub replaced: (u64, Option<(PathBuf, u64)>),
    /// Lines so long that they were cut in pieces of 64 KiB.
    pub cut: u64,
}

impl TextReport {
    /// What a person should know of the files, if anything: one sentence a line.
    pub fn warnings(&self) -> Vec<String> {
        let mut told = Vec::new();
        if let (count, Some((path, line))) = &self.replaced {
            let place = path.display();
            told.push(format!("{count} sequences of bytes are not UTF-8 and became U+FFFD, the first in line {line} of {place}"));
        }
        if let (count, Some(path)) = &self.empty {
            told.push(format!("{count} files have no text, the first is {}", path.display()));
        }
        if self.cut > 0 {
            told.push(format!("{} lines have more than {} KiB and were cut", self.cut, lines::LONGEST_PIECE >> 10));
        }
        told
    }
}

/// Bytes of a JSON line at most: it is read whole.
const LONGEST_JSON: usize = 256 << 20;

/// A stream over the text of files.
pub struct Texts {
    settings: TextSettings,
    paths: std::vec::IntoIter<PathBuf>,
    now: Option<Reading>,
    ready: VecDeque<Part>,
    /// Whether sentences of a document have been handed over that has not ended.
    inside: bool,
    report: TextReport,
    inputs: Vec<Input>,
}

/// The file that is being read.
struct Reading {
    path: PathBuf,
    lines: Lines<Box<dyn BufRead>>,
    seen: Seen,
    sentences_before: u64,
}

impl Texts {
    /// Begins to read files in this order; a folder stands for all files below it in the order of their names, those excepted whose
    /// names begin with a dot.
    ///
    /// # Errors
    /// `Io` where a path is not there or cannot be read, `InvalidArgument` where there is none, or a folder without files.
    pub fn open(paths: &[PathBuf], settings: &TextSettings) -> Result<Texts> {
        let mut files = Vec::new();
        for path in paths {
            let before = files.len();
            add_files(path, &mut files)?;
            if files.len() == before {
                return fail(ErrorKind::InvalidArgument, format!("{} is a folder without files; give files of text", path.display()));
            }
        }
        if files.is_empty() {
            return fail(ErrorKind::InvalidArgument, "there are no files of text; name at least one");
        }
        Ok(Texts {
            settings: settings.clone(),
            paths: files.into_iter(),
            now: None,
            ready: VecDeque::new(),
            inside: false,
            report: TextReport::default(),
            inputs: Vec::new(),
        })
    }

    /// The files that will be read.
    pub fn files(&self) -> &[PathBuf] {
        self.paths.as_slice()
    }

    /// What comes next, `None` at the end.
    ///
    /// # Errors
    /// `Io` for a file that cannot be read or is damaged, `InvalidFile` for a line that is no JSON or lacks the field, and at the end
    /// where no file had any text. The message names the file, and the line.
    #[expect(clippy::should_implement_trait, reason = "an error ends the stream, and an iterator of results would hide that")]
    pub fn next(&mut self) -> Result<Option<Part>> {
        loop {
            if let Some(part) = self.ready.pop_front() {
                return Ok(Some(part));
            }
            match &self.now {
                Some(_) => self.read_line()?,
                None => match self.paths.next() {
                    Some(path) => self.begin(path)?,
                    None if self.report.documents == 0 => {
                        let first = self.inputs.first().map(|input| input.path.display().to_string()).unwrap_or_default();
                        let told = format!("there is no text in the {} files, of which the first is {first}", self.inputs.len());
                        return fail(ErrorKind::InvalidFile, told);
                    }
                    None => return Ok(None),
                },
            }
        }
    }

    /// How the files are read.
    pub fn settings(&self) -> &TextSettings {
        &self.settings
    }

    /// What has been read so far.
    pub fn report(&self) -> &TextReport {
        &self.report
    }

    /// The files that have been read to their end.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn begin(&mut self, path: PathBuf) -> Result<()> {
        let longest = if self.settings.form == TextForm::JsonLines { LONGEST_JSON } else { lines::LONGEST_PIECE };
        let (source, seen) = open::open(&path).map_err(|e| unreadable(&path, None, &e))?;
        self.now = Some(Reading { path, lines: Lines::new(source, longest), seen, sentences_before: self.report.sentences });
        Ok(())
    }

    fn read_line(&mut self) -> Result<()> {
        let Some(now) = &mut self.now else { return Ok(()) };
        let piece = now.lines.next().map_err(|e| unreadable(&now.path, Some(now.lines.line), &e))?;
        let Some(piece) = piece else {
            self.finish();
            return Ok(());
        };
        match self.settings.form {
            TextForm::Sentences if piece.text.trim().is_empty() => {
                if piece.ends_line {
                    self.end_document();
                }
            }
            TextForm::Sentences => self.sentence(piece.text.trim()),
            TextForm::Documents => {
                self.document(&piece.text);
                if piece.ends_line {
                    self.end_document();
                }
            }
            TextForm::JsonLines if !piece.ends_line => {
                let told = format!("the line has more than {} MiB; cut the document", LONGEST_JSON >> 20);
                return Err(self.here(Error::new(ErrorKind::InvalidFile, told)));
            }
            TextForm::JsonLines if piece.text.trim().is_empty() => {}
            TextForm::JsonLines => {
                let text = field(&piece.text, &self.settings.field).map_err(|e| self.here(e))?;
                self.document(&text);
                self.end_document();
            }
        }
        Ok(())
    }

    /// Says in which line of which file an error is.
    fn here(&self, error: Error) -> Error {
        match &self.now {
            Some(now) => error.within(format!("{}, line {}", now.path.display(), now.lines.line)),
            None => error,
        }
    }

    fn document(&mut self, text: &str) {
        if self.settings.split {
            sentences(text).for_each(|sentence| self.sentence(sentence));
        } else {
            self.sentence(text.trim());
        }
    }

    fn sentence(&mut self, mut text: &str) {
        while !text.is_empty() {
            let most = lines::LONGEST_PIECE.min(text.len());
            let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(most);
            self.ready.push_back(Part::Sentence(text[..end].to_owned()));
            self.report.sentences += 1;
            self.inside = true;
            text = &text[end..];
        }
    }

    fn end_document(&mut self) {
        if std::mem::take(&mut self.inside) {
            self.ready.push_back(Part::EndOfDocument);
            self.report.documents += 1;
        }
    }

    /// A file has ended, and its last document with it.
    fn finish(&mut self) {
        self.end_document();
        let Some(now) = self.now.take() else { return };
        if self.report.sentences == now.sentences_before {
            self.report.empty.0 += 1;
            self.report.empty.1.get_or_insert_with(|| now.path.clone());
        }
        if let Some(line) = now.lines.first_replaced {
            self.report.replaced.0 += now.lines.replaced;
            self.report.replaced.1.get_or_insert_with(|| (now.path.clone(), line));
        }
        self.report.cut += now.lines.cut;
        let (bytes, hash) = now.seen.digest();
        self.inputs.push(Input { path: now.path, bytes, hash });
    }
}

/// The document in a JSON line.
fn field(line: &str, name: &str) -> Result<String> {
    let invalid = |told: String| Error::new(ErrorKind::InvalidFile, told);
    let mut object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(line).map_err(|e| invalid(format!("the line is no JSON object: {}", json_message(&e))))?;
    match object.remove(name) {
        Some(serde_json::Value::String(text)) => Ok(text),
        Some(other) => Err(invalid(format!("the field {name:?} must be a string, not {}", excerpt(&other.to_string())))),
        None => {
            let has: Vec<&str> = object.keys().take(10).map(String::as_str).collect();
            Err(invalid(format!("the object has no field {name:?}; it has {}", has.join(", "))))
        }
    }
}

/// Whether BERT counts a character as Chinese.
pub(in crate::train) fn is_han(c: char) -> bool {
    matches!(u32::from(c), 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x2fa1f)
}

pub(in crate::train) fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}

fn add_files(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        path.metadata().map_err(|e| unreadable(path, None, &e))?;
        files.push(path.to_owned());
        return Ok(());
    }
    let entries = std::fs::read_dir(path).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let mut below: Vec<PathBuf> = entries.map_err(|e| unreadable(path, None, &e))?.iter().map(std::fs::DirEntry::path).collect();
    below.retain(|path| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.')));
    below.sort();
    below.iter().try_for_each(|path| add_files(path, files))
}

pub(in crate::train) fn unreadable(path: &Path, line: Option<u64>, error: &std::io::Error) -> Error {
    let behind = line.filter(|line| *line > 0).map(|line| format!(", behind line {line}")).unwrap_or_default();
    Error::new(ErrorKind::Io, format!("{}{behind}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
