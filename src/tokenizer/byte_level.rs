//! How do vocab.json and merges.txt become a tokenizer?
//!
//! Byte-level BPE (Radford et al., Language Models are Unsupervised Multitask Learners, 2019), or GPT's before it, over letters: tokens
//! and their ids, and the pairs that are merged, one a line, the most urgent first. What stands around a text is the class's ([`KINDS`]).

use std::collections::HashMap;

use tokenizers::decoders::bpe::BPEDecoder;
use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::processors::roberta::RobertaProcessing;
use tokenizers::processors::template::TemplateProcessing;

use super::content::guarded;
use super::special::{self, SpecialTokens, Usual};
use crate::error::{Error, ErrorKind, Result, fail, json_message};

/// Whose rules go with the two files.
pub(super) struct Kind {
    pub class: &'static str,
    pub model_type: &'static str,
    /// Special tokens where the files do not name them.
    pub special: &'static [Usual],
    /// What the tokens are made of, for people.
    pub told: &'static str,
    cuts: Cuts,
    ends: Ends,
}

/// What is merged.
#[derive(Clone, Copy, PartialEq)]
enum Cuts {
    /// Bytes of words, the space before a word included.
    Bytes,
    /// Characters of lower-cased words, the last of which says that it is.
    Letters,
}

/// What stands around a text.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    /// RoBERTa's tokens.
    Roberta,
    /// BERT's, with segments.
    Bert,
    /// Nothing.
    None,
}

/// The one that any other class is read as.
pub(super) const ROBERTA: Kind = Kind {
    class: "RobertaTokenizer",
    model_type: "roberta",
    special: special::ROBERTA,
    told: "byte-level BPE",
    cuts: Cuts::Bytes,
    ends: Ends::Roberta,
};

/// Every class with such files. A new one is one row.
pub(super) const KINDS: &[Kind] = &[
    ROBERTA,
    Kind { class: "LongformerTokenizer", model_type: "longformer", ..ROBERTA },
    Kind { class: "GPT2Tokenizer", model_type: "gpt2", special: special::GPT2, ends: Ends::None, ..ROBERTA },
    // As it was trained and as version 4 of `transformers` has it: in version 5 two separators stand between the texts of a pair, and the
    // mask does not take the space before it.
    Kind { class: "DebertaTokenizer", model_type: "deberta", special: special::DEBERTA, ends: Ends::Bert, ..ROBERTA },
    Kind {
        class: "OpenAIGPTTokenizer",
        model_type: "openai-gpt",
        special: special::GPT,
        told: "lower-cased BPE",
        cuts: Cuts::Letters,
        ends: Ends::None,
    },
];

/// What the letters of a word end with in vocabularies of [`Cuts::Letters`].
const END_OF_WORD: &str = "</w>";

/// Builds the tokenizer that the reference's class is. `prefix_space` puts a space before each text.
pub(super) fn build(
    kind: &Kind,
    vocab: &[u8],
    merges: &[u8],
    (prefix_space, trim): (bool, bool),
    special: &SpecialTokens,
) -> Result<tokenizers::Tokenizer> {
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
    let ends = if kind.ends == Ends::None { None } else { Some((with_id("sep_token")?, with_id("cls_token")?)) };
    let merges = pairs(merges)?;
    let (suffix, unknown) = match kind.cuts {
        Cuts::Bytes => (String::new(), None),
        Cuts::Letters => (END_OF_WORD.to_owned(), Some(with_id("unk_token")?.0)),
    };
    let model = guarded("merges.txt", || {
        let builder = BPE::builder().vocab_and_merges(vocab.into_iter().collect::<Vocabulary>(), merges);
        let builder = builder.continuing_subword_prefix(String::new()).end_of_word_suffix(suffix).fuse_unk(false);
        if let Some(unknown) = unknown { builder.unk_token(unknown).build() } else { builder.build() }
    })?;
    let mut inner = tokenizers::Tokenizer::new(model);
    match kind.cuts {
        Cuts::Bytes => {
            inner.with_pre_tokenizer(Some(ByteLevel::new(prefix_space, true, true)));
            inner.with_decoder(Some(ByteLevel::default()));
        }
        Cuts::Letters => {
            guarded("vocab.json", || inner.with_normalizer(Some(BertNormalizer::new(true, true, None, true))).map(|_| ()))?;
            inner.with_pre_tokenizer(Some(BertPreTokenizer));
            inner.with_decoder(Some(BPEDecoder::new(END_OF_WORD.to_owned())));
        }
    }
    match (kind.ends, ends) {
        (Ends::Roberta, Some((sep, cls))) => {
            inner.with_post_processor(Some(RobertaProcessing::new(sep, cls).trim_offsets(trim).add_prefix_space(prefix_space)));
        }
        (Ends::Bert, Some((sep, cls))) => {
            inner.with_post_processor(Some(template(sep, cls)?));
        }
        _ => {}
    }
    special.register(&mut inner)?;
    Ok(inner)
}

/// `[CLS] A [SEP] B [SEP]`, where the second text is segment 1.
fn template(sep: (String, u32), cls: (String, u32)) -> Result<TemplateProcessing> {
    let malformed = |e: &dyn std::fmt::Display| Error::new(ErrorKind::InvalidFile, format!("vocab.json: its template: {e}"));
    let single = vec![format!("{}:0", cls.0), "$A:0".to_owned(), format!("{}:0", sep.0)];
    let pair = [single.clone(), vec!["$B:1".to_owned(), format!("{}:1", sep.0)]].concat();
    TemplateProcessing::builder()
        .try_single(single)
        .map_err(|e| malformed(&e))?
        .try_pair(pair)
        .map_err(|e| malformed(&e))?
        .special_tokens(vec![cls, sep])
        .build()
        .map_err(|e| malformed(&e))
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
