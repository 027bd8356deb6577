//! How is a run started, watched and stopped, whatever it learns?
//!
//! Ctrl-C ends it with a checkpoint; what happens goes to log.jsonl, to TensorBoard's files, and to a person as a line on standard error; the report is
//! drawn at the end.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clap::builder::ArgAction;
use clap::{Arg, ArgMatches, value_parser};

use super::super::progress::Progress;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::atomic::AtomicFile;
use crate::formats::{EventFile, Source};
use crate::tasks::Cancel;
use crate::train::report;
use crate::train::run::{Event, begun};
use crate::train::shards::Shards;
use crate::train::team::Team;
use crate::train::{Corpus, ExampleSettings};

/// `--settings FILE` and `--resume`.
pub(super) fn flags() -> [Arg; 2] {
    [
        Arg::new("settings")
            .long("settings")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("A TOML file of options, `rate = 1e-4`; flags count before it"),
        Arg::new("resume").long("resume").action(ArgAction::SetTrue).help("Go on from the last checkpoint in OUT"),
    ]
}

/// The flags of runs over text, and those of all runs.
pub(super) fn flags_over_text() -> Vec<Arg> {
    let folder = |name: &'static str, help: &'static str| path(name, "SHARDS", help);
    let mut all = vec![
        super::out("The folder of the run"),
        super::tokenizer(),
        folder("shards", "The corpus: a folder that `cloze-train shards` made").required(true),
        folder("held-out", "Shards of text to evaluate on, by the same tokenizer"),
    ];
    all.extend(flags());
    all
}

/// A flag whose value is a path.
pub(super) fn path(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
}

/// What the flags of [`flags_over_text`] name: the tokenizer's files, the corpus, and what is held out.
pub(super) fn corpora(matches: &ArgMatches, examples: &ExampleSettings) -> Result<(Source, Corpus, Option<Corpus>)> {
    let path = |name: &str| matches.get_one::<PathBuf>(name).map(PathBuf::as_path);
    let source = Source::open(path("tokenizer").unwrap_or(Path::new("")))?;
    let tokenizer = Arc::new(super::open_tokenizer(matches)?);
    let corpus = |shards: &Path| Corpus::new(Shards::open(shards)?, Arc::clone(&tokenizer), examples.clone());
    let held_out = path("held-out").map(corpus).transpose()?;
    Ok((source, corpus(path("shards").unwrap_or(Path::new("")))?, held_out))
}

/// What a run has in its folder; a sweep of rates has a folder each, of this beginning.
const OF_A_RUN: &[&str] = &["model", "best", "generator", "checkpoints", "log.jsonl", "curve.svg", "curve.png", "report.html"];
/// A file that begins with a point is nobody's, or a temporary one.
const BEGINNINGS: &[&str] = &[super::finetune::RATE, "events.out.tfevents.", "."];

/// Refuses a folder that has another run in it, or something else; `read` are the folders and files that the run reads.
pub(super) fn refuse_taken(out: &Path, resume: bool, read: &[&Path]) -> Result<()> {
    let refuse = |told: &str| fail(ErrorKind::InvalidArgument, format!("{} {told}", out.display()));
    if out.is_file() {
        return refuse("is a file; a run is a folder with several: give the name of a new one");
    }
    if out.extension().is_some_and(|end| end.eq_ignore_ascii_case("gguf")) {
        return refuse(
            "is the name of a GGUF file; a run is a folder: give it another name, and make the file by `cloze convert` of OUT/best",
        );
    }
    if let Some(own) = read.iter().find(|own| lies_in(own, out, resume)) {
        return refuse(&format!("is the folder of {}, which the run reads: give the name of a new one", own.display()));
    }
    if !resume && begun(out) {
        return refuse("holds a run; go on with it by --resume, or give the name of a new folder");
    }
    let names = std::fs::read_dir(out).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let ours = |name: &str| OF_A_RUN.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
    match names.into_iter().find(|name| !resume && !name.to_str().is_some_and(ours)) {
        Some(name) => refuse(&format!("holds {}, which is no part of a run: give the name of a new folder", name.to_string_lossy())),
        None => Ok(()),
    }
}

/// Whether `file` is `out`, or a model there that a run would replace; one that goes on may read what it began from.
fn lies_in(file: &Path, out: &Path, resume: bool) -> bool {
    let (Ok(file), Ok(out)) = (file.canonicalize(), out.canonicalize()) else { return false };
    file == out || (!resume && file.starts_with(&out))
}

/// Says which tensors begin from nothing.
pub(super) fn tell_made(model: Option<&Path>, made: &[String]) {
    if let (Some(model), false) = (model, made.is_empty()) {
        let _ = writeln!(std::io::stderr(), "note: {} lacks {}, which begin from nothing", model.display(), made.join(", "));
    }
}

