//! Texts -> packed batches -> the encoder's rows, for every task.
//!
//! A [`Run`] is one call: the graph it needs, its limits, and when it must stop. Texts are added to a [`Packed`] until it holds
//! a good batch's worth of tokens, and then run. Batches are small enough that their values stay in the processor's caches,
//! and that a deadline is noticed soon; their size never changes a result.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::{Model, Request, TextReport};
use crate::engine::control::Flag;
use crate::engine::{Batch, Control, Graph};
use crate::error::{ErrorKind, Result, fail};
use crate::model::Output;
use crate::tokenizer::{Encoded, Limit, Sequence, Truncation};

/// Tokens from which on a batch is full: 256 a thread keep a thread's values in its core's second-level cache (benches/README.md),
/// and more than 512 would only need more memory.
pub(super) fn batch_tokens(threads: usize) -> usize {
    (256 * threads).clamp(256, 512)
}

/// One call of a task.
pub(super) struct Run<'m> {
    model: &'m Model,
    graph: Arc<Graph>,
    limit: Limit,
    prompt: Option<Box<str>>,
    skip: usize,
    /// The segment of every token, where a language decides it.
    language: Option<u32>,
    token_vectors: bool,
    threads: usize,
    control: Control,
    dimensions: usize,
    normalize: bool,
}

/// Texts that wait for the encoder, or have passed it.
#[derive(Default)]
pub(super) struct Packed {
    pub batches: Vec<Batch>,
    pub texts: Vec<PackedText>,
}

/// One text: what became of it, and where its rows will be.
pub(super) struct PackedText {
    /// Tokens of each window.
    pub window_tokens: Vec<usize>,
    /// The rows of each window (from its own first) whose token vectors are the text's.
    picked: Vec<Range<usize>>,
    total: usize,
    truncated: bool,
}

