//! Does the command line keep its word? The real binary, on a small committed model: forms, streams, errors, exit codes.
#![cfg(feature = "cli")]

#[cfg(feature = "train")]
#[path = "cli/corpus.rs"]
mod corpus;
#[path = "cli/heads.rs"]
mod heads;
#[path = "cli/store.rs"]
mod store;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use cloze::{Model, Options, Request};
use serde_json::Value;

/// 48 values a vector, length 1, at most 64 tokens.
fn model() -> String {
    path("tests/golden/models/tiny-gelu")
}

fn path(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name).to_str().unwrap().to_owned()
}

/// What a run of the command gave.
struct Done {
    code: i32,
    out: String,
    err: String,
}

impl Done {
    fn lines(&self) -> Vec<Value> {
        assert_eq!(self.code, 0, "{}", self.err);
        self.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
    }

    /// Failed with `code`, said `words` on standard error, and nothing on standard output.
    fn failed(&self, code: i32, words: &str) {
        self.failed_after(code, words, "");
    }

    /// The same, after it had printed `out`.
    fn failed_after(&self, code: i32, words: &str, out: &str) {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.out, self.err);
        assert!(self.err.contains(words), "{words:?} is missing from: {}", self.err);
        assert_eq!(self.out, out, "a failure must not leave half an answer");
    }
}

