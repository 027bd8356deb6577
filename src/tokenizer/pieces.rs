//! How does a model of SentencePiece become the tokenizer of a family?
//!
//! Families put special tokens around the model's pieces, each in its way ([`KINDS`]), and cut texts alike: at white space, with a sign
//! for it before each word. As the classes of `transformers` 5 that these rows are named after.

use tokenizers::models::unigram::Unigram;
use tokenizers::normalizers::replace::ReplacePattern;
use tokenizers::normalizers::{Lowercase, NFC, NFKD, NormalizerWrapper, Precompiled, Replace, Sequence, Strip, StripAccents};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::metaspace::{Metaspace, PrependScheme};
use tokenizers::pre_tokenizers::punctuation::Punctuation;
use tokenizers::pre_tokenizers::sequence::Sequence as PreTokenizers;
use tokenizers::pre_tokenizers::whitespace::WhitespaceSplit;
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{AddedToken, SplitDelimiterBehavior, Tokenizer};

use super::content::guarded;
use super::sentencepiece::Model;
use super::special::{self, SpecialTokens, Usual};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::Bytes;

/// What a family makes of the pieces.
pub(super) struct Kind {
    pub class: &'static str,
    pub model_type: &'static str,
    /// The name that the family's file has.
    pub file: &'static str,
    /// Special tokens where the files do not name them.
    pub special: &'static [Usual],
    /// The tokens before the model's own pieces.
    before: &'static [Before],
    /// How many of the model's pieces these stand for.
    skipped: usize,
    /// Whether the mask comes behind the pieces, unless it is one.
    mask_last: bool,
    /// The id of the token for unknown pieces; without one, that of the piece of its name, else 1.
    unknown: Option<usize>,
    texts: Texts,
    /// `$A`, `$B` and special tokens, with their segments.
    single: &'static [(Piece, u32)],
    pair: &'static [(Piece, u32)],
}

/// What becomes of a text before it is cut into words.
#[derive(Clone, Copy, PartialEq)]
enum Texts {
    /// The model's own normaliser; words are cut at white space.
    Normalised,
    /// Lower-cased and without accents, unless the files say otherwise, then the model's own normaliser.
    Plain,
    /// Runs of spaces joined, in place of the model's own normaliser; words are cut at spaces alone.
    Spaced,
    /// Composed (NFC) in place of the model's own normaliser, white space joined; lower-cased and cut at punctuation where the files say so.
    Composed,
}

