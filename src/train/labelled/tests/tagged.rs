//! Files of tagged words, as people write them and as they break.

use super::super::tagged::{Sentence, read, tag_numbers, tags_of};
use super::super::*;
use super::{settings, without_folder, written};

fn load(name: &str, bytes: impl AsRef<[u8]>, options: &[(&str, &str)], unlabelled: bool) -> Result<Loaded<Sentence>> {
    let file = written(name, bytes);
    read(&file.1, &ReadSettings { unlabelled, ..settings(options) }).map_err(|e| without_folder(&e, file.0.path()))
}

/// `word/tag word/tag @line` of each sentence.
fn told(loaded: &Loaded<Sentence>) -> Vec<String> {
    let one = |sentence: &Sentence| {
        let tag = |i: usize| sentence.tags.get(i).map_or("-", |tag| tag);
        let words: Vec<String> = sentence.words.iter().enumerate().map(|(i, word)| format!("{word}/{}", tag(i))).collect();
        format!("{} @{}", words.join(" "), sentence.place.line)
    };
    loaded.rows.iter().map(one).collect()
}

/// (name, content, options, sentences)
type Good<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a [&'a str]);

const GOOD: &[Good<'_>] = &[
    ("a.conll", "a\tO\nb\tB-X\n\nc\tO\n", &[], &["a/O b/B-X @1", "c/O @4"]),
    ("a.txt", "\u{feff}-DOCSTART- -X- O O\r\n\r\nEU NNP I-NP B-ORG\r\n. . O O\r\n\r\n", &[], &["EU/B-ORG ./O @3"]),
    ("a.conll", "New York\tB-LOC\n\u{a0}x\tO\n \t \nb\tO", &[], &["New York/B-LOC x/O @1", "b/O @4"]),
    ("a.conll", "a  b   O\n", &[("label", "3")], &["a/O @1"]),
    ("a.conll", "1\ta\tNN\tO\n2\tb\tNN\tB\n", &[("text", "2"), ("label", "4")], &["a/O b/B @1"]),
    ("a.tsv", "id\tword\tner\n1\ta\tO\n\n2\tb\tB\n", &[("text", "word"), ("label", "ner")], &["a/O @2", "b/B @4"]),
    ("a.conll", "a;O\nb;B\n", &[("delimiter", ";")], &["a/O b/B @1"]),
    ("a.conll", "a x O\nb B\n", &[("ragged", "true")], &["a/O b/B @1"]),
    (
        "a.jsonl",
        "{\"id\":7,\"tokens\":[\"a\",\"b\"],\"ner_tags\":[0,3]}\n{\"tokens\":[\"c\"],\"ner_tags\":[\"O\"]}\n",
        &[],
        &["a/0 b/3 @1", "c/O @2"],
    ),
    ("a.jsonl", "{\"w\":[\"a\"],\"t\":[\"O\"]}\n", &[("text", "w"), ("label", "t")], &["a/O @1"]),
];

#[test]
fn tagged_words_are_read_as_people_write_them() {
    for (name, content, options, expected) in GOOD {
        let loaded = load(name, content, options, false).unwrap_or_else(|e| panic!("{content:?}: {e}"));
        assert_eq!(told(&loaded), *expected, "{content:?} {options:?}");
    }
    assert_eq!(told(&load("a.conll", "a\nb\n\nc\n", &[], true).unwrap()), ["a/- b/- @1", "c/- @4"]);
    assert_eq!(told(&load("a.jsonl", "{\"tokens\":[\"a\"]}\n", &[], true).unwrap()), ["a/- @1"]);
}

/// (name, content, options, what the error says)
type Hostile<'a> = (&'a str, &'a [u8], &'a [(&'a str, &'a str)], &'a str);

const HOSTILE: &[Hostile<'_>] = &[
    ("a.conll", b"", &[], "a.conll: there is no row in the file"),
    ("a.conll", b"\n-DOCSTART- O\n\n", &[], "a.conll: there is no row in the file"),
    ("a.conll", b"a\nb\n", &[], "a.conll, line 1: the line has one column"),
    ("a.conll", b"a\tO\n\nb\n", &[], "a.conll, line 3: the line has 1 columns, and the first one 2"),
    ("a.conll", b"a\tO\nb c\tx\tO\n", &[], "a.conll, line 2: the line has 3 columns"),
    ("a.conll", b"a\tO\nb\t\n", &[], "a.conll, line 2: the line has no tag in column 2"),
    ("a.conll", b"a\tO\n\tO\n", &[], "a.conll, line 2: the line has no word in column 1"),
    ("a.conll", b"a O\nb\n", &[("ragged", "true")], "a.conll, line 2: the line has a word and no tag"),
    ("a.conll", b"a\tO\nb\xff\tO\n", &[], "a.conll, line 2: the line is not UTF-8"),
    ("a.conll", b"a\tO\nb\0\tO\n", &[], "a.conll, line 2: the line has a NUL"),
    ("a.conll", b"a\tO\n", &[("label", "3")], "a.conll, line 1: there is no column 3; the line has 2"),
    ("a.conll", b"a\tO\n", &[("label", "ner")], "a.conll, line 1: there is no column \"ner\" in the first line: a, O"),
    ("a.csv", b"a,O\n", &[], "a.csv: csv has no words with tags; set `format` to one of conll, tsv, jsonl"),
    ("a.jsonl", b"{\"tokens\":[\"a\",\"b\"],\"tags\":[\"O\"]}\n", &[], "a.jsonl, line 1: there are 2 words and 1 tags"),
    ("a.jsonl", b"{\"tokens\":[],\"tags\":[]}\n", &[], "a.jsonl, line 1: the list of words is empty"),
    ("a.jsonl", b"{\"tokens\":\"a\",\"tags\":[\"O\"]}\n", &[], "a.jsonl, line 1: the text must be a list, not \"a\""),
    ("a.jsonl", b"{\"tokens\":[null],\"tags\":[\"O\"]}\n", &[], "a.jsonl, line 1: a word must be a string, not null"),
    ("a.jsonl", b"{\"tokens\":[\"a\"]}\n", &[], "a.jsonl, line 1: which field is the list of tags? there are tokens"),
];

#[test]
fn whatever_is_wrong_with_tagged_words_is_named_by_file_and_line() {
    for (name, content, options, expected) in HOSTILE {
        let content_told = String::from_utf8_lossy(content);
        let error = load(name, content, options, false).expect_err(&content_told);
        assert!(error.message().contains(expected), "{content_told:?} {options:?}: {error}");
    }
}

#[test]
fn a_bad_line_leaves_out_its_sentence_and_no_other() {
    let content = b"a\tO\nb\n c\tO\n\nd\tO\n\ne\xff\tO\nf\n\ng\tO\n";
    let loaded = load("a.conll", content, &[("bad_rows", "skip")], false).unwrap();
    assert_eq!(told(&loaded), ["d/O @5", "g/O @10"]);
    assert_eq!(loaded.skipped.iter().map(|bad| bad.place.line).collect::<Vec<_>>(), [2, 7]);
    let objects = "{\"tokens\":[\"a\"],\"tags\":[\"O\"]}\n{\"tokens\":[\"a\"],\"tags\":[]}\nx\n";
    let loaded = load("a.jsonl", objects, &[("bad_rows", "skip")], false).unwrap();
    assert_eq!((told(&loaded), loaded.skipped.len()), (vec!["a/O @1".to_owned()], 2));
}

#[test]
fn tags_have_numbers_and_unknown_ones_a_line() {
    let train = load("train.conll", "a\tO\nb\tB-X\n", &[], false).unwrap();
    let tags = tags_of(&train.rows).unwrap();
    assert_eq!(tags.names(), ["O", "B-X"]);
    let dev = load("dev.conll", "a\tB-X\n\nb\tO\nc\tI-X\n", &[], false).unwrap();
    assert_eq!(tag_numbers(&tags, &dev.rows[0]).unwrap(), [1]);
    let error = tag_numbers(&tags, &dev.rows[1]).unwrap_err();
    assert!(
        error.message().ends_with("dev.conll, line 4: the label \"I-X\" is none of those of the examples to learn from: O, B-X"),
        "{error}"
    );
    // What `datasets` writes are numbers of a list that is given elsewhere.
    let numbered = load("a.jsonl", "{\"tokens\":[\"a\",\"b\"],\"ner_tags\":[1,0]}\n", &[], false).unwrap();
    assert_eq!(tag_numbers(&ClassNames::given(["O", "B-X"]).unwrap(), &numbered.rows[0]).unwrap(), [1, 0]);
    assert!(tag_numbers(&ClassNames::given(["O"]).unwrap(), &numbered.rows[0]).is_err());
}
