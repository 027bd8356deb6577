//! How is a labelled file read?

use std::path::Path;

use super::format::{FORMATS, Format};
use super::records::Shape;
use crate::error::{ErrorKind, Result, fail};
use crate::tasks::Setting;
use crate::tasks::settings::{BOOLEAN, choice, number, set};

/// A column of a table, or a field of JSON objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// By the name in the header.
    Name(String),
    /// By its number from 1, as `cut` counts.
    Number(usize),
}

impl Column {
    fn parse(value: &str) -> Result<Column> {
        match value.parse::<usize>() {
            Ok(_) => Ok(Column::Number(number(value, 1)?)),
            Err(_) if value.is_empty() => fail(ErrorKind::InvalidArgument, "nothing is named"),
            Err(_) => Ok(Column::Name(value.to_owned())),
        }
    }
}

/// What a label is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// One class.
    Class,
    /// A number.
    Number,
    /// Any number of classes.
    Classes,
}

/// How a labelled file is read.
#[derive(Clone, Debug, Default)]
pub struct ReadSettings {
    /// What it is; none: as the end of its name says.
    pub format: Option<&'static Format>,
    /// The column of the text, the second text, the label, and what the row is called; none: as the format says.
    pub text: Option<Column>,
    /// See [`ReadSettings::text`].
    pub pair: Option<Column>,
    /// See [`ReadSettings::text`].
    pub label: Option<Column>,
    /// See [`ReadSettings::text`].
    pub id: Option<Column>,
    /// The columns of choices and of negatives; none: as the format says.
    pub choices: Vec<Column>,
    /// See [`ReadSettings::choices`].
    pub negatives: Vec<Column>,
    /// Whether the first record names the columns; none: where it has a name that is asked for.
    pub header: Option<bool>,
    /// Whether cells may be quoted; none: as the format says.
    pub quoted: Option<bool>,
    /// What stands between cells; none: as the format says.
    pub delimiter: Option<char>,
    /// What stands between the classes of a cell; a comma if none.
    pub label_delimiter: Option<String>,
    /// Whether rows may have more or fewer cells than the first, if only those are there that are asked for.
    pub ragged: bool,
    /// Whether bad rows are left out instead of being errors.
    pub skip_bad: bool,
    /// What labels are, where the format does not say; [`TargetKind::Class`] if neither does. No option: the task says it.
    pub kind: Option<TargetKind>,
    /// Whether the file may have no labels, as one to predict. No option: the command says it.
    pub unlabelled: bool,
}

fn column(slot: &mut Option<Column>, value: &str) -> Result<()> {
    *slot = Some(Column::parse(value)?);
    Ok(())
}

fn columns(slot: &mut Vec<Column>, value: &str) -> Result<()> {
    *slot = value.split(',').map(Column::parse).collect::<Result<_>>()?;
    Ok(())
}

