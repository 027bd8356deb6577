//! A question and contexts -> the parts of each context that answer it.
//!
//! Question and context are read as one pair; longer contexts in overlapping windows, each beside the whole question. [`spans`]
//! scores the answers of a window; here they are joined, widened to whole words, and cut out of the caller's own text.
//!
//! [`spans`]: super::spans

use super::forward::PackedText;
use super::heads::{Finished, HeadRun, InputReport};
use super::spans::{Wanted, Window, distinct};
use super::{Model, Request};
use crate::error::{ErrorKind, Result, fail};
use crate::model::heads::Kind;
use crate::tokenizer::{Content, Encoded, Limit, OffsetMap, Truncation};

/// Tokens of an answer, of a window, and of what windows share, unless a request says otherwise: those of the reference.
const LONGEST_ANSWER: usize = 15;
pub(crate) const LONGEST_WINDOW: usize = 384;
const MOST_OVERLAP: usize = 128;

/// A part of a context.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The part, as it stands in the context.
    pub text: String,
    /// Where it begins, in the unit that the request asks for.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The probability that it starts there times the probability that it ends there, in the window where this is highest.
    pub score: f32,
    /// The sum of the two raw numbers in that window.
    pub logit: f32,
}

/// The answer for one context.
#[derive(Clone, Debug, PartialEq)]
pub struct Extracted {
    /// The best answers, best first, each place once; as many as the request's `top`, or one. Empty for a context without words or
    /// without an answer above the request's `no_answer_threshold`, and for one that was not finished.
    pub answers: Vec<Answer>,
    /// The probability that there is no answer: the smallest of all windows. 0 for a context that was not finished.
    pub no_answer_score: f32,
    /// The sum of the two raw numbers of no answer: the smallest of all windows.
    pub no_answer_logit: f32,
    /// What became of the context, with the question.
    pub report: InputReport,
}

/// The answer of [`Model::extract`].
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// One entry a context.
    pub contexts: Vec<Extracted>,
    /// How many contexts, counted from the first, are finished.
    pub finished: usize,
    /// `DeadlineExceeded` or `Cancelled` where the call stopped before the last context.
    pub stopped: Option<ErrorKind>,
}

impl Model {
    /// Finds the parts of each context that answer `question`. The answer for a context is the same, bit for bit, whatever the other
    /// contexts, their order and the number of threads.
    ///
    /// A deadline or a cancellation is no error: the answer then holds the contexts finished and says why it stopped.
    ///
    /// # Errors
    /// `InvalidArgument` for a model without the head, a question without words, or a request that cannot be served; `TooLong` for a
    /// question that leaves contexts no room, and under the truncation policy `error`; `NonFinite` when a score is not finite.
    pub fn extract<T: AsRef<str>>(&self, question: &str, contexts: &[T], request: &Request) -> Result<Answers> {
        let max_tokens = Some(request.max_tokens.unwrap_or(self.describe().max_tokens.min(LONGEST_WINDOW)));
        let run = HeadRun::of_tokens(self, &Request { max_tokens, ..request.clone() }, Kind::Extract)?;
        let reader = Reader::new(&run, question, request)?;
        let read = |i: usize| {
            let text = contexts[i].as_ref();
            let content = run.second(text)?;
            let encoded = reader.encode(&run, &content)?;
            let context = Context::new(text, &content, &encoded, &reader.limit);
            Ok((encoded, context))
        };
        let Finished { answers, reports, stopped } =
            run.each_of_tokens("context", contexts.len(), read, |context, packed, rows| reader.answers(context, packed, rows))?;
        let finished = answers.len();
        let mut found = answers.into_iter();
        let one = |report| Extracted { report, ..found.next().unwrap_or_else(Extracted::nothing) };
        Ok(Answers { contexts: reports.into_iter().map(one).collect(), finished, stopped })
    }
}

impl Extracted {
    fn nothing() -> Extracted {
        Extracted { answers: Vec::new(), no_answer_score: 0.0, no_answer_logit: 0.0, report: InputReport::default() }
    }
}

/// The question, and how its answers are looked for.
struct Reader<'r> {
    request: &'r Request,
    question: Content,
    limit: Limit,
}

/// A context, and where its tokens are among its rows.
struct Context<'t> {
    text: &'t str,
    /// For each of its tokens, where its word begins and ends.
    words: Vec<(usize, usize)>,
    /// For each window its first row that is the context's, how many are, and which token of the context the first of them is.
    windows: Vec<(usize, usize, usize)>,
}

