//! Which sequence of labels is most probable, where neighbours depend on each other?
//!
//! A linear-chain conditional random field over a tagger's numbers: a path of labels scores the sum of its numbers, of its
//! transitions from each label to the next, and of how well its first label starts and its last one ends (Lafferty, McCallum and
//! Pereira, Conditional Random Fields, 2001). The best path is Viterbi's; how probable a label is at a place, over all paths, is
//! found forwards and backwards. Tensors have the names of pytorch-crf and AllenNLP: `crf.transitions` from row to column,
//! `crf.start_transitions`, `crf.end_transitions`.

use super::loader::Loader;
use crate::error::{ErrorKind, Result, fail};

/// The transitions of a head. Numbers may be minus infinity: what cannot follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Crf {
    /// How well each label starts.
    start: Vec<f32>,
    /// How well each label ends.
    end: Vec<f32>,
    /// From each label to each, row after row.
    transitions: Vec<f32>,
}

/// What the names of its tensors begin with.
pub(super) const TENSORS: &str = "crf.";

/// What a path costs, and the gradient of each number that it depends on.
#[cfg(feature = "train")]
#[derive(Clone, Debug, PartialEq)]
pub struct PathCost {
    /// Minus the logarithm of its probability.
    pub cost: f64,
    /// (places, labels), row after row.
    pub emissions: Vec<f64>,
    /// Of each label as a first one.
    pub start: Vec<f64>,
    /// Of each label as a last one.
    pub end: Vec<f64>,
    /// From each label to each, row after row.
    pub transitions: Vec<f64>,
}

/// The best path, and how probable each label is at each place.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// A label a place.
    pub path: Vec<usize>,
    /// (places, labels), row after row; a row adds up to 1.
    pub marginals: Vec<f32>,
}

impl Crf {
    /// Loads the transitions between `labels` labels; their names begin with `prefix`.
    pub(super) fn load(loader: &mut Loader, prefix: &str, labels: usize) -> Result<Crf> {
        let mut take = |name: &str, shape: &[usize]| {
            let name = format!("{prefix}{name}");
            let numbers = loader.numbers(&name, shape)?;
            match numbers.iter().find(|v| v.is_nan() || **v == f32::INFINITY) {
                Some(v) => fail(ErrorKind::InvalidTensor, format!("tensor {name:?} holds {v}, which is no score of a transition")),
                None => Ok(numbers),
            }
        };
        let (start, end) = (take("start_transitions", &[labels])?, take("end_transitions", &[labels])?);
        Ok(Crf { start, end, transitions: take("transitions", &[labels, labels])? })
    }

    /// The transitions of these numbers: of each label as a first one, as a last one, and from each to each.
    #[cfg(feature = "train")]
    pub fn of(start: &[f32], end: &[f32], transitions: &[f32]) -> Crf {
        Crf { start: start.to_vec(), end: end.to_vec(), transitions: transitions.to_vec() }
    }

    /// Transitions between `labels` labels that say nothing.
    #[cfg(feature = "train")]
    pub(super) fn nothing(labels: usize) -> Crf {
        Crf { start: vec![0.0; labels], end: vec![0.0; labels], transitions: vec![0.0; labels * labels] }
    }

    /// Its tensors: their names, shapes and numbers.
    #[cfg(feature = "train")]
    pub(super) fn tensors(&self) -> [(String, Vec<usize>, &[f32]); 3] {
        let labels = self.start.len();
        let named = |name: &str| format!("{TENSORS}{name}");
        [
            (named("start_transitions"), vec![labels], &self.start),
            (named("end_transitions"), vec![labels], &self.end),
            (named("transitions"), vec![labels, labels], &self.transitions),
        ]
    }

