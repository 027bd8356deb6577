//! Words of the command line in, answers on standard output: what did the user ask for?
//!
//! One file a command: its flags, its call into [`crate::tasks`], its readable and its JSON form. `flags` makes the flags of
//! options from the tables that the C ABI uses too, `input` reads texts in chunks so that a stream of any length fits in
//! memory, `output` writes results and ends quietly when the reader has gone. Results go to standard output, everything
//! else to standard error; exit codes are 0 done, 1 failed, 2 wrong usage.

mod attention;
mod attention_page;
mod bench;
mod classify;
mod convert;
mod encode;
mod extract;
mod fill_mask;
mod flags;
mod heads;
mod input;
mod inspect;
mod late;
mod mapping;
mod next_sentence;
mod output;
mod progress;
mod quantize;
mod rerank;
mod settings;
mod similarity;
mod sparse;
mod store;
mod stream;
mod tag;
mod tokenize;
#[cfg(feature = "train")]
pub mod train;
mod types;
mod vectors;
mod verify;

use std::io::Write;
use std::process::ExitCode;

use clap::{ArgMatches, Command};

use crate::error::Error;

/// A command: a row in [`COMMANDS`].
struct Verb {
    name: &'static str,
    about: &'static str,
    examples: &'static str,
    build: fn(Command) -> Command,
    run: fn(&ArgMatches) -> Outcome,
}

const COMMANDS: &[Verb] = &[
    encode::VERB,
    rerank::VERB,
    classify::VERB,
    next_sentence::VERB,
    extract::VERB,
    tag::VERB,
    fill_mask::VERB,
    tokenize::VERB,
    attention::VERB,
    convert::VERB,
    quantize::VERB,
    verify::VERB,
    inspect::VERB,
    bench::VERB,
];

/// Why a command did not end well.
#[derive(Debug)]
enum Failure {
    /// The words of the command line contradict each other: exit code 2.
    Usage(String),
    /// The work failed: exit code 1.
    Failed(Error),
    /// Nobody reads standard output any more, as after `| head`: the work is done.
    Closed,
}

/// What a command comes to.
type Outcome<T = ()> = std::result::Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Failed(error)
    }
}

/// A program: its commands, and what it says of itself.
struct Program {
    name: &'static str,
    about: &'static str,
    after_help: &'static str,
    commands: &'static [Verb],
    /// Refuses words that would be read, but not as they were meant.
    check: fn(&[String]) -> Outcome,
}

const CLOZE: Program = Program {
    name: "cloze",
    about: "Vectors, ranks, labels, answers and entities from text with BERT-family encoders, in this process, on this processor",
    after_help: "Texts come as arguments, or one a line on standard input. With --json, answers are JSON lines, and so is standard input.\nEach command has examples: cloze encode --help",
    commands: COMMANDS,
    check: flags::no_value_of_a_switch,
};

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    CLOZE.main()
}

impl Program {
    fn main(&self) -> ExitCode {
        let matches = match self.command().try_get_matches() {
            Ok(matches) => matches,
            Err(asked) => {
                // Help and version are no errors; clap knows which stream and which code belong to each.
                let _ = asked.print();
                return ExitCode::from(u8::try_from(asked.exit_code()).unwrap_or(2));
            }
        };
        let Some((name, given)) = matches.subcommand() else { return ExitCode::from(2) };
        let Some(verb) = self.commands.iter().find(|verb| verb.name == name) else { return ExitCode::from(2) };
        let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let program = self.name;
        match (self.check)(&words).and_then(|()| (verb.run)(given)) {
            Ok(()) | Err(Failure::Closed) => ExitCode::SUCCESS,
            Err(Failure::Failed(error)) => complain(1, &format!("{program} {name}: {error}")),
            Err(Failure::Usage(words)) => complain(2, &format!("{program} {name}: {words}\n\nFor more, try '{program} {name} --help'.")),
        }
    }

    fn command(&self) -> Command {
        let verbs = self.commands.iter().map(|verb| {
            let command = Command::new(verb.name).about(verb.about).after_help(verb.examples);
            (verb.build)(command)
        });
        Command::new(self.name)
            .version(env!("CARGO_PKG_VERSION"))
            .about(self.about)
            .after_help(self.after_help)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands(verbs)
    }
}

/// Says what went wrong; a closed standard error must not turn one failure into another.
fn complain(code: u8, message: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{message}");
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both programs, or the one that this build has.
    const PROGRAMS: &[&Program] = &[
        &CLOZE,
        #[cfg(feature = "train")]
        &train::CLOZE_TRAIN,
    ];

    #[test]
    fn clap_finds_no_contradiction_in_the_flags() {
        PROGRAMS.iter().for_each(|program| program.command().debug_assert());
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        for (program, verb) in PROGRAMS.iter().flat_map(|program| program.commands.iter().map(move |verb| (program, verb))) {
            let start = format!("{} ", program.name);
            let lines: Vec<_> = verb.examples.lines().filter(|line| line.starts_with("  ") && line.contains(&start)).collect();
            assert!(!lines.is_empty(), "{} has no example", verb.name);
            for line in lines {
                let words = example_words(&line[line.rfind(&start).unwrap()..]);
                program.command().try_get_matches_from(&words).unwrap_or_else(|e| panic!("{line}\n{e}"));
            }
        }
    }

    /// The words of a command of shell, quotes undone, redirections left out.
    fn example_words(command: &str) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for (i, part) in command.split('\'').enumerate() {
            if i % 2 == 1 {
                words.push(part.to_owned()); // between quotes: one word
            } else {
                words.extend(part.split(['|', '<', '>']).next().unwrap().split_whitespace().map(str::to_owned));
            }
        }
        words
    }
}
