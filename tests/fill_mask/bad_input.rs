//! What happens with texts, candidates and checkpoints that cannot be filled?

use cloze::{ErrorKind, Model, Options, Request};
use serde_json::{Value, json};

use super::{golden, open, set};

fn says<T: std::fmt::Debug>(result: cloze::Result<T>, kind: ErrorKind, words: &[&str]) {
    let e = result.unwrap_err();
    assert_eq!(e.kind(), kind, "{e}");
    words.iter().for_each(|word| assert!(e.message().contains(word), "{word:?} is missing from: {e}"));
}

const NONE: &[&str] = &[];

#[test]
fn texts_without_a_blank_are_named() {
    let model = open("tied");
    says(model.fill_mask(&["a [MASK]", "no blank"], NONE, &Request::default()), ErrorKind::InvalidArgument, &["text 1", "[MASK]"]);
    says(model.fill_mask(&[""], NONE, &Request::default()), ErrorKind::InvalidArgument, &["text 0", "no blank"]);
    // The prompt's blanks are nobody's.
    says(model.fill_mask(&["a"], NONE, &set([("prompt", "[MASK] ")])), ErrorKind::InvalidArgument, &["no blank"]);
}

#[test]
fn candidates_that_are_not_one_token_are_named() {
    let model = open("tied");
    let ask = |candidate: &str| model.fill_mask(&["a [MASK]"], &["the", candidate], &Request::default());
    says(ask("foxes and dogs"), ErrorKind::InvalidArgument, &["foxes and dogs", "tokens here"]);
    says(ask(""), ErrorKind::InvalidArgument, &["no token"]);
    says(ask("\u{10ffff}"), ErrorKind::InvalidArgument, &["candidate"]);
}

#[test]
fn requests_that_would_be_ignored_are_refused() {
    let model = open("tied");
    for (name, value, word) in [
        ("windows", "max", "windows"),
        ("truncation", "window", "windows"),
        ("activation", "softmax", "activation"),
        ("top", "all", "at most 1000"),
    ] {
        let result = model.fill_mask(&["a [MASK]"], NONE, &set([(name, value)]));
        if name == "top" {
            // Fewer tokens than that: all of them.
            assert_eq!(result.unwrap().inputs[0].blanks[0].fills.len(), model.describe().vocabulary);
        } else {
            says(result, ErrorKind::InvalidArgument, &[word]);
        }
    }
    says(model.fill_mask(&["a [MASK]"], NONE, &set([("top", "1001")])), ErrorKind::InvalidArgument, &["at most 1000"]);
}

#[test]
fn blanks_that_are_cut_off_or_too_far_apart_are_errors() {
    let model = open("tied");
    let late = format!("{} [MASK]", "the fox ".repeat(200));
    says(model.fill_mask(&[&late], NONE, &set([("truncation", "right")])), ErrorKind::TooLong, &["1 of its 1 blanks"]);
    says(model.fill_mask(&[&late], NONE, &set([("truncation", "error")])), ErrorKind::TooLong, &["limit"]);
    assert!(model.fill_mask(&[&late], NONE, &set([("truncation", "left")])).unwrap().inputs[0].report.truncated);
    let apart = format!("[MASK] {late}");
    says(model.fill_mask(&[&apart], NONE, &Request::default()), ErrorKind::TooLong, &["text 0", "apart"]);
}

#[test]
fn a_model_without_the_head_is_refused_with_those_that_it_has() {
    let model = Model::load(golden("../models/tiny-gelu"), &Options::default()).unwrap();
    says(model.fill_mask(&["a [MASK]"], NONE, &Request::default()), ErrorKind::InvalidArgument, &["fill_mask", "none, only vectors"]);
    assert!(open("pretraining").describe().task_heads.iter().any(|head| head.name == "fill_mask" && head.outputs == 389));
}

/// A folder with a changed config.json, or changed names in its checkpoint (of the same length).
fn changed(name: &str, config: impl Fn(&mut Value), names: &[(&str, &str)]) -> cloze::Result<Model> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(golden(name)).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut bytes = std::fs::read(path).unwrap();
        if file == "config.json" {
            let mut value: Value = serde_json::from_slice(&bytes).unwrap();
            config(&mut value);
            bytes = serde_json::to_vec(&value).unwrap();
        }
        for (old, new) in names.iter().filter(|_| file == "model.safetensors") {
            assert_eq!(old.len(), new.len());
            let at = bytes.windows(old.len()).position(|w| w == old.as_bytes()).unwrap();
            bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
        }
        files.push((file, bytes));
    }
    Model::load_files(files, &Options::default())
}

