//! How good are answers?
//!
//! Pure functions of what is right and what was answered. Each is that of the program that people compare with, whose name stands in its
//! module, and is tested against it on random data (`tests/metrics.rs`):
//!
//! - [`classes`]: one class a row: accuracy, F1, Matthews' coefficient, the confusion matrix.
//! - [`sets`]: several classes a row.
//! - [`numbers`]: correlations and errors.
//! - [`entities`]: tagged words, by whole entities.
//! - [`answers`]: spans of text, by SQuAD's rules, or CMRC 2018's.
//! - [`retrieval`]: rankings, by judgements.
//!
//! Shares are from 0 to 1, but for those of [`answers`], which are per cent as SQuAD's script prints them. A share of nothing is 0.

pub mod answers;
pub mod classes;
pub mod entities;
pub mod numbers;
pub mod retrieval;
pub mod sets;

use crate::error::{ErrorKind, Result, fail};

/// What was found of what, by counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Found, and right.
    pub right: u64,
    /// Found, right or wrong.
    pub found: u64,
    /// There to be found.
    pub wanted: u64,
}

/// Precision, recall and their harmonic mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// What is right of what was found.
    pub precision: f64,
    /// What is right of what was there.
    pub recall: f64,
    /// The harmonic mean of both.
    pub f1: f64,
}

impl Shares {
    /// The mean of each; 0 of nothing.
    fn mean(shares: impl Iterator<Item = Shares> + Clone) -> Shares {
        let of = |pick: fn(Shares) -> f64| mean(shares.clone().map(pick));
        Shares { precision: of(|s| s.precision), recall: of(|s| s.recall), f1: of(|s| s.f1) }
    }
}

impl Counts {
    /// The shares that these counts are.
    pub fn shares(self) -> Shares {
        Shares {
            precision: share(self.right, self.found),
            recall: share(self.right, self.wanted),
            f1: share(2 * self.right, self.found + self.wanted),
        }
    }
}

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Counts>>(counts: I) -> Counts {
        counts.fold(Counts::default(), |a, b| Counts { right: a.right + b.right, found: a.found + b.found, wanted: a.wanted + b.wanted })
    }
}

/// A part of a whole; 0 of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The mean; 0 of nothing.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u64), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// Refuses answers that are not as many as what is asked, or none.
fn check_lengths(gold: usize, answered: usize) -> Result<()> {
    if gold != answered {
        return fail(ErrorKind::InvalidArgument, format!("there are {answered} answers to {gold} rows"));
    }
    if gold == 0 { fail(ErrorKind::InvalidArgument, "there is no row to judge by") } else { Ok(()) }
}
