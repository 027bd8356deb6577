//! Texts or pairs -> the raw numbers of a head, for every task that has one.
//!
//! A [`HeadRun`] is one call over one head. A task says how each of its inputs becomes tokens; here they are packed, run, and
//! the windows of an input joined. Inputs are worked through in order ([`HeadRun::each`]), so that when a deadline stops the call
//! the first ones are finished, or in an order of the task's own (`rerank`).

use super::forward::{Packed, PackedText, Run, with_prompt};
use super::{Model, Request, Windows};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::model::Output;
use crate::model::heads::{Head, Kind};
use crate::tokenizer::{Content, Encoded, Limit, Truncation};

/// What became of one input: a text, a pair, or a document with its query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputReport {
    /// Tokens that the encoder saw, special tokens included; for windows, those of all windows. 0 for an input that was not
    /// finished.
    pub tokens: usize,
    /// Tokens of the whole input, special tokens included; 0 for one that was not read when the call stopped.
    pub total: usize,
    /// Whether tokens were left out.
    pub truncated: bool,
    /// Number of windows, 1 where the input fits or was cut, 0 for an input that was not finished.
    pub windows: usize,
}

impl InputReport {
    pub(super) fn seen(text: &PackedText) -> InputReport {
        let report = text.report(0..0);
        InputReport { tokens: report.tokens, total: report.total, truncated: report.truncated, windows: report.windows }
    }

    /// What is known of an input that was read and not finished.
    pub(super) fn waiting(text: &PackedText) -> InputReport {
        InputReport { total: text.unseen(0..0).total, ..InputReport::default() }
    }
}

/// The raw numbers of the inputs finished, in order, and what became of all of them.
pub(super) struct Rows {
    pub logits: Vec<Vec<f32>>,
    pub reports: Vec<InputReport>,
    pub stopped: Option<ErrorKind>,
}

/// The answers of the inputs finished, in order, and what became of all of them.
pub(super) struct Finished<A> {
    pub answers: Vec<A>,
    pub reports: Vec<InputReport>,
    pub stopped: Option<ErrorKind>,
}

/// One call over one head.
pub(super) struct HeadRun<'m> {
    pub model: &'m Model,
    pub head: &'m Head,
    run: Run<'m>,
    limit: Limit,
    /// Whether windows share a number of tokens that the request did not choose.
    free_overlap: bool,
    windows: Windows,
}

