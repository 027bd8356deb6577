//! How near are numbers to those that are right? As `scipy.stats` and scikit-learn have it.

use super::{check_lengths, mean};
use crate::error::Result;

/// The mean of squared differences.
///
/// # Errors
/// `InvalidArgument` for lists of different lengths or none.
pub fn mean_squared_error(gold: &[f64], answered: &[f64]) -> Result<f64> {
    check_lengths(gold.len(), answered.len())?;
    Ok(mean(gold.iter().zip(answered).map(|(gold, answered)| (gold - answered).powi(2))))
}

/// Pearson's correlation; `None` where one of the lists is a constant, or has what is no number.
///
/// # Errors
/// `InvalidArgument` for lists of different lengths or none.
pub fn pearson(gold: &[f64], answered: &[f64]) -> Result<Option<f64>> {
    check_lengths(gold.len(), answered.len())?;
    let around_mean = |values: &[f64]| {
        let mean = mean(values.iter().copied());
        let constant = values.iter().all(|value| *value == values[0]);
        let apart: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let length = apart.iter().map(|value| value * value).sum::<f64>().sqrt();
        (!constant && length > 0.0).then(|| apart.into_iter().map(|value| value / length).collect::<Vec<f64>>())
    };
    let (Some(gold), Some(answered)) = (around_mean(gold), around_mean(answered)) else { return Ok(None) };
    Ok(Some(gold.iter().zip(answered).map(|(a, b)| a * b).sum::<f64>().clamp(-1.0, 1.0)))
}

/// Spearman's correlation: Pearson's of the ranks, equals sharing the mean of theirs. `None` as for [`pearson`].
///
/// # Errors
/// `InvalidArgument` for lists of different lengths or none.
pub fn spearman(gold: &[f64], answered: &[f64]) -> Result<Option<f64>> {
    if gold.iter().chain(answered).any(|value| value.is_nan()) {
        return check_lengths(gold.len(), answered.len()).map(|()| None);
    }
    pearson(&ranks(gold), &ranks(answered))
}

/// The rank of each value, from 1.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equals in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = before as f64 + (equals.len() + 1) as f64 / 2.0;
        equals.iter().for_each(|place| ranks[*place] = rank);
        before += equals.len();
    }
    ranks
}
