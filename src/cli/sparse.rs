//! `cloze encode --sparse`: texts -> sparse weights of the vocabulary.

use clap::ArgMatches;
use serde::Serialize;
use serde_json::value::RawValue;

use super::heads::Seen;
use super::input::{self, Input};
use super::output::{Out, excerpt};
use super::stream::{self, Answers};
use super::{Outcome, flags};
use crate::tasks::{Request, SparseVector};

pub(super) fn run(matches: &ArgMatches, request: Request) -> Outcome {
    let model = flags::open_model(matches)?;
    let json = matches.get_flag("json");
    let ask = |chunk: &[Input], request: &Request| {
        let texts: Vec<&str> = chunk.iter().map(|input| input.text.as_str()).collect();
        let answer = model.encode_sparse(&texts, request)?;
        Ok(Answers::of(answer.inputs, answer.finished, answer.stopped))
    };
    stream::each(
        matches,
        input::TEXT,
        request,
        ask,
        |input, answer, out| {
            if json { out.json(&Line::new(input, answer)) } else { readable(input, answer, out) }
        },
    )
}

/// One answer. Fields that say nothing are left out.
#[derive(Serialize)]
struct Line<'a> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    ids: Vec<u32>,
    tokens: Vec<&'a str>,
    weights: Vec<f32>,
    #[serde(flatten)]
    seen: SparseSeen,
}

/// As [`Seen`]; `tokens` are here those with weights, so that their number is left to `total` and `truncated`.
#[derive(Serialize)]
struct SparseSeen {
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    windows: Option<usize>,
}

impl<'a> Line<'a> {
    fn new(input: &'a Input, answer: &'a SparseVector) -> Line<'a> {
        let SparseVector { terms, report } = answer;
        Line {
            index: input.index,
            id: input.id.as_deref(),
            ids: terms.iter().map(|term| term.id).collect(),
            tokens: terms.iter().map(|term| term.token.as_str()).collect(),
            weights: terms.iter().map(|term| term.weight).collect(),
            seen: SparseSeen {
                total: (report.truncated || report.windows > 1).then_some(report.total),
                truncated: report.truncated.then_some(true),
                windows: (report.windows > 1).then_some(report.windows),
            },
        }
    }
}

fn readable(input: &Input, answer: &SparseVector, out: &mut Out) -> Outcome {
    let (count, seen) = (answer.terms.len(), Seen::words(&answer.report));
    out.line(format!("{:>4}  {count:>6} weights  {}{seen}", input.index, excerpt(&input.text, 60)))?;
    answer.terms.iter().try_for_each(|term| out.line(format!("{:>12.4}  {}", term.weight, excerpt(&term.token, 40))))
}