impl<'m> Run<'m> {
    /// Prepares a call.
    ///
    /// # Errors
    /// `InvalidArgument` for whatever the model cannot serve.
    pub(super) fn new(model: &'m Model, request: &Request) -> Result<Run<'m>> {
        if request.sparse {
            let told = "vectors sparse: a sparse answer has weights of tokens and no vector; call encode_sparse, or set vectors to text";
            return fail(ErrorKind::InvalidArgument, told);
        }
        if request.as_query {
            let told = "role query: only token vectors of a late-interaction model (ColBERT) differ for queries; leave role out";
            return fail(ErrorKind::InvalidArgument, told);
        }
        let mut run = Self::of(model, request, &model.output(request))?;
        let (width, dimensions) = (run.dimensions, request.dimensions.unwrap_or(run.dimensions));
        if dimensions > width {
            return fail(
                ErrorKind::InvalidArgument,
                format!("dimensions {dimensions}: this model's vectors have {width}; ask for at most that"),
            );
        }
        run.dimensions = dimensions;
        Ok(run)
    }

    /// Prepares a call that computes `output`.
    ///
    /// # Errors
    /// As [`Run::new`].
    pub(super) fn of(model: &'m Model, request: &Request, output: &Output) -> Result<Run<'m>> {
        request.check()?;
        let graph = model.encoder().graph(output)?;
        let dimensions = graph.nodes().last().map_or(0, |n| n.width);
        let prompt = model.prompt(request)?;
        Ok(Run {
            model,
            graph,
            limit: model.limit(request)?,
            skip: model.skipped_tokens(prompt)?,
            prompt: prompt.map(Box::from),
            language: model.encoder().languages().segment(request.language.as_deref())?,
            token_vectors: request.token_vectors,
            threads: request.threads.unwrap_or(model.threads()),
            control: control(request),
            dimensions,
            normalize: request.normalize.unwrap_or(model.normalizes() && !request.token_vectors),
        })
    }

    /// Values kept of a vector.
    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Values of a row.
    pub(super) fn width(&self) -> usize {
        self.graph.nodes().last().map_or(0, |n| n.width)
    }

    /// Whether vectors are scaled to length 1.
    pub(super) fn normalize(&self) -> bool {
        self.normalize
    }

    /// Why the call must stop, if it must; once it must, it stays so.
    pub(super) fn stopped(&self) -> Option<ErrorKind> {
        self.control.stopped()
    }

    /// Tokenizes `text` and adds its windows.
    pub(super) fn add(&self, packed: &mut Packed, text: &str) -> Result<()> {
        let encoded = self.model.tokenizer().encode_ids(&with_prompt(self.prompt(), text), &self.limit)?;
        for (i, window) in encoded.windows.iter().enumerate() {
            self.push(packed, window, if i == 0 { self.skip } else { 0 })?;
        }
        packed.texts.push(PackedText::new(&encoded, self.token_vectors));
        Ok(())
    }

    /// Adds an input whose tokens are known.
    pub(super) fn add_encoded(&self, packed: &mut Packed, encoded: &Encoded) -> Result<()> {
        encoded.windows.iter().try_for_each(|window| self.push(packed, window, 0))?;
        packed.texts.push(PackedText::new(encoded, self.token_vectors));
        Ok(())
    }

    /// Adds tokens that are known, with their segments.
    pub(super) fn add_tokens(&self, packed: &mut Packed, ids: &[u32], type_ids: &[u32]) -> Result<()> {
        self.push(packed, &Sequence { ids: ids.to_vec(), type_ids: type_ids.to_vec(), ..Sequence::default() }, 0)
    }

    /// The text put before each input's first text.
    pub(super) fn prompt(&self) -> Option<&str> {
        self.prompt.as_deref()
    }

    /// Adds a sequence of token ids as they are, in segment 0.
    pub(super) fn add_ids(&self, packed: &mut Packed, ids: &[u32]) -> Result<()> {
        let sizes = self.model.encoder().sizes();
        if ids.is_empty() || ids.len() > sizes.positions {
            let told = format!("{} tokens: a sequence has from 1 to {} here", ids.len(), sizes.positions);
            return fail(ErrorKind::InvalidArgument, told);
        }
        if let Some(at) = ids.iter().position(|id| *id as usize >= sizes.vocabulary) {
            let told = format!("token {at} is {}: ids go from 0 to {} here", ids[at], sizes.vocabulary - 1);
            return fail(ErrorKind::InvalidArgument, told);
        }
        let type_ids = vec![0; ids.len()];
        self.push(packed, &Sequence { ids: ids.to_vec(), type_ids, ..Sequence::default() }, 0)
    }

    /// Adds a window to the last batch, or to a new one where that is full.
    fn push(&self, packed: &mut Packed, window: &Sequence, skip: usize) -> Result<()> {
        if window.ids.is_empty() && !self.model.tokenizer().may_be_empty() {
            return fail(ErrorKind::InvalidArgument, "no tokens: the model's template adds none and the text has none; give a text");
        }
        if packed.batches.last().is_none_or(|b| b.tokens() >= self.batch_tokens()) {
            packed.batches.push(Batch::default());
        }
        if let Some(batch) = packed.batches.last_mut() {
            match self.language {
                Some(language) => batch.push(&window.ids, &vec![language; window.ids.len()], skip),
                None => batch.push(&window.ids, &window.type_ids, skip),
            }
        }
        Ok(())
    }

    /// Tokens from which on a batch of this call is full.
    pub(super) fn batch_tokens(&self) -> usize {
        batch_tokens(self.threads)
    }

    /// Whether `packed` is worth running.
    pub(super) fn is_full(&self, packed: &Packed) -> bool {
        packed.batches.iter().map(Batch::tokens).sum::<usize>() >= self.batch_tokens()
    }

    /// The encoder's rows for `packed`, in order; `None` when the call must stop.
    pub(super) fn forward(&self, packed: &Packed) -> Result<Option<Vec<f32>>> {
        let mut rows = Vec::new();
        for batch in &packed.batches {
            // The batch is shared with helper threads for as long as they look at it.
            let batch = Arc::new(batch.clone());
            match self.model.encoder().engine().run(&self.graph, &batch, self.threads, &self.control)? {
                Some(part) if rows.is_empty() => rows = part,
                Some(part) => rows.extend(part),
                None => return Ok(None),
            }
        }
        Ok(Some(rows))
    }
}

impl Packed {
    /// Picks rows of the last sequence, for heads that answer for some tokens only.
    pub(super) fn pick(&mut self, rows: &[usize]) {
        if let Some(batch) = self.batches.last_mut() {
            rows.iter().for_each(|row| batch.pick(*row));
        }
    }
}

impl PackedText {
    fn new(encoded: &Encoded, token_vectors: bool) -> PackedText {
        PackedText {
            window_tokens: encoded.windows.iter().map(|w| w.ids.len()).collect(),
            picked: if token_vectors { pick(&encoded.windows) } else { Vec::new() },
            total: encoded.total,
            truncated: encoded.truncated,
        }
    }

    /// The rows of this text's token vectors, where its first window begins at row `first`.
    pub(super) fn token_rows(&self, first: usize) -> impl Iterator<Item = usize> {
        let starts = self.window_tokens.iter().scan(first, |next, tokens| {
            let start = *next;
            *next += tokens;
            Some(start)
        });
        starts.zip(&self.picked).flat_map(|(start, rows)| rows.start + start..rows.end + start)
    }

    /// Rows of all windows.
    pub(super) fn rows(&self) -> usize {
        self.window_tokens.iter().sum()
    }

    /// What became of a text that the encoder saw.
    pub(super) fn report(&self, rows: Range<usize>) -> TextReport {
        TextReport { tokens: self.rows(), total: self.total, truncated: self.truncated, windows: self.window_tokens.len(), rows }
    }

    /// What became of a text that the encoder did not see: it was counted, no more.
    pub(super) fn unseen(&self, rows: Range<usize>) -> TextReport {
        TextReport { tokens: 0, total: self.total, truncated: false, windows: 0, rows }
    }
}

/// Which rows of each window stand for the text's tokens, each token once: neighbours meet in the middle of what they share,
/// where both still see context; the template's tokens come from the first and the last window.
fn pick(windows: &[Sequence]) -> Vec<Range<usize>> {
    // Window i's own tokens: (first in the text, first in the window, count).
    let own = |w: &Sequence| {
        let first = w.texts.iter().position(Option::is_some).unwrap_or(w.ids.len());
        (w.tokens_start, first, w.texts.iter().filter(|t| t.is_some()).count())
    };
    let meet = |i: usize| {
        let (start, _, count) = own(&windows[i]);
        (start + count).midpoint(windows[i + 1].tokens_start)
    };
    let range = |(i, window): (usize, &Sequence)| {
        let (start, first, _) = own(window);
        let from = if i == 0 { 0 } else { first + meet(i - 1) - start };
        let to = if i + 1 == windows.len() { window.ids.len() } else { first + meet(i) - start };
        from..to
    };
    windows.iter().enumerate().map(range).collect()
}

fn control(request: &Request) -> Control {
    let cancel = request.cancel.clone();
    let deadline = request.deadline.and_then(|d| Instant::now().checked_add(d));
    Control::new(deadline, cancel.map(|c| Arc::new(move || c.is_cancelled()) as Flag))
}

/// The prompt and the text in one.
pub(super) fn with_prompt<'a>(prompt: Option<&str>, text: &'a str) -> Cow<'a, str> {
    prompt.filter(|p| !p.is_empty()).map_or(Cow::Borrowed(text), |p| Cow::Owned(format!("{p}{text}")))
}

