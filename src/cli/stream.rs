//! How is a stream of texts answered?
//!
//! Texts come in chunks from [`super::input`]; each chunk is one call of a task; its answers are written before the next chunk is
//! read. The deadline counts from the first call on, over all chunks.

use std::time::Instant;

use clap::ArgMatches;

use super::encode::renumber;
use super::input::{Form, Input, Inputs};
use super::output::Out;
use super::progress::Progress;
use super::{Failure, Outcome};
use crate::error::{Error, ErrorKind, Result};
use crate::tasks::Request;

/// A request whose deadline is that of all its calls together.
pub(super) struct Deadline {
    request: Request,
    started: Option<Instant>,
}

impl Deadline {
    pub fn new(request: Request) -> Deadline {
        Deadline { request, started: None }
    }

    /// What the next call is asked for.
    pub fn next(&mut self) -> Request {
        let started = *self.started.get_or_insert_with(Instant::now);
        let deadline = self.request.deadline.map(|limit| limit.saturating_sub(started.elapsed()));
        Request { deadline, ..self.request.clone() }
    }

    /// Why not all is done.
    pub fn why(&self, kind: ErrorKind, finished: usize) -> Failure {
        let limit = self.request.deadline.map_or(0, |d| d.as_millis());
        let finished = match finished {
            0 => "no text is finished".to_owned(),
            1 => "the first text is finished".to_owned(),
            n => format!("the first {n} texts are finished"),
        };
        Error::new(kind, format!("the deadline of {limit} ms passed; {finished}")).into()
    }
}

/// The answers for one chunk: those of the texts finished, and why others are not.
pub(super) struct Answers<A> {
    pub finished: Vec<A>,
    pub stopped: Option<ErrorKind>,
}

impl<A> Answers<A> {
    /// The first `finished` of `inputs`.
    pub fn of(mut inputs: Vec<A>, finished: usize, stopped: Option<ErrorKind>) -> Answers<A> {
        inputs.truncate(finished);
        Answers { finished: inputs, stopped }
    }
}

/// Answers every text: `ask` is a call for one chunk, `show` writes one answer.
pub(super) fn each<A>(
    matches: &ArgMatches,
    form: Form,
    request: Request,
    mut ask: impl FnMut(&[Input], &Request) -> Result<Answers<A>>,
    mut show: impl FnMut(&Input, &A, &mut Out) -> Outcome,
) -> Outcome {
    let mut deadline = Deadline::new(request);
    let mut inputs = Inputs::open(matches, form);
    let (mut out, mut progress) = (Out::new(), Progress::texts());
    loop {
        let chunk = inputs.chunk()?;
        let Some(last) = chunk.last() else { return Ok(()) };
        let answers = ask(&chunk, &deadline.next()).map_err(|e| renumber(&e, chunk[0].index))?;
        chunk.iter().zip(&answers.finished).try_for_each(|(input, answer)| show(input, answer, &mut out))?;
        out.flush()?;
        progress.at(last.index + 1);
        if let Some(kind) = answers.stopped {
            return Err(deadline.why(kind, chunk[0].index + answers.finished.len()));
        }
    }
}
