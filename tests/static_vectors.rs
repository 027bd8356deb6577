//! Do static vectors give the means that gensim, model2vec and sentence-transformers give, whatever they are stored in?
//!
//! `tests/golden/make/static_vectors.py` made the files and folders in `tests/golden/static` and wrote down the answers. `cargo test --test
//! static_vectors -- --nocapture` prints the worst error of each.

use std::path::{Path, PathBuf};

use cloze::formats::Source;
use cloze::formats::convert::{Contents, kept, quantised, unpacked};
use cloze::quant::Dtype;
use cloze::{Cancel, Embeddings, ErrorKind, Model, Options, Precision, Probes, Request};
use serde::Deserialize;

const TOLERANCE: f32 = 1e-6;

#[derive(Deserialize)]
struct Expected {
    texts: Vec<String>,
    cases: Vec<Case>,
}

/// A file or folder, and of each text the vector, the tokens that count in it, and for files of words all of them.
#[derive(Deserialize)]
struct Case {
    name: String,
    vectors: Vec<Vec<f32>>,
    tokens: Vec<usize>,
    total: Option<Vec<usize>>,
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/static").join(name)
}

fn expected() -> Expected {
    serde_json::from_slice(&std::fs::read(golden("expected.json")).unwrap()).unwrap()
}

fn load(path: &Path) -> Model {
    Model::load(path, &Options::default()).unwrap()
}

fn encode(model: &Model, texts: &[String]) -> Embeddings {
    model.encode(texts, &Request::default()).unwrap()
}

/// The largest error of a number, as a share of its size where that is above 1.
fn worst(answer: &Embeddings, want: &[Vec<f32>]) -> f32 {
    let got = answer.vectors.as_f32().unwrap();
    assert_eq!(got.len(), want.iter().map(Vec::len).sum::<usize>());
    let one = |(g, w): (&f32, &f32)| (g - w).abs() / w.abs().max(1.0);
    got.iter().zip(want.iter().flatten()).map(one).fold(0.0, |m, e| if e > m || e.is_nan() { e } else { m })
}

#[test]
fn vectors_are_those_of_the_reference_and_the_report_says_what_they_are_made_of() {
    let Expected { texts, cases } = expected();
    for case in cases {
        for isa in ["avx512", "avx2", "portable"] {
            let Ok(model) = Model::load(golden(&case.name), &Options { isa: Some(isa.into()), ..Options::default() }) else { continue };
            let answer = encode(&model, &texts);
            let error = worst(&answer, &case.vectors);
            println!("{:<16} {isa:<9} worst error {error:.1e}", case.name);
            assert!(error <= TOLERANCE, "{} on {isa}: {error}", case.name);
            for (i, report) in answer.texts.iter().enumerate() {
                assert_eq!((report.tokens, report.rows.clone()), (case.tokens[i], i..i + 1), "{}: text {i}", case.name);
                assert!(report.total >= report.tokens);
                if let Some(total) = &case.total {
                    assert_eq!((report.total, report.truncated), (total[i], false), "{}: text {i}", case.name);
                }
            }
        }
    }
}

#[test]
fn a_text_without_a_known_word_has_zeros_and_says_so() {
    let model = load(&golden("glove.txt"));
    let answer = encode(&model, &["zzz qqq".to_owned(), String::new(), "river".to_owned()]);
    let counts: Vec<_> = answer.texts.iter().map(|t| (t.tokens, t.total, t.windows, t.rows.len())).collect();
    assert_eq!(counts, [(0, 2, 1, 1), (0, 0, 1, 1), (1, 1, 1, 1)]);
    let vectors = answer.vectors.as_f32().unwrap();
    assert!(vectors[..24].iter().all(|x| *x == 0.0) && vectors[24..].iter().any(|x| *x != 0.0));
    let tokens = model.tokenize(&[("the zzz river", None)], &Request::default()).unwrap();
    assert_eq!((&tokens[0].tokens[..], tokens[0].total), (&["the".to_owned(), "river".to_owned()][..], 3));
    assert_eq!(tokens[0].offsets, [(0, 3), (8, 13)]);
    let mut each = Request::default();
    each.set("vectors", "token").unwrap();
    let answer = model.encode(&["the zzz river", "zzz"], &each).unwrap();
    assert_eq!(answer.texts.iter().map(|t| t.rows.clone()).collect::<Vec<_>>(), [0..2, 2..2]);
}