/// A token before the model's own pieces.
enum Before {
    /// The special token of this name.
    Named(&'static str),
    /// A token that nothing becomes, and its score.
    Unused(&'static str, f64),
}

/// A part of a template.
#[derive(Clone, Copy)]
enum Piece {
    A,
    B,
    Token(&'static str),
}

const BOS: (Piece, u32) = (Piece::Token("bos_token"), 0);
const EOS: (Piece, u32) = (Piece::Token("eos_token"), 0);
const ROBERTA_SINGLE: &[(Piece, u32)] = &[BOS, (Piece::A, 0), EOS];
const ROBERTA_PAIR: &[(Piece, u32)] = &[BOS, (Piece::A, 0), EOS, EOS, (Piece::B, 0), EOS];

const BERT_SINGLE: &[(Piece, u32)] = &[(Piece::Token("cls_token"), 0), (Piece::A, 0), (Piece::Token("sep_token"), 0)];
const BERT_PAIR: &[(Piece, u32)] =
    &[(Piece::Token("cls_token"), 0), (Piece::A, 0), (Piece::Token("sep_token"), 0), (Piece::B, 1), (Piece::Token("sep_token"), 1)];

/// Every family with such a vocabulary. A new one is one row.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        class: "XLMRobertaTokenizer",
        model_type: "xlm-roberta",
        file: "sentencepiece.bpe.model",
        special: special::ROBERTA,
        before: &[Before::Named("bos_token"), Before::Named("pad_token"), Before::Named("eos_token"), Before::Named("unk_token")],
        skipped: 3,
        mask_last: true,
        unknown: Some(3),
        texts: Texts::Normalised,
        single: ROBERTA_SINGLE,
        pair: ROBERTA_PAIR,
    },
    Kind {
        class: "CamembertTokenizer",
        model_type: "camembert",
        file: "sentencepiece.bpe.model",
        special: special::CAMEMBERT,
        before: &[
            Before::Unused("<s>NOTUSED", 0.0),
            Before::Named("pad_token"),
            Before::Unused("</s>NOTUSED", 0.0),
            Before::Named("unk_token"),
            Before::Unused("<unk>NOTUSED", -100.0),
        ],
        skipped: 1,
        mask_last: true,
        unknown: Some(3),
        texts: Texts::Normalised,
        single: ROBERTA_SINGLE,
        pair: ROBERTA_PAIR,
    },
    Kind {
        class: "AlbertTokenizer",
        model_type: "albert",
        file: "spiece.model",
        special: &[
            Usual::new("bos_token", "[CLS]"),
            Usual::new("eos_token", "[SEP]"),
            Usual::new("unk_token", "<unk>"),
            Usual::new("sep_token", "[SEP]"),
            Usual::new("pad_token", "<pad>"),
            Usual::new("cls_token", "[CLS]"),
            Usual::new("mask_token", "[MASK]"),
        ],
        before: &[],
        skipped: 0,
        mask_last: false,
        unknown: Some(1),
        texts: Texts::Plain,
        single: BERT_SINGLE,
        pair: BERT_PAIR,
    },
    Kind {
        class: "DebertaV2Tokenizer",
        model_type: "deberta-v2",
        file: "spm.model",
        special: &[
            Usual::new("bos_token", "[CLS]"),
            Usual::new("eos_token", "[SEP]"),
            Usual::new("unk_token", "[UNK]"),
            Usual::new("sep_token", "[SEP]"),
            Usual::new("pad_token", "[PAD]"),
            Usual::new("cls_token", "[CLS]"),
            Usual::new("mask_token", "[MASK]"),
        ],
        before: &[],
        skipped: 0,
        mask_last: true,
        unknown: None,
        texts: Texts::Composed,
        single: BERT_SINGLE,
        pair: BERT_PAIR,
    },
    Kind {
        class: "BigBirdTokenizer",
        model_type: "big_bird",
        file: "spiece.model",
        special: special::BIG_BIRD,
        before: &[],
        skipped: 0,
        mask_last: false,
        unknown: None,
        texts: Texts::Spaced,
        single: BERT_SINGLE,
        pair: BERT_PAIR,
    },
];

/// What tokenizer_config.json says of such a tokenizer.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub lowercase: Option<bool>,
    pub keep_accents: Option<bool>,
    pub prefix_space: Option<bool>,
    pub split_punctuation: Option<bool>,
}

/// Builds the tokenizer that the reference's class is.
pub(super) fn build(kind: &Kind, bytes: &Bytes, settings: Settings, special: &SpecialTokens) -> Result<Tokenizer> {
    let model = Model::read(bytes)?;
    let added = added(&model);
    let normalizer = normalizer(kind, &model.charsmap, settings)?;
    let vocabulary = vocabulary(kind, model.pieces, special)?;
    let by_name = || vocabulary.iter().position(|piece| *piece == (special.name("unk_token"), 0.0)).unwrap_or(1);
    let unknown = kind.unknown.unwrap_or_else(by_name);
    let unigram = guarded("its pieces", || Unigram::from(vocabulary, Some(unknown), false))?;
    let mut inner = Tokenizer::new(unigram);
    let malformed = |e: tokenizers::Error| Error::new(ErrorKind::InvalidFile, e.to_string());
    inner.with_normalizer(normalizer).map_err(malformed)?;
    let scheme = match (settings.prefix_space.unwrap_or(true), kind.texts) {
        (true, _) => PrependScheme::Always,
        (false, Texts::Composed) => PrependScheme::First,
        (false, _) => PrependScheme::Never,
    };
    let first: Option<PreTokenizerWrapper> = match kind.texts {
        Texts::Normalised | Texts::Plain => Some(WhitespaceSplit.into()),
        Texts::Spaced => None,
        Texts::Composed => settings.split_punctuation.unwrap_or(false).then(|| Punctuation::new(SplitDelimiterBehavior::Isolated).into()),
    };
    let words = first.into_iter().chain([Metaspace::new('\u{2581}', scheme, true).into()]);
    inner.with_pre_tokenizer(Some(PreTokenizers::new(words.collect())));
    inner.with_decoder(Some(Metaspace::new('\u{2581}', scheme, true)));
    special.register(&mut inner)?;
    guarded("its controls", || inner.add_tokens(added).map(|_| ()))?;
    let template = template(kind, &inner, special)?;
    inner.with_post_processor(Some(template));
    Ok(inner)
}

