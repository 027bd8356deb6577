//! From examples to packed batches and their targets: what does one step run?
//!
//! A step's sequences are cut into parts of a bounded number of tokens. Each cost is divided by the number of costs of the whole step, so that
//! the parts' gradients add up to that of one large batch.

use std::ops::Range;
use std::sync::Arc;

use super::super::Example;
use super::questions::Question;
use crate::engine::Batch;
use crate::engine::lesson::{Lesson, Target};

/// A part of a step.
pub(in crate::train) struct Part {
    /// Which of the step's examples.
    pub examples: Range<usize>,
    pub batch: Arc<Batch>,
    pub lesson: Arc<Lesson>,
}

/// Each question's share: what one of a step's costs is multiplied by.
pub(in crate::train) fn shares(examples: &[Example], questions: &[Question]) -> Vec<f32> {
    let asked = |question: &Question| examples.iter().map(question.asked).sum::<usize>().max(1);
    questions.iter().map(|question| (question.weight / asked(question) as f64) as f32).collect()
}

/// Cuts the examples `own` of a step's into parts of at least `part_tokens` tokens, the last aside. Targets stand in the order of the questions.
pub(in crate::train) fn parts(examples: &[Example], own: Range<usize>, questions: &[Question], part_tokens: usize, seed: u64) -> Vec<Part> {
    let shares = shares(examples, questions);
    let mut parts = Vec::new();
    let mut first = own.start;
    while first < own.end {
        let mut tokens = 0;
        let more = |example: &&Example| {
            let goes_on = tokens < part_tokens;
            tokens += example.ids.len();
            goes_on
        };
        let count = examples[first..own.end].iter().take_while(more).count().max(1);
        let range = first..first + count;
        let batch = batch(&examples[range.clone()]);
        let targets = targets(&examples[range.clone()], questions, &shares);
        let lesson = Lesson { targets, seed, first_sequence: first as u64 };
        parts.push(Part { examples: range, batch: Arc::new(batch), lesson: Arc::new(lesson) });
        first += count;
    }
    parts
}

/// What is right, as far as the examples say it.
pub(in crate::train) fn targets(examples: &[Example], questions: &[Question], shares: &[f32]) -> Vec<Target> {
    questions.iter().zip(shares).filter_map(|(question, share)| Some((question.targets?)(examples, *share))).collect()
}

/// The examples' sequences, and the places that are asked about.
pub(in crate::train) fn batch(examples: &[Example]) -> Batch {
    let mut batch = Batch::default();
    for example in examples {
        batch.push(&example.ids, &example.segments, 0);
        for (place, _) in &example.masked {
            // A place in no span is one of its own.
            let own = (*place, *place + 1);
            let (start, end) = *example.spans.iter().find(|(start, end)| (*start..*end).contains(place)).unwrap_or(&own);
            batch.pick_between(*place, start.saturating_sub(1), end.min(example.ids.len() - 1));
        }
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::super::questions::{MASKED, PAIR};
    use super::*;
    use crate::engine::graph::Which;

    fn example(tokens: usize, masked: usize) -> Example {
        let masked = (0..masked).map(|i| (i + 1, 7)).collect();
        Example { ids: vec![5; tokens], segments: vec![0; tokens], masked, label: Some(1), ..Example::default() }
    }

    #[test]
    fn parts_have_their_tokens_and_share_one_factor() {
        let examples: Vec<Example> = (1..=10).map(|i| example(i * 4, i % 3)).collect();
        let parts = parts(&examples, 0..10, &[MASKED, PAIR], 40, 9);
        let tokens: Vec<usize> = parts.iter().map(|p| p.batch.tokens()).collect();
        assert_eq!(tokens.iter().sum::<usize>(), 220);
        assert!(tokens[..tokens.len() - 1].iter().all(|t| *t >= 40), "{tokens:?}");
        let mut first = 0;
        for part in &parts {
            assert_eq!((part.lesson.first_sequence, part.examples.start as u64), (first, first));
            first += part.batch.sequences() as u64;
            let [Target::Classes { classes, factor }, Target::Classes { classes: labels, factor: half }] = &part.lesson.targets[..] else {
                panic!("two targets")
            };
            assert_eq!((classes.len(), labels.len()), (part.batch.picks().len(), part.batch.sequences()));
            assert_eq!((*factor, *half), (1.0 / 10.0, 1.0 / 10.0));
        }
    }

    #[test]
    fn a_hidden_place_has_the_borders_of_its_span() {
        let masked = [2, 3, 4, 7].map(|place| (place, 1)).to_vec();
        let one = Example { ids: vec![5; 9], segments: vec![0; 9], masked, spans: vec![(2, 5)], ..Example::default() };
        let batch = batch(&[example(4, 0), one]);
        let of = |pick| [Which::Own, Which::Before, Which::Behind].map(|which| batch.picked(pick, which) - 4);
        assert_eq!((of(0), of(2), of(3)), ([2, 1, 5], [4, 1, 5], [7, 6, 8]));
        assert_eq!([0, 1, 2, 3].map(|pick| batch.place_in_span(pick)), [0, 1, 2, 0]);
    }
}
