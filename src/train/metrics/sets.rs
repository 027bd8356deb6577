//! How good are answers that are several classes a row? As scikit-learn's `metrics` count label indicators, with `zero_division` = 0.

use super::{Counts, Shares, check_lengths, share};
use crate::error::{ErrorKind, Result, fail};

/// What was answered of what is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sets {
    /// Of each class.
    pub counts: Vec<Counts>,
    /// Rows of which each class is right and none is missing.
    pub whole: u64,
    /// Rows.
    pub rows: u64,
}

impl Sets {
    /// Counts sets of classes below `classes`; each class stands in a set once.
    ///
    /// # Errors
    /// `InvalidArgument` for lists of different lengths or none, and for a number of no class.
    pub fn of(gold: &[Vec<usize>], answered: &[Vec<usize>], classes: usize) -> Result<Sets> {
        check_lengths(gold.len(), answered.len())?;
        let mut sets = Sets { counts: vec![Counts::default(); classes], whole: 0, rows: gold.len() as u64 };
        if let Some(number) = gold.iter().chain(answered).flatten().find(|class| **class >= classes) {
            return fail(ErrorKind::InvalidArgument, format!("there are {classes} classes, and one is numbered {number}"));
        }
        for (gold, answered) in gold.iter().zip(answered) {
            gold.iter().for_each(|class| sets.counts[*class].wanted += 1);
            answered.iter().for_each(|class| sets.counts[*class].found += 1);
            let right = gold.iter().filter(|class| answered.contains(class));
            right.clone().for_each(|class| sets.counts[*class].right += 1);
            sets.whole += u64::from(right.count() == gold.len() && gold.len() == answered.len());
        }
        Ok(sets)
    }

    /// The share of rows without any mistake.
    pub fn subset_accuracy(&self) -> f64 {
        share(self.whole, self.rows)
    }

    /// Of all classes together.
    pub fn micro(&self) -> Shares {
        self.counts.iter().copied().sum::<Counts>().shares()
    }

    /// The means over all classes.
    pub fn macro_mean(&self) -> Shares {
        Shares::mean(self.counts.iter().copied().map(Counts::shares))
    }
}