impl Model {
    /// Values of one vector under `request`.
    ///
    /// # Errors
    /// `InvalidArgument` for a request that the model cannot serve.
    pub fn dimensions(&self, request: &Request) -> Result<usize> {
        Run::new(self, request).map(|run| run.dimensions())
    }

    /// What the encoder must compute for `request`.
    pub(super) fn output(&self, request: &Request) -> Output {
        if request.token_vectors {
            return Output::Tokens(request.layers);
        }
        let modes = request.pooling.clone().unwrap_or_else(|| self.encoder().pooling().modes.clone());
        Output::Pooled(request.layers, modes)
    }

    /// The limit that `request` sets, within the model's.
    pub(super) fn limit(&self, request: &Request) -> Result<Limit> {
        let positions = self.encoder().sizes().positions;
        let max_tokens = request.max_tokens.unwrap_or(self.describe().max_tokens);
        let truncation = request.truncation.unwrap_or(self.tokenizer().truncation_side());
        if max_tokens > positions {
            let windows = if truncation == Truncation::Window { "" } else { ", or use truncation window to see longer texts whole" };
            let told = format!("max_tokens {max_tokens}: the model has {positions} positions; ask for at most that{windows}");
            return fail(ErrorKind::InvalidArgument, told);
        }
        let room = max_tokens.saturating_sub(self.tokenizer().special_tokens(false));
        if truncation == Truncation::Window && request.overlap.is_some_and(|o| o >= room) {
            let told =
                format!("overlap {}: a window has room for {room} tokens of the text; share fewer than that", request.overlap.unwrap_or(0));
            return fail(ErrorKind::InvalidArgument, told);
        }
        Ok(Limit {
            max_tokens,
            truncation,
            overlap: if truncation == Truncation::Window { request.overlap.unwrap_or(room / 8) } else { 0 },
        })
    }

