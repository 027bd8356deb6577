//! What is told of a run, step by step? The log's lines, and what a person sees.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// What a step or an evaluation came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// What the run makes small.
    pub loss: f64,
    /// Every figure under the name that the log has it by, in order.
    pub named: Vec<(Cow<'static, str>, f64)>,
}

impl Figures {
    /// These figures, of which the run makes `loss` small.
    pub fn of<N: Into<Cow<'static, str>>>(loss: f64, named: Vec<(N, f64)>) -> Figures {
        Figures { loss, named: named.into_iter().map(|(name, figure)| (name.into(), figure)).collect() }
    }

    /// The figure called `name`.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.named.iter().find(|(known, _)| *known == name).map(|(_, figure)| *figure)
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.named.len()))?;
        for (name, figure) in &self.named {
            map.serialize_entry(name, figure)?;
        }
        map.end()
    }
}

/// What happens in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A run was taken up.
    Resumed {
        /// After this step: what was told of later ones does not count.
        step: u64,
    },
    /// A step was done.
    Step {
        /// Its number, from 1, and the run's last.
        step: u64,
        /// See `step`.
        steps: u64,
        /// What it cost, before the weights moved.
        #[serde(flatten)]
        figures: Figures,
        /// The learning rate.
        rate: f64,
        /// Of the gradients, before they were clipped.
        norm: f64,
        /// Tokens of the step, and a second since the run began or went on.
        tokens: u64,
        /// See `tokens`.
        tokens_per_second: f64,
    },
    /// A step was left out: a cost or a gradient was not finite.
    Skipped {
        /// Its number.
        step: u64,
        /// How many in a row.
        in_a_row: usize,
    },
    /// The model was tried on what was held out.
    Evaluated {
        /// After this step.
        step: u64,
        /// What it came to.
        #[serde(flatten)]
        figures: Figures,
        /// Whether it is the best so far.
        best: bool,
    },
    /// A checkpoint and the model were written.
    Saved {
        /// After this step.
        step: u64,
    },
}