impl ReadSettings {
    /// Every option that [`ReadSettings::set`] knows.
    pub const SETTINGS: &'static [Setting<ReadSettings>] = &[
        Setting {
            name: "format",
            values: "auto, tsv, csv, jsonl, cola, sst2, mrpc, qqp, stsb, mnli, qnli, rte, wnli, conll, squad or swag",
            help: "What the labelled files are: tables, JSON lines, a task of GLUE in its own TSV, words with tags, SQuAD's JSON or SWAG's CSV; auto goes by the end of their names",
            apply: |s, v| {
                let named = || choice(v, &FORMATS.iter().map(|row| (row.name, row)).collect::<Vec<_>>());
                s.format = if v == "auto" { None } else { Some(named()?) };
                Ok(())
            },
        },
        Setting {
            name: "text",
            values: COLUMN,
            help: "Where the text is: a column by its name or its number from 1, a field of JSON objects; the usual names are found",
            apply: |s, v| column(&mut s.text, v),
        },
        Setting { name: "pair", values: COLUMN, help: "Where the second text of a pair is", apply: |s, v| column(&mut s.pair, v) },
        Setting { name: "label", values: COLUMN, help: "Where the label is", apply: |s, v| column(&mut s.label, v) },
        Setting { name: "id", values: COLUMN, help: "Where the row's own name is, for predictions", apply: |s, v| column(&mut s.id, v) },
        Setting {
            name: "choices",
            values: COLUMNS,
            help: "Where the texts are that may follow, for multiple choice; a field of JSON may have a list",
            apply: |s, v| columns(&mut s.choices, v),
        },
        Setting {
            name: "negatives",
            values: COLUMNS,
            help: "Where the texts are that do not belong to the first, for embeddings; a field of JSON may have a list",
            apply: |s, v| columns(&mut s.negatives, v),
        },
        Setting {
            name: "header",
            values: "auto, true or false",
            help: "Whether the first row names the columns; auto looks whether it has a name that is asked for",
            apply: |s, v| {
                s.header = if v == "auto" { None } else { Some(choice(v, BOOLEAN)?) };
                Ok(())
            },
        },
        Setting {
            name: "quoting",
            values: "auto, none or double",
            help: "Whether cells may stand in double quotes; auto: in CSV they may, in TSV quotes are characters like others",
            apply: |s, v| {
                s.quoted = choice(v, &[("auto", None), ("none", Some(false)), ("double", Some(true))])?;
                Ok(())
            },
        },
        Setting {
            name: "delimiter",
            values: "one character, or tab",
            help: "What stands between cells; a tab in TSV and a comma in CSV if not given",
            apply: |s, v| {
                let mut characters = v.chars();
                s.delimiter = match (v, characters.next(), characters.next()) {
                    ("tab" | "\\t", ..) => Some('\t'),
                    (_, Some(c), None) if !matches!(c, '"' | '\r' | '\n' | '\0') => Some(c),
                    _ => return fail(ErrorKind::InvalidArgument, "not one character that can stand between cells"),
                };
                Ok(())
            },
        },
        Setting {
            name: "label_delimiter",
            values: "characters",
            help: "What stands between the classes of a row that may have several; a comma if not given. JSON has lists",
            apply: |s, v| {
                s.label_delimiter = (!v.is_empty()).then(|| v.to_owned());
                Ok(())
            },
        },
        Setting {
            name: "ragged",
            values: "true or false",
            help: "Whether rows may have more or fewer cells than the first, if only those are there that are asked for; they may not unless told",
            apply: |s, v| {
                s.ragged = choice(v, BOOLEAN)?;
                Ok(())
            },
        },
        Setting {
            name: "bad_rows",
            values: "error or skip",
            help: "What is done about rows that cannot be read: an error that names file and line, or they are left out, counted and listed",
            apply: |s, v| {
                s.skip_bad = choice(v, &[("error", false), ("skip", true)])?;
                Ok(())
            },
        },
    ];

    /// Sets the option called `name`.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is not in [`ReadSettings::SETTINGS`] and for a value that its row does not take.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        set(Self::SETTINGS, self, name, value)
    }

    /// The format of a file that should have `what`, which the formats of these names may have.
    pub(super) fn format_of(&self, path: &Path, what: &str, may: &[&str]) -> Result<&'static Format> {
        let format = match self.format {
            Some(format) => format,
            None => Format::of(path)?,
        };
        if may.contains(&format.name) {
            return Ok(format);
        }
        fail(
            ErrorKind::InvalidArgument,
            format!("{}: {} has no {what}; set `format` to one of {}", path.display(), format.name, may.join(", ")),
        )
    }

    /// The shape of a file's records: that of its format, unless the user says otherwise.
    pub(super) fn shape(&self, shape: Shape) -> Result<Shape> {
        match shape {
            Shape::Cells { delimiter, quoted } => {
                Ok(Shape::Cells { delimiter: self.delimiter.unwrap_or(delimiter), quoted: self.quoted.unwrap_or(quoted) })
            }
            Shape::Objects if self.delimiter.is_some() || self.quoted.is_some() => {
                fail(ErrorKind::InvalidArgument, "`delimiter` and `quoting` are for tables; leave them out for JSON lines")
            }
            Shape::Objects => Ok(shape),
        }
    }
}

const COLUMNS: &str = "columns by their names or numbers, with commas between them";
const COLUMN: &str = "the name of a column or field, or the number of a column from 1";
