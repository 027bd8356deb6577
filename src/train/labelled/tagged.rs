//! Which words have which tags?
//!
//! CoNLL's files: a word and its tag in a line (the word first, the tag last, unless columns are named), an empty line between sentences; lines of
//! `-DOCSTART-` are left out. Or JSON objects with a list of words and one of tags. A bad line leaves out its whole sentence.

use std::path::Path;

use serde_json::Value;

use super::format::Format;
use super::records::{CheckedLines, MOST_CELLS, Shape};
use super::settings::{Column, ReadSettings};
use super::table::{Cells, Table};
use super::{ClassNames, Loaded, Place, Skipped};
use crate::error::{Error, ErrorKind, Result, fail};

/// A sentence, or whatever stands between two empty lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Sentence {
    /// What the file calls it.
    pub id: Option<String>,
    /// Its words.
    pub words: Vec<String>,
    /// The tag of each word; none at all where files may have none.
    pub tags: Vec<String>,
    /// The line of each word.
    pub lines: Vec<u64>,
    /// Where it begins.
    pub place: Place,
}

impl Sentence {
    /// Where a word stands.
    pub fn place_of(&self, word: usize) -> Place {
        Place { file: self.place.file.clone(), line: self.lines.get(word).copied().unwrap_or(self.place.line) }
    }
}

/// Tags that occur, numbered as [`ClassNames::found`] does.
///
/// # Errors
/// `InvalidFile` where there are none.
pub fn tags_of(sentences: &[Sentence]) -> Result<ClassNames> {
    ClassNames::found(sentences.iter().flat_map(|sentence| &sentence.tags).map(String::as_str))
}

/// The number of each tag.
///
/// # Errors
/// `InvalidFile` for a tag that is not among `tags`, with file and line.
pub fn tag_numbers(tags: &ClassNames, sentence: &Sentence) -> Result<Vec<usize>> {
    let number = |(i, tag): (usize, &String)| tags.number(tag).map_err(|e| e.within(sentence.place_of(i)));
    sentence.tags.iter().enumerate().map(number).collect()
}

/// Reads a file of tagged words whole: JSON lines where `format` or its name says so, CoNLL's lines else.
///
/// # Errors
/// `Io`; `InvalidFile` and `InvalidUtf8` for what cannot be read, `InvalidArgument` for columns that are not there; with file and line.
pub fn read(path: &Path, settings: &ReadSettings) -> Result<Loaded<Sentence>> {
    let format = match (settings.format, Format::of(path)) {
        (None, Err(_)) => "conll",
        _ => settings.format_of(path, "words with tags", &["conll", "tsv", "jsonl"])?.name,
    };
    if format == "jsonl" { objects(path, settings) } else { lines(path, settings) }?.some(path)
}

// ---------------------------------------------------------------------------------------------------------------------
// Lines

/// What is known while lines are read.
struct Reading<'s> {
    settings: &'s ReadSettings,
    file: CheckedLines,
    /// Number of columns, and which have the word and the tag.
    columns: Option<(usize, usize, Option<usize>)>,
    sentence: Option<Sentence>,
    /// What is wrong with the sentence.
    bad: Option<Skipped>,
    loaded: Loaded<Sentence>,
}

fn lines(path: &Path, settings: &ReadSettings) -> Result<Loaded<Sentence>> {
    let loaded = Loaded { rows: Vec::new(), skipped: Vec::new(), columns: String::new() };
    let mut reading = Reading { settings, file: CheckedLines::open(path)?, columns: None, sentence: None, bad: None, loaded };
    while let Some((text, wrong)) = reading.file.next()? {
        let added = match wrong {
            Some(e) => Err(e),
            None if text.trim().is_empty() || text.starts_with("-DOCSTART-") => {
                reading.end();
                Ok(())
            }
            None => reading.add(&text),
        };
        if let Err(e) = added {
            let place = reading.file.place(reading.file.number());
            if !settings.skip_bad || e.kind() == ErrorKind::InvalidArgument {
                return Err(e.within(place));
            }
            reading.bad.get_or_insert(Skipped { place, why: e.message().to_owned() });
        }
    }
    reading.end();
    Ok(reading.loaded)
}

