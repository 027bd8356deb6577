//! Does `cloze-train` make a vocabulary and shards that its neighbours open, and say what is wrong with files of text?

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::Done;

fn train(folder: &Path, arguments: &[&str]) -> Done {
    let done = Command::new(env!("CARGO_BIN_EXE_cloze-train")).args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    Done { code: done.status.code().expect("no signal ended it"), out: text(done.stdout), err: text(done.stderr) }
}

/// A folder with a text of two documents in `text.jsonl`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let document =
        |i: usize| json!({"text": format!("The river flows north. It is cold in winter {i}{i}. {}", "Nobody swims here. ".repeat(40))});
    let lines: String = (0..2).map(|i| document(i).to_string() + "\n").collect();
    std::fs::write(folder.path().join("text.jsonl"), lines).unwrap();
    folder
}

const VOCAB: &[&str] = &["vocab", "-o", "tokenizer", "--size", "120", "--form", "jsonl", "text.jsonl"];

#[test]
fn a_vocabulary_and_shards_are_made_the_same_on_any_number_of_threads() {
    let folder = folder();
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let mut seen: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for threads in ["1", "2"] {
        let made = train(folder.path(), &[VOCAB, &["--threads", threads, "--json", "--force"]].concat());
        let line: &Value = &made.lines()[0];
        assert!(line["documents"] == 2 && line["tokens"].as_u64() <= Some(120) && line["sentences"] == 84, "{line}");
        let out = format!("shards{threads}");
        let shards = ["shards", "-t", "tokenizer", "-o", &out, "--form", "jsonl", "text.jsonl", "--threads", threads, "--json"];
        let line = &train(folder.path(), &shards).lines()[0];
        assert!(line["sentences"] == 84 && line["documents"] == 2 && line["unknown"] == 0.0, "{line}");
        seen.push((bytes("tokenizer/tokenizer.json"), bytes(&format!("{out}/shard-00000.bin"))));
    }
    assert!(seen[0] == seen[1]);
    let vocab = String::from_utf8(bytes("tokenizer/vocab.txt")).unwrap();
    assert!(vocab.starts_with("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n") && vocab.contains("\nriver\n"), "{vocab}");
}

#[test]
fn what_was_made_is_told_to_people() {
    let folder = folder();
    std::fs::write(folder.path().join("empty"), "").unwrap();
    std::fs::write(folder.path().join("latin"), b"na\xefve\n").unwrap();
    let told = train(folder.path(), &["vocab", "-o", "t", "--size", "40", "--min-frequency", "1", "latin", "empty"]);
    assert!(told.code == 0 && told.out.starts_with("t: ") && told.out.contains("1 documents, 1 sentences, 1 words"), "{}", told.out);
    assert!(
        told.err.contains("warning: 1 sequences of bytes are not UTF-8 and became U+FFFD, the first in line 1 of latin"),
        "{}",
        told.err
    );
    assert!(told.err.contains("warning: 1 files have no text, the first is empty"), "{}", told.err);
}

#[test]
fn errors_name_the_file_and_leave_nothing_behind() {
    let folder = folder();
    let path = folder.path();
    std::fs::write(path.join("bad.jsonl"), "{\"text\":\"a b c\"}\n{\"body\":3}\n").unwrap();
    std::fs::write(path.join("blank"), "\n \n").unwrap();
    let vocab = |rest: &[&str]| train(path, &[&["vocab", "-o", "out"], rest].concat());
    vocab(&["--form", "jsonl", "bad.jsonl"]).failed(1, "bad.jsonl, line 2: the object has no field \"text\"; it has body");
    vocab(&["blank"]).failed(1, "there is no text in the 1 files, of which the first is blank");
    vocab(&["nowhere"]).failed(1, "nowhere: ");
    vocab(&["--size", "7", "--form", "jsonl", "text.jsonl"]).failed(1, "make it larger, or limit the alphabet");
    vocab(&["--kind", "letters", "text.jsonl"]).failed(2, "expected wordpiece, bpe or unigram");
    vocab(&[]).failed(2, "FILE");
    assert_eq!(train(path, VOCAB).code, 0);
    train(path, VOCAB).failed(1, "tokenizer exists");
    train(path, &["shards", "-t", "nowhere", "-o", "out", "text.jsonl"]).failed(1, "nowhere");
    train(path, &["shards", "-t", "tokenizer", "-o", "out", "blank"]).failed(1, "there is no text");
    train(path, &["shards", "-t", "tokenizer", "-o", "tokenizer", "text.jsonl"]).failed(1, "exists");
    let mut names: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["bad.jsonl", "blank", "text.jsonl", "tokenizer"]);
}
