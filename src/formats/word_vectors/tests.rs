//! What is read, and what is wrong with files that are not.

use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;

fn read(name: &str, bytes: &[u8]) -> Result<Option<WordVectors>> {
    open(name, bytes, bytes.len() as u64)
}

/// The words by their ids, and the table.
fn found(name: &str, bytes: &[u8]) -> (Vec<String>, Vec<f32>) {
    let words = read(name, bytes).unwrap().unwrap();
    let tokenizer: serde_json::Value = serde_json::from_slice(&words.files["tokenizer.json"]).unwrap();
    let mut all: Vec<(u64, String)> =
        tokenizer["model"]["vocab"].as_object().unwrap().iter().map(|(word, id)| (id.as_u64().unwrap(), word.clone())).collect();
    all.sort();
    (all.into_iter().map(|(_, word)| word).collect(), words.weights.get(TABLE).unwrap().to_f32())
}

fn error(name: &str, bytes: &[u8]) -> Error {
    read(name, bytes).unwrap_err()
}

fn binary(head: &str, rows: &[(&[u8], [f32; 2])], end: &str) -> Vec<u8> {
    let mut bytes = head.as_bytes().to_vec();
    for (word, numbers) in rows {
        bytes.extend_from_slice(word);
        bytes.push(b' ');
        numbers.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        bytes.extend_from_slice(end.as_bytes());
    }
    bytes
}

#[test]
fn every_form_is_found_by_what_is_in_the_file() {
    let words = (vec!["a".to_owned(), "b c".to_owned(), "[UNK]".to_owned()], vec![1.0, -2.5, 3.0, 4e-3, 0.0, 0.0]);
    let rows: &[(&[u8], [f32; 2])] = &[(b"a", [1.0, -2.5]), (b"b", [3.0, 4e-3])];
    for text in
        ["2 2\na 1 -2.5\nb c 3 4e-3\n", "2 2\r\na 1 -2.5\r\nb c 3 4e-3", "a 1 -2.5\nb c 3 .004\n", "a\t1\t-2.5 \nb c \t 3  4E-3 \n\n"]
    {
        for name in ["x", "x.txt", "x.vec", "x.bin"] {
            assert_eq!(found(name, text.as_bytes()), words, "{text:?}");
        }
    }
    for (name, end) in [("x.bin", ""), ("x", "\n"), ("x.txt", "")] {
        let (found, numbers) = found(name, &binary("2 2\n", rows, end));
        assert_eq!((found.join("|").as_str(), &numbers), ("a|b|[UNK]", &words.1));
    }
    // Numbers whose bytes are letters: the name decides.
    let letters = |name: &str| read(name, &binary("1 2\n", &[(b"a", [f32::from_le_bytes(*b"abcd"); 2])], ""));
    assert!(letters("x.bin").unwrap().is_some());
    assert!(letters("x.vec").unwrap_err().message().contains("line 2"));
}

