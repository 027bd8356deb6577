//! `cloze attention`: a text -> what each head of each layer looks at, as a page, as JSON, or in short.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use serde::Serialize;

use super::attention_page;
use super::output::{Out, excerpt};
use super::{Outcome, Verb, flags};
use crate::error::{Error, ErrorKind, Result};
use crate::tasks::{Maps, Model, Request};

pub(super) const VERB: Verb = Verb {
    name: "attention",
    about: "A text to what the model's heads look at, as a page to explore",
    examples: "Examples:
  cloze attention -m models/minilm 'The cat sat on the mat because it was tired.' -o page.html
  cloze attention -m models/minilm --pair 'The fox lives in the forest.' 'Where does the fox live?' -o page.html
  cloze attention -m models/minilm --json 'The cat sat.' > maps.json
  cloze attention -m models/minilm 'The cat sat on the mat.'

The page is one file that needs no network. With --json, one line:
  {\"tokens\":[...],\"ids\":[...],\"offsets\":[[0,3],...],\"type_ids\":[...],\"special\":[...],\"attention\":[layer][head][from][to],\"hidden_states\":[layer][token][column]}
With neither, of each head how much of its attention goes to the token itself, the one before, the one behind, and special tokens.",
    build,
    run,
};

const SETTINGS: &[&str] = &["prompt", "prompt_name", "language", "truncation", "max_tokens", "offsets", "deadline_ms"];

fn build(command: Command) -> Command {
    let text = Arg::new("text").value_name("TEXT").required(true).help("The text");
    let pair =
        Arg::new("pair").long("pair").value_name("TEXT").allow_hyphen_values(true).help("A second text, read together with the first");
    let page = Arg::new("output_file")
        .short('o')
        .long("page")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .conflicts_with("json")
        .help("Write a page of HTML to this file, which is replaced if it exists");
    let json = Arg::new("json").long("json").action(clap::ArgAction::SetTrue).help("Print all numbers as JSON");
    let command = flags::with_model(command).arg(text).arg(pair).arg(page).arg(json);
    flags::with_request(command, |name| SETTINGS.contains(&name))
}

fn run(matches: &ArgMatches) -> Outcome {
    let request: Request = flags::request(matches)?;
    let model: Model = flags::open_model(matches)?;
    let text = matches.get_one::<String>("text").map_or("", String::as_str);
    let pair = matches.get_one::<String>("pair").map(String::as_str);
    let maps = model.attention(text, pair, &request)?;
    if let Some(path) = matches.get_one::<PathBuf>("output_file") {
        let page = attention_page::page(&maps)?;
        let refused = |e: std::io::Error| Error::new(ErrorKind::Io, format!("{}: {e}", path.display()));
        return Ok(std::fs::write(path, page).map_err(refused)?);
    }
    let mut out = Out::new();
    if matches.get_flag("json") {
        out.json(&Whole::new(&maps))?
    } else {
        readable(&maps, &mut out)?
    }
    out.flush()
}

/// Everything.
#[derive(Serialize)]
struct Whole<'a> {
    tokens: &'a [String],
    ids: &'a [u32],
    offsets: &'a [(usize, usize)],
    type_ids: &'a [u32],
    special: &'a [bool],
    total: usize,
    truncated: bool,
    attention: Vec<Vec<Vec<&'a [f32]>>>,
    hidden_states: Vec<Vec<&'a [f32]>>,
}

impl<'a> Whole<'a> {
    fn new(maps: &'a Maps) -> Whole<'a> {
        let tokens = &maps.tokens;
        let rows = |numbers: Option<&'a [f32]>, width: usize| numbers.unwrap_or_default().chunks(width.max(1)).collect::<Vec<_>>();
        let layer = |layer: usize| (0..maps.heads).map(|head| rows(maps.map(layer, head), tokens.ids.len())).collect();
        Whole {
            tokens: &tokens.tokens,
            ids: &tokens.ids,
            offsets: &tokens.offsets,
            type_ids: &tokens.type_ids,
            special: &tokens.special,
            total: tokens.total,
            truncated: tokens.truncated,
            attention: (0..maps.layers).map(layer).collect(),
            hidden_states: (0..=maps.layers).map(|layer| rows(maps.state(layer), maps.hidden)).collect(),
        }
    }
}

fn readable(maps: &Maps, out: &mut Out) -> Outcome {
    out.line(excerpt(&maps.tokens.tokens.join(" "), 120))?;
    out.line(format!("{:>5} {:>5} {:>8} {:>8} {:>8} {:>8}", "layer", "head", "itself", "before", "behind", "special"))?;
    for layer in 0..maps.layers {
        for head in 0..maps.heads {
            let [itself, before, behind, special] = shares(maps, layer, head)?;
            out.line(format!("{layer:>5} {head:>5} {itself:>8.3} {before:>8.3} {behind:>8.3} {special:>8.3}"))?;
        }
    }
    Ok(())
}

/// The mean share of a token's attention that goes to itself, to the token before it, the one behind it, and to special tokens.
fn shares(maps: &Maps, layer: usize, head: usize) -> Result<[f32; 4]> {
    let special = &maps.tokens.special;
    let count = special.len();
    let Some(map) = maps.map(layer, head) else { return Err(Error::new(ErrorKind::InvalidArgument, "there is no such head")) };
    let mut sums = [0f32; 4];
    for (i, row) in map.chunks_exact(count.max(1)).enumerate() {
        sums[0] += row[i];
        sums[1] += if i > 0 { row[i - 1] } else { 0.0 };
        sums[2] += row.get(i + 1).copied().unwrap_or(0.0);
        sums[3] += row.iter().zip(special).filter(|(_, special)| **special).map(|(weight, _)| weight).sum::<f32>();
    }
    Ok(sums.map(|sum| sum / count.max(1) as f32))
}
