//! Which examples does a step have?

use super::super::examples::Learning as Asks;
use super::super::{Corpus, Example};
use crate::error::{ErrorKind, Result, fail};
use crate::model::Learnable;

/// Examples by step, and those held out.
pub(in crate::train) struct Supply {
    pub corpus: Corpus,
    pub held_out: Option<Corpus>,
    /// Held-out examples of an evaluation at most.
    pub evaluate_on: usize,
    /// Examples of a step.
    pub batch: usize,
}

impl Supply {
    /// The examples of step `step`, from 0: each epoch in its own order, one after the other.
    pub(in crate::train) fn of_step(&self, step: u64) -> Result<Vec<Example>> {
        let len = self.corpus.len() as u64;
        let first = step * self.batch as u64;
        (first..first + self.batch as u64).map(|at| self.corpus.example(at / len, (at % len) as usize)).collect()
    }

    /// The same held-out examples each time, if there are any.
    pub(in crate::train) fn held_out(&self) -> Result<Option<Vec<Example>>> {
        let Some(held_out) = &self.held_out else { return Ok(None) };
        let count = held_out.len().min(self.evaluate_on);
        (0..count).map(|i| held_out.example(0, i)).collect::<Result<_>>().map(Some)
    }

    /// Refuses a model that lacks positions or tokens for the sequences.
    pub(in crate::train) fn check_fits(&self, model: &Learnable) -> Result<()> {
        let (sizes, longest) = (model.sizes(), self.corpus.settings().max_length);
        if longest > sizes.positions {
            let told = format!("max_length {longest}: the model has positions for {} tokens", sizes.positions);
            return fail(ErrorKind::InvalidArgument, told);
        }
        let vocabulary = self.corpus.shards().vocabulary();
        if vocabulary > sizes.vocabulary {
            let told = format!("the tokenizer has {vocabulary} tokens, the model {}: they do not belong together", sizes.vocabulary);
            return fail(ErrorKind::InvalidArgument, told);
        }
        Ok(())
    }

    /// What decides the examples, a line each.
    pub(in crate::train) fn fingerprint(&self) -> Vec<(&'static str, String)> {
        let (asks, shards) = (self.corpus.settings(), self.corpus.shards());
        let learning = match asks.learning {
            Asks::Masked(scheme) => scheme.name,
            Asks::LeftToRight => "left_to_right",
        };
        vec![
            ("documents", shards.documents().to_string()),
            ("sentences", shards.sentences().to_string()),
            ("tokens", shards.tokens().to_string()),
            ("sequences", asks.sequences.name.to_owned()),
            ("learning", learning.to_owned()),
            ("max_length", asks.max_length.to_string()),
            ("short_share", format!("{:?}", asks.short_share)),
            ("rates", format!("{:?}", asks.rates)),
            ("phrases", format!("{:?}", asks.phrases)),
            ("data_seed", asks.seed.to_string()),
        ]
    }
}
