//! `cloze encode`: texts -> vectors, or how alike texts are, or which answer a query best.
//!
//! Texts come in chunks from [`super::input`]; each chunk is one call of [`Model::encode`]; a [`Sink`] turns the answer into
//! lines ([`super::vectors`]), a table or a ranking ([`super::similarity`]).

use clap::{Arg, ArgMatches, Command, builder::ArgAction, value_parser};

use super::input::{self, Input, Inputs};
use super::output::Out;
use super::progress::Progress;
use super::similarity::{Ranking, Table};
use super::stream::Deadline;
use super::vectors::Lines;
use super::{Failure, Outcome, Verb, flags, late, sparse};
use crate::error::Error;
use crate::tasks::{Embeddings, Model, Output, Request};

pub(super) const VERB: Verb = Verb {
    name: "encode",
    about: "Texts to vectors; how alike texts are; which texts answer a query",
    examples: "Examples:
  cloze encode -m models/minilm 'How do I reset my password?'
  cloze encode -m models/minilm --json < texts.jsonl > vectors.jsonl
  echo '{\"text\":\"a text\",\"id\":\"doc-7\"}' | cloze encode -m models/minilm --json
  cloze encode -m models/minilm --similarity 'a cat sleeps' 'a kitten naps' 'stocks fell'
  cloze encode -m models/minilm --query 'how to get a refund' --top 3 < passages.txt
  cloze encode -m models/minilm --truncation window --overlap 32 < long.txt
  cloze encode -m models/minilm --dimensions 128 --output int8 --json 'a text'
  cloze encode -m models/colbert --vectors token --role query --json 'a question'
  cloze encode -m models/colbert --late --role query --json 'a question'
  cloze encode -m models/splade --sparse --top 20 --json 'a text'

With --json, standard input is JSON lines: {\"text\":\"...\"}, with an \"id\" of any kind if you like.
Answers are JSON lines: {\"index\":0,\"embedding\":[...],\"tokens\":12,\"truncated\":false}, also
  id        of the line that the text came from
  total     tokens of the whole text, where it was cut or cut into windows
  windows   their number, where there are several
  scale     of --output int8: value times scale is the number rounded
  embeddings, scales   in place of embedding and scale with --vectors token: one a token
  ids, tokens, weights   in place of embedding with --sparse: the tokens that the text is about, most important first
  ids, tokens, offsets, embeddings   with --late: one a token that is compared
With --similarity {\"index\":0,\"similarities\":[...]}, with --query {\"index\":3,\"rank\":0,\"score\":0.71}, best first.",
    build,
    run,
};

fn build(command: Command) -> Command {
    let similarity =
        Arg::new("similarity").long("similarity").action(ArgAction::SetTrue).help("Print how alike the texts are: the cosine of each two");
    let query = Arg::new("query")
        .long("query")
        .value_name("QUERY")
        .conflicts_with("similarity")
        .help("Rank the texts by their cosine with this query, best first");
    let top = Arg::new("top")
        .long("top")
        .value_name("K")
        .value_parser(value_parser!(u32).range(1..))
        .help("With --query: how many texts to print, 10 unless said otherwise; with --sparse: how many weights");
    let sparse = Arg::new("sparse")
        .long("sparse")
        .action(ArgAction::SetTrue)
        .conflicts_with_all(["similarity", "query", "vectors"])
        .help("Print sparse weights of the vocabulary (SPLADE), by the model's head for fill-mask");
    let late = Arg::new("late")
        .long("late")
        .action(ArgAction::SetTrue)
        .conflicts_with_all(["similarity", "query", "vectors", "sparse"])
        .help("Print the vectors that a late-interaction model (ColBERT) compares, one a token, with the tokens and their places");
    let named = Arg::new("query_prompt_name")
        .long("query-prompt-name")
        .value_name("NAME")
        .requires("query")
        .help("With --query: put the model's prompt of this name before the query");
    let prompt = Arg::new("query_prompt")
        .long("query-prompt")
        .value_name("TEXT")
        .requires("query")
        .conflicts_with("query_prompt_name")
        .help("With --query: put this text before the query");
    let command = flags::with_texts(flags::with_model(command), input::TEXT).args([similarity, query, sparse, late, top, named, prompt]);
    flags::with_request(command, |name| !OTHERS.contains(&name))
}

/// Options of other commands, of heads.
const OTHERS: &[&str] = &["activation", "top", "windows", "hypothesis", "multi_label"];

/// What becomes of the vectors of a chunk.
pub(super) trait Sink {
    fn take(&mut self, inputs: Vec<Input>, answer: &Embeddings, out: &mut Out) -> Outcome;
    /// Called once, after the last chunk.
    fn finish(&mut self, _out: &mut Out) -> Outcome {
        Ok(())
    }
}

fn run(matches: &ArgMatches) -> Outcome {
    let mut request = flags::request(matches)?;
    request.sparse |= matches.get_flag("sparse");
    let compares = matches.get_flag("similarity") || matches.contains_id("query");
    if compares && (request.token_vectors || request.sparse || request.output != Output::F32) {
        return Err(Failure::Usage("--similarity and --query compare f32 vectors of whole texts; leave out --vectors and --output".into()));
    }
    if !request.sparse && request.threshold > 0.0 {
        return Err(Failure::Usage("--threshold leaves out sparse weights; say --sparse, or leave it out".into()));
    }
    if !compares && !request.sparse && matches.contains_id("top") {
        return Err(Failure::Usage("--top goes with --query or --sparse".into()));
    }
    if matches.contains_id("offsets") && !matches.get_flag("late") {
        return Err(Failure::Usage("--offsets are places of tokens, which --late prints; say --late, or leave it out".into()));
    }
    if matches.get_flag("late") {
        if request.output != Output::F32 {
            return Err(Failure::Usage("--late prints f32; leave out --output".into()));
        }
        return late::run(matches, request);
    }
    if request.sparse {
        request.top = matches.get_one::<u32>("top").map(|k| *k as usize);
        return sparse::run(matches, request);
    }
    let mut session = Session::new(flags::open_model(matches)?, request);
    let mut sink = sink(matches, &session)?;
    let mut inputs = Inputs::open(matches, input::TEXT);
    let mut out = Out::new();
    let mut progress = Progress::texts();
    let mut stopped = None;
    while stopped.is_none() {
        let chunk = inputs.chunk()?;
        let Some(last) = chunk.last() else { break };
        let count = last.index + 1;
        let answer = session.encode(&chunk)?;
        stopped = answer.stopped.map(|kind| (kind, chunk[0].index + answer.finished));
        sink.take(chunk, &answer, &mut out)?;
        out.flush()?;
        progress.at(count);
    }
    sink.finish(&mut out)?;
    out.flush()?;
    stopped.map_or(Ok(()), |(kind, finished)| Err(session.deadline.why(kind, finished)))
}

fn sink(matches: &ArgMatches, session: &Session) -> Result<Box<dyn Sink>, Failure> {
    let json = matches.get_flag("json");
    if matches.get_flag("similarity") {
        return Ok(Box::new(Table::new(json)));
    }
    let Some(query) = matches.get_one::<String>("query") else { return Ok(Box::new(Lines::new(json, session.request.token_vectors))) };
    let mut request = session.request.clone();
    for (flag, setting) in [("query_prompt_name", "prompt_name"), ("query_prompt", "prompt")] {
        if let Some(value) = matches.get_one::<String>(flag) {
            request.set(setting, value)?;
        }
    }
    request.deadline = None;
    let answer = session.model.encode(&[query], &request).map_err(|e| e.within("the query"))?;
    let top = matches.get_one::<u32>("top").map_or(10, |k| *k as usize);
    Ok(Box::new(Ranking::new(query, answer.vectors.as_f32().unwrap_or_default().to_vec(), top, json)))
}

/// A model and what is asked of it.
struct Session {
    model: Model,
    request: Request,
    deadline: Deadline,
}

impl Session {
    fn new(model: Model, request: Request) -> Session {
        Session { model, deadline: Deadline::new(request.clone()), request }
    }

    fn encode(&mut self, chunk: &[Input]) -> Result<Embeddings, Failure> {
        let texts: Vec<&str> = chunk.iter().map(|input| input.text.as_str()).collect();
        self.model.encode(&texts, &self.deadline.next()).map_err(|e| renumber(&e, chunk[0].index).into())
    }
}

/// The library counts the texts of a call; the user counts those of the whole input.
pub(super) fn renumber(error: &Error, first: usize) -> Error {
    let numbered = ["text", "context"].iter().find_map(|what| {
        let (number, rest) = error.message().strip_prefix(what)?.strip_prefix(' ')?.split_once(": ")?;
        Some((what, number.parse::<usize>().ok()?, rest))
    });
    match numbered {
        Some((what, number, rest)) => Error::new(error.kind(), format!("{what} {}: {rest}", first + number)),
        None => error.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn errors_count_over_the_whole_input() {
        let error = |message: &str| Error::new(ErrorKind::TooLong, message);
        assert_eq!(renumber(&error("text 3: too long: 9 tokens"), 256), error("text 259: too long: 9 tokens"));
        assert_eq!(renumber(&error("context 3: too long: 9 tokens"), 1), error("context 4: too long: 9 tokens"));
        assert_eq!(renumber(&error("no number here: 3"), 256), error("no number here: 3"));
    }
}
