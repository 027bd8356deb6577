//! How does a late-interaction model read queries and documents, according to its files?
//!
//! Three layouts. Checkpoints of colbert-ir: `architectures` names HF_ColBERT, the projection is the tensor `linear.weight` beside the
//! encoder's, and `artifact.metadata` (JSON) has the settings. Folders of PyLate: dense layers in `modules.json`, the settings in
//! `config_sentence_transformers.json`. What is not stated is what PyLate takes in its place. Folders of sentence-transformers'
//! MultiVectorEncoder: the settings are the Transformer's and the MultiVectorMask's, and prompts take the place of markers. The result goes to
//! `tasks`.

use serde::Deserialize;
use serde_json::Value;

use super::Source;
use super::checkpoint::join;
use super::sentence::{PROMPTS, settings_file};
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
    /// Tokens of a query at most, special tokens and marker included; `None` for the model's limit.
    pub query_length: Option<usize>,
    /// Tokens of a document at most.
    pub document_length: Option<usize>,
    /// To how many tokens queries are filled up, with tokens whose vectors count; `None` for those that are not.
    pub expand: Option<Expand>,
    /// The token that queries are filled up with, where it is not the mask token.
    pub filler: Option<String>,
    /// Whether other tokens see those.
    pub attend: bool,
    /// Tokens whose vectors are left out of documents.
    pub skip: Vec<String>,
    /// Whether queries and documents have the model's prompts of these names, where the request asks for none.
    pub prompts: bool,
    /// Whether vectors are of length 1, where the request does not say.
    pub normalize: bool,
}

/// To how many tokens a query is filled up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expand {
    /// To the most that a query has.
    ToTheMost,
    /// To so many at least.
    AtLeast(usize),
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

#[derive(Default, Deserialize)]
#[serde(expecting = "an object of settings")]
struct MultiVector {
    query_length: Option<usize>,
    document_length: Option<usize>,
    query_expansion: Option<Expansion>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object of settings")]
struct Expansion {
    strategy: String,
    length: usize,
    attend: Option<bool>,
    token: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object of settings")]
struct MultiVectorMask {
    skiplist_words: Option<Vec<String>>,
    skiplist_tasks: Option<Vec<String>>,
    keep_only_token_ids: Option<Value>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object of settings")]
struct Similarity {
    similarity_fn_name: Option<String>,
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
        query_length: Some(said.query_maxlen.unwrap_or(32)),
        document_length: Some(said.doc_maxlen.unwrap_or(180)),
        expand: Some(Expand::ToTheMost),
        attend: said.attend_to_mask_tokens.unwrap_or(false),
        skip: if said.mask_punctuation.unwrap_or(true) { punctuation() } else { Vec::new() },
        ..PLAIN
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
        query_length: Some(said.query_length.unwrap_or(32)),
        document_length: Some(said.document_length.unwrap_or(180)),
        expand: expand.then_some(Expand::ToTheMost),
        attend: expand && said.attend_to_expansion_tokens.unwrap_or(false),
        skip: said.skiplist_words.unwrap_or_else(punctuation),
        ..PLAIN
    };
    check(settings, &source.label(PROMPTS))
}

/// The settings of a folder of MultiVectorEncoder, of the Transformer and the MultiVectorMask in these folders.
pub(super) fn of_multi_vector(source: &Source, transformer: &str, mask: &str, normalize: bool) -> Result<LateSettings> {
    let file = settings_file(source, transformer);
    let said = file.as_ref().map(|file| source.parse::<MultiVector>(file)).transpose()?.flatten().unwrap_or_default();
    let mask = join(mask, "config.json");
    let MultiVectorMask { skiplist_words, skiplist_tasks, keep_only_token_ids } = source.parse(&mask)?.unwrap_or_default();
    let refused = |file: &str, told: &str| fail(ErrorKind::Unsupported, format!("{}: {told}", source.label(file)));
    if skiplist_tasks.is_some_and(|tasks| tasks != ["document"]) {
        return refused(&mask, "skiplist_tasks is supported as [\"document\"] alone");
    }
    if keep_only_token_ids.is_some() {
        return refused(&mask, "keep_only_token_ids is not supported");
    }
    if source.parse::<Similarity>(PROMPTS)?.and_then(|said| said.similarity_fn_name).is_some_and(|name| name != "maxsim") {
        return refused(PROMPTS, "similarity_fn_name is supported as \"maxsim\" alone");
    }
    let (query_length, expand) = match &said.query_expansion {
        None => (said.query_length, None),
        Some(Expansion { strategy, length, .. }) if strategy == "fixed" => (Some(*length), Some(Expand::ToTheMost)),
        Some(Expansion { strategy, length, .. }) if strategy == "min" => {
            (said.query_length.map(|most| most.max(*length)), Some(Expand::AtLeast(*length)))
        }
        Some(Expansion { strategy, .. }) => {
            return refused(
                file.as_deref().unwrap_or_default(),
                &format!("query_expansion has the strategy {strategy:?}; known are fixed and min"),
            );
        }
    };
    let settings = LateSettings {
        query_length,
        document_length: said.document_length,
        expand,
        attend: said.query_expansion.as_ref().is_some_and(|expansion| expansion.attend.unwrap_or(false)),
        filler: said.query_expansion.and_then(|expansion| expansion.token),
        skip: skiplist_words.unwrap_or_default(),
        prompts: true,
        normalize,
        ..PLAIN
    };
    check(settings, &source.label(file.as_deref().unwrap_or_default()))
}

/// Nothing put before a text and nothing behind it; vectors of length 1.
const PLAIN: LateSettings = LateSettings {
    query_marker: String::new(),
    document_marker: String::new(),
    query_length: None,
    document_length: None,
    expand: None,
    filler: None,
    attend: false,
    skip: Vec::new(),
    prompts: false,
    normalize: true,
};

/// Python's `string.punctuation`: every character of ASCII that is one.
fn punctuation() -> Vec<String> {
    (0u8..128).filter(u8::is_ascii_punctuation).map(|c| char::from(c).to_string()).collect()
}

/// Tokens of a query at most: it is filled up to its length, so that an absurd one would cost memory.
const LONGEST: usize = 1 << 20;

fn check(settings: LateSettings, file: &str) -> Result<LateSettings> {
    let least = if let Some(Expand::AtLeast(length)) = settings.expand { Some(length) } else { None };
    for (name, length) in [("query", settings.query_length), ("query", least), ("document", settings.document_length)] {
        let Some(length) = length else { continue };
        if !(3..=LONGEST).contains(&length) {
            return fail(ErrorKind::InvalidFile, format!("{file}: the length of a {name} is {length} tokens; expected 3 to {LONGEST}"));
        }
    }
    Ok(settings)
}
