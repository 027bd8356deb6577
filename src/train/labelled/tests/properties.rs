//! What holds for any file.

use std::path::Path;

use proptest::prelude::*;
use serde_json::json;

use super::super::*;
use super::{settings, written};

/// Characters that mean something somewhere, and some that do not.
const CHARACTERS: &str = "ab \t,\"\n\r\u{feff}é漢😀{}[]:;-0.'";

fn any_text(most: usize) -> impl Strategy<Value = String> {
    let characters: Vec<char> = CHARACTERS.chars().collect();
    prop::collection::vec(prop::sample::select(characters), 0..most).prop_map(String::from_iter)
}

/// Bytes of which many are characters that mean something, and some are no text.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => any_text(80).prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..80),
        2 => (any_text(40), any::<u8>(), any_text(40)).prop_map(|(a, byte, b)| [a.as_bytes(), &[byte], b.as_bytes()].concat()),
        1 => any_text(40).prop_map(|text| format!("text,label\n{text}").into_bytes()),
        1 => any_text(40).prop_map(|text| format!("{{\"data\":[{{\"paragraphs\":[{{\"context\":{text:?},\"qas\":[").into_bytes()),
    ]
}

/// Every reader of a file, by what it says went wrong.
fn errors(path: &Path, settings: &ReadSettings) -> Vec<crate::error::Error> {
    let found = [
        read(path, settings).err(),
        tagged::read(path, settings).err(),
        questions::read(path, settings).err(),
        choices::read(path, settings).err(),
        triplets::read(path, settings).err(),
        retrieval::judgements(path, settings).err(),
        retrieval::run(path, settings).err(),
        ClassNames::read(path).err(),
    ];
    found.into_iter().flatten().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_breaks_a_reader_and_every_error_names_it(bytes in any_bytes(), skip: bool, ragged: bool, by_number: bool) {
        for name in ["x.csv", "x.tsv", "x.jsonl", "x.json", "x.conll"] {
            let file = written(name, &bytes);
            let mut options = vec![("bad_rows", if skip { "skip" } else { "error" }), ("ragged", if ragged { "true" } else { "false" })];
            if by_number {
                options.extend([("text", "1"), ("label", "2")]);
            }
            for error in errors(&file.1, &settings(&options)) {
                prop_assert!(error.message().contains(name), "{}", error);
            }
        }
    }

    #[test]
    fn what_is_written_by_the_rules_is_read_again(rows in prop::collection::vec((any_text(12), any_text(12), "[a-c]{1,2}"), 1..6)) {
        // Carriage returns before a line end are dropped everywhere, and labels lose the space around them.
        let rows: Vec<_> = rows.into_iter().map(|(text, pair, label)| (text.replace('\r', ""), pair.replace('\r', ""), label)).collect();
        let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let csv: String = rows.iter().map(|(text, pair, label)| format!("{},{},{label}\r\n", quote(text), quote(pair))).collect();
        let object = |(text, pair, label): &(String, String, String)| json!({"text": text, "pair": pair, "label": label}).to_string() + "\n";
        for (name, content) in [("x.csv", format!("text,pair,label\n{csv}")), ("x.jsonl", rows.iter().map(object).collect())] {
            let file = written(name, content);
            let found = read(&file.1, &ReadSettings { header: Some(true), ..ReadSettings::default() }).unwrap().rows;
            let found: Vec<_> = found.into_iter().map(|row| (row.text, row.pair.unwrap(), row.target.unwrap().names()[0].clone())).collect();
            prop_assert_eq!(&found, &rows, "{}", name);
        }
    }
}
