//! The words of `cloze-train`: what should be learned, from what?
//!
//! One file a command: its flags, and its call into [`crate::train`]. `text` has the flags of commands that read text. Results go to files
//! and standard output, progress and messages to standard error; exit codes are those of `cloze`.

mod distill;
mod evaluate;
mod finetune;
mod labelled;
mod pretrain;
mod run;
mod settings_file;
mod shards;
mod spelling;
mod text;
mod vocab;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, ArgMatches, value_parser};

use super::{Program, Verb};
use crate::error::Result;
use crate::train::Tokenizer;

const COMMANDS: &[Verb] = &[vocab::VERB, shards::VERB, pretrain::VERB, distill::VERB, finetune::VERB, evaluate::VERB];

pub(super) const CLOZE_TRAIN: Program = Program {
    name: "cloze-train",
    about: "Vocabularies and models of the BERT family from text, on this processor",
    after_help: "Each command has examples of its use: cloze-train vocab --help",
    commands: COMMANDS,
    check: |_| Ok(()),
};

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    CLOZE_TRAIN.main()
}

/// `-o OUT`.
fn out(help: &'static str) -> Arg {
    Arg::new("out").short('o').long("out").value_name("OUT").required(true).value_parser(value_parser!(PathBuf)).help(help)
}

/// `-t FOLDER`.
fn tokenizer() -> Arg {
    let arg = Arg::new("tokenizer").short('t').long("tokenizer").value_name("FOLDER").required(true);
    arg.value_parser(value_parser!(PathBuf)).help("The tokenizer: a folder that `cloze-train vocab` made, or a model's")
}

/// Opens the tokenizer that `-t` names.
fn open_tokenizer(matches: &ArgMatches) -> Result<Tokenizer> {
    crate::train::open_tokenizer(matches.get_one::<PathBuf>("tokenizer").map_or(std::path::Path::new(""), |path| path))
}
