//! Texts, or words -> entities.
//!
//! The head gives each token one number a label. Longer texts are read in overlapping windows; each token takes its numbers from
//! the window in which it stands farthest from a cut, and labels are joined over the whole text afterwards, so that no window
//! cuts a word or an entity. Where the model knows how labels follow each other (`crf`), the best sequence counts.
//!
//! A model that was trained to say which words of a text were replaced (ELECTRA's discriminator) tags too: its one number a token is
//! the logit of `replaced` against `original`.

use std::borrow::Cow;
use std::ops::Range;

use super::entities::{TaggedTokens, most};
use super::forward::PackedText;
use super::heads::{Finished, HeadRun, InputReport};
use super::{Aggregation, Model, Request, Score};
use crate::error::{ErrorKind, Result};
use crate::model::heads::{Head, Kind};
use crate::tokenizer::{Content, OffsetMap};

/// What is tagged: a text, or words that somebody else has found.
#[derive(Clone, Copy, Debug)]
pub enum TagInput<'t> {
    /// A text; the tokenizer finds its words.
    Text(&'t str),
    /// Words. They stand in a text with one space between neighbours, and a word is never divided in two.
    Words(&'t [&'t str]),
}

impl<'t> From<&'t str> for TagInput<'t> {
    fn from(text: &'t str) -> Self {
        TagInput::Text(text)
    }
}

impl<'t> From<&'t [&'t str]> for TagInput<'t> {
    fn from(words: &'t [&'t str]) -> Self {
        TagInput::Words(words)
    }
}

/// A place in a text, and what stands there.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Its kind: the model's label without the letter of its scheme; with `aggregation` none, the whole label.
    pub label: String,
    /// The part of the text, as it stands there; of words, joined by spaces.
    pub text: String,
    /// Where it begins in the text, in the unit that the request asks for.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// How certain it is: the probability of its label, the mean over its tokens or words.
    pub score: f32,
    /// Of an input of words: which of them.
    pub words: Option<Range<usize>>,
}

/// The answer for one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Tagged {
    /// In the order of the text. Empty for an input that was not finished.
    pub entities: Vec<Entity>,
    /// What became of the input.
    pub report: InputReport,
}

/// The answer of [`Model::tag`].
#[derive(Clone, Debug, PartialEq)]
pub struct Entities {
    /// One entry an input.
    pub inputs: Vec<Tagged>,
    /// How many inputs, counted from the first, have their entities.
    pub finished: usize,
    /// `DeadlineExceeded` or `Cancelled` where the call stopped before the last input.
    pub stopped: Option<ErrorKind>,
}

impl Model {
    /// Finds the entities of texts, or of words: `&[&str]`, `&[&[&str]]` or [`TagInput`]s; of a discriminator which parts are
    /// `original` and which `replaced`. The answer for an input is the same, bit
    /// for bit, whatever the other inputs, their order and the number of threads.
    ///
    /// A deadline or a cancellation is no error: the answer then holds the inputs finished and says why it stopped.
    ///
    /// # Errors
    /// `InvalidArgument` for a model without a head for tokens, or a request that it cannot serve; `TooLong` under the truncation
    /// policy `error`; `NonFinite` when a score is not finite.
    pub fn tag<'t, T: Into<TagInput<'t>> + Copy>(&self, inputs: &[T], request: &Request) -> Result<Entities> {
        let has = |kind| self.encoder().heads().iter().any(|head| head.kind == kind);
        let replaced = has(Kind::Replaced) && !has(Kind::Tag);
        let run = HeadRun::of_tokens(self, request, if replaced { Kind::Replaced } else { Kind::Tag })?;
        let labels = if replaced { REPLACED.map(str::to_owned).to_vec() } else { run.head.meaning.labels.clone() };
        let tagger = Tagger { head: run.head, labels, replaced, request, pieces: self.tokenizer().has_word_pieces() };
        let special = self.tokenizer().special_tokens(false);
        let read = |i: usize| {
            let input = inputs[i].into();
            let (text, content) = match input {
                TagInput::Text(text) => (Cow::Borrowed(text), self.tokenizer().content(text)?),
                TagInput::Words(words) => (Cow::Owned(words.join(" ")), self.tokenizer().content_of_words(words)?),
            };
            let encoded = run.encode(&content, None)?;
            let first = &encoded.windows[0];
            let leading = first.texts.iter().position(Option::is_some).unwrap_or(0);
            let source =
                Source { text, content, by_words: matches!(input, TagInput::Words(_)), start: first.tokens_start, leading, special };
            Ok((encoded, source))
        };
        let Finished { answers, reports, stopped } =
            run.each_of_tokens("text", inputs.len(), read, |source, text, rows| tagger.entities(source, text, rows))?;
        let mut entities =
            answers.into_iter().enumerate().map(|(i, one)| one.map_err(|e| e.within(format!("text {i}")))).collect::<Result<Vec<_>>>()?;
        let finished = entities.len();
        entities.resize(inputs.len(), Vec::new());
        let inputs = entities.into_iter().zip(reports).map(|(entities, report)| Tagged { entities, report }).collect();
        Ok(Entities { inputs, finished, stopped })
    }
}

