//! `cloze-train finetune`: which task should a model learn, from which examples?

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};

use super::super::output::Out;
use super::super::{Failure, Outcome, Verb, flags};
use super::spelling::Spelling;
use super::{labelled, run, settings_file};
use crate::error::Result;
use crate::tasks::{Model, Options, Precision, Request};
use crate::train::evaluate::evaluate;
use crate::train::finetune::readers::{Plan, unread};
use crate::train::finetune::vectors::VectorLoss;
use crate::train::finetune::{Data, FinetuneSettings, Finetuning, Problem, Task};
use crate::train::labelled::{ReadSettings, TargetKind};
use crate::train::run::{Figures, RunSettings, begun, copy_model};
use crate::train::team::Team;

/// What the name of a rate's folder begins with.
pub(super) const RATE: &str = "rate-";

pub(in super::super) const VERB: Verb = Verb {
    name: "finetune",
    about: "A model and labelled examples to a model for a task: labels, numbers, entities, answers, choices, ranking, vectors",
    examples: "Examples:
  cloze-train finetune -m model --task sst2 --train SST-2/train.tsv --dev SST-2/dev.tsv -o run
  cloze-train finetune -m model --task classify --train reviews.csv --text body --label stars --dev dev.csv -o run --epochs 4
  cloze-train finetune -m model --task regression --train pairs.jsonl --text a --pair b --label score -o run --rates 2e-5,3e-5,5e-5

OUT holds model/, a Hugging Face folder that `transformers` and `cloze` open, best/ (the best evaluation on --dev), checkpoints/, log.jsonl,
curve.svg and report.html. With --rates each rate has such a folder in OUT, and OUT/best is the best of all. Standard output has the figures
of the best model, as f32 and as int8. Ctrl-C ends with a checkpoint; --resume goes on from it, bit for bit.",
    build,
    run: finetune,
};

fn build(command: Command) -> Command {
    let path = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
    };
    command
        .args([
            super::out("The folder of the run"),
            path("model", "MODEL", "The model to begin from").short('m').required(true),
            labelled::task(),
            path("train", "FILE", "Examples to learn from").required(true),
            path("teacher", "MODEL", "A larger model that was fine-tuned for the same labels, to learn from its answers, too"),
            path("dev", "FILE", "Examples to choose the best model by"),
            Arg::new("rates")
                .long("rates")
                .value_name("RATES")
                .value_delimiter(',')
                .help("Learning rates with commas between them: one run each"),
        ])
        .args(run::flags())
        .args(flags::rows(ReadSettings::SETTINGS, "How files are read", |_| true))
        .args(flags::rows(FinetuneSettings::SETTINGS, "How the model learns", |_| true))
        .args(flags::rows(RunSettings::SETTINGS, "How the model learns", |_| true))
}

/// What all runs of a command share.
struct Asked<'a> {
    task: &'static Task,
    model: &'a Path,
    train: &'a Path,
    dev: Option<&'a Path>,
    teacher: Option<&'a Path>,
    read: ReadSettings,
    resume: bool,
    team: Team,
}

fn finetune(matches: &ArgMatches) -> Outcome {
    let path = |name: &str| matches.get_one::<PathBuf>(name).map(PathBuf::as_path);
    let (mut settings, mut read) = (FinetuneSettings::default(), ReadSettings::default());
    let mut rates: Option<Vec<String>> = None;
    let keys = match path("settings") {
        Some(file) => settings_file::read(file, &mut |name, value| match name {
            "rates" => {
                rates = Some(value.split(',').map(str::to_owned).collect());
                Ok(())
            }
            name if ReadSettings::SETTINGS.iter().any(|row| row.name == name) => read.set(name, value),
            name => settings.set(name, value),
        })?,
        None => Vec::new(),
    };
    let spelling = Spelling::default().with(ReadSettings::SETTINGS, matches, &keys).with(FinetuneSettings::SETTINGS, matches, &keys).with(
        RunSettings::SETTINGS,
        matches,
        &keys,
    );
    flags::apply(ReadSettings::SETTINGS, &mut read, matches)?;
    flags::apply(FinetuneSettings::SETTINGS, &mut settings, matches)?;
    flags::apply(RunSettings::SETTINGS, &mut settings.run, matches)?;
    // A flag counts before the file; both in one place contradict each other.
    if let Some(given) = matches.get_many::<String>("rates") {
        rates = Some(given.cloned().collect());
        if matches.contains_id("rate") {
            return Err(Failure::Usage("--rate and --rates: say one of them".to_owned()));
        }
    } else if matches.contains_id("rate") {
        rates = None;
    } else if rates.is_some() && keys.iter().any(|key| key == "rate") {
        return Err(Failure::Usage("the settings file has rate and rates: leave one out".to_owned()));
    }
    let nothing = Path::new("");
    let asked = Asked {
        task: labelled::task_of(matches)?,
        model: path("model").unwrap_or(nothing),
        train: path("train").unwrap_or(nothing),
        dev: path("dev"),
        teacher: path("teacher"),
        read,
        resume: matches.get_flag("resume"),
        team: Team::join()?,
    };
    let plan = Plan {
        task: asked.task,
        settings: &settings,
        teacher: asked.teacher.is_some(),
        held_out: asked.dev.is_some(),
        steps: settings.steps.is_some(),
    };
    if let Some(told) = unread(&plan, |name| spelling.given(name)) {
        return Err(Failure::Usage(spelling.respelled(&told)));
    }
    runs(&asked, settings, rates, path("out").unwrap_or(nothing)).map_err(|failure| spelling.failed(failure))?;
    asked.team.leave();
    Ok(())
}