    /// What it costs that `tags` are the labels of these rows of numbers, minus the logarithm of their probability among all paths; `None` for no
    /// places.
    #[cfg(feature = "train")]
    pub fn cost(&self, rows: &[&[f32]], tags: &[usize]) -> Option<PathCost> {
        let labels = self.start.len();
        let (first, last) = (*tags.first()?, *tags.last()?);
        let (forward, backward) = self.sums(rows);
        let all = log_sum((0..labels).map(|l| forward[rows.len() - 1][l] + f64::from(self.end[l])));
        let own: f64 = tags.iter().zip(rows).map(|(tag, row)| f64::from(row[*tag])).sum();
        let steps: f64 = tags.windows(2).map(|two| self.transition(two[0], two[1])).sum();
        let score = own + steps + f64::from(self.start[first]) + f64::from(self.end[last]);
        let share = |place: usize, label: usize| (forward[place][label] + backward[place][label] - all).exp();
        // How often each number is on a path, less how often it is on the right one.
        let mut emissions: Vec<f64> =
            (0..rows.len()).flat_map(|place| (0..labels).map(move |l| (place, l))).map(|(p, l)| share(p, l)).collect();
        let (mut start, mut end) = (emissions[..labels].to_vec(), emissions[(rows.len() - 1) * labels..].to_vec());
        let mut transitions = vec![0.0; labels * labels];
        for place in 1..rows.len() {
            for (from, to) in (0..labels).flat_map(|from| (0..labels).map(move |to| (from, to))) {
                let through = forward[place - 1][from] + self.transition(from, to) + f64::from(rows[place][to]) + backward[place][to];
                transitions[from * labels + to] += (through - all).exp();
            }
        }
        tags.iter().enumerate().for_each(|(place, tag)| emissions[place * labels + tag] -= 1.0);
        tags.windows(2).for_each(|two| transitions[two[0] * labels + two[1]] -= 1.0);
        start[first] -= 1.0;
        end[last] -= 1.0;
        Some(PathCost { cost: all - score, emissions, start, end, transitions })
    }

    /// Decodes `emissions`, (places, labels) row after row.
    ///
    /// # Errors
    /// `NonFinite` where no path is possible, or a score overflows.
    pub fn decode(&self, emissions: &[f32]) -> Result<Decoded> {
        let labels = self.start.len();
        let rows: Vec<&[f32]> = emissions.chunks(labels.max(1)).collect();
        let Some((path, best)) = self.viterbi(&rows) else { return Ok(Decoded { path: Vec::new(), marginals: Vec::new() }) };
        if !best.is_finite() {
            return fail(ErrorKind::NonFinite, "no sequence of labels is possible: the transitions of the model's crf forbid them all");
        }
        let marginals = self.marginals(&rows);
        if !marginals.iter().all(|p| p.is_finite()) {
            return fail(ErrorKind::NonFinite, "its score is not finite: the transitions of the model's crf are damaged");
        }
        Ok(Decoded { path, marginals })
    }

    fn transition(&self, from: usize, to: usize) -> f64 {
        f64::from(self.transitions[from * self.start.len() + to])
    }

    /// The best path and its score; of equals the one with lower labels. `None` for no places.
    fn viterbi(&self, rows: &[&[f32]]) -> Option<(Vec<usize>, f64)> {
        let labels = 0..self.start.len();
        let (first, rest) = rows.split_first()?;
        let mut scores: Vec<f64> = labels.clone().map(|l| f64::from(self.start[l]) + f64::from(first[l])).collect();
        let mut before: Vec<Vec<u32>> = Vec::with_capacity(rest.len());
        for row in rest {
            let (next, from): (Vec<f64>, Vec<u32>) = labels
                .clone()
                .map(|to| {
                    let (from, score) = most(labels.clone().map(|from| scores[from] + self.transition(from, to)));
                    (score + f64::from(row[to]), from as u32)
                })
                .unzip();
            scores = next;
            before.push(from);
        }
        let (last, best) = most(labels.map(|l| scores[l] + f64::from(self.end[l])));
        let mut path = vec![last];
        for from in before.iter().rev() {
            path.push(from[path[path.len() - 1]] as usize);
        }
        path.reverse();
        Some((path, best))
    }

    /// The probability of each label at each place: all paths through it, as a share of all paths.
    fn marginals(&self, rows: &[&[f32]]) -> Vec<f32> {
        let (forward, backward) = self.sums(rows);
        let mut marginals = Vec::with_capacity(rows.len() * self.start.len());
        for (forward, backward) in forward.iter().zip(&backward) {
            let through = forward.iter().zip(backward).map(|(f, b)| f + b);
            let all = log_sum(through.clone());
            marginals.extend(through.map(|score| (score - all).exp() as f32));
        }
        marginals
    }

