//! What are the shards of a folder, and what were they made from?
//!
//! `shards.json`. It remembers the tokenizer and the files of text, so that shards that no longer fit them are noticed.

use std::io::{Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::format::Header;
use super::{ShardSettings, WordRule};
use crate::error::{Error, ErrorKind, Result, fail, json_message};
use crate::formats::atomic::AtomicFile;
use crate::train::text::{TextForm, TextSettings, Texts};

/// The name of the file.
pub(super) const MANIFEST: &str = "shards.json";

/// Bytes of it at most: a hundred thousand inputs have less.
const LONGEST: u64 = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub version: u32,
    pub vocabulary: usize,
    /// Fingerprint, in hexadecimal digits, as all checksums here: JSON's numbers are not exact.
    pub tokenizer: String,
    pub form: String,
    pub field: String,
    pub split: bool,
    pub words: String,
    pub longest_sentence: usize,
    pub inputs: Vec<InputEntry>,
    pub shards: Vec<ShardEntry>,
}

/// A file of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InputEntry {
    pub path: String,
    pub bytes: u64,
    pub xxh3: String,
}

/// A shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShardEntry {
    pub file: String,
    pub documents: u64,
    pub sentences: u64,
    pub tokens: u64,
    pub xxh3: String,
}

impl ShardEntry {
    pub fn name(number: usize) -> String {
        format!("shard-{number:05}.bin")
    }

    pub fn new(number: usize, header: &Header) -> ShardEntry {
        ShardEntry {
            file: Self::name(number),
            documents: header.documents as u64,
            sentences: header.sentences as u64,
            tokens: header.tokens as u64,
            xxh3: hex(header.body_hash),
        }
    }
}

fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

fn name<T: PartialEq>(of: &T, among: &[(&'static str, T)]) -> String {
    among.iter().find(|(_, value)| value == of).map_or("", |(name, _)| name).to_owned()
}

impl Manifest {
    pub fn new(settings: &ShardSettings, vocabulary: usize, fingerprint: u64, texts: &Texts, shards: Vec<ShardEntry>) -> Manifest {
        let inputs = texts.inputs().iter().map(|input| InputEntry {
            path: input.path.display().to_string(),
            bytes: input.bytes,
            xxh3: hex(input.hash),
        });
        let (inputs, text) = (inputs.collect(), texts.settings());
        Manifest {
            version: 1,
            vocabulary,
            tokenizer: hex(fingerprint),
            form: name(&text.form, TextForm::ALL),
            field: text.field.clone(),
            split: text.split,
            words: name(&settings.words, WordRule::ALL),
            longest_sentence: settings.longest_sentence,
            inputs,
            shards,
        }
    }

    pub fn write(&self, mut file: AtomicFile) -> Result<()> {
        let mut json = serde_json::to_vec_pretty(self).unwrap_or_default();
        json.push(b'\n');
        let written = file.write_all(&json);
        written.map_err(|e| Error::new(ErrorKind::Io, format!("cannot write {}: {e}", file.target().display())))?;
        file.commit()
    }

    pub fn read(folder: &Path) -> Result<Manifest> {
        let path = folder.join(MANIFEST);
        let unreadable = |e: std::io::Error| Error::new(ErrorKind::Io, format!("{}: {e}; is this a folder of shards?", path.display()));
        let mut json = Vec::new();
        std::fs::File::open(&path).and_then(|file| file.take(LONGEST).read_to_end(&mut json)).map_err(unreadable)?;
        let damaged = |told: String| Error::new(ErrorKind::InvalidFile, format!("{}: {told}; make the shards again", path.display()));
        let manifest: Manifest = serde_json::from_slice(&json).map_err(|e| damaged(json_message(&e)))?;
        if manifest.version != 1 {
            return Err(damaged(format!("version {} is not known here, 1 is", manifest.version)));
        }
        if manifest.shards.is_empty() {
            return Err(damaged("there are no shards".to_owned()));
        }
        match manifest.shards.iter().enumerate().find(|(i, entry)| entry.file != ShardEntry::name(*i)) {
            Some((i, entry)) => Err(damaged(format!("shard {i} is called {:?}", entry.file))),
            None => Ok(manifest),
        }
    }

    /// Whether a shard is the one that was written.
    pub fn check_shard(&self, number: usize, header: &Header) -> Result<()> {
        if self.shards[number] == ShardEntry::new(number, header)
            && header.vocabulary == self.vocabulary
            && hex(header.tokenizer) == self.tokenizer
        {
            return Ok(());
        }
        fail(ErrorKind::InvalidFile, format!("the shard is not the one that {MANIFEST} lists; make the shards again"))
    }

    /// Whether the shards hold the ids of this tokenizer.
    pub fn check_tokenizer(&self, fingerprint: u64) -> Result<()> {
        if hex(fingerprint) == self.tokenizer {
            return Ok(());
        }
        fail(ErrorKind::InvalidFile, "the shards were made with another tokenizer; make them again")
    }

    /// Whether the files of text are still what they were, read in this way.
    pub fn check_inputs(&self, files: &[std::path::PathBuf], text: &TextSettings, settings: &ShardSettings) -> Result<()> {
        let stale = |told: String| fail(ErrorKind::InvalidFile, format!("the shards are stale: {told}; make them again"));
        let now =
            (name(&text.form, TextForm::ALL), &text.field, text.split, name(&settings.words, WordRule::ALL), settings.longest_sentence);
        if now != (self.form.clone(), &self.field, self.split, self.words.clone(), self.longest_sentence) {
            return stale("the text was read, or cut into words, in another way".to_owned());
        }
        if files.len() != self.inputs.len() {
            return stale(format!("they were made from {} files, not from {}", self.inputs.len(), files.len()));
        }
        for (file, input) in files.iter().zip(&self.inputs) {
            let unreadable = |e: std::io::Error| Error::new(ErrorKind::Io, format!("{}: {e}", file.display()));
            // A file may have moved; its bytes count.
            if file.metadata().map_err(unreadable)?.len() != input.bytes || hex(digest(file).map_err(unreadable)?) != input.xxh3 {
                return stale(format!("{} has changed", file.display()));
            }
        }
        Ok(())
    }
}

fn digest(file: &Path) -> std::io::Result<u64> {
    let (mut file, mut hash, mut buffer) = (std::fs::File::open(file)?, Xxh3::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.digest()),
            read => hash.update(&buffer[..read]),
        }
    }
}
