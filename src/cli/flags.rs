//! Which flags does a command have?
//!
//! Each row of [`Options::SETTINGS`] and [`Request::SETTINGS`] becomes a flag: `max_tokens` is `--max-tokens VALUE`, a row that
//! is true or false is a pair of switches, `--normalize` and `--no-normalize`, that take no value. The values are checked by the
//! rows themselves, while the command line is read, so that a wrong value is wrong usage and not a failure.

use clap::builder::ArgAction;
use clap::{Arg, ArgMatches, Command};

use super::input::Form;
use super::{Failure, Outcome};
use crate::error::Result;
use crate::tasks::{Model, Options, Request, Setting, Truncation};

/// Rows that set the same thing.
const EXCLUSIVE: (&str, &str) = ("prompt", "prompt_name");

/// `-m MODEL`.
pub(super) fn model() -> Arg {
    Arg::new("model")
        .short('m')
        .long("model")
        .value_name("MODEL")
        .required(true)
        .value_parser(clap::value_parser!(std::path::PathBuf))
        .help("The model: a Hugging Face, sentence-transformers or model2vec folder, a GGUF file, or a file of word vectors")
}

/// `-m MODEL`, and a flag for each option of opening it.
pub(super) fn with_model(command: Command) -> Command {
    command.arg(model()).args(rows(Options::SETTINGS, "How the model is opened", |_| true))
}

/// A flag for each option of a request that `wanted` names, those of [`with_model`] excepted.
pub(super) fn with_request(command: Command, wanted: fn(&str) -> bool) -> Command {
    command.args(rows(Request::SETTINGS, "How texts are treated", |name| wanted(name) && !is_option(name)))
}

/// `[TEXT]...`, and `--json`.
pub(super) fn with_texts(command: Command, form: Form) -> Command {
    let texts = Arg::new("texts").value_name("TEXT").num_args(0..).allow_negative_numbers(true).help(format!(
        "Texts, as they are; without any, standard input is read: one text a line, or with --json one object {} a line",
        form.shown
    ));
    command.arg(texts).arg(json())
}

/// `--json`.
pub(super) fn json() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("Results as JSON lines")
}

/// Opens the model that `-m` names, with the options given.
pub(super) fn open_model(matches: &ArgMatches) -> Result<Model> {
    let mut options = Options::default();
    apply(Options::SETTINGS, &mut options, matches)?;
    Model::load(model_path(matches), &options)
}

/// The path that `-m` names.
pub(super) fn model_path(matches: &ArgMatches) -> &std::path::Path {
    matches.get_one::<std::path::PathBuf>("model").map_or(std::path::Path::new(""), |path| path)
}

/// The request that the flags describe.
pub(super) fn request(matches: &ArgMatches) -> Outcome<Request> {
    request_from(matches, Request::default())
}

/// The same, of a command whose task reads long inputs in windows unless told otherwise.
pub(super) fn request_in_windows(matches: &ArgMatches) -> Outcome<Request> {
    request_from(matches, Request { truncation: Some(Truncation::Window), ..Request::default() })
}

fn request_from(matches: &ArgMatches, mut request: Request) -> Outcome<Request> {
    apply(Request::SETTINGS, &mut request, matches)?;
    // The same word is an option of the model, which has it already.
    request.threads = None;
    request.check().map_err(|e| Failure::Usage(e.message().to_owned()))?;
    Ok(request)
}

/// Refuses `--normalize false` among the words of a command line: the switch has no value, so that `false` would be a text.
/// Behind `--` every word is a text.
pub(super) fn no_value_of_a_switch(words: &[String]) -> Outcome {
    let flags = words.split(|word| word == "--").next().unwrap_or_default();
    for row in Request::SETTINGS.iter().filter(|row| is_boolean(row)) {
        let (on, off) = (format!("--{}", long(row)), format!("--{}", no(row)));
        let value = |pair: &&[String]| (pair[0] == on || pair[0] == off) && (row.apply)(&mut Request::default(), &pair[1]).is_ok();
        if let Some([switch, word]) = flags.windows(2).find(value) {
            return Err(Failure::Usage(format!(
                "{switch} takes no value, so {word:?} behind it would be a text: say {on} or {off}, or put -- before texts"
            )));
        }
    }
    Ok(())
}

fn is_option(name: &str) -> bool {
    Options::SETTINGS.iter().any(|row| row.name == name)
}

pub(super) fn is_boolean<T>(row: &Setting<T>) -> bool {
    row.values.ends_with("true or false")
}

fn is_on(matches: &ArgMatches, switch: &str) -> bool {
    matches!(matches.try_get_one::<bool>(switch), Ok(Some(true)))
}

/// The flag of a row.
fn long<T>(row: &Setting<T>) -> String {
    row.name.replace('_', "-")
}

/// The switch that says no.
pub(super) fn no<T>(row: &Setting<T>) -> String {
    format!("no-{}", long(row))
}

