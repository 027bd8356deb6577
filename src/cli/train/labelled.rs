//! Which flags do commands have that read labelled examples?

use std::io::Write;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches};

use crate::error::{ErrorKind, Result, fail};
use crate::train::finetune::{TASKS, Task};

/// `--task TASK`.
pub(super) fn task() -> Arg {
    let names: Vec<&'static str> = TASKS.iter().map(|task| task.name).collect();
    let told: Vec<String> = TASKS.iter().map(|task| format!("{}: {}", task.name, task.about)).collect();
    Arg::new("task")
        .long("task")
        .value_name("TASK")
        .required(true)
        .value_parser(PossibleValuesParser::new(names))
        .hide_possible_values(true)
        .help(format!("What examples ask for. {}", told.join("; ")))
}

/// The task that `--task` names.
pub(super) fn task_of(matches: &ArgMatches) -> Result<&'static Task> {
    let name = matches.get_one::<String>("task").map_or("", String::as_str);
    match TASKS.iter().find(|task| task.name == name) {
        Some(task) => Ok(task),
        None => fail(ErrorKind::InvalidArgument, format!("there is no task {name:?}")),
    }
}

/// Says what was left out or mended, the first of it in words.
pub(super) fn tell_skipped(skipped: &[String]) {
    const SHOWN: usize = 5;
    for told in skipped.iter().take(SHOWN) {
        let _ = writeln!(std::io::stderr(), "note: {told}");
    }
    if skipped.len() > SHOWN {
        let _ = writeln!(std::io::stderr(), "note: {} more such", skipped.len() - SHOWN);
    }
}
