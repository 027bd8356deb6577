//! How alike are texts?
//!
//! The cosine of their vectors: between each two as a [`Table`], or with a query's vector as a [`Ranking`].

use serde::Serialize;
use serde_json::value::RawValue;

use super::Outcome;
use super::encode::Sink;
use super::input::Input;
use super::output::{Out, excerpt};
use crate::error::{Error, ErrorKind};
use crate::tasks::{Embeddings, cosine};

/// Wider tables are no longer read by people.
const MOST_COLUMNS: usize = 40;
/// Every vector is kept, and the work grows with the square.
const MOST_TEXTS: usize = 10_000;

/// A whole number takes less room in a table, and has no -0.
fn percent(cosine: f32) -> i32 {
    (cosine * 100.0).round() as i32
}

/// The vector of each finished text of an answer.
fn finished(inputs: Vec<Input>, answer: &Embeddings) -> impl Iterator<Item = (Input, &[f32])> {
    let all = answer.vectors.as_f32().unwrap_or_default();
    inputs.into_iter().take(answer.finished).zip(all.chunks(answer.dimensions.max(1)))
}

/// The cosine of each two texts.
pub(super) struct Table {
    json: bool,
    texts: Vec<(Input, Vec<f32>)>,
}

impl Table {
    pub fn new(json: bool) -> Table {
        Table { json, texts: Vec::new() }
    }

    fn row(&self, vector: &[f32]) -> Vec<f32> {
        self.texts.iter().map(|(_, other)| cosine(vector, other)).collect()
    }

    fn readable(&self, out: &mut Out) -> Outcome {
        let numbers: String = (1..=self.texts.len()).map(|n| format!("{n:>4}")).collect();
        out.line(format!("     {numbers}   cosine x 100"))?;
        let rows: Vec<Vec<f32>> = self.texts.iter().map(|(_, vector)| self.row(vector)).collect();
        for (n, ((input, _), row)) in self.texts.iter().zip(&rows).enumerate() {
            let cells: String = row.iter().map(|c| format!("{:>4}", percent(*c))).collect();
            out.line(format!("{:>4} {cells}   {}", n + 1, excerpt(&input.text, 60)))?;
        }
        self.most_alike(&rows, out)
    }

    /// The three closest pairs, in words.
    fn most_alike(&self, rows: &[Vec<f32>], out: &mut Out) -> Outcome {
        let mut pairs: Vec<(f32, usize, usize)> = (0..rows.len()).flat_map(|i| (0..i).map(move |j| (rows[i][j], j, i))).collect();
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        if rows.len() < 3 {
            return Ok(());
        }
        out.line("")?;
        out.line("Most alike:")?;
        for (score, a, b) in pairs.into_iter().take(3) {
            let text = |i: usize| excerpt(&self.texts[i].0.text, 50);
            out.line(format!("{:>4}  {}  ~  {}", percent(score), text(a), text(b)))?;
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Similarities<'a> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    similarities: Vec<f32>,
}

impl Sink for Table {
    fn take(&mut self, inputs: Vec<Input>, answer: &Embeddings, _out: &mut Out) -> Outcome {
        let most = if self.json { MOST_TEXTS } else { MOST_COLUMNS };
        if self.texts.len() + inputs.len() > most {
            let hint = if self.json { "" } else { "; --json goes further" };
            let message = format!("--similarity compares at most {most} texts{hint}");
            return Err(Error::new(ErrorKind::InvalidArgument, message).into());
        }
        self.texts.extend(finished(inputs, answer).map(|(input, vector)| (input, vector.to_vec())));
        Ok(())
    }

    fn finish(&mut self, out: &mut Out) -> Outcome {
        if !self.json && !self.texts.is_empty() {
            return self.readable(out);
        }
        for (input, vector) in &self.texts {
            out.json(&Similarities { index: input.index, id: input.id.as_deref(), similarities: self.row(vector) })?;
        }
        Ok(())
    }
}

/// The texts closest to a query; only the best are kept.
pub(super) struct Ranking {
    query: String,
    vector: Vec<f32>,
    top: usize,
    json: bool,
    best: Vec<(f32, Input)>,
}

impl Ranking {
    pub fn new(query: &str, vector: Vec<f32>, top: usize, json: bool) -> Ranking {
        Ranking { query: query.to_owned(), vector, top, json, best: Vec::new() }
    }

    /// Keeps the best, of equals the earlier.
    fn offer(&mut self, score: f32, input: Input) {
        let place = self.best.partition_point(|(other, _)| *other >= score);
        if place < self.top {
            self.best.insert(place, (score, input));
            self.best.truncate(self.top);
        }
    }
}

#[derive(Serialize)]
struct Ranked<'a> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    rank: usize,
    score: f32,
}

impl Sink for Ranking {
    fn take(&mut self, inputs: Vec<Input>, answer: &Embeddings, _out: &mut Out) -> Outcome {
        for (input, vector) in finished(inputs, answer) {
            if vector.len() != self.vector.len() {
                return Err(Error::new(ErrorKind::InvalidArgument, "the query's vector has another length than the texts'").into());
            }
            self.offer(cosine(&self.vector, vector), input);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Out) -> Outcome {
        if !self.json {
            out.line(format!("Query: {}", excerpt(&self.query, 100)))?;
        }
        for (rank, (score, input)) in self.best.iter().enumerate() {
            if self.json {
                out.json(&Ranked { index: input.index, id: input.id.as_deref(), rank, score: *score })?;
            } else {
                out.line(format!("{:>4}.  {score:>5.2}  {}", rank + 1, excerpt(&input.text, 100)))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cosine_is_that_of_the_schoolbook() {
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 2.0]), 0.0);
        assert_eq!(cosine(&[3.0, 4.0], &[6.0, 8.0]), 1.0);
        assert_eq!(cosine(&[1.0, 1.0], &[-1.0, -1.0]), -1.0);
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), 0.0);
        assert!((cosine(&[1.0, 0.0], &[1.0, 1.0]) - 0.5f32.sqrt()).abs() < 1e-7);
    }

    #[test]
    fn a_ranking_keeps_the_best_and_of_equals_the_earlier() {
        let mut ranking = Ranking::new("q", vec![1.0], 3, true);
        for (index, score) in [0.1, 0.5, 0.3, 0.5, 0.2, 0.9].into_iter().enumerate() {
            ranking.offer(score, Input { index, text: String::new(), words: None, pair: None, id: None });
        }
        let order: Vec<_> = ranking.best.iter().map(|(_, input)| input.index).collect();
        assert_eq!(order, [5, 1, 3]);
    }
}