#[test]
fn every_store_of_a_model_gives_the_same_answers() {
    let Expected { texts, cases } = expected();
    for case in cases {
        let source = Source::open(&golden(&case.name)).unwrap();
        let contents = Contents::of(&source).unwrap();
        let direct = encode(&load(&golden(&case.name)), &texts);
        let room = tempfile::tempdir().unwrap();
        let (file, folder, again) = (room.path().join("x.gguf"), room.path().join("folder"), room.path().join("again"));
        contents.write_gguf(&file, kept, |_, _| {}).unwrap();
        contents.write_folder(&folder, unpacked, |_, _| {}).unwrap();
        Contents::of(&Source::open(&file).unwrap()).unwrap().write_folder(&again, unpacked, |_, _| {}).unwrap();
        for path in [&file, &folder, &again] {
            assert_eq!(encode(&load(path), &texts), direct, "{} as {}", case.name, path.display());
        }
        let half = room.path().join("half.gguf");
        contents.write_gguf(&half, quantised(Dtype::F16), |_, _| {}).unwrap();
        assert!(worst(&encode(&load(&half), &texts), &case.vectors) < 2e-3, "{}", case.name);
    }
}

#[test]
fn a_file_of_words_is_mapped_once_it_is_converted() {
    let room = tempfile::tempdir().unwrap();
    let file = room.path().join("x.gguf");
    let mut contents = Contents::of(&Source::open(&golden("word2vec.txt")).unwrap()).unwrap();
    let text = load(&golden("word2vec.txt"));
    assert_eq!(text.memory().weights_mapped, 0);
    Probes::make(&text).unwrap().write(&mut contents.metadata);
    contents.write_gguf(&file, kept, |_, _| {}).unwrap();
    let model = load(&file);
    assert!(model.memory().weights_mapped > 0 && model.memory().weights_owned < 4096);
    let verification = model.verify().unwrap();
    assert!(verification.passed && verification.worst_cosine > 0.999_999);
    let words = model.describe();
    assert_eq!((words.family.as_str(), words.layers, words.hidden, words.dimensions), ("model2vec", 0, 12, 12));
}