#[test]
fn heads_that_lack_a_part_are_refused_when_opening() {
    let missing = changed("tied", |c| c["tie_word_embeddings"] = json!(false), &[]);
    says(missing, ErrorKind::InvalidTensor, &["cls.predictions.decoder.weight", "tie_word_embeddings"]);
    let no_bias = changed("tied", |_| {}, &[("cls.predictions.bias", "cls.predictions.biaz")]);
    says(no_bias, ErrorKind::InvalidTensor, &["cls.predictions.decoder.bias"]);
    let no_norm = changed("tied", |_| {}, &[("transform.LayerNorm.weight", "transform.LayerNorm.wejght")]);
    says(no_norm, ErrorKind::InvalidTensor, &["transform.LayerNorm.weight"]);
    let activation = changed("tied", |c| c["hidden_act"] = json!("no_such_function"), &[]);
    says(activation, ErrorKind::Unsupported, &["hidden_act"]);
}

/// The folder `tied` with a changed config.json, in which `change` has seen each tensor: its name, shape and bytes (f32).
fn rebuilt(config: impl Fn(&mut Value), change: impl Fn(&str, &mut Vec<usize>, &mut Vec<u8>)) -> Model {
    let read = |file: &str| std::fs::read(golden("tied").join(file)).unwrap();
    let checkpoint = read("model.safetensors");
    let length = u64::from_le_bytes(checkpoint[..8].try_into().unwrap()) as usize;
    let (head, data) = checkpoint[8..].split_at(length);
    let old: serde_json::Map<String, Value> = serde_json::from_slice(head).unwrap();
    let (mut head, mut all) = (serde_json::Map::new(), Vec::new());
    for (name, entry) in old.iter().filter(|(name, _)| *name != "__metadata__") {
        let numbers = |key: &str| -> Vec<usize> { serde_json::from_value(entry[key].clone()).unwrap() };
        let (mut shape, place) = (numbers("shape"), numbers("data_offsets"));
        let mut bytes = data[place[0]..place[1]].to_vec();
        change(name, &mut shape, &mut bytes);
        head.insert(name.clone(), json!({"dtype": "F32", "shape": shape, "data_offsets": [all.len(), all.len() + bytes.len()]}));
        all.extend(bytes);
    }
    let head = serde_json::to_vec(&head).unwrap();
    let mut value: Value = serde_json::from_slice(&read("config.json")).unwrap();
    config(&mut value);
    let files = vec![
        ("config.json".to_owned(), serde_json::to_vec(&value).unwrap()),
        ("model.safetensors".to_owned(), [&(head.len() as u64).to_le_bytes()[..], &head, &all].concat()),
        ("tokenizer.json".to_owned(), read("tokenizer.json")),
    ];
    Model::load_files(files, &Options::default()).unwrap()
}

#[test]
fn scores_that_are_no_numbers_name_their_text() {
    let fox = open("tied").tokenize(&[("fox", None)], &Request::default()).unwrap()[0].ids[1] as usize;
    let damage = |name: &str, _: &mut Vec<usize>, bytes: &mut Vec<u8>| {
        if name.ends_with("word_embeddings.weight") {
            bytes[fox * 48 * 4..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
        }
    };
    // The token is a row of the decoder, too: no text has an answer.
    let model = rebuilt(|_| {}, damage);
    says(model.fill_mask(&["a [MASK]"], NONE, &Request::default()), ErrorKind::NonFinite, &["text 0", "cloze inspect"]);
    says(model.attention("fox", None, &Request::default()), ErrorKind::NonFinite, &["cloze inspect"]);
}

#[test]
fn maps_that_would_fill_the_memory_are_refused_with_their_size() {
    let positions = 12_000;
    let longer = |name: &str, shape: &mut Vec<usize>, bytes: &mut Vec<u8>| {
        if name.ends_with("position_embeddings.weight") {
            shape[0] = positions;
            bytes.resize(positions * 48 * 4, 0);
        }
    };
    let model = rebuilt(|config| config["max_position_embeddings"] = json!(positions), longer);
    let request = set([("max_tokens", "12000")]);
    let e = model.attention(&"fox ".repeat(positions), None, &request).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::TooLong);
    assert!(e.message().contains("12000 tokens") && e.message().contains("take 4."), "{e}");
}
