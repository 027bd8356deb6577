//! `cloze-train pretrain`: what should a model learn from the corpus, and for how long?

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Arg, ArgMatches, Command, value_parser};

use super::super::{Outcome, Verb, flags};
use super::{run, settings_file};
use crate::formats::Source;
use crate::train::pretrain::{PretrainSettings, Pretraining};
use crate::train::run::RunSettings;
use crate::train::shards::Shards;
use crate::train::team::Team;
use crate::train::{Corpus, ExampleSettings};

pub(in super::super) const VERB: Verb = Verb {
    name: "pretrain",
    about: "A corpus to a model: masked words, next sentences, sentence order, or words from left to right",
    examples: "Examples:
  cloze-train pretrain -o run --shards shards -t tokenizer --held-out shards-held-out
  cloze-train pretrain -o run --shards shards -t tokenizer --preset bert-small --steps 100000 --batch 64
  cloze-train pretrain -o run --shards shards -t bert-base --model bert-base --sequences single --rate 5e-5
  cloze-train pretrain -o run --shards shards -t tokenizer --settings run.toml --resume

OUT holds model/, a Hugging Face folder that `transformers` and `cloze` open, best/ (the lowest held-out loss), checkpoints/, log.jsonl,
curve.svg and report.html. Ctrl-C ends with a checkpoint; --resume goes on from it, bit for bit.",
    build,
    run: pretrain,
};

fn build(command: Command) -> Command {
    let path = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
    };
    command
        .args([
            super::out("The folder of the run"),
            super::tokenizer(),
            path("shards", "SHARDS", "The corpus: a folder that `cloze-train shards` made").required(true),
            path("held-out", "SHARDS", "Shards of text to evaluate on, by the same tokenizer"),
            path("model", "MODEL", "The model to go on from; without one, a model of --preset begins from nothing"),
        ])
        .args(run::flags())
        .args(flags::rows(PretrainSettings::SETTINGS, "How the model learns", |_| true))
        .args(flags::rows(RunSettings::SETTINGS, "How the model learns", |_| true))
        .args(flags::rows(ExampleSettings::SETTINGS, "What it learns from", |_| true))
}

fn pretrain(matches: &ArgMatches) -> Outcome {
    let path = |name: &str| matches.get_one::<PathBuf>(name).map(PathBuf::as_path);
    let out = path("out").unwrap_or(Path::new(""));
    let resume = matches.get_flag("resume");
    let team = Team::join()?;
    run::refuse_taken(out, resume)?;
    let (mut settings, mut examples) = (PretrainSettings::default(), ExampleSettings::default());
    if let Some(file) = path("settings") {
        settings_file::read(file, &mut |name, value| {
            if ExampleSettings::SETTINGS.iter().any(|row| row.name == name) { examples.set(name, value) } else { settings.set(name, value) }
        })?;
    }
    flags::apply(PretrainSettings::SETTINGS, &mut settings, matches)?;
    flags::apply(RunSettings::SETTINGS, &mut settings.run, matches)?;
    flags::apply(ExampleSettings::SETTINGS, &mut examples, matches)?;
    let source = Source::open(path("tokenizer").unwrap_or(Path::new("")))?;
    let tokenizer = Arc::new(super::open_tokenizer(matches)?);
    let corpus = |shards: &Path| Corpus::new(Shards::open(shards)?, Arc::clone(&tokenizer), examples.clone());
    let held_out = path("held-out").map(corpus).transpose()?;
    let corpus = corpus(path("shards").unwrap_or(Path::new("")))?;
    let from = path("model").map(Source::open).transpose()?;
    let log_every = settings.run.log_every;
    let mut pretraining = Pretraining::new(from.as_ref(), &source, corpus, held_out, settings)?;
    if from.is_some() && team.leads() {
        run::tell_made(pretraining.made());
    }
    run::go(out, resume, log_every, &team, |stop, watch| pretraining.run(out, resume, &team, stop, watch))?;
    team.leave();
    Ok(())
}
