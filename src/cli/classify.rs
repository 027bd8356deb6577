//! `cloze classify`: texts, or pairs -> labels.

use clap::builder::ArgAction;
use clap::{Arg, ArgMatches, Command};
use serde::Serialize;

use super::heads::{Line, SETTINGS, Seen};
use super::input::{self, Input};
use super::output::{Out, excerpt};
use super::stream::{self, Answers};
use super::{Outcome, Verb, flags};
use crate::error::{ErrorKind, Result, fail};
use crate::tasks::{Classes, Classified, LabelScore, Model, Request};

pub(super) const VERB: Verb = Verb {
    name: "classify",
    about: "Texts, or pairs of texts, to labels",
    examples: "Examples:
  cloze classify -m models/sst2 'A wonderful film.' 'A waste of time.'
  cloze classify -m models/sst2 --json < texts.jsonl
  echo '{\"text\":\"A man eats.\",\"pair\":\"Somebody is eating.\"}' | cloze classify -m models/nli --json
  cloze classify -m models/nli --label sport --label politics --hypothesis 'This text is about {}.' 'The match was a draw.'
  cloze classify -m models/sst2 --top 1 --activation identity < texts.txt

With --json, standard input is JSON lines: {\"text\":\"...\"}, with a \"pair\" and an \"id\" if you like.
Answers are JSON lines, the best label first: {\"index\":0,\"labels\":[{\"label\":\"POSITIVE\",\"score\":0.99,\"logit\":4.7},...]}, also
  id         of the line that the text came from
  truncated, total, tokens   where some tokens of the text (total) were left out: how many were seen
  windows    their number, where there are several",
    build,
    run,
};

/// Those of zero-shot classification.
const ZERO_SHOT: &[&str] = &["hypothesis", "multi_label"];

fn build(command: Command) -> Command {
    let label = Arg::new("label")
        .long("label")
        .value_name("LABEL")
        .action(ArgAction::Append)
        .allow_hyphen_values(true)
        .help("Zero-shot, by a model of inference: how well this label fits; give one for each label to choose from");
    let command = flags::with_texts(flags::with_model(command), input::PAIR).arg(label);
    let command = flags::with_request(command, |name| SETTINGS.contains(&name) || ZERO_SHOT.contains(&name));
    // Without labels these would say nothing.
    command.mut_args(|arg| if ZERO_SHOT.contains(&arg.get_id().as_str()) { arg.requires("label") } else { arg })
}

fn run(matches: &ArgMatches) -> Outcome {
    let request = flags::request(matches)?;
    let model = flags::open_model(matches)?;
    let json = matches.get_flag("json");
    let labels: Vec<&String> = matches.get_many("label").map(Iterator::collect).unwrap_or_default();
    let ask = |chunk: &[Input], request: &Request| {
        if !labels.is_empty() {
            return zero_shot(&model, chunk, &labels, request);
        }
        let inputs: Vec<(&str, Option<&str>)> = chunk.iter().map(|input| (input.text.as_str(), input.pair.as_deref())).collect();
        model.classify(&inputs, request).map(finished)
    };
    stream::each(matches, input::PAIR, request, ask, |input, answer, out| {
        if json { out.json(&Line::new(input, Fields::new(answer), &answer.report)) } else { readable(input, answer, out) }
    })
}

fn zero_shot(model: &Model, chunk: &[Input], labels: &[&String], request: &Request) -> Result<Answers<Classified>> {
    if let Some(input) = chunk.iter().find(|input| input.pair.is_some()) {
        let told = format!("text {}: with --label the label takes the place of a pair; leave out \"pair\"", input.index - chunk[0].index);
        return fail(ErrorKind::InvalidArgument, told);
    }
    let texts: Vec<&str> = chunk.iter().map(|input| input.text.as_str()).collect();
    model.classify_as(&texts, labels, request).map(finished)
}

fn finished(answer: Classes) -> Answers<Classified> {
    Answers::of(answer.inputs, answer.finished, answer.stopped)
}

/// What an answer's line of JSON says.
#[derive(Serialize)]
struct Fields<'a> {
    labels: Vec<Label<'a>>,
}

#[derive(Serialize)]
struct Label<'a> {
    label: &'a str,
    score: f32,
    logit: f32,
}

impl<'a> Fields<'a> {
    fn new(answer: &'a Classified) -> Fields<'a> {
        let label = |LabelScore { label, score, logit, .. }: &'a LabelScore| Label { label, score: *score, logit: *logit };
        Fields { labels: answer.labels.iter().map(label).collect() }
    }
}

/// Labels shown of one text.
const SHOWN: usize = 5;

fn readable(input: &Input, answer: &Classified, out: &mut Out) -> Outcome {
    let pair = input.pair.as_ref().map(|pair| format!("  |  {}", excerpt(pair, 40))).unwrap_or_default();
    out.line(format!("{:>4}  {}{pair}{}", input.index, excerpt(&input.text, 80), Seen::words(&answer.report)))?;
    for label in answer.labels.iter().take(SHOWN) {
        out.line(format!("{:>12.4}  {}", label.score, excerpt(&label.label, 60)))?;
    }
    match answer.labels.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => out.line(format!("{:>14}and {more} more", "")),
    }
}
