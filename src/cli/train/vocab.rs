//! `cloze-train vocab`: which pieces should words be made of?

use clap::builder::ArgAction;
use clap::{Arg, ArgMatches, Command};
use serde::Serialize;

use super::super::output::Out;
use super::super::progress::Progress;
use super::super::store::out_path;
use super::super::{Outcome, Verb, flags};
use super::text;
use crate::error::{ErrorKind, fail};
use crate::train::vocabulary::{Stage, Vocabulary, VocabularySettings};

pub(in super::super) const VERB: Verb = Verb {
    name: "vocab",
    about: "Text to a vocabulary: a tokenizer's files in a new folder",
    examples: "Examples:
  cloze-train vocab -o tokenizer corpus/*.txt
  cloze-train vocab -o tokenizer --size 8000 --form documents wiki.txt.gz
  cloze-train vocab -o tokenizer --size 21128 --form jsonl --field content zh.jsonl.zst
  cloze-train vocab -o tokenizer --kind bpe --size 50265 corpus
  cloze-train vocab -o tokenizer --no-lower-case --json corpus.txt

OUT holds tokenizer.json, tokenizer_config.json and special_tokens_map.json, and vocab.txt (wordpiece) or vocab.json and
merges.txt (bpe); `transformers` and `cloze` open it. The same text gives the same files, on any number of threads.",
    build,
    run,
};

fn build(command: Command) -> Command {
    let command = text::with_texts(command).args(flags::rows(VocabularySettings::SETTINGS, "Which vocabulary is made", |_| true));
    command.args([
        super::out("The folder to write"),
        Arg::new("force").long("force").action(ArgAction::SetTrue).help("Replace what is called OUT, if it is a tokenizer's folder"),
        flags::json(),
    ])
}

fn run(matches: &ArgMatches) -> Outcome {
    let (out, force) = (out_path(matches), matches.get_flag("force"));
    if out.symlink_metadata().is_ok() && !force {
        let told = format!("{} exists; give another name, or --force to replace it", out.display());
        return Ok(fail(ErrorKind::InvalidArgument, told)?);
    }
    let mut settings = VocabularySettings::default();
    flags::apply(VocabularySettings::SETTINGS, &mut settings, matches)?;
    let mut texts = text::open(matches)?;
    let mut progress = Progress::amount();
    let vocabulary = Vocabulary::learn(&mut texts, &settings, &mut |stage| match stage {
        Stage::Counting(bytes) => progress.at(usize::try_from(bytes).unwrap_or(usize::MAX)),
        Stage::Learning => progress.say("choosing pieces"),
    })?;
    drop(progress);
    text::warn(texts.report());
    vocabulary.write(out, force)?;
    Made::new(out, &vocabulary, &texts).print(matches.get_flag("json"))
}

/// What was made.
#[derive(Serialize)]
struct Made {
    path: String,
    tokens: usize,
    documents: u64,
    sentences: u64,
    words: u64,
    different_words: usize,
    long_words: u64,
    characters: usize,
    characters_left_out: usize,
}

impl Made {
    fn new(out: &std::path::Path, made: &Vocabulary, texts: &crate::train::text::Texts) -> Made {
        let (read, words) = (texts.report(), made.report);
        Made {
            path: out.display().to_string(),
            tokens: made.size(),
            documents: read.documents,
            sentences: read.sentences,
            words: words.occurrences,
            different_words: words.words,
            long_words: words.long,
            characters: words.characters.0,
            characters_left_out: words.characters.1,
        }
    }

    fn print(&self, json: bool) -> Outcome {
        let mut out = Out::new();
        if json {
            out.json(self)?;
            return out.flush();
        }
        out.line(format!("{}: {} tokens, {} characters among them", self.path, self.tokens, self.characters))?;
        out.line(format!("  from {} documents, {} sentences, {} words", self.documents, self.sentences, self.words))?;
        out.line(format!("  {} different words, {} rare characters left out", self.different_words, self.characters_left_out))?;
        if self.long_words > 0 {
            out.line(format!("  {} words have more than 100 characters", self.long_words))?;
        }
        out.flush()
    }
}
