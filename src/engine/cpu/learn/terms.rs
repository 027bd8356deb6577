//! The way back over weights of terms, which are made of the scores of all tokens.
//!
//! Scores never stand in memory together, so each chunk of words is scored again in a thread's scratch, transposed as in [`super::vocabulary`]; they
//! become their own gradient there, and the same products are taken. The largest score of a sequence's tokens alone has a gradient, or all
//! of them where weights are sums; none does below 0, where a weight is 0.

use super::super::ops::Work;
use super::vocabulary::{CHUNK, Notes, Words, chunks_of, span};
use crate::engine::cpu::gemm::PANEL;
use crate::engine::graph::{Terms, ValueId};

/// How fast the weight of a score grows.
fn derivative(terms: Terms, x: f32) -> f32 {
    if x <= 0.0 {
        return 0.0;
    }
    let once = 1.0 / (1.0 + x);
    if terms.twice { once / (1.0 + x.ln_1p()) } else { once }
}

impl Work {
    /// Part `part` of the way back: tokens are packed as columns, groups of words take their products, and the groups' gradients are added.
    ///
    /// # Safety
    /// As [`Work::task`].
    pub(super) unsafe fn terms_back(
        &self,
        step: usize,
        (part, task): (usize, usize),
        gradient: ValueId,
        words: Words,
        terms: Terms,
        thread: usize,
    ) {
        // SAFETY: the plan laid the notes out; each part's tasks write places of their own and read what earlier parts wrote.
        unsafe {
            match part {
                0 => self.pack_columns(&self.notes_of(step), words.input, task),
                1 => self.group_of_terms(step, task, gradient, words, terms, thread),
                _ => self.add_groups(step, &self.notes_of(step), task),
            }
        }
    }

    unsafe fn group_of_terms(&self, step: usize, group: usize, gradient: ValueId, words: Words, terms: Terms, thread: usize) {
        let shape = self.notes_of(step).shape;
        // Behind what the table's gradient may need.
        let scores = self.scratch(thread).wrapping_add(CHUNK * PANEL);
        let mut adds = false;
        for chunk in chunks_of(group, shape.groups, shape.chunks()) {
            let notes = self.notes_of(step).with_scores(span(chunk, shape.words).0, scores);
            // SAFETY: the group's own chunks and gradient, the thread's own scratch.
            unsafe {
                self.multiply_words(&notes, words.table, chunk);
                self.gradient_of_term_scores(&notes, chunk, gradient, words, terms);
                if words.learns {
                    self.gradient_of_table(&notes, words, chunk, thread);
                }
                self.gradient_of_tokens(&notes, words, chunk, group, adds);
            }
            adds = true;
        }
        if !adds {
            // SAFETY: as above.
            unsafe { self.no_gradient_of_tokens(&self.notes_of(step), group) }
        }
    }

    /// Scores of the chunk become their gradient; their sums are the bias's.
    unsafe fn gradient_of_term_scores(&self, notes: &Notes, chunk: usize, gradient: ValueId, words: Words, terms: Terms) {
        let (first, rows) = span(chunk, notes.shape.words);
        let bias = &self.vector(words.bias)[first..first + rows];
        for (word, bias) in (first..).zip(bias) {
            let mut sum = 0.0;
            for sequence in 0..self.batch.sequences() {
                let tokens = self.batch.rows(sequence);
                // SAFETY: a row of scores has a column for each token, and this task alone uses it; the gradient is complete.
                let (scores, back) = unsafe {
                    let scores = std::slice::from_raw_parts_mut(notes.score(word, tokens.start), tokens.len());
                    (scores, *self.row(gradient.index(), sequence).add(word))
                };
                let largest = scores.iter().enumerate().fold(0, |best, (i, x)| if *x > scores[best] { i } else { best });
                for (i, score) in scores.iter_mut().enumerate() {
                    let grows = if terms.sum || i == largest { derivative(terms, *score + bias) } else { 0.0 };
                    *score = back * grows;
                    sum += *score;
                }
            }
            if words.learns {
                // SAFETY: this task alone adds to its words' gradients.
                unsafe { *self.gradient_at(words.bias).add(word) += sum };
            }
        }
    }
}
