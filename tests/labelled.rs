//! Are real files read row for row?
//!
//! Counts are those that Python found (`tests/golden/make/labelled.py`). The files are not part of the repository: without them in
//! ../shared/data the tests are skipped.
#![cfg(feature = "train")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cloze::train::labelled::{self, ReadSettings, Row, Target, TargetKind, questions, retrieval, tagged};
use serde_json::Value;

/// What Python found in the file of that name, and where it is; none without the files.
fn real(name: &str) -> Option<(PathBuf, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("../shared/data").join(name);
    if !path.exists() {
        println!("SKIPPED {name}: it is not in ../shared/data");
        return None;
    }
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(root.join("tests/golden/labelled/data.json")).unwrap()).unwrap();
    Some((path, golden["files"][name].clone()))
}

fn characters(rows: &[Row]) -> usize {
    rows.iter().map(|row| row.text.chars().count() + row.pair.as_ref().map_or(0, |pair| pair.chars().count())).sum()
}

fn counts<'a>(names: impl Iterator<Item = &'a str>) -> Value {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    serde_json::to_value(counts).unwrap()
}

#[test]
fn sst2_has_the_rows_and_labels_that_python_finds() {
    for name in ["sst2/train.tsv", "sst2/dev.tsv", "sst2/test.tsv"] {
        let Some((path, golden)) = real(name) else { continue };
        let mut as_glue = ReadSettings::default();
        as_glue.set("format", "sst2").unwrap();
        for settings in [as_glue, ReadSettings::default()] {
            let loaded = labelled::read(&path, &settings).unwrap();
            assert_eq!((loaded.rows.len(), loaded.skipped.len()), (golden["rows"].as_u64().unwrap() as usize, 0), "{name}");
            assert_eq!(characters(&loaded.rows), golden["characters"].as_u64().unwrap() as usize, "{name}");
            let names = loaded.rows.iter().flat_map(|row| row.target.as_ref().unwrap().names()).map(String::as_str);
            assert_eq!(counts(names), golden["labels"], "{name}");
        }
    }
}

#[test]
fn sts_b_has_the_rows_and_scores_that_python_finds() {
    for name in ["stsb/en-train.csv", "stsb/en-dev.csv", "stsb/en-test.csv"] {
        let Some((path, golden)) = real(name) else { continue };
        let mut settings = ReadSettings { kind: Some(TargetKind::Number), ..ReadSettings::default() };
        for (option, column) in [("text", "1"), ("pair", "2"), ("label", "3")] {
            settings.set(option, column).unwrap();
        }
        let rows = labelled::read(&path, &settings).unwrap().rows;
        assert_eq!(
            (rows.len(), characters(&rows)),
            (golden["rows"].as_u64().unwrap() as usize, golden["characters"].as_u64().unwrap() as usize)
        );
        let score = |row: &Row| match row.target {
            Some(Target::Number(score)) => score,
            _ => panic!("{} has no score", row.place),
        };
        assert!((rows.iter().map(score).sum::<f64>() - golden["sum"].as_f64().unwrap()).abs() < 1e-5, "{name}");
    }
}

#[test]
fn wnut17_has_the_words_and_tags_that_python_finds() {
    for name in ["wnut17/train.conll", "wnut17/dev.conll", "wnut17/test.conll"] {
        let Some((path, golden)) = real(name) else { continue };
        let sentences = tagged::read(&path, &ReadSettings::default()).unwrap().rows;
        assert_eq!(sentences.len(), golden["sentences"].as_u64().unwrap() as usize, "{name}");
        let words: Vec<&String> = sentences.iter().flat_map(|sentence| &sentence.words).collect();
        assert_eq!(words.len(), golden["rows"].as_u64().unwrap() as usize, "{name}");
        let characters: usize = words.iter().map(|word| word.chars().count()).sum();
        assert_eq!(characters, golden["characters"].as_u64().unwrap() as usize, "{name}");
        assert_eq!(counts(sentences.iter().flat_map(|sentence| &sentence.tags).map(String::as_str)), golden["labels"], "{name}");
    }
}

#[test]
fn questions_and_their_misplaced_answers_are_those_that_python_finds() {
    for name in ["xquad/xquad.en.json", "cmrc2018/trial.json"] {
        let Some((path, golden)) = real(name) else { continue };
        let found = questions::read(&path, &ReadSettings::default()).unwrap();
        let number = |field: &str| golden[field].as_u64().unwrap() as usize;
        assert_eq!((found.questions.len(), found.contexts.len()), (number("rows"), number("contexts")), "{name}");
        assert_eq!(found.questions.iter().map(|question| question.text.chars().count()).sum::<usize>(), number("characters"));
        assert_eq!(found.questions.iter().map(|question| question.answers.len()).sum::<usize>(), number("answers"));
        assert_eq!(found.misplaced.len(), number("wrong"), "{name}: {:?}", found.misplaced);
    }
}

#[test]
fn cranfield_has_the_documents_queries_and_judgements_that_python_finds() {
    let Some((path, golden)) = real("cranfield") else { return };
    let found = retrieval::open(&path, "", &ReadSettings::default()).unwrap();
    let number = |value: &Value| value.as_u64().unwrap() as usize;
    assert_eq!((found.documents.len(), found.queries.len()), (number(&golden["documents"]), number(&golden["queries"])));
    let grades: Vec<i64> = found.judgements.values().flat_map(|judged| judged.values().copied()).collect();
    assert_eq!(grades.len(), number(&golden["judgements"]));
    for (code, grade) in [("1", 4), ("2", 3), ("3", 2), ("4", 1), ("-1", 0)] {
        assert_eq!(grades.iter().filter(|found| **found == grade).count(), number(&golden["grades"][code]), "code {code}");
    }
    assert_eq!(found.documents.iter().filter(|document| document.text.is_empty()).count(), 2, "two documents have no text");
}
