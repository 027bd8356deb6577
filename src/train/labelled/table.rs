//! Which cells of each record are asked for?
//!
//! Columns are found once, in the header or in the first object; then each record gives the asked cells in the asked order. What is wrong
//! with a record ends reading, or is noted, as the settings say.

use std::path::Path;

use serde_json::Value;

use super::records::{Content, Record, Records, Shape};
use super::settings::{Column, ReadSettings};
use super::{Place, Skipped};
use crate::error::{ErrorKind, Result, fail};
use crate::train::text::excerpt;

/// What the first record says of the columns.
pub(super) struct Head {
    /// Their names, if it has any.
    pub names: Option<Vec<String>>,
    /// How many there are; of no meaning for objects.
    pub count: usize,
    /// Whether records are JSON objects, whose fields may differ.
    pub objects: bool,
}

impl Head {
    /// The column that a format knows by `candidate`: one of that name, whatever its case, or without a header one of that number.
    pub fn find(&self, candidate: &str) -> Option<Column> {
        let Some(names) = &self.names else {
            let number = candidate.parse().ok().filter(|number| (1..=self.count).contains(number));
            return number.map(Column::Number);
        };
        let exact = names.iter().find(|name| *name == candidate);
        exact.or_else(|| names.iter().find(|name| name.eq_ignore_ascii_case(candidate))).map(|name| Column::Name(name.clone()))
    }

    /// Names of the columns for a message, or how many there are.
    pub fn told(&self) -> String {
        match &self.names {
            Some(names) => {
                let shown: Vec<&str> = names.iter().take(20).map(String::as_str).collect();
                format!("there are {}", shown.join(", "))
            }
            None => format!("there are {} columns without a header", self.count),
        }
    }

    /// Where a column is that the user or a format names.
    fn place(&self, column: &Column) -> Result<Found> {
        match (column, &self.names) {
            (Column::Name(name), None) => {
                let told =
                    format!("there is no column {name:?}, since there is no header; give the number of a column from 1 to {}", self.count);
                fail(ErrorKind::InvalidArgument, told)
            }
            (Column::Name(name), Some(names)) => {
                let mut at = names.iter().enumerate().filter(|(_, other)| *other == name);
                match (at.next(), at.next()) {
                    (Some((at, _)), None) => Ok(Found { at, key: name.clone() }),
                    (None, _) => fail(ErrorKind::InvalidArgument, format!("there is no column {name:?}; {}", self.told())),
                    (Some((first, _)), Some((second, _))) => fail(
                        ErrorKind::InvalidFile,
                        format!("the columns {} and {} are both called {name:?}; name one by its number", first + 1, second + 1),
                    ),
                }
            }
            // A column may be called 1.
            (Column::Number(number), _) if self.objects => self.place(&Column::Name(number.to_string())),
            (Column::Number(number), Some(names)) if names.contains(&number.to_string()) => self.place(&Column::Name(number.to_string())),
            (Column::Number(number), _) if *number <= self.count => Ok(Found { at: number - 1, key: number.to_string() }),
            (Column::Number(number), _) => fail(ErrorKind::InvalidArgument, format!("there is no column {number}; {}", self.told())),
        }
    }
}

/// A column that is there.
struct Found {
    at: usize,
    /// Its name, or its number.
    key: String,
}

