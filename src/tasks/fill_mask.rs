//! A text with blanks -> the words that fit each of them.
//!
//! A blank is the tokenizer's own mask token. The head of masked language modelling gives one number for each token of the vocabulary
//! (a logit), for blanks alone; the softmax of all of them makes scores. As the fill-mask pipeline of `transformers`, whose targets
//! are the candidates here. Rows of a vocabulary's size are ranked and dropped a few at a time, so that many blanks and a large
//! vocabulary never meet in memory.

use std::ops::Range;

use super::forward::{Packed, Run, with_prompt};
use super::heads::InputReport;
use super::{Model, Request, Windows};
use crate::error::{ErrorKind, Result, fail};
use crate::model::Output;
use crate::model::heads::Kind;
use crate::tokenizer::{Content, Encoded, Limit, OffsetMap, Truncation, Word};

/// Fills of a blank where neither the request nor a list of candidates says how many.
const USUAL: usize = 5;

/// Fills of a blank at most, unless candidates are named.
pub const MOST_FILLS: usize = 1000;

/// Numbers of vocabulary rows at once: 16 MiB.
const MOST_LOGITS: usize = 4 << 20;

/// A word for a blank.
#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    /// The token's number in the vocabulary.
    pub id: u32,
    /// The token as the tokenizer's decoder shows it.
    pub token: String,
    /// The probability, of the whole vocabulary.
    pub score: f32,
    /// The raw number.
    pub logit: f32,
    word: Word,
}

/// A blank and what fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Blank {
    /// Where the mask token starts in the text, in the request's unit.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// Best first, of equals the one with the lower id.
    pub fills: Vec<Fill>,
    /// The same place in bytes.
    bytes: Range<usize>,
}

impl Blank {
    /// `text`, in which this is a blank, with the fill at `place` in it. A token that continues a word joins the word before it.
    /// Other blanks stay.
    pub fn filled(&self, text: &str, place: usize) -> Option<String> {
        let Word { text: word, continues } = &self.fills.get(place)?.word;
        let before = text.get(..self.bytes.start)?;
        let before = if *continues { before.trim_end() } else { before };
        Some([before, word, text.get(self.bytes.end..)?].concat())
    }
}

/// The answer for one text.
#[derive(Clone, Debug, PartialEq)]
pub struct Filled {
    /// Its blanks, in their order; none for a text that was not finished.
    pub blanks: Vec<Blank>,
    /// What became of the text.
    pub report: InputReport,
}

/// The answer of [`Model::fill_mask`].
#[derive(Clone, Debug, PartialEq)]
pub struct Fills {
    /// One entry a text.
    pub inputs: Vec<Filled>,
    /// How many texts, counted from the first, have their fills.
    pub finished: usize,
    /// `DeadlineExceeded` or `Cancelled` where the call stopped before the last text.
    pub stopped: Option<ErrorKind>,
}

impl Model {
    /// The text that stands for a blank: the tokenizer's mask token.
    pub fn mask_token(&self) -> Option<&str> {
        self.tokenizer().mask().map(|(mask, _)| mask)
    }

