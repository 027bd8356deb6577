//! `cloze verify`: does the file still give the answers that it was made with?
//!
//! [`Model::verify`](crate::tasks::Model::verify) computes; here is its table. Exit code 1 when a probe failed.

use clap::{ArgMatches, Command};

use super::output::{Out, excerpt};
use super::{Outcome, Verb, flags};
use crate::error::{Error, ErrorKind};
use crate::formats::Source;
use crate::formats::checksums::Integrity;
use crate::tasks::{ProbeReport, Tolerance, Verification};

pub(super) const VERB: Verb = Verb {
    name: "verify",
    about: "Check a GGUF file: checksums, and its golden probes computed again",
    examples: "Examples:
  cloze verify -m minilm-q8_0.gguf
  cloze verify -m minilm-q8_0.gguf --precision f32
  cloze verify -m minilm-q8_0.gguf --json | jq .worst_cosine

`convert` and `quantize` store checksums in the file, which find damage (not malice), and texts with the vectors that the original gave for them at f32. For each text:
  cosine      with the stored vector
  error       the largest difference of a value, as a share of the vector's length
  neighbours  how many of the five nearest among the other probes stayed
The file says what it allows. Exit code 0 when the file is as it was written, has no NaN
or infinity, and every probe keeps to what is allowed; 1 when not.",
    build,
    run,
};

fn build(command: Command) -> Command {
    flags::with_model(command).arg(flags::json())
}

fn run(matches: &ArgMatches) -> Outcome {
    let path = flags::model_path(matches).display();
    let model = flags::open_model(matches).map_err(|e| damage(matches).map_or(e, |damage| damage.within(&path)))?;
    let report = model.verify().map_err(|e| e.within(&path))?;
    let mut out = Out::new();
    if matches.get_flag("json") {
        out.json(&report)?;
    } else {
        out.line(format!("{path}: {} probes, {} on {}", report.probes.len(), report.precision, report.isa))?;
        readable(&report, &mut out)?;
    }
    out.flush()?;
    Ok(report.check().map_err(|e| e.within(&path))?)
}

/// Why a model may not open at all.
fn damage(matches: &ArgMatches) -> Option<Error> {
    let reader = Source::open_gguf(flags::model_path(matches)).ok()?;
    Integrity::of(&reader).told().map(|told| Error::new(ErrorKind::VerificationFailed, told))
}

fn readable(report: &Verification, out: &mut Out) -> Outcome {
    out.line(match report.checksums {
        Some(count) => format!("checksums   {count} compared"),
        None => "checksums   none in this file: judged by its probes alone".to_owned(),
    })?;
    report.damaged.iter().try_for_each(|damage| out.line(format!("DAMAGED     {damage}")))?;
    out.line(format!("  {:>5}  {:>9}  {:>9}  {:>10}", "probe", "cosine", "error", "neighbours"))?;
    for (index, probe) in report.probes.iter().enumerate() {
        let ProbeReport { text, cosine, error, neighbours, neighbours_of, passed } = probe;
        let failed = if *passed { "" } else { "FAILED  " };
        out.line(format!("  {index:>5}  {cosine:>9.6}  {error:>9.6}  {neighbours:>5} of {neighbours_of}  {failed}{}", excerpt(text, 40)))?;
    }
    let Verification { worst_cosine, mean_cosine, worst_error, neighbours, .. } = report;
    let Tolerance { lowest_cosine, largest_error } = report.allowed;
    out.line(format!("cosine      worst {worst_cosine:.6}, mean {mean_cosine:.6}; allowed from {lowest_cosine}"))?;
    out.line(format!("error       worst {worst_error:.6}; allowed up to {largest_error}"))?;
    out.line(format!("neighbours  {:.1} % stayed", neighbours * 100.0))?;
    out.line(if report.passed { "passed" } else { "FAILED" })
}
