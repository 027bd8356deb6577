//! What is there to learn from, or to be tried on?

use std::path::Path;

use super::task::{Problem, Task};
use crate::error::{ErrorKind, Result, fail};
use crate::train::labelled::choices::{self, Choices};
use crate::train::labelled::questions::{self, Questions};
use crate::train::labelled::retrieval::{self, Collection};
use crate::train::labelled::tagged::{self, Sentence, tag_numbers, tags_of};
use crate::train::labelled::triplets::{self, Triplet};
use crate::train::labelled::{self, ClassNames, FORMATS, Loaded, ReadSettings, Row, Skipped, TargetKind};

/// Examples of a task, as their files say them.
pub enum Data {
    /// Texts or pairs with classes or numbers.
    Texts(Vec<Row>),
    /// Words with tags.
    Sentences(Vec<Sentence>),
    /// Questions about contexts.
    Questions(Questions),
    /// Beginnings and what may follow.
    Choices(Vec<Choices>),
    /// Texts that belong together, and texts that do not.
    Triplets(Vec<Triplet>),
    /// Documents, queries and which are relevant.
    Collection(Collection),
}

impl Data {
    /// Reads a file of a task, or a folder of documents and queries whose judgements are those of `split`; and what was left out or mended, for
    /// people.
    ///
    /// # Errors
    /// As reading a labelled file.
    pub fn read(task: &Task, path: &Path, split: &str, settings: &ReadSettings) -> Result<(Data, Vec<String>)> {
        let mut settings = settings.clone();
        if settings.format.is_none() {
            settings.format = task.form.and_then(|name| FORMATS.iter().find(|format| format.name == name));
        }
        match task.problem {
            Problem::Rank | Problem::Embed if path.is_dir() => {
                let collection = retrieval::open(path, split, &settings)?;
                let told = collection.skipped.iter().map(told).collect();
                Ok((Data::Collection(collection), told))
            }
            Problem::Tag => Ok(rows(tagged::read(path, &settings)?, Data::Sentences)),
            Problem::Choose => Ok(rows(choices::read(path, &settings)?, Data::Choices)),
            Problem::Extract => {
                let questions = questions::read(path, &settings)?;
                let told = left_out(path, &questions);
                Ok((Data::Questions(questions), told))
            }
            problem => {
                settings.kind = Some(match problem {
                    // Relations of two texts have names.
                    Problem::Embed => settings.kind.unwrap_or(TargetKind::Number),
                    Problem::Regress | Problem::Rank => TargetKind::Number,
                    Problem::MultiLabel => TargetKind::Classes,
                    _ => TargetKind::Class,
                });
                match labelled::read(path, &settings) {
                    // Without a label, texts that belong together, perhaps with some that do not.
                    Err(e) if problem == Problem::Embed && e.kind() == ErrorKind::InvalidArgument => {
                        Ok(rows(triplets::read(path, &settings).map_err(|_| e)?, Data::Triplets))
                    }
                    loaded => Ok(rows(loaded?, Data::Texts)),
                }
            }
        }
    }

    /// How many examples there are.
    pub fn len(&self) -> usize {
        match self {
            Data::Texts(rows) => rows.len(),
            Data::Sentences(sentences) => sentences.len(),
            Data::Questions(questions) => questions.questions.len(),
            Data::Choices(questions) => questions.len(),
            Data::Triplets(triplets) => triplets.len(),
            Data::Collection(collection) => collection.queries.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names of the relations that two texts have.
    pub(super) fn relations(&self) -> Result<Vec<String>> {
        match self {
            Data::Texts(rows) => Ok(ClassNames::of(rows)?.names().to_vec()),
            _ => fail(ErrorKind::InvalidArgument, "`vector_loss = relation` needs two texts and the name of their relation in each row"),
        }
    }

    /// The labels to tell apart, none where answers are no labels. Those of `held_out` must be among them.
    pub(super) fn labels(&self, problem: Problem, held_out: Option<&Data>) -> Result<Vec<String>> {
        if !matches!(problem, Problem::Classify | Problem::MultiLabel | Problem::Tag) {
            return Ok(Vec::new());
        }
        let names = match self {
            Data::Texts(rows) => ClassNames::of(rows)?,
            Data::Sentences(sentences) => tags_of(sentences)?,
            _ => return fail(ErrorKind::InvalidArgument, "these examples have no labels"),
        };
        if names.len() < 2 && problem != Problem::MultiLabel {
            let told = format!("all examples have the label {:?}: there is nothing to tell apart", names.names()[0]);
            return fail(ErrorKind::InvalidFile, told);
        }
        match held_out {
            Some(Data::Texts(rows)) => rows.iter().try_for_each(|row| names.numbers(row).map(|_| ()))?,
            Some(Data::Sentences(sentences)) => sentences.iter().try_for_each(|s| tag_numbers(&names, s).map(|_| ()))?,
            _ => {}
        }
        Ok(names.names().to_vec())
    }
}

/// What was read, and what was left out.
fn rows<T>(loaded: Loaded<T>, of: impl FnOnce(Vec<T>) -> Data) -> (Data, Vec<String>) {
    let left_out = loaded.skipped.iter().map(told).collect();
    (of(loaded.rows), left_out)
}

fn told(row: &Skipped) -> String {
    format!("{}: {}", row.place, row.why)
}

/// What is wrong with a file of questions, a line each.
fn left_out(path: &Path, questions: &Questions) -> Vec<String> {
    let skipped = questions.skipped.iter().map(|(id, why)| format!("{}: question {id}: {why}", path.display()));
    let misplaced = questions.misplaced.iter().map(|answer| {
        let done = if answer.moved { "it stands elsewhere once, and was moved" } else { "nothing is learned from it" };
        format!("{}: question {}: the answer {:?} is not where the file says: {done}", path.display(), answer.id, answer.text)
    });
    skipped.chain(misplaced).collect()
}
