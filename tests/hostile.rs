//! What happens with bad folders and bad input?
//!
//! Each must be an error with the right kind and a sentence that names the thing: no panic, no wait, no huge allocation. Broken
//! folders are copies of `tests/golden/models/tiny-gelu` (hidden 48, 6 heads, 2 layers, 421 words, 64 positions) with one thing
//! changed.

use std::path::Path;
use std::time::{Duration, Instant};

use cloze::{ErrorKind, Model, Options, Request, Vectors};
use folder::{Folder, files, golden, says};
use proptest::prelude::*;
use serde_json::{Value, json};

#[path = "hostile/folder.rs"]
mod folder;
#[path = "hostile/weights.rs"]
mod weights;

fn model() -> Model {
    Model::load(golden("tiny-gelu"), &Options::default()).unwrap()
}

fn vectors(model: &Model, texts: &[&str]) -> Vec<Vec<f32>> {
    let answer = model.encode(texts, &Request::default()).unwrap();
    let Vectors::F32(values) = answer.vectors else { panic!("not f32") };
    assert!(values.iter().all(|v| v.is_finite()));
    values.chunks(answer.dimensions).map(<[f32]>::to_vec).collect()
}

fn set(settings: &[(&str, &str)]) -> Request {
    let mut request = Request::default();
    settings.iter().for_each(|(name, value)| request.set(name, value).unwrap());
    request
}

#[test]
fn an_empty_list_gives_no_vectors() {
    for settings in [&[][..], &[("vectors", "token")], &[("output", "int8")]] {
        let answer = model().encode(&[] as &[&str], &set(settings)).unwrap();
        assert_eq!((answer.texts.len(), answer.finished, answer.stopped), (0, 0, None));
        assert_eq!(answer.dimensions, 48);
    }
    assert!(model().tokenize(&[] as &[(&str, Option<&str>)], &Request::default()).unwrap().is_empty());
}

#[test]
fn texts_of_which_nothing_remains_have_the_vector_of_the_empty_text() {
    let texts = ["", " ", "\t\r\n ", "\0", "\0\0 \0", "\u{fffd}", "\u{200b}\u{feff}\u{2060}", "\u{a0}\u{3000}", "\u{1}\u{7f}\u{9f}"];
    let got = vectors(&model(), &texts);
    for (text, vector) in texts.iter().zip(&got) {
        assert_eq!(vector, &got[0], "{text:?}");
    }
    assert_eq!(model().tokenize(&[("\0", None)], &Request::default()).unwrap()[0].ids, [2, 3]);
}

#[test]
fn a_nul_inside_a_text_is_a_character_like_any_other() {
    let got = vectors(&model(), &["quick\0 fox", "quick fox", "qui\0ck fox"]);
    assert_eq!((&got[0], &got[2]), (&got[1], &got[1]), "the tokenizer strips control characters");
}

#[test]
fn a_million_characters_take_seconds_at_most() {
    let model = model();
    let texts = ["a", "a ", "the fox. ", "天", "é", "😀", "e\u{301}", " ", "\0", ".", "[MASK]"];
    for piece in texts {
        let text = piece.repeat(1_000_000 / piece.chars().count());
        let start = Instant::now();
        let answer = model.encode(&[&text], &Request::default()).unwrap();
        println!("a million characters of {piece:?}: {:?}", start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(20), "{piece:?}: {:?}", start.elapsed());
        let report = &answer.texts[0];
        assert!(report.tokens <= 64 && report.truncated == (report.total > 64), "{piece:?}: {report:?}");
    }
    let many = model.encode(&["a ".repeat(500_000)], &Request::default()).unwrap();
    assert_eq!(many.texts[0].total, 500_002);
}

#[test]
fn a_long_text_in_windows_is_seen_as_a_whole() {
    let answer = model().encode(&["the fox ".repeat(20_000)], &set(&[("truncation", "window")])).unwrap();
    let report = &answer.texts[0];
    assert!(!report.truncated && report.windows > 600 && report.total == 40_002, "{report:?}");
    let tokens = model().encode(&["the fox ".repeat(20_000)], &set(&[("truncation", "window"), ("vectors", "token")])).unwrap();
    assert_eq!(tokens.texts[0].rows, 0..40_002, "each token once, though windows overlap");
}

