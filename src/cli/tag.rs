//! `cloze tag`: texts, or words -> entities.

use std::ops::Range;

use clap::{ArgMatches, Command};
use serde::Serialize;

use super::heads::{Line, Seen};
use super::input::{self, Input};
use super::output::{Out, excerpt};
use super::stream::{self, Answers};
use super::{Outcome, Verb, flags};
use crate::tasks::{Entity, Request, TagInput, Tagged};

pub(super) const VERB: Verb = Verb {
    name: "tag",
    about: "The entities in texts, or what else the model labels tokens with",
    examples: "Examples:
  cloze tag -m models/ner 'Angela Merkel was born in Hamburg.'
  cloze tag -m models/ner --json --aggregation first --offsets byte < texts.jsonl
  echo '{\"words\":[\"Angela\",\"Merkel\",\"was\",\"here\"]}' | cloze tag -m models/ner --json
  cloze tag -m models/pos --scheme single 'Time flies.'
  cloze tag -m models/ner --aggregation none 'Angela Merkel'

Long texts are read in overlapping windows, which cut no word and no entity.
With --json, standard input is JSON lines: {\"text\":\"...\"}, or {\"words\":[\"...\",...]}, with an \"id\" if you like.
Answers are JSON lines: {\"index\":0,\"entities\":[{\"label\":\"PER\",\"text\":\"Angela Merkel\",\"start\":0,\"end\":13,\"score\":0.99}]}, also
  id         of the line that the text came from
  words      of an entity, where words were given: the number of its first one, and the one behind its last
  truncated, total, tokens   where some tokens of the text (total) were left out: how many were seen
  windows    their number, where there are several
Places count code points unless --offsets says otherwise; words stand in a text with one space between neighbours.",
    build,
    run,
};

const SETTINGS: &[&str] = &["language", "truncation", "max_tokens", "overlap", "offsets", "aggregation", "scheme", "deadline_ms"];

fn build(command: Command) -> Command {
    flags::with_request(flags::with_texts(flags::with_model(command), input::WORDS), |name| SETTINGS.contains(&name))
}

fn run(matches: &ArgMatches) -> Outcome {
    let request = flags::request_in_windows(matches)?;
    let model = flags::open_model(matches)?;
    let json = matches.get_flag("json");
    let ask = |chunk: &[Input], request: &Request| {
        let words: Vec<Vec<&str>> = chunk.iter().map(|input| input.words.iter().flatten().map(String::as_str).collect()).collect();
        let mut inputs: Vec<TagInput<'_>> = Vec::with_capacity(chunk.len());
        for (input, words) in chunk.iter().zip(&words) {
            inputs.push(if input.words.is_some() { TagInput::Words(words) } else { TagInput::Text(&input.text) });
        }
        let answer = model.tag(&inputs, request)?;
        Ok(Answers::of(answer.inputs, answer.finished, answer.stopped))
    };
    stream::each(matches, input::WORDS, request, ask, |input, answer, out| {
        if json { out.json(&Line::new(input, Fields::new(answer), &answer.report)) } else { readable(input, answer, out) }
    })
}

/// What an answer's line of JSON says.
#[derive(Serialize)]
struct Fields<'a> {
    entities: Vec<Part<'a>>,
}

#[derive(Serialize)]
struct Part<'a> {
    label: &'a str,
    text: &'a str,
    start: usize,
    end: usize,
    score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<[usize; 2]>,
}

impl<'a> Fields<'a> {
    fn new(found: &'a Tagged) -> Fields<'a> {
        let part = |entity: &'a Entity| {
            let Entity { label, text, start, end, score, words } = entity;
            let words = words.as_ref().map(|Range { start, end }| [*start, *end]);
            Part { label, text, start: *start, end: *end, score: *score, words }
        };
        Fields { entities: found.entities.iter().map(part).collect() }
    }
}

fn readable(input: &Input, found: &Tagged, out: &mut Out) -> Outcome {
    out.line(format!("{:>4}  {}{}", input.index, excerpt(&input.text, 80), Seen::words(&found.report)))?;
    found.entities.iter().try_for_each(|entity| {
        let place = format!("{}..{}", entity.start, entity.end);
        out.line(format!("{:>12.4}  {:<12} {}  ({place})", entity.score, excerpt(&entity.label, 40), excerpt(&entity.text, 80)))
    })
}
