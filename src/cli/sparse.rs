//! `cloze encode --sparse`: texts -> sparse weights of the vocabulary.

use clap::ArgMatches;
use serde::Serialize;

use super::heads::{Line, Seen};
use super::input::{self, Input};
use super::output::{Out, excerpt};
use super::stream::{self, Answers};
use super::{Outcome, flags};
use crate::tasks::{Request, SparseVector, TermWeight};

pub(super) fn run(matches: &ArgMatches, request: Request) -> Outcome {
    let model = flags::open_model(matches)?;
    let json = matches.get_flag("json");
    let ask = |chunk: &[Input], request: &Request| {
        let texts: Vec<&str> = chunk.iter().map(|input| input.text.as_str()).collect();
        let answer = model.encode_sparse(&texts, request)?;
        Ok(Answers::of(answer.inputs, answer.finished, answer.stopped))
    };
    stream::each(matches, input::TEXT, request, ask, |input, answer, out| {
        if json {
            // `tokens` are here those with weights: how many were seen is left to `total` and `truncated`.
            out.json(&Line::new(input, Fields::new(&answer.terms), &answer.report).without_tokens())
        } else {
            readable(input, answer, out)
        }
    })
}

/// What an answer's line of JSON says.
#[derive(Serialize)]
struct Fields<'a> {
    ids: Vec<u32>,
    tokens: Vec<&'a str>,
    weights: Vec<f32>,
}

impl<'a> Fields<'a> {
    fn new(terms: &'a [TermWeight]) -> Fields<'a> {
        Fields {
            ids: terms.iter().map(|term| term.id).collect(),
            tokens: terms.iter().map(|term| term.token.as_str()).collect(),
            weights: terms.iter().map(|term| term.weight).collect(),
        }
    }
}

fn readable(input: &Input, answer: &SparseVector, out: &mut Out) -> Outcome {
    let (count, seen) = (answer.terms.len(), Seen::words(&answer.report));
    out.line(format!("{:>4}  {count:>6} weights  {}{seen}", input.index, excerpt(&input.text, 60)))?;
    answer.terms.iter().try_for_each(|term| out.line(format!("{:>12.4}  {}", term.weight, excerpt(&term.token, 40))))
}
