//! What does a model of static vectors see of a text?
//!
//! Its own tokens alone: no special token is added. model2vec, and files of word vectors as folders of it, cut a text to as many
//! characters as the limit's tokens have at their median length, then tokens to the limit, and then leave out those that are unknown, in
//! this order (`StaticModel.encode` of its version 0.10). `encode` asks [`Rules`] where a tokenizer has them.

use std::sync::OnceLock;

use serde::Deserialize;
use tokenizers::ModelWrapper;

use super::content::Content;
use super::encode::{Encoded, Sequence};
use super::windows::Limit;
use super::{Tokenizer, Truncation};
use crate::error::Result;

/// What the files say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words {
    /// Whether tokens that are unknown are left out.
    pub drop_unknown: bool,
    /// Whether texts are cut by characters before tokens are looked for.
    pub cut_characters: bool,
    /// Whether the limit stored in tokenizer.json counts.
    pub stored_limit: bool,
}

/// What that means for one tokenizer.
pub(super) struct Rules {
    /// The token that is left out.
    dropped: Option<u32>,
    /// Where texts are cut by it: the median length of a token in characters, once a text is long enough to ask for it.
    median: Option<OnceLock<usize>>,
}

impl Rules {
    pub fn new(words: Words, inner: &tokenizers::Tokenizer, json: Option<&[u8]>) -> Rules {
        Rules { dropped: if words.drop_unknown { unknown(inner, json) } else { None }, median: words.cut_characters.then(OnceLock::new) }
    }

    /// Tokens of a text within `limit`, as `find` finds them.
    pub fn encode(
        &self,
        tokenizer: &Tokenizer,
        text: &str,
        limit: &Limit,
        find: fn(&Tokenizer, &str) -> Result<Content>,
    ) -> Result<Encoded> {
        let mut encoded = match self.cut(tokenizer, text, limit) {
            Some(cut) => {
                let total = find(tokenizer, text)?.tokens();
                Encoded { total, truncated: true, ..tokenizer.encode_contents(&find(tokenizer, cut)?, None, limit)? }
            }
            None => tokenizer.encode_contents(&find(tokenizer, text)?, None, limit)?,
        };
        self.drop_unknown(&mut encoded.windows);
        Ok(encoded)
    }

    /// The beginning of a text that is longer than the limit's tokens are at their median length.
    fn cut<'t>(&self, tokenizer: &Tokenizer, text: &'t str, limit: &Limit) -> Option<&'t str> {
        let median = self.median.as_ref()?;
        if limit.truncation != Truncation::Right || text.len() <= limit.max_tokens {
            return None;
        }
        // No token is shorter than a character, unless the vocabulary has an empty one.
        let median = *median.get_or_init(|| median_length(&tokenizer.inner, tokenizer.vocabulary));
        let most = limit.max_tokens.saturating_mul(median);
        let (end, _) = text.char_indices().nth(most)?;
        Some(&text[..end])
    }

    fn drop_unknown(&self, windows: &mut [Sequence]) {
        let Some(unknown) = self.dropped else { return };
        for window in windows.iter_mut().filter(|window| window.ids.contains(&unknown)) {
            window.retain(|id| id != unknown);
        }
    }
}

/// The token that the model itself gives for what it does not know.
fn unknown(inner: &tokenizers::Tokenizer, json: Option<&[u8]>) -> Option<u32> {
    let name = match inner.get_model() {
        ModelWrapper::WordPiece(model) => &model.unk_token,
        ModelWrapper::WordLevel(model) => &model.unk_token,
        ModelWrapper::BPE(model) => model.unk_token.as_ref()?,
        // The crate keeps it to itself.
        ModelWrapper::Unigram(_) => return unigram_unknown(json?),
    };
    inner.token_to_id(name)
}

fn unigram_unknown(json: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct File {
        model: Unigram,
    }
    #[derive(Deserialize)]
    struct Unigram {
        unk_id: Option<u32>,
    }
    serde_json::from_slice::<File>(json).ok()?.model.unk_id
}

/// The median number of characters of the vocabulary's tokens, rounded down.
fn median_length(inner: &tokenizers::Tokenizer, vocabulary: usize) -> usize {
    let mut lengths: Vec<usize> = (0..vocabulary as u32).filter_map(|id| Some(inner.id_to_token(id)?.chars().count())).collect();
    lengths.sort_unstable();
    match (lengths.len() / 2, lengths.len() % 2) {
        (0, 0) => 0,
        (middle, 0) => lengths[middle - 1].midpoint(lengths[middle]),
        (middle, _) => lengths[middle],
    }
}
