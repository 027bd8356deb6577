//! How do vocab.json and merges.txt become a tokenizer?
//!
//! Byte-level BPE (Radford et al., Language Models are Unsupervised Multitask Learners, 2019) between RoBERTa's special tokens: tokens
//! and their ids, and the pairs that are merged, one a line, the most urgent first.

use std::collections::HashMap;

use tokenizers::models::bpe::BPE;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::processors::roberta::RobertaProcessing;

use super::content::guarded;
use super::special::SpecialTokens;
use crate::error::{Error, ErrorKind, Result, fail, json_message};

/// The families whose vocabularies are of this kind.
pub(super) const MODEL_TYPES: &[&str] = &["roberta", "longformer"];

/// Builds the tokenizer that the reference's `RobertaTokenizer` is. `prefix_space` puts a space before each text.
pub(super) fn build(vocab: &[u8], merges: &[u8], prefix_space: bool, trim: bool, special: &SpecialTokens) -> Result<tokenizers::Tokenizer> {
    let malformed = |e: serde_json::Error| Error::new(ErrorKind::InvalidFile, format!("vocab.json: {}", json_message(&e)));
    let vocab: HashMap<String, u32> = serde_json::from_slice(vocab).map_err(malformed)?;
    let with_id = |name: &str| {
        let token = special.name(name);
        match vocab.get(&token) {
            Some(id) => Ok((token, *id)),
            None => fail(
                ErrorKind::InvalidFile,
                format!("vocab.json: it has no {token:?}, the {name}; name the token used instead in tokenizer_config.json"),
            ),
        }
    };
    let (sep, cls) = (with_id("sep_token")?, with_id("cls_token")?);
    let merges = pairs(merges)?;
    let model = guarded("merges.txt", || {
        let builder = BPE::builder().vocab_and_merges(vocab.into_iter().collect::<Vocabulary>(), merges);
        builder.continuing_subword_prefix(String::new()).end_of_word_suffix(String::new()).fuse_unk(false).build()
    })?;
    let mut inner = tokenizers::Tokenizer::new(model);
    inner.with_pre_tokenizer(Some(ByteLevel::new(prefix_space, true, true)));
    inner.with_decoder(Some(ByteLevel::default()));
    inner.with_post_processor(Some(RobertaProcessing::new(sep, cls).trim_offsets(trim).add_prefix_space(prefix_space)));
    special.register(&mut inner)?;
    Ok(inner)
}

/// What the crate takes a vocabulary as.
type Vocabulary = tokenizers::models::bpe::Vocab;

/// The pairs of merges.txt; its first line may state a version.
fn pairs(merges: &[u8]) -> Result<Vec<(String, String)>> {
    let Ok(text) = std::str::from_utf8(merges) else { return fail(ErrorKind::InvalidFile, "merges.txt: it is not UTF-8") };
    let lines = text.lines().enumerate().filter(|(i, line)| !(line.is_empty() || *i == 0 && line.starts_with("#version")));
    let pair = |(i, line): (usize, &str)| match line.split_once(' ') {
        Some((left, right)) if !left.is_empty() && !right.is_empty() && !right.contains(' ') => Ok((left.to_owned(), right.to_owned())),
        _ => fail(ErrorKind::InvalidFile, format!("merges.txt: line {}, {line:?}, is no pair of tokens", i + 1)),
    };
    lines.map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_pairs_and_the_first_may_state_a_version() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(pairs("#version: 0.2\n# a\nb c\n\n".as_bytes()).unwrap(), [pair("#", "a"), pair("b", "c")]);
        for (bytes, told) in [(b"a b\nab".as_slice(), "line 2"), (b"a b c", "line 1"), (b"\xff", "UTF-8")] {
            assert!(pairs(bytes).unwrap_err().message().contains(told));
        }
    }
}