#[test]
fn other_files_are_none() {
    let long = vec![b'x'; BUFFER + 10];
    for bytes in [
        &b""[..],
        b"\n",
        b"# Cloze\n\ntext",
        b"{\"model_type\":\"bert\"}",
        b"\x7fELF\x02\x01\x01\0\0\n",
        b"one two three\n",
        b"a 1\n",
        &long,
    ] {
        assert!(read("x", bytes).unwrap().is_none(), "{:?}", shown(bytes));
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line_or_word() {
    for (text, says) in [
        ("2 2\na 1 2\n", "promises 2 words, and the file ends behind 1"),
        ("1 2\na 1 2\nb 1 2\n", "line 3: the header promises 1 words"),
        ("2 2\na 1 2\nb 1 x\n", "line 3: the word \"b\": number 2 is \"x\""),
        ("2 2\na 1 2\nb 1\n", "line 3: 1 numbers behind the word, and 2 were expected"),
        ("2 2\na 1 2\nb 1 2 3\n", "line 3: 3 numbers behind the word, and 2 were expected"),
        ("2 2\na 1 2\n1 2\n", "line 3: 1 numbers"),
        ("2 2\na 1 2\n\nb 1 2\n", "line 3: empty"),
        ("2 2\na 1 2\nb nan 2\n", "line 3: the word \"b\": number 1 is \"nan\", not a finite number"),
        ("2 2\na 1 1e39\nb 1 2\n", "line 2: the word \"a\": number 2 is \"1e39\", not a finite number"),
        ("a 1 2\nb -inf 2\n", "line 2: the word \"b\": number 1 is \"-inf\""),
        ("a 1 2 3 4\nb 1 2 3\n", "line 2: 3 numbers behind the word, and 4 were expected"),
        ("a 1 2 x 4\nb 1 2 3 4\n", "line 1: the word \"a\": number 3 is \"x\""),
        ("0 2\n", "line 1 promises 0 words"),
        ("2 0\n", "of 0 numbers"),
        ("2 99999999\n", "expected at least one word, of 1 to 65536 numbers"),
        ("99999999999999999999999 2\na 1 2\n", "line 1 promises 99999999999999999999999 words"),
        ("10000000000 300\na 1 2\n", "bytes are too few"),
        ("18446744073709551615 65536\na 1 2\n", "bytes are too few"),
    ] {
        let e = error("x.txt", text.as_bytes());
        let kind = if text.contains("nan") || text.contains("inf") || text.contains("e39") {
            ErrorKind::NonFinite
        } else {
            ErrorKind::InvalidFile
        };
        assert!(e.kind() == kind && e.message().contains(says), "{text:?}: {e}");
    }
    let e = error("x.txt", b"2 2\na 1 2\n\xff\xfe 1 2\n");
    assert!(e.message().contains("line 3") && e.message().contains("not UTF-8"), "{e}");
}

#[test]
fn what_is_wrong_with_a_binary_file_is_named_with_the_word() {
    let two: &[(&[u8], [f32; 2])] = &[(b"a", [1.0, 2.0]), (b"b", [3.0, f32::NAN])];
    for (bytes, says) in [
        (binary("2 2\n", two, ""), "word 2: \"b\": number 2 is NaN"),
        (binary("3 2\n", &two[..1], "").into_iter().chain([b'b'; 30]).collect(), "the file ends in number 2"),
        (binary("2 2\n", &[two[0], (b"\xff", [1.0, 2.0])], ""), "word 2: \"\u{fffd}\" is not UTF-8"),
        (binary("1 2\n", &[two[0], two[0]], ""), "more bytes stand behind the 1 words"),
        (binary("900 2\n", &[two[0]], ""), "bytes are too few"),
        (binary("4 2\n", &[two[0]], "").into_iter().chain([b'b'; 5000]).collect(), "word 2: no space in 4096 bytes"),
    ] {
        let e = error("x.bin", &bytes);
        assert!(e.message().contains(says), "{says}: {e}");
    }
}

#[test]
fn files_that_are_packed_say_how_to_unpack_them() {
    for (magic, told) in REFUSED {
        let e = error("x", &[magic, &b" and more\n"[..]].concat());
        assert!(e.kind() == ErrorKind::Unsupported && e.message().contains(told), "{e}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_and_what_is_read_is_whole(
        head in "([0-9]{1,3} [0-9]{1,2}\n)?", body in proptest::collection::vec(any::<u8>(), 0..300), text in "([a-c ]{0,3}( [0-9.x-]{1,4}){0,4} ?\n){0,6}",
    ) {
        for bytes in [[head.as_bytes(), &body].concat(), [head.as_bytes(), text.as_bytes()].concat()] {
            if let Ok(Some(words)) = read("x", &bytes) {
                let table = words.weights.get(TABLE).unwrap();
                prop_assert!(table.to_f32().iter().all(|x| x.is_finite()));
                prop_assert!(table.rows() >= 2 && table.bytes().len() <= 4 * bytes.len() + 4 * table.row_len());
            }
        }
    }
}
