//! `cloze-train shards`: which token ids does the text have?

use clap::{ArgMatches, Command};
use serde::Serialize;

use super::super::output::Out;
use super::super::progress::Progress;
use super::super::store::out_path;
use super::super::{Outcome, Verb, flags};
use super::{text, tokenizer};
use crate::train::shards::{ShardSettings, Shards};

pub(in super::super) const VERB: Verb = Verb {
    name: "shards",
    about: "Text to token ids in files that are mapped",
    examples: "Examples:
  cloze-train shards -t tokenizer -o shards corpus/*.txt
  cloze-train shards -t tokenizer -o shards --form jsonl train.jsonl.zst
  cloze-train shards -t tokenizer -o shards --words jieba --form documents zh.txt --json

OUT holds shards.json, which remembers the tokenizer and the text, and the ids in shard-00000.bin and so on. It appears when it is
whole. The same text gives the same files, on any number of threads.",
    build,
    run,
};

fn build(command: Command) -> Command {
    let command = text::with_texts(command).args(flags::rows(ShardSettings::SETTINGS, "How text is turned into ids", |_| true));
    command.args([tokenizer(), super::out("The folder to write"), flags::json()])
}

fn run(matches: &ArgMatches) -> Outcome {
    let out = out_path(matches);
    let mut settings = ShardSettings::default();
    flags::apply(ShardSettings::SETTINGS, &mut settings, matches)?;
    let tokenizer = super::open_tokenizer(matches)?;
    let mut texts = text::open(matches)?;
    let mut progress = Progress::amount();
    let mut report = |at: crate::train::shards::Progress| progress.at(usize::try_from(at.bytes).unwrap_or(usize::MAX));
    let shards = Shards::build(out, &mut texts, &tokenizer, &settings, &mut report)?;
    drop(progress);
    text::warn(texts.report());
    let made = Made {
        path: out.display().to_string(),
        documents: shards.documents(),
        sentences: shards.sentences(),
        tokens: shards.tokens(),
        unknown: shards.share_of(tokenizer.unknown()),
    };
    made.print(matches.get_flag("json"))
}

/// What was made.
#[derive(Serialize)]
struct Made {
    path: String,
    documents: usize,
    sentences: usize,
    tokens: usize,
    /// The share of unknown words.
    unknown: f64,
}

impl Made {
    fn print(&self, json: bool) -> Outcome {
        let mut out = Out::new();
        if json {
            out.json(self)?;
        } else {
            out.line(format!("{}: {} tokens in {} sentences of {} documents", self.path, self.tokens, self.sentences, self.documents))?;
            out.line(format!("  {:.3} % of them are unknown words", 100.0 * self.unknown))?;
        }
        out.flush()
    }
}
