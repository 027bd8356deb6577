//! Which tokenizer do a model's files describe?
//!
//! `tokenizer.json` is complete and comes first. The files of a vocabulary alone need the rules of a family beside it: `vocab.txt`
//! ([`vocabulary`]), `vocab.json` with `merges.txt` ([`byte_level`]), a model of SentencePiece ([`pieces`]). Whose rules they are, the
//! class in `tokenizer_config.json` says, or else the family of the model. `tokenizer_config.json` also changes them, in the way in
//! which the reference lets it.

use serde::Deserialize;
use serde_json::Value;
use tokenizers::normalizers::{BertNormalizer, Lowercase, NormalizerWrapper, Sequence};
use tokenizers::{Model, ModelWrapper, PostProcessorWrapper, TruncationDirection};

use super::content::guarded;
use super::special::SpecialTokens;
use super::template::Template;
use super::words::{Rules, Words};
use super::{Tokenizer, Truncation, byte_level, pieces, special, vocabulary, word_level};
use crate::error::{Error, ErrorKind, Result, fail, json_message};
use crate::quant::Bytes;

/// What a model's files say about its tokenizer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files<'a> {
    /// tokenizer.json.
    pub json: Option<&'a [u8]>,
    /// vocab.txt.
    pub vocab: Option<&'a [u8]>,
    /// vocab.json and merges.txt.
    pub vocab_json: Option<&'a [u8]>,
    /// The other of the two.
    pub merges: Option<&'a [u8]>,
    /// A model of SentencePiece, and the name of its file.
    pub pieces: Option<(&'a str, &'a Bytes)>,
    /// `model_type` in config.json.
    pub model_type: Option<&'a str>,
    /// tokenizer_config.json.
    pub config: Option<&'a Value>,
    /// special_tokens_map.json.
    pub special_tokens: Option<&'a Value>,
    /// Whether sentence_bert_config.json asks to lower-case texts before all else.
    pub lower_case: bool,
    /// Of a model of static vectors: what it sees of a text. Its tokenizer.json is taken as it is.
    pub words: Option<Words>,
}

