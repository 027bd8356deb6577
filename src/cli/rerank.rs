//! `cloze rerank`: a query and documents -> the documents, best first.
//!
//! A ranking needs all documents, so all are read before the call.

use clap::{Arg, ArgMatches, Command};
use serde::Serialize;

use super::heads::{Line, SETTINGS, Seen};
use super::input::{self, Inputs};
use super::output::{Out, excerpt};
use super::{Outcome, Verb, flags};
use crate::error::Error;

pub(super) const VERB: Verb = Verb {
    name: "rerank",
    about: "Documents by how well they answer a query, best first",
    examples: "Examples:
  cloze rerank -m models/ms-marco --query 'how much is postage' < passages.txt
  cloze rerank -m models/ms-marco --query 'how much is postage' --top 3 --json < passages.jsonl
  cloze rerank -m models/ms-marco --query 'how much is postage' --deadline-ms 20 'a passage' 'another one'
  cloze rerank -m models/ms-marco --query 'how much is postage' --windows max < long.txt
  cloze rerank -m models/minilm --query 'how much is postage' < passages.txt
  cloze rerank -m models/swag --query 'She opens the oven.' 'She takes the bread out.' 'She swims away.'

A cross-encoder reads query and document as one; an embedding model ranks by the cosine of their vectors,
a sparse encoder (or any masked language model with --vectors sparse) by the dot product of their sparse weights,
a late-interaction model (ColBERT) by the sum of the best dot products of their tokens.
A model for multiple choice takes the query for the question or the premise and the texts for its choices:
scores are their probabilities, which sum to 1 over all of them.
With --json, standard input is JSON lines: {\"text\":\"...\"}, with an \"id\" of any kind if you like.
Answers are JSON lines, best first: {\"index\":3,\"rank\":0,\"score\":0.93,\"logit\":2.6}, also
  id         of the line that the document came from
  truncated, total, tokens   where some tokens of query and document (total) were left out: how many were seen
  windows    their number, where there are several
When --deadline-ms passes, the documents scored by then are ranked, and the exit code is 1.",
    build,
    run,
};

/// Options of models that encode query and documents each for itself.
const OWN: &[&str] = &["vectors", "threshold"];

fn build(command: Command) -> Command {
    let query = Arg::new("query").long("query").value_name("QUERY").required(true).allow_hyphen_values(true).help("What is asked");
    let command = flags::with_texts(flags::with_model(command), input::TEXT).arg(query);
    flags::with_request(command, |name| SETTINGS.contains(&name) || OWN.contains(&name))
}

fn run(matches: &ArgMatches) -> Outcome {
    let request = flags::request(matches)?;
    let model = flags::open_model(matches)?;
    let query = matches.get_one::<String>("query").map_or("", String::as_str);
    let (mut inputs, mut documents) = (Inputs::open(matches, input::TEXT), Vec::new());
    loop {
        let chunk = inputs.chunk()?;
        if chunk.is_empty() {
            break;
        }
        documents.extend(chunk);
    }
    let texts: Vec<&str> = documents.iter().map(|document| document.text.as_str()).collect();
    let ranking = model.rerank(query, &texts, &request)?;
    let mut out = Out::new();
    if !matches.get_flag("json") {
        out.line(format!("Query: {}", excerpt(query, 100)))?;
    }
    for (rank, ranked) in ranking.ranked.iter().enumerate() {
        let (document, report) = (&documents[ranked.index], &ranking.documents[ranked.index]);
        if matches.get_flag("json") {
            let fields = Fields { rank, score: ranked.score, logit: ranked.logit };
            out.json(&Line::new(document, fields, report))?;
        } else {
            let seen = Seen::words(report);
            out.line(format!("{:>4}.  {:>7.4}  {}{seen}", rank + 1, ranked.score, excerpt(&document.text, 90)))?;
        }
    }
    out.flush()?;
    let Some(kind) = ranking.stopped else { return Ok(()) };
    let limit = request.deadline.map_or(0, |limit| limit.as_millis());
    let told = format!("the deadline of {limit} ms passed; {} of {} documents are scored", ranking.scored, documents.len());
    Err(Error::new(kind, told).into())
}

/// What a document's line of JSON says.
#[derive(Serialize)]
struct Fields {
    rank: usize,
    score: f32,
    logit: f32,
}
