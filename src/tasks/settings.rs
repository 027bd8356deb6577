//! How is an option set by name?
//!
//! The command line, the C ABI and the bindings set options as words (`pooling`, `mean`). Each option is one row of a table:
//! its name, the values it takes, what it means, and how it is applied. Faces loop over the rows, so that an option exists
//! everywhere or nowhere.

#[cfg(feature = "train")]
pub(crate) use super::options::threads;
use crate::error::{Error, ErrorKind, Result, fail};

/// One option of `T`, settable by name.
pub struct Setting<T: 'static> {
    /// The name: the C key, and the command line's flag with `-` for `_`.
    pub name: &'static str,
    /// The values it takes, for help and error messages.
    pub values: &'static str,
    /// What it does, in one sentence.
    pub help: &'static str,
    pub(crate) apply: fn(&mut T, &str) -> Result<()>,
}

/// Applies `value` to the option called `name` in `table`.
pub(crate) fn set<T>(table: &'static [Setting<T>], target: &mut T, name: &str, value: &str) -> Result<()> {
    let Some(row) = table.iter().find(|row| row.name == name) else {
        let known: Vec<_> = table.iter().map(|row| row.name).collect();
        return fail(ErrorKind::InvalidArgument, format!("unknown option {name:?}; known options: {}", known.join(", ")));
    };
    (row.apply)(target, value)
        .map_err(|e| Error::new(e.kind(), format!("option {name} = {value:?}: {}; expected {}", e.message(), row.values)))
}

/// Reads a whole number of at least `least`.
pub(crate) fn number(value: &str, least: usize) -> Result<usize> {
    match value.parse::<usize>() {
        Ok(n) if n >= least => Ok(n),
        Ok(n) => fail(ErrorKind::InvalidArgument, format!("{n} is below {least}")),
        Err(_) => fail(ErrorKind::InvalidArgument, "not a whole number"),
    }
}

/// Finds `value` among named `choices`.
pub(crate) fn choice<T: Copy>(value: &str, choices: &[(&str, T)]) -> Result<T> {
    match choices.iter().find(|(name, _)| *name == value) {
        Some((_, found)) => Ok(*found),
        None => fail(ErrorKind::InvalidArgument, "no such value"),
    }
}

/// The names of `choices`, in the same order as [`choice`] searches them.
pub(crate) const BOOLEAN: &[(&str, bool)] = &[("true", true), ("false", false)];
