//! Which parts of a context may answer a question?
//!
//! As the question answering of `transformers` counts: within a window, each token has a probability that the answer starts there,
//! and one that it ends there, over the context's tokens and the first token, which stands for no answer (Devlin et al., BERT,
//! 2018, for SQuAD 2). A span's score is their product. `extract` joins the windows.

use std::collections::HashSet;

/// The numbers of one window: of its first token, and of the context's tokens in it.
pub(super) struct Window {
    /// Number of its first token of the context.
    first: usize,
    null: [f32; 2],
    /// Start and end.
    logits: Vec<[f32; 2]>,
}

/// A span of one window, by bytes of the context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub place: (usize, usize),
    pub score: f64,
    /// The sum of both raw numbers.
    pub logit: f32,
}

/// Which spans are looked for.
pub(super) struct Wanted<'c> {
    /// Tokens of a span at most.
    pub longest: usize,
    /// The least sum of raw numbers.
    pub least: f32,
    /// How many places are kept.
    pub top: usize,
    /// For each token of the context, where its word begins and ends.
    pub words: &'c [(usize, usize)],
}

impl Window {
    /// The window whose rows are `rows`, two numbers a token; `context` of them, from `at` on, are the context's, the first of these
    /// its token `first`.
    pub fn new(rows: &[f32], at: usize, context: usize, first: usize) -> Window {
        let row = |i: usize| [rows[2 * i], rows[2 * i + 1]];
        Window { first, null: row(0), logits: (at..at + context).map(row).collect() }
    }

    /// The probability that there is no answer, and the sum of its raw numbers.
    pub fn no_answer(&self) -> (f64, f32) {
        let [start, end] = [self.sums(0), self.sums(1)];
        (start.of(self.null[0]) * end.of(self.null[1]), self.null[0] + self.null[1])
    }

    /// The best spans, best first, each place once.
    pub fn best(&self, wanted: &Wanted<'_>) -> Vec<Span> {
        let [start, end] = [0, 1].map(|which| {
            let sums = self.sums(which);
            self.logits.iter().map(|l| sums.of(l[which])).collect::<Vec<f64>>()
        });
        let mut spans = Vec::new();
        for (from, first) in self.logits.iter().enumerate() {
            for (to, last) in self.logits.iter().enumerate().skip(from).take(wanted.longest) {
                let logit = first[0] + last[1];
                if logit >= wanted.least {
                    let place = (wanted.words[self.first + from].0, wanted.words[self.first + to].1);
                    spans.push(Span { place, score: start[from] * end[to], logit });
                }
            }
        }
        distinct(spans, wanted.top)
    }

    fn sums(&self, which: usize) -> Sum {
        let all = || self.logits.iter().chain([&self.null]).map(|l| f64::from(l[which]));
        let most = all().fold(f64::NEG_INFINITY, f64::max);
        Sum { most, sum: all().map(|v| (v - most).exp()).sum() }
    }
}

/// The denominator of a softmax.
struct Sum {
    most: f64,
    sum: f64,
}

impl Sum {
    fn of(&self, logit: f32) -> f64 {
        (f64::from(logit) - self.most).exp() / self.sum
    }
}

/// The best spans, best first, each place once: of equals those with the higher raw numbers, then the earlier, then the shorter.
pub(super) fn distinct(mut spans: Vec<Span>, top: usize) -> Vec<Span> {
    spans.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.logit.total_cmp(&a.logit)).then(a.place.cmp(&b.place)));
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for span in spans {
        if kept.len() == top {
            break;
        }
        if seen.insert(span.place) {
            kept.push(span);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &[(usize, usize)] = &[(0, 1), (2, 9), (2, 9), (10, 12)];

    fn wanted(longest: usize, top: usize) -> Wanted<'static> {
        Wanted { longest, least: f32::NEG_INFINITY, top, words: WORDS }
    }

    fn window() -> Window {
        // No answer, a token of the question, four of the context, one that closes.
        let rows = [0.0, 0.0, 9.0, 9.0, 1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 1.0, 9.0, 9.0];
        Window::new(&rows, 2, 4, 0)
    }

    #[test]
    fn a_score_is_the_product_of_two_probabilities_over_the_context_and_no_answer() {
        let e = |x: f64| x.exp();
        let starts = e(0.0) + e(1.0) + e(2.0) + e(0.0) + e(0.0);
        let ends = e(0.0) + e(0.0) + e(0.0) + e(3.0) + e(1.0);
        let best = &window().best(&wanted(15, 1))[0];
        assert_eq!((best.place, best.logit), ((2, 9), 5.0));
        assert!((best.score - e(2.0) / starts * e(3.0) / ends).abs() < 1e-12);
        assert!((window().no_answer().0 - 1.0 / starts / ends).abs() < 1e-12);
    }

    #[test]
    fn places_are_distinct_within_the_length_and_never_backwards() {
        let all = window().best(&wanted(15, 99));
        assert_eq!(all.len(), 6, "(first, last) words of three: {all:?}");
        assert!(all.windows(2).all(|two| two[0].score >= two[1].score));
        let short: Vec<_> = window().best(&wanted(1, 99)).iter().map(|s| s.place).collect();
        assert_eq!(short.len(), 3);
        let few = Wanted { least: 4.0, ..wanted(15, 99) };
        assert_eq!(window().best(&few).iter().map(|s| s.place).collect::<Vec<_>>(), [(2, 9), (0, 9)]);
    }

    #[test]
    fn an_empty_context_has_no_answer_for_certain() {
        let empty = Window::new(&[0.5, -0.5, 1.0, 1.0], 2, 0, 0);
        assert_eq!((empty.no_answer(), empty.best(&wanted(15, 9)).len()), ((1.0, 0.0), 0));
    }
}
