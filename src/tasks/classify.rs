//! Texts, or pairs of texts -> labels.
//!
//! The classification head gives one number a label (logit); the model's files say whether labels exclude each other (softmax),
//! stand each for itself (sigmoid) or are no labels but a measure (identity).

use super::heads::{HeadRun, InputReport, Rows};
use super::{Model, Request, Score};
use crate::error::{ErrorKind, Result};
use crate::model::heads::Kind;

/// A label and how well it fits.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelScore {
    /// Its number: of the model's labels, or of those that were asked for.
    pub id: usize,
    /// Its name.
    pub label: String,
    /// The logit put through the activation.
    pub score: f32,
    /// The raw number.
    pub logit: f32,
}

/// The answer for one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Classified {
    /// The best labels, best first, of equals the one with the lower number; all of them, or as many as the request's `top`.
    /// Empty for an input that was not finished.
    pub labels: Vec<LabelScore>,
    /// What became of the input.
    pub report: InputReport,
}

/// The answer of [`Model::classify`] and [`Model::classify_as`].
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    /// One entry an input.
    pub inputs: Vec<Classified>,
    /// How many inputs, counted from the first, have their labels.
    pub finished: usize,
    /// `DeadlineExceeded` or `Cancelled` where the call stopped before the last input.
    pub stopped: Option<ErrorKind>,
}

impl Model {
    /// Labels each text, or each pair of a text and a second one. The answer for an input is the same, bit for bit, whatever the
    /// other inputs, their order and the number of threads.
    ///
    /// A deadline or a cancellation is no error: the answer then holds the inputs finished and says why it stopped.
    ///
    /// # Errors
    /// `InvalidArgument` for a model without a classification head, or a request that it cannot serve; `TooLong` under the
    /// truncation policy `error`; `NonFinite` when a score is not finite.
    pub fn classify<T: AsRef<str>>(&self, inputs: &[(T, Option<T>)], request: &Request) -> Result<Classes> {
        let run = HeadRun::new(self, request, Kind::Classify)?;
        let rows = run.each(inputs.len(), |i| {
            let (text, pair) = &inputs[i];
            let second = pair.as_ref().map(|pair| run.second(pair.as_ref())).transpose()?;
            run.encode(&run.first(text.as_ref())?, second.as_ref())
        })?;
        let meaning = &run.head.meaning;
        let score = request.activation.or(meaning.score).unwrap_or(Score::Identity);
        let Rows { logits, reports, stopped } = rows;
        let scores: Vec<Vec<f32>> = logits.iter().map(|logits| score.apply(logits)).collect();
        Ok(Classes::new(&meaning.labels, &logits, &scores, reports, stopped, request.top))
    }
}

impl Classes {
    /// Ranks the labels of the inputs finished.
    pub(super) fn new(
        labels: &[String],
        logits: &[Vec<f32>],
        scores: &[Vec<f32>],
        reports: Vec<InputReport>,
        stopped: Option<ErrorKind>,
        top: Option<usize>,
    ) -> Classes {
        let ranked = |i: usize| match (logits.get(i), scores.get(i)) {
            (Some(logits), Some(scores)) => rank(labels, logits, scores, top),
            _ => Vec::new(),
        };
        let inputs = reports.into_iter().enumerate().map(|(i, report)| Classified { labels: ranked(i), report }).collect();
        Classes { inputs, finished: logits.len(), stopped }
    }
}

/// The labels of one input, best first. By the raw numbers: an activation may saturate, and never changes their order.
fn rank(labels: &[String], logits: &[f32], scores: &[f32], top: Option<usize>) -> Vec<LabelScore> {
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]).then(a.cmp(b)));
    order.truncate(top.unwrap_or(usize::MAX));
    let scored = |id: usize| LabelScore { id, label: labels.get(id).cloned().unwrap_or_default(), score: scores[id], logit: logits[id] };
    order.into_iter().map(scored).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturated_scores_keep_the_order_of_the_logits() {
        let labels = ["a", "b", "c"].map(str::to_owned);
        let logits = [100.0, 200.0, 100.0];
        let ranked = rank(&labels, &logits, &Score::Sigmoid.apply(&logits), None);
        assert_eq!(ranked.iter().map(|l| (l.id, l.score)).collect::<Vec<_>>(), [(1, 1.0), (0, 1.0), (2, 1.0)]);
        assert_eq!(rank(&labels, &logits, &logits, Some(1)).len(), 1);
    }
}
