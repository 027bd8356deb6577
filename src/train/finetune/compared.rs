//! Which texts are compared with each other? From scored pairs, triplets, choices and collections to examples of several sequences.

use std::collections::BTreeMap;

use super::examples::{Answer, Example, Text};
use super::read::{Reading, number};
use super::task::Problem;
use super::vectors::VectorLoss;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::train::labelled::choices::Choices;
use crate::train::labelled::retrieval::Collection;
use crate::train::labelled::triplets::Triplet;
use crate::train::labelled::{Row, Target};
use crate::train::random::{Key, Purpose};

impl Reading<'_> {
    /// Rows of two texts with a number; numbers above 1 are shares of the largest.
    pub(super) fn pairs(&self, rows: &[Row]) -> Result<Vec<Example>> {
        let largest = rows.iter().map(number).fold(1.0, f64::max);
        let share = |row: &Row| (number(row) / largest) as f32;
        let second = |row: &Row| -> Result<String> {
            row.pair.clone().ok_or_else(|| {
                Error::new(ErrorKind::InvalidFile, "there is no second text; name its column with `pair`").within(&row.place)
            })
        };
        if self.problem == Problem::Rank && self.settings.rank_loss.of_pairs() {
            let mut queries: BTreeMap<&str, Vec<(String, f32)>> = BTreeMap::new();
            for row in rows {
                queries.entry(&row.text).or_default().push((second(row)?, share(row)));
            }
            let mut examples = Vec::new();
            for (at, (query, documents)) in queries.into_iter().enumerate() {
                examples.extend(self.better_and_worse(at, query, &documents)?);
            }
            return Ok(examples);
        }
        let example = |row: &Row| {
            let pair = second(row)?;
            let sequences = if self.problem == Problem::Rank {
                vec![self.both(&row.text, &pair)?]
            } else {
                vec![self.alone(&row.text)?, self.alone(&pair)?]
            };
            let answer = match &row.target {
                Some(Target::Class(name)) => Answer::Class(self.number(name)?),
                _ => Answer::Score(share(row)),
            };
            Ok(Example::new(sequences, answer))
        };
        rows.iter().map(|row| example(row).map_err(|e: Error| e.within(&row.place))).collect()
    }

    /// Each document of a query with some that are worse, chosen by lot.
    fn better_and_worse(&self, at: usize, query: &str, documents: &[(String, f32)]) -> Result<Vec<Example>> {
        let mut examples = Vec::new();
        for (i, (better, grade)) in documents.iter().enumerate() {
            let worse: Vec<&(String, f32)> = documents.iter().filter(|(_, other)| other < grade).collect();
            for (worse, other) in self.some(&worse, &[at as u64, i as u64]) {
                let sequences = vec![self.both(query, better)?, self.both(query, worse)?];
                examples.push(Example::new(sequences, Answer::Score(grade - other)));
            }
        }
        Ok(examples)
    }

    /// As many as the settings say of these, chosen by lot.
    fn some<'t, T>(&self, all: &[&'t T], words: &[u64]) -> Vec<&'t T> {
        let key = Key::new(self.settings.run.seed, Purpose::Texts, words);
        let mut left = all.to_vec();
        let count = self.settings.negatives.min(left.len());
        (0..count).map(|i| left.swap_remove(key.place(i as u64, left.len()))).collect()
    }

    /// Texts that belong together, and some that do not.
    pub(super) fn triplets(&self, triplets: &[Triplet]) -> Result<Vec<Example>> {
        let fewest = triplets.iter().map(|triplet| triplet.negatives.len()).min().unwrap_or(0);
        let negatives = match self.settings.vector_loss {
            VectorLoss::Cosine => {
                return fail(
                    ErrorKind::InvalidArgument,
                    "`vector_loss = cosine` needs a number for two texts; say `vector_loss = contrast` or `vector_loss = triplet`",
                );
            }
            VectorLoss::Triplet if fewest == 0 => {
                return fail(
                    ErrorKind::InvalidArgument,
                    "`vector_loss = triplet` needs a text that does not belong to the others in each row",
                );
            }
            VectorLoss::Relation => {
                return fail(
                    ErrorKind::InvalidArgument,
                    "`vector_loss = relation` needs two texts and the name of their relation in each row",
                );
            }
            VectorLoss::Triplet => 1,
            // Each example of a batch has as many vectors.
            VectorLoss::Contrast => fewest.min(self.settings.negatives),
        };
        let example = |triplet: &Triplet| {
            let texts = [&triplet.anchor, &triplet.positive].into_iter().chain(&triplet.negatives[..negatives]);
            let sequences = texts.map(|text| self.alone(text)).collect::<Result<_>>().map_err(|e| e.within(&triplet.place))?;
            Ok(Example::new(sequences, Answer::Score(1.0)))
        };
        triplets.iter().map(example).collect()
    }

    /// A beginning with each of its choices.
    pub(super) fn choices(&self, questions: &[Choices]) -> Result<Vec<Example>> {
        let example = |question: &Choices| {
            let Some(right) = question.right else { return fail(ErrorKind::InvalidFile, "the row does not say which choice is right") };
            let sequences = question.seconds.iter().map(|second| self.both(&question.first, second)).collect::<Result<_>>()?;
            Ok(Example::new(sequences, Answer::Choice(right)))
        };
        questions.iter().map(|question| example(question).map_err(|e| e.within(&question.place))).collect()
    }

    /// Queries with their relevant documents, and others that are not, chosen by lot.
    pub(super) fn collection(&self, collection: &Collection) -> Result<Vec<Example>> {
        let mut examples = Vec::new();
        for (at, query) in collection.queries.iter().enumerate() {
            let judged = &collection.judgements[&query.id];
            let grade = |id: &str| judged.get(id).copied().unwrap_or(0);
            let relevant: Vec<String> = collection.documents.iter().filter(|d| grade(&d.id) > 0).map(|d| d.whole()).collect();
            if self.problem == Problem::Embed {
                for document in &relevant {
                    examples.push(Example::new(vec![self.alone(&query.text)?, self.alone(document)?], Answer::Score(1.0)));
                }
                continue;
            }
            let others: Vec<_> = collection.documents.iter().filter(|d| grade(&d.id) <= 0).collect();
            for (i, document) in relevant.iter().enumerate() {
                let better = self.both(&query.text, document)?;
                for (k, other) in self.some(&others, &[at as u64, i as u64]).into_iter().enumerate() {
                    let worse = self.both(&query.text, &other.whole())?;
                    if self.settings.rank_loss.of_pairs() {
                        examples.push(Example::new(vec![better.clone(), worse], Answer::Score(1.0)));
                        continue;
                    }
                    if k == 0 {
                        examples.push(Example::new(vec![better.clone()], Answer::Score(1.0)));
                    }
                    examples.push(Example::new(vec![worse], Answer::Score(0.0)));
                }
            }
        }
        Ok(examples)
    }

    /// A text.
    fn alone(&self, text: &str) -> Result<Text> {
        Ok(Text::from(&self.tokenizer.encode(text, None, &self.limit)?.windows[0]))
    }

    /// Two texts as one sequence.
    fn both(&self, first: &str, second: &str) -> Result<Text> {
        Ok(Text::from(&self.tokenizer.encode(first, Some(second), &self.limit)?.windows[0]))
    }
}
