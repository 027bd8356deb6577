//! `cloze tokenize`: what exactly does the model see?

use clap::{ArgMatches, Command};
use serde::Serialize;
use serde_json::value::RawValue;

use super::encode::renumber;
use super::input::{self, Input, Inputs};
use super::output::Out;
use super::progress::Progress;
use super::{Outcome, Verb, flags};
use crate::tasks::Tokens;

pub(super) const VERB: Verb = Verb {
    name: "tokenize",
    about: "Texts to tokens: ids, token texts and offsets, as the model sees them",
    examples: "Examples:
  cloze tokenize -m models/minilm 'Unbelievable!'
  cloze tokenize -m models/minilm --json --offsets utf16 < texts.jsonl
  echo '{\"text\":\"Who?\",\"pair\":\"She did.\"}' | cloze tokenize -m models/minilm --json
  cloze tokenize -m models/minilm --truncation window --max-tokens 64 < long.txt

With --json, standard input is JSON lines: {\"text\":\"...\"}, with a \"pair\" and an \"id\" if you like.
Answers are JSON lines: {\"index\":0,\"ids\":[...],\"tokens\":[...],\"offsets\":[[0,3],...],\"type_ids\":[...]}, also
  id                 of the line that the text came from
  window             the window's number, where a text is cut into several: one line a window
  total, truncated   tokens of the whole text, where some were left out
Offsets count code points of the text (of the pair where type_ids is 1); special tokens have [0,0].",
    build,
    run,
};

/// The options that decide what the model sees.
const SETTINGS: &[&str] = &["prompt", "prompt_name", "truncation", "max_tokens", "overlap", "offsets"];

fn build(command: Command) -> Command {
    flags::with_request(flags::with_texts(flags::with_model(command), input::PAIR), |name| SETTINGS.contains(&name))
}

fn run(matches: &ArgMatches) -> Outcome {
    let request = flags::request(matches)?;
    let model = flags::open_model(matches)?;
    let json = matches.get_flag("json");
    let mut inputs = Inputs::open(matches, input::PAIR);
    let mut out = Out::new();
    let mut progress = Progress::texts();
    loop {
        let chunk = inputs.chunk()?;
        let Some(last) = chunk.last() else { return Ok(()) };
        let texts: Vec<(&str, Option<&str>)> = chunk.iter().map(|input| (input.text.as_str(), input.pair.as_deref())).collect();
        let all = model.tokenize(&texts, &request).map_err(|e| renumber(&e, chunk[0].index))?;
        for tokens in &all {
            let several = all.iter().filter(|t| t.index == tokens.index).nth(1).is_some();
            let input = &chunk[tokens.index];
            if json {
                out.json(&Line::new(input, tokens, several))?;
            } else {
                readable(input, tokens, several, &mut out)?;
            }
        }
        out.flush()?;
        progress.at(last.index + 1);
    }
}

/// One answer. Fields that say nothing are left out.
#[derive(Serialize)]
struct Line<'a> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<usize>,
    ids: &'a [u32],
    tokens: &'a [String],
    offsets: &'a [(usize, usize)],
    type_ids: &'a [u32],
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
}

impl<'a> Line<'a> {
    fn new(input: &'a Input, tokens: &'a Tokens, several: bool) -> Line<'a> {
        Line {
            index: input.index,
            id: input.id.as_deref(),
            window: several.then_some(tokens.window),
            ids: &tokens.ids,
            tokens: &tokens.tokens,
            offsets: &tokens.offsets,
            type_ids: &tokens.type_ids,
            total: (tokens.truncated || several).then_some(tokens.total),
            truncated: tokens.truncated.then_some(true),
        }
    }
}

fn readable(input: &Input, tokens: &Tokens, several: bool, out: &mut Out) -> Outcome {
    let window = if several { format!(", window {}", tokens.window) } else { String::new() };
    let cut = if tokens.truncated { format!(" of {}", tokens.total) } else { String::new() };
    out.line(format!("text {}{window}: {}{cut} tokens", input.index, tokens.ids.len()))?;
    for (i, token) in tokens.tokens.iter().enumerate() {
        let place = match (tokens.special[i], tokens.offsets[i]) {
            (true, _) => String::new(),
            (false, (start, end)) => format!("{start}..{end}{}", if tokens.type_ids[i] == 0 { "" } else { " of the pair" }),
        };
        out.line(format!("{:>8}  {token:<20} {place}", tokens.ids[i]).trim_end())?;
    }
    Ok(())
}
