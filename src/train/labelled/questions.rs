//! Which questions about which contexts have which answers?
//!
//! The JSON of SQuAD 1.1 and 2.0 (Rajpurkar et al., 2016 and 2018), in which XQuAD and CMRC 2018 are published, too; or JSON lines with `id`,
//! `context`, `question` and `answers` = `{"text": [...], "answer_start": [...]}`, as `datasets` writes it.
//!
//! Answers stand at code points of their context. Real files have wrong ones. Where the text stands in the context once, there is no doubt
//! which place is meant, and the answer moves there; otherwise it has no place and can be told but not learned. Both are listed.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::format::Format;
use super::records::{Shape, without_mark};
use super::settings::ReadSettings;
use super::table::{Cells, Table};
use crate::error::{Error, ErrorKind, Result, fail, json_message};
use crate::train::text::{open, unreadable};

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its text.
    pub text: String,
    /// Its bytes in the context; none where the file has them wrong and the text does not stand there once.
    pub bytes: Option<Range<usize>>,
}

/// A question about a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What the file calls it; no two questions are called the same.
    pub id: String,
    /// The question.
    pub text: String,
    /// Number of its context.
    pub context: usize,
    /// Its answers; none where the context has none, or the file has no answers at all.
    pub answers: Vec<Answer>,
}

/// An answer whose place is wrong in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// The question's name.
    pub id: String,
    /// The answer's text.
    pub text: String,
    /// Whether it moved to the one place where its text stands.
    pub moved: bool,
}

/// What a file of questions says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Questions {
    /// Every context once, in the file's order.
    pub contexts: Vec<Arc<str>>,
    /// The questions, in their order.
    pub questions: Vec<Question>,
    /// Answers whose places are wrong.
    pub misplaced: Vec<Misplaced>,
    /// Questions that were left out: their names and what is wrong.
    pub skipped: Vec<(String, String)>,
}

/// Reads a file of questions whole.
///
/// # Errors
/// `Io`; `InvalidFile` for what is no such file, and for a question that contradicts itself, unless such are left out: the message names the question.
pub fn read(path: &Path, settings: &ReadSettings) -> Result<Questions> {
    let mut made = Making { found: Questions::default(), ids: HashSet::new(), settings };
    let lines = match settings.format {
        Some(_) => settings.format_of(path, "questions", &["squad", "jsonl"])?.name == "jsonl",
        None => is_lines(path),
    };
    if lines { made.lines(path) } else { made.whole(path) }.map_err(|e| within(e, path))?;
    if made.found.questions.is_empty() {
        let told = made.found.skipped.first().map_or(String::new(), |(id, why)| format!("; {id}: {why}"));
        return fail(ErrorKind::InvalidFile, format!("{}: there is no question in the file{told}", path.display()));
    }
    Ok(made.found)
}

/// Names the file in an error that does not yet.
fn within(e: Error, path: &Path) -> Error {
    let told = path.display().to_string();
    if e.message().starts_with(&told) { e } else { e.within(told) }
}

/// SQuAD's files end with .json, so only .jsonl and .ndjson are lines.
fn is_lines(path: &Path) -> bool {
    let name = path.to_string_lossy().to_lowercase();
    Format::of(path).is_ok_and(|format| format.name == "jsonl") && (name.contains(".jsonl") || name.contains(".ndjson"))
}

/// SQuAD's layout, as far as it is read.
#[derive(Deserialize)]
struct File {
    data: Vec<Article>,
}

#[derive(Deserialize)]
struct Article {
    paragraphs: Vec<Paragraph>,
}

#[derive(Deserialize)]
struct Paragraph {
    context: String,
    qas: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    id: Value,
    question: String,
    #[serde(default)]
    answers: Vec<Given>,
    #[serde(default)]
    is_impossible: Option<bool>,
}

#[derive(Deserialize)]
struct Given {
    text: String,
    /// In code points; may be negative where it is unknown.
    answer_start: i64,
}

struct Making<'s> {
    found: Questions,
    ids: HashSet<String>,
    settings: &'s ReadSettings,
}

