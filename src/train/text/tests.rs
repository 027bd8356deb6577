use std::io::Write;

use proptest::prelude::*;

use super::*;

/// What files hold, sentences as text and ends of documents as `|`.
fn read(files: &[(&str, &[u8])], settings: &TextSettings) -> Result<(String, TextReport, Vec<Input>)> {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let mut texts = Texts::open(&[folder.path().to_owned()], settings)?;
    let mut found = Vec::new();
    while let Some(part) = texts.next()? {
        found.push(match part {
            Part::Sentence(text) => text,
            Part::EndOfDocument => "|".to_owned(),
        });
    }
    Ok((found.join("/"), texts.report().clone(), texts.inputs().to_vec()))
}

fn form(form: TextForm) -> TextSettings {
    TextSettings { form, ..TextSettings::default() }
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn each_form_gives_sentences_and_documents() {
    let sentences: &[u8] = b"\n\nOne. Two.\n  three \n \t\n\nFour\n";
    assert_eq!(read(&[("a", sentences)], &form(TextForm::Sentences)).unwrap().0, "One. Two./three/|/Four/|");
    let documents: &[u8] = b"One. Two.\n\nThree";
    assert_eq!(read(&[("a", documents)], &form(TextForm::Documents)).unwrap().0, "One./Two./|/Three/|");
    let whole = TextSettings { split: false, ..form(TextForm::Documents) };
    assert_eq!(read(&[("a", documents)], &whole).unwrap().0, "One. Two./|/Three/|");
    let json = "{\"id\":1,\"text\":\"One.\\nTwo. \\n\\nThree\"}\n\n{\"text\":\" \"}\n{\"text\":\"\u{4f60}\u{597d}\u{3002}\u{8d70}\"}";
    assert_eq!(read(&[("a", json.as_bytes())], &form(TextForm::JsonLines)).unwrap().0, "One./Two./Three/|/你好。/走/|");
}

#[test]
fn a_document_ends_with_its_file_and_files_come_in_the_order_of_their_names() {
    let (found, report, inputs) =
        read(&[("b", b"two"), ("a", b"one\r\nand"), ("c", b""), (".d", b"hidden")], &form(TextForm::Sentences)).unwrap();
    assert_eq!(found, "one/and/|/two/|");
    assert_eq!((report.documents, report.sentences, report.empty.0), (2, 3, 1));
    assert!(report.warnings()[0].contains("1 files have no text") && report.warnings()[0].ends_with("/c"));
    let lengths: Vec<_> = inputs.iter().map(|input| input.bytes).collect();
    assert_eq!(lengths, [8, 3, 0]);
    assert_eq!(inputs[1].hash, xxhash_rust::xxh3::xxh3_64(b"two"));
}

#[test]
fn compressed_files_are_told_by_their_bytes_and_may_have_several_parts() {
    let text = "A sentence that is said again.\n".repeat(5000) + "\nEnd";
    let plain = read(&[("a", text.as_bytes())], &TextSettings::default()).unwrap().0;
    for compress in [gz, zst] {
        let (one, two) = text.split_at(1234);
        let both = [compress(one.as_bytes()), compress(two.as_bytes())].concat();
        let (found, _, inputs) = read(&[("a.txt", &both)], &TextSettings::default()).unwrap();
        assert!(found == plain);
        assert_eq!((inputs[0].bytes, inputs[0].hash), (both.len() as u64, xxhash_rust::xxh3::xxh3_64(&both)));
        for length in [both.len() - 1, both.len() / 2, 5] {
            let e = read(&[("cut", &both[..length])], &TextSettings::default()).unwrap_err();
            assert!(e.kind() == ErrorKind::Io && e.message().contains("/cut"), "{e}");
        }
        let mut damaged = both.clone();
        damaged[both.len() - 6] ^= 0x55;
        let e = read(&[("damaged", &damaged)], &TextSettings::default()).unwrap_err();
        assert!(e.kind() == ErrorKind::Io && e.message().contains("/damaged"), "{e}");
    }
}

#[test]
fn errors_name_the_file_and_the_line() {
    let cases: &[(&[u8], &str)] = &[
        (b"{\"text\":\"a\"}\n{\"text\":", "a.jsonl, line 2: the line is no JSON object: the file ends inside a value"),
        (b"{\"text\":\"a\"}\n[1]", "a.jsonl, line 2: the line is no JSON object"),
        (b"\n{\"body\":\"a\",\"id\":3}", "a.jsonl, line 2: the object has no field \"text\"; it has body, id"),
        (b"{\"text\":[\"a\"]}", "a.jsonl, line 1: the field \"text\" must be a string, not [\"a\"]"),
    ];
    for (bytes, told) in cases {
        let e = read(&[("a.jsonl", bytes)], &form(TextForm::JsonLines)).unwrap_err();
        assert!(e.kind() == ErrorKind::InvalidFile && e.message().contains(told), "{e}");
    }
}

#[test]
fn no_text_at_all_is_an_error() {
    for (files, told) in [(&[("a", &b" \n\n\t\n"[..]), ("b", b"")][..], "no text in the 2 files"), (&[], "a folder without files")] {
        let e = read(files, &TextSettings::default()).unwrap_err();
        assert!(e.message().contains(told), "{e}");
    }
    let missing = Texts::open(&[PathBuf::from("/nowhere/at all")], &TextSettings::default()).err().unwrap();
    assert!(missing.kind() == ErrorKind::Io && missing.message().contains("/nowhere/at all"), "{missing}");
}

#[test]
fn hostile_text_is_read_and_reported() {
    let (found, report, _) = read(&[("a", b"good\n\nb\xffd\nw\xfe")], &TextSettings::default()).unwrap();
    assert_eq!(found, "good/|/b\u{fffd}d/w\u{fffd}/|");
    assert!(report.warnings()[0].starts_with("2 sequences of bytes are not UTF-8 and became U+FFFD, the first in line 3 of "));

    for unit in ["word ", "x", "漢"] {
        let long = unit.repeat((10 << 20) / unit.len());
        for form in [form(TextForm::Sentences), form(TextForm::Documents), TextSettings { split: false, ..form(TextForm::Documents) }] {
            let (found, report, _) = read(&[("long", long.as_bytes())], &form).unwrap();
            assert_eq!((report.documents, report.cut), (1, 1));
            assert!(report.sentences >= 160, "{}", report.sentences);
            let letters = found.chars().filter(|c| !matches!(c, ' ' | '/' | '|')).count();
            assert_eq!(letters, long.chars().filter(|c| *c != ' ').count());
        }
        let json = format!("{{\"text\":\"{long}\"}}");
        assert!(read(&[("long", json.as_bytes())], &form(TextForm::JsonLines)).unwrap().1.sentences >= 160);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_text_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300), which in 0..3usize, split in any::<bool>()) {
        // `read` marks the ends of documents by it.
        let bytes: Vec<u8> = bytes.into_iter().filter(|byte| *byte != b'|').collect();
        let settings = TextSettings { split, ..form(TextForm::ALL[which].1) };
        if let Ok((found, report, inputs)) = read(&[("a", &bytes)], &settings) {
            prop_assert_eq!(found.matches("/|").count() as u64, report.documents);
            prop_assert!(report.sentences >= report.documents && inputs[0].bytes == bytes.len() as u64);
        }
    }

    #[test]
    fn no_letter_of_a_text_is_lost(text in "[a-zA-Z .!?。！？…\n\r\t\u{4e00}-\u{4e10}é\"”)]{0,200}", longest in 4usize..40) {
        let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        prop_assert_eq!(letters(&sentences(&text).collect::<String>()), letters(&text));
        let mut lines = Lines::new(text.as_bytes(), longest);
        let mut joined = String::new();
        while let Some(piece) = lines.next().unwrap() {
            prop_assert!(piece.text.len() <= longest && (piece.ends_line || !piece.text.is_empty()));
            joined += &piece.text;
        }
        prop_assert_eq!(letters(&joined), letters(&text));
        prop_assert_eq!(lines.replaced, 0);
    }
}
