//! From labelled rows to what a model reads: token ids, and what is right for them.

use std::cell::RefCell;
use std::ops::Range;

use super::FinetuneSettings;
use super::data::Data;
use super::examples::{Answer, Example, Text};
use super::task::Problem;
use crate::engine::lesson::UNLABELLED;
use crate::error::{ErrorKind, Result, fail};
use crate::tasks::LONGEST_WINDOW;
use crate::tokenizer::{Content, Limit, Sequence, Tokenizer, Truncation};
use crate::train::labelled::questions::Questions;
use crate::train::labelled::tagged::Sentence;
use crate::train::labelled::{Row, Target};

/// How rows are read.
pub(super) struct Reading<'a> {
    pub problem: Problem,
    /// In the order in which the model tells them apart.
    pub labels: &'a [String],
    pub tokenizer: &'a Tokenizer,
    pub limit: Limit,
    pub settings: &'a FinetuneSettings,
    /// Examples that the model cannot read, and why.
    pub left_out: RefCell<Vec<String>>,
}

/// The length of sequences: what the settings say, or the most that tokenizer and model take, `stated` where the model's files limit it further.
pub(super) fn limit(tokenizer: &Tokenizer, positions: usize, stated: Option<usize>, settings: &FinetuneSettings) -> Result<Limit> {
    let most = tokenizer.model_max_length().unwrap_or(usize::MAX).min(positions).min(stated.unwrap_or(usize::MAX));
    let max_tokens = settings.max_length.unwrap_or(most);
    if max_tokens > positions {
        let told = format!("`max_length = {max_tokens}`: the model has positions for {} tokens", positions);
        return fail(ErrorKind::InvalidArgument, told);
    }
    Ok(Limit { max_tokens, truncation: Truncation::Right, overlap: settings.overlap })
}

/// The examples of some data.
///
/// # Errors
/// `InvalidFile` naming file and line of a row that does not fit; as tokenizing.
pub(super) fn examples(data: &Data, reading: &Reading<'_>) -> Result<Vec<Example>> {
    match data {
        Data::Texts(rows) if matches!(reading.problem, Problem::Rank | Problem::Embed) => reading.pairs(rows),
        Data::Texts(rows) => rows.iter().map(|row| reading.text(row).map_err(|e| e.within(&row.place))).collect(),
        Data::Triplets(triplets) => reading.triplets(triplets),
        Data::Choices(questions) => reading.choices(questions),
        Data::Collection(collection) => reading.collection(collection),
        Data::Sentences(sentences) => {
            let read: Result<Vec<Vec<Example>>> = sentences.iter().map(|s| reading.tags(s).map_err(|e| e.within(&s.place))).collect();
            Ok(read?.into_iter().flatten().collect())
        }
        Data::Questions(questions) => reading.questions(questions),
    }
}

