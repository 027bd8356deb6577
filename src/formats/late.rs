//! How does a late-interaction model read queries and documents, according to its files?
//!
//! Two layouts. Checkpoints of colbert-ir: `architectures` names HF_ColBERT, the projection is the tensor `linear.weight` beside the
//! encoder's, and `artifact.metadata` (JSON) has the settings. Folders of PyLate: dense layers in `modules.json`, the settings in
//! `config_sentence_transformers.json`. What is not stated is what PyLate takes in its place. The result goes to `tasks`.

use serde::Deserialize;
use serde_json::Value;

use super::Source;
use super::checkpoint::join;
use super::sentence::PROMPTS;
use crate::error::{ErrorKind, Result, fail};

/// The settings of colbert-ir's checkpoints.
pub(super) const METADATA: &str = "artifact.metadata";

/// The class that colbert-ir's checkpoints name.
const CLASS: &str = "HF_ColBERT";

/// How texts become the tokens of a late-interaction model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateSettings {
    /// The token put behind the first one of a query; empty for none.
    pub query_marker: String,
    /// The token put behind the first one of a document; empty for none.
    pub document_marker: String,
    /// Tokens of a query at most, special tokens and marker included; with `expand` exactly.
    pub query_length: usize,
    /// Tokens of a document at most.
    pub document_length: usize,
    /// Whether queries are filled up with mask tokens, whose vectors count.
    pub expand: bool,
    /// Whether other tokens see those.
    pub attend: bool,
    /// Tokens whose vectors are left out of documents.
    pub skip: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object of settings")]
struct Metadata {
    query_token_id: Option<String>,
    doc_token_id: Option<String>,
    query_maxlen: Option<usize>,
    doc_maxlen: Option<usize>,
    attend_to_mask_tokens: Option<bool>,
    mask_punctuation: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object of settings")]
struct PyLate {
    query_prefix: Option<String>,
    document_prefix: Option<String>,
    query_length: Option<usize>,
    document_length: Option<usize>,
    attend_to_expansion_tokens: Option<bool>,
    skiplist_words: Option<Vec<String>>,
    do_query_expansion: Option<bool>,
}

/// Whether a config.json is one of colbert-ir's checkpoints.
pub(super) fn is_colbert(config: &Value) -> bool {
    config.get("architectures").and_then(|classes| classes.get(0)).is_some_and(|class| class == CLASS)
}

/// The settings of colbert-ir's checkpoint in the folder `dir`.
pub(super) fn of_colbert(source: &Source, dir: &str) -> Result<LateSettings> {
    let file = join(dir, METADATA);
    let said = source.parse::<Metadata>(&file)?.unwrap_or_default();
    let settings = LateSettings {
        query_marker: said.query_token_id.unwrap_or_else(|| "[unused0]".to_owned()),
        document_marker: said.doc_token_id.unwrap_or_else(|| "[unused1]".to_owned()),
        query_length: said.query_maxlen.unwrap_or(32),
        document_length: said.doc_maxlen.unwrap_or(180),
        expand: true,
        attend: said.attend_to_mask_tokens.unwrap_or(false),
        skip: if said.mask_punctuation.unwrap_or(true) { punctuation() } else { Vec::new() },
    };
    check(settings, &source.label(&file))
}

/// The settings of a PyLate folder.
pub(super) fn of_pylate(source: &Source) -> Result<LateSettings> {
    let said = source.parse::<PyLate>(PROMPTS)?.unwrap_or_default();
    let expand = said.do_query_expansion.unwrap_or(true);
    let settings = LateSettings {
        query_marker: said.query_prefix.unwrap_or_else(|| "[Q] ".to_owned()),
        document_marker: said.document_prefix.unwrap_or_else(|| "[D] ".to_owned()),
        query_length: said.query_length.unwrap_or(32),
        document_length: said.document_length.unwrap_or(180),
        expand,
        attend: expand && said.attend_to_expansion_tokens.unwrap_or(false),
        skip: said.skiplist_words.unwrap_or_else(punctuation),
    };
    check(settings, &source.label(PROMPTS))
}

/// Python's `string.punctuation`: every character of ASCII that is one.
fn punctuation() -> Vec<String> {
    (0u8..128).filter(u8::is_ascii_punctuation).map(|c| char::from(c).to_string()).collect()
}

/// Tokens of a query at most: it is filled up to its length, so that an absurd one would cost memory.
const LONGEST: usize = 1 << 20;

fn check(settings: LateSettings, file: &str) -> Result<LateSettings> {
    for (name, length) in [("query", settings.query_length), ("document", settings.document_length)] {
        if !(3..=LONGEST).contains(&length) {
            return fail(ErrorKind::InvalidFile, format!("{file}: the length of a {name} is {length} tokens; expected 3 to {LONGEST}"));
        }
    }
    Ok(settings)
}
