//! What do the commands that ask a head have in common?
//!
//! Their options, their lines of JSON, and what they say of an input that did not fit.

use serde::Serialize;
use serde_json::value::RawValue;

use super::input::Input;
use crate::tasks::InputReport;

/// The options that concern heads.
pub(super) const SETTINGS: &[&str] =
    &["prompt", "prompt_name", "language", "truncation", "max_tokens", "overlap", "windows", "activation", "top", "deadline_ms"];

/// An answer as a line of JSON: whose it is, what the command says, and what did not fit. Fields that say nothing are left out.
#[derive(Serialize)]
pub(super) struct Line<'a, F> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    #[serde(flatten)]
    fields: F,
    #[serde(flatten)]
    seen: Seen,
}

impl<'a, F> Line<'a, F> {
    pub fn new(input: &'a Input, fields: F, report: &InputReport) -> Line<'a, F> {
        Line { index: input.index, id: input.id.as_deref(), fields, seen: Seen::new(report) }
    }

    /// The same without the number of tokens seen.
    pub fn without_tokens(self) -> Line<'a, F> {
        Line { seen: Seen { tokens: None, ..self.seen }, ..self }
    }
}

/// What was left out of an input, or how it was divided; nothing where it fits.
#[derive(Serialize)]
pub(super) struct Seen {
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    windows: Option<usize>,
}

impl Seen {
    pub fn new(report: &InputReport) -> Seen {
        let told = report.truncated || report.windows > 1;
        Seen {
            tokens: told.then_some(report.tokens),
            total: told.then_some(report.total),
            truncated: report.truncated.then_some(true),
            windows: (report.windows > 1).then_some(report.windows),
        }
    }

    /// The same for people.
    pub fn words(report: &InputReport) -> String {
        match report {
            InputReport { truncated: true, tokens, total, .. } => format!("  ({tokens} of {total} tokens)"),
            InputReport { windows: windows @ 2.., .. } => format!("  ({windows} windows)"),
            _ => String::new(),
        }
    }
}
