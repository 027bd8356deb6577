//! `cloze extract`: a question and contexts -> the parts of each that answer it.

use clap::{Arg, ArgMatches, Command};
use serde::Serialize;

use super::heads::{Line, Seen};
use super::input::{self, Input};
use super::output::{Out, excerpt};
use super::stream::{self, Answers};
use super::{Outcome, Verb, flags};
use crate::tasks::{Answer, Extracted, Request};

pub(super) const VERB: Verb = Verb {
    name: "extract",
    about: "The parts of texts that answer a question",
    examples: "Examples:
  cloze extract -m models/squad --question 'Who wrote it?' 'The book was written by Mary Shelley in 1818.'
  cloze extract -m models/squad --question 'Who wrote it?' --json --top 3 < passages.jsonl
  cloze extract -m models/squad2 --question 'Who wrote it?' --no-answer-threshold 0 < passages.txt
  cloze extract -m models/squad --question 'Who wrote it?' --max-tokens 256 --overlap 64 --offsets utf16 --json < long.jsonl

Long texts are read in overlapping windows, each beside the whole question.
With --json, standard input is JSON lines: {\"text\":\"...\"}, with an \"id\" of any kind if you like.
Answers are JSON lines: {\"index\":0,\"answers\":[{\"text\":\"Mary Shelley\",\"start\":24,\"end\":36,\"score\":0.97,\"logit\":14.2}],\"no_answer_score\":0.01,\"no_answer_logit\":-3.1}, also
  id         of the line that the text came from
  truncated, total, tokens   where some tokens of question and text (total) were left out: how many were seen
  windows    their number, where there are several
Places count code points unless --offsets says otherwise. Scores are probabilities, logits the sums of raw numbers.",
    build,
    run,
};

const SETTINGS: &[&str] = &[
    "prompt",
    "prompt_name",
    "language",
    "truncation",
    "max_tokens",
    "overlap",
    "offsets",
    "top",
    "max_answer",
    "no_answer_threshold",
    "deadline_ms",
];

fn build(command: Command) -> Command {
    let question =
        Arg::new("question").long("question").value_name("QUESTION").required(true).allow_hyphen_values(true).help("What is asked");
    let command = flags::with_texts(flags::with_model(command), input::TEXT).arg(question);
    flags::with_request(command, |name| SETTINGS.contains(&name))
}

fn run(matches: &ArgMatches) -> Outcome {
    let request = flags::request_in_windows(matches)?;
    let model = flags::open_model(matches)?;
    let question = matches.get_one::<String>("question").map_or("", String::as_str);
    let json = matches.get_flag("json");
    let ask = |chunk: &[Input], request: &Request| {
        let contexts: Vec<&str> = chunk.iter().map(|input| input.text.as_str()).collect();
        let answer = model.extract(question, &contexts, request)?;
        Ok(Answers::of(answer.contexts, answer.finished, answer.stopped))
    };
    stream::each(matches, input::TEXT, request, ask, |input, answer, out| {
        if json { out.json(&Line::new(input, Fields::new(answer), &answer.report)) } else { readable(input, answer, out) }
    })
}

/// What an answer's line of JSON says.
#[derive(Serialize)]
struct Fields<'a> {
    answers: Vec<Part<'a>>,
    no_answer_score: f32,
    no_answer_logit: f32,
}

#[derive(Serialize)]
struct Part<'a> {
    text: &'a str,
    start: usize,
    end: usize,
    score: f32,
    logit: f32,
}

impl<'a> Fields<'a> {
    fn new(found: &'a Extracted) -> Fields<'a> {
        let part = |answer: &'a Answer| {
            let Answer { text, start, end, score, logit } = answer;
            Part { text, start: *start, end: *end, score: *score, logit: *logit }
        };
        let Extracted { no_answer_score, no_answer_logit, .. } = *found;
        Fields { answers: found.answers.iter().map(part).collect(), no_answer_score, no_answer_logit }
    }
}

fn readable(input: &Input, found: &Extracted, out: &mut Out) -> Outcome {
    out.line(format!("{:>4}  {}{}", input.index, excerpt(&input.text, 80), Seen::words(&found.report)))?;
    for answer in &found.answers {
        let place = format!("{}..{}", answer.start, answer.end);
        out.line(format!("{:>12.4}  {}  ({place})", answer.score, excerpt(&answer.text, 90)))?;
    }
    out.line(format!("{:>12.4}  no answer", found.no_answer_score))
}
