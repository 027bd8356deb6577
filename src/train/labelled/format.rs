//! Which formats of texts with labels are there?
//!
//! Each is a row: how its records stand in the file, and which columns have what. GLUE's tasks are those of its own TSV files (Wang et al.,
//! GLUE: A Multi-Task Benchmark and Analysis Platform for Natural Language Understanding, 2018): tabs, no quoting, other columns in each.

use std::path::Path;

use super::records::Shape;
use super::settings::TargetKind;
use crate::error::{ErrorKind, Result, fail};

/// A format.
#[derive(Debug)]
pub struct Format {
    /// The word for it.
    pub name: &'static str,
    /// What it is, for people.
    pub about: &'static str,
    pub(super) shape: Shape,
    /// Columns of the text and of the second one of a pair (empty: none), by name or by number from 1; the first that is there counts.
    pub(super) texts: &'static [(&'static str, &'static str)],
    /// The same for the label, and for what rows are called.
    pub(super) labels: &'static [&'static str],
    pub(super) ids: &'static [&'static str],
    /// What its labels are; none: as the task says.
    pub kind: Option<TargetKind>,
    /// All its classes, in the order of their numbers; none: those that occur.
    pub classes: &'static [&'static str],
    /// Its files to learn from, to choose by, and without labels.
    pub files: Files,
}

/// Names of files in a folder of GLUE; empty for formats of one's own files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files {
    /// To learn from.
    pub train: &'static str,
    /// To choose by; MNLI has two.
    pub dev: &'static [&'static str],
    /// Without labels.
    pub test: &'static [&'static str],
}

const TABS: Shape = Shape::Cells { delimiter: '\t', quoted: false };
const COMMAS: Shape = Shape::Cells { delimiter: ',', quoted: true };

const NO_FILES: Files = Files { train: "", dev: &[], test: &[] };
const GLUE_FILES: Files = Files { train: "train.tsv", dev: &["dev.tsv"], test: &["test.tsv"] };

/// Names that columns of texts usually have.
const TEXTS: &[(&str, &str)] = &[
    ("text", "text_pair"),
    ("text", "pair"),
    ("sentence1", "sentence2"),
    ("text1", "text2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("query", "document"),
    ("query", "passage"),
    ("question", "sentence"),
    ("question", "context"),
    ("text", ""),
    ("sentence", ""),
    ("review", ""),
    ("content", ""),
    ("question", ""),
    ("query", ""),
];
const LABELS: &[&str] = &["label", "labels", "score", "class", "category", "target", "gold_label", "similarity"];
const IDS: &[&str] = &["id", "idx", "index", "guid"];

const GENERAL: Format =
    Format { name: "", about: "", shape: TABS, texts: TEXTS, labels: LABELS, ids: IDS, kind: None, classes: &[], files: NO_FILES };

const GLUE: Format = Format {
    texts: &[("sentence1", "sentence2")],
    labels: &["label"],
    ids: &["index"],
    kind: Some(TargetKind::Class),
    files: GLUE_FILES,
    ..GENERAL
};

const NO_YES: &[&str] = &["0", "1"];
const ENTAILED: &[&str] = &["entailment", "not_entailment"];

/// Every format.
pub static FORMATS: &[Format] = &[
    Format { name: "tsv", about: "tabs between cells, quotes are characters like others", ..GENERAL },
    Format { name: "csv", about: "commas between cells, which may be quoted", shape: COMMAS, ..GENERAL },
    Format { name: "jsonl", about: "a JSON object a line", shape: Shape::Objects, ..GENERAL },
    Format {
        name: "cola",
        about: "GLUE's acceptability: source, label, mark, sentence, without a header",
        texts: &[("sentence", ""), ("4", "")],
        labels: &["label", "2"],
        classes: NO_YES,
        ..GLUE
    },
    Format { name: "sst2", about: "GLUE's sentiment", texts: &[("sentence", "")], classes: NO_YES, ..GLUE },
    Format {
        name: "mrpc",
        about: "GLUE's paraphrases from news",
        texts: &[("#1 String", "#2 String")],
        labels: &["Quality"],
        classes: NO_YES,
        ..GLUE
    },
    Format {
        name: "qqp",
        about: "GLUE's questions from Quora",
        texts: &[("question1", "question2")],
        labels: &["is_duplicate"],
        ids: &["id"],
        classes: NO_YES,
        ..GLUE
    },
    Format { name: "stsb", about: "GLUE's similarity from 0 to 5", labels: &["score"], kind: Some(TargetKind::Number), ..GLUE },
    Format {
        name: "mnli",
        about: "GLUE's inference; its dev sets are matched and mismatched",
        labels: &["gold_label"],
        classes: &["contradiction", "entailment", "neutral"],
        files: Files {
            train: "train.tsv",
            dev: &["dev_matched.tsv", "dev_mismatched.tsv"],
            test: &["test_matched.tsv", "test_mismatched.tsv"],
        },
        ..GLUE
    },
    Format { name: "qnli", about: "GLUE's inference of answers", texts: &[("question", "sentence")], classes: ENTAILED, ..GLUE },
    Format { name: "rte", about: "GLUE's inference from news", classes: ENTAILED, ..GLUE },
    Format { name: "wnli", about: "GLUE's inference of pronouns", classes: NO_YES, ..GLUE },
    // What has readers of its own, and neither a text nor its label in a row.
    Format { name: "conll", about: "a word and its tag a line, an empty line between sentences", texts: &[], ..GENERAL },
    Format { name: "squad", about: "SQuAD's JSON: contexts, questions and answers", texts: &[], ..GENERAL },
    Format { name: "swag", about: "SWAG's CSV: a beginning and its endings", shape: COMMAS, texts: &[], ..GENERAL },
];

/// Endings of file names, and the format that they stand for.
const ENDINGS: &[(&str, &str)] =
    &[("tsv", "tsv"), ("tab", "tsv"), ("csv", "csv"), ("jsonl", "jsonl"), ("ndjson", "jsonl"), ("json", "jsonl"), ("conll", "conll")];

impl Format {
    /// The format of that name.
    pub fn named(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// The format that a file's name ends with, whether it is compressed or not.
    pub(super) fn of(path: &Path) -> Result<&'static Format> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let plain = [".gz", ".zst"].iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(&name);
        let ending = plain.rsplit_once('.').map_or("", |(_, ending)| ending);
        match ENDINGS.iter().find(|(known, _)| *known == ending).and_then(|(_, format)| Format::named(format)) {
            Some(format) => Ok(format),
            None => fail(
                ErrorKind::InvalidArgument,
                format!("{}: its name does not end with .tsv, .csv or .jsonl; say what it is with format", path.display()),
            ),
        }
    }

    /// Whether it has a class of that name, or says nothing of its classes.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.classes.is_empty() || self.classes.contains(&name)
    }

    /// Every name that a column of text may have here.
    pub(super) fn column_names(&self) -> impl Iterator<Item = &'static str> {
        let texts = self.texts.iter().flat_map(|(text, pair)| [*text, *pair]);
        texts.filter(|name| !name.is_empty() && name.parse::<usize>().is_err())
    }
}
