//! `cloze-train evaluate`: how good is a model at a task?

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::builder::ArgAction;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, value_parser};

use super::super::output::Out;
use super::super::{Failure, Outcome, Verb, flags};
use super::labelled;
use super::spelling::Spelling;
use crate::error::{Error, ErrorKind, Result};
use crate::formats::atomic::AtomicFile;
use crate::tasks::{Model, Options, Request};
use crate::train::evaluate::{self, report};
use crate::train::finetune::readers::{Plan, unread};
use crate::train::finetune::{Data, FinetuneSettings, Task};
use crate::train::labelled::{ReadSettings, retrieval};

pub(in super::super) const VERB: Verb = Verb {
    name: "evaluate",
    about: "A model and labelled examples to figures: accuracy, F1, correlation, exact answers, nDCG, as their usual scripts count",
    examples: "Examples:
  cloze-train evaluate -m run/best --task sst2 SST-2/dev.tsv
  cloze-train evaluate -m model.gguf --precision int8 --task tag test.conll --predictions said.jsonl
  cloze-train evaluate -m run/best --task classify dev.csv --text body --label stars --report report.html

Any model that `cloze` opens is evaluated, at any precision. Standard output has a figure a line, or one JSON object with --json.",
    build,
    run: evaluate,
};

/// The options of opening that change what is measured.
const OPENING: &[&str] = &["precision", "threads", "isa"];
/// The options of asking that do.
const ASKING: &[&str] = &["max_tokens"];

fn build(command: Command) -> Command {
    let path = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
    };
    command
        .args([
            path("model", "MODEL", "The model: a folder or a GGUF file").short('m').required(true),
            labelled::task(),
            Arg::new("data")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Examples with what is right; of rerank and encode also a folder as BEIR has it, or Cranfield's"),
            Arg::new("split")
                .long("split")
                .value_name("SPLIT")
                .default_value("test")
                .help("Of a folder of documents and queries: which judgements"),
            path("run", "FILE", "rerank, encode: the documents of each query to put in order, a run as TREC has it. Without one: rerank those that are judged, encode all"),
            path("predictions", "FILE", "Write what the model says of each example, a JSON object a line"),
            path("report", "FILE", "Write figures, confusions and errors as a page"),
            Arg::new("json").long("json").action(ArgAction::SetTrue).help("Figures as one JSON object"),
            Arg::new("shown")
                .long("shown")
                .value_name("N")
                .value_parser(value_parser!(usize))
                .default_value("200")
                .help("Errors that the page lists at most"),
        ])
        .args(flags::rows(ReadSettings::SETTINGS, "How files are read", |_| true))
        .args(flags::rows(Options::SETTINGS, "How the model is opened", |name| OPENING.contains(&name)))
        .args(flags::rows(Request::SETTINGS, "How it is asked", |name| ASKING.contains(&name)))
}

fn evaluate(matches: &ArgMatches) -> Outcome {
    let path = |name: &str| matches.get_one::<PathBuf>(name).map(PathBuf::as_path);
    let (mut read, mut options, mut request) = (ReadSettings::default(), Options::default(), Request::default());
    flags::apply(ReadSettings::SETTINGS, &mut read, matches)?;
    flags::apply(Options::SETTINGS, &mut options, matches)?;
    flags::apply(Request::SETTINGS, &mut request, matches)?;
    let inputs = [path("data"), path("run")];
    for (name, other) in [("predictions", "report"), ("report", "predictions")] {
        if let Some(file) = path(name).filter(|file| inputs.contains(&Some(file)) || path(other) == Some(file)) {
            return Err(Failure::Usage(format!("--{name} {}: that file is another one of this command's", file.display())));
        }
    }
    let spelling = Spelling::default().with(ReadSettings::SETTINGS, matches, &[]);
    let task = labelled::task_of(matches)?;
    let plan = Plan { task, settings: &FinetuneSettings::default(), teacher: false, held_out: false, steps: false };
    if let Some(told) = unread(&plan, |name| spelling.given(name)) {
        return Err(Failure::Usage(spelling.respelled(&told)));
    }
    asked(matches, task, &read, &options, &request).map_err(|failure| spelling.failed(failure))
}

/// Reads the examples, asks the model, and tells what it came to.
fn asked(matches: &ArgMatches, task: &Task, read: &ReadSettings, options: &Options, request: &Request) -> Outcome {
    let path = |name: &str| matches.get_one::<PathBuf>(name).map(PathBuf::as_path);
    let split = matches.get_one::<String>("split").map_or("test", String::as_str);
    let (data, told) = Data::read(task, path("data").unwrap_or(Path::new("")), split, read)?;
    labelled::tell_skipped(&told);
    if !matches!(data, Data::Collection(_)) {
        let of_folders = [("run", path("run").is_some()), ("split", matches.value_source("split") == Some(ValueSource::CommandLine))];
        if let Some((name, _)) = of_folders.into_iter().find(|(_, given)| *given) {
            return Err(Failure::Usage(format!("--{name} is for a folder of documents and queries; leave it out")));
        }
    }
    let model = Model::load(path("model").unwrap_or(Path::new("")), options)?;
    let outcome = match (&data, path("run")) {
        (Data::Collection(collection), Some(run)) => {
            let (run, skipped) = retrieval::run(run, read)?;
            labelled::tell_skipped(&skipped.iter().map(|row| format!("{}: {}", row.place, row.why)).collect::<Vec<_>>());
            evaluate::collection(&model, collection, Some(&run), request)?
        }
        _ => evaluate::evaluate(&model, task, &data, request)?,
    };
    if let Some(file) = path("predictions") {
        let lines: Vec<String> = outcome.predictions.iter().map(ToString::to_string).collect();
        write(file, &format!("{}\n", lines.join("\n")))?;
    }
    if let Some(file) = path("report") {
        let shown = matches.get_one::<usize>("shown").copied().unwrap_or(0);
        write(file, &report::page(task, &outcome, shown))?;
    }
    let mut out = Out::new();
    if matches.get_flag("json") {
        out.json(&outcome.figures)?;
    } else {
        outcome.figures.named.iter().try_for_each(|(name, figure)| out.line(format!("{name} {figure:.4}")))?;
    }
    out.flush()
}

/// Writes a file as a whole or not at all.
fn write(path: &Path, text: &str) -> Result<()> {
    let mut file = AtomicFile::replacing(path)?;
    file.write_all(text.as_bytes()).map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.display())))?;
    file.commit()
}
