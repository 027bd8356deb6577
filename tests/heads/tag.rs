//! Does tag find the reference's entities, in texts and in words?

use std::path::{Path, PathBuf};

use cloze::{Entity, ErrorKind, Model, Options, Precision, Request, TagInput};
use serde::Deserialize;
use serde_json::{Value, json};

use super::bad_input::{changed, changed_to, damaged, says};
use super::{TOLERANCE, as_gguf, golden, set};

#[derive(Deserialize)]
struct Expected {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    set: std::collections::BTreeMap<String, String>,
    inputs: Vec<Input>,
    /// Label, start, end and score of each entity.
    answers: Vec<Vec<(String, usize, usize, f64)>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    Text(String),
    Words(Vec<String>),
}

fn folder(name: &str) -> PathBuf {
    golden("../entities").join(name)
}

fn open(name: &str) -> Model {
    Model::load(folder(name), &Options::default()).unwrap()
}

fn cases(folder: &Path) -> Vec<Case> {
    serde_json::from_slice::<Expected>(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap().cases
}

/// The worst error of a score; places and labels must be equal.
fn worst(model: &Model, cases: &[Case]) -> f64 {
    let mut worst = 0f64;
    for case in cases {
        let request = set(&case.set.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>());
        let words: Vec<Vec<&str>> =
            case.inputs.iter().map(|i| if let Input::Words(w) = i { w.iter().map(String::as_str).collect() } else { vec![] }).collect();
        let inputs: Vec<TagInput<'_>> = case
            .inputs
            .iter()
            .zip(&words)
            .map(|(input, words)| if let Input::Text(text) = input { TagInput::Text(text) } else { TagInput::Words(words) })
            .collect();
        let found = model.tag(&inputs, &request).unwrap();
        assert_eq!((found.finished, found.stopped, found.inputs.len()), (inputs.len(), None, inputs.len()));
        for ((got, want), input) in found.inputs.iter().zip(&case.answers).zip(&inputs) {
            let wanted: Vec<_> = want.iter().map(|e| (e.0.as_str(), e.1, e.2)).collect();
            assert_eq!(
                got.entities.iter().map(|e| (e.label.as_str(), e.start, e.end)).collect::<Vec<_>>(),
                wanted,
                "{input:?} {:?}",
                case.set
            );
            for (entity, want) in got.entities.iter().zip(want) {
                worst = worst.max((f64::from(entity.score) - want.3).abs());
                let text = match input {
                    TagInput::Words(words) => words.join(" "),
                    TagInput::Text(text) => (*text).to_owned(),
                };
                assert_eq!(entity.text, text.chars().skip(want.1).take(want.2 - want.1).collect::<String>());
            }
        }
    }
    worst
}

#[test]
fn tag_gives_the_reference_entities_from_a_folder_and_from_a_gguf_file() {
    for (name, least) in [("bio", 200), ("short", 200), ("plain", 200), ("crf", 200), ("replaced", 50)] {
        let cases = cases(&folder(name));
        assert!(cases.iter().flat_map(|c| &c.answers).map(Vec::len).sum::<usize>() > least, "{name}");
        for isa in ["avx512", "avx2", "portable"] {
            let Ok(model) = Model::load(folder(name), &Options { isa: Some(isa.into()), ..Options::default() }) else { continue };
            let error = worst(&model, &cases);
            println!("entities/{name:<11} {isa:<9} worst error {error:.1e}");
            assert!(error <= TOLERANCE, "{name} on {isa}: {error}");
        }
        let file = Model::load_files(as_gguf(&folder(name), false), &Options::default()).unwrap();
        assert!(worst(&file, &cases) <= TOLERANCE, "{name}");
    }
}

/// A folder of golden entities whose tagger has a name for everything, so that every token has an entity.
fn without_outside(name: &str, precision: Precision) -> Model {
    changed_to(&folder(name), &Options { precision, ..Options::default() }, name_all).unwrap()
}

fn name_all(file: &str, bytes: &mut Vec<u8>) {
    if file == "config.json" {
        let mut config: Value = serde_json::from_slice(bytes).unwrap();
        config["id2label"].as_object_mut().unwrap().values_mut().filter(|l| **l == "O").for_each(|l| *l = json!("NOTHING"));
        *bytes = serde_json::to_vec(&config).unwrap();
    }
}

#[test]
fn a_quantised_file_and_int8_give_near_probabilities_and_transitions_are_kept_whole() {
    let texts = ["NOUN only: the quick brown fox", "今天天气很好"];
    let tokens = |model: &Model| {
        let found = model.tag(&texts, &set(&[("aggregation", "none")])).unwrap();
        found.inputs.into_iter().flat_map(|i| i.entities).map(|e| (e.label, e.score)).collect::<Vec<_>>()
    };
    for name in ["bio", "crf"] {
        let wanted = tokens(&without_outside(name, Precision::F32));
        let got = tokens(&without_outside(name, Precision::Int8));
        let same = got.iter().zip(&wanted).filter(|(g, w)| g.0 == w.0 && (g.1 - w.1).abs() < 0.1).count();
        println!("entities/{name} int8: {same} of {} tokens have their label, with a probability near", wanted.len());
        assert!(got.len() == wanted.len() && same * 10 >= wanted.len() * 8, "{name}: {got:?} {wanted:?}");
        let quantised = Model::load_files(as_gguf(&folder(name), true), &Options::default()).unwrap();
        let (got, wanted) = (tokens(&quantised), tokens(&open(name)));
        let same = got.iter().zip(&wanted).filter(|(g, w)| g.0 == w.0 && (g.1 - w.1).abs() < 0.1).count();
        assert!(got.len() == wanted.len() && same * 10 >= wanted.len() * 8, "{name} q8_0: {got:?} {wanted:?}");
    }
    let file = &as_gguf(&folder("crf"), true)[0].1;
    let reader = cloze::formats::gguf::Reader::open(&cloze::quant::Bytes::owned(file.clone())).unwrap();
    for (name, tensor) in reader.tensors().filter(|(name, _)| name.contains("crf")) {
        assert_eq!(tensor.dtype().name(), "F32", "{name}");
    }
    assert_eq!(reader.tensors().filter(|(name, _)| name.starts_with("cloze.crf.")).count(), 3);
}

#[test]
fn places_are_those_of_the_original_text_in_every_unit() {
    let texts = [
        "funny “quotes” 😀 here",
        "天气很好 😀 我们去公园",
        "e\u{301}te\u{301} cafe\u{301} Ångström",
        "مرحبا بالعالم the answer 😀",
        "a\u{0}b 👩‍💻 c",
    ];
    for name in ["bio", "plain", "short", "crf"] {
        for (unit, aggregation) in ["byte", "utf16", "codepoint"].iter().flat_map(|u| ["none", "first", "average"].map(|a| (*u, a))) {
            let found = open_once(name).tag(&texts, &set(&[("offsets", unit), ("aggregation", aggregation)])).unwrap();
            for (text, input) in texts.iter().zip(&found.inputs) {
                for Entity { text: part, start, end, .. } in &input.entities {
                    let there = match unit {
                        "byte" => text[*start..*end].to_owned(),
                        "utf16" => String::from_utf16(&text.encode_utf16().collect::<Vec<_>>()[*start..*end]).unwrap(),
                        _ => text.chars().skip(*start).take(end - start).collect(),
                    };
                    assert_eq!(part, &there, "{unit} of {text}");
                    assert!(!part.is_empty());
                }
            }
        }
    }
}

/// The reference's own rule would begin no word at a decomposed letter, and put all of this into one. (The last mark of a word belongs
/// to no token, here as there.)
#[test]
fn words_begin_at_decomposed_letters_too() {
    let text = "cafe\u{301} e\u{301}te\u{301}";
    for name in ["plain", "bio", "crf"] {
        let model = without_outside(name, Precision::F32);
        let found = model.tag(&[text], &set(&[("aggregation", "first"), ("scheme", "single")])).unwrap();
        let words: Vec<_> = found.inputs[0].entities.iter().map(|e| (e.text.as_str(), e.start, e.end)).collect();
        assert_eq!(words, [("cafe", 0, 4), ("e\u{301}te", 6, 10)]);
    }
}

fn open_once(name: &str) -> Model {
    use std::collections::HashMap;
    use std::sync::{LazyLock, Mutex};
    static MODELS: LazyLock<Mutex<HashMap<String, Model>>> = LazyLock::new(Mutex::default);
    MODELS.lock().unwrap().entry(name.to_owned()).or_insert_with(|| open(name)).clone()
}

fn bits(entities: &[Entity]) -> Vec<(String, usize, usize, u32)> {
    entities.iter().map(|e| (e.label.clone(), e.start, e.end, e.score.to_bits())).collect()
}

#[test]
fn entities_are_the_same_bit_for_bit_in_any_batch_order_and_number_of_threads() {
    let texts: Vec<String> =
        cases(&folder("short"))[0].inputs.iter().filter_map(|i| if let Input::Text(t) = i { Some(t.clone()) } else { None }).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for (name, precision) in [("short", Precision::F32), ("short", Precision::Int8), ("crf", Precision::F32)] {
        let model = Model::load(folder(name), &Options { precision, ..Options::default() }).unwrap();
        let ask = |texts: &[&str], threads: &str| -> Vec<_> {
            let found = model.tag(texts, &set(&[("threads", threads), ("aggregation", "average")])).unwrap();
            found.inputs.iter().map(|i| bits(&i.entities)).collect()
        };
        let whole = ask(&texts, "1");
        let mut turned = ask(&texts.iter().rev().copied().collect::<Vec<_>>(), "4");
        turned.reverse();
        assert_eq!(turned, whole);
        for (i, text) in texts.iter().enumerate() {
            assert_eq!(ask(&[text], "2")[0], whole[i], "{text:?}");
        }
    }
}

#[test]
fn words_that_are_given_are_never_divided_and_are_counted() {
    let model = open("bio");
    let words: &[&str] = &["New-York", "unlearnable", "😀", "", "the"];
    for aggregation in ["first", "average", "max"] {
        let found = model.tag(&[words], &set(&[("aggregation", aggregation), ("scheme", "single")])).unwrap();
        let entities = &found.inputs[0].entities;
        for entity in entities {
            let range = entity.words.clone().unwrap();
            assert_eq!((range.len(), entity.text.as_str()), (1, words[range.start]));
        }
    }
    let text = model.tag(&["New-York"], &Request::default()).unwrap();
    assert!(text.inputs[0].entities.iter().all(|e| e.words.is_none()));
    let none: &[&str] = &[];
    assert!(model.tag(&[none], &Request::default()).unwrap().inputs[0].entities.is_empty());
}

/// The same model with other labels: where an entity begins and ends follows them.
#[test]
fn schemes_are_read_from_the_labels_or_as_asked() {
    let with_labels = |labels: [&str; 5]| {
        changed(&folder("bio"), |file, bytes| {
            if file == "config.json" {
                let mut config: Value = serde_json::from_slice(bytes).unwrap();
                config["id2label"] =
                    labels.iter().enumerate().map(|(i, l)| (i.to_string(), json!(l))).collect::<serde_json::Map<_, _>>().into();
                *bytes = serde_json::to_vec(&config).unwrap();
            }
        })
        .unwrap()
    };
    let text = "the quick brown fox jumps over the lazy dog and the river in the park of the old city";
    let (bio, bilou) = (with_labels(["O", "B-X", "I-X", "B-Y", "I-Y"]), with_labels(["O", "B-X", "L-X", "U-X", "I-X"]));
    let of = |model: &Model, settings: &[(&str, &str)]| model.tag(&[text], &set(settings)).unwrap().inputs.remove(0).entities;
    // From the tokens' own labels, by the rules of the scheme in plain words.
    let tokens = of(&bilou, &[("aggregation", "none")]);
    let mut expected: Vec<(usize, usize)> = Vec::new();
    let mut open = false;
    let mut before = 0;
    for token in &tokens {
        let letter = &token.label[..1];
        let adjacent = text[before..token.start].trim().is_empty() && !expected.is_empty();
        match expected.last_mut().filter(|_| open && adjacent && matches!(letter, "I" | "L")) {
            Some(last) => last.1 = token.end,
            None => expected.push((token.start, token.end)),
        }
        open = matches!(letter, "B" | "I");
        before = token.end;
    }
    let places = |entities: &[Entity]| entities.iter().map(|e| (e.start, e.end)).collect::<Vec<_>>();
    assert_eq!(places(&of(&bilou, &[])), expected);
    assert_eq!(of(&bilou, &[("scheme", "bilou")]), of(&bilou, &[]));
    assert_eq!(of(&bio, &[("scheme", "bio")]), of(&bio, &[]));
    assert_eq!(of(&bio, &[("scheme", "iob1")]), of(&bio, &[]));
    assert_eq!(places(&of(&bio, &[("scheme", "single")])), places(&of(&bio, &[("aggregation", "none")])));
}

#[test]
fn long_texts_are_divided_or_cut_as_asked_and_say_so() {
    let model = open("short");
    let long = "the fox and the dog ".repeat(30);
    let ask = |settings: &[(&str, &str)]| {
        model.tag(&[long.as_str()], &set(&[settings, &[("aggregation", "none")]].concat())).unwrap().inputs.remove(0)
    };
    let divided = ask(&[]);
    assert!(divided.report.windows > 4 && !divided.report.truncated && divided.report.total == 152, "{:?}", divided.report);
    assert!(divided.entities.windows(2).all(|two| two[0].end <= two[1].start), "each token once, in order");
    assert!(divided.entities.last().unwrap().end > 500);
    let cut = ask(&[("truncation", "right")]);
    assert!(cut.report.truncated && cut.report.tokens == 24 && cut.entities.iter().all(|e| e.end <= 90));
    let end = ask(&[("truncation", "left")]);
    assert!(
        end.report.truncated && end.entities.iter().all(|e| e.start > 500 && e.text == long[e.start..e.end]) && !end.entities.is_empty()
    );
    says(model.tag(&[long.as_str()], &set(&[("truncation", "error")])), ErrorKind::TooLong, &["text 0", "24"]);
    says(model.tag(&["a"], &set(&[("overlap", "22")])), ErrorKind::InvalidArgument, &["overlap 22"]);
}

#[test]
fn heads_that_are_missing_or_damaged_are_named() {
    let request = Request::default();
    let embedding = Model::load(golden("../models/tiny-gelu"), &Options::default()).unwrap();
    says(embedding.tag(&["a"], &request), ErrorKind::InvalidArgument, &["tag", "none, only vectors"]);
    says(open("bio").extract("q", &["a"], &request), ErrorKind::InvalidArgument, &["extract", "it has tag"]);
    says(damaged(&folder("bio"), "fox", 48).tag(&["a", "fox"], &request), ErrorKind::NonFinite, &["text 1"]);
    let labels = changed(&folder("bio"), |file, bytes| {
        if file == "config.json" {
            let mut config: Value = serde_json::from_slice(bytes).unwrap();
            config["id2label"].as_object_mut().unwrap().remove("4");
            *bytes = serde_json::to_vec(&config).unwrap();
        }
    });
    says(labels.map(|_| ()), ErrorKind::InvalidFile, &["id2label has 4 labels", "gives 5"]);
}

/// The crf's folder with a tensor of it taken away, or with another number in it.
fn with_transitions(change: impl Fn(&str) -> Option<f32>) -> cloze::Result<Model> {
    changed(&folder("crf"), |file, bytes| {
        if file == "model.safetensors" {
            let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
            let mut table: Value = serde_json::from_slice(&bytes[8..8 + header]).unwrap();
            let names: Vec<String> = table.as_object().unwrap().keys().filter(|k| k.starts_with("crf.")).cloned().collect();
            for name in names {
                let start = table[&name]["data_offsets"][0].as_u64().unwrap() as usize + 8 + header;
                match change(&name) {
                    Some(number) if number != 0.0 => bytes[start..start + 4].copy_from_slice(&number.to_le_bytes()),
                    Some(_) => {}
                    None => {
                        let entry = table.as_object_mut().unwrap().remove(&name).unwrap();
                        table["renamed"] = entry;
                    }
                }
            }
            let text = serde_json::to_vec(&table).unwrap();
            let mut whole = (text.len() as u64).to_le_bytes().to_vec();
            whole.extend(text);
            whole.extend(&bytes[8 + header..]);
            *bytes = whole;
        }
    })
}

#[test]
fn transitions_that_are_missing_or_no_numbers_are_refused() {
    let model = open("crf");
    assert_eq!(model.describe().task_heads.iter().map(|h| h.name.as_str()).collect::<Vec<_>>(), ["tag"]);
    let missing = with_transitions(|name| (name != "crf.end_transitions").then_some(0.0));
    says(missing.map(|_| ()), ErrorKind::InvalidTensor, &["crf.end_transitions", "missing"]);
    let nan = with_transitions(|name| Some(if name == "crf.transitions" { f32::NAN } else { 0.0 }));
    says(nan.map(|_| ()), ErrorKind::InvalidTensor, &["crf.transitions", "NaN"]);
    let forbidden = with_transitions(|name| Some(if name == "crf.transitions" { f32::NEG_INFINITY } else { 0.0 })).unwrap();
    assert_eq!(forbidden.tag(&["the fox"], &Request::default()).unwrap().finished, 1);
}

#[test]
fn a_call_that_stops_keeps_the_texts_finished() {
    let model = open("short");
    let texts: Vec<String> = (0..10_000).map(|i| "the fox lives in the park ".repeat(i % 4)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let whole = model.tag(&texts, &Request::default()).unwrap();
    assert_eq!((whole.finished, whole.stopped, whole.inputs.len()), (10_000, None, 10_000));
    let nothing = model.tag(&texts, &set(&[("deadline_ms", "0")])).unwrap();
    assert_eq!((nothing.finished, nothing.stopped, nothing.inputs.len()), (0, Some(ErrorKind::DeadlineExceeded), 10_000));
    let mut limit = std::time::Duration::from_millis(1);
    let part = loop {
        let part = model.tag(&texts, &Request { deadline: Some(limit), ..Request::default() }).unwrap();
        if part.finished > 0 {
            break part;
        }
        limit *= 2;
    };
    assert_eq!(part.inputs[..part.finished], whole.inputs[..part.finished]);
    assert!(part.inputs[part.finished..].iter().all(|i| i.entities.is_empty() && i.report.windows == 0));
}
