//! Which token ids does the text have, sentence by sentence?
//!
//! Text is tokenised once ([`Shards::build`]) into a folder of files that are mapped ([`Shards::open`]), so that a corpus may be larger than
//! memory and processes share it. A shard holds documents, which consist of sentences, which consist of token ids, and for each token whether a
//! word begins with it. `examples` reads them in any order.

mod build;
mod format;
mod manifest;
mod read;
mod settings;
mod words;
mod write;

use std::ops::Range;
use std::path::{Path, PathBuf};

pub use build::Progress;
pub use settings::ShardSettings;
pub use words::WordRule;

use crate::error::Result;
use crate::tokenizer::Tokenizer;
use crate::train::text::TextSettings;
use manifest::Manifest;
use read::Shard;

/// A corpus of token ids. Documents and sentences are numbered through all shards, in the order of the text.
#[derive(Debug)]
pub struct Shards {
    manifest: Manifest,
    shards: Vec<Shard>,
    /// The number of the first document and of the first sentence of each shard, and those behind the last.
    documents: Vec<usize>,
    sentences: Vec<usize>,
    tokens: usize,
}

impl Shards {
    /// Opens a folder of shards, and reads it once from end to end.
    ///
    /// # Errors
    /// `Io` for a file that is not there, `InvalidFile` for one that is damaged, cut off or another than shards.json lists; the message
    /// names it.
    pub fn open(folder: &Path) -> Result<Shards> {
        let manifest = Manifest::read(folder)?;
        let (mut shards, mut documents, mut sentences, mut tokens) = (Vec::new(), vec![0], vec![0], 0);
        for (number, entry) in manifest.shards.iter().enumerate() {
            let path = folder.join(&entry.file);
            let shard = Shard::open(&path)?;
            manifest.check_shard(number, &shard.header).map_err(|e| e.within(path.display()))?;
            documents.push(documents[number] + shard.header.documents);
            sentences.push(sentences[number] + shard.header.sentences);
            tokens += shard.header.tokens;
            shards.push(shard);
        }
        Ok(Shards { manifest, shards, documents, sentences, tokens })
    }

    /// Whether these are the ids of this tokenizer.
    ///
    /// # Errors
    /// `InvalidFile` where they are not.
    pub fn check_tokenizer(&self, tokenizer: &Tokenizer) -> Result<()> {
        self.manifest.check_tokenizer(tokenizer.fingerprint()?)
    }

    /// Whether these files, read in this way, would give the same shards; reads the files.
    ///
    /// # Errors
    /// `InvalidFile` where they would not, `Io` where a file cannot be read.
    pub fn check_inputs(&self, files: &[PathBuf], text: &TextSettings, settings: &ShardSettings) -> Result<()> {
        self.manifest.check_inputs(files, text, settings)
    }

    /// Tokens of the vocabulary.
    pub fn vocabulary(&self) -> usize {
        self.manifest.vocabulary
    }

    /// How many documents there are.
    pub fn documents(&self) -> usize {
        self.documents[self.shards.len()]
    }

    /// How many sentences there are.
    pub fn sentences(&self) -> usize {
        self.sentences[self.shards.len()]
    }

    /// How many tokens there are.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// The share of all tokens that have this id; reads all of them.
    pub fn share_of(&self, id: Option<u32>) -> f64 {
        let of = |shard: &Shard| (0..shard.header.tokens).filter(|&token| Some(shard.id(token)) == id).count();
        self.shards.iter().map(of).sum::<usize>() as f64 / self.tokens.max(1) as f64
    }

    /// The sentences of document `document`, of which there must be so many.
    pub fn document(&self, document: usize) -> Range<usize> {
        let shard = of(&self.documents, document);
        let range = self.shards[shard].document(document - self.documents[shard]);
        self.sentences[shard] + range.start..self.sentences[shard] + range.end
    }

    /// The document that sentence `sentence` belongs to.
    pub fn document_of(&self, sentence: usize) -> usize {
        let shard = of(&self.sentences, sentence);
        self.documents[shard] + self.shards[shard].document_of(sentence - self.sentences[shard])
    }

    /// Tokens of sentence `sentence`, at least 1.
    pub fn length(&self, sentence: usize) -> usize {
        let shard = of(&self.sentences, sentence);
        self.shards[shard].sentence(sentence - self.sentences[shard]).len()
    }

    /// Appends the ids of sentence `sentence`, and whether a word begins with each.
    pub fn read(&self, sentence: usize, ids: &mut Vec<u32>, starts: &mut Vec<bool>) {
        let number = of(&self.sentences, sentence);
        let shard = &self.shards[number];
        let tokens = shard.sentence(sentence - self.sentences[number]);
        ids.extend(tokens.clone().map(|token| shard.id(token)));
        starts.extend(tokens.map(|token| shard.begins_word(token)));
    }
}

/// The shard in which a document or sentence lies.
fn of(firsts: &[usize], number: usize) -> usize {
    firsts.partition_point(|first| *first <= number) - 1
}

#[cfg(test)]
pub(super) use tests::tokenizer as test_tokenizer;

#[cfg(test)]
mod tests;
