//! `cloze-train pretrain`: what should a model learn from the corpus, and for how long?

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};

use super::super::{Outcome, Verb, flags};
use super::spelling::Spelling;
use super::{run, settings_file};
use crate::error::Result;
use crate::formats::Source;
use crate::train::ExampleSettings;
use crate::train::pretrain::{PretrainSettings, Pretraining};
use crate::train::run::RunSettings;
use crate::train::team::Team;

pub(in super::super) const VERB: Verb = Verb {
    name: "pretrain",
    about: "A corpus to a model: hidden words or spans, next sentences, sentence order, replaced words, or words from left to right",
    examples: "Examples:
  cloze-train pretrain -o run --shards shards -t tokenizer --held-out shards-held-out
  cloze-train pretrain -o run --shards shards -t tokenizer --preset bert-small --steps 100000 --batch 64
  cloze-train pretrain -o run --shards shards -t bert-base --model bert-base --sequences single --rate 5e-5
  cloze-train pretrain -o run --shards shards -t tokenizer --preset electra-small --objective replaced
  cloze-train pretrain -o run --shards shards -t tokenizer --preset bert-base --objective span_boundary
  cloze-train pretrain -o run --shards shards -t tokenizer --settings run.toml --resume

OUT holds model/, a Hugging Face folder that `transformers` and `cloze` open, best/ (the lowest held-out loss), checkpoints/, log.jsonl,
curve.svg, curve.png, report.html and files for TensorBoard; with --objective replaced also generator/, model/ being the discriminator. Ctrl-C ends with a checkpoint; --resume goes on from it, bit for bit.",
    build,
    run: pretrain,
};

fn build(command: Command) -> Command {
    command
        .args(run::flags_over_text())
        .arg(run::path("model", "MODEL", "The model to go on from; without one, a model of --preset begins from nothing"))
        .args(flags::rows(PretrainSettings::SETTINGS, "How the model learns", |_| true))
        .args(flags::rows(RunSettings::SETTINGS, "How the model learns", |_| true))
        .args(flags::rows(ExampleSettings::SETTINGS, "What it learns from", |_| true))
}

fn pretrain(matches: &ArgMatches) -> Outcome {
    let path = |name: &str| matches.get_one::<PathBuf>(name).map(PathBuf::as_path);
    let out = path("out").unwrap_or(Path::new(""));
    let resume = matches.get_flag("resume");
    let team = Team::join()?;
    let reads = [path("model"), path("shards"), path("held-out"), path("tokenizer")];
    run::refuse_taken(out, resume, &reads.into_iter().flatten().collect::<Vec<_>>())?;
    let (mut settings, mut examples) = (PretrainSettings::default(), ExampleSettings::default());
    let of_examples = |name: &str| ExampleSettings::SETTINGS.iter().any(|row| row.name == name);
    let read = |set: &mut dyn FnMut(&str, &str, bool) -> Result<()>| match path("settings") {
        Some(file) => settings_file::read(file, &mut |name, value| set(name, value, of_examples(name))),
        None => Ok(Vec::new()),
    };
    let keys = read(&mut |name, value, of_examples| if of_examples { Ok(()) } else { settings.set(name, value) })?;
    flags::apply(PretrainSettings::SETTINGS, &mut settings, matches)?;
    flags::apply(RunSettings::SETTINGS, &mut settings.run, matches)?;
    // The objective says what examples are like unless something else does.
    settings.objective.prepare(&mut examples);
    read(&mut |name, value, of_examples| if of_examples { examples.set(name, value) } else { Ok(()) })?;
    flags::apply(ExampleSettings::SETTINGS, &mut examples, matches)?;
    let spelling = Spelling::default().with(PretrainSettings::SETTINGS, matches, &keys).with(RunSettings::SETTINGS, matches, &keys).with(
        ExampleSettings::SETTINGS,
        matches,
        &keys,
    );
    let begun = || -> Result<()> {
        let (source, corpus, held_out) = run::corpora(matches, &examples)?;
        let from = path("model").map(Source::open).transpose()?;
        let log_every = settings.run.log_every;
        let mut pretraining = Pretraining::new(from.as_ref(), &source, corpus, held_out, settings)?;
        if team.leads() {
            run::tell_made(path("model"), pretraining.made());
        }
        run::go(out, resume, log_every, &team, |stop, watch| pretraining.run(out, resume, &team, stop, watch))
    };
    begun().map_err(|error| spelling.told(error))?;
    team.leave();
    Ok(())
}
