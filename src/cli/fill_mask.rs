//! `cloze fill-mask`: texts with blanks -> the words that fit.

use clap::builder::ArgAction;
use clap::{Arg, ArgMatches, Command};
use serde::Serialize;

use super::heads::{Line, Seen};
use super::input::{self, Input};
use super::output::{Out, excerpt};
use super::stream::{self, Answers};
use super::{Outcome, Verb, flags};
use crate::tasks::{Blank, Filled, Request};

pub(super) const VERB: Verb = Verb {
    name: "fill-mask",
    about: "Texts with blanks to the words that fit",
    examples: "Examples:
  cloze fill-mask -m models/bert 'Paris is the [MASK] of France.'
  cloze fill-mask -m models/bert --top 3 --json < texts.jsonl
  cloze fill-mask -m models/bert --candidate good --candidate bad 'The film was [MASK].'
  cloze fill-mask -m models/bert-chinese '今天[MASK]气很好。'

A blank is the tokenizer's mask token, [MASK] or <mask>; there may be several, each filled with the others left blank.
A candidate is one token of the vocabulary, or a word that becomes one; scores are probabilities of the whole vocabulary.
Of a text longer than the limit the model sees a window around the blanks.
With --json, standard input is JSON lines: {\"text\":\"...\"}, with an \"id\" of any kind if you like.
Answers are JSON lines, of each blank the best first:
  {\"index\":0,\"fills\":[[{\"token\":\"capital\",\"id\":3007,\"score\":0.99,\"logit\":17.1,\"text\":\"Paris is the capital of France.\"},...]],\"blanks\":[[13,19]]}, also
  id         of the line that the text came from
  truncated, total, tokens   where some tokens of the text (total) were left out: how many were seen",
    build,
    run,
};

const SETTINGS: &[&str] = &["prompt", "prompt_name", "language", "truncation", "max_tokens", "top", "offsets", "deadline_ms"];

fn build(command: Command) -> Command {
    let candidate = Arg::new("candidate")
        .long("candidate")
        .value_name("WORD")
        .action(ArgAction::Append)
        .allow_hyphen_values(true)
        .help("Score this word; give one for each word to choose from");
    flags::with_request(flags::with_texts(flags::with_model(command), input::TEXT).arg(candidate), |name| SETTINGS.contains(&name))
}

fn run(matches: &ArgMatches) -> Outcome {
    let request = flags::request(matches)?;
    let model = flags::open_model(matches)?;
    let json = matches.get_flag("json");
    let candidates: Vec<&String> = matches.get_many("candidate").map(Iterator::collect).unwrap_or_default();
    let ask = |chunk: &[Input], request: &Request| {
        let texts: Vec<&str> = chunk.iter().map(|input| input.text.as_str()).collect();
        let answer = model.fill_mask(&texts, &candidates, request)?;
        Ok(Answers::of(answer.inputs, answer.finished, answer.stopped))
    };
    stream::each(matches, input::TEXT, request, ask, |input, answer: &Filled, out| {
        if json { out.json(&Line::new(input, Fields::new(input, answer), &answer.report)) } else { readable(input, answer, out) }
    })
}

/// What an answer's line of JSON says.
#[derive(Serialize)]
struct Fields<'a> {
    fills: Vec<Vec<Word<'a>>>,
    blanks: Vec<(usize, usize)>,
}

#[derive(Serialize)]
struct Word<'a> {
    token: &'a str,
    id: u32,
    score: f32,
    logit: f32,
    text: String,
}

impl<'a> Fields<'a> {
    fn new(input: &'a Input, answer: &'a Filled) -> Fields<'a> {
        let words = |blank: &'a Blank| {
            let word = |(place, fill): (usize, &'a crate::tasks::Fill)| Word {
                token: &fill.token,
                id: fill.id,
                score: fill.score,
                logit: fill.logit,
                text: blank.filled(&input.text, place).unwrap_or_default(),
            };
            blank.fills.iter().enumerate().map(word).collect()
        };
        Fields {
            fills: answer.blanks.iter().map(words).collect(),
            blanks: answer.blanks.iter().map(|blank| (blank.start, blank.end)).collect(),
        }
    }
}

fn readable(input: &Input, answer: &Filled, out: &mut Out) -> Outcome {
    out.line(format!("{:>4}  {}{}", input.index, excerpt(&input.text, 80), Seen::words(&answer.report)))?;
    for (number, blank) in answer.blanks.iter().enumerate() {
        if answer.blanks.len() > 1 {
            out.line(format!("      blank {number}"))?;
        }
        for (place, fill) in blank.fills.iter().enumerate() {
            let text = blank.filled(&input.text, place).unwrap_or_default();
            out.line(format!("{:>12.4}  {:<16} {}", fill.score, excerpt(&fill.token, 16), excerpt(&text, 80)))?;
        }
    }
    Ok(())
}