#[test]
fn a_table_of_eight_bits_stays_near() {
    // Rows of 64, whole blocks of Q8_0.
    let line = |word: usize| {
        format!("w{word} ") + &(0..64).map(|i| format!("{:.3} ", ((word * 37 + i * 11) % 200) as f32 / 100.0 - 1.0)).collect::<String>()
    };
    let text: String = (0..50).map(|word| line(word) + "\n").collect();
    let room = tempfile::tempdir().unwrap();
    std::fs::write(room.path().join("x.txt"), text).unwrap();
    let contents = Contents::of(&Source::open(&room.path().join("x.txt")).unwrap()).unwrap();
    let file = room.path().join("x.gguf");
    contents.write_gguf(&file, quantised(Dtype::Q8_0), |_, _| {}).unwrap();
    let texts = ["w1 w2 w3".to_owned(), "w49".to_owned()];
    let (full, eight) = (encode(&load(&room.path().join("x.txt")), &texts), encode(&load(&file), &texts));
    let largest =
        full.vectors.as_f32().unwrap().iter().zip(eight.vectors.as_f32().unwrap()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(largest > 0.0 && largest < 0.01, "{largest}");
    assert!(std::fs::metadata(&file).unwrap().len() < 10_000);
}

#[test]
fn an_answer_is_the_same_alone_in_any_batch_and_on_any_threads() {
    let Expected { texts, .. } = expected();
    for name in ["word2vec.bin", "wordpiece", "byte-level", "sentence"] {
        let model = load(&golden(name));
        let bits = |texts: &[String], threads| {
            let answer = model.encode(texts, &Request { threads: Some(threads), ..Request::default() }).unwrap();
            answer.vectors.as_f32().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        let alone: Vec<u32> = texts.iter().flat_map(|text| bits(std::slice::from_ref(text), 1)).collect();
        let many: Vec<String> = (0..50).flat_map(|_| texts.clone()).collect();
        for threads in [1, 2, 3] {
            assert!(bits(&texts, threads) == alone, "{name} on {threads}");
            let all = bits(&many, threads);
            assert!(all.chunks(alone.len()).all(|chunk| chunk == alone), "{name} on {threads}");
        }
    }
}

#[test]
fn limits_are_those_of_the_request_and_of_the_model() {
    let model = load(&golden("word2vec.txt"));
    let text = "the river and the sea";
    let set = |settings: &[(&str, &str)]| {
        let mut request = Request::default();
        settings.iter().for_each(|(name, value)| request.set(name, value).unwrap());
        request
    };
    let answer = model.encode(&[text], &set(&[("max_tokens", "3"), ("truncation", "left")])).unwrap();
    assert_eq!((answer.texts[0].tokens, answer.texts[0].total, answer.texts[0].truncated), (3, 5, true));
    let end = model.encode(&["and the sea"], &Request::default()).unwrap();
    assert_eq!(answer.vectors, end.vectors);
    let windows = model.encode(&[text, "zzz zzz the zzz"], &set(&[("max_tokens", "3"), ("truncation", "window")])).unwrap();
    assert_eq!(windows.texts.iter().map(|t| (t.tokens, t.windows)).collect::<Vec<_>>(), [(5, 2), (1, 2)]);
    let whole = model.encode(&[text, "the"], &Request::default()).unwrap();
    let pairs = windows.vectors.as_f32().unwrap().iter().zip(whole.vectors.as_f32().unwrap());
    assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-6), "windows weighted by their known words are the whole");
    let e = model.encode(&[text], &set(&[("max_tokens", "3"), ("truncation", "error")])).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::TooLong);
    assert_eq!(load(&golden("short")).describe().max_tokens, 7);
    assert_eq!(load(&golden("sentence")).describe().max_tokens, 20);
    assert_eq!(load(&golden("wordpiece")).describe().max_tokens, 512);
    let late = model.encode(&[text], &set(&[("layers", "1")])).unwrap_err();
    assert!(late.message().contains("layers"), "{late}");
    let cancel = Cancel::new();
    cancel.cancel();
    let stopped = model.encode(&[text], &Request { cancel: Some(cancel), ..Request::default() }).unwrap();
    assert_eq!((stopped.finished, stopped.stopped), (0, Some(ErrorKind::Cancelled)));
}

#[test]
fn other_tasks_work_or_say_what_is_missing() {
    let model = load(&golden("glove.txt"));
    let ranking = model.rerank("the river", &["zzz", "the sea and the river", "paris"], &Request::default()).unwrap();
    assert_eq!((ranking.ranked[0].index, ranking.ranked.len()), (1, 3));
    assert!(ranking.ranked.iter().all(|r| r.score.is_finite()), "a text of zeros has a cosine too");
    for e in [
        model.classify(&[("a", None)], &Request::default()).err().unwrap(),
        model.encode_late(&["a"], &Request::default()).unwrap_err(),
        model.attention("a", None, &Request::default()).unwrap_err(),
    ] {
        assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
    }
    let int8 = Model::load(golden("glove.txt"), &Options { precision: Precision::Int8, ..Options::default() }).unwrap();
    let texts = ["the river".to_owned()];
    assert_eq!(encode(&int8, &texts).vectors, encode(&model, &texts).vectors);
    assert!(model.peak_bytes(100, 4).unwrap() < 1 << 20);
}

#[test]
fn files_in_memory_open_as_on_disk() {
    let Expected { texts, .. } = expected();
    for name in ["word2vec.bin", "glove.txt"] {
        let bytes = std::fs::read(golden(name)).unwrap();
        let memory = Model::load_files(vec![(name.to_owned(), bytes)], &Options::default()).unwrap();
        assert_eq!(encode(&memory, &texts), encode(&load(&golden(name)), &texts));
    }
}