/// The kind of vocabulary that models of a `model_type` usually have, and its files where there is no `tokenizer.json`. Other files work
/// where tokenizer_config.json names their class.
pub fn usual_vocabulary(model_type: &str) -> (&'static str, &'static [&'static str]) {
    if let Some(kind) = pieces::KINDS.iter().find(|kind| kind.model_type == model_type) {
        return ("SentencePiece", std::slice::from_ref(&kind.file));
    }
    if let Some((_, _, told)) = JSON_ALONE.iter().find(|(_, family, _)| *family == model_type) {
        return (told, &[]);
    }
    if let Some(kind) = byte_level::KINDS.iter().find(|kind| kind.model_type == model_type) {
        return (kind.told, &["vocab.json", "merges.txt"]);
    }
    ("WordPiece", &["vocab.txt"])
}

/// Class (where there is one), family and vocabulary of tokenizers that are in tokenizer.json alone. XLM's cuts words by rules of Moses
/// for each language before it merges letters, which the crate has no step for.
const JSON_ALONE: &[(Option<&str>, &str, &str)] = &[
    (None, "modernbert", "byte-level BPE"),
    (Some("XLMTokenizer"), "xlm", "BPE of words that Moses cuts"),
    (Some("FlaubertTokenizer"), "flaubert", "BPE of words that Moses cuts"),
    (None, "model2vec", "any"),
    (None, "static-embedding", "any"),
];

/// Lengths from here on mean "no limit": the reference writes 10^30.
const NO_LIMIT: u64 = 1_000_000_000;

/// Classes of the reference that take tokenizer.json as it is; all others apply their own options to BERT's normaliser.
const GENERIC_CLASSES: &[&str] = &["PreTrainedTokenizer", "TokenizersBackend"];

impl Tokenizer {
    /// Opens the tokenizer that the files describe.
    ///
    /// # Errors
    /// `InvalidFile` where a file is malformed or there is none, `Unsupported` where it describes something that cannot work
    /// here; the message names the file.
    pub fn open(files: &Files<'_>) -> Result<Tokenizer> {
        let special = SpecialTokens::read(files.config, files.special_tokens)?;
        let names = special.clone().completed(special::BERT);
        let (mut inner, file) = match files {
            Files { json: Some(json), .. } => (from_json(json, files.config, &special)?, "tokenizer.json"),
            Files { vocab: Some(vocab), .. } => (from_vocab(vocab, files, special)?, "vocab.txt"),
            Files { vocab_json: Some(vocab), merges: Some(merges), .. } => (from_merges(vocab, merges, files, special)?, "vocab.json"),
            Files { pieces: Some((name, pieces)), .. } => (from_pieces(pieces, files, special).map_err(|e| e.within(name))?, *name),
            _ => {
                let told = "the model has no tokenizer.json, vocab.txt, vocab.json with merges.txt, nor a model of SentencePiece; one of them must be there";
                return fail(ErrorKind::InvalidFile, told);
            }
        };
        let truncation_side = side(files.config, &inner)?;
        let stored_limit = inner.get_truncation().map(|stored| stored.max_length).filter(|_| files.words.is_some_and(|w| w.stored_limit));
        finish(&mut inner, files).map_err(|e| e.within(file))?;
        let template = |pair| if files.words.is_some() { Ok(Template::bare(pair)) } else { Template::learn(&inner, pair) };
        let single = template(false).map_err(|e| e.within(file))?;
        let pair = template(true).map_err(|e| e.within(file));
        forget_template(&mut inner);
        let in_templates = single.highest().max(pair.as_ref().ok().and_then(Template::highest));
        let highest = highest_id(&inner).max(in_templates);
        let Some(highest) = highest else { return fail(ErrorKind::InvalidFile, format!("{file}: the vocabulary is empty")) };
        let model_max_length = max_length(files.config).or(stored_limit);
        let mask = named_token(&names, &inner, "mask_token", "<mask>");
        let unknown = inner.token_to_id(&named_token(&names, &inner, "unk_token", "<unk>"));
        let vocabulary = highest as usize + 1;
        let words = files.words.map(|words| Rules::new(words, &inner, files.json));
        let short_way = word_level::ShortWay::of(&inner);
        Ok(Tokenizer { inner, single, pair, vocabulary, model_max_length, truncation_side, mask, unknown, words, short_way })
    }
}

fn from_json(json: &[u8], config: Option<&Value>, special: &SpecialTokens) -> Result<tokenizers::Tokenizer> {
    check_json(json)?;
    let mut inner = match word_level::open(json)? {
        Some(inner) => inner,
        None => guarded("tokenizer.json", || tokenizers::Tokenizer::from_bytes(json))?,
    };
    if let ModelWrapper::WordPiece(model) = inner.get_model()
        && model.token_to_id(&model.unk_token).is_none()
    {
        let told = format!("tokenizer.json: the vocabulary has no {:?}, its token for unknown words", model.unk_token);
        return fail(ErrorKind::InvalidFile, told);
    }
    if let Some(NormalizerWrapper::BertNormalizer(stored)) = inner.get_normalizer() {
        let (stored, changed) = (*stored, configured(Some(*stored), config)?);
        let options = |n: BertNormalizer| (n.lowercase, n.strip_accents, n.handle_chinese_chars);
        if options(stored) != options(changed) {
            guarded("tokenizer.json", || inner.with_normalizer(Some(changed)).map(|_| ()))?;
        }
    }
    special.register(&mut inner)?;
    Ok(inner)
}

/// WordPiece by the rules of MPNet, or else of BERT.
fn from_vocab(vocab: &[u8], files: &Files<'_>, special: SpecialTokens) -> Result<tokenizers::Tokenizer> {
    let kind = vocabulary::KINDS.iter().find(|kind| is_of(files, kind.class, kind.model_type)).unwrap_or(&vocabulary::BERT);
    vocabulary::build(kind, vocab, configured(None, files.config)?, &special.completed(kind.special))
}

fn from_merges(vocab: &[u8], merges: &[u8], files: &Files<'_>, special: SpecialTokens) -> Result<tokenizers::Tokenizer> {
    let is_alone = |(class, family, _): &&(Option<&str>, &str, &str)| class.is_some_and(|class| is_of(files, class, family));
    if let Some((_, family, told)) = JSON_ALONE.iter().find(is_alone) {
        let told =
            format!("vocab.json: the tokenizer of {family} ({told}) cannot be made of these files; give the folder a tokenizer.json");
        return fail(ErrorKind::Unsupported, told);
    }
    let prefix_space = flag(files.config, "add_prefix_space")?.flatten().unwrap_or(false);
    let trim = flag(files.config, "trim_offsets")?.flatten().unwrap_or(true);
    let kind = byte_level::KINDS.iter().find(|kind| is_of(files, kind.class, kind.model_type)).unwrap_or(&byte_level::ROBERTA);
    byte_level::build(kind, vocab, merges, (prefix_space, trim), &special.completed(kind.special))
}

fn from_pieces(bytes: &Bytes, files: &Files<'_>, special: SpecialTokens) -> Result<tokenizers::Tokenizer> {
    let Some(kind) = pieces::KINDS.iter().find(|kind| is_of(files, kind.class, kind.model_type)) else {
        let known: Vec<_> = pieces::KINDS.iter().map(|kind| kind.model_type).collect();
        let told = format!(
            "the family {:?} makes no tokenizer of it; {} do: give the folder a tokenizer.json",
            files.model_type.unwrap_or_default(),
            known.join(", ")
        );
        return fail(ErrorKind::Unsupported, told);
    };
    let option = |name| Ok::<_, Error>(flag(files.config, name)?.flatten());
    let settings = pieces::Settings {
        lowercase: option("do_lower_case")?,
        keep_accents: option("keep_accents")?,
        prefix_space: option("add_prefix_space")?,
        split_punctuation: option("split_by_punct")?,
    };
    pieces::build(kind, bytes, settings, &special.completed(kind.special))
}

/// The class that tokenizer_config.json names, without the word that marks the reference's fast ones.
fn class(config: Option<&Value>) -> Option<&str> {
    config.and_then(|c| c.get("tokenizer_class")).and_then(Value::as_str).map(|class| class.trim_end_matches("Fast"))
}

/// Whether the files are of that class: they name it, or name none and the model is of that family.
fn is_of(files: &Files<'_>, name: &str, model_type: &str) -> bool {
    match class(files.config) {
        Some(class) if !GENERIC_CLASSES.contains(&class) => class == name,
        _ => files.model_type == Some(model_type),
    }
}

/// The part of tokenizer.json that is looked at before the crate reads it all; the rest is only checked for being JSON, since
/// keeping a vocabulary once more takes as long as all else that opening does.
#[derive(Deserialize)]
struct Processor {
    #[serde(default)]
    post_processor: Value,
}

/// What the crate would panic about: JSON that is cut off, and templates that name special tokens they do not define.
fn check_json(json: &[u8]) -> Result<()> {
    let malformed = |e: serde_json::Error| format!("tokenizer.json: the JSON is malformed: {}", json_message(&e));
    let file: Processor = serde_json::from_slice(json).map_err(|e| Error::new(ErrorKind::InvalidFile, malformed(e)))?;
    let mut processors = vec![&file.post_processor];
    while let Some(processor) = processors.pop() {
        processors.extend(processor.get("processors").and_then(Value::as_array).into_iter().flatten());
        for name in ["single", "pair"] {
            for piece in processor.get(name).and_then(Value::as_array).into_iter().flatten() {
                let Some(id) = piece.get("SpecialToken").and_then(|t| t.get("id")).and_then(Value::as_str) else { continue };
                if processor.get("special_tokens").and_then(|t| t.get(id)).is_none() {
                    let told =
                        format!("tokenizer.json: the template {name:?} uses the special token {id:?}, which its special_tokens lack");
                    return fail(ErrorKind::InvalidFile, told);
                }
            }
        }
    }
    Ok(())
}

/// BERT's normaliser as tokenizer_config.json wants it. A stored one is changed as the reference does: by every option that the
/// file states, and where it names a class of tokenizer with options, by that class's defaults too.
fn configured(stored: Option<BertNormalizer>, config: Option<&Value>) -> Result<BertNormalizer> {
    let class = class(config);
    let generic = class.is_some_and(|class| GENERIC_CLASSES.contains(&class));
    let mut normalizer = match stored {
        Some(stored) if generic => return Ok(stored),
        Some(stored) if class.is_none() => stored,
        _ => BertNormalizer::new(true, true, None, true),
    };
    if let Some(lowercase) = flag(config, "do_lower_case")?.flatten() {
        normalizer.lowercase = lowercase;
    }
    if let Some(strip_accents) = flag(config, "strip_accents")? {
        normalizer.strip_accents = strip_accents;
    }
    if let Some(split) = flag(config, "tokenize_chinese_chars")?.flatten() {
        normalizer.handle_chinese_chars = split;
    }
    Ok(normalizer)
}

/// An option that is absent, null, true or false.
fn flag(config: Option<&Value>, name: &str) -> Result<Option<Option<bool>>> {
    match config.and_then(|c| c.get(name)) {
        None => Ok(None),
        Some(Value::Null) => Ok(Some(None)),
        Some(Value::Bool(value)) => Ok(Some(Some(*value))),
        Some(other) => fail(ErrorKind::InvalidFile, format!("tokenizer_config.json: {name} must be true, false or null, not {other}")),
    }
}

/// The side to cut: tokenizer_config.json's, else the one stored in tokenizer.json, else the right.
fn side(config: Option<&Value>, inner: &tokenizers::Tokenizer) -> Result<Truncation> {
    match config.and_then(|c| c.get("truncation_side")).filter(|v| !v.is_null()) {
        None => Ok(match inner.get_truncation().map(|t| t.direction) {
            Some(TruncationDirection::Left) => Truncation::Left,
            _ => Truncation::Right,
        }),
        Some(Value::String(side)) if side == "left" => Ok(Truncation::Left),
        Some(Value::String(side)) if side == "right" => Ok(Truncation::Right),
        Some(other) => {
            fail(ErrorKind::InvalidFile, format!("tokenizer_config.json: truncation_side must be \"left\" or \"right\", not {other}"))
        }
    }
}

fn max_length(config: Option<&Value>) -> Option<usize> {
    let stated = config.and_then(|c| c.get("model_max_length").or_else(|| c.get("max_len")))?.as_u64()?;
    usize::try_from(stated).ok().filter(|&n| n > 0 && stated < NO_LIMIT)
}

/// Takes away what would cut or pad behind our back, and adds the outer lower-casing.
fn finish(inner: &mut tokenizers::Tokenizer, files: &Files<'_>) -> Result<()> {
    let malformed = |e: tokenizers::Error| Error::new(ErrorKind::InvalidFile, e.to_string());
    inner.with_truncation(None).map_err(malformed)?;
    inner.with_padding(None);
    if flag(files.config, "split_special_tokens")?.flatten() == Some(true) {
        inner.set_encode_special_tokens(true);
    }
    if files.lower_case {
        let all: Vec<NormalizerWrapper> = match inner.get_normalizer().cloned() {
            None => vec![Lowercase.into()],
            Some(NormalizerWrapper::Sequence(inside)) => [Lowercase.into()].into_iter().chain(inside).collect(),
            Some(one) => vec![Lowercase.into(), one],
        };
        guarded("lower-casing", || inner.with_normalizer(Some(Sequence::new(all))).map(|_| ()))?;
    }
    Ok(())
}

/// Drops a post-processor that only adds special tokens: the learned templates do that. Those of byte-level vocabularies also
/// trim places, and stay.
fn forget_template(inner: &mut tokenizers::Tokenizer) {
    if matches!(inner.get_post_processor(), Some(PostProcessorWrapper::Bert(_) | PostProcessorWrapper::Template(_))) {
        inner.with_post_processor(None::<PostProcessorWrapper>);
    }
}

/// The token called `name`: the one that the files name, else the one of `usual` that the vocabulary has.
fn named_token(special: &SpecialTokens, inner: &tokenizers::Tokenizer, name: &str, usual: &str) -> String {
    let stated = special.name(name);
    let known = |token: &&str| inner.token_to_id(token).is_some();
    [stated.as_str(), usual].into_iter().find(known).unwrap_or(&stated).to_owned()
}

/// The highest id of the vocabulary and of the tokens added to it.
fn highest_id(inner: &tokenizers::Tokenizer) -> Option<u32> {
    let model = inner.get_model();
    let size = u32::try_from(model.get_vocab_size()).unwrap_or(u32::MAX);
    // As many ids as tokens, and none missing below that number: then there are none above. Copying the vocabulary to look
    // takes ten times as long.
    let dense = (0..size).all(|id| model.id_to_token(id).is_some());
    let in_model = if dense { size.checked_sub(1) } else { model.get_vocab().into_values().max() };
    in_model.max(inner.get_added_vocabulary().get_vocab().values().copied().max())
}