impl Reading<'_> {
    /// A text or a pair with its label.
    fn text(&self, row: &Row) -> Result<Example> {
        let encoded = self.tokenizer.encode(&row.text, row.pair.as_deref(), &self.limit)?;
        let sequences = encoded.windows.iter().map(Text::from).collect();
        let answer = match &row.target {
            Some(Target::Class(name)) => Answer::Class(self.number(name)?),
            Some(Target::Number(number)) if !(*number as f32).is_finite() => {
                return fail(ErrorKind::InvalidFile, format!("the number {number:e} does not fit 32 bits"));
            }
            Some(Target::Number(number)) => Answer::Numbers(vec![*number as f32]),
            Some(Target::Classes(names)) => {
                let mut answers = vec![0.0; self.labels.len()];
                for name in names {
                    answers[self.number(name)? as usize] = 1.0;
                }
                Answer::Numbers(answers)
            }
            None => return fail(ErrorKind::InvalidFile, "the row has no label"),
        };
        Ok(Example::new(sequences, answer))
    }

    /// The windows of a sentence. A word's tag is asked of its first token.
    fn tags(&self, sentence: &Sentence) -> Result<Vec<Example>> {
        let tags = sentence.tags.iter().map(|tag| self.number(tag)).collect::<Result<Vec<u32>>>()?;
        let words: Vec<&str> = sentence.words.iter().map(String::as_str).collect();
        let content = self.tokenizer.content_of_words(&words)?;
        let encoded =
            self.tokenizer.encode_contents(&content, None, &Limit { truncation: Truncation::Window, overlap: 0, ..self.limit })?;
        let asked = |token: usize| match content.word(token) {
            Some(word) if !content.continues_word(token) => tags[word],
            _ => UNLABELLED,
        };
        let example = |window: &Sequence| {
            let mut token = window.tokens_start;
            let mut tag = |special: &bool| {
                let tag = if *special { UNLABELLED } else { asked(token) };
                token += usize::from(!special);
                tag
            };
            let answer = Answer::Tags(window.special.iter().map(&mut tag).collect());
            Example::new(vec![Text::from(window)], answer)
        };
        Ok(encoded.windows.iter().map(example).collect())
    }

    /// The windows of questions about their contexts. Where a window does not hold the whole answer, there is none in it.
    fn questions(&self, questions: &Questions) -> Result<Vec<Example>> {
        let contexts = questions.contexts.iter().map(|context| self.tokenizer.content(context)).collect::<Result<Vec<Content>>>()?;
        let limit = Limit { truncation: Truncation::Window, max_tokens: self.limit.max_tokens.min(LONGEST_WINDOW), ..self.limit };
        let mut examples = Vec::new();
        for question in &questions.questions {
            let place = question.answers.iter().find_map(|answer| answer.bytes.clone());
            if place.is_none() && !question.answers.is_empty() {
                // It has an answer, and nobody knows where: there is nothing to learn.
                continue;
            }
            let text = self.tokenizer.content(&question.text)?;
            let encoded = self.tokenizer.encode_contents(&text, Some(&contexts[question.context]), &limit);
            let encoded = match encoded {
                Err(e) if e.kind() == ErrorKind::TooLong => {
                    self.left_out.borrow_mut().push(format!("question {}: {}", question.id, e.message()));
                    continue;
                }
                encoded => encoded.map_err(|e| e.within(format!("question {}", question.id)))?,
            };
            for window in &encoded.windows {
                let span = place.as_ref().and_then(|bytes| tokens_of(window, bytes)).unwrap_or([0, 0]);
                examples.push(Example::new(vec![Text::from(window)], Answer::Span(span)));
            }
        }
        Ok(examples)
    }

    pub(super) fn number(&self, name: &str) -> Result<u32> {
        match self.labels.iter().position(|label| label == name) {
            Some(number) => Ok(number as u32),
            None => fail(ErrorKind::InvalidFile, format!("the label {name:?} is none of {}", self.labels.join(", "))),
        }
    }
}

/// The number of a row; 1 where it has none: two texts that belong together.
pub(super) fn number(row: &Row) -> f64 {
    if let Some(Target::Number(number)) = &row.target { *number } else { 1.0 }
}

/// The first and the last token of a window that stand in these bytes of the second text, if the window has all of them.
fn tokens_of(window: &Sequence, bytes: &Range<usize>) -> Option<[usize; 2]> {
    let own = |token: &usize| window.texts[*token] == Some(1);
    let mut tokens = (0..window.ids.len()).filter(own);
    let (first, last) = (tokens.next()?, tokens.next_back()?);
    if window.offsets[first].0 > bytes.start || window.offsets[last].1 < bytes.end {
        return None;
    }
    let start = (first..=last).rev().find(|token| window.offsets[*token].0 <= bytes.start)?;
    let end = (first..=last).find(|token| window.offsets[*token].1 >= bytes.end)?;
    (start <= end).then_some([start, end])
}