/// What is asked for: the word for it, and the column, if there is one.
pub(super) type Asked = (&'static str, Option<Column>);

/// A file whose records are read by columns.
pub(super) struct Table {
    records: Records,
    asked: Vec<(&'static str, Option<Found>)>,
    head: Head,
    /// Whether the first record was taken for a row though nobody said that there is no header.
    pub guessed_no_header: bool,
    first: Option<Record>,
    ragged: bool,
    skip_bad: bool,
    pub skipped: Vec<Skipped>,
}

impl Table {
    /// Opens a file. A first record with one of `known` names is a header; `ask` says what is asked of the columns that are there.
    pub fn open(
        path: &Path,
        shape: Shape,
        settings: &ReadSettings,
        known: &[&str],
        ask: impl FnOnce(&Head) -> Result<Vec<Asked>>,
    ) -> Result<Table> {
        let mut records = Records::open(path, settings.shape(shape)?)?;
        let mut skipped = Vec::new();
        let objects = shape == Shape::Objects;
        let first = loop {
            match records.next()? {
                Some(Ok(record)) => break record,
                Some(Err((line, e))) if objects && settings.skip_bad => {
                    skipped.push(Skipped { place: records.lines.place(line), why: e.message().to_owned() });
                }
                Some(Err((line, e))) => return Err(e.within(records.lines.place(line))),
                None => return fail(ErrorKind::InvalidFile, format!("{}: there is no row in the file", path.display())),
            }
        };
        let place = records.lines.place(first.line);
        let (head, guessed, first) = read_head(first, settings, known);
        let asked = ask(&head).and_then(|asked| {
            let find = |(word, column): Asked| Ok((word, column.map(|column| head.place(&column)).transpose()?));
            asked.into_iter().map(find).collect::<Result<Vec<_>>>()
        });
        Ok(Table {
            asked: asked.map_err(|e| e.within(place))?,
            records,
            head,
            guessed_no_header: guessed,
            first,
            ragged: settings.ragged,
            skip_bad: settings.skip_bad,
            skipped,
        })
    }

    /// Which columns are read: `text = sentence, label = label`.
    pub fn columns(&self) -> String {
        let told = self.asked.iter().filter_map(|(word, found)| Some(format!("{word} = {}", found.as_ref()?.key)));
        told.collect::<Vec<_>>().join(", ")
    }

    /// The next row that `make` makes of the cells; `None` at the end.
    ///
    /// # Errors
    /// What `make` says, and what is wrong with a record, unless bad rows are left out; `Io`.
    pub fn next<T>(&mut self, make: impl Fn(Cells<'_>) -> Result<T>) -> Result<Option<T>> {
        loop {
            let record = match self.first.take() {
                Some(record) => Ok(record),
                None => match self.records.next()? {
                    Some(record) => record,
                    None => return Ok(None),
                },
            };
            let made = record.and_then(|record| {
                let line = record.line;
                self.cells(record).and_then(&make).map_err(|e| (line, e))
            });
            match made {
                Ok(row) => return Ok(Some(row)),
                Err((line, e)) => {
                    let place = self.records.lines.place(line);
                    if !self.skip_bad {
                        return Err(e.within(place));
                    }
                    self.skipped.push(Skipped { place, why: e.message().to_owned() });
                }
            }
        }
    }

    fn cells(&self, record: Record) -> Result<Cells<'_>> {
        let values: Vec<Option<Cell>> = match record.content {
            Content::Cells(cells) => {
                self.check_width(cells.len())?;
                // Two things may be asked of one column, so that none is taken out.
                self.asked.iter().map(|(_, found)| cells.get(found.as_ref()?.at).map(|cell| Cell::Text(cell.clone()))).collect()
            }
            Content::Object(object) => {
                let field = |found: &Found| object.get(&found.key).filter(|value| !value.is_null()).map(|value| Cell::Json(value.clone()));
                self.asked.iter().map(|(_, found)| field(found.as_ref()?)).collect()
            }
        };
        Ok(Cells { place: self.records.lines.place(record.line), values, asked: &self.asked })
    }

    fn check_width(&self, has: usize) -> Result<()> {
        let needed = self.asked.iter().filter_map(|(_, found)| Some(found.as_ref()?.at + 1)).max().unwrap_or(0);
        let told = match self.ragged {
            true if has < needed => format!("the row has {has} cells, and the one numbered {needed} is asked for"),
            false if has != self.head.count => {
                format!("the row has {has} cells, and the first row {}; where that may be so, set `ragged = true`", self.head.count)
            }
            _ => return Ok(()),
        };
        fail(ErrorKind::InvalidFile, told)
    }
}

/// What the first record says of the columns, whether that is a guess that it is no header, and the record if it is a row.
fn read_head(first: Record, settings: &ReadSettings, known: &[&str]) -> (Head, bool, Option<Record>) {
    match &first.content {
        Content::Object(object) => {
            let names: Vec<String> = object.keys().cloned().collect();
            (Head { count: 0, names: Some(names), objects: true }, false, Some(first))
        }
        Content::Cells(cells) => {
            let named = [&settings.text, &settings.pair, &settings.label, &settings.id];
            let looks = |cell: &String| {
                known.iter().any(|name| name.eq_ignore_ascii_case(cell.trim()))
                    || named.iter().any(|column| matches!(column, Some(Column::Name(name)) if name == cell))
            };
            let is_header = settings.header.unwrap_or_else(|| cells.iter().any(looks));
            let names = is_header.then(|| cells.iter().map(|cell| cell.trim().to_owned()).collect());
            let head = Head { count: cells.len(), names, objects: false };
            (head, !is_header && settings.header.is_none(), (!is_header).then_some(first))
        }
    }
}

/// The asked cells of a record.
pub(super) struct Cells<'t> {
    pub place: Place,
    values: Vec<Option<Cell>>,
    asked: &'t [(&'static str, Option<Found>)],
}

enum Cell {
    Text(String),
    Json(Value),
}

