//! Which tokens are hidden, and behind what?
//!
//! The tokens of a sequence -> units that are hidden together (`units`: tokens, words, spans, phrases; a scheme a row of [`SCHEMES`]) -> some of
//! them, drawn by lot up to the rate -> mask tokens, other tokens, or the same ones (80/10/10). All of it is a function of a key.

mod phrases;
mod spans;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use phrases::Phrases;

use super::random::Key;

/// A way of hiding tokens.
#[derive(Debug)]
pub struct Scheme {
    /// What it is called.
    pub name: &'static str,
    /// What it hides, in a line.
    pub about: &'static str,
    /// Draws what is hidden.
    draw: fn(&Line<'_>, &Rates, usize, Key) -> Vec<Range<usize>>,
    /// Whether one draw decides what all tokens of a unit are replaced with, as in SpanBERT and ERNIE; otherwise each token has its own, as in BERT.
    together: bool,
    /// Whether the hidden ranges are handed on as spans.
    pub spans: bool,
    /// Whether it needs a list of phrases.
    pub phrases: bool,
}

/// Every scheme; the first is the default.
pub const SCHEMES: &[Scheme] = &[
    Scheme { name: "token", about: "single tokens (BERT)", draw: tokens, together: false, spans: false, phrases: false },
    Scheme {
        name: "whole_word",
        about: "whole words (BERT, whole word masking)",
        draw: words,
        together: false,
        spans: false,
        phrases: false,
    },
    Scheme {
        name: "span",
        about: "spans of whole words of geometric length (SpanBERT)",
        draw: spans::spans,
        together: true,
        spans: true,
        phrases: false,
    },
    Scheme {
        name: "phrase",
        about: "phrases of a list, and whole words elsewhere (ERNIE 1.0)",
        draw: phrases,
        together: true,
        spans: false,
        phrases: true,
    },
];

/// How much is hidden, and behind what.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// The share of the tokens of a text that is hidden.
    pub masked: f64,
    /// The share of the hidden tokens that become the mask token.
    pub as_mask: f64,
    /// The share of them that become another token of the vocabulary; the rest stays as it is.
    pub as_random: f64,
    /// Hidden tokens of one sequence at most.
    pub most: usize,
    /// Of the geometric distribution of the lengths of spans, in words.
    pub span_p: f64,
    /// The longest span, in words.
    pub span_longest: usize,
}

impl Default for Rates {
    fn default() -> Self {
        Rates { masked: 0.15, as_mask: 0.8, as_random: 0.1, most: usize::MAX, span_p: 0.2, span_longest: 10 }
    }
}

/// The tokens of one sequence.
pub(super) struct Line<'a> {
    pub ids: &'a [u32],
    /// Whether a token may be hidden: special ones may not.
    pub text: &'a [bool],
    /// Whether a word begins with a token.
    pub starts: &'a [bool],
    pub phrases: Option<&'a Phrases>,
}

/// The tokens that can stand in a hidden place.
#[derive(Clone, Debug)]
pub(super) struct Replacements {
    pub mask: u32,
    pub vocabulary: usize,
    /// Ids that are never drawn, ascending.
    pub special: Vec<u32>,
}

impl Replacements {
    /// Any token but the special ones.
    fn any(&self, key: Key, counter: u64) -> u32 {
        let mut id = key.below(counter, (self.vocabulary - self.special.len()) as u64) as u32;
        // The n-th of those that are left, by stepping over each special one that is not above.
        for special in &self.special {
            id += u32::from(id >= *special);
        }
        id
    }
}

/// Independent numbers for one sequence.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    /// What is hidden.
    pub chosen: Key,
    /// Behind what.
    pub replaced: Key,
}

/// What was hidden.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hidden {
    pub ids: Vec<u32>,
    pub masked: Vec<(usize, u32)>,
    pub spans: Vec<(usize, usize)>,
}

impl Scheme {
    /// Hides some tokens of a sequence.
    pub(super) fn hide(&self, line: &Line<'_>, rates: &Rates, replacements: &Replacements, keys: Keys) -> Hidden {
        let budget = budget(line, rates, keys.chosen);
        let mut ranges = (self.draw)(line, rates, budget, keys.chosen.and(1));
        ranges.sort_unstable_by_key(|range| range.start);
        let mut hidden = Hidden { ids: line.ids.to_vec(), ..Hidden::default() };
        for range in ranges {
            for place in range.clone() {
                let decides = if self.together { range.start } else { place };
                let drawn = keys.replaced.unit(decides as u64);
                hidden.masked.push((place, line.ids[place]));
                if drawn < rates.as_mask {
                    hidden.ids[place] = replacements.mask;
                } else if drawn < rates.as_mask + rates.as_random {
                    hidden.ids[place] = replacements.any(keys.replaced.and(1), place as u64);
                }
            }
            if self.spans {
                hidden.spans.push((range.start, range.end));
            }
        }
        hidden
    }
}

/// How many tokens are hidden: the rate on average, at least one, and never more than allowed.
fn budget(line: &Line<'_>, rates: &Rates, key: Key) -> usize {
    let able = line.text.iter().filter(|text| **text).count();
    let wanted = able as f64 * rates.masked;
    let up = key.unit(0) < wanted.fract();
    let least = usize::from(rates.masked > 0.0);
    (wanted as usize + usize::from(up)).max(least).min(able).min(rates.most)
}

/// Takes units in random order while they fit. Where none does, the shortest is taken if it is allowed at all, so that a sequence of long words is not
/// without any.
fn draw(mut units: Vec<Range<usize>>, rates: &Rates, budget: usize, key: Key) -> Vec<Range<usize>> {
    units.sort_unstable_by_key(|unit| (key.bits(unit.start as u64), unit.start));
    let mut left = budget;
    let mut chosen = Vec::new();
    for unit in &units {
        if left == 0 {
            break;
        }
        if unit.len() <= left {
            left -= unit.len();
            chosen.push(unit.clone());
        }
    }
    if chosen.is_empty() && budget > 0 {
        chosen.extend(units.into_iter().min_by_key(ExactSizeIterator::len).filter(|unit| unit.len() <= rates.most));
    }
    chosen
}

fn tokens(line: &Line<'_>, rates: &Rates, budget: usize, key: Key) -> Vec<Range<usize>> {
    let units = (0..line.ids.len()).filter(|&place| line.text[place]).map(|place| place..place + 1);
    draw(units.collect(), rates, budget, key)
}

fn words(line: &Line<'_>, rates: &Rates, budget: usize, key: Key) -> Vec<Range<usize>> {
    draw(line.words(), rates, budget, key)
}

fn phrases(line: &Line<'_>, rates: &Rates, budget: usize, key: Key) -> Vec<Range<usize>> {
    let words = line.words();
    let units = match line.phrases {
        Some(phrases) => phrases.join(line.ids, &words),
        None => words,
    };
    draw(units, rates, budget, key)
}

impl Line<'_> {
    /// The words, in order: tokens that can be hidden, up to the next that begins a word.
    fn words(&self) -> Vec<Range<usize>> {
        let mut words: Vec<Range<usize>> = Vec::new();
        for place in (0..self.ids.len()).filter(|&place| self.text[place]) {
            match words.last_mut().filter(|word| word.end == place && !self.starts[place]) {
                Some(word) => word.end += 1,
                None => words.push(place..place + 1),
            }
        }
        words
    }
}
