//! How does a vocab.txt become a tokenizer?
//!
//! One piece a line, the line's number is its id. Everything else is BERT's: clean, split at spaces and punctuation, take the
//! longest piece that fits. MPNet has the same between RoBERTa's special tokens.

use tokenizers::PostProcessorWrapper;
use tokenizers::decoders::wordpiece::WordPiece as Pieces;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::processors::roberta::RobertaProcessing;

use super::special::{self, SpecialTokens, Usual};
use crate::error::{Error, ErrorKind, Result};

/// A token and its id.
type Token = (String, u32);

/// A family whose vocabulary is of this kind.
pub(super) struct Kind {
    pub class: &'static str,
    pub model_type: &'static str,
    pub special: &'static [Usual],
    /// Puts the last and the first token around texts.
    around: fn(sep: Token, cls: Token) -> PostProcessorWrapper,
}

/// BERT, whose tokenizer also serves every family that is not listed.
pub(super) const BERT: Kind =
    Kind { class: "BertTokenizer", model_type: "bert", special: special::BERT, around: |sep, cls| BertProcessing::new(sep, cls).into() };

/// The others.
pub(super) const KINDS: &[Kind] = &[Kind {
    class: "MPNetTokenizer",
    model_type: "mpnet",
    special: special::MPNET,
    around: |sep, cls| RobertaProcessing::new(sep, cls).trim_offsets(true).add_prefix_space(false).into(),
}];

/// Builds the tokenizer that the reference's class is.
pub(super) fn build(kind: &Kind, bytes: &[u8], normalizer: BertNormalizer, special: &SpecialTokens) -> Result<tokenizers::Tokenizer> {
    let mut vocabulary = WordPiece::read_bytes(checked(bytes)?).map_err(|e| damaged(e.to_string()))?;
    // An empty line has a number but is no piece: no text can become it.
    vocabulary.remove("");
    let with_id = |name: &str| {
        let token = special.name(name);
        let missing =
            || damaged(format!("has no line {token:?}, the {name}; add it, or name the token used instead in tokenizer_config.json"));
        let id = vocabulary.get(&token).copied().ok_or_else(missing)?;
        Ok((token, id))
    };
    let (unk, cls, sep) = (with_id("unk_token")?, with_id("cls_token")?, with_id("sep_token")?);
    let model = WordPiece::builder().vocab(vocabulary).unk_token(unk.0).build().map_err(|e| damaged(e.to_string()))?;
    let mut inner = tokenizers::Tokenizer::new(model);
    inner.with_normalizer(Some(normalizer)).map_err(|e| damaged(e.to_string()))?;
    inner.with_pre_tokenizer(Some(BertPreTokenizer));
    inner.with_decoder(Some(Pieces::default()));
    inner.with_post_processor(Some((kind.around)(sep, cls)));
    special.register(&mut inner)?;
    Ok(inner)
}

/// The file without a byte order mark, known to be text.
fn checked(bytes: &[u8]) -> Result<&[u8]> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    if let Err(e) = std::str::from_utf8(bytes) {
        let line = 1 + bytes[..e.valid_up_to()].iter().filter(|&&b| b == b'\n').count();
        return Err(damaged(format!("line {line} is not UTF-8")));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(damaged("is empty"));
    }
    Ok(bytes)
}

fn damaged(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidFile, format!("vocab.txt: {what}"))
}