impl Cells<'_> {
    /// The text of what was asked at `i`; `None` where no column was named for it, or the field is absent or null.
    pub fn text(&mut self, i: usize) -> Result<Option<String>> {
        match self.values[i].take() {
            None => Ok(None),
            Some(Cell::Text(text) | Cell::Json(Value::String(text))) => Ok(Some(text)),
            Some(Cell::Json(other)) => self.wrong(i, "a string", &other.to_string()),
        }
    }

    /// The text, which must be there.
    pub fn needed_text(&mut self, i: usize) -> Result<String> {
        match self.text(i)? {
            Some(text) => Ok(text),
            None => self.missing(i),
        }
    }

    /// The name of a class, without the space around it: a string, or a number or truth of JSON. `None` as for texts.
    pub fn class(&mut self, i: usize) -> Result<Option<String>> {
        let Some(cell) = self.values[i].take() else { return Ok(None) };
        match class_name(&cell) {
            Some(name) if !name.is_empty() => Ok(Some(name)),
            Some(_) => self.missing(i),
            None => self.wrong(i, "the name of a class", &cell.told()),
        }
    }

    /// A number. `None` as for texts.
    pub fn number(&mut self, i: usize) -> Result<Option<f64>> {
        let Some(cell) = self.values[i].take() else { return Ok(None) };
        let number = match &cell {
            Cell::Text(text) | Cell::Json(Value::String(text)) => text.trim().parse().ok(),
            Cell::Json(value) => value.as_f64(),
        };
        match number.filter(|number: &f64| number.is_finite()) {
            Some(number) => Ok(Some(number)),
            None => self.wrong(i, "a number", &cell.told()),
        }
    }

    /// Names of classes, each once: a list of JSON, or a cell with `delimiter` between them. `None` as for texts.
    pub fn classes(&mut self, i: usize, delimiter: &str) -> Result<Option<Vec<String>>> {
        let Some(cell) = self.values[i].take() else { return Ok(None) };
        let names = match &cell {
            Cell::Text(text) | Cell::Json(Value::String(text)) => Some(text.split(delimiter).map(|name| name.trim().to_owned()).collect()),
            Cell::Json(Value::Array(items)) => items.iter().map(|item| class_name(&Cell::Json(item.clone()))).collect::<Option<Vec<_>>>(),
            Cell::Json(_) => None,
        };
        let Some(names) = names else { return self.wrong(i, "a list of names", &cell.told()) };
        let mut once: Vec<String> = Vec::new();
        for name in names {
            if !name.is_empty() && !once.contains(&name) {
                once.push(name);
            }
        }
        Ok(Some(once))
    }

    /// Whatever JSON has there. `None` as for texts.
    pub fn value(&mut self, i: usize) -> Option<Value> {
        self.values[i].take().map(|cell| match cell {
            Cell::Text(text) => Value::String(text),
            Cell::Json(value) => value,
        })
    }

    /// Texts: a list of JSON, or one alone. `None` as for texts.
    pub fn texts(&mut self, i: usize) -> Result<Option<Vec<String>>> {
        let Some(Cell::Json(Value::Array(items))) = &self.values[i] else { return Ok(self.text(i)?.map(|text| vec![text])) };
        let texts = items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>();
        match texts {
            Some(texts) => Ok(Some(texts)),
            None => self.wrong(i, "a list of strings", &Value::Array(items.clone()).to_string()),
        }
    }

    /// A list of JSON. `None` as for texts.
    pub fn list(&mut self, i: usize) -> Result<Option<Vec<Value>>> {
        match self.values[i].take() {
            None => Ok(None),
            Some(Cell::Json(Value::Array(items))) => Ok(Some(items)),
            Some(other) => self.wrong(i, "a list", &other.told()),
        }
    }

    /// The error of a cell that is not there.
    pub fn missing<T>(&self, i: usize) -> Result<T> {
        let (word, found) = &self.asked[i];
        let column = found.as_ref().map(|found| format!(" in {:?}", found.key)).unwrap_or_default();
        fail(ErrorKind::InvalidFile, format!("the row has no {word}{column}"))
    }

    fn wrong<T>(&self, i: usize, expected: &str, found: &str) -> Result<T> {
        fail(ErrorKind::InvalidFile, format!("the {} must be {expected}, not {}", self.asked[i].0, excerpt(found)))
    }
}

impl Cell {
    /// What it holds, for a message.
    fn told(&self) -> String {
        match self {
            Cell::Text(text) => format!("{text:?}"),
            Cell::Json(value) => value.to_string(),
        }
    }
}

/// The name of a class in a cell, empty if the cell is.
fn class_name(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Text(text) | Cell::Json(Value::String(text)) => Some(text.trim().to_owned()),
        Cell::Json(value @ (Value::Number(_) | Value::Bool(_))) => Some(value.to_string()),
        Cell::Json(_) => None,
    }
}