fn start(arguments: &[&str]) -> std::process::Child {
    Command::new(env!("CARGO_BIN_EXE_cloze"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

fn cloze(arguments: &[&str], input: impl AsRef<[u8]>) -> Done {
    let mut child = start(arguments);
    let mut stdin = child.stdin.take().unwrap();
    let input = input.as_ref().to_vec();
    // A command that fails early closes its standard input: no concern of the test.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let done = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    Done { code: done.status.code().expect("no signal ended it"), out: text(done.stdout), err: text(done.stderr) }
}

/// A command on the committed model.
fn on_model(command: &str, flags: &[&str], input: impl AsRef<[u8]>) -> Done {
    let model = model();
    cloze(&[&[command, "-m", &model], flags].concat(), input)
}

/// The f32 numbers of a JSON line, read as f32 from its text, as a careful client would.
fn floats(line: &str, key: &str) -> Vec<f32> {
    let start = line.find(&format!("\"{key}\":[")).unwrap() + key.len() + 3;
    let end = start + line[start..].find(']').unwrap();
    line[start + 1..end].split(',').map(|number| number.parse().unwrap()).collect()
}

fn library() -> Model {
    Model::load(model(), &Options::default()).unwrap()
}

const TEXTS: &[&str] = &[
    "How do I reset my password?",
    "",
    "   ",
    "naïve café, résumé",
    "İstanbul'da ı ve i",
    "天气很好，我们去公园。",
    "family: 👩\u{200d}👩\u{200d}👧\u{200d}👦 flag: 🇫🇷",
    "e\u{301}\u{323} combining",
    "\u{202e}right to left\u{202c} שלום",
    "[MASK] and [SEP] inside",
    "tab\there, nul\0there, replacement \u{fffd}",
    "\u{20000}\u{2a700} 𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
];

#[test]
fn encode_prints_the_fixed_form() {
    let done = on_model("encode", &["--json", "How do I reset my password?", "a text"], "");
    let first = done.out.lines().next().unwrap();
    let keys: Vec<_> = ["{\"index\":0,\"embedding\":[", "],\"tokens\":", ",\"truncated\":false}"].map(|part| first.find(part)).into();
    assert!(keys.iter().all(Option::is_some) && keys.is_sorted(), "{first}");
    assert_eq!(done.lines()[1]["index"], 1);
    assert_eq!(done.lines()[1]["embedding"].as_array().unwrap().len(), 48);
    assert_eq!(done.lines()[1].as_object().unwrap().len(), 4);
    assert_eq!(done.err, "");
}

#[test]
fn numbers_are_the_librarys_bit_for_bit() {
    let lines: String = TEXTS.iter().map(|t| serde_json::json!({"text": t}).to_string() + "\n").collect();
    let done = on_model("encode", &["--json"], lines);
    let expected = library().encode(TEXTS, &Request::default()).unwrap();
    for (line, (report, vector)) in
        done.out.lines().zip(expected.texts.iter().zip(expected.vectors.as_f32().unwrap().chunks(expected.dimensions)))
    {
        assert_eq!(
            floats(line, "embedding").iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
            vector.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        );
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["tokens"], report.tokens);
    }
    assert_eq!(done.lines().len(), TEXTS.len());
}

#[test]
fn arguments_lines_and_json_lines_give_the_same() {
    let texts = ["one text", "", "two words 天气"];
    let by_arguments = on_model("encode", &[&["--json"][..], &texts].concat(), "").out;
    let plain = |end: &str| cloze_without_json_input(&texts.join(end));
    assert_eq!(plain("\n"), readable(&texts));
    assert_eq!(plain("\r\n"), readable(&texts));
    let lines: String = texts.iter().map(|t| serde_json::json!({"text": t}).to_string() + "\r\n\n").collect();
    assert_eq!(on_model("encode", &["--json"], lines).out, by_arguments);
}

fn readable(texts: &[&str]) -> String {
    on_model("encode", texts, "").out
}

fn cloze_without_json_input(input: &str) -> String {
    on_model("encode", &[], input).out
}

#[test]
fn an_id_of_any_kind_comes_back() {
    let done = on_model(
        "encode",
        &["--json"],
        "{\"text\":\"a\",\"id\":{\"doc\":[7,\"x\"]}}\n{\"id\":\"é\",\"text\":\"b\"}\n{\"text\":\"c\",\"id\":null}\n",
    );
    let lines = done.lines();
    assert_eq!(lines[0]["id"], serde_json::json!({"doc": [7, "x"]}));
    assert_eq!(lines[1]["id"], "é");
    assert_eq!(lines[2].get("id"), None);
    let tokens = on_model("tokenize", &["--json"], "{\"text\":\"a\",\"id\":5}\n");
    assert_eq!(tokens.lines()[0]["id"], 5);
}

#[test]
fn an_id_comes_back_to_the_letter() {
    for id in ["12345678901234567890123", "1.0", "1.10", "1e400", "-0", "\"\\u00e9\\/\"", "{\"b\":1, \"a\":0.30000000000000000000001}"] {
        let line = format!("{{\"text\":\"a\",\"id\":{id}}}\n");
        for flags in [
            &["encode", "--json"][..],
            &["encode", "--json", "--similarity"],
            &["encode", "--json", "--query", "a"],
            &["tokenize", "--json"],
        ] {
            let done = on_model(flags[0], &flags[1..], &line);
            assert!(done.out.contains(&format!("\"id\":{id},")), "{flags:?} {id}: {}{}", done.out, done.err);
        }
    }
}

#[test]
fn a_switch_takes_no_value() {
    let switches = |words: &[&str]| on_model("encode", &[words, &["a"]].concat(), "");
    for words in [&["--normalize", "false"][..], &["--no-normalize", "true"], &["--normalize", "model"]] {
        switches(words).failed(2, "takes no value");
    }
    for words in [&["--normalize=true", "--no-normalize"][..], &["--normalize=false"], &["--normalize", "--no-normalize"]] {
        switches(words).failed(2, "normalize");
    }
    // Elsewhere the word is a text like any other.
    for words in [&["--json", "false", "--normalize"][..], &["--json", "--normalize", "--", "false"]] {
        assert_eq!(on_model("encode", words, "").lines().len(), 1, "{words:?}");
    }
}

#[test]
fn what_would_be_ignored_is_refused() {
    on_model("encode", &["--overlap", "8", "a"], "").failed(2, "truncation");
    on_model("tokenize", &["--overlap", "8", "--truncation", "left", "a"], "").failed(2, "overlap 8");
    on_model("encode", &["--vectors", "token", "--pooling", "cls", "a"], "").failed(2, "pooling cls");
    assert_eq!(on_model("encode", &["--truncation", "window", "--overlap", "8", "a"], "").code, 0);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads_or_the_texts_beside() {
    let lines: String = (0..600).map(|i| format!("{} number {i}\n", TEXTS[0])).collect();
    let json: String = lines.lines().map(|l| serde_json::json!({"text": l}).to_string() + "\n").collect();
    let one = on_model("encode", &["--json", "--threads", "1"], &json);
    assert_eq!(one.lines().len(), 600);
    assert_eq!(one.out, on_model("encode", &["--json", "--threads", "3"], &json).out);
    let last = on_model("encode", &["--json", lines.lines().last().unwrap()], "");
    assert_eq!(floats(last.out.lines().next().unwrap(), "embedding"), floats(one.out.lines().last().unwrap(), "embedding"));
}

#[test]
fn flags_change_what_they_name() {
    let length = |flags: &[&str]| {
        let done = on_model("encode", &[&["--json", "a text"], flags].concat(), "");
        let vector = floats(done.out.lines().next().unwrap(), "embedding");
        (vector.len(), vector.iter().map(|v| f64::from(v * v)).sum::<f64>().sqrt())
    };
    assert!((length(&["--normalize"]).1 - 1.0).abs() < 1e-6);
    assert!((length(&["--no-normalize"]).1 - 1.0).abs() > 1e-3);
    assert_eq!(length(&["--pooling", "cls+mean"]).0, 96);
    assert_eq!(length(&["--dimensions", "16"]).0, 16);
    assert_eq!(length(&["--layers", "concat:2"]).0, 96);
    assert_eq!(length(&["--layers", "-2"]).0, 48);
    let mean = on_model("encode", &["--json", "--pooling", "mean", "a text"], "").out;
    let cls = on_model("encode", &["--json", "--pooling", "cls", "a text"], "").out;
    assert_ne!(mean, cls);
    let prompted = on_model("encode", &["--json", "--prompt", "a ", "text"], "").out;
    assert_eq!(prompted, mean, "the prompt stands before the text");
}

#[test]
fn vectors_come_in_every_number_type() {
    let line = |flags: &[&str]| on_model("encode", &[&["--json", "a text"], flags].concat(), "").lines().remove(0);
    let int8 = line(&["--output", "int8"]);
    let scale = int8["scale"].as_f64().unwrap();
    let whole = line(&[]);
    for (q, v) in int8["embedding"].as_array().unwrap().iter().zip(whole["embedding"].as_array().unwrap()) {
        assert!((q.as_i64().unwrap() as f64 * scale - v.as_f64().unwrap()).abs() <= scale * 0.51);
    }
    let binary = line(&["--output", "binary"]);
    let bytes: Vec<u64> = binary["embedding"].as_array().unwrap().iter().map(|b| b.as_u64().unwrap()).collect();
    assert_eq!(bytes.len(), 6);
    assert_eq!(bytes[0] >> 7 == 1, whole["embedding"][0].as_f64().unwrap() > 0.0);
    let f16 = line(&["--output", "f16"]);
    assert!((f16["embedding"][0].as_f64().unwrap() - whole["embedding"][0].as_f64().unwrap()).abs() < 1e-3);
    let tokens = line(&["--vectors", "token", "--output", "int8"]);
    assert_eq!(tokens["embeddings"].as_array().unwrap().len(), tokens["tokens"].as_u64().unwrap() as usize);
    assert_eq!(tokens["scales"].as_array().unwrap().len(), tokens["tokens"].as_u64().unwrap() as usize);
    assert_eq!(tokens["embeddings"][0].as_array().unwrap().len(), 48);
}

#[test]
fn long_texts_are_cut_in_the_open_or_read_in_windows() {
    let long = vec!["word"; 300].join(" ");
    let cut = on_model("encode", &["--json", &long], "").lines().remove(0);
    assert_eq!((cut["tokens"].as_u64(), cut["truncated"].as_bool()), (Some(64), Some(true)));
    assert!(cut["total"].as_u64().unwrap() > 300);
    let windows = on_model("encode", &["--json", "--truncation", "window", &long], "").lines().remove(0);
    assert_eq!(windows["truncated"], false);
    assert!(windows["windows"].as_u64().unwrap() > 4 && windows["tokens"].as_u64() > windows["total"].as_u64());
    assert!(readable(&[&long]).contains("64 of "));
    on_model("encode", &["--truncation", "error", "short", &long], "").failed(1, "text 1");
}

#[test]
fn an_error_names_the_text_by_its_place_in_the_whole_input() {
    let mut lines = "short\n".repeat(700);
    lines.push_str(&vec!["word"; 300].join(" "));
    let done = on_model("encode", &["--truncation", "error"], lines);
    assert_eq!(done.code, 1);
    assert!(done.err.contains("text 700: "), "{}", done.err);
}

#[test]
fn tokenize_prints_the_fixed_form() {
    let done = on_model("tokenize", &["--json", "Hello 天气 👍"], "");
    let line = done.out.lines().next().unwrap();
    let keys: Vec<_> =
        ["{\"index\":0,\"ids\":[", "],\"tokens\":[", "],\"offsets\":[[", "]],\"type_ids\":[", "]}"].map(|p| line.find(p)).into();
    assert!(keys.iter().all(Option::is_some) && keys.is_sorted(), "{line}");
    let value = &done.lines()[0];
    let n = value["ids"].as_array().unwrap().len();
    for key in ["tokens", "offsets", "type_ids"] {
        assert_eq!(value[key].as_array().unwrap().len(), n, "{key}");
    }
    assert_eq!(value["tokens"][0], "[CLS]");
    assert_eq!(value["offsets"][0], serde_json::json!([0, 0]));
}

#[test]
fn offsets_count_in_the_unit_asked_for() {
    let last = |unit: &str| {
        let value = on_model("tokenize", &["--json", "--offsets", unit, "👍天 z"], "").lines().remove(0);
        let n = value["offsets"].as_array().unwrap().len();
        value["offsets"][n - 2].clone()
    };
    assert_eq!(last("codepoint"), serde_json::json!([3, 4]));
    assert_eq!(last("utf16"), serde_json::json!([4, 5]));
    assert_eq!(last("byte"), serde_json::json!([8, 9]));
}

#[test]
fn a_pair_is_the_second_segment() {
    let value = on_model("tokenize", &["--json"], "{\"text\":\"who?\",\"pair\":\"she did\"}\n").lines().remove(0);
    let types: Vec<u64> = value["type_ids"].as_array().unwrap().iter().map(|t| t.as_u64().unwrap()).collect();
    assert!(types.is_sorted() && types[0] == 0 && *types.last().unwrap() == 1, "{types:?}");
    on_model("encode", &["--json"], "{\"text\":\"a\"}\n{\"text\":\"who?\",\"pair\":\"she did\"}\n")
        .failed(1, "line 2: this command takes single texts");
    // A command names what it takes.
    for (command, takes_pair) in [("encode", false), ("tokenize", true)] {
        assert_eq!(cloze(&[command, "--help"], "").out.contains("pair"), takes_pair, "{command} --help");
        let done = on_model(command, &["--json"], "{\"txt\":\"a\"}\n");
        assert_eq!(done.err.contains("pair"), takes_pair, "{}", done.err);
    }
}

#[test]
fn windows_are_one_line_each() {
    let long = vec!["word"; 300].join(" ");
    let lines = on_model("tokenize", &["--json", "--truncation", "window", "short", &long], "").lines();
    assert_eq!(lines[0].get("window"), None);
    let numbers: Vec<u64> = lines[1..].iter().map(|l| l["window"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    assert!(lines[1..].iter().all(|l| l["index"] == 1 && l["total"].as_u64().unwrap() > 300));
    let readable = on_model("tokenize", &["short text"], "").out;
    assert!(readable.starts_with("text 0: ") && readable.contains("[CLS]"), "{readable}");
}

#[test]
fn similarity_and_query_compare_texts() {
    let texts = ["the cat sleeps", "the dog barks", "the cat sleeps"];
    let rows = on_model("encode", &[&["--similarity", "--json"][..], &texts].concat(), "").lines();
    assert_eq!(rows[0]["similarities"][2], 1.0);
    assert_eq!(rows[0]["similarities"][1], rows[1]["similarities"][0]);
    let table = on_model("encode", &[&["--similarity"][..], &texts].concat(), "").out;
    assert!(table.contains("100") && table.contains("\n\nMost alike:\n"), "{table}");

    let input = "{\"text\":\"the dog barks\",\"id\":\"d\"}\n{\"text\":\"the cat sleeps\",\"id\":\"c\"}\n";
    let ranked = on_model("encode", &["--json", "--query", "the cat sleeps"], input).lines();
    assert_eq!((&ranked[0]["index"], &ranked[0]["rank"], &ranked[0]["id"]), (&1.into(), &0.into(), &"c".into()));
    assert!(ranked[0]["score"].as_f64().unwrap() > 0.9999 && ranked.len() == 2);
    let best = on_model("encode", &["--query", "the cat sleeps", "--top", "1", "a dog", "the cat sleeps"], "").out;
    assert!(best.contains("the cat sleeps") && !best.contains("a dog"), "{best}");
    on_model("encode", &["--query", "a", "--output", "int8", "b"], "").failed(2, "f32");
    on_model("encode", &["--query", "a", "--similarity", "b"], "").failed(2, "cannot be used");
}

#[test]
fn inspect_describes_files_and_model() {
    let value = on_model("inspect", &["--json"], "").lines().remove(0);
    assert_eq!(value["model"]["family"], "bert");
    assert_eq!(value["files"]["config.json"]["model_type"], "bert");
    assert_eq!(value["totals"]["tensors"].as_u64().unwrap() as usize, value["tensors"].as_array().unwrap().len());
    assert_eq!(value["totals"]["not_finite"], 0);
    assert!(value["tokenizer"].as_str().unwrap().contains("WordPiece"));
    let readable = on_model("inspect", &[], "").out;
    for part in ["bert", "pooling mean", "embeddings.word_embeddings.weight", "at most 64 tokens", "\n\nconfig.json\n"] {
        assert!(readable.contains(part), "{part} is missing from:\n{readable}");
    }
}

#[test]
fn inspect_shows_a_folder_that_does_not_open_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        std::fs::copy(PathBuf::from(model()).join(name), folder.path().join(name)).unwrap();
    }
    let mut config: Value = serde_json::from_slice(&std::fs::read(folder.path().join("config.json")).unwrap()).unwrap();
    config["hidden_act"] = "no_such_function".into();
    std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
    let here = folder.path().to_str().unwrap();
    let done = cloze(&["inspect", "-m", here], "");
    assert_eq!(done.code, 1);
    assert!(done.err.contains("no_such_function") && done.out.contains("word_embeddings"), "{}\n{}", done.err, done.out);
    let done = cloze(&["inspect", "-m", here, "--json"], "");
    let value: Value = serde_json::from_str(&done.out).unwrap();
    assert!(done.code == 1 && value["model"].is_null() && value["error"].as_str().unwrap().contains("no_such_function"));
    cloze(&["encode", "-m", here, "a text"], "").failed(1, "no_such_function");
}

#[test]
fn bench_prints_the_fixed_form() {
    let folder = tempfile::tempdir().unwrap();
    let file = |text: &str| {
        let path = folder.path().join("workload.json");
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let workload = file("{\"sequences\":[[2,7,3],[2,8,9,3]],\"peer_batch\":1}");
    let done = on_model("bench", &["--workload", &workload, "--threads", "1", "--precision", "f32", "--seconds", "0", "--json"], "");
    let value = &done.lines()[0];
    assert_eq!((&value["tokens"], &value["runs"]), (&7.into(), &5.into()));
    assert!(value["median_ms"].as_f64().unwrap() >= value["min_ms"].as_f64().unwrap());
    assert!(on_model("bench", &["--workload", &workload, "--seconds", "0"], "").out.contains("tokens/s"));
    for (text, words) in [
        ("{", "workload.json"),
        ("[1]", "expected {"),
        ("{\"sequences\":[[2,99999999,3]]}", "99999999"),
        ("{\"sequences\":[]}", "no token"),
    ] {
        let done = on_model("bench", &["--workload", &file(text), "--seconds", "0"], "");
        done.failed(1, words);
        assert!(!done.err.contains("struct"), "{}", done.err);
    }
    on_model("bench", &["--workload", "/no/such/file"], "").failed(1, "/no/such/file");
    // Without a file: 8 sequences, here of all 64 positions.
    let done = on_model("bench", &["--seconds", "0", "--json"], "");
    assert!(done.err.contains("8 sequences of 64 made-up"), "{}", done.err);
    assert_eq!(done.lines()[0]["tokens"], 512);
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let model = model();
    for arguments in [
        &["encode", "a text"][..],
        &["encode", "-m", &model, "--no-such-flag", "a"],
        &["encode", "-m", &model, "--threads", "0", "a"],
        &["encode", "-m", &model, "--pooling", "average", "a"],
        &["encode", "-m", &model, "--top", "3", "a"],
        &["tokenize", "-m", &model, "--pooling", "mean", "a"],
        &["bench"],
        &["no-such-command"],
        &[],
    ] {
        let done = cloze(arguments, "");
        done.failed(2, "");
        assert!(!done.err.is_empty(), "{arguments:?}");
    }
}

#[test]
fn help_and_version_are_answers() {
    assert_eq!(cloze(&["--version"], "").out, format!("cloze {}\n", env!("CARGO_PKG_VERSION")));
    let help = cloze(&["--help"], "");
    assert_eq!((help.code, &*help.err), (0, ""));
    for command in ["encode", "tokenize", "convert", "quantize", "verify", "inspect", "bench"] {
        assert!(help.out.contains(command));
        let help = cloze(&[command, "--help"], "");
        assert!(help.code == 0 && help.out.contains("Examples:"), "{command}");
    }
}

#[test]
fn failures_say_why_on_standard_error_only() {
    cloze(&["encode", "-m", "/no/such/model", "a"], "").failed(1, "/no/such/model");
    on_model("encode", &["--dimensions", "9999", "a"], "").failed(1, "9999");
    on_model("encode", &["--prompt-name", "nobody", "a"], "").failed(1, "nobody");
    on_model("encode", &["--max-tokens", "4096", "a"], "").failed(1, "4096");
    on_model("encode", &["--isa", "z80", "a"], "").failed(1, "z80");
    on_model("encode", &["--deadline-ms", "0", "a"], "").failed(1, "the deadline of 0 ms passed; no text is finished");
}

#[test]
fn a_bad_line_is_named() {
    on_model("encode", &[], b"good\nbad \xff\xfe\n").failed(1, "line 2");
    on_model("tokenize", &[], b"\xc3\x28\n").failed(1, "line 1");
    on_model("encode", &["--json"], "{\"text\":\"a\"}\n\n{\"text\":5}\n").failed(1, "line 3");
    on_model("encode", &["--json"], "{\"text\":\"a\"}\nnot json\n").failed(1, "line 2: not a JSON object");
    on_model("encode", &["--json"], "a plain text\n").failed(1, "without --json lines are plain texts");
    on_model("encode", &["--json"], "{\"text\":\"a\",\"pairs\":\"b\"}\n").failed(1, "pairs");
    on_model("encode", &["--json"], "{\"text\":\"\\ud800\"}\n").failed(1, "line 1");
}

#[test]
fn no_input_is_no_output() {
    for flags in [&[][..], &["--json"]] {
        for command in ["encode", "tokenize"] {
            let done = on_model(command, flags, "");
            assert_eq!((done.code, &*done.out, &*done.err), (0, "", ""), "{command} {flags:?}");
        }
    }
    let empty = on_model("encode", &[], "\n\n");
    assert_eq!(empty.out.lines().count(), 2, "an empty line is an empty text");
}

#[test]
fn a_reader_that_leaves_ends_the_work_quietly() {
    let model = model();
    let mut child = start(&["encode", "-m", &model, "--json"]);
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || while stdin.write_all(b"{\"text\":\"a text\"}\n").is_ok() {});
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("{\"index\":0,"), "{line}");
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), &*err), (Some(0), ""));
    writer.join().unwrap();
}

#[test]
fn a_slow_stream_is_answered_as_it_comes() {
    let model = model();
    let mut child = start(&["tokenize", "-m", &model, "--json"]);
    let mut stdin = child.stdin.take().unwrap();
    let (answers, answer) = std::sync::mpsc::channel();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || stdout.lines().try_for_each(|line| answers.send(line.unwrap())));
    for index in 0..3 {
        stdin.write_all(b"{\"text\":\"a text\"}\n").unwrap();
        let line = answer.recv_timeout(std::time::Duration::from_secs(60)).expect("an answer while the input goes on");
        assert!(line.starts_with(&format!("{{\"index\":{index},")), "{line}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    reader.join().unwrap().unwrap();
}
