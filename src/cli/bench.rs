//! `cloze bench`: how fast is the encoder here?
//!
//! Token ids from a file, or a small workload made up here, all in one call of
//! [`Model::run_ids`](crate::tasks::Model::run_ids): no tokenizer, no output. Two calls warm up, then at least five are timed,
//! for at least three seconds.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches, Command, value_parser};
use serde::{Deserialize, Serialize};

use super::output::Out;
use super::{Outcome, Verb, flags};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::tasks::{Model, Request};

pub(super) const VERB: Verb = Verb {
    name: "bench",
    about: "Time the encoder on token ids",
    examples: "Examples:
  cloze bench -m models/minilm
  cloze bench -m models/minilm --workload workload.json --threads 2
  cloze bench -m models/minilm --workload workload.json --threads 1 --isa avx2 --json

The workload is {\"sequences\":[[101,7592,102],[101,2088,102]]}: token ids, special tokens included;
without --workload it is 8 sequences of 128 ids that stand for no text. With --json the result is
{\"median_ms\":1.93,\"min_ms\":1.9,\"tokens\":6,\"runs\":1554}.",
    build,
    run,
};

const WARM_UPS: usize = 2;
const LEAST_RUNS: usize = 5;

fn build(command: Command) -> Command {
    let workload = Arg::new("workload")
        .long("workload")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Token ids; without this, a small workload made up here");
    let seconds = Arg::new("seconds")
        .long("seconds")
        .value_name("SECONDS")
        .value_parser(value_parser!(u32).range(0..=3600))
        .default_value("3")
        .help("Measure for at least this long");
    flags::with_model(command).args([workload, seconds, flags::json()])
}

/// Further fields are for other programs.
#[derive(Deserialize)]
struct Workload {
    sequences: Vec<Vec<u32>>,
}

/// What was measured.
#[derive(Serialize, Debug, PartialEq)]
struct Figures {
    median_ms: f64,
    min_ms: f64,
    tokens: usize,
    runs: usize,
}

fn run(matches: &ArgMatches) -> Outcome {
    let given = matches.get_one::<PathBuf>("workload").map(|path| read(path)).transpose()?;
    let model = flags::open_model(matches)?;
    let workload = given.unwrap_or_else(|| made_up(&model));
    let request = Request::default();
    let seconds = matches.get_one::<u32>("seconds").map_or(3, |s| *s);
    let mut times = Vec::new();
    for _ in 0..WARM_UPS {
        model.run_ids(&workload.sequences, &request)?;
    }
    let started = Instant::now();
    while times.len() < LEAST_RUNS || started.elapsed() < Duration::from_secs(seconds.into()) {
        let run = Instant::now();
        model.run_ids(&workload.sequences, &request)?;
        times.push(run.elapsed());
    }
    let figures = figures(&mut times, workload.sequences.iter().map(Vec::len).sum());
    let mut out = Out::new();
    if matches.get_flag("json") {
        out.json(&figures)?;
    } else {
        let Figures { median_ms, min_ms, tokens, runs } = figures;
        let m = model.describe();
        out.line(format!("{} sequences, {tokens} tokens; {} on {}, {} threads", workload.sequences.len(), m.precision, m.isa, m.threads))?;
        out.line(format!("median {median_ms:.3} ms, best {min_ms:.3} ms of {runs} runs; {:.0} tokens/s", tokens as f64 / median_ms * 1e3))?;
    }
    out.flush()
}

fn read(path: &Path) -> Result<Workload> {
    let text = std::fs::read(path).map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.display())))?;
    let workload: Workload = serde_json::from_slice(&text).map_err(|e| {
        let (path, line, column) = (path.display(), e.line(), e.column());
        let told = format!(
            "{path}: no workload (line {line}, column {column}); expected {{\"sequences\":[[101,...,102],...]}}, lists of token ids"
        );
        Error::new(ErrorKind::InvalidFile, told)
    })?;
    if workload.sequences.iter().all(Vec::is_empty) {
        return fail(ErrorKind::InvalidFile, format!("{}: the workload has no token", path.display()));
    }
    Ok(workload)
}

/// A workload that every model can run: the time does not depend on which ids stand in it.
fn made_up(model: &Model) -> Workload {
    let (vocabulary, length) = (model.describe().vocabulary, model.describe().positions.min(128));
    let id = |i: usize| (i.wrapping_mul(2_654_435_761) % vocabulary) as u32;
    let sequences: Vec<Vec<u32>> = (0..8).map(|s| (s * length..(s + 1) * length).map(id).collect()).collect();
    let told = format!("cloze bench: no --workload given: 8 sequences of {length} made-up token ids each, in one call");
    let _ = writeln!(std::io::stderr(), "{told}");
    Workload { sequences }
}

fn figures(times: &mut [Duration], tokens: usize) -> Figures {
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let middle = times.len() / 2;
    let median = if times.len() % 2 == 1 { ms(times[middle]) } else { (ms(times[middle - 1]) + ms(times[middle])) / 2.0 };
    // Microseconds are what a clock can tell from noise here.
    let round = |value: f64| (value * 1e3).round() / 1e3;
    Figures { median_ms: round(median), min_ms: round(ms(times[0])), tokens, runs: times.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_middles() {
        let ms = |list: &[u64]| list.iter().map(|t| Duration::from_millis(*t)).collect::<Vec<_>>();
        assert_eq!(figures(&mut ms(&[9, 1, 5]), 7), Figures { median_ms: 5.0, min_ms: 1.0, tokens: 7, runs: 3 });
        assert_eq!(figures(&mut ms(&[8, 2, 4, 100]), 7).median_ms, 6.0);
    }
}