fn added(model: &Model) -> Vec<AddedToken> {
    let token = |added: &super::sentencepiece::Added| AddedToken {
        normalized: false,
        ..AddedToken::from(model.pieces[added.id].0.clone(), added.special)
    };
    model.added.iter().map(token).collect()
}

fn vocabulary(kind: &Kind, pieces: Vec<(String, f64)>, special: &SpecialTokens) -> Result<Vec<(String, f64)>> {
    if pieces.len() <= kind.skipped.max(kind.unknown.unwrap_or(1)) {
        return fail(ErrorKind::InvalidFile, format!("it has {} pieces, too few for a {}", pieces.len(), kind.class));
    }
    let before = kind.before.iter().map(|before| match before {
        Before::Named(name) => (special.name(name), 0.0),
        Before::Unused(text, score) => ((*text).to_owned(), *score),
    });
    let named = special.name("mask_token");
    // A family without tokens of its own before the pieces may have the mask among them.
    let there = kind.before.is_empty() && pieces.iter().any(|(text, _)| *text == named);
    let mask = (kind.mask_last && !there).then_some((named, 0.0));
    Ok(before.chain(pieces.into_iter().skip(kind.skipped)).chain(mask).collect())
}

fn normalizer(kind: &Kind, charsmap: &[u8], settings: Settings) -> Result<Option<NormalizerWrapper>> {
    let mut steps: Vec<NormalizerWrapper> = Vec::new();
    if kind.texts == Texts::Composed {
        if settings.lowercase.unwrap_or(false) {
            steps.push(Lowercase.into());
        }
        let space = ReplacePattern::Regex(r"\s{2,}|[\n\r\t]".to_owned());
        steps.push(guarded("a replacement", || Replace::new(space, " "))?.into());
        steps.extend([NFC.into(), Strip::new(false, true).into()]);
        return Ok(Some(Sequence::new(steps).into()));
    }
    if kind.texts == Texts::Spaced {
        let spaces = ReplacePattern::Regex(" {2,}".to_owned());
        return Ok(Some(guarded("a replacement", || Replace::new(spaces, "\u{2581}"))?.into()));
    }
    if kind.texts == Texts::Plain {
        for quotes in ["``", "''"] {
            steps.push(guarded("a replacement", || Replace::new(quotes, "\""))?.into());
        }
        if !settings.keep_accents.unwrap_or(false) {
            // As in the reference's normaliser of this name: marks go after decomposition.
            steps.extend([NFKD.into(), StripAccents.into()]);
        }
        if settings.lowercase.unwrap_or(true) {
            steps.push(Lowercase.into());
        }
    }
    if !charsmap.is_empty() {
        steps.push(guarded("its compiled normaliser", || Ok(Precompiled::from(charsmap)?))?.into());
    }
    Ok(if steps.is_empty() { None } else { Some(Sequence::new(steps).into()) })
}

fn template(kind: &Kind, inner: &Tokenizer, special: &SpecialTokens) -> Result<TemplateProcessing> {
    let written = |pieces: &[(Piece, u32)]| -> Vec<String> {
        let text = |piece: Piece| match piece {
            Piece::A => "$A".to_owned(),
            Piece::B => "$B".to_owned(),
            Piece::Token(name) => special.name(name),
        };
        pieces.iter().map(|(piece, segment)| format!("{}:{segment}", text(*piece))).collect()
    };
    let mut tokens = Vec::new();
    for name in kind.pair.iter().filter_map(|(piece, _)| if let Piece::Token(name) = piece { Some(name) } else { None }) {
        let text = special.name(name);
        let Some(id) = inner.token_to_id(&text) else {
            return fail(
                ErrorKind::InvalidFile,
                format!("it has no piece {text:?}, the {name}; name the token used instead in tokenizer_config.json"),
            );
        };
        tokens.push((text, id));
    }
    tokens.sort();
    tokens.dedup();
    let malformed = |e: &dyn std::fmt::Display| Error::new(ErrorKind::InvalidFile, format!("its template: {e}"));
    TemplateProcessing::builder()
        .try_single(written(kind.single))
        .map_err(|e| malformed(&e))?
        .try_pair(written(kind.pair))
        .map_err(|e| malformed(&e))?
        .special_tokens(tokens)
        .build()
        .map_err(|e| malformed(&e))
}