impl<'r> Reader<'r> {
    fn new(run: &HeadRun<'_>, question: &str, request: &'r Request) -> Result<Reader<'r>> {
        let question = run.first(question).map_err(|e| e.within("the question"))?;
        if question.tokens() == 0 {
            return fail(ErrorKind::InvalidArgument, "the question has no words; ask something");
        }
        let mut limit = run.limit();
        let taken = question.tokens() + run.model.tokenizer().special_tokens(true);
        let Some(room) = limit.max_tokens.checked_sub(taken).filter(|room| *room > 0) else {
            let told = format!(
                "the question has {} tokens, and a limit of {} leaves contexts no room; shorten the question, or raise max_tokens",
                question.tokens(),
                limit.max_tokens
            );
            return fail(ErrorKind::TooLong, told);
        };
        if request.overlap.is_none() {
            // The reference's, but windows always move on by a quarter of what the question leaves.
            limit.overlap = (limit.max_tokens / 2).min(MOST_OVERLAP).min(room * 3 / 4);
        }
        Ok(Reader { request, question, limit })
    }

    fn encode(&self, run: &HeadRun<'_>, context: &Content) -> Result<Encoded> {
        let tokenizer = run.model.tokenizer();
        match self.limit.truncation {
            Truncation::Left | Truncation::Right => tokenizer.encode_cutting(1, [&self.question, context], &self.limit),
            Truncation::Error | Truncation::Window => tokenizer.encode_contents(&self.question, Some(context), &self.limit),
        }
    }

    fn answers(&self, context: &Context<'_>, packed: &PackedText, rows: &[f32]) -> Extracted {
        let mut windows = Vec::with_capacity(context.windows.len());
        let mut rest = rows;
        for ((at, tokens, first), length) in context.windows.iter().zip(&packed.window_tokens) {
            let (own, others) = rest.split_at(2 * length);
            windows.push(Window::new(own, *at, *tokens, *first));
            rest = others;
        }
        let null = windows.iter().map(Window::no_answer);
        let (no_score, no_logit) = null.fold((f64::INFINITY, f32::INFINITY), |least, one| (least.0.min(one.0), least.1.min(one.1)));
        let top = self.request.top.unwrap_or(1);
        let wanted = Wanted {
            longest: self.request.max_answer.unwrap_or(LONGEST_ANSWER),
            least: self.request.no_answer_threshold.map_or(f32::NEG_INFINITY, |threshold| no_logit - threshold),
            top,
            words: &context.words,
        };
        let spans = distinct(windows.iter().flat_map(|window| window.best(&wanted)).collect(), top);
        let map = OffsetMap::new(context.text, self.request.offsets);
        let answer = |span: super::spans::Span| {
            let text = context.text.get(span.place.0..span.place.1).unwrap_or_default().to_owned();
            let (start, end) = map.span(span.place);
            Answer { text, start, end, score: span.score as f32, logit: span.logit }
        };
        Extracted {
            answers: spans.into_iter().map(answer).collect(),
            no_answer_score: no_score as f32,
            no_answer_logit: no_logit,
            report: InputReport::default(),
        }
    }
}

impl<'t> Context<'t> {
    fn new(text: &'t str, content: &Content, encoded: &Encoded, limit: &Limit) -> Context<'t> {
        let window = |window: &crate::tokenizer::Sequence| {
            let own = |text: &&Option<u8>| **text == Some(1);
            let at = window.texts.iter().position(|text| own(&text)).unwrap_or(0);
            let tokens = window.texts.iter().filter(own).count();
            let first = if limit.truncation == Truncation::Left { content.tokens() - tokens } else { window.tokens_start };
            (at, tokens, first)
        };
        Context { text, words: words(content), windows: encoded.windows.iter().map(window).collect() }
    }
}

/// For each token, where its word begins and ends.
fn words(content: &Content) -> Vec<(usize, usize)> {
    let mut words: Vec<(usize, usize)> = content.offsets().to_vec();
    for token in 1..words.len() {
        if content.continues_word(token) {
            words[token].0 = words[token - 1].0;
        }
    }
    for token in (1..words.len()).rev() {
        if content.continues_word(token) {
            words[token - 1].1 = words[token].1;
        }
    }
    words
}
