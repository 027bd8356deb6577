//! Files of texts with labels, as people write them and as they break.

use std::path::Path;

use super::super::*;
use super::{settings, without_folder, written};
use crate::error::ErrorKind;

fn load(name: &str, bytes: impl AsRef<[u8]>, options: &[(&str, &str)]) -> Result<Loaded<Row>> {
    let file = written(name, bytes);
    // The folder's name is random and no part of what is asserted.
    read(&file.1, &settings(options)).map_err(|e| without_folder(&e, file.0.path()))
}

/// `text|pair|label` of each row, and its line.
fn told(loaded: &Loaded<Row>) -> Vec<String> {
    let target = |row: &Row| match &row.target {
        None => "-".to_owned(),
        Some(Target::Class(name)) => name.clone(),
        Some(Target::Number(number)) => number.to_string(),
        Some(Target::Classes(names)) => format!("{names:?}"),
    };
    let pair = |row: &Row| row.pair.as_ref().map(|pair| format!("|{pair}")).unwrap_or_default();
    loaded.rows.iter().map(|row| format!("{}{}|{} @{}", row.text, pair(row), target(row), row.place.line)).collect()
}

/// (name, content, options, rows)
type Good<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a [&'a str]);

const GOOD: &[Good<'_>] = &[
    ("a.tsv", "sentence\tlabel\na \"b\tpos\n\"c\"\tneg\n", &[], &["a \"b|pos @2", "\"c\"|neg @3"]),
    ("a.tsv", "\u{feff}sentence\tlabel\r\na\t1\r\n\r\n b \t 0 \r\n", &[], &["a|1 @2", " b |0 @4"]),
    ("a.tsv", "label\tpremise\thypothesis\tmore\nx\tp\th\tm", &[], &["p|h|x @2"]),
    ("a.tsv", "x\ty\n", &[("text", "1"), ("label", "2")], &["x|y @1"]),
    ("a.tsv", "good film\t1\nbad film\t0\n", &[("text", "1"), ("label", "2"), ("header", "false")], &["good film|1 @1", "bad film|0 @2"]),
    ("a.tsv", "w\tv\ngood film\t1\n", &[("text", "w"), ("label", "v")], &["good film|1 @2"]),
    ("a.tsv", "2\t1\ngood\tx\n", &[("header", "true"), ("text", "2"), ("label", "1")], &["good|x @2"]),
    ("a.tsv", "text\t\ttext\na\tb\tc\n", &[("text", "1"), ("label", "3")], &["a|c @2"]),
    ("a.tsv", "text\tlabel\n\t1\n \t2\n", &[], &["|1 @2", " |2 @3"]),
    (
        "a.csv",
        "text,label\n\"a, b\",1\n\"say \"\"hi\"\"\",0\n\"two\nlines\",1\nz,0",
        &[],
        &["a, b|1 @2", "say \"hi\"|0 @3", "two\nlines|1 @4", "z|0 @6"],
    ),
    ("a.csv", "text,label\r\n\"two\r\nlines\",\"1\"\r\n5\" disk,0\r\n", &[], &["two\nlines|1 @2", "5\" disk|0 @4"]),
    ("a.csv", "Text;Label\na,b;1\n", &[("delimiter", ";")], &["a,b|1 @2"]),
    ("a.txt", "text|label\na\t|1\n", &[("format", "tsv"), ("delimiter", "|")], &["a\t|1 @2"]),
    ("a.csv", "text,label\n\"a,1\n", &[("quoting", "none")], &["\"a|1 @2"]),
    ("a.tsv", "text\tlabel\n\"a\tb\"\t1\n", &[("quoting", "double")], &["a\tb|1 @2"]),
    ("a.jsonl", "{\"text\":\"a\",\"label\":1}\n\n{\"label\":\"x\",\"text\":\"\\u0000b\"}\n", &[], &["a|1 @1", "\u{0}b|x @3"]),
    ("a.jsonl", "{\"question\":\"q\",\"context\":\"c\",\"label\":true}\n", &[], &["q|c|true @1"]),
    (
        "a.jsonl",
        "{\"text\":\"a\",\"text_pair\":\"b\",\"label\":0}\n{\"text\":\"c\",\"text_pair\":null,\"label\":0}",
        &[],
        &["a|b|0 @1", "c|0 @2"],
    ),
    ("a.tsv", "a\tb\tc\td\nd\te\n", &[("ragged", "true"), ("text", "1"), ("label", "2")], &["a|b @1", "d|e @2"]),
    // GLUE: each by its own columns.
    (
        "t.tsv",
        "gj04\t1\t\tOur friends.\ngj04\t0\t*\tThe \"friends.\n",
        &[("format", "cola")],
        &["Our friends.|1 @1", "The \"friends.|0 @2"],
    ),
    ("t.tsv", "\u{feff}Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tA\tB\n", &[("format", "mrpc")], &["A|B|1 @2"]),
    ("t.tsv", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\t2\tA\tB\t0\n", &[("format", "qqp")], &["A|B|0 @2"]),
    ("t.tsv", "index\tgenre\tsentence1\tsentence2\tscore\n0\tx\tA\tB\t2.5\n", &[("format", "stsb")], &["A|B|2.5 @2"]),
    (
        "t.tsv",
        "index\tpromptID\tsentence1_parse\tsentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label\n0\tx\ty\tz\tA\tB\tneutral\tentailment\n",
        &[("format", "mnli")],
        &["A|B|entailment @2"],
    ),
    ("t.tsv", "index\tquestion\tsentence\tlabel\n0\tQ\tS\tentailment\n", &[("format", "qnli")], &["Q|S|entailment @2"]),
    ("t.tsv", "index\tsentence1\tsentence2\tlabel\n0\tA\tB\tnot_entailment\n", &[("format", "rte")], &["A|B|not_entailment @2"]),
    ("t.tsv", "index\tsentence1\tsentence2\tlabel\n0\tA\tB\t1\n", &[("format", "wnli")], &["A|B|1 @2"]),
];

#[test]
fn rows_are_read_as_people_write_them() {
    for (name, content, options, expected) in GOOD {
        let loaded = load(name, content, options).unwrap_or_else(|e| panic!("{content:?}: {e}"));
        assert_eq!(told(&loaded), *expected, "{content:?} {options:?}");
        assert_eq!(loaded.skipped, []);
    }
}

/// (name, content, options, what the error says)
type Hostile<'a> = (&'a str, &'a [u8], &'a [(&'a str, &'a str)], &'a str);

const HOSTILE: &[Hostile<'_>] = &[
    ("a.tsv", b"", &[], "a.tsv: there is no row in the file"),
    ("a.tsv", b"\n\n\r\n", &[], "a.tsv: there is no row"),
    ("a.tsv", b"text\tlabel\n", &[], "a.tsv: there is no row"),
    ("a.txt", b"text\tlabel\na\t1\n", &[], "a.txt: its name does not end with .tsv, .csv or .jsonl"),
    ("a.tsv", b"a\t1\nb\t0\n", &[], "a.tsv, line 1: which column is the text? there are 2 columns without a header"),
    ("a.tsv", b"text\tstars\na\t1\n", &[], "a.tsv, line 1: which column is the label? there are text, stars; name it with `label`"),
    ("a.tsv", b"text\tlabel\na\t1\n", &[("label", "stars")], "a.tsv, line 1: there is no column \"stars\"; there are text, label"),
    ("a.tsv", b"text\tlabel\na\t1\n", &[("label", "3")], "a.tsv, line 1: there is no column 3"),
    ("a.tsv", b"a\t1\n", &[("text", "1"), ("label", "x"), ("header", "false")], "there is no column \"x\", since there is no header"),
    ("a.tsv", b"text\ttext\tlabel\na\tb\t1\n", &[], "the columns 1 and 2 are both called \"text\""),
    ("a.tsv", b"text\tlabel\na\t1\nb\n", &[], "a.tsv, line 3: the row has 1 cells, and the first row 2"),
    ("a.tsv", b"text\tlabel\na\t1\nb\tc\t1\n", &[], "a.tsv, line 3: the row has 3 cells"),
    (
        "a.tsv",
        b"text\tlabel\na\tb\t1\nb\n",
        &[("ragged", "true")],
        "a.tsv, line 3: the row has 1 cells, and the one numbered 2 is asked for",
    ),
    ("a.tsv", b"text\tlabel\na\t\n", &[], "a.tsv, line 2: the row has no label in \"label\""),
    ("a.tsv", b"text\tlabel\na\xff\t1\n", &[], "a.tsv, line 2: the line is not UTF-8"),
    ("a.tsv", b"text\tlabel\na\0\t1\n", &[], "a.tsv, line 2: the line has a NUL"),
    ("a.csv", b"t\0e\0x\0t\0,\0l\0\n\0", &[], "a.csv, line 1: the line has a NUL"),
    ("a.csv", b"\xff\xfet\0e\0", &[], "a.csv, line 1: the line is not UTF-8"),
    ("a.csv", b"text,label\na,1\n\"b,0\nc,1\nd,0\n", &[], "a.csv, line 3: a quote that opens in this line never closes"),
    ("a.csv", b"text,label\n\"b\n\",\"\n", &[], "a.csv, line 3: a quote that opens"),
    ("a.csv", b"text,label\na,1\n\"b\"c,0\n", &[], "a.csv, line 3: cell 1 goes on behind its closing quote"),
    ("a.csv", b"text,label\na,1\n\"b\n\xff\",0\n", &[], "a.csv, line 3: the line is not UTF-8"),
    (
        "a.jsonl",
        b"{\"text\":\"a\",\"label\":1}\n{\"text\":\"b\"\n",
        &[],
        "a.jsonl, line 2: the line is no JSON object: the file ends inside an object",
    ),
    ("a.jsonl", b"[1]\n", &[], "a.jsonl, line 1: the line is no JSON object"),
    ("a.jsonl", b"{\"text\":\"a\",\"label\":1}\n{\"text\":3,\"label\":1}\n", &[], "a.jsonl, line 2: the text must be a string, not 3"),
    ("a.jsonl", b"{\"text\":\"a\",\"label\":1}\n{\"label\":1}\n", &[], "a.jsonl, line 2: the row has no text in \"text\""),
    ("a.jsonl", b"{\"text\":\"a\",\"label\":[1]}\n", &[], "a.jsonl, line 1: the label must be the name of a class, not [1]"),
    ("a.jsonl", b"{\"text\":\"a\",\"label\":1}\n", &[("delimiter", ";")], "`delimiter` and `quoting` are for tables"),
    ("t.tsv", b"sentence\tlabel\na\t2\n", &[("format", "sst2")], "t.tsv, line 2: the label must be one of 0, 1, not \"2\""),
    (
        "t.tsv",
        b"sentence\tlabel\na\t-\n",
        &[("format", "mnli")],
        "t.tsv, line 1: which column is the text? there are 2 columns without a header",
    ),
    (
        "a.tsv",
        b"pol\tbody\n1\ta\n0\tb\n1\tc\n0\td\n",
        &[("text", "2"), ("label", "1")],
        "a.tsv, line 1: the label \"pol\" occurs in the first row alone",
    ),
    ("a.tsv", b"a\tb\n", &[("pair", "1")], "name the first with text"),
];

#[test]
fn whatever_is_wrong_is_named_by_file_and_line() {
    for (name, content, options, expected) in HOSTILE {
        let content_told = String::from_utf8_lossy(content);
        let error = load(name, content, options).expect_err(&content_told);
        assert!(error.message().contains(expected), "{content_told:?} {options:?}: {error}");
    }
}

#[test]
fn bad_rows_are_left_out_and_listed_where_that_is_asked() {
    let content = b"text,label\na,1\nb\n\"c\"d,1\ne\xff,0\n\"f\n\xffg\",1\nh,\ni,0\n";
    let loaded = load("a.csv", content, &[("bad_rows", "skip")]).unwrap();
    assert_eq!(told(&loaded), ["a|1 @2", "i|0 @9"]);
    assert_eq!(loaded.skipped.iter().map(|bad| bad.place.line).collect::<Vec<_>>(), [3, 4, 5, 6, 8]);
    assert!(loaded.skipped[1].why.contains("closing quote"), "{:?}", loaded.skipped);
    // What no row can be read behind is an error all the same, and so are files without one good row.
    assert!(load("a.csv", "text,label\n\"a,1\nb,1\n", &[("bad_rows", "skip")]).unwrap_err().message().contains("line 2: a quote"));
    let none = load("a.csv", "text,label\na\nb\n", &[("bad_rows", "skip")]).unwrap_err();
    assert!(none.message().contains("no row can be read; line 2: the row has 1 cells"), "{none}");
    let objects = load("a.jsonl", "nothing\n{\"text\":\"a\",\"label\":\"b\"}\n[]\n", &[("bad_rows", "skip")]).unwrap();
    assert_eq!((told(&objects), objects.skipped.len()), (vec!["a|b @2".to_owned()], 2));
}

#[test]
fn labels_are_numbers_or_sets_where_the_task_says_so() {
    let of = |kind: TargetKind, name: &str, content: &str, options: &[(&str, &str)]| {
        let file = written(name, content);
        read(&file.1, &ReadSettings { kind: Some(kind), ..settings(options) })
    };
    let numbers = of(TargetKind::Number, "a.tsv", "text\tscore\na\t 2.50\nb\t-1e3\n", &[]).unwrap();
    assert_eq!(told(&numbers), ["a|2.5 @2", "b|-1000 @3"]);
    for wrong in ["nan", "inf", "", "2,5", "two"] {
        let error = of(TargetKind::Number, "a.tsv", &format!("text\tscore\na\t{wrong}\n"), &[]).unwrap_err();
        assert!(error.message().contains("line 2: the label must be a number"), "{wrong}: {error}");
    }
    let sets = of(TargetKind::Classes, "a.tsv", "text\tlabel\na\tx,y, x\nb\t\n", &[]).unwrap();
    assert_eq!(told(&sets), ["a|[\"x\", \"y\"] @2", "b|[] @3"]);
    let sets = of(TargetKind::Classes, "a.csv", "text,label\na,\"x, 1 | y\"\n", &[("label_delimiter", "|")]).unwrap();
    assert_eq!(told(&sets), ["a|[\"x, 1\", \"y\"] @2"]);
    let sets =
        of(TargetKind::Classes, "a.jsonl", "{\"text\":\"a\",\"labels\":[3,\"x\",3]}\n{\"text\":\"b\",\"labels\":[]}\n", &[]).unwrap();
    assert_eq!(told(&sets), ["a|[\"3\", \"x\"] @1", "b|[] @2"]);
    let error = of(TargetKind::Classes, "a.jsonl", "{\"text\":\"a\",\"labels\":[{}]}\n", &[]).unwrap_err();
    assert!(error.message().contains("line 1: the label must be a list of names, not [{}]"), "{error}");
    // A format that knows better is believed.
    assert!(
        of(TargetKind::Number, "a.tsv", "sentence\tlabel\na\t1\n", &[("format", "sst2")]).unwrap().rows[0]
            .target
            .iter()
            .any(|t| t.names() == ["1"])
    );
}

#[test]
fn files_to_predict_need_no_labels() {
    let of = |content: &str, options: &[(&str, &str)]| {
        let file = written("test.tsv", content);
        let loaded = read(&file.1, &ReadSettings { unlabelled: true, ..settings(options) }).unwrap();
        let ids: Vec<Option<String>> = loaded.rows.iter().map(|row| row.id.clone()).collect();
        (told(&loaded), ids, loaded.columns)
    };
    let (rows, ids, columns) = of("index\tsentence\n0\tA\n1\tB\n", &[("format", "cola")]);
    assert_eq!((rows, columns.as_str()), (vec!["A|- @2".to_owned(), "B|- @3".to_owned()], "text = sentence, id = index"));
    assert_eq!(ids, [Some("0".to_owned()), Some("1".to_owned())]);
    let (rows, _, columns) = of("index\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t1\t2\tA\tB\n", &[("format", "mrpc")]);
    assert_eq!((rows[0].as_str(), columns.as_str()), ("A|B|- @2", "text = #1 String, pair = #2 String, id = index"));
    assert_eq!(of("text\nA\n", &[]).0, ["A|- @2"]);
}

#[test]
fn long_lines_and_compressed_files_are_read() {
    let long = "long ".repeat(2 << 20);
    let loaded = load("a.tsv", format!("text\tlabel\n{long}\t1\nb\t0\n"), &[]).unwrap();
    assert_eq!((loaded.rows[0].text.len(), loaded.rows.len()), (long.len(), 2));
    for (name, separator) in [("a.tsv", "\t"), ("a.csv", ",")] {
        let line = separator.repeat(10 << 20);
        let error = load(name, format!("text{separator}label\na{separator}1\n{line}\n"), &[]).unwrap_err();
        assert!(error.message().contains(&format!("{name}, line 3: the row has more than 65536 cells")), "{error}");
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, b"text,label\n\"a,b\",1\n").unwrap();
    let mut packed = gzip.finish().unwrap();
    assert_eq!(told(&load("a.csv.gz", &packed, &[]).unwrap()), ["a,b|1 @2"]);
    packed.truncate(packed.len() - 9);
    assert_eq!(load("a.csv.gz", &packed, &[]).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(read(Path::new("/nowhere/a.csv"), &ReadSettings::default()).unwrap_err().kind(), ErrorKind::Io);
}

#[test]
fn classes_are_numbered_as_they_come_and_numbers_in_their_order() {
    let names = |names: &[&str]| ClassNames::found(names.iter().copied()).map(|found| found.names().to_vec());
    assert_eq!(names(&["pos", "neg", "pos", "10"]).unwrap(), ["pos", "neg", "10"]);
    assert_eq!(names(&["2", "10", "-1", "2"]).unwrap(), ["-1", "2", "10"]);
    assert_eq!(names(&["01", "0"]).unwrap(), ["01", "0"]);
    assert!(names(&[]).is_err());
    assert!(ClassNames::given(["a", "a"]).is_err() && ClassNames::given(["a", ""]).is_err() && ClassNames::given([""; 0]).is_err());
    let file = written("labels.txt", "\u{feff}b\r\n\r\na\r\n");
    assert_eq!(ClassNames::read(&file.1).unwrap().names(), ["b", "a"]);
}

#[test]
fn a_class_that_was_not_learned_is_named_by_file_and_line() {
    let train = load("train.tsv", "text\tlabel\na\tx\nb\ty\nc\tz\n", &[]).unwrap();
    let classes = ClassNames::of(&train.rows).unwrap();
    let dev = load("dev.tsv", "text\tlabel\na\ty\nb\tw\n", &[]).unwrap();
    assert_eq!(classes.numbers(&dev.rows[0]).unwrap(), [1], "classes may be absent from dev");
    let error = classes.numbers(&dev.rows[1]).unwrap_err();
    assert!(
        error.message().ends_with("dev.tsv, line 3: the label \"w\" is none of those of the examples to learn from: x, y, z"),
        "{error}"
    );
}

#[test]
fn the_words_for_formats_are_those_of_the_table() {
    let listed = ReadSettings::SETTINGS.iter().find(|row| row.name == "format").unwrap().values;
    let words: Vec<&str> = listed.split(", ").flat_map(|part| part.split(" or ")).skip(1).collect();
    assert_eq!(words, FORMATS.iter().map(|format| format.name).collect::<Vec<_>>());
    let mut settings = ReadSettings::default();
    for (name, value) in [("delimiter", ""), ("delimiter", "ab"), ("delimiter", "\""), ("text", ""), ("text", "0"), ("format", "xml")] {
        assert_eq!(settings.set(name, value).unwrap_err().kind(), ErrorKind::InvalidArgument, "{name} {value:?}");
    }
}