impl Making<'_> {
    fn whole(&mut self, path: &Path) -> Result<()> {
        let mut text = Vec::new();
        open::open(path).and_then(|(mut source, _)| source.read_to_end(&mut text)).map_err(|e| unreadable(path, None, &e))?;
        let file: File = serde_json::from_slice(without_mark(&text))
            .map_err(|e| Error::new(ErrorKind::InvalidFile, format!("the file is not laid out as SQuAD's: {}", json_message(&e))))?;
        for paragraph in file.data.into_iter().flat_map(|article| article.paragraphs) {
            self.found.contexts.push(Arc::from(paragraph.context));
            for asked in paragraph.qas {
                self.add(asked)?;
            }
        }
        Ok(())
    }

    fn lines(&mut self, path: &Path) -> Result<()> {
        const FIELDS: &[&str] = &["id", "context", "question", "answers", "is_impossible"];
        let mut table =
            Table::open(path, Shape::Objects, self.settings, &[], |head| Ok(FIELDS.iter().map(|name| (*name, head.find(name))).collect()))?;
        while let Some((context, asked)) = table.next(from_object)? {
            if self.found.contexts.last().is_none_or(|last| **last != *context) {
                self.found.contexts.push(Arc::from(context));
            }
            self.add(asked)?;
        }
        let skipped = table.skipped.into_iter().map(|skipped| (skipped.place.to_string(), skipped.why));
        self.found.skipped.extend(skipped);
        Ok(())
    }

    /// Adds a question about the last context.
    fn add(&mut self, asked: Asked) -> Result<()> {
        let id = match &asked.id {
            Value::String(id) => id.clone(),
            other => other.to_string(),
        };
        let wrong = if self.ids.contains(&id) {
            Some("another question is called the same")
        } else if asked.is_impossible == Some(true) && !asked.answers.is_empty() {
            Some("it has answers and says is_impossible")
        } else if asked.is_impossible != Some(true) && asked.answers.is_empty() && !self.settings.unlabelled {
            Some("it has no answers and does not say is_impossible")
        } else {
            None
        };
        match wrong {
            Some(told) if self.settings.skip_bad => self.found.skipped.push((id, told.to_owned())),
            Some(told) => return fail(ErrorKind::InvalidFile, format!("question {id:?}: {told}; to leave such out, set bad_rows = skip")),
            None => {
                self.ids.insert(id.clone());
                let context = self.found.contexts.len() - 1;
                let answers = asked.answers.into_iter().map(|given| self.place(&id, given)).collect();
                self.found.questions.push(Question { id, text: asked.question, context, answers });
            }
        }
        Ok(())
    }

    /// Finds an answer in the last context.
    fn place(&mut self, id: &str, given: Given) -> Answer {
        let context = self.found.contexts.last().map_or("", |context| context);
        let said = usize::try_from(given.answer_start).ok().and_then(|start| context.char_indices().nth(start));
        let stands = said.map(|(at, _)| at).filter(|at| !given.text.is_empty() && context[*at..].starts_with(&given.text));
        let mut places = context.match_indices(&given.text).map(|(at, _)| at);
        let only = match (places.next(), places.next()) {
            (Some(at), None) if stands.is_none() && !given.text.is_empty() => Some(at),
            _ => None,
        };
        if stands.is_none() {
            self.found.misplaced.push(Misplaced { id: id.to_owned(), text: given.text.clone(), moved: only.is_some() });
        }
        Answer { bytes: stands.or(only).map(|at| at..at + given.text.len()), text: given.text }
    }
}

/// A question in a line of its own, with its context.
fn from_object(mut cells: Cells<'_>) -> Result<(String, Asked)> {
    #[derive(Deserialize)]
    struct Lists {
        text: Vec<String>,
        answer_start: Vec<i64>,
    }
    let invalid = |e: serde_json::Error| Error::new(ErrorKind::InvalidFile, format!("the answers cannot be read: {}", json_message(&e)));
    let answers = match cells.value(3) {
        None => Vec::new(),
        Some(list @ Value::Array(_)) => serde_json::from_value::<Vec<Given>>(list).map_err(invalid)?,
        Some(other) => {
            let lists: Lists = serde_json::from_value(other).map_err(invalid)?;
            if lists.text.len() != lists.answer_start.len() {
                return fail(
                    ErrorKind::InvalidFile,
                    format!("there are {} answers and {} places", lists.text.len(), lists.answer_start.len()),
                );
            }
            lists.text.into_iter().zip(lists.answer_start).map(|(text, answer_start)| Given { text, answer_start }).collect()
        }
    };
    let is_impossible = cells.value(4).and_then(|value| value.as_bool());
    let Some(id) = cells.class(0)? else { return cells.missing(0) };
    // `datasets` drops is_impossible: a question without answers has none.
    let is_impossible = is_impossible.or(answers.is_empty().then_some(true));
    Ok((cells.needed_text(1)?, Asked { id: Value::String(id), question: cells.needed_text(2)?, answers, is_impossible }))
}
