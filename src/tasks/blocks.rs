//! Many texts for a model that is a table -> blocks of texts, each encoded on one thread.
//!
//! Finding tokens is nearly all of the work there, and the engine has next to nothing to share out. So whole blocks are shared out, each a call
//! of its own on one thread ([`Model::encode_from`]); joined in order, they are what one call would give, since no text's answer depends on
//! others.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::{Embeddings, Model, Request, TextReport, Vectors};
use crate::error::{Error, ErrorKind, Result};

/// Texts of a block at most, and bytes of them: a fraction of a millisecond.
const BLOCK_TEXTS: usize = 64;
const BLOCK_BYTES: usize = 16 << 10;

/// Blocks a thread between two meetings of the threads: texts are copied for helpers, and these are as many as are held twice.
const BLOCKS: usize = 32;

/// What the threads of one round share.
struct Round {
    model: Model,
    request: Request,
    started: Instant,
    /// The number of the first text in the call.
    first: usize,
    texts: Vec<String>,
    blocks: Vec<Range<usize>>,
    answers: Vec<Mutex<Option<Result<Embeddings>>>>,
}

impl Round {
    fn work(&self, block: usize) {
        let range = self.blocks[block].clone();
        let deadline = self.request.deadline.map(|limit| limit.saturating_sub(self.started.elapsed()));
        let request = Request { deadline, threads: Some(1), ..self.request.clone() };
        let answer = self.model.encode_from(self.first + range.start, &self.texts[range], &request);
        *self.answers[block].lock().unwrap_or_else(|e| e.into_inner()) = Some(answer);
    }

    fn answer(&self, block: usize) -> Result<Embeddings> {
        let answer = self.answers[block].lock().unwrap_or_else(|e| e.into_inner()).take();
        answer.unwrap_or_else(|| Err(Error::new(ErrorKind::Panic, "a block of texts has no answer: a bug in Cloze, please report it")))
    }
}

impl Model {
    /// Whether a call is worth being shared out in blocks.
    pub(super) fn has_blocks<T: AsRef<str>>(&self, texts: &[T], threads: usize) -> bool {
        threads > 1 && self.encoder().sizes().layers == 0 && blocks(texts).nth(1).is_some()
    }

    /// As [`Model::encode`], in blocks on up to `threads` threads.
    ///
    /// # Errors
    /// As [`Model::encode`].
    pub(super) fn encode_in_blocks<T: AsRef<str>>(&self, texts: &[T], request: &Request, threads: usize) -> Result<Embeddings> {
        let started = Instant::now();
        let blocks: Vec<Range<usize>> = blocks(texts).collect();
        let mut whole: Option<Embeddings> = None;
        for some in blocks.chunks(BLOCKS * threads) {
            let first = some[0].start;
            let round = Arc::new(Round {
                model: self.clone(),
                request: request.clone(),
                started,
                first,
                texts: texts[first..some[some.len() - 1].end].iter().map(|text| text.as_ref().to_owned()).collect(),
                blocks: some.iter().map(|block| block.start - first..block.end - first).collect(),
                answers: some.iter().map(|_| Mutex::new(None)).collect(),
            });
            let work = Arc::clone(&round);
            self.encoder().engine().each(threads, some.len(), move |block| work.work(block));
            for block in 0..some.len() {
                let part = round.answer(block)?;
                match &mut whole {
                    Some(whole) => join(whole, part),
                    None => whole = Some(part),
                }
                if whole.as_ref().is_some_and(|whole| whole.stopped.is_some()) {
                    return Ok(unfinished(whole.unwrap_or_else(|| unreachable!("asked a line before")), texts.len()));
                }
            }
        }
        whole.map_or_else(|| self.encode_from::<&str>(0, &[], request), Ok)
    }
}

/// Ranges of neighbouring texts.
fn blocks<T: AsRef<str>>(texts: &[T]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let (mut end, mut bytes) = (start, 0);
        while end < texts.len() && end - start < BLOCK_TEXTS && bytes < BLOCK_BYTES {
            bytes += texts[end].as_ref().len();
            end += 1;
        }
        let block = start..end;
        start = end;
        (!block.is_empty()).then_some(block)
    })
}

/// Appends the answer for the texts that follow.
fn join(whole: &mut Embeddings, part: Embeddings) {
    let before = whole.texts.last().map_or(0, |text| text.rows.end);
    whole.texts.extend(part.texts.into_iter().map(|text| TextReport { rows: text.rows.start + before..text.rows.end + before, ..text }));
    whole.finished += part.finished;
    whole.stopped = part.stopped;
    match (&mut whole.vectors, part.vectors) {
        (Vectors::F32(all), Vectors::F32(more)) => all.extend(more),
        (Vectors::F16(all), Vectors::F16(more)) => all.extend(more),
        (Vectors::Binary(all), Vectors::Binary(more)) => all.extend(more),
        (Vectors::Int8 { values, scales }, Vectors::Int8 { values: more, scales: more_scales }) => {
            values.extend(more);
            scales.extend(more_scales);
        }
        _ => unreachable!("the parts answer one request"),
    }
}

/// The answer of a call that stopped, with reports of the texts that were not reached.
fn unfinished(mut whole: Embeddings, count: usize) -> Embeddings {
    let end = whole.texts.last().map_or(0, |text| text.rows.end);
    whole.texts.resize(count, TextReport { tokens: 0, total: 0, truncated: false, windows: 0, rows: end..end });
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_neighbours_and_none_is_too_large() {
        let texts: Vec<String> = (0..300).map(|i| "x".repeat(if i == 70 { 2 * BLOCK_BYTES } else { i })).collect();
        let found: Vec<_> = blocks(&texts).collect();
        assert_eq!((found[0].start, found[found.len() - 1].end), (0, 300));
        assert!(found.windows(2).all(|two| two[0].end == two[1].start));
        assert!(found.iter().all(|block| block.len() <= BLOCK_TEXTS));
        let bytes = |block: &Range<usize>| texts[block.start..block.end - 1].iter().map(String::len).sum::<usize>();
        assert!(found.iter().all(|block| bytes(block) < BLOCK_BYTES));
        assert_eq!(blocks::<String>(&[]).count(), 0);
    }
}
