//! Choices and triplets, as people write them and as they break.

use super::super::choices::{self, Choices};
use super::super::triplets::{self, Triplet};
use super::super::*;
use super::{settings, without_folder, written};

/// A reader of whole files.
type Reader<T> = fn(&Path, &ReadSettings) -> Result<Loaded<T>>;

fn load<T>(read: Reader<T>, name: &str, content: &str, options: &[(&str, &str)]) -> Result<Loaded<T>> {
    let file = written(name, content);
    read(&file.1, &settings(options)).map_err(|e| without_folder(&e, file.0.path()))
}

/// `first > second / second: right @line`.
fn told_choices(loaded: Loaded<Choices>) -> Vec<String> {
    let one = |row: Choices| format!("{} > {}: {:?} @{}", row.first, row.seconds.join(" / "), row.right.unwrap(), row.place.line);
    loaded.rows.into_iter().map(one).collect()
}

/// `anchor + positive - negative - negative @line`.
fn told_triplets(loaded: Loaded<Triplet>) -> Vec<String> {
    let negatives = |row: &Triplet| row.negatives.iter().map(|text| format!(" - {text}")).collect::<String>();
    loaded.rows.iter().map(|row| format!("{} + {}{} @{}", row.anchor, row.positive, negatives(row), row.place.line)).collect()
}

/// (name, content, options, rows)
type Good<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a [&'a str]);

#[test]
fn choices_are_read_as_people_write_them() {
    const GOOD: &[Good<'_>] = &[
        (
            "swag.csv",
            ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label\n0,v,1,\"A. He\",A.,He,gold,\"sits, down\",runs,eats,sings,2\n",
            &[("format", "swag")],
            &["A. > He sits, down / He runs / He eats / He sings: 2 @2"],
        ),
        ("a.jsonl", "{\"question\":\"q\",\"choices\":[\"x\",\"y\",\"z\"],\"answer\":\"C\"}\n", &[], &["q > x / y / z: 2 @1"]),
        (
            "a.jsonl",
            "{\"context\":\"q\",\"endings\":[\"x\",\"y\"],\"label\":1}\n{\"context\":\"r\",\"endings\":[\"x\",\"y\",\"z\"],\"label\":\"z\"}\n",
            &[],
            &["q > x / y: 1 @1", "r > x / y / z: 2 @2"],
        ),
        ("a.csv", "premise,choice1,choice2,label\np,x,y,0\n", &[], &["p > x / y: 0 @2"]),
        ("a.tsv", "p\tx\ty\t1\n", &[("text", "1"), ("choices", "2,3"), ("label", "4")], &["p > x / y: 1 @1"]),
    ];
    for (name, content, options, expected) in GOOD {
        let loaded = load(choices::read, name, content, options).unwrap_or_else(|e| panic!("{content:?}: {e}"));
        assert_eq!(told_choices(loaded), *expected, "{content:?}");
    }
}

/// (name, content, options, what the error says)
type Hostile<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str);

#[test]
fn whatever_is_wrong_with_choices_is_named() {
    const HOSTILE: &[Hostile<'_>] = &[
        ("a.csv", "text,label\nx,1\n", &[], "a.csv, line 1: which column has the choices? there are text, label; name it with `choices`"),
        ("a.csv", "text,choice0,choice1\nx,a,b\n", &[], "a.csv, line 1: which column has the label?"),
        ("a.csv", "text,choice0,choice1,label\nx,a,b,2\n", &[], "a.csv, line 2: the label \"2\" is none of the 2 choices"),
        ("a.csv", "text,choice0,choice1,label\nx,a,b,C\n", &[], "a.csv, line 2: the label \"C\" is none of the 2 choices"),
        ("a.csv", "text,choice0,choice1,label\nx,a,b,\n", &[], "a.csv, line 2: the row has no label in \"label\""),
        (
            "a.jsonl",
            "{\"text\":\"q\",\"choices\":[\"x\"],\"label\":0}\n",
            &[],
            "a.jsonl, line 1: there are 1 choices; there must be two or more",
        ),
        ("a.jsonl", "{\"text\":\"q\",\"choices\":[\"x\",2],\"label\":0}\n", &[], "a.jsonl, line 1: the choice must be a list of strings"),
        ("a.tsv", "", &[("format", "conll")], "conll has no choices"),
    ];
    for (name, content, options, expected) in HOSTILE {
        let error = load(choices::read, name, content, options).expect_err(content);
        assert!(error.message().contains(expected), "{content:?}: {error}");
    }
    let skipped = load(choices::read, "a.csv", "text,choice0,choice1,label\nx,a,b,9\ny,a,b,1\n", &[("bad_rows", "skip")]).unwrap();
    assert_eq!((skipped.rows.len(), skipped.skipped[0].place.line), (1, 2));
}

#[test]
fn triplets_are_read_as_people_write_them() {
    const GOOD: &[Good<'_>] = &[
        ("a.csv", "anchor,positive,negative\na,\"b,\",c\n", &[], &["a + b, - c @2"]),
        ("a.tsv", "query\tpositive\tnegative_1\tnegative_2\na\tb\tc\td\ne\tf\tg\t\n", &[], &["a + b - c - d @2", "e + f - g @3"]),
        ("a.tsv", "a\tb\n", &[("text", "1"), ("pair", "2")], &["a + b @1"]),
        ("a.tsv", "a\tb\tc\td\n", &[("text", "2"), ("pair", "1"), ("negatives", "3,4")], &["b + a - c - d @1"]),
        (
            "a.jsonl",
            "{\"query\":\"a\",\"pos\":[\"b\",\"c\"],\"neg\":[\"d\",\"e\"]}\n{\"query\":\"f\",\"pos\":\"g\",\"neg\":[]}\n",
            &[],
            &["a + b - d - e @1", "a + c - d - e @1", "f + g @2"],
        ),
    ];
    for (name, content, options, expected) in GOOD {
        let loaded = load(triplets::read, name, content, options).unwrap_or_else(|e| panic!("{content:?}: {e}"));
        assert_eq!(told_triplets(loaded), *expected, "{content:?}");
    }
    for (content, expected) in [
        ("{\"query\":\"a\"}\n", "line 1: which column is the text that belongs to it? there are query; name it with `pair`"),
        ("{\"query\":\"a\",\"pos\":[]}\n", "line 1: the row has no pair in \"pos\""),
        ("{\"query\":\"a\",\"pos\":[\"b\"],\"neg\":[3]}\n", "line 1: the negative must be a list of strings, not [3]"),
    ] {
        let error = load(triplets::read, "a.jsonl", content, &[]).expect_err(content);
        assert!(error.message().contains(expected), "{content:?}: {error}");
    }
}
