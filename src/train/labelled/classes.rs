//! Which number has each class?
//!
//! The classes are those of the file to learn from, in the order in which they first occur, or a list that is given. Whole numbers are the
//! exception: they come in their order, so that class 0 is number 0 wherever it first occurs.

use std::collections::HashMap;
use std::path::Path;

use super::records::CheckedLines;
use super::texts::{Row, Target};
use crate::error::{Error, ErrorKind, Result, fail};

/// Names of classes, each with its number from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassNames {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    /// Whether files may say the number of a class, too, as they do that come from `datasets`.
    given: bool,
}

impl ClassNames {
    fn none(given: bool) -> ClassNames {
        ClassNames { names: Vec::new(), numbers: HashMap::new(), given }
    }

    /// The classes that occur among `names`.
    ///
    /// # Errors
    /// `InvalidFile` where there are none.
    pub fn found<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<ClassNames> {
        let mut classes = ClassNames::none(false);
        for name in names {
            classes.add(name);
        }
        let mut whole: Vec<i64> = classes.names.iter().filter_map(|name| whole_number(name)).collect();
        if whole.len() == classes.names.len() {
            whole.sort_unstable();
            return ClassNames::given(whole.iter().map(ToString::to_string));
        }
        if classes.names.is_empty() { fail(ErrorKind::InvalidFile, "no row has a class") } else { Ok(classes) }
    }

    /// The classes of rows to learn from.
    ///
    /// # Errors
    /// As [`ClassNames::found`].
    pub fn of(rows: &[Row]) -> Result<ClassNames> {
        ClassNames::found(rows.iter().flat_map(|row| row.target.iter().flat_map(Target::names)).map(String::as_str))
    }

    /// Classes in this order. Files may call them by their numbers, too, where none of them is called so.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is given twice or empty, and for none at all.
    pub fn given<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Result<ClassNames> {
        let mut classes = ClassNames::none(true);
        for name in names {
            let name = name.as_ref();
            if name.is_empty() || !classes.add(name) {
                let told = if name.is_empty() { "a class has no name".to_owned() } else { format!("the class {name:?} is given twice") };
                return fail(ErrorKind::InvalidArgument, told);
            }
        }
        if classes.names.is_empty() { fail(ErrorKind::InvalidArgument, "there are no classes") } else { Ok(classes) }
    }

    /// The classes of a file, one a line.
    ///
    /// # Errors
    /// `Io`; `InvalidUtf8`, and `InvalidArgument` as [`ClassNames::given`], with the file's name.
    pub fn read(path: &Path) -> Result<ClassNames> {
        let mut lines = CheckedLines::open(path)?;
        let mut names = Vec::new();
        while let Some((text, wrong)) = lines.next()? {
            if let Some(e) = wrong {
                return Err(e.within(lines.place(lines.number())));
            }
            if !text.trim().is_empty() {
                names.push(text.trim().to_owned());
            }
        }
        ClassNames::given(names).map_err(|e| e.within(path.display()))
    }

    /// Whether the name is new.
    fn add(&mut self, name: &str) -> bool {
        if self.numbers.contains_key(name) {
            return false;
        }
        self.numbers.insert(name.to_owned(), self.names.len());
        self.names.push(name.to_owned());
        true
    }

    /// Every name, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The number of a class.
    ///
    /// # Errors
    /// `InvalidFile` for a class that is not one of these: the message names those that are.
    pub fn number(&self, name: &str) -> Result<usize> {
        let by_number = || whole_number(name).and_then(|n| usize::try_from(n).ok()).filter(|n| self.given && *n < self.names.len());
        match self.numbers.get(name).copied().or_else(by_number) {
            Some(number) => Ok(number),
            None => {
                let more = if self.names.len() > 20 { ", ..." } else { "" };
                let known: Vec<&str> = self.names.iter().take(20).map(String::as_str).collect();
                fail(
                    ErrorKind::InvalidFile,
                    format!(
                        "the label {name:?} is none of {}: {}{more}",
                        if self.given { "the model's" } else { "those of the examples to learn from" },
                        known.join(", ")
                    ),
                )
            }
        }
    }

    /// The numbers of a row's classes: one of a class, any of a set, none of a number.
    ///
    /// # Errors
    /// As [`ClassNames::number`], with file and line.
    pub fn numbers(&self, row: &Row) -> Result<Vec<usize>> {
        let names = row.target.iter().flat_map(Target::names);
        names.map(|name| self.number(name).map_err(|e: Error| e.within(&row.place))).collect()
    }
}

/// A whole number as it is usually written; 01 and +1 are names like others.
fn whole_number(name: &str) -> Option<i64> {
    name.parse().ok().filter(|number: &i64| number.to_string() == name)
}