/// The flags of a table.
pub(super) fn rows<T: Default>(table: &'static [Setting<T>], heading: &'static str, wanted: impl Fn(&str) -> bool) -> Vec<Arg> {
    let mut flags = Vec::new();
    for row in table.iter().filter(|row| wanted(row.name)) {
        let flag = Arg::new(row.name).long(leak(long(row))).help_heading(heading);
        if is_boolean(row) {
            let (on, off) = (leak(long(row)), leak(no(row)));
            let switch = |flag: Arg, help: String| flag.action(ArgAction::SetTrue).help(help);
            let default = if row.values.starts_with("model") {
                format!("; without this and --{off}: as the model's files say")
            } else {
                String::new()
            };
            flags.push(switch(flag, format!("{}{default}", row.help)).conflicts_with(off));
            flags.push(switch(Arg::new(off).long(off).help_heading(heading), format!("The opposite of --{on}")));
        } else {
            let flag = flag
                .value_name("VALUE")
                .help(format!("{} [{}]", row.help, row.values))
                .allow_negative_numbers(true)
                .value_parser(move |value: &str| checked(row, value));
            let other = [(EXCLUSIVE.0, EXCLUSIVE.1), (EXCLUSIVE.1, EXCLUSIVE.0)].into_iter().find(|(a, _)| *a == row.name);
            flags.push(other.map_or(flag.clone(), |(_, b)| flag.conflicts_with(b)));
        }
    }
    flags
}

/// The value, if the row accepts it.
fn checked<T: Default>(row: &Setting<T>, value: &str) -> std::result::Result<String, String> {
    match (row.apply)(&mut T::default(), value) {
        Ok(()) => Ok(value.to_owned()),
        Err(error) => Err(format!("{}; expected {}", error.message(), row.values)),
    }
}

/// Sets in `target` what the command line gives.
pub(super) fn apply<T>(table: &'static [Setting<T>], target: &mut T, matches: &ArgMatches) -> Result<()> {
    for row in table {
        if !is_boolean(row) {
            if let Ok(Some(value)) = matches.try_get_one::<String>(row.name) {
                (row.apply)(target, value)?;
            }
        } else if is_on(matches, row.name) {
            (row.apply)(target, "true")?;
        } else if is_on(matches, &no(row)) {
            (row.apply)(target, "false")?;
        }
    }
    Ok(())
}

/// clap keeps names for the life of the process; so does this. A few dozen short words, once.
fn leak(name: String) -> &'static str {
    name.leak()
}

#[cfg(test)]
mod tests {
    use super::super::input;
    use super::*;

    fn parse(words: &[&str]) -> std::result::Result<ArgMatches, clap::Error> {
        with_texts(with_request(with_model(Command::new("test")), |_| true), input::TEXT)
            .try_get_matches_from([&["test", "-m", "x"], words].concat())
    }

    #[test]
    fn every_row_of_the_tables_is_a_flag() {
        let command = with_request(with_model(Command::new("test")), |_| true);
        let flags: Vec<_> = command.get_arguments().filter_map(|a| a.get_long()).collect();
        let names = Options::SETTINGS.iter().map(|r| r.name).chain(Request::SETTINGS.iter().map(|r| r.name));
        for name in names {
            assert!(flags.contains(&name.replace('_', "-").as_str()), "--{name} is missing from {flags:?}");
        }
        assert!(flags.contains(&"no-normalize"));
    }

    #[test]
    fn flags_set_what_they_name() {
        let matches =
            parse(&["--max-tokens", "64", "--pooling", "cls+mean", "--layers", "-2", "--no-normalize", "--threads", "2", "a"]).unwrap();
        let request = request(&matches).unwrap();
        assert_eq!((request.max_tokens, request.normalize, request.threads), (Some(64), Some(false), None));
        assert_eq!(request.layers, crate::tasks::LayerChoice::One(-2));
        let mut options = Options::default();
        apply(Options::SETTINGS, &mut options, &matches).unwrap();
        assert_eq!(options.threads, Some(2));
    }

    #[test]
    fn a_switch_takes_no_value_and_its_opposite_excludes_it() {
        let normalize = |words: &[&str]| request(&parse(words).unwrap()).map(|r| r.normalize);
        assert_eq!(normalize(&[]).unwrap(), None);
        assert_eq!(normalize(&["--normalize", "a text"]).unwrap(), Some(true));
        assert_eq!(normalize(&["a text", "--no-normalize"]).unwrap(), Some(false));
    }

    #[test]
    fn a_word_behind_a_switch_is_not_taken_for_its_value() {
        let check = |words: &str| no_value_of_a_switch(&words.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for words in ["encode --normalize false a", "encode a --no-normalize true", "encode --normalize model"] {
            let Err(Failure::Usage(told)) = check(words) else { panic!("{words} is accepted") };
            assert!(told.contains("--no-normalize") && told.contains("takes no value"), "{told}");
        }
        for words in
            ["encode false --normalize perhaps true", "encode --normalize -- false", "encode -- --normalize false", "encode --normalize"]
        {
            assert!(check(words).is_ok(), "{words}");
        }
    }

    #[test]
    fn wrong_values_are_wrong_usage() {
        for words in [
            &["--threads", "0"][..],
            &["--pooling", "average"],
            &["--normalize=true"],
            &["--no-normalize=false"],
            &["--normalize", "--no-normalize"],
            &["--prompt", "a", "--prompt-name", "b"],
        ] {
            let error = parse(words).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{words:?}: {error}");
        }
    }
}
