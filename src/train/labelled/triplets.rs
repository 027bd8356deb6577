//! Which texts belong together, and which only seem to?
//!
//! An anchor, a positive and any number of negatives, in columns (`text`, `pair`, `negatives`) or lists of JSON. Each of several positives is a triplet
//! of its own. Pairs with scores or classes are rows of [`super::texts`].

use std::path::Path;

use super::settings::{Column, ReadSettings};
use super::table::{Asked, Cells, Head, Table};
use super::{Loaded, Place};
use crate::error::{ErrorKind, Result, fail};

/// A text, one that belongs to it, and some that do not.
#[derive(Clone, Debug, PartialEq)]
pub struct Triplet {
    /// The text.
    pub anchor: String,
    /// The one that belongs to it.
    pub positive: String,
    /// Those that do not; may be none.
    pub negatives: Vec<String>,
    /// Where it stands.
    pub place: Place,
}

/// Names that columns usually have.
const ANCHORS: &[&str] = &["anchor", "query", "question", "sentence1", "text"];
const POSITIVES: &[&str] = &["positive", "pos", "positives", "answer", "document", "passage", "sentence2"];
const NEGATIVES: &[&str] = &["negative", "neg", "negatives", "hard_negative", "hard_negatives"];

const ANCHOR: usize = 0;
const POSITIVE: usize = 1;
const FIRST_NEGATIVE: usize = 2;

/// Reads a file whole.
///
/// # Errors
/// As [`super::read`].
pub fn read(path: &Path, settings: &ReadSettings) -> Result<Loaded<Triplet>> {
    let format = settings.format_of(path, "triplets", &["csv", "tsv", "jsonl"])?;
    let mut columns = 0;
    let mut table = Table::open(path, format.shape, settings, ANCHORS, |head| {
        let asked = ask(settings, head)?;
        columns = asked.len() - FIRST_NEGATIVE;
        Ok(asked)
    })?;
    let mut rows = Vec::new();
    while let Some(triplets) = table.next(|cells| triplets(cells, columns))? {
        rows.extend(triplets);
    }
    Loaded { rows, columns: table.columns(), skipped: table.skipped }.some(path)
}

fn ask(settings: &ReadSettings, head: &Head) -> Result<Vec<Asked>> {
    let usual = |names: &[&str]| names.iter().find_map(|name| head.find(name));
    let anchor = settings.text.clone().or_else(|| usual(ANCHORS));
    let positive = settings.pair.clone().or_else(|| usual(POSITIVES));
    for (found, what, option) in [(&anchor, "text", "text"), (&positive, "text that belongs to it", "pair")] {
        if found.is_none() {
            return fail(ErrorKind::InvalidArgument, format!("which column is the {what}? {}; name it with `{option}`", head.told()));
        }
    }
    let numbered = || {
        let all = |name: &str| (1..).map_while(|i| head.find(&format!("{name}{i}"))).collect::<Vec<Column>>();
        ["negative_", "negative"].into_iter().map(all).find(|columns| !columns.is_empty()).unwrap_or_default()
    };
    let negatives = match usual(NEGATIVES) {
        _ if !settings.negatives.is_empty() => settings.negatives.clone(),
        Some(column) => vec![column],
        None => numbered(),
    };
    let mut asked = vec![("text", anchor), ("pair", positive)];
    asked.extend(negatives.into_iter().map(|column| ("negative", Some(column))));
    Ok(asked)
}

fn triplets(mut cells: Cells<'_>, columns: usize) -> Result<Vec<Triplet>> {
    let anchor = cells.needed_text(ANCHOR)?;
    let Some(positives) = cells.texts(POSITIVE)?.filter(|texts| !texts.is_empty()) else { return cells.missing(POSITIVE) };
    let mut negatives = Vec::new();
    for i in FIRST_NEGATIVE..FIRST_NEGATIVE + columns {
        // Rows may have fewer negatives than there are columns.
        negatives.extend(cells.texts(i)?.unwrap_or_default().into_iter().filter(|text| !text.trim().is_empty()));
    }
    let triplet = |positive: String| Triplet { anchor: anchor.clone(), positive, negatives: negatives.clone(), place: cells.place.clone() };
    Ok(positives.into_iter().map(triplet).collect())
}
