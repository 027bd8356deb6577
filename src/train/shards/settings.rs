//! How is text turned into shards?

use super::words::WordRule;
use crate::error::Result;
use crate::tasks::Setting;
use crate::tasks::settings::{choice, number, set, threads};

/// How text is turned into shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardSettings {
    /// Where words begin, for masking whole ones.
    pub words: WordRule,
    /// Longer sentences are cut into parts of at most so many tokens.
    pub longest_sentence: usize,
    /// A shard ends with the document that brings it to so many tokens.
    pub shard_tokens: usize,
    /// Threads that tokenise; none means as many as this process may use. The result is the same.
    pub threads: Option<usize>,
}

impl Default for ShardSettings {
    fn default() -> Self {
        ShardSettings { words: WordRule::default(), longest_sentence: 256, shard_tokens: 1 << 28, threads: None }
    }
}

impl ShardSettings {
    /// Every option that [`ShardSettings::set`] knows.
    pub const SETTINGS: &'static [Setting<ShardSettings>] = &[
        Setting {
            name: "words",
            values: "tokenizer or jieba",
            help: "Where words begin, for masking whole ones: as the tokenizer cuts them, or for Chinese as jieba does",
            apply: |s, v| {
                s.words = choice(v, WordRule::ALL)?;
                Ok(())
            },
        },
        Setting {
            name: "longest_sentence",
            values: "a number of tokens",
            help: "Cut longer sentences; 256 if not given",
            apply: |s, v| {
                s.longest_sentence = number(v, 1)?;
                Ok(())
            },
        },
        Setting {
            name: "shard_tokens",
            values: "a number of tokens",
            help: "A file of shards ends with the document that brings it to so many tokens; 268435456 if not given",
            apply: |s, v| {
                s.shard_tokens = number(v, 1)?;
                Ok(())
            },
        },
        Setting {
            name: "threads",
            values: "auto, or a number from 1 to 1024",
            help: "Threads that tokenise; the result is the same",
            apply: |s, v| {
                s.threads = threads(v)?;
                Ok(())
            },
        },
    ];

    /// Sets the option called `name`.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is not in [`ShardSettings::SETTINGS`] and for a value that its row does not take.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        set(Self::SETTINGS, self, name, value)
    }
}
