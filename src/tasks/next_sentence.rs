//! Does the second text follow the first?
//!
//! BERT's pre-training asked this of every pair; checkpoints of that time still have the head.

use super::heads::{HeadRun, InputReport};
use super::{Model, Request, Score};
use crate::error::{ErrorKind, Result};
use crate::model::heads::Kind;

/// The answer for one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Follows {
    /// The probability that the second text follows the first.
    pub score: f32,
    /// The raw number for "it follows", and the one for "it was taken from elsewhere".
    pub logits: [f32; 2],
}

/// The answer of [`Model::next_sentence`].
#[derive(Clone, Debug, PartialEq)]
pub struct NextSentence {
    /// One entry a pair, as far as they are finished.
    pub pairs: Vec<Follows>,
    /// What became of each pair.
    pub reports: Vec<InputReport>,
    /// `DeadlineExceeded` or `Cancelled` where the call stopped before the last pair.
    pub stopped: Option<ErrorKind>,
}

impl Model {
    /// Says for each pair how probably its second text follows the first. The answer for a pair is the same, bit for bit,
    /// whatever the other pairs, their order and the number of threads.
    ///
    /// # Errors
    /// `InvalidArgument` for a model without the head, or a request that it cannot serve; `TooLong` under the truncation policy
    /// `error`; `NonFinite` when a score is not finite.
    pub fn next_sentence<T: AsRef<str>>(&self, pairs: &[(T, T)], request: &Request) -> Result<NextSentence> {
        let run = HeadRun::new(self, request, Kind::NextSentence)?;
        let rows = run.each(pairs.len(), |i| {
            let (first, second) = &pairs[i];
            run.encode(&run.first(first.as_ref())?, Some(&run.second(second.as_ref())?))
        })?;
        let follows = |row: &Vec<f32>| Follows { score: Score::Softmax.apply(row)[0], logits: [row[0], row[1]] };
        Ok(NextSentence { pairs: rows.logits.iter().map(follows).collect(), reports: rows.reports, stopped: rows.stopped })
    }
}