    /// Of each place and label: the logarithm of the sum over all beginnings that end there, its own number included, and of that over all endings
    /// that follow it, without its own.
    fn sums(&self, rows: &[&[f32]]) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
        let labels = 0..self.start.len();
        let mut forward: Vec<Vec<f64>> = Vec::with_capacity(rows.len());
        for row in rows {
            let arrive = |to: usize| match forward.last() {
                None => f64::from(self.start[to]),
                Some(scores) => log_sum(labels.clone().map(|from| scores[from] + self.transition(from, to))),
            };
            let scores = labels.clone().map(|to| arrive(to) + f64::from(row[to])).collect();
            forward.push(scores);
        }
        let mut backward = vec![labels.clone().map(|l| f64::from(self.end[l])).collect::<Vec<f64>>()];
        for row in rows.iter().skip(1).rev() {
            let behind = &backward[backward.len() - 1];
            let follow = |from: usize| log_sum(labels.clone().map(|to| self.transition(from, to) + f64::from(row[to]) + behind[to]));
            let before = labels.clone().map(follow).collect();
            backward.push(before);
        }
        backward.reverse();
        (forward, backward)
    }
}

/// The largest value and its place, of equals the first.
fn most(values: impl Iterator<Item = f64>) -> (usize, f64) {
    values.enumerate().fold((0, f64::NEG_INFINITY), |best, (i, v)| if v > best.1 { (i, v) } else { best })
}

/// `ln sum e^x`.
fn log_sum(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if most.is_finite() { most + values.map(|v| (v - most).exp()).sum::<f64>().ln() } else { most }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every path of `places` labels, and its score.
    fn paths(crf: &Crf, rows: &[&[f32]]) -> Vec<(Vec<usize>, f64)> {
        let labels = crf.start.len();
        let path = |mut n: usize| -> Vec<usize> {
            rows.iter()
                .map(|_| {
                    let label = n % labels;
                    n /= labels;
                    label
                })
                .collect()
        };
        let score = |path: &[usize]| -> f64 {
            let own: f64 = path.iter().zip(rows).map(|(l, row)| f64::from(row[*l])).sum();
            let steps: f64 = path.windows(2).map(|two| crf.transition(two[0], two[1])).sum();
            own + steps + f64::from(crf.start[path[0]]) + f64::from(crf.end[path[path.len() - 1]])
        };
        (0..labels.pow(rows.len() as u32)).map(path).map(|p| (p.clone(), score(&p))).collect()
    }

    proptest! {
        #[test]
        fn the_best_path_and_the_probabilities_are_those_over_all_paths(
            labels in 1usize..4, places in 1usize..6, numbers in proptest::collection::vec(-4f32..4.0, 64),
        ) {
            let mut numbers = numbers.iter().copied().cycle();
            let mut next = |n: usize| numbers.by_ref().take(n).collect::<Vec<f32>>();
            let crf = Crf { start: next(labels), end: next(labels), transitions: next(labels * labels) };
            let emissions = next(labels * places);
            let rows: Vec<&[f32]> = emissions.chunks(labels).collect();
            let all = paths(&crf, &rows);
            let decoded = crf.decode(&emissions).unwrap();
            let best = all.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
            let ours = all.iter().find(|p| p.0 == decoded.path).unwrap().1;
            prop_assert!((ours - best).abs() < 1e-9);
            let sum: f64 = all.iter().map(|p| p.1.exp()).sum();
            for place in 0..places {
                for label in 0..labels {
                    let share = all.iter().filter(|p| p.0[place] == label).map(|p| p.1.exp()).sum::<f64>() / sum;
                    prop_assert!((share - f64::from(decoded.marginals[place * labels + label])).abs() < 1e-6);
                }
            }
            #[cfg(feature = "train")]
            for (path, score) in &all {
                let cost = crf.cost(&rows, path).unwrap();
                prop_assert!((cost.cost - (sum.ln() - score)).abs() < 1e-9);
                let sums = [&cost.start, &cost.end].map(|gradient| gradient.iter().sum::<f64>().abs());
                prop_assert!(sums.iter().all(|sum| *sum < 1e-9), "what is likelier for one label is less likely for the others");
            }
        }
    }

    #[test]
    fn what_cannot_follow_does_not_and_where_nothing_can_it_is_said() {
        let no = f32::NEG_INFINITY;
        let crf = Crf { start: vec![0.0, no], end: vec![0.0, 0.0], transitions: vec![0.0, no, 0.0, 0.0] };
        let decoded = crf.decode(&[0.0, 9.0, 0.0, 9.0]).unwrap();
        assert_eq!((decoded.path, decoded.marginals), (vec![0, 0], vec![1.0, 0.0, 1.0, 0.0]));
        let none = Crf { start: vec![no], ..crf.clone() };
        let none = Crf { end: vec![0.0], transitions: vec![0.0], ..none };
        assert_eq!(none.decode(&[1.0]).unwrap_err().kind(), ErrorKind::NonFinite);
        assert_eq!(crf.decode(&[]).unwrap().path, [0; 0]);
    }
}