#[test]
fn a_text_over_the_limit_is_an_error_where_the_policy_says_so() {
    let long = "fox ".repeat(100);
    let e = model().encode(&["short", &long], &set(&[("truncation", "error")])).unwrap_err();
    says(&e, ErrorKind::TooLong, &["text 1", "102", "64"]);
    let e = model().tokenize(&[(long.as_str(), None)], &set(&[("truncation", "error")])).unwrap_err();
    says(&e, ErrorKind::TooLong, &["text 0", "102", "64"]);
}

#[test]
fn requests_that_the_model_cannot_serve_are_refused() {
    /// Options by name, and words of the message.
    type Case = (&'static [(&'static str, &'static str)], &'static [&'static str]);
    let cases: [Case; 9] = [
        (&[("max_tokens", "4096")], &["4096", "64"]),
        (&[("max_tokens", "65")], &["65", "64"]),
        (&[("dimensions", "49")], &["49", "48"]),
        (&[("layers", "3")], &["2"]),
        (&[("layers", "-4")], &["2"]),
        (&[("layers", "mean:4")], &["2"]),
        (&[("prompt_name", "query")], &["query"]),
        (&[("truncation", "window"), ("overlap", "62")], &["overlap", "62"]),
        (&[("truncation", "window"), ("max_tokens", "10"), ("overlap", "8")], &["overlap", "8"]),
    ];
    let model = model();
    for (settings, words) in cases {
        let e = model.encode(&["the fox ".repeat(60)], &set(settings)).expect_err("served");
        says(&e, ErrorKind::InvalidArgument, words);
    }
    let no_pooler = Model::load(golden("tiny-no-pooler"), &Options::default()).unwrap();
    let e = no_pooler.encode(&["a"], &set(&[("pooling", "pooler")])).unwrap_err();
    says(&e, ErrorKind::InvalidArgument, &["pooler"]);
}

#[test]
fn zero_threads_are_refused() {
    match Model::load(golden("tiny-gelu"), &Options { threads: Some(0), ..Options::default() }) {
        Ok(_) => panic!("opened"),
        Err(e) => says(&e, ErrorKind::InvalidArgument, &["thread"]),
    }
    let e = model().encode(&["a"], &Request { threads: Some(0), ..Request::default() }).unwrap_err();
    says(&e, ErrorKind::InvalidArgument, &["thread"]);
}

#[test]
fn an_instruction_set_that_no_machine_has_is_refused() {
    match Model::load(golden("tiny-gelu"), &Options { isa: Some("avx9000".into()), ..Options::default() }) {
        Ok(_) => panic!("opened"),
        Err(e) => says(&e, ErrorKind::InvalidArgument, &["avx9000", "portable"]),
    }
}

#[test]
fn missing_files_are_named() {
    Folder::new().remove("config.json").refused(ErrorKind::Io, &["config.json"]);
    Folder::new().remove("model.safetensors").refused(ErrorKind::Io, &["model.safetensors"]);
    Folder::new().remove("1_Pooling/config.json").refused(ErrorKind::Io, &["1_Pooling", "config.json"]);
    Folder::new().remove("tokenizer.json").remove("vocab.txt").refused(ErrorKind::InvalidFile, &["tokenizer.json", "vocab.txt"]);
    let damaged = Folder::new().remove("model.safetensors").write("pytorch_model.bin", "x");
    damaged.refused(ErrorKind::InvalidFile, &["pytorch_model.bin"]);
    let other = Folder::new().remove("model.safetensors").write("flax_model.msgpack", "x");
    other.refused(ErrorKind::Unsupported, &["flax_model.msgpack", "safetensors", "convert"]);
    let index = json!({"weight_map": {"a": "model-00001-of-00001.safetensors"}}).to_string();
    let sharded = Folder::new().remove("model.safetensors").write("model.safetensors.index.json", index);
    sharded.refused(ErrorKind::Io, &["model-00001-of-00001.safetensors"]);
    for name in ["tokenizer.json", "vocab.txt", "special_tokens_map.json", "sentence_bert_config.json", "config_sentence_transformers.json"]
    {
        assert!(Folder::new().remove(name).open().is_ok(), "{name} is not needed");
    }
}

#[test]
fn paths_that_are_no_model_folders_are_named() {
    let folder = Folder::new();
    for (path, kind) in [(folder.path("none"), ErrorKind::Io), (folder.path("model.safetensors"), ErrorKind::InvalidArgument)] {
        match Model::load(&path, &Options::default()) {
            Ok(_) => panic!("opened"),
            Err(e) => says(&e, kind, &[path.to_str().unwrap()]),
        }
    }
    match Model::load_files(vec![], &Options::default()) {
        Ok(_) => panic!("opened"),
        Err(e) => says(&e, ErrorKind::Io, &["config.json"]),
    }
}

#[test]
fn malformed_json_is_an_error_that_names_the_file() {
    for (name, _) in files().iter().filter(|(name, _)| name.ends_with("json")) {
        for text in ["", "{", "{\"a\": 1,}", "\u{feff}{}", &"[".repeat(200_000)] {
            Folder::new().write(name, text).refused(ErrorKind::InvalidFile, &[name]);
        }
        for text in ["3", "\"x\""] {
            Folder::new().write(name, text).refused(ErrorKind::InvalidFile, &[name]);
        }
    }
}

#[test]
fn a_vocabulary_that_does_not_fit_the_embedding_is_refused() {
    let longer = format!("{}extra\n", std::fs::read_to_string(golden("tiny-gelu").join("vocab.txt")).unwrap());
    Folder::new().remove("tokenizer.json").write("vocab.txt", longer).refused(ErrorKind::InvalidFile, &["421 rows"]);
    let added = json!({"id": 9000, "content": "[NEW]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true});
    let more = Folder::new().json("tokenizer.json", |t| t["added_tokens"].as_array_mut().unwrap().push(added));
    match more.open() {
        Err(e) => says(&e, ErrorKind::InvalidFile, &["421"]),
        Ok(model) => assert!(vectors(&model, &["[NEW] fox"]).len() == 1, "the library may give the token another number"),
    }
    for words in [420, 422, 30522] {
        Folder::new().config("vocab_size", json!(words)).refused(ErrorKind::InvalidTensor, &["word_embeddings", "421"]);
    }
}

#[test]
fn a_config_that_lies_is_refused_without_believing_it() {
    let huge = json!(1_000_000_000_000u64);
    for key in [
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
        "vocab_size",
        "max_position_embeddings",
        "type_vocab_size",
    ] {
        for value in [json!(0), json!(-1), json!(1.5), json!("48"), json!(null), json!([48]), json!(u64::MAX), huge.clone(), json!(1e300)] {
            if (key, &value) == ("type_vocab_size", &json!(null)) {
                continue; // the one that has a default
            }
            let folder = Folder::new().config(key, value.clone());
            let start = Instant::now();
            match folder.open() {
                Ok(_) => panic!("opened with {key} = {value}"),
                Err(e) => {
                    assert!(
                        matches!(e.kind(), ErrorKind::InvalidFile | ErrorKind::InvalidTensor | ErrorKind::Unsupported),
                        "{key} = {value}: {e:?}"
                    );
                    assert!(e.message().contains(key) || e.kind() == ErrorKind::InvalidTensor, "{key} = {value}: {e}");
                }
            }
            assert!(start.elapsed() < Duration::from_secs(2), "{key} = {value}: {:?}", start.elapsed());
        }
    }
    Folder::new().config("num_attention_heads", json!(7)).refused(ErrorKind::InvalidFile, &["num_attention_heads", "7"]);
    Folder::new().config("num_hidden_layers", json!(3)).refused(ErrorKind::InvalidTensor, &["encoder.layer.2"]);
    Folder::new().config("num_hidden_layers", json!(1)).refused(ErrorKind::InvalidTensor, &["encoder.layer.1"]);
    Folder::new().config("max_position_embeddings", json!(65)).refused(ErrorKind::InvalidTensor, &["position_embeddings"]);
    for epsilon in [json!(-1.0), json!("x"), json!(1e300)] {
        Folder::new().config("layer_norm_eps", epsilon).refused(ErrorKind::InvalidFile, &["layer_norm_eps"]);
    }
}

#[test]
fn what_this_version_does_not_know_is_refused_by_name() {
    Folder::new().config("model_type", json!("llama")).refused(ErrorKind::Unsupported, &["model_type", "llama", "bert"]);
    Folder::new().config("hidden_act", json!("swish9")).refused(ErrorKind::Unsupported, &["hidden_act", "swish9", "gelu"]);
    Folder::new().config("position_embedding_type", json!("relative_key")).refused(ErrorKind::Unsupported, &["relative_key"]);
    Folder::new().config("is_decoder", json!(true)).refused(ErrorKind::Unsupported, &["is_decoder"]);
    let module = |kind: &'static str| move |m: &mut Value| m[1]["type"] = json!(format!("sentence_transformers.models.{kind}"));
    for kind in ["LSTM", "CNN", "WordWeights"] {
        Folder::new().json("modules.json", module(kind)).refused(ErrorKind::Unsupported, &["modules.json", kind]);
    }
}

#[test]
fn pooling_that_this_version_does_not_know_is_refused_by_name() {
    let pooling = |config: Value| Folder::new().write("1_Pooling/config.json", config.to_string());
    pooling(json!({"word_embedding_dimension": 48, "pooling_mode_median_tokens": true}))
        .refused(ErrorKind::Unsupported, &["pooling_mode_median_tokens"]);
    pooling(json!({"embedding_dimension": 48, "pooling_mode": "median"})).refused(ErrorKind::Unsupported, &["median"]);
    pooling(json!({"embedding_dimension": 48, "pooling_mode": ["mean", "median"]})).refused(ErrorKind::Unsupported, &["median"]);
    for (key, value) in
        [("pooling_mode", json!(7)), ("pooling_mode", json!([])), ("pooling_mode_mean_tokens", json!("yes")), ("include_prompt", json!(3))]
    {
        let config = json!({"embedding_dimension": 48, key: value});
        pooling(config).refused(ErrorKind::InvalidFile, &[key]);
    }
    pooling(json!({"embedding_dimension": 49, "pooling_mode": "mean"})).refused(ErrorKind::InvalidFile, &["49", "48"]);
}

#[test]
fn a_dense_layer_that_does_not_fit_is_refused() {
    let copy = |from: &str, to: &Path| {
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(golden("tiny-dense").join(from), to).unwrap();
    };
    let dense = |input: usize| {
        let folder = Folder::new();
        for name in ["2_Dense/config.json", "2_Dense/model.safetensors"] {
            copy(name, &folder.path(name));
        }
        let entry = json!({"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"});
        folder
            .json("modules.json", |m| m.as_array_mut().unwrap().insert(2, entry))
            .json("2_Dense/config.json", |c| c["in_features"] = json!(input))
    };
    dense(40).refused(ErrorKind::InvalidFile, &["2_Dense", "40", "48"]);
    dense(48).refused(ErrorKind::InvalidTensor, &["linear.weight"]);
    let other = json!("torch.nn.modules.activation.SiLU");
    dense(48).json("2_Dense/config.json", |c| c["activation_function"] = other).refused(ErrorKind::Unsupported, &["SiLU"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any byte of any file may be wrong: the model opens or not, encodes or not, but says so.
    #[test]
    fn damaged_files_never_panic(
        file in 0..10usize,
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
        short in prop::bool::weighted(0.1),
    ) {
        let mut files = files();
        let bytes = &mut files[file].1;
        let reach = bytes.len().min(6000); // of the weights mostly the header; every other file as a whole
        places.iter().for_each(|(at, value)| bytes[at.index(reach)] = *value);
        if short {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(model) = Model::load_files(files, &Options::default()) {
            let _ = model.encode(&["the quick brown fox", "", "天气 [MASK]"], &Request::default());
        }
    }
}
