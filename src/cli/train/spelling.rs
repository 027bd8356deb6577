//! How does the user write an option?
//!
//! The library names options as its tables do, between backticks: `` `ragged = true` ``. What is told on the command line names the flag, `--ragged`, or the key of
//! the settings file where the option stands there.

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::super::{Failure, flags};
use crate::error::Error;
use crate::tasks::Setting;

/// The options of a command, and which of them were given, how.
#[derive(Default)]
pub(super) struct Spelling {
    options: Vec<Known>,
}

struct Known {
    name: &'static str,
    boolean: bool,
    by_flag: bool,
    in_file: bool,
}

impl Spelling {
    /// With the options of a table, as `matches` and the keys of a settings file give them.
    pub(super) fn with<T>(mut self, table: &'static [Setting<T>], matches: &ArgMatches, keys: &[String]) -> Spelling {
        self.options.extend(table.iter().map(|row| {
            let by_flag =
                |name: &str| matches.try_contains_id(name).is_ok() && matches.value_source(name) == Some(ValueSource::CommandLine);
            Known {
                name: row.name,
                boolean: flags::is_boolean(row),
                by_flag: by_flag(row.name) || by_flag(&flags::no(row)),
                in_file: keys.iter().any(|key| key == row.name),
            }
        }));
        self
    }

    /// Whether an option was given.
    pub(super) fn given(&self, name: &str) -> bool {
        self.options.iter().any(|known| known.name == name && (known.by_flag || known.in_file))
    }

    /// An error in the user's words.
    pub(super) fn told(&self, error: Error) -> Error {
        Error::new(error.kind(), self.respelled(error.message()))
    }

    /// As [`Spelling::told`], of what a command comes to.
    pub(super) fn failed(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Failed(error) => Failure::Failed(self.told(error)),
            other => other,
        }
    }

    /// A message with each option between backticks as the user writes it.
    pub(super) fn respelled(&self, message: &str) -> String {
        let mut pieces = message.split('`');
        let mut told = pieces.next().unwrap_or_default().to_owned();
        while let Some(inside) = pieces.next() {
            match (self.spelled(inside), pieces.next()) {
                (Some(spelled), Some(after)) => told.extend([&spelled, after]),
                (_, Some(after)) => told.extend(["`", inside, "`", after]),
                (_, None) => told.extend(["`", inside]),
            }
        }
        told
    }

    /// What stands between backticks, if it is an option, with a value or without.
    fn spelled(&self, inside: &str) -> Option<String> {
        let (name, value) = inside.split_once(" = ").map_or((inside, None), |(name, value)| (name, Some(value)));
        let known = self.options.iter().find(|known| known.name == name)?;
        if known.in_file && !known.by_flag {
            return Some(inside.to_owned());
        }
        let flag = name.replace('_', "-");
        Some(match value {
            Some("false") if known.boolean => format!("--no-{flag}"),
            Some(value) if !known.boolean => format!("--{flag} {value}"),
            _ => format!("--{flag}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_named_as_they_were_given() {
        let known = |name, boolean, in_file| Known { name, boolean, by_flag: false, in_file };
        let spelling =
            Spelling { options: vec![known("ragged", true, false), known("rank_loss", false, false), known("margin", false, true)] };
        for (message, told) in [
            ("set `ragged = true`", "set --ragged"),
            ("`ragged = false` or `rank_loss = margin`, see `rank_loss`", "--no-ragged or --rank-loss margin, see --rank-loss"),
            ("`margin = 2` is too small", "margin = 2 is too small"),
            ("made by `cloze convert`, with a ` in it", "made by `cloze convert`, with a ` in it"),
        ] {
            assert_eq!(spelling.respelled(message), told);
        }
    }
}
