//! `cloze-train distill`: which small model should learn what a large one knows, and from which text?

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};

use super::super::{Outcome, Verb, flags};
use super::spelling::Spelling;
use super::{run, settings_file};
use crate::error::Result;
use crate::formats::Source;
use crate::train::ExampleSettings;
use crate::train::distill::{DistillSettings, Distilling};
use crate::train::run::RunSettings;
use crate::train::team::Team;

pub(in super::super) const VERB: Verb = Verb {
    name: "distill",
    about: "A large model to a small one: the teacher's probabilities of hidden words, the words, and its hidden states",
    examples: "Examples:
  cloze-train distill -o run --shards shards -t bert-base --teacher bert-base
  cloze-train distill -o run --shards shards -t bert-base --teacher bert-base --preset bert-mini --hidden-weight 0
  cloze-train distill -o run --shards shards -t bert-base --teacher bert-base --student run-before/model --temperature 3

Without --student and --preset the student begins as every other layer of its teacher. OUT is as `cloze-train pretrain` leaves it: model/ is the
student, a Hugging Face folder.",
    build,
    run: distill,
};

fn build(command: Command) -> Command {
    command
        .args(run::flags_over_text())
        .args([
            run::path("teacher", "MODEL", "The model that teaches: a masked language model").required(true),
            run::path("student", "MODEL", "The model that learns"),
        ])
        .args(flags::rows(DistillSettings::SETTINGS, "How the student learns", |_| true))
        .args(flags::rows(RunSettings::SETTINGS, "How the student learns", |_| true))
        .args(flags::rows(ExampleSettings::SETTINGS, "What it learns from", |_| true))
}

fn distill(matches: &ArgMatches) -> Outcome {
    let path = |name: &str| matches.get_one::<PathBuf>(name).map(PathBuf::as_path);
    let out = path("out").unwrap_or(Path::new(""));
    let resume = matches.get_flag("resume");
    let team = Team::join()?;
    let reads = [path("teacher"), path("student"), path("shards"), path("held-out"), path("tokenizer")];
    run::refuse_taken(out, resume, &reads.into_iter().flatten().collect::<Vec<_>>())?;
    // One text, as DistilBERT has it: there is no label to learn.
    let (mut settings, mut examples) = (DistillSettings::default(), ExampleSettings::default());
    examples.set("sequences", "single")?;
    let keys = match path("settings") {
        Some(file) => settings_file::read(file, &mut |name, value| {
            if ExampleSettings::SETTINGS.iter().any(|row| row.name == name) { examples.set(name, value) } else { settings.set(name, value) }
        })?,
        None => Vec::new(),
    };
    flags::apply(DistillSettings::SETTINGS, &mut settings, matches)?;
    flags::apply(RunSettings::SETTINGS, &mut settings.run, matches)?;
    flags::apply(ExampleSettings::SETTINGS, &mut examples, matches)?;
    let spelling = Spelling::default().with(DistillSettings::SETTINGS, matches, &keys).with(RunSettings::SETTINGS, matches, &keys).with(
        ExampleSettings::SETTINGS,
        matches,
        &keys,
    );
    let begun = || -> Result<()> {
        let (source, corpus, held_out) = run::corpora(matches, &examples)?;
        let teacher = Source::open(path("teacher").unwrap_or(Path::new("")))?;
        let student = path("student").map(Source::open).transpose()?;
        let log_every = settings.run.log_every;
        let mut distilling = Distilling::new(&teacher, student.as_ref(), &source, corpus, held_out, settings)?;
        if team.leads() {
            run::tell_made(path("student"), distilling.made());
        }
        run::go(out, resume, log_every, &team, |stop, watch| distilling.run(out, resume, &team, stop, watch))
    };
    begun().map_err(|error| spelling.told(error))?;
    team.leave();
    Ok(())
}
