//! Labels of tokens -> labels of words -> entities.
//!
//! The strategies are those of the token classification of `transformers`; `docs/tasks.md` says where its code does something
//! else than its words, and what is done here. All is arithmetic over tokens whose probabilities are known.

use std::ops::Range;

use super::request::Aggregation;
use super::scheme::Scheme;

/// The tokens of a text, tagged.
pub(super) struct TaggedTokens<'a> {
    /// Name of each label.
    pub labels: &'a [String],
    /// The label of each token.
    pub path: &'a [usize],
    /// (tokens, labels), row after row.
    pub probabilities: &'a [f32],
    /// Whether each token goes on with the word of the one before it.
    pub continues: &'a [bool],
}

/// An entity, by its tokens.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    pub label: String,
    pub score: f32,
    pub tokens: Range<usize>,
}

/// What has one label: a token, or a word.
struct Unit {
    label: usize,
    score: f64,
    tokens: Range<usize>,
}

/// The label of what is no entity.
const OUTSIDE: &str = "O";

impl TaggedTokens<'_> {
    /// The entities, in the order of the text.
    pub fn entities(&self, aggregation: Aggregation, scheme: Option<Scheme>) -> Vec<Group> {
        let units = self.units(aggregation);
        if aggregation == Aggregation::None {
            return units
                .iter()
                .filter(|unit| self.labels[unit.label] != OUTSIDE)
                .map(|unit| group(&self.labels[unit.label], &[unit]))
                .collect();
        }
        let scheme = scheme.unwrap_or_else(|| Scheme::of(self.labels));
        let mark = |unit: &Unit| scheme.read(&self.labels[unit.label]);
        let mut entities = Vec::new();
        for run in units.chunk_by(|a, b| mark(a).goes_on(mark(b))) {
            if self.labels[run[0].label] != OUTSIDE {
                entities.push(group(mark(&run[0]).kind, &run.iter().collect::<Vec<_>>()));
            }
        }
        entities
    }

    fn units(&self, aggregation: Aggregation) -> Vec<Unit> {
        let of_token = |token: usize| {
            let label = self.path[token];
            Unit { label, score: f64::from(self.row(token)[label]), tokens: token..token + 1 }
        };
        let of_word = |tokens: Range<usize>| match aggregation {
            Aggregation::None | Aggregation::Simple | Aggregation::First => Unit { tokens: tokens.clone(), ..of_token(tokens.start) },
            Aggregation::Average => {
                let mean = |label: usize| tokens.clone().map(|t| f64::from(self.row(t)[label])).sum::<f64>() / tokens.len() as f64;
                let (label, score) = most((0..self.labels.len()).map(mean));
                Unit { label, score, tokens: tokens.clone() }
            }
            Aggregation::Max => {
                let best = |token: usize| most(self.row(token).iter().map(|p| f64::from(*p)));
                let (token, score) = most(tokens.clone().map(|t| best(t).1));
                Unit { label: best(tokens.start + token).0, score, tokens }
            }
        };
        match aggregation {
            Aggregation::None | Aggregation::Simple => (0..self.path.len()).map(of_token).collect(),
            _ => self.words().into_iter().map(of_word).collect(),
        }
    }

    /// The tokens of each word.
    fn words(&self) -> Vec<Range<usize>> {
        let mut words: Vec<Range<usize>> = Vec::new();
        for (token, continues) in self.continues.iter().enumerate() {
            match words.last_mut().filter(|_| *continues) {
                Some(word) => word.end = token + 1,
                None => words.push(token..token + 1),
            }
        }
        words
    }

    fn row(&self, token: usize) -> &[f32] {
        &self.probabilities[token * self.labels.len()..(token + 1) * self.labels.len()]
    }
}

/// Units of one entity; its score is the mean of theirs.
fn group(label: &str, units: &[&Unit]) -> Group {
    let score = units.iter().map(|unit| unit.score).sum::<f64>() / units.len() as f64;
    Group { label: label.to_owned(), score: score as f32, tokens: units[0].tokens.start..units[units.len() - 1].tokens.end }
}

/// The place of the largest value, of equals the first, and that value.
pub(super) fn most(values: impl Iterator<Item = f64>) -> (usize, f64) {
    values.enumerate().fold((0, f64::NEG_INFINITY), |best, (i, v)| if v > best.1 { (i, v) } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the strategies make of five tokens, of which the second and third go on with the first one's word.
    fn entities(aggregation: Aggregation, path: &[usize], probabilities: &[f32]) -> Vec<(String, f32, Range<usize>)> {
        let labels = ["O", "B-A", "I-A", "B-B"].map(str::to_owned);
        let tagged = TaggedTokens { labels: &labels, path, probabilities, continues: &[false, true, true, false, false] };
        tagged.entities(aggregation, None).into_iter().map(|g| (g.label, g.score, g.tokens)).collect()
    }

    #[test]
    fn each_strategy_labels_words_its_own_way() {
        #[rustfmt::skip]
        let probabilities = [
            0.1, 0.5, 0.2, 0.2, // B-A
            0.0, 0.0, 0.1, 0.9, // B-B
            0.4, 0.3, 0.2, 0.1, // O
            0.2, 0.1, 0.6, 0.1, // I-A
            0.7, 0.1, 0.1, 0.1, // O
        ];
        let path = [1, 3, 0, 2, 0];
        let of = |aggregation| entities(aggregation, &path, &probabilities);
        let none = of(Aggregation::None);
        assert_eq!(none.iter().map(|e| e.0.as_str()).collect::<Vec<_>>(), ["B-A", "B-B", "I-A"]);
        assert_eq!(of(Aggregation::Simple), [("A".into(), 0.5, 0..1), ("B".into(), 0.9, 1..2), ("A".into(), 0.6, 3..4)]);
        assert_eq!(of(Aggregation::First), [("A".into(), 0.55, 0..4)]);
        assert_eq!(of(Aggregation::Max), [("B".into(), 0.9, 0..3), ("A".into(), 0.6, 3..4)]);
        assert_eq!(of(Aggregation::Average), [("B".into(), 0.4, 0..3), ("A".into(), 0.6, 3..4)]);
    }

    #[test]
    fn no_tokens_are_no_entities() {
        let tagged = TaggedTokens { labels: &["A".to_owned()], path: &[], probabilities: &[], continues: &[] };
        for (_, aggregation) in Aggregation::ALL {
            assert_eq!(tagged.entities(*aggregation, None), []);
        }
    }
}