impl Reading<'_> {
    fn end(&mut self) {
        let sentence = self.sentence.take();
        match self.bad.take() {
            Some(bad) => self.loaded.skipped.push(bad),
            None => self.loaded.rows.extend(sentence),
        }
    }

    fn add(&mut self, text: &str) -> Result<()> {
        // Words of a file with tabs may have spaces in them.
        let delimiter = self.settings.delimiter.or(text.contains('\t').then_some('\t'));
        let cells: Vec<&str> = match delimiter {
            Some(delimiter) => text.split(delimiter).map(str::trim).take(MOST_CELLS).collect(),
            None => text.split(' ').filter(|cell| !cell.is_empty()).take(MOST_CELLS).collect(),
        };
        let Some((count, word, tag)) = self.columns else { return self.begin(&cells, text) };
        if cells.len() != count && !self.settings.ragged {
            let told =
                format!("the line has {} columns, and the first one {count}; where that may be so, set `ragged = true`", cells.len());
            return fail(ErrorKind::InvalidFile, told);
        }
        // The last column is the last of each line.
        let tag = tag.map(|tag| if self.settings.label.is_none() { cells.len() - 1 } else { tag });
        let cell = |at: usize, what: &str| match cells.get(at) {
            Some(cell) if !cell.is_empty() => Ok((*cell).to_owned()),
            _ => fail(ErrorKind::InvalidFile, format!("the line has no {what} in column {}", at + 1)),
        };
        if tag == Some(word) {
            return fail(ErrorKind::InvalidFile, "the line has a word and no tag");
        }
        let (word, tag) = (cell(word, "word")?, tag.map(|tag| cell(tag, "tag")).transpose()?);
        let line = self.file.number();
        let place = || self.file.place(line);
        let sentence = self.sentence.get_or_insert_with(|| Sentence {
            id: None,
            words: Vec::new(),
            tags: Vec::new(),
            lines: Vec::new(),
            place: place(),
        });
        sentence.words.push(word);
        sentence.tags.extend(tag);
        sentence.lines.push(line);
        Ok(())
    }

    /// Learns the columns from the first line, which names them where one is asked for by name.
    fn begin(&mut self, cells: &[&str], text: &str) -> Result<()> {
        let asked = [&self.settings.text, &self.settings.label];
        let header = self.settings.header.unwrap_or(asked.iter().any(|column| matches!(column, Some(Column::Name(_)))));
        let place = |column: &Option<Column>, otherwise: usize| match column {
            None => Ok(otherwise),
            Some(Column::Number(number)) if *number <= cells.len() => Ok(number - 1),
            Some(Column::Number(number)) => {
                fail(ErrorKind::InvalidArgument, format!("there is no column {number}; the line has {}", cells.len()))
            }
            Some(Column::Name(name)) => match cells.iter().position(|cell| cell == name).filter(|_| header) {
                Some(at) => Ok(at),
                None => fail(ErrorKind::InvalidArgument, format!("there is no column {name:?} in the first line: {}", cells.join(", "))),
            },
        };
        let (word, tag) = (place(asked[0], 0)?, place(asked[1], cells.len() - 1)?);
        if word == tag && !self.settings.unlabelled {
            return fail(
                ErrorKind::InvalidFile,
                "the line has one column; a word and its tag are needed, with a tab or spaces between them",
            );
        }
        let tag = (word != tag).then_some(tag);
        self.columns = Some((cells.len(), word, tag));
        let told = |at: usize| if header { cells[at].to_owned() } else { (at + 1).to_string() };
        self.loaded.columns = format!("text = {}", told(word)) + &tag.map(|tag| format!(", label = {}", told(tag))).unwrap_or_default();
        if header { Ok(()) } else { self.add(text) }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// JSON

/// Names of the fields that usually have words and tags.
const WORDS: &[&str] = &["tokens", "words"];
const TAGS: &[&str] = &["tags", "ner_tags", "labels", "pos_tags", "chunk_tags"];
const IDS: &[&str] = &["id", "idx", "guid"];

fn objects(path: &Path, settings: &ReadSettings) -> Result<Loaded<Sentence>> {
    let mut table = Table::open(path, Shape::Objects, settings, &[], |head| {
        let column = |given: &Option<Column>, usual: &[&str]| given.clone().or_else(|| usual.iter().find_map(|name| head.find(name)));
        let (words, tags) = (column(&settings.text, WORDS), column(&settings.label, TAGS));
        for (found, word, option) in [(&words, "list of words", "text"), (&tags, "list of tags", "label")] {
            if found.is_none() && !(settings.unlabelled && option == "label") {
                let told = format!("which field is the {word}? {}; name it with `{option}`", head.told());
                return fail(ErrorKind::InvalidArgument, told);
            }
        }
        Ok(vec![("text", words), ("label", tags), ("id", column(&settings.id, IDS))])
    })?;
    let mut rows = Vec::new();
    while let Some(sentence) = table.next(|cells| sentence(cells, settings.unlabelled))? {
        rows.push(sentence);
    }
    Ok(Loaded { rows, columns: table.columns(), skipped: table.skipped })
}

fn sentence(mut cells: Cells<'_>, unlabelled: bool) -> Result<Sentence> {
    let mut strings = |i: usize, what: &str| match cells.list(i)? {
        None => Ok(None),
        Some(items) => items.into_iter().map(|item| string(item, what)).collect::<Result<Vec<_>>>().map(Some),
    };
    let words = strings(0, "word")?;
    let tags = strings(1, "tag")?;
    let Some(words) = words else { return cells.missing(0) };
    if words.is_empty() {
        return fail(ErrorKind::InvalidFile, "the list of words is empty");
    }
    let tags = match tags {
        Some(tags) if tags.len() == words.len() => tags,
        Some(tags) => return fail(ErrorKind::InvalidFile, format!("there are {} words and {} tags", words.len(), tags.len())),
        None if unlabelled => Vec::new(),
        None => return cells.missing(1),
    };
    let lines = vec![cells.place.line; words.len()];
    Ok(Sentence { id: cells.class(2)?, words, tags, lines, place: cells.place })
}

/// A word, or a tag, which may be a number.
fn string(item: Value, what: &str) -> Result<String> {
    match item {
        Value::String(text) if !text.trim().is_empty() => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(Error::new(ErrorKind::InvalidFile, format!("a {what} must be a string, not {other}"))),
    }
}