/// An input, and where its tokens are among its rows.
struct Source<'t> {
    text: Cow<'t, str>,
    content: Content,
    by_words: bool,
    /// Tokens cut off at the start.
    start: usize,
    /// Special tokens before the text's.
    leading: usize,
    /// Special tokens in all.
    special: usize,
}

/// The labels of a discriminator's tokens.
const REPLACED: [&str; 2] = ["original", "replaced"];

/// How labels become entities, once for all inputs of a call.
struct Tagger<'c> {
    head: &'c Head,
    labels: Vec<String>,
    /// Whether the head gives one number, that of the second label; the first has 0.
    replaced: bool,
    request: &'c Request,
    /// Whether the tokenizer says which tokens continue a word.
    pieces: bool,
}

impl Tagger<'_> {
    fn entities(&self, source: &Source<'_>, packed: &PackedText, rows: &[f32]) -> Result<Vec<Entity>> {
        let (outputs, labels) = (self.head.outputs, self.labels.len());
        // Each token of the text once, the template's around them: what a crf was trained on.
        let numbers = |row: usize| {
            let of_first = self.replaced.then_some(0.0);
            of_first.into_iter().chain(rows[row * outputs..(row + 1) * outputs].iter().copied())
        };
        let picked: Vec<f32> = packed.token_rows(0).flat_map(numbers).collect();
        let tokens = (picked.len() / labels.max(1)).saturating_sub(source.special);
        let own = source.leading..source.leading + tokens;
        let continues: Vec<bool> = (0..tokens).map(|token| token > 0 && self.continues(source, source.start + token)).collect();
        let (path, probabilities) = if self.chains_words() { self.decode_words(&picked, &own, &continues)? } else { self.decode(&picked)? };
        let tagged = TaggedTokens {
            labels: &self.labels,
            path: &path[own.clone()],
            probabilities: &probabilities[own.start * labels..own.end * labels],
            continues: &continues,
        };
        let aggregation = self.request.aggregation.or(self.head.meaning.aggregation).unwrap_or_default();
        let map = OffsetMap::new(&source.text, self.request.offsets);
        let entity = |group: super::entities::Group| {
            let (first, last) = (source.start + group.tokens.start, source.start + group.tokens.end - 1);
            let (start, end) = (source.content.offsets()[first].0, source.content.offsets()[last].1);
            let text = source.text.get(start..end).unwrap_or_default().to_owned();
            let words = source.by_words.then(|| Some(source.content.word(first)?..source.content.word(last)? + 1)).flatten();
            let (start, end) = map.span((start, end));
            Entity { label: group.label, text, start, end, score: group.score, words }
        };
        Ok(tagged.entities(aggregation, self.request.scheme).into_iter().map(entity).collect())
    }

    /// Whether the crf is one of words, each by its first token, as the model's files say of its labels.
    fn chains_words(&self) -> bool {
        self.head.crf.is_some() && self.head.meaning.aggregation == Some(Aggregation::First)
    }

    /// As [`Tagger::decode`], of words that stand in the rows `own` and continue as `continues` says: all tokens of a word have its label.
    fn decode_words(&self, rows: &[f32], own: &Range<usize>, continues: &[bool]) -> Result<(Vec<usize>, Vec<f32>)> {
        let labels = self.labels.len();
        let firsts: Vec<usize> = own.clone().zip(continues).filter(|(_, continues)| !**continues).map(|(row, _)| row).collect();
        let picked: Vec<f32> = firsts.iter().flat_map(|row| rows[row * labels..(row + 1) * labels].iter().copied()).collect();
        let (words, shares) = self.decode(&picked)?;
        let count = rows.len() / labels.max(1);
        let (mut path, mut probabilities) = (vec![0; count], vec![0.0; rows.len()]);
        let mut word = 0;
        for (row, continues) in own.clone().zip(continues) {
            word += usize::from(!*continues && row > own.start);
            path[row] = words[word];
            probabilities[row * labels..(row + 1) * labels].copy_from_slice(&shares[word * labels..(word + 1) * labels]);
        }
        Ok((path, probabilities))
    }

    /// The label of each row, and the probabilities of all labels.
    fn decode(&self, rows: &[f32]) -> Result<(Vec<usize>, Vec<f32>)> {
        if let Some(crf) = &self.head.crf {
            let decoded = crf.decode(rows)?;
            return Ok((decoded.path, decoded.marginals));
        }
        let rows = rows.chunks(self.labels.len().max(1));
        let path = rows.clone().map(|row| most(row.iter().map(|v| f64::from(*v))).0).collect();
        Ok((path, rows.flat_map(|row| Score::Softmax.apply(row)).collect()))
    }

    /// Whether a token belongs to the word of the one before it. A vocabulary without pieces of words does not say it: there, as in
    /// the reference, words are what spaces divide.
    fn continues(&self, source: &Source<'_>, token: usize) -> bool {
        if self.pieces || source.by_words {
            return source.content.continues_word(token);
        }
        let start = source.content.offsets()[token].0;
        start > 0 && !source.text[..start].ends_with(' ') && !source.text[start..].starts_with(' ')
    }
}
