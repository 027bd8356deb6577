//! Which spans of words are hidden?
//!
//! Joshi and others, "SpanBERT: improving pre-training by representing and predicting spans", 2020: lengths are drawn from a geometric
//! distribution over words, cut off at the longest, until the rate is reached. Unlike there spans never touch, so that the tokens outside a span,
//! from which the span-boundary objective predicts it, are always visible.

use std::ops::Range;

use super::{Line, Rates, draw};
use crate::train::random::Key;

pub(super) fn spans(line: &Line<'_>, rates: &Rates, budget: usize, key: Key) -> Vec<Range<usize>> {
    let words = line.words();
    let mut taken = vec![false; line.ids.len() + 2];
    let mut chosen: Vec<Range<usize>> = Vec::new();
    let mut left = budget;
    // Many more than it takes unless the sequence is full.
    for attempt in 0..8 * words.len() as u64 {
        if left == 0 {
            break;
        }
        let first = key.place(2 * attempt, words.len());
        let length = length(rates, key.unit(2 * attempt + 1));
        let span = grown(&words[first..], length, left);
        // One place further on, so that the neighbours on both sides count.
        if !span.is_empty() && !taken[span.start..span.end + 2].contains(&true) {
            left -= span.len();
            taken[span.start + 1..span.end + 1].fill(true);
            chosen.push(span);
        }
    }
    if chosen.is_empty() { draw(words, rates, budget, key.and(1)) } else { chosen }
}

/// So many words, or as many as fit and follow each other.
fn grown(words: &[Range<usize>], length: usize, most: usize) -> Range<usize> {
    let start = words[0].start;
    let mut end = start;
    for word in words.iter().take(length) {
        if word.start != end || word.end - start > most {
            break;
        }
        end = word.end;
    }
    start..end
}

/// A length from 1 to the longest, by a number from [0, 1): the inverse of the geometric distribution, cut off.
fn length(rates: &Rates, unit: f64) -> usize {
    if rates.span_p >= 1.0 {
        return 1;
    }
    let more = 1.0 - rates.span_p;
    let longest = rates.span_longest.max(1);
    // The share of all lengths that the cut leaves.
    let within = 1.0 - more.powf(longest as f64);
    let length = (1.0 - unit * within).ln() / more.ln();
    (length as usize + 1).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::random::Purpose;

    #[test]
    fn lengths_are_geometric_up_to_the_longest() {
        let rates = Rates::default();
        let key = Key::new(1, Purpose::Masking, &[]);
        const N: u64 = 200_000;
        let mut counts = [0u32; 11];
        (0..N).for_each(|i| counts[length(&rates, key.unit(i))] += 1);
        let all: f64 = (1..=10).map(|l| 0.2 * 0.8f64.powi(l - 1)).sum();
        assert_eq!(counts[0], 0);
        for l in 1..=10 {
            let expected = N as f64 * 0.2 * 0.8f64.powi(l - 1) / all;
            let found = f64::from(counts[l as usize]);
            assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{l}: {found} instead of {expected}");
        }
        assert_eq!(length(&Rates { span_p: 1.0, ..rates.clone() }, 0.99), 1);
        assert_eq!(length(&Rates { span_longest: 1, ..rates }, 0.99), 1);
    }
}
