//! Texts -> labels that the model was never trained for, by a model of inference (NLI).
//!
//! Each label becomes a hypothesis ("This example is sport."), and the model says how far the text entails it. As the
//! zero-shot pipeline of `transformers`: the logits of entailment compete, or, with `multi_label`, entailment and contradiction
//! compete for each label alone.

use super::heads::{HeadRun, InputReport, Rows, renamed};
use super::{Classes, Model, Request, Score, Windows};
use crate::error::{ErrorKind, Result, fail};
use crate::model::heads::Kind;
use crate::tokenizer::Content;

/// The hypothesis where the request has none.
const HYPOTHESIS: &str = "This example is {}.";

impl Model {
    /// Says how well each of `labels` fits each text. The model must be one of natural language inference: one of its own labels
    /// begins with "entail". Of a text longer than the limit the end is cut (the beginning, with truncation `left`), never the
    /// hypothesis. An entry's `logit` is that of entailment; with `multi_label` or a single label, less that of contradiction.
    ///
    /// # Errors
    /// As [`Model::classify`]; `InvalidArgument` for an empty list of labels, or a model without a label for entailment; `TooLong`
    /// for a label that leaves the text no room.
    pub fn classify_as<T: AsRef<str>, L: AsRef<str>>(&self, texts: &[T], labels: &[L], request: &Request) -> Result<Classes> {
        if labels.is_empty() {
            return fail(ErrorKind::InvalidArgument, "no labels to choose from; give at least one");
        }
        if request.windows != Windows::First {
            return fail(ErrorKind::InvalidArgument, "windows: zero-shot classification cuts long texts; leave windows out");
        }
        let run = HeadRun::new(self, request, Kind::Classify)?;
        let (entails, contradicts) = roles(&run.head.meaning.labels)?;
        let template = request.hypothesis.as_deref().unwrap_or(HYPOTHESIS);
        let hypothesis = |label: &L| run.second(&template.replace("{}", label.as_ref()));
        let hypotheses: Vec<Content> = labels.iter().map(hypothesis).collect::<Result<_>>()?;
        let mut text = Content::default();
        let rows = run.each(texts.len() * labels.len(), |i| {
            let (at, label) = (i / labels.len(), i % labels.len());
            if label == 0 {
                text = run.first(texts[at].as_ref())?;
            }
            let name = labels[label].as_ref();
            run.encode_cutting(0, [&text, &hypotheses[label]]).map_err(|e| e.within(format!("with label {name:?}")))
        });
        let rows = rows.map_err(|e| renamed(&e, |pair| format!("text {}", pair / labels.len())))?;
        let multi = request.multi_label || labels.len() == 1;
        // Each label for itself: by how much entailment beats contradiction.
        let logit = |row: &Vec<f32>| if multi { row[entails] - row[contradicts] } else { row[entails] };
        let activation = if multi { Score::Sigmoid } else { Score::Softmax };
        let Rows { logits, reports, stopped } = rows;
        let logits: Vec<Vec<f32>> = logits.chunks_exact(labels.len()).map(|rows| rows.iter().map(logit).collect()).collect();
        let scores: Vec<Vec<f32>> = logits.iter().map(|logits| activation.apply(logits)).collect();
        let names: Vec<String> = labels.iter().map(|label| label.as_ref().to_owned()).collect();
        let reports = reports.chunks_exact(labels.len()).map(together).collect();
        Ok(Classes::new(&names, &logits, &scores, reports, stopped, request.top))
    }
}

/// Which of a model's labels stand for entailment and for contradiction. As `transformers` takes them: contradiction is the first
/// label, or the last where entailment is the first.
fn roles(labels: &[String]) -> Result<(usize, usize)> {
    match labels.iter().position(|label| label.to_lowercase().starts_with("entail")) {
        Some(entails) if labels.len() > 1 => Ok((entails, if entails == 0 { labels.len() - 1 } else { 0 })),
        _ => {
            let told = format!(
                "zero-shot classification needs a model of inference, with a label that begins with \"entail\"; this model's labels are {}",
                labels.join(", ")
            );
            fail(ErrorKind::InvalidArgument, told)
        }
    }
}

/// The report of one text from those of its pairs: the longest of them, all finished or none.
fn together(pairs: &[InputReport]) -> InputReport {
    let longest = pairs.iter().copied().max_by_key(|pair| pair.total).unwrap_or_default();
    if pairs.iter().any(|pair| pair.windows == 0) {
        return InputReport { total: longest.total, ..InputReport::default() };
    }
    InputReport { truncated: pairs.iter().any(|pair| pair.truncated), ..longest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entailment_is_found_by_name_and_contradiction_by_place() {
        let roles = |labels: &[&str]| roles(&labels.iter().map(|l| (*l).to_owned()).collect::<Vec<_>>());
        assert_eq!(roles(&["contradiction", "neutral", "entailment"]), Ok((2, 0)));
        assert_eq!(roles(&["ENTAILMENT", "neutral", "no"]), Ok((0, 2)));
        assert_eq!(roles(&["not entailed", "Entailed"]), Ok((1, 0)));
        for labels in [&["POSITIVE", "NEGATIVE"][..], &["entailment"], &[]] {
            assert!(roles(labels).unwrap_err().message().contains("entail"));
        }
    }
}
