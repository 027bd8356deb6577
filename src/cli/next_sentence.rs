//! `cloze next-sentence`: how probably does the second text follow the first?

use clap::{ArgMatches, Command};
use serde::Serialize;

use super::heads::{Line, SETTINGS, Seen};
use super::input::{self, Input};
use super::output::{Out, excerpt};
use super::stream::{self, Answers};
use super::{Outcome, Verb, flags};
use crate::tasks::{Follows, InputReport};

pub(super) const VERB: Verb = Verb {
    name: "next-sentence",
    about: "How probably the second text of a pair follows the first",
    examples: "Examples:
  cloze next-sentence -m models/bert-base 'He opened the door.' 'The room was dark.'
  cloze next-sentence -m models/bert-base --json < pairs.jsonl
  printf 'He opened the door.\\tThe room was dark.\\n' | cloze next-sentence -m models/bert-base

Arguments are pairs, two by two; on standard input a tab stands between the texts of a pair.
With --json, standard input is JSON lines: {\"text\":\"...\",\"pair\":\"...\"}, with an \"id\" if you like.
Answers are JSON lines: {\"index\":0,\"score\":0.98,\"logits\":[3.1,-0.9]}: the probability, and the logits of \"follows\" and \"does not\"; also
  id         of the line that the pair came from
  truncated, total, tokens   where some tokens of the pair (total) were left out: how many were seen
  windows    their number, where there are several",
    build,
    run,
};

/// Options of heads that give a choice of labels.
const OTHERS: &[&str] = &["activation", "top"];

fn build(command: Command) -> Command {
    let command = flags::with_texts(flags::with_model(command), input::TWO);
    flags::with_request(command, |name| SETTINGS.contains(&name) && !OTHERS.contains(&name))
}

fn run(matches: &ArgMatches) -> Outcome {
    let request = flags::request(matches)?;
    let model = flags::open_model(matches)?;
    let json = matches.get_flag("json");
    let ask = |chunk: &[Input], request: &_| {
        let pairs: Vec<(&str, &str)> = chunk.iter().map(|input| (input.text.as_str(), input.pair.as_deref().unwrap_or_default())).collect();
        let answer = model.next_sentence(&pairs, request)?;
        Ok(Answers { finished: answer.pairs.into_iter().zip(answer.reports).collect(), stopped: answer.stopped })
    };
    stream::each(matches, input::TWO, request, ask, |input, (answer, report), out| {
        if json {
            out.json(&Line::new(input, Fields { score: answer.score, logits: answer.logits }, report))
        } else {
            readable(input, answer, report, out)
        }
    })
}

/// What an answer's line of JSON says.
#[derive(Serialize)]
struct Fields {
    score: f32,
    logits: [f32; 2],
}

fn readable(input: &Input, answer: &Follows, report: &InputReport, out: &mut Out) -> Outcome {
    let pair = excerpt(input.pair.as_deref().unwrap_or_default(), 50);
    out.line(format!("{:>4}  {:>6.4}  {}  |  {pair}{}", input.index, answer.score, excerpt(&input.text, 50), Seen::words(report)))
}
