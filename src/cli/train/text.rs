//! Which flags do commands have that read files of text?

use std::io::Write;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};

use super::super::flags;
use crate::error::Result;
use crate::train::text::{TextReport, TextSettings, Texts};

/// `FILE...`, and a flag for each option of reading text.
pub(super) fn with_texts(command: Command) -> Command {
    let files = Arg::new("files")
        .value_name("FILE")
        .num_args(1..)
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("Files of text, gzip and Zstandard too; a folder stands for all files below it");
    command.arg(files).args(flags::rows(TextSettings::SETTINGS, "How files are read", |_| true))
}

/// Opens the files with the options given.
pub(super) fn open(matches: &ArgMatches) -> Result<Texts> {
    let mut settings = TextSettings::default();
    flags::apply(TextSettings::SETTINGS, &mut settings, matches)?;
    let files: Vec<PathBuf> = matches.get_many("files").into_iter().flatten().cloned().collect();
    Texts::open(&files, &settings)
}

/// Says on standard error what a person should know of the files.
pub(super) fn warn(report: &TextReport) {
    for told in report.warnings() {
        let _ = writeln!(std::io::stderr(), "warning: {told}");
    }
}
