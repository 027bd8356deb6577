//! Which documents are judged relevant to which queries?
//!
//! - TREC's files: judgements (`query iteration document grade`) and runs (`query Q0 document rank score name`), with spaces or tabs.
//! - BEIR's folders: `corpus.jsonl`, `queries.jsonl` and `qrels/SPLIT.tsv` (`query-id`, `corpus-id`, `score`).
//! - Cranfield's: `cran.all.1400`, `cran.qry`, `cranqrel`. Its judgements count queries from 1 as they stand in the file, whatever numbers the file gives
//!   them. Its codes run from 1 (a complete answer) to 4 (of minimum interest), so that a grade is 5 less the code; the code -1, which its readme does not
//!   explain, is grade 0.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::Skipped;
use super::records::{CheckedLines, MOST_CELLS, Shape};
use super::settings::ReadSettings;
use super::table::Table;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::train::metrics::retrieval::{Judgements, Run};

/// A document of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its name, by which it is judged.
    pub id: String,
    /// Its title, which may be empty.
    pub title: String,
    /// Its text.
    pub text: String,
}

impl Document {
    /// Title and text, as one; a text that begins with its title has it already.
    pub fn whole(&self) -> String {
        match self.text.starts_with(&self.title) {
            true => self.text.clone(),
            false => format!("{} {}", self.title, self.text),
        }
    }
}

/// A query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Its name, by which documents are judged.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// Documents, queries and what is judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Collection {
    /// The documents, in the file's order.
    pub documents: Vec<Document>,
    /// The queries that are judged, in the file's order.
    pub queries: Vec<Query>,
    /// The grade of each document for each query.
    pub judgements: Judgements,
    /// Rows that were left out.
    pub skipped: Vec<Skipped>,
}

/// Opens a folder of BEIR's, with the judgements of `split` (`test`, `dev`, `train`), or of Cranfield's, which has one.
///
/// # Errors
/// `Io`; `InvalidFile` for what cannot be read, for judgements of queries that are not there, and for documents or queries called the same.
pub fn open(folder: &Path, split: &str, settings: &ReadSettings) -> Result<Collection> {
    let mut skipped = Vec::new();
    let collection = if folder.join("cran.all.1400").exists() {
        cranfield(folder, settings, &mut skipped)?
    } else {
        let (corpus, queries) = (packed(folder, "corpus.jsonl")?, packed(folder, "queries.jsonl")?);
        let document = |[id, title, text]: [String; 3]| Document { id, title, text };
        let (judgements, bad) = judgements(&folder.join("qrels").join(format!("{split}.tsv")), settings)?;
        skipped.extend(bad);
        Collection {
            documents: beir(&corpus, settings, &mut skipped)?.into_iter().map(document).collect(),
            queries: beir(&queries, settings, &mut skipped)?.into_iter().map(|[id, _, text]| Query { id, text }).collect(),
            judgements,
            skipped: Vec::new(),
        }
    };
    let told = |e: Error| e.within(folder.display());
    only_once("document", collection.documents.iter().map(|document| &document.id)).map_err(told)?;
    only_once("query", collection.queries.iter().map(|query| &query.id)).map_err(told)?;
    let asked: HashSet<&String> = collection.queries.iter().map(|query| &query.id).collect();
    if let Some(query) = collection.judgements.keys().find(|query| !asked.contains(query)) {
        return fail(ErrorKind::InvalidFile, format!("query {query:?} is judged and not among the queries")).map_err(told);
    }
    let Collection { documents, mut queries, judgements, .. } = collection;
    queries.retain(|query| judgements.contains_key(&query.id));
    Ok(Collection { documents, queries, judgements, skipped })
}

/// The file of that name in a folder, compressed or not.
fn packed(folder: &Path, name: &str) -> Result<PathBuf> {
    let paths = ["", ".gz", ".zst"].map(|ending| folder.join(format!("{name}{ending}")));
    match paths.into_iter().find(|path| path.exists()) {
        Some(path) => Ok(path),
        None => fail(
            ErrorKind::Io,
            format!("{}: there is no {name}; a folder of BEIR's has corpus.jsonl, queries.jsonl and qrels", folder.display()),
        ),
    }
}

fn only_once<'n>(what: &str, names: impl Iterator<Item = &'n String>) -> Result<()> {
    let mut seen = HashSet::new();
    match names.into_iter().find(|name| !seen.insert(*name)) {
        Some(name) => fail(ErrorKind::InvalidFile, format!("there are two of {what} {name:?}")),
        None => Ok(()),
    }
}

/// Name, title and text of each row of a file of BEIR's.
fn beir(path: &Path, settings: &ReadSettings, skipped: &mut Vec<Skipped>) -> Result<Vec<[String; 3]>> {
    let names = [("id", "_id"), ("title", "title"), ("text", "text")];
    let mut table = Table::open(path, Shape::Objects, settings, &[], |head| {
        Ok(names.into_iter().map(|(word, name)| (word, head.find(name))).collect())
    })?;
    let mut rows = Vec::new();
    while let Some(row) = table.next(|mut cells| {
        let Some(id) = cells.class(0)? else { return cells.missing(0) };
        Ok([id, cells.text(1)?.unwrap_or_default(), cells.needed_text(2)?])
    })? {
        rows.push(row);
    }
    skipped.append(&mut table.skipped);
    Ok(rows)
}

// ---------------------------------------------------------------------------------------------------------------------
// Lines of cells

