//! `cloze encode --late`: texts -> the vectors that a late-interaction model compares, each with its token.

use clap::ArgMatches;
use serde::Serialize;

use super::heads::{Line, Seen};
use super::input::{self, Input};
use super::output::{Out, excerpt};
use super::stream::{self, Answers};
use super::{Outcome, flags};
use crate::tasks::{LateInput, Request};

pub(super) fn run(matches: &ArgMatches, request: Request) -> Outcome {
    let model = flags::open_model(matches)?;
    let json = matches.get_flag("json");
    let ask = |chunk: &[Input], request: &Request| {
        let texts: Vec<&str> = chunk.iter().map(|input| input.text.as_str()).collect();
        let answer = model.encode_late(&texts, request)?;
        Ok(Answers::of(answer.inputs, answer.finished, answer.stopped))
    };
    stream::each(matches, input::TEXT, request, ask, |input, answer, out| {
        if json {
            // `tokens` are here those with vectors: how many were seen is left to `total` and `truncated`.
            out.json(&Line::new(input, Fields::new(answer), &answer.report).without_tokens())
        } else {
            readable(input, answer, out)
        }
    })
}

/// What an answer's line of JSON says.
#[derive(Serialize)]
struct Fields<'a> {
    ids: &'a [u32],
    tokens: &'a [String],
    offsets: &'a [(usize, usize)],
    embeddings: Vec<&'a [f32]>,
}

impl<'a> Fields<'a> {
    fn new(answer: &'a LateInput) -> Fields<'a> {
        Fields { ids: &answer.ids, tokens: &answer.tokens, offsets: &answer.offsets, embeddings: rows(answer) }
    }
}

/// The vectors one by one.
fn rows(answer: &LateInput) -> Vec<&[f32]> {
    let width = answer.vectors.len().checked_div(answer.ids.len()).unwrap_or(0);
    answer.vectors.chunks_exact(width.max(1)).collect()
}

/// Values shown of a vector.
const SHOWN: usize = 4;

fn readable(input: &Input, answer: &LateInput, out: &mut Out) -> Outcome {
    let (count, seen) = (answer.ids.len(), Seen::words(&answer.report));
    out.line(format!("{:>4}  {count:>6} vectors  {}{seen}", input.index, excerpt(&input.text, 60)))?;
    let places = answer.offsets.iter().map(|(start, end)| if start == end { String::new() } else { format!("{start}..{end}") });
    for ((token, place), vector) in answer.tokens.iter().zip(places).zip(rows(answer)) {
        let first: Vec<String> = vector.iter().take(SHOWN).map(|v| format!("{v:>7.4}")).collect();
        out.line(format!("{:>12}  {place:<10} [{} … {} values]", excerpt(token, 12), first.join(" "), vector.len()))?;
    }
    Ok(())
}
