//! Which kinds of vocabularies are there?

use tokenizers::models::bpe::BPE;
use tokenizers::models::unigram::Unigram;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::{BertNormalizer, NFKC, NormalizerWrapper, Sequence};
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::metaspace::{Metaspace, PrependScheme};
use tokenizers::{Tokenizer, decoders};

use super::VocabularySettings;
use crate::error::{Error, ErrorKind, Result};

/// A kind of vocabulary, and how texts are cut into words with it.
#[derive(Debug)]
pub struct Kind {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Whether texts are lower-cased unless told otherwise.
    pub lower_case: bool,
    /// Whether each CJK character is a word unless told otherwise.
    pub chinese_characters: bool,
    /// Special tokens by name, in the order of their ids.
    pub(super) special: &'static [(&'static str, &'static str)],
    /// The class that transformers opens it with.
    pub(super) class: &'static str,
    /// What tokens begin with that continue a word.
    pub(super) continuing: Option<&'static str>,
    /// Whether a word's pieces depend on nothing but the characters between two spaces.
    pub(super) by_space: bool,
    /// Whether words of too many characters are cut into parts, rather than left out because they are unknown words anyway.
    pub(super) cuts_long_words: bool,
    /// A tokenizer without a vocabulary: it normalises texts and cuts them into words.
    pub(super) frame: fn(&VocabularySettings) -> Result<Tokenizer>,
}

/// Special tokens of BERT.
const BERT: &[(&str, &str)] =
    &[("pad_token", "[PAD]"), ("unk_token", "[UNK]"), ("cls_token", "[CLS]"), ("sep_token", "[SEP]"), ("mask_token", "[MASK]")];

/// Special tokens of RoBERTa; two names may mean the same token, whose id is that of the first.
const ROBERTA: &[(&str, &str)] =
    &[("cls_token", "<s>"), ("pad_token", "<pad>"), ("sep_token", "</s>"), ("unk_token", "<unk>"), ("mask_token", "<mask>")];

/// A class of transformers that takes tokenizer.json as it is.
const GENERIC: &str = "PreTrainedTokenizerFast";

/// Every kind; the first is the default.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "wordpiece",
        about: "BERT: pieces of words, lower-cased; those inside a word begin with ##",
        lower_case: true,
        chinese_characters: true,
        special: BERT,
        class: "BertTokenizer",
        continuing: Some("##"),
        by_space: true,
        cuts_long_words: false,
        frame: |settings| {
            framed(WordPiece::default(), Some(bert(settings, true).into()), BertPreTokenizer, decoders::wordpiece::WordPiece::default())
        },
    },
    Kind {
        name: "bpe",
        about: "RoBERTa: pieces of bytes, so that no character is unknown",
        lower_case: false,
        chinese_characters: false,
        special: ROBERTA,
        class: GENERIC,
        continuing: None,
        by_space: false,
        cuts_long_words: true,
        frame: |settings| {
            let normalizer = bert(settings, false);
            let changes = normalizer.lowercase || normalizer.strip_accents == Some(true) || normalizer.handle_chinese_chars;
            framed(BPE::default(), changes.then(|| normalizer.into()), ByteLevel::new(false, true, true), ByteLevel::default())
        },
    },
    Kind {
        name: "unigram",
        about: "ALBERT: the likeliest pieces, lower-cased; spaces are part of them",
        lower_case: true,
        chinese_characters: false,
        special: BERT,
        class: GENERIC,
        continuing: None,
        by_space: true,
        cuts_long_words: true,
        frame: |settings| {
            let normalizer = Sequence::new(vec![NFKC.into(), bert(settings, true).into()]);
            let spaces = Metaspace::new('▁', PrependScheme::Always, true);
            framed(Unigram::default(), Some(normalizer.into()), spaces.clone(), spaces)
        },
    },
];

/// BERT's normaliser, as the settings want it.
fn bert(settings: &VocabularySettings, clean: bool) -> BertNormalizer {
    let chinese = settings.chinese_characters.unwrap_or(settings.kind.chinese_characters);
    BertNormalizer::new(clean, chinese, settings.strip_accents, settings.lower_case())
}

fn framed(
    model: impl Into<tokenizers::ModelWrapper>,
    normalizer: Option<NormalizerWrapper>,
    words: impl Into<tokenizers::PreTokenizerWrapper>,
    decoder: impl Into<tokenizers::DecoderWrapper>,
) -> Result<Tokenizer> {
    let mut inner = Tokenizer::new(model.into());
    inner.with_normalizer(normalizer).map_err(|e| Error::new(ErrorKind::InvalidArgument, e.to_string()))?;
    inner.with_pre_tokenizer(Some(words.into()));
    inner.with_decoder(Some(decoder.into()));
    Ok(inner)
}