    /// Fills the blanks of each text: the request's `top` best tokens (5 where it says nothing), or how well each of `candidates`
    /// fits, where there are any. A candidate is one token, or a word that the tokenizer makes one token of. Blanks of one text are
    /// filled each for itself, with the others left blank. The answer for a text is the same, bit for bit, whatever the other texts,
    /// their order and the number of threads.
    ///
    /// Of a text longer than the limit the encoder sees a window around its blanks; with truncation `left` or `right` what is
    /// left, and a blank that is cut off is an error.
    ///
    /// A deadline or a cancellation is no error: the answer then holds the texts finished and says why it stopped.
    ///
    /// # Errors
    /// `InvalidArgument` for a model without the head or without a mask token, a text without a blank, a candidate that is not one
    /// token, and a request that the model cannot serve; `TooLong` where the blanks stand further apart than the limit, or are cut
    /// off, or under the truncation policy `error`; `NonFinite` when a score is not finite.
    pub fn fill_mask<T: AsRef<str>, C: AsRef<str>>(&self, texts: &[T], candidates: &[C], request: &Request) -> Result<Fills> {
        let call = Call::new(self, candidates, request)?;
        let mut fills = Fills { inputs: Vec::with_capacity(texts.len()), finished: 0, stopped: None };
        let mut waiting: Vec<Prepared> = Vec::new();
        for (i, text) in texts.iter().enumerate() {
            if call.run.stopped().is_some() {
                break;
            }
            waiting.push(call.prepare(text.as_ref()).map_err(|e| e.within(format!("text {i}")))?);
            let tokens: usize = waiting.iter().map(|text| text.report.tokens).sum();
            if (tokens >= call.run.batch_tokens() || i + 1 == texts.len()) && !call.fill(&mut waiting, &mut fills.inputs)? {
                break;
            }
        }
        fills.finished = fills.inputs.len();
        if fills.finished < texts.len() {
            fills.stopped = call.run.stopped();
        }
        let unfinished = |total| Filled { blanks: Vec::new(), report: InputReport { total, ..InputReport::default() } };
        fills.inputs.extend(waiting.iter().map(|text| unfinished(text.report.total)));
        fills.inputs.resize_with(texts.len(), || unfinished(0));
        Ok(fills)
    }
}

/// A text that waits for the encoder.
struct Prepared {
    encoded: Encoded,
    /// The blanks' rows in the window.
    rows: Vec<usize>,
    /// The blanks, without fills.
    blanks: Vec<Blank>,
    report: InputReport,
}

/// One call over the head.
struct Call<'m> {
    model: &'m Model,
    run: Run<'m>,
    limit: Limit,
    /// Whether the window is put around the blanks.
    around: bool,
    mask: (&'m str, u32),
    /// Ids of the candidates, each once; none for the whole vocabulary.
    candidates: Vec<u32>,
    top: usize,
    request: Request,
}

