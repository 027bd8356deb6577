//! How does a vocab.txt become a tokenizer?
//!
//! One piece a line, the line's number is its id. Everything else is BERT's: clean, split at spaces and punctuation, take the
//! longest piece that fits.

use tokenizers::decoders::wordpiece::WordPiece as Pieces;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;

use super::special::SpecialTokens;
use crate::error::{Error, ErrorKind, Result};

/// Builds the tokenizer that the reference's `BertTokenizer` is.
pub(super) fn build(bytes: &[u8], normalizer: BertNormalizer, special: &SpecialTokens) -> Result<tokenizers::Tokenizer> {
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
    inner.with_post_processor(Some(BertProcessing::new(sep, cls)));
    special.register(&mut inner, true)?;
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