impl<'m> HeadRun<'m> {
    /// Prepares a call.
    ///
    /// # Errors
    /// `InvalidArgument` for a head that the model lacks, saying which it has, and for whatever else it cannot serve.
    pub fn new(model: &'m Model, request: &Request, kind: Kind) -> Result<HeadRun<'m>> {
        let head = model.encoder().head(kind)?;
        let run = Run::of(model, request, &Output::Head(kind))?;
        let slides = request.windows != Windows::First;
        match request.truncation {
            Some(Truncation::Window) if !slides => {
                let told = "truncation window: say how the windows' scores become one, with windows max or mean";
                return fail(ErrorKind::InvalidArgument, told);
            }
            Some(other) if slides && other != Truncation::Window => {
                let told = "windows max and mean leave nothing to cut; leave truncation out, or set windows to first";
                return fail(ErrorKind::InvalidArgument, told);
            }
            _ => {}
        }
        let truncation = if slides { Some(Truncation::Window) } else { request.truncation };
        let limit = model.limit(&Request { truncation, ..request.clone() })?;
        Ok(HeadRun { model, head, run, limit, free_overlap: request.overlap.is_none(), windows: request.windows })
    }

    /// Prepares a call over a head that gives one row a token. Nothing is cut unless the request asks for it: longer inputs become
    /// overlapping windows, which the task joins.
    ///
    /// # Errors
    /// As [`HeadRun::new`].
    pub fn of_tokens(model: &'m Model, request: &Request, kind: Kind) -> Result<HeadRun<'m>> {
        let truncation = Some(request.truncation.unwrap_or(Truncation::Window));
        let request = Request { truncation, windows: Windows::First, token_vectors: true, pooling: None, ..request.clone() };
        let head = model.encoder().head(kind)?;
        let run = Run::of(model, &request, &Output::Head(kind))?;
        let limit = model.limit(&request)?;
        Ok(HeadRun { model, head, run, limit, free_overlap: request.overlap.is_none(), windows: Windows::First })
    }

    /// The limit of an input, in which a pair's windows share as many tokens as windows of one text would.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Why the call must stop, if it must.
    pub fn stopped(&self) -> Option<ErrorKind> {
        self.run.stopped()
    }

    /// The tokens of an input's first text, the prompt before it.
    pub fn first(&self, text: &str) -> Result<Content> {
        self.model.tokenizer().content(&with_prompt(self.run.prompt(), text))
    }

    /// The tokens of an input's second text.
    pub fn second(&self, text: &str) -> Result<Content> {
        self.model.tokenizer().content(text)
    }

    /// An input within the limit.
    pub fn encode(&self, first: &Content, second: Option<&Content>) -> Result<Encoded> {
        let mut limit = self.limit;
        if self.free_overlap && second.is_some() {
            // An eighth of what the first text leaves.
            let taken = first.tokens() + self.model.tokenizer().special_tokens(true);
            limit.overlap = limit.overlap.min(limit.max_tokens.saturating_sub(taken) / 8);
        }
        self.model.tokenizer().encode_contents(first, second, &limit)
    }

    /// A pair of which only one text is cut, the first (0) or the second (1).
    pub fn encode_cutting(&self, which: usize, texts: [&Content; 2]) -> Result<Encoded> {
        self.model.tokenizer().encode_cutting(which, texts, &self.limit)
    }

    /// Adds an input to a batch.
    pub fn add(&self, packed: &mut Packed, encoded: &Encoded) -> Result<()> {
        self.run.add_encoded(packed, encoded)
    }

    /// Whether a batch is worth running.
    pub fn is_full(&self, packed: &Packed) -> bool {
        self.run.is_full(packed)
    }

    /// The numbers of each input of a batch, its windows joined; `None` when the call must stop. `shape` makes of a window's raw
    /// numbers those that are joined.
    ///
    /// # Errors
    /// `NonFinite` for a number that is not finite; `name` names its input.
    pub fn forward(
        &self,
        packed: &Packed,
        shape: impl Fn(&[f32]) -> Vec<f32>,
        name: impl Fn(usize) -> String,
    ) -> Result<Option<Vec<Vec<f32>>>> {
        let Some(rows) = self.run.forward(packed)? else { return Ok(None) };
        let mut rows = rows.chunks(self.head.outputs.max(1));
        let mut joined = Vec::with_capacity(packed.texts.len());
        for (i, text) in packed.texts.iter().enumerate() {
            let windows: Vec<Vec<f32>> = rows.by_ref().take(text.window_tokens.len()).map(&shape).collect();
            let logits = self.join(&windows);
            refuse_non_finite(&logits, || name(i))?;
            joined.push(logits);
        }
        Ok(Some(joined))
    }

    /// The numbers of each input of a batch of a head of tokens: a row of the head's outputs for each token of each window, end to
    /// end; how many tokens a window has is in the batch's texts. `None` when the call must stop.
    ///
    /// # Errors
    /// As [`HeadRun::forward`].
    pub fn forward_tokens(&self, packed: &Packed, name: impl Fn(usize) -> String) -> Result<Option<Vec<Vec<f32>>>> {
        let Some(rows) = self.run.forward(packed)? else { return Ok(None) };
        let mut rest = rows.as_slice();
        let mut inputs = Vec::with_capacity(packed.texts.len());
        for (i, text) in packed.texts.iter().enumerate() {
            let (own, others) = rest.split_at(text.rows() * self.head.outputs);
            refuse_non_finite(own, || name(i))?;
            inputs.push(own.to_vec());
            rest = others;
        }
        Ok(Some(inputs))
    }

    /// One row of numbers from those of each window.
    fn join(&self, windows: &[Vec<f32>]) -> Vec<f32> {
        let Some((first, rest)) = windows.split_first() else { return Vec::new() };
        let column = |i: usize| rest.iter().map(move |w| w[i]);
        let join = |(i, value): (usize, &f32)| match self.windows {
            Windows::First => *value,
            // A NaN must come through.
            Windows::Max => column(i).fold(*value, |most, v| if v > most || v.is_nan() { v } else { most }),
            Windows::Mean => (column(i).fold(f64::from(*value), |sum, v| sum + f64::from(v)) / windows.len() as f64) as f32,
        };
        first.iter().enumerate().map(join).collect()
    }

    /// Works through `count` inputs in order; `encode` makes the tokens of each.
    ///
    /// # Errors
    /// What `encode` and the encoder fail with, the input named as `text N`.
    pub fn each(&self, count: usize, mut encode: impl FnMut(usize) -> Result<Encoded>) -> Result<Rows> {
        let Finished { answers, reports, stopped } = self.work(
            "text",
            count,
            |i| Ok((encode(i)?, ())),
            |packed, _, done| self.forward(packed, <[f32]>::to_vec, |i| format!("text {}", done + i)),
        )?;
        Ok(Rows { logits: answers, reports, stopped })
    }

    /// The same for a head of tokens. `read` makes the tokens of an input and what its `answer` needs beside them; `answer` gets
    /// that, the input as it was packed, and its rows (as [`HeadRun::forward_tokens`] gives them).
    ///
    /// # Errors
    /// As [`HeadRun::each`], the input named as `what N`.
    pub fn each_of_tokens<C, A>(
        &self,
        what: &str,
        count: usize,
        read: impl FnMut(usize) -> Result<(Encoded, C)>,
        answer: impl Fn(&C, &PackedText, &[f32]) -> A,
    ) -> Result<Finished<A>> {
        self.work(what, count, read, |packed, kept, done| {
            let Some(rows) = self.forward_tokens(packed, |i| format!("{what} {}", done + i))? else { return Ok(None) };
            let inputs = kept.iter().zip(&packed.texts).zip(&rows);
            Ok(Some(inputs.map(|((kept, text), rows)| answer(kept, text, rows)).collect()))
        })
    }

    /// Reads inputs into batches and runs these, until all are done or the call must stop. `run` gets a batch, what was kept of its
    /// inputs, and how many inputs came before it.
    fn work<C, A>(
        &self,
        what: &str,
        count: usize,
        mut read: impl FnMut(usize) -> Result<(Encoded, C)>,
        run: impl Fn(&Packed, &[C], usize) -> Result<Option<Vec<A>>>,
    ) -> Result<Finished<A>> {
        let mut finished = Finished { answers: Vec::with_capacity(count), reports: Vec::with_capacity(count), stopped: None };
        let (mut packed, mut kept) = (Packed::default(), Vec::new());
        for index in 0..count {
            if self.stopped().is_some() {
                break;
            }
            let added = read(index).and_then(|(encoded, own)| {
                kept.push(own);
                self.add(&mut packed, &encoded)
            });
            added.map_err(|e| e.within(format!("{what} {index}")))?;
            if !self.is_full(&packed) && index + 1 < count {
                continue;
            }
            let Some(answers) = run(&packed, &kept, finished.answers.len())? else { break };
            finished.answers.extend(answers);
            finished.reports.extend(std::mem::take(&mut packed).texts.iter().map(InputReport::seen));
            kept.clear();
        }
        finished.reports.extend(packed.texts.iter().map(InputReport::waiting));
        finished.reports.resize(count, InputReport::default());
        if finished.answers.len() < count {
            finished.stopped = self.stopped();
        }
        Ok(finished)
    }
}

/// Numbers that are not finite never become an answer.
fn refuse_non_finite(numbers: &[f32], name: impl Fn() -> String) -> Result<()> {
    if numbers.iter().all(|v| v.is_finite()) {
        return Ok(());
    }
    let told =
        format!("{}: its score is not finite; the model's weights are damaged or overflow f32, check them with `cloze inspect`", name());
    fail(ErrorKind::NonFinite, told)
}

/// An error that names an input as `text N`, with the name that the caller knows it by.
pub(super) fn renamed(error: &Error, name: impl Fn(usize) -> String) -> Error {
    let numbered = error.message().strip_prefix("text ").and_then(|rest| rest.split_once(": "));
    match numbered.and_then(|(number, rest)| Some((number.parse::<usize>().ok()?, rest))) {
        Some((number, rest)) => Error::new(error.kind(), format!("{}: {rest}", name(number))),
        None => error.clone(),
    }
}