/// One run, or one for each rate; tells of the best model.
fn runs(asked: &Asked<'_>, mut settings: FinetuneSettings, rates: Option<Vec<String>>, out: &Path) -> Outcome {
    let reads: Vec<&Path> = [Some(asked.model), Some(asked.train), asked.dev, asked.teacher].into_iter().flatten().collect();
    run::refuse_taken(out, asked.resume, &reads)?;
    let Some(rates) = rates else {
        let (folder, _) = one(asked, settings, out, asked.resume)?;
        return tell(asked, &folder);
    };
    if asked.dev.is_none() {
        return Err(Failure::Usage("--rates needs --dev, by which the best is chosen".to_owned()));
    }
    // Before the first run: a wrong one should not be found after hours.
    let mut seen: Vec<(f64, &String)> = Vec::new();
    for rate in &rates {
        settings.set("rate", rate)?;
        if let Some((_, other)) = seen.iter().find(|(known, _)| *known == settings.run.rate) {
            return Err(Failure::Usage(format!("--rates has {rate} twice; the other is written {other}")));
        }
        seen.push((settings.run.rate, rate));
    }
    let mut best: Option<(PathBuf, f64)> = None;
    for rate in &rates {
        settings.set("rate", rate)?;
        let folder = out.join(format!("{RATE}{rate}"));
        // Some may not have begun.
        let (folder, merit) = one(asked, settings.clone(), &folder, asked.resume && begun(&folder))?;
        if run::is_stopped() {
            return Ok(());
        }
        let merit = merit.unwrap_or(f64::NEG_INFINITY);
        if asked.team.leads() {
            let _ = writeln!(std::io::stderr(), "rate {rate}: {} {merit:.4}", asked.task.merit);
        }
        if best.as_ref().is_none_or(|(_, so_far)| merit > *so_far) {
            best = Some((folder, merit));
        }
    }
    let Some((folder, _)) = best else { return Err(Failure::Usage("--rates has no rate".to_owned())) };
    if asked.team.leads() {
        copy_model(&folder, &out.join("best"))?;
    }
    tell(asked, &folder)
}

/// The figures of a model, as f32 and as int8.
fn tell(asked: &Asked<'_>, folder: &Path) -> Outcome {
    let Some(dev) = asked.dev.filter(|_| asked.team.leads() && !run::is_stopped()) else { return Ok(()) };
    let (data, _) = Data::read(asked.task, dev, "dev", &asked.read)?;
    let mut out = Out::new();
    for (word, precision) in [("f32", Precision::F32), ("int8", Precision::Int8)] {
        let model = Model::load(folder, &Options { precision, ..Options::default() })?;
        let request = Request { cancel: Some(run::stop_at_interrupt()?), ..Request::default() };
        let Figures { named, .. } = evaluate(&model, asked.task, &data, &request)?.figures;
        let figures: Vec<String> = named.iter().map(|(name, figure)| format!("{name} {figure:.4}")).collect();
        out.line(format!("{word}: {}", figures.join("  ")))?;
    }
    out.flush()
}

/// One run; the folder of its best model, and how good that is.
fn one(asked: &Asked<'_>, settings: FinetuneSettings, out: &Path, resume: bool) -> Result<(PathBuf, Option<f64>)> {
    run::refuse_taken(out, resume, &[asked.model])?;
    // Relations of two texts have names, and how near their vectors should be is a number.
    let named = asked.task.problem == Problem::Embed && settings.vector_loss == VectorLoss::Relation;
    let kind = named.then_some(TargetKind::Class);
    let (data, skipped) = Data::read(asked.task, asked.train, "train", &ReadSettings { kind, ..asked.read.clone() })?;
    labelled::tell_skipped(&skipped);
    let held_out = asked.dev.map(|dev| Data::read(asked.task, dev, "dev", &asked.read)).transpose()?;
    let held_out = held_out.map(|(data, skipped)| {
        labelled::tell_skipped(&skipped);
        data
    });
    let log_every = settings.run.log_every;
    let options = Options { threads: settings.run.threads, ..Options::default() };
    let teacher = asked.teacher.map(|teacher| Model::load(teacher, &options)).transpose()?;
    let mut finetuning = Finetuning::new(asked.model, asked.task, &data, held_out, teacher.as_ref(), settings)?;
    let team = &asked.team;
    if team.leads() {
        run::tell_made(Some(asked.model), finetuning.made());
        let left_out = finetuning.left_out().iter().map(|told| format!("{}: {told}", asked.train.display()));
        labelled::tell_skipped(&left_out.collect::<Vec<_>>());
        let (examples, steps) = finetuning.size();
        let _ = writeln!(std::io::stderr(), "{examples} examples, {steps} steps");
    }
    let merit = run::go(out, resume, log_every, team, |stop, watch| finetuning.run(out, resume, team, stop, watch))?;
    Ok((out.join(if asked.dev.is_some() { "best" } else { "model" }), merit))
}
