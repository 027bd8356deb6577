//! Which texts, or pairs of texts, have which labels?
//!
//! [`Rows::open`] -> [`Rows::next`], a [`Row`] after the other, whatever the file's size; [`read`] has them all.

use std::collections::HashMap;
use std::path::Path;

use super::format::{FORMATS, Format};
use super::settings::{Column, ReadSettings, TargetKind};
use super::table::{Asked, Cells, Head, Table};
use super::{Loaded, Place, Skipped};
use crate::error::{Error, ErrorKind, Result, fail};

/// What a row asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// One class, by name.
    Class(String),
    /// A number.
    Number(f64),
    /// Classes, each once; none is an answer, too.
    Classes(Vec<String>),
}

impl Target {
    /// Names of classes in it.
    pub fn names(&self) -> &[String] {
        match self {
            Target::Class(name) => std::slice::from_ref(name),
            Target::Classes(names) => names,
            Target::Number(_) => &[],
        }
    }
}

/// A text, or two, and what is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What the file calls it.
    pub id: Option<String>,
    /// The text, or the first of two.
    pub text: String,
    /// The second of two.
    pub pair: Option<String>,
    /// Its label; none only where files may have none.
    pub target: Option<Target>,
    /// Where it stands.
    pub place: Place,
}

/// A stream of rows.
pub struct Rows {
    table: Table,
    format: &'static Format,
    kind: TargetKind,
    delimiter: String,
    unlabelled: bool,
}

// Places in what is asked of a table.
const TEXT: usize = 0;
const PAIR: usize = 1;
const LABEL: usize = 2;
const ID: usize = 3;

impl Rows {
    /// Opens a file.
    ///
    /// # Errors
    /// `Io`; `InvalidArgument` where its name does not say its format, or a column is not there; `InvalidFile` for a first record that cannot be read.
    pub fn open(path: &Path, settings: &ReadSettings) -> Result<Rows> {
        let with_texts: Vec<&str> = FORMATS.iter().filter(|format| !format.texts.is_empty()).map(|format| format.name).collect();
        let format = settings.format_of(path, "texts with labels", &with_texts)?;
        // Only names of texts tell a header: a row may well consist of a text and the word "label".
        let known: Vec<&str> = format.column_names().collect();
        let table = Table::open(path, format.shape, settings, &known, |head| ask(format, settings, head))?;
        Ok(Rows {
            table,
            format,
            kind: format.kind.or(settings.kind).unwrap_or(TargetKind::Class),
            delimiter: settings.label_delimiter.clone().unwrap_or_else(|| ",".to_owned()),
            unlabelled: settings.unlabelled,
        })
    }

    /// The next row, `None` at the end.
    ///
    /// # Errors
    /// `Io`; `InvalidFile` and `InvalidUtf8` for a bad row, unless such are left out. The message names file and line.
    #[expect(clippy::should_implement_trait, reason = "an error ends the stream, and an iterator of results would hide that")]
    pub fn next(&mut self) -> Result<Option<Row>> {
        let (kind, format, delimiter, unlabelled) = (self.kind, self.format, &self.delimiter, self.unlabelled);
        self.table.next(|mut cells| {
            let target = target(&mut cells, kind, delimiter)?;
            if target.is_none() && !unlabelled {
                return cells.missing(LABEL);
            }
            if let Some(name) = target.iter().flat_map(Target::names).find(|name| !format.knows(name)) {
                let told = format!("the label must be one of {}, not {name:?}", format.classes.join(", "));
                return fail(ErrorKind::InvalidFile, told);
            }
            Ok(Row { id: cells.class(ID)?, text: cells.needed_text(TEXT)?, pair: cells.text(PAIR)?, target, place: cells.place })
        })
    }

    /// Which columns are read, for people.
    pub fn columns(&self) -> String {
        self.table.columns()
    }

    /// The bad rows so far, where they are left out.
    pub fn skipped(&self) -> &[Skipped] {
        &self.table.skipped
    }
}

/// Reads a file whole.
///
/// # Errors
/// As [`Rows::open`] and [`Rows::next`]; `InvalidFile` for a file without rows.
pub fn read(path: &Path, settings: &ReadSettings) -> Result<Loaded<Row>> {
    let mut source = Rows::open(path, settings)?;
    let mut rows = Vec::new();
    while let Some(row) = source.next()? {
        rows.push(row);
    }
    let columns = source.columns();
    if source.table.guessed_no_header {
        refuse_header(&rows)?;
    }
    Loaded { rows, skipped: source.table.skipped, columns }.some(path)
}

/// A header that was taken for a row would become a class. It shows in a first row whose label occurs nowhere else, while all others do.
fn refuse_header(rows: &[Row]) -> Result<()> {
    let Some(Row { target: Some(Target::Class(label)), place, .. }) = rows.first() else { return Ok(()) };
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for name in rows.iter().flat_map(|row| row.target.iter().flat_map(Target::names)) {
        *counts.entry(name).or_default() += 1;
    }
    if rows.len() < 5 || counts.values().filter(|count| **count == 1).count() != 1 || counts.get(label.as_str()) != Some(&1) {
        return Ok(());
    }
    let told = format!("the label {label:?} occurs in the first row alone, which may be a header; set `header = true` or `header = false`");
    Err(Error::new(ErrorKind::InvalidFile, told).within(place))
}

/// The columns of text, pair, label and id.
fn ask(format: &Format, settings: &ReadSettings, head: &Head) -> Result<Vec<Asked>> {
    let (text, pair) = match (&settings.text, &settings.pair) {
        (None, Some(_)) => return fail(ErrorKind::InvalidArgument, "pair names the second text; name the first with text"),
        (Some(text), pair) => (text.clone(), pair.clone()),
        (None, None) => usual_texts(format, head)?,
    };
    let usual = |names: &[&str]| names.iter().find_map(|name| head.find(name));
    let label = settings.label.clone().or_else(|| usual(format.labels));
    if label.is_none() && !settings.unlabelled {
        let told = format!("which column is the label? {}; name it with `label`, by its name or its number", head.told());
        return fail(ErrorKind::InvalidArgument, told);
    }
    // Rows of a table without a header are not called by chance.
    let id = settings.id.clone().or_else(|| usual(format.ids));
    Ok(vec![("text", Some(text)), ("pair", pair), ("label", label), ("id", id)])
}

/// The columns of text and pair that a format has.
fn usual_texts(format: &Format, head: &Head) -> Result<(Column, Option<Column>)> {
    for (text, pair) in format.texts {
        match (head.find(text), head.find(pair)) {
            (Some(text), None) if pair.is_empty() => return Ok((text, None)),
            (Some(text), Some(pair)) => return Ok((text, Some(pair))),
            _ => {}
        }
    }
    let told = format!("which column is the text? {}; name it with `text` (and `pair`), by its name or its number", head.told());
    fail(ErrorKind::InvalidArgument, told)
}

fn target(cells: &mut Cells<'_>, kind: TargetKind, delimiter: &str) -> Result<Option<Target>> {
    Ok(match kind {
        TargetKind::Class => cells.class(LABEL)?.map(Target::Class),
        TargetKind::Number => cells.number(LABEL)?.map(Target::Number),
        TargetKind::Classes => cells.classes(LABEL, delimiter)?.map(Target::Classes),
    })
}