impl<'m> Call<'m> {
    fn new<C: AsRef<str>>(model: &'m Model, candidates: &[C], request: &Request) -> Result<Call<'m>> {
        model.encoder().head(Kind::FillMask)?;
        refuse(request)?;
        let Some(mask) = model.tokenizer().mask() else {
            return fail(ErrorKind::InvalidArgument, "the tokenizer has no mask token, so that no text can have a blank");
        };
        let mut ids = Vec::with_capacity(candidates.len());
        for word in candidates {
            let id = model.tokenizer().single_token(word.as_ref())?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        let top = match (request.top, ids.len()) {
            (None, 0) => USUAL,
            (Some(usize::MAX), 0) => model.encoder().sizes().vocabulary,
            (Some(top), 0) => top,
            (top, some) => some.min(top.unwrap_or(some)),
        };
        if ids.is_empty() && top > MOST_FILLS {
            let told = format!("top: a blank gets at most {MOST_FILLS} fills; name candidates to see what others score");
            return fail(ErrorKind::InvalidArgument, told);
        }
        Ok(Call {
            model,
            run: Run::of(model, request, &Output::Head(Kind::FillMask))?,
            limit: model.limit(request)?,
            around: request.truncation.is_none(),
            mask,
            candidates: ids,
            top,
            request: request.clone(),
        })
    }

    /// The tokens of a text and the places of its blanks.
    fn prepare(&self, text: &str) -> Result<Prepared> {
        let prompted = with_prompt(self.run.prompt(), text);
        let prompt = prompted.len() - text.len();
        let content = self.model.tokenizer().content(&prompted)?;
        let is_blank = |i: &usize| content.ids()[*i] == self.mask.1 && content.offsets()[*i].1 > prompt;
        let masks: Vec<usize> = (0..content.tokens()).filter(is_blank).collect();
        let (Some(first), Some(last)) = (masks.first(), masks.last()) else {
            let told = format!("it has no blank: write {} where a word is missing", self.mask.0);
            return fail(ErrorKind::InvalidArgument, told);
        };
        let encoded = self.encode(&content, &(*first..last + 1))?;
        let Some(window) = encoded.windows.first() else { return fail(ErrorKind::InvalidArgument, "it has no tokens") };
        let own = window.texts.iter().position(Option::is_some).unwrap_or(0);
        let seen = window.tokens_start..window.tokens_start + window.texts.iter().flatten().count();
        let rows: Vec<usize> = masks.iter().filter(|mask| seen.contains(mask)).map(|mask| own + mask - seen.start).collect();
        if rows.len() < masks.len() {
            let (cut, all, limit) = (masks.len() - rows.len(), masks.len(), self.limit.max_tokens);
            let told = format!("{cut} of its {all} blanks are cut off at {limit} tokens: leave truncation out, or shorten the text");
            return fail(ErrorKind::TooLong, told);
        }
        let map = OffsetMap::new(text, self.request.offsets);
        let blank = |mask: &usize| {
            let (start, end) = own_place(&prompted, content.offsets()[*mask]);
            let bytes = start.saturating_sub(prompt)..end.saturating_sub(prompt);
            let (start, end) = map.span((bytes.start, bytes.end));
            Blank { start, end, fills: Vec::new(), bytes }
        };
        let blanks = masks.iter().map(blank).collect();
        let report = InputReport { tokens: window.ids.len(), total: encoded.total, truncated: encoded.truncated, windows: 1 };
        Ok(Prepared { encoded, rows, blanks, report })
    }

    /// Fills the texts that wait and appends them to those that are finished; `false` when the call must stop.
    fn fill(&self, waiting: &mut Vec<Prepared>, finished: &mut Vec<Filled>) -> Result<bool> {
        let Some(ranked) = self.ranked(waiting, finished.len())? else { return Ok(false) };
        let mut ranked = ranked.into_iter();
        for Prepared { mut blanks, report, .. } in waiting.drain(..) {
            blanks.iter_mut().zip(ranked.by_ref()).for_each(|(blank, fills)| blank.fills = fills);
            finished.push(Filled { blanks, report });
        }
        Ok(true)
    }

    fn encode(&self, content: &Content, masks: &Range<usize>) -> Result<Encoded> {
        let tokenizer = self.model.tokenizer();
        if self.around {
            tokenizer.encode_around(content, masks, &self.limit)
        } else {
            tokenizer.encode_contents(content, None, &self.limit)
        }
    }

    /// The best tokens for every blank of the texts, of which the first has number `first`; so many blanks a run that their rows of
    /// logits stay few.
    fn ranked(&self, texts: &[Prepared], first: usize) -> Result<Option<Vec<Vec<Fill>>>> {
        let most = (MOST_LOGITS / self.run.width().max(1)).max(1);
        let (mut all, mut packed, mut owners) = (Vec::new(), Packed::default(), Vec::new());
        for (i, text) in texts.iter().enumerate() {
            for rows in text.rows.chunks(most) {
                if owners.len() + rows.len() > most && !self.take(&mut packed, &mut owners, &mut all)? {
                    return Ok(None);
                }
                self.run.add_encoded(&mut packed, &text.encoded)?;
                packed.pick(rows);
                owners.extend(std::iter::repeat_n(first + i, rows.len()));
            }
        }
        Ok(self.take(&mut packed, &mut owners, &mut all)?.then_some(all))
    }

    /// Runs what is packed and ranks its blanks; `owners` are the numbers of their texts. `false` when the call must stop.
    fn take(&self, packed: &mut Packed, owners: &mut Vec<usize>, all: &mut Vec<Vec<Fill>>) -> Result<bool> {
        let Some(logits) = self.run.forward(&std::mem::take(packed))? else { return Ok(false) };
        for (row, owner) in logits.chunks_exact(self.run.width()).zip(owners.drain(..)) {
            all.push(self.rank(row).map_err(|e| e.within(format!("text {owner}")))?);
        }
        Ok(true)
    }

    fn rank(&self, logits: &[f32]) -> Result<Vec<Fill>> {
        if !logits.iter().all(|v| v.is_finite()) {
            let told = "its score is not finite; the model's weights are damaged or overflow f32, check them with `cloze inspect`";
            return fail(ErrorKind::NonFinite, told);
        }
        let tokenizer = self.model.tokenizer();
        let probability = softmax(logits);
        let fill = |id: u32| {
            let logit = logits[id as usize];
            Ok(Fill { id, token: tokenizer.spelled(id)?, score: probability(logit), logit, word: tokenizer.word(id)? })
        };
        best(logits, &self.candidates, self.top).into_iter().map(fill).collect()
    }
}

/// What a request may not ask for.
fn refuse(request: &Request) -> Result<()> {
    let told = if request.windows != Windows::First || request.truncation == Some(Truncation::Window) {
        "windows: fill_mask sees one window around the blanks; leave windows and truncation window out"
    } else if request.activation.is_some() {
        "activation: scores of fill_mask are probabilities, and the raw numbers come with them; leave activation out"
    } else {
        return Ok(());
    };
    fail(ErrorKind::InvalidArgument, told)
}

/// The mask token's own place: some tokenizers count the space before it in.
fn own_place(text: &str, (start, end): (usize, usize)) -> (usize, usize) {
    let Some(span) = text.get(start..end) else { return (start, end) };
    let begins = start + span.len() - span.trim_start().len();
    (begins, begins + span.trim().len())
}

/// The ids with the largest numbers, best first; of equals the lower id.
fn best(logits: &[f32], candidates: &[u32], top: usize) -> Vec<u32> {
    let mut ids: Vec<u32> = if candidates.is_empty() { (0..logits.len() as u32).collect() } else { candidates.to_vec() };
    let order = |a: &u32, b: &u32| logits[*b as usize].total_cmp(&logits[*a as usize]).then(a.cmp(b));
    if top > 0 && top < ids.len() {
        ids.select_nth_unstable_by(top - 1, order);
        ids.truncate(top);
    }
    ids.sort_unstable_by(order);
    ids
}

/// What a logit of the row is as a probability. The sum is in double precision.
fn softmax(logits: &[f32]) -> impl Fn(f32) -> f32 {
    let largest = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let sum: f64 = logits.iter().map(|x| (f64::from(*x) - largest).exp()).sum();
    move |logit| ((f64::from(logit) - largest).exp() / sum) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first_and_of_equals_the_lower_id() {
        let logits = [1.0, 3.0, 2.0, 3.0, -1.0];
        assert_eq!(best(&logits, &[], 3), [1, 3, 2]);
        assert_eq!(best(&logits, &[], 9), [1, 3, 2, 0, 4]);
        assert_eq!(best(&logits, &[4, 3, 0], 2), [3, 0]);
        let probability = softmax(&logits);
        assert!((logits.iter().map(|x| probability(*x)).sum::<f32>() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_filled_text_keeps_its_spaces_and_joins_what_continues() {
        let filled = |text: &str, word: &str, continues: bool| {
            let at = text.find("[MASK]").unwrap();
            let fill = Fill { id: 0, token: String::new(), score: 0.0, logit: 0.0, word: Word { text: word.into(), continues } };
            Blank { start: 0, end: 0, fills: vec![fill], bytes: at..at + 6 }.filled(text, 0).unwrap()
        };
        assert_eq!(filled("I [MASK] it", "like", false), "I like it");
        assert_eq!(filled("play [MASK] it", "ing", true), "playing it");
        assert_eq!(filled("我[MASK]你", "爱", false), "我爱你");
        assert_eq!(own_place("a  <mask> b", (1, 9)), (3, 9));
    }
}
