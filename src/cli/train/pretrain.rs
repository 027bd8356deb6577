//! `cloze-train pretrain`: what should a model learn from the corpus, and for how long?

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::builder::ArgAction;
use clap::{Arg, ArgMatches, Command, value_parser};

use super::super::progress::Progress;
use super::super::{Outcome, Verb, flags};
use super::settings_file;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::Source;
use crate::formats::atomic::AtomicFile;
use crate::train::pretrain::{Event, PretrainSettings, Pretraining};
use crate::train::report;
use crate::train::shards::Shards;
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
    run,
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
            path("settings", "FILE", "A TOML file of options, `steps = 1000`; flags count before it"),
            Arg::new("resume").long("resume").action(ArgAction::SetTrue).help("Go on from the last checkpoint in OUT"),
        ])
        .args(flags::rows(PretrainSettings::SETTINGS, "How the model learns", |_| true))
        .args(flags::rows(ExampleSettings::SETTINGS, "What it learns from", |_| true))
}

fn run(matches: &ArgMatches) -> Outcome {
    let path = |name: &str| matches.get_one::<PathBuf>(name).map(PathBuf::as_path);
    let out = path("out").unwrap_or(Path::new(""));
    let resume = matches.get_flag("resume");
    if !resume && out.join("checkpoints").exists() {
        let told = format!("{} holds a run; go on with it by --resume, or give the name of a new folder", out.display());
        return Ok(fail(ErrorKind::InvalidArgument, told)?);
    }
    let (mut settings, mut examples) = (PretrainSettings::default(), ExampleSettings::default());
    if let Some(file) = path("settings") {
        settings_file::read(file, &mut |name, value| {
            if PretrainSettings::SETTINGS.iter().any(|row| row.name == name) {
                settings.set(name, value)
            } else {
                examples.set(name, value)
            }
        })?;
    }
    flags::apply(PretrainSettings::SETTINGS, &mut settings, matches)?;
    flags::apply(ExampleSettings::SETTINGS, &mut examples, matches)?;
    let source = Source::open(path("tokenizer").unwrap_or(Path::new("")))?;
    let tokenizer = Arc::new(super::open_tokenizer(matches)?);
    let corpus = |shards: &Path| Corpus::new(Shards::open(shards)?, Arc::clone(&tokenizer), examples.clone());
    let held_out = path("held-out").map(corpus).transpose()?;
    let corpus = corpus(path("shards").unwrap_or(Path::new("")))?;
    let from = path("model").map(Source::open).transpose()?;
    let log_every = settings.log_every;
    let mut run = Pretraining::new(from.as_ref(), &source, corpus, held_out, settings)?;
    if from.is_some() && !run.made().is_empty() {
        let _ = writeln!(std::io::stderr(), "note: the checkpoint lacks {}, which begin from nothing", run.made().join(", "));
    }
    std::fs::create_dir_all(out).map_err(|e| refused(out, &e))?;
    let stop = stop_at_interrupt()?;
    let mut log = Log::open(out, resume, log_every)?;
    let done = run.run(out, resume, &stop, &mut |event| log.tell(event));
    log.close()?;
    // Why a run failed is told before why its report could not be drawn.
    let drawn = report::write(out);
    done?;
    drawn?;
    if stop.load(Ordering::Relaxed) {
        let _ = writeln!(std::io::stderr(), "stopped; go on with --resume");
    }
    Ok(())
}

/// A switch that the first Ctrl-C sets.
fn stop_at_interrupt() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    let refused = |e| Error::new(ErrorKind::Io, format!("cannot wait for Ctrl-C: {e}"));
    ctrlc::set_handler(move || {
        // A second one ends the process where it is; the last checkpoint is whole.
        if set.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .map_err(refused)?;
    Ok(stop)
}

fn refused(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{}: {error}", path.display()))
}

/// Where events go: a line each in log.jsonl, and a person's view on standard error.
struct Log {
    path: PathBuf,
    file: File,
    every: u64,
    progress: Progress,
}

impl Log {
    /// The log in `out`: that of the run that goes on, or an empty one.
    fn open(out: &Path, resume: bool, every: u64) -> Result<Log> {
        let path = out.join("log.jsonl");
        if !resume {
            std::fs::write(&path, "").map_err(|e| refused(&path, &e))?;
        }
        Ok(Log { file: appending(&path)?, path, every, progress: Progress::steps() })
    }

    /// Leaves out what came after step `last`: those steps are done again.
    fn go_back_to(&mut self, last: u64) -> Result<()> {
        let text = std::fs::read_to_string(&self.path).map_err(|e| refused(&self.path, &e))?;
        let counts = |line: &&str| {
            let event = serde_json::from_str::<serde_json::Value>(line).ok();
            event.and_then(|event| event["step"].as_u64()).is_some_and(|step| step <= last)
        };
        let mut file = AtomicFile::replacing(&self.path)?;
        for line in text.lines().filter(counts) {
            writeln!(file, "{line}").map_err(|e| refused(&self.path, &e))?;
        }
        file.commit()?;
        self.file = appending(&self.path)?;
        Ok(())
    }

    fn tell(&mut self, event: Event) -> Result<()> {
        if let Event::Resumed { step } = event {
            self.go_back_to(step)?;
        }
        if let Event::Step { step, steps, costs, tokens_per_second, .. } = &event {
            self.progress.run(*step, *steps, &format!("loss {:.3}, {tokens_per_second:.0} tokens/s", costs.total()));
            if step % self.every != 0 && step != steps {
                return Ok(());
            }
        }
        let line = serde_json::to_string(&event).map_err(|e| Error::new(ErrorKind::InvalidArgument, e.to_string()))?;
        writeln!(self.file, "{line}").map_err(|e| refused(&self.path, &e))
    }

    fn close(self) -> Result<()> {
        self.file.sync_all().map_err(|e| refused(&self.path, &e))
    }
}

fn appending(path: &Path) -> Result<File> {
    OpenOptions::new().create(true).append(true).open(path).map_err(|e| refused(path, &e))
}
