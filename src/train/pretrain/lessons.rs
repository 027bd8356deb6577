//! From examples to packed batches and their targets: what does one step run?
//!
//! A step's sequences are cut into parts of a bounded number of tokens. Each cost is divided by the number of costs of the whole step, so that
//! the parts' gradients add up to that of one large batch.

use std::ops::Range;
use std::sync::Arc;

use super::super::Example;
use crate::engine::Batch;
use crate::engine::lesson::{Lesson, Target, UNLABELLED};

/// A part of a step.
pub(super) struct Part {
    pub batch: Arc<Batch>,
    pub lesson: Arc<Lesson>,
}

/// What a step asks: how many hidden tokens, and how many pairs of texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub tokens: usize,
    pub pairs: usize,
}

impl Asked {
    pub(super) fn of(examples: &[Example]) -> Asked {
        let tokens = examples.iter().map(|e| e.masked.len()).sum();
        Asked { tokens, pairs: examples.iter().filter(|e| e.label.is_some()).count() }
    }
}

/// Cuts the share `share` of a step's examples into parts of at least `part_tokens` tokens, the last aside. Targets: the hidden tokens' ids, then the
/// labels of sequences if `pairs`.
pub(super) fn parts(examples: &[Example], share: Range<usize>, asked: Asked, part_tokens: usize, seed: u64, pairs: bool) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut first = share.start;
    while first < share.end {
        let mut tokens = 0;
        let more = |example: &&Example| {
            let goes_on = tokens < part_tokens;
            tokens += example.ids.len();
            goes_on
        };
        let count = examples[first..share.end].iter().take_while(more).count().max(1);
        parts.push(part(&examples[first..first + count], first, seed, asked, pairs));
        first += count;
    }
    parts
}

fn part(examples: &[Example], first: usize, seed: u64, asked: Asked, pairs: bool) -> Part {
    let (mut batch, mut words, mut labels) = (Batch::default(), Vec::new(), Vec::new());
    for example in examples {
        batch.push(&example.ids, &example.segments, 0);
        for (place, id) in &example.masked {
            batch.pick(*place);
            words.push(*id);
        }
        labels.push(example.label.unwrap_or(UNLABELLED));
    }
    let share = |count: usize| 1.0 / count.max(1) as f32;
    let mut targets = vec![Target::Classes { classes: words, factor: share(asked.tokens) }];
    if pairs {
        targets.push(Target::Classes { classes: labels, factor: share(asked.pairs) });
    }
    Part { batch: Arc::new(batch), lesson: Arc::new(Lesson { targets, seed, first_sequence: first as u64 }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(tokens: usize, masked: usize) -> Example {
        let masked = (0..masked).map(|i| (i, 7)).collect();
        Example { ids: vec![5; tokens], segments: vec![0; tokens], masked, spans: Vec::new(), label: Some(1) }
    }

    #[test]
    fn parts_have_their_tokens_and_share_one_factor() {
        let examples: Vec<Example> = (1..=10).map(|i| example(i * 3, i % 3)).collect();
        let parts = parts(&examples, 0..10, Asked::of(&examples), 40, 9, true);
        let tokens: Vec<usize> = parts.iter().map(|p| p.batch.tokens()).collect();
        assert_eq!(tokens.iter().sum::<usize>(), 165);
        assert!(tokens[..tokens.len() - 1].iter().all(|t| *t >= 40), "{tokens:?}");
        let mut first = 0;
        for part in &parts {
            assert_eq!(part.lesson.first_sequence, first);
            first += part.batch.sequences() as u64;
            let [Target::Classes { classes, factor }, Target::Classes { classes: labels, factor: half }] = &part.lesson.targets[..] else {
                panic!("two targets")
            };
            assert_eq!((classes.len(), labels.len()), (part.batch.picks().len(), part.batch.sequences()));
            assert_eq!((*factor, *half), (1.0 / 10.0, 1.0 / 10.0));
        }
    }
}
