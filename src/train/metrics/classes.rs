//! How good are answers that are one class a row? As scikit-learn's `metrics` count it, with `zero_division` = 0.

use super::{Counts, Shares, check_lengths, share};
use crate::error::{ErrorKind, Result, fail};

/// How often each class was answered where each was right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confusion {
    classes: usize,
    /// (right class, answered class).
    counts: Vec<u64>,
}

impl Confusion {
    /// Counts numbers of classes below `classes`.
    ///
    /// # Errors
    /// `InvalidArgument` for lists of different lengths or none, and for a number of no class.
    pub fn of(gold: &[usize], answered: &[usize], classes: usize) -> Result<Confusion> {
        check_lengths(gold.len(), answered.len())?;
        let mut counts = vec![0; classes * classes];
        for (&gold, &answered) in gold.iter().zip(answered) {
            if gold.max(answered) >= classes {
                return fail(
                    ErrorKind::InvalidArgument,
                    format!("there are {classes} classes, and one is numbered {}", gold.max(answered)),
                );
            }
            counts[gold * classes + answered] += 1;
        }
        Ok(Confusion { classes, counts })
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// How often `answered` was said where `gold` is right.
    pub fn count(&self, gold: usize, answered: usize) -> u64 {
        self.counts[gold * self.classes + answered]
    }

    /// The counts of a class; `wanted` is its support.
    pub fn counts(&self, class: usize) -> Counts {
        let all = 0..self.classes;
        Counts {
            right: self.count(class, class),
            found: all.clone().map(|gold| self.count(gold, class)).sum(),
            wanted: all.map(|answered| self.count(class, answered)).sum(),
        }
    }

    /// The share of right answers. It is micro-averaged precision, recall and F1, too.
    pub fn accuracy(&self) -> f64 {
        share((0..self.classes).map(|class| self.count(class, class)).sum(), self.counts.iter().sum())
    }

    /// Precision, recall and F1 of one class, as of class 1 for GLUE's paraphrases.
    pub fn of_class(&self, class: usize) -> Shares {
        self.counts(class).shares()
    }

    /// The means over the classes that occur, right or answered.
    pub fn macro_mean(&self) -> Shares {
        Shares::mean(self.occurring().map(Counts::shares))
    }

    /// The means over classes, each as heavy as it is frequent.
    pub fn weighted_mean(&self) -> Shares {
        let total: u64 = self.counts.iter().sum();
        let of = |pick: fn(Shares) -> f64| self.occurring().map(|c| pick(c.shares()) * c.wanted as f64).sum::<f64>() / total as f64;
        Shares { precision: of(|s| s.precision), recall: of(|s| s.recall), f1: of(|s| s.f1) }
    }

    fn occurring(&self) -> impl Iterator<Item = Counts> + Clone + '_ {
        (0..self.classes).map(|class| self.counts(class)).filter(|counts| counts.found + counts.wanted > 0)
    }

    /// Matthews' correlation coefficient, for any number of classes as Gorodkin has it (Comparing two K-category assignments by a K-category
    /// correlation coefficient, 2004). 0 where all answers, or all that is right, are one class.
    pub fn matthews(&self) -> f64 {
        let total = self.counts.iter().sum::<u64>() as f64;
        let counts: Vec<Counts> = (0..self.classes).map(|class| self.counts(class)).collect();
        let sum = |of: fn(&Counts) -> f64| counts.iter().map(of).sum::<f64>();
        let right = sum(|c| c.right as f64);
        let together = right * total - sum(|c| c.found as f64 * c.wanted as f64);
        let found = total * total - sum(|c| (c.found as f64).powi(2));
        let wanted = total * total - sum(|c| (c.wanted as f64).powi(2));
        if found * wanted > 0.0 { together / (found * wanted).sqrt() } else { 0.0 }
    }
}