/// Runs `run` in the folder `out`, with its log, until it ends or Ctrl-C stops it. Of a team the first process alone writes and tells.
pub(super) fn go<T>(
    out: &Path,
    resume: bool,
    log_every: u64,
    team: &Team,
    run: impl FnOnce(&Cancel, &mut dyn FnMut(Event) -> Result<()>) -> Result<T>,
) -> Result<T> {
    let stop = stop_at_interrupt()?;
    if !team.leads() {
        return run(&stop, &mut |_| Ok(()));
    }
    std::fs::create_dir_all(out).map_err(|e| refused(out, &e))?;
    let mut log = Log::open(out, resume, log_every)?;
    let done = run(&stop, &mut |event| log.tell(&event));
    let skipped = log.skipped;
    log.close()?;
    // Why a run failed is told before why its report could not be drawn.
    let drawn = report::write(out);
    if skipped > 0 {
        let _ = writeln!(
            std::io::stderr(),
            "note: {skipped} steps were left out, since a cost or a gradient was not finite; log.jsonl names them"
        );
    }
    let done = done?;
    drawn?;
    if stop.is_cancelled() {
        let _ = writeln!(std::io::stderr(), "stopped; go on with --resume");
    }
    Ok(done)
}

static STOP: OnceLock<Cancel> = OnceLock::new();

/// Whether Ctrl-C was pressed.
pub(super) fn is_stopped() -> bool {
    STOP.get().is_some_and(Cancel::is_cancelled)
}

/// A switch that the first Ctrl-C sets; the same for all runs of a command.
pub(super) fn stop_at_interrupt() -> Result<Cancel> {
    if let Some(stop) = STOP.get() {
        return Ok(stop.clone());
    }
    let stop = Cancel::new();
    let set = stop.clone();
    let refused = |e| Error::new(ErrorKind::Io, format!("cannot wait for Ctrl-C: {e}"));
    ctrlc::set_handler(move || {
        // A second one ends the process where it is; the last checkpoint is whole.
        if set.is_cancelled() {
            std::process::exit(130);
        }
        set.cancel();
    })
    .map_err(refused)?;
    Ok(STOP.get_or_init(|| stop).clone())
}

fn refused(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{}: {error}", path.display()))
}

/// Where events go: a line each in log.jsonl, and a person's view on standard error.
struct Log {
    out: PathBuf,
    path: PathBuf,
    file: File,
    every: u64,
    progress: Progress,
    /// For TensorBoard: a file for each time that the run begins or goes on.
    events: Option<EventFile>,
    /// Steps that were left out.
    skipped: u64,
}

impl Log {
    /// The log in `out`: that of the run that goes on, or an empty one.
    fn open(out: &Path, resume: bool, every: u64) -> Result<Log> {
        let path = out.join("log.jsonl");
        let mut events = None;
        if !resume {
            std::fs::write(&path, "").map_err(|e| refused(&path, &e))?;
            events = Some(EventFile::create(out, 0)?);
        }
        Ok(Log { out: out.to_owned(), file: appending(&path)?, path, every, progress: Progress::steps(), events, skipped: 0 })
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

    fn tell(&mut self, event: &Event) -> Result<()> {
        if let Event::Resumed { step } = event {
            self.go_back_to(*step)?;
            self.events = Some(EventFile::create(&self.out, step + 1)?);
        }
        self.skipped += u64::from(matches!(event, Event::Skipped { .. }));
        if let Event::Step { step, steps, figures, tokens_per_second, .. } = event {
            self.progress.run(*step, *steps, &format!("loss {:.3}, {tokens_per_second:.0} tokens/s", figures.loss));
            if step % self.every != 0 && step != steps {
                return Ok(());
            }
        }
        let line = serde_json::to_string(event).map_err(|e| Error::new(ErrorKind::InvalidArgument, e.to_string()))?;
        writeln!(self.file, "{line}").map_err(|e| refused(&self.path, &e))?;
        match (scalars(event), &mut self.events) {
            (Some((step, scalars)), Some(events)) => events.scalars(step, &scalars),
            _ => Ok(()),
        }
    }

    fn close(self) -> Result<()> {
        self.file.sync_all().map_err(|e| refused(&self.path, &e))
    }
}

/// What TensorBoard draws of an event.
fn scalars(event: &Event) -> Option<(u64, Vec<(String, f32)>)> {
    let (step, group, figures, more) = match event {
        Event::Step { step, figures, rate, norm, tokens_per_second, .. } => {
            let more = vec![("learning_rate", *rate), ("grad_norm", *norm), ("tokens_per_second", *tokens_per_second)];
            (*step, "train", figures, more)
        }
        Event::Evaluated { step, figures, .. } => (*step, "eval", figures, Vec::new()),
        Event::Resumed { .. } | Event::Skipped { .. } | Event::Saved { .. } => return None,
    };
    let named = figures.named.iter().filter(|(name, _)| *name != "loss");
    let all = [("loss", figures.loss)].into_iter().chain(named.map(|(name, figure)| (name.as_ref(), *figure))).chain(more);
    Some((step, all.map(|(name, figure)| (format!("{group}/{name}"), figure as f32)).collect()))
}

fn appending(path: &Path) -> Result<File> {
    OpenOptions::new().create(true).append(true).open(path).map_err(|e| refused(path, &e))
}
