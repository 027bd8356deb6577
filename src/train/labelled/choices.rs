//! Which of several texts goes on with a beginning?
//!
//! SWAG's CSV: `sent1`, `sent2`, `ending0` to `ending3`, `label`; each ending stands behind `sent2`. Other tables name their columns with `text`, `pair`,
//! `label` and `choices`; JSON lines may have a list. The label is the number of the choice from 0, its letter from A, or the choice itself.

use std::path::Path;

use super::settings::{Column, ReadSettings};
use super::table::{Asked, Cells, Head, Table};
use super::{Loaded, Place};
use crate::error::{ErrorKind, Result, fail};

/// A beginning, and what may follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    /// What the file calls it.
    pub id: Option<String>,
    /// The beginning.
    pub first: String,
    /// What may follow, two texts or more.
    pub seconds: Vec<String>,
    /// The number of the one that does; none only where files may have none.
    pub right: Option<usize>,
    /// Where it stands.
    pub place: Place,
}

/// Names that columns usually have.
const FIRSTS: &[&str] = &["sent1", "context", "question", "premise", "text"];
const STARTS: &[&str] = &["sent2"];
const LABELS: &[&str] = &["label", "answer", "answerKey", "gold"];
const LISTS: &[&str] = &["choices", "endings", "options"];
const IDS: &[&str] = &["id", "idx", "qid"];
/// Names of single choices, a number behind each.
const NUMBERED: &[&str] = &["ending", "choice", "option"];

// Places in what is asked of a table; choices come behind.
const FIRST: usize = 0;
const START: usize = 1;
const LABEL: usize = 2;
const ID: usize = 3;
const CHOICES: usize = 4;

/// Reads a file whole.
///
/// # Errors
/// As [`super::read`].
pub fn read(path: &Path, settings: &ReadSettings) -> Result<Loaded<Choices>> {
    let format = settings.format_of(path, "choices", &["swag", "csv", "tsv", "jsonl"])?;
    let mut columns = 0;
    let mut table = Table::open(path, format.shape, settings, FIRSTS, |head| {
        let asked = ask(settings, head)?;
        columns = asked.len() - CHOICES;
        Ok(asked)
    })?;
    let mut rows = Vec::new();
    while let Some(row) = table.next(|cells| row(cells, columns, settings.unlabelled))? {
        rows.push(row);
    }
    Loaded { rows, columns: table.columns(), skipped: table.skipped }.some(path)
}

fn ask(settings: &ReadSettings, head: &Head) -> Result<Vec<Asked>> {
    let column = |given: &Option<Column>, usual: &[&str]| given.clone().or_else(|| usual.iter().find_map(|name| head.find(name)));
    let numbered = |name: &&str| -> Vec<Column> {
        let all = |from: usize| (from..).map_while(|i| head.find(&format!("{name}{i}"))).collect::<Vec<Column>>();
        if head.find(&format!("{name}0")).is_some() { all(0) } else { all(1) }
    };
    let usual = || match LISTS.iter().find_map(|name| head.find(name)) {
        Some(list) => vec![list],
        None => NUMBERED.iter().map(numbered).find(|columns| !columns.is_empty()).unwrap_or_default(),
    };
    let choices = if settings.choices.is_empty() { usual() } else { settings.choices.clone() };
    let (first, label) = (column(&settings.text, FIRSTS), column(&settings.label, LABELS));
    let missing = [(first.is_none(), "text"), (choices.is_empty(), "choices"), (label.is_none() && !settings.unlabelled, "label")];
    if let Some((_, option)) = missing.iter().find(|(missing, _)| *missing) {
        return fail(ErrorKind::InvalidArgument, format!("which column has the {option}? {}; name it with `{option}`", head.told()));
    }
    let start = column(&settings.pair, STARTS);
    let mut asked = vec![("text", first), ("pair", start), ("label", label), ("id", column(&settings.id, IDS))];
    asked.extend(choices.into_iter().map(|column| ("choice", Some(column))));
    Ok(asked)
}

fn row(mut cells: Cells<'_>, columns: usize, unlabelled: bool) -> Result<Choices> {
    let mut choices = Vec::new();
    for i in CHOICES..CHOICES + columns {
        match cells.texts(i)? {
            Some(texts) => choices.extend(texts),
            None => return cells.missing(i),
        }
    }
    if choices.len() < 2 {
        return fail(ErrorKind::InvalidFile, format!("there are {} choices; there must be two or more", choices.len()));
    }
    let right = match cells.class(LABEL)? {
        Some(label) => Some(number(&label, &choices)?),
        None if unlabelled => None,
        None => return cells.missing(LABEL),
    };
    let start = cells.text(START)?.filter(|start| !start.trim().is_empty());
    let seconds = match start {
        Some(start) => choices.iter().map(|choice| format!("{start} {choice}")).collect(),
        None => choices,
    };
    Ok(Choices { id: cells.class(ID)?, first: cells.needed_text(FIRST)?, seconds, right, place: cells.place })
}

/// The number of the choice that a label means.
fn number(label: &str, choices: &[String]) -> Result<usize> {
    let by_letter = match label.as_bytes() {
        [letter @ b'A'..=b'Z'] => Some(usize::from(letter - b'A')),
        _ => None,
    };
    let itself = || choices.iter().position(|choice| choice.trim() == label);
    let found = label.parse().ok().or(by_letter).filter(|number| *number < choices.len()).or_else(itself);
    match found {
        Some(number) => Ok(number),
        None => fail(
            ErrorKind::InvalidFile,
            format!(
                "the label {label:?} is none of the {} choices: neither a number from 0, nor a letter from A, nor one of them",
                choices.len()
            ),
        ),
    }
}
