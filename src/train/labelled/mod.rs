//! What do labelled files say?
//!
//! A file -> records (`records`: lines cut into cells, or JSON objects) -> the cells that are asked for (`table`, by the columns that a row
//! of [`format::FORMATS`] or the user names) -> typed rows, each with the [`Place`] where it stands, so that whatever is wrong with it later
//! can be named by file and line.
//!
//! - [`texts`]: a text or a pair with a class, a number or a set of classes.
//! - [`tagged`]: words with tags, CoNLL's lines or JSON.
//! - [`questions`]: contexts, questions and answers, as SQuAD has them.
//! - [`choices`]: a beginning and what may follow, as SWAG has them.
//! - [`triplets`]: texts that belong together, and texts that do not.
//! - [`retrieval`]: documents, queries and judgements, as TREC, BEIR and Cranfield have them.
//! - [`classes`]: which number has each class.
//!
//! A bad row is an error, or, with `bad_rows` = `skip`, left out and listed in [`Loaded::skipped`]. gzip and Zstandard are told by their
//! first bytes, as for texts to pretrain on.

pub mod choices;
pub mod classes;
pub mod format;
pub mod questions;
mod records;
pub mod retrieval;
mod settings;
mod table;
pub mod tagged;
pub mod texts;
pub mod triplets;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::error::{ErrorKind, Result, fail};
pub use classes::ClassNames;
pub use format::{FORMATS, Format};
pub use settings::{Column, ReadSettings, TargetKind};
pub use texts::{Row, Rows, Target, read};

/// Where something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was named.
    pub file: Arc<Path>,
    /// Its line, from 1; of several the first.
    pub line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}", self.file.display(), self.line)
    }
}

/// A row that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Where it is.
    pub place: Place,
    /// What is wrong with it.
    pub why: String,
}

/// What a file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded<T> {
    /// Its rows, in their order.
    pub rows: Vec<T>,
    /// Those that were left out.
    pub skipped: Vec<Skipped>,
    /// Which columns were read, for people: `text = sentence, label = label`.
    pub columns: String,
}

impl<T> Loaded<T> {
    /// These rows, of which there must be some.
    pub(self) fn some(self, path: &Path) -> Result<Loaded<T>> {
        let told = match self.skipped.first() {
            _ if !self.rows.is_empty() => return Ok(self),
            None => "there is no row in the file".to_owned(),
            Some(first) => format!("no row can be read; line {}: {}", first.place.line, first.why),
        };
        fail(ErrorKind::InvalidFile, format!("{}: {told}", path.display()))
    }
}

#[cfg(test)]
mod tests;