    /// Leading tokens left out of pooling: the prompt's, where the model's files say so (as sentence-transformers counts them:
    /// the prompt alone, tokenized, without the token that ends it).
    fn skipped_tokens(&self, prompt: Option<&str>) -> Result<usize> {
        let Some(prompt) = prompt.filter(|p| !p.is_empty() && !self.encoder().pooling().include_prompt) else { return Ok(0) };
        let whole = Limit { max_tokens: usize::MAX, truncation: Truncation::Right, overlap: 0 };
        let encoded = self.tokenizer().encode(prompt, None, &whole)?;
        Ok(encoded.windows.first().map_or(0, |w| w.ids.len() - usize::from(w.special.last() == Some(&true))))
    }

    /// Runs the encoder alone over sequences of token ids: what `cloze bench` times.
    ///
    /// # Errors
    /// `InvalidArgument` for an empty sequence, one longer than the model's positions, or ids that it has no embedding for.
    pub fn run_ids(&self, sequences: &[Vec<u32>], request: &Request) -> Result<()> {
        let tokens = Request { token_vectors: true, pooling: None, prompt: super::Prompt::Text(String::new()), ..request.clone() };
        let run = Run::new(self, &tokens)?;
        let mut packed = Packed::default();
        for (i, ids) in sequences.iter().enumerate() {
            run.add_ids(&mut packed, ids).map_err(|e| e.within(format!("sequence {i}")))?;
            if run.is_full(&packed) {
                run.forward(&std::mem::take(&mut packed))?;
            }
        }
        run.forward(&packed)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_of_overlapping_windows_is_picked_once() {
        // Tokens 0..10 in windows of 6 that share 2: [0, 6), [4, 10); a special token at either end of each.
        let window = |start: usize, count: usize| Sequence {
            ids: vec![0; count + 2],
            texts: [vec![None], vec![Some(0); count], vec![None]].concat(),
            tokens_start: start,
            ..Sequence::default()
        };
        let picked = pick(&[window(0, 6), window(4, 6)]);
        // Window 0: its opening token and tokens 0 to 4; window 1: token 5 (its row 2) to its closing token.
        assert_eq!(picked, [0..6, 2..8]);
        assert_eq!(pick(&[window(0, 3)]), vec![0..5]);
    }
}