/// Hands the cells of each line to `add`, with the line's number.
fn each_line(path: &Path, settings: &ReadSettings, mut add: impl FnMut(&[&str], u64) -> Result<()>) -> Result<Vec<Skipped>> {
    let mut lines = CheckedLines::open(path)?;
    let mut skipped = Vec::new();
    while let Some((text, wrong)) = lines.next()? {
        let added = match wrong {
            Some(e) => Err(e),
            None if text.trim().is_empty() => continue,
            // Names may have spaces in them where there are tabs.
            None if text.contains('\t') => add(&text.split('\t').map(str::trim).take(MOST_CELLS).collect::<Vec<_>>(), lines.number()),
            None => add(&text.split_ascii_whitespace().take(MOST_CELLS).collect::<Vec<_>>(), lines.number()),
        };
        let place = lines.place(lines.number());
        match added {
            Ok(()) => {}
            Err(e) if settings.skip_bad => skipped.push(Skipped { place, why: e.message().to_owned() }),
            Err(e) => return Err(e.within(place)),
        }
    }
    Ok(skipped)
}

/// Reads judgements, and what was left out: four cells a line as TREC has them, three as BEIR (with a header) and Cranfield have them.
///
/// # Errors
/// `Io`; `InvalidFile` and `InvalidUtf8` for a bad line, unless such are left out, and for a document that is judged twice in different ways.
pub fn judgements(path: &Path, settings: &ReadSettings) -> Result<(Judgements, Vec<Skipped>)> {
    let mut found = Judgements::new();
    let skipped = each_line(path, settings, |cells, line| {
        let (query, document, grade) = match cells {
            [query, _, document, grade] | [query, document, grade] => (query, document, grade),
            _ => return fail(ErrorKind::InvalidFile, format!("a judgement has three or four cells, and this line {}", cells.len())),
        };
        if line == 1 && ["score", "relevance", "grade", "label"].contains(grade) {
            return Ok(());
        }
        let Ok(grade) = grade.parse::<i64>() else {
            return fail(ErrorKind::InvalidFile, format!("a grade is a whole number, not {grade:?}"));
        };
        match found.entry((*query).to_owned()).or_default().insert((*document).to_owned(), grade) {
            Some(before) if before != grade => fail(
                ErrorKind::InvalidFile,
                format!("document {document:?} is judged {grade} for query {query:?}, and {before} in a line before"),
            ),
            _ => Ok(()),
        }
    })?;
    if found.is_empty() {
        return fail(ErrorKind::InvalidFile, format!("{}: there is no judgement in the file", path.display()));
    }
    Ok((found, skipped))
}

/// Reads a run of TREC's, and what was left out. Ranks are not read: scores say the order.
///
/// # Errors
/// `Io`; `InvalidFile` and `InvalidUtf8` for a bad line, unless such are left out.
pub fn run(path: &Path, settings: &ReadSettings) -> Result<(Run, Vec<Skipped>)> {
    let mut found = Run::new();
    let skipped = each_line(path, settings, |cells, _| {
        let [query, _, document, _, score, ..] = cells else {
            return fail(ErrorKind::InvalidFile, format!("a line of a run has six cells, and this one {}", cells.len()));
        };
        let Some(score) = score.parse::<f32>().ok().filter(|score| score.is_finite()) else {
            return fail(ErrorKind::InvalidFile, format!("a score is a number, not {score:?}"));
        };
        found.entry((*query).to_owned()).or_default().push(((*document).to_owned(), score));
        Ok(())
    })?;
    if found.is_empty() {
        return fail(ErrorKind::InvalidFile, format!("{}: there is no ranking in the file", path.display()));
    }
    Ok((found, skipped))
}

// ---------------------------------------------------------------------------------------------------------------------
// Cranfield

fn cranfield(folder: &Path, settings: &ReadSettings, skipped: &mut Vec<Skipped>) -> Result<Collection> {
    let documents = sections(&folder.join("cran.all.1400"))?;
    let queries = sections(&folder.join("cran.qry"))?;
    let (mut judgements, bad) = judgements(&folder.join("cranqrel"), settings)?;
    skipped.extend(bad);
    for grade in judgements.values_mut().flat_map(|judged| judged.values_mut()) {
        *grade = if (1..=4).contains(grade) { 5 - *grade } else { 0 };
    }
    let document = |[id, title, text]: [String; 3]| Document { id, title, text };
    let query = |(number, [_, _, text]): (usize, [String; 3])| Query { id: (number + 1).to_string(), text };
    Ok(Collection {
        documents: documents.into_iter().map(document).collect(),
        queries: queries.into_iter().enumerate().map(query).collect(),
        judgements,
        skipped: Vec::new(),
    })
}

/// Number, title (.T) and text (.W) of each section, which begins with .I; lines are joined by spaces.
fn sections(path: &Path) -> Result<Vec<[String; 3]>> {
    let mut lines = CheckedLines::open(path)?;
    let mut found: Vec<[String; 3]> = Vec::new();
    let mut field = None;
    while let Some((text, wrong)) = lines.next()? {
        let bad = |told: &str| Error::new(ErrorKind::InvalidFile, told).within(lines.place(lines.number()));
        if let Some(e) = wrong {
            return Err(e.within(lines.place(lines.number())));
        }
        let mark = text.trim_end();
        if let Some(number) = mark.strip_prefix(".I ") {
            found.push([number.trim().to_owned(), String::new(), String::new()]);
            field = None;
        } else if [".T", ".A", ".B", ".W"].contains(&mark) {
            field = [".T", ".W"].iter().position(|known| *known == mark).map(|place| place + 1);
        } else {
            let section = found.last_mut().ok_or_else(|| bad("a section begins with .I and its number"))?;
            if let Some(field) = field {
                let joined = &mut section[field];
                text.split_whitespace().for_each(|word| {
                    joined.push_str(if joined.is_empty() { "" } else { " " });
                    joined.push_str(word);
                });
            }
        }
    }
    if found.is_empty() { fail(ErrorKind::InvalidFile, format!("{}: there is no section in the file", path.display())) } else { Ok(found) }
}
