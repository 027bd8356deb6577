//! The words of `cloze-train`: what should be learned, from what?
//!
//! One file a command: its flags, and its call into [`crate::train`]. `text` has the flags of commands that read text. Results go to files
//! and standard output, progress and messages to standard error; exit codes are those of `cloze`.

mod text;
mod vocab;

use std::process::ExitCode;

use super::{Program, Verb};

const COMMANDS: &[Verb] = &[vocab::VERB];

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
