//! Does extract find the reference's answers, cut from the caller's own text?

use std::path::Path;

use cloze::{Answer, ErrorKind, Extracted, Model, Options, Precision, Request};
use serde::Deserialize;

use super::bad_input::{damaged, says};
use super::{TOLERANCE, as_gguf, golden, set};

#[derive(Deserialize)]
struct Expected {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    question: String,
    set: std::collections::BTreeMap<String, String>,
    contexts: Vec<String>,
    answers: Vec<Wanted>,
}

/// Text, start, end, score and logit of each answer, and score and logit of no answer.
#[derive(Deserialize)]
struct Wanted {
    answers: Vec<(String, usize, usize, f64, f64)>,
    none: (f64, f64),
}

fn folder(name: &str) -> std::path::PathBuf {
    golden("../answers").join(name)
}

fn open(name: &str) -> Model {
    Model::load(folder(name), &Options::default()).unwrap()
}

fn cases(folder: &Path) -> Vec<Case> {
    serde_json::from_slice::<Expected>(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap().cases
}

fn request(case: &Case) -> Request {
    set(&case.set.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>())
}

/// The worst error of one context; large numbers count as a share.
fn distance(got: &Extracted, want: &Wanted, what: &str) -> f64 {
    let places = |answers: &[Answer]| answers.iter().map(|a| (a.text.clone(), a.start, a.end)).collect::<Vec<_>>();
    let wanted: Vec<_> = want.answers.iter().map(|a| (a.0.clone(), a.1, a.2)).collect();
    assert_eq!(places(&got.answers), wanted, "{what}");
    let one = |got: f32, want: f64| (f64::from(got) - want).abs() / want.abs().max(1.0);
    let answers = got.answers.iter().zip(&want.answers).map(|(g, w)| one(g.score, w.3).max(one(g.logit, w.4)));
    answers.fold(one(got.no_answer_score, want.none.0).max(one(got.no_answer_logit, want.none.1)), f64::max)
}

fn worst(model: &Model, cases: &[Case]) -> f64 {
    let mut worst = 0f64;
    for case in cases {
        let found = model.extract(&case.question, &case.contexts, &request(case)).unwrap();
        assert_eq!((found.finished, found.stopped, found.contexts.len()), (case.contexts.len(), None, case.contexts.len()));
        for ((got, want), context) in found.contexts.iter().zip(&case.answers).zip(&case.contexts) {
            worst = worst.max(distance(got, want, &format!("{:?} {context:?} {:?}", case.question, case.set)));
        }
    }
    worst
}

#[test]
fn extract_gives_the_reference_answers_from_a_folder_and_from_a_gguf_file() {
    for name in ["long", "wide"] {
        let cases = cases(&folder(name));
        assert!(cases.len() >= 10 && cases.iter().any(|c| c.answers.iter().any(|a| a.answers.len() == 5)));
        for isa in ["avx512", "avx2", "portable"] {
            let Ok(model) = Model::load(folder(name), &Options { isa: Some(isa.into()), ..Options::default() }) else { continue };
            let error = worst(&model, &cases);
            println!("answers/{name:<12} {isa:<9} worst error {error:.1e}");
            assert!(error <= TOLERANCE, "{name} on {isa}: {error}");
        }
        let file = Model::load_files(as_gguf(&folder(name), false), &Options::default()).unwrap();
        assert!(worst(&file, &cases) <= TOLERANCE, "{name}");
    }
}

#[test]
fn a_quantised_file_and_int8_give_near_numbers() {
    let whole = open("wide");
    let contexts = &cases(&folder("wide"))[0].contexts;
    let none = |m: &Model| m.extract("where does the fox live?", contexts, &Request::default()).unwrap();
    let wanted = none(&whole);
    let quantised = Model::load_files(as_gguf(&folder("wide"), true), &Options::default()).unwrap();
    let int8 = Model::load(folder("wide"), &Options { precision: Precision::Int8, ..Options::default() }).unwrap();
    assert_eq!(int8.describe().precision, "int8");
    for (what, model) in [("q8_0", &quantised), ("int8", &int8)] {
        let got = none(model);
        let far = got.contexts.iter().zip(&wanted.contexts).map(|(g, w)| (g.no_answer_logit - w.no_answer_logit).abs()).fold(0.0, f32::max);
        println!("answers/wide {what}: worst difference of a raw number {far:.3}");
        assert!(far < super::NEAR, "{what}: {far}");
    }
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
    for model in [open("wide"), open("long")] {
        for unit in ["byte", "utf16", "codepoint"] {
            let request = set(&[("offsets", unit), ("top", "40")]);
            let found = model.extract("who 😀?", &texts, &request).unwrap();
            for (text, context) in texts.iter().zip(&found.contexts) {
                assert!(context.answers.len() >= 3, "{text}");
                for Answer { text: part, start, end, .. } in &context.answers {
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

/// Everything that an answer says, as bits.
fn bits(context: &Extracted) -> Vec<u32> {
    let answers = context.answers.iter().flat_map(|a| [a.start as u32, a.end as u32, a.score.to_bits(), a.logit.to_bits()]);
    answers.chain([context.no_answer_score.to_bits(), context.no_answer_logit.to_bits()]).collect()
}

#[test]
fn answers_are_the_same_bit_for_bit_in_any_batch_order_and_number_of_threads() {
    let contexts = &cases(&folder("long"))[0].contexts;
    for precision in [Precision::F32, Precision::Int8] {
        let model = Model::load(folder("long"), &Options { precision, ..Options::default() }).unwrap();
        let ask = |contexts: &[&String], threads: &str| {
            let found = model.extract("今天天气", contexts, &set(&[("threads", threads), ("top", "4")])).unwrap();
            found.contexts.iter().map(bits).collect::<Vec<_>>()
        };
        let all: Vec<&String> = contexts.iter().collect();
        let whole = ask(&all, "1");
        let mut turned = ask(&all.iter().rev().copied().collect::<Vec<_>>(), "4");
        turned.reverse();
        assert_eq!(turned, whole);
        for (i, context) in all.iter().enumerate() {
            assert_eq!(ask(&[context], "2")[0], whole[i], "{context:?}");
        }
    }
}

#[test]
fn long_contexts_are_divided_or_cut_as_asked_and_say_so() {
    let model = open("long");
    let long = "the fox and the dog ".repeat(60);
    let ask = |settings: &[(&str, &str)]| model.extract("who is it", &[&long], &set(settings)).unwrap().contexts.remove(0);
    let divided = ask(&[]).report;
    assert!(divided.windows > 4 && !divided.truncated && divided.total > 240 && divided.tokens > divided.total, "{divided:?}");
    let cut = ask(&[("truncation", "right")]);
    assert_eq!((cut.report.windows, cut.report.truncated, cut.report.tokens), (1, true, 60));
    assert!(cut.answers[0].end < 300);
    let end = ask(&[("truncation", "left")]);
    assert!(end.report.truncated && end.answers[0].start > 800, "{end:?}");
    assert_eq!(end.answers[0].text, long[end.answers[0].start..end.answers[0].end]);
    says(model.extract("who", &[&long], &set(&[("truncation", "error")])), ErrorKind::TooLong, &["context 0", "60"]);
    let overlapping = ask(&[("max_tokens", "30"), ("overlap", "20")]).report;
    assert!(overlapping.windows > divided.windows * 4, "{overlapping:?}");
}

#[test]
fn the_threshold_of_no_answer_leaves_out_what_is_below_it() {
    let model = open("wide");
    let ask = |threshold: &str| {
        let found =
            model.extract("who is it", &["the fox in the park"], &set(&[("no_answer_threshold", threshold), ("top", "50")])).unwrap();
        found.contexts.into_iter().next().unwrap()
    };
    let all = ask("none");
    let best = all.answers.iter().map(|a| a.logit).fold(f32::NEG_INFINITY, f32::max);
    let difference = all.no_answer_logit - best;
    assert!(ask(&format!("{}", difference - 0.001)).answers.is_empty(), "nothing is that good");
    assert_eq!(ask(&format!("{}", difference + 0.001)).answers.len(), 1, "only the best is");
    assert_eq!(ask("1000").answers.len(), all.answers.len());
}

#[test]
fn questions_and_contexts_that_do_not_fit_are_refused_or_have_no_answer() {
    let (model, request) = (open("long"), Request::default());
    says(model.extract("", &["a"], &request), ErrorKind::InvalidArgument, &["question has no words"]);
    says(model.extract(" \t", &["a"], &request), ErrorKind::InvalidArgument, &["question has no words"]);
    says(model.extract(&"what ".repeat(57), &["a"], &request), ErrorKind::TooLong, &["question has 57 tokens", "60"]);
    says(model.extract("a b", &["a"], &set(&[("max_tokens", "5")])), ErrorKind::TooLong, &["question has 2 tokens"]);
    says(model.extract("what", &["a ".repeat(99)], &set(&[("overlap", "57")])), ErrorKind::InvalidArgument, &["overlap"]);
    let found = model.extract("who", &["full", "", "fuller", "   "], &request).unwrap();
    assert_eq!(found.contexts.iter().map(|c| c.answers.len()).collect::<Vec<_>>(), [1, 0, 1, 0]);
    assert_eq!((found.contexts[1].no_answer_score, found.contexts[3].no_answer_score), (1.0, 1.0));
    let none: [&str; 0] = [];
    assert!(model.extract("who", &none, &request).unwrap().contexts.is_empty());
    let embedding = Model::load(golden("../models/tiny-gelu"), &Options::default()).unwrap();
    says(embedding.extract("who", &["a"], &request), ErrorKind::InvalidArgument, &["extract", "none, only vectors"]);
    says(model.classify(&[("a", None::<&str>)], &request), ErrorKind::InvalidArgument, &["classify", "it has extract"]);
    let broken = damaged(&folder("long"), "fox", 48);
    says(broken.extract("who", &["a", "fox"], &request), ErrorKind::NonFinite, &["context 1"]);
}

#[test]
fn a_call_that_stops_keeps_the_contexts_finished() {
    let model = open("long");
    let contexts: Vec<String> = (0..10_000).map(|i| "the fox lives in the park ".repeat(i % 4)).collect();
    let whole = model.extract("where", &contexts, &Request::default()).unwrap();
    assert_eq!((whole.finished, whole.stopped, whole.contexts.len()), (10_000, None, 10_000));
    let nothing = model.extract("where", &contexts, &set(&[("deadline_ms", "0")])).unwrap();
    assert_eq!((nothing.finished, nothing.stopped, nothing.contexts.len()), (0, Some(ErrorKind::DeadlineExceeded), 10_000));
    let mut limit = std::time::Duration::from_millis(1);
    let part = loop {
        let part = model.extract("where", &contexts, &Request { deadline: Some(limit), ..Request::default() }).unwrap();
        if part.finished > 0 {
            break part;
        }
        limit *= 2;
    };
    assert_eq!(part.contexts[..part.finished], whole.contexts[..part.finished]);
    assert!(part.contexts[part.finished..].iter().all(|c| c.answers.is_empty() && c.report.windows == 0));
    let cancel = cloze::Cancel::new();
    cancel.cancel();
    let raised = Request { cancel: Some(cancel), ..Request::default() };
    assert_eq!(model.extract("where", &contexts[..2], &raised).unwrap().stopped, Some(ErrorKind::Cancelled));
}
