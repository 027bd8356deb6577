//! TensorFlow's checkpoints: names, types, and files that are damaged.

use std::path::Path;

use cloze::formats::{Folder, Source, Weights, huggingface};
use cloze::{Error, ErrorKind, Model, Options, Request};
use serde_json::Value;

use super::bases::{Base, Files, files_below, golden, path, put, run, try_run};

const CONFIG: &str = r#"{"model_type": "bert"}"#;
const INDEX: &str = "bert_model.ckpt.index";

fn files(name: &str) -> Files {
    files_below(&golden("tensorflow").join(name), "")
}

fn open(files: Files) -> Result<Folder, Error> {
    huggingface::open(&Source::memory(files).unwrap())
}

fn read(mut files: Files) -> Result<Weights, Error> {
    if files.iter().all(|(name, _)| !name.ends_with("config.json")) {
        files.push(("config.json".into(), CONFIG.into()));
    }
    open(files).map(|folder| folder.weights)
}

fn changed(name: &str, file: &str, change: impl FnOnce(&mut Vec<u8>)) -> Files {
    let mut files = files(name);
    change(&mut files.iter_mut().find(|(other, _)| other == file).unwrap().1);
    files
}

fn refused(files: Files, words: &[&str]) -> Error {
    let e = read(files).expect_err(&format!("accepted: {words:?}"));
    for word in words {
        assert!(e.message().contains(word), "{word:?} is not in: {e}");
    }
    e
}

#[test]
fn googles_folder_gives_the_answers_of_safetensors() {
    // As it is: bert_config.json, vocab.txt, three data files, slots of the optimizer.
    Base::of("pretraining").same("tensorflow/pretraining", files("pretraining"));
}

#[test]
fn a_fine_tuned_checkpoint_gives_the_answers_of_safetensors() {
    // Of two checkpoints, the one that `checkpoint` names.
    let base = Base::of("classifier");
    base.same("tensorflow/classifier", base.with(files("classifier")));
    let unnamed = base.with(files("classifier")).into_iter().filter(|(name, _)| name != "checkpoint").collect();
    refused(unnamed, &["several checkpoints", "model.ckpt-12.index", "model.ckpt-6.index"]);
}

#[test]
fn every_type_has_the_values_that_tensorflow_gives() {
    let weights = read(files("types")).unwrap();
    let expected: Value = serde_json::from_slice(&std::fs::read(golden("tensorflow/types/types.json")).unwrap()).unwrap();
    assert_eq!(weights.len(), 3);
    for (name, want) in expected.as_object().unwrap() {
        let (shape, values): (Vec<usize>, Vec<f32>) = serde_json::from_value(want.clone()).unwrap();
        let tensor = weights.get(name).unwrap();
        assert_eq!((tensor.shape(), tensor.to_f32()), (shape.as_slice(), values), "{name}");
    }
    assert_eq!(weights.origin("bert.pooler.dense.weight"), "bert/pooler/dense/kernel");
}

#[test]
fn the_optimizers_slots_are_left_out_and_nothing_else() {
    let skipped: Vec<String> = read(files("pretraining")).unwrap().skipped().map(str::to_owned).collect();
    assert!(skipped.iter().all(|name| name == "global_step" || name.ends_with("/adam_m") || name.ends_with("/adam_v")), "{skipped:?}");
    assert_eq!(skipped.len(), 2 * 46 + 1);
}

#[test]
fn the_name_of_the_folder_says_whether_texts_are_lower_cased() {
    let place = tempfile::tempdir().unwrap();
    let tokens = |model: &Model| model.tokenize(&[("The FOX", None)], &Request::default()).unwrap().remove(0).ids;
    let open = |name: &str, more: &[(&str, &str)]| {
        let folder = place.path().join(name);
        let mut all = files("pretraining");
        all.extend(more.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())));
        put(&folder, &all);
        Model::load(&folder, &Options::default()).unwrap()
    };
    let lower = tokens(&open("uncased_L-2_H-16_A-2", &[]));
    let kept = tokens(&open("cased_L-2_H-16_A-2", &[]));
    assert_ne!(lower, kept, "upper-case letters are not in the vocabulary");
    assert_eq!(tokens(&open("another", &[])), lower);
    assert_eq!(tokens(&open("cased_2", &[("tokenizer_config.json", r#"{"do_lower_case": true}"#)])), lower);
    let out = place.path().join("out");
    run(&["convert", "-m", path(&place.path().join("cased_L-2_H-16_A-2")), "-o", path(&out)]);
    assert_eq!(tokens(&Model::load(&out, &Options::default()).unwrap()), kept, "the conversion keeps what the name said");
}

#[test]
fn what_is_not_read_is_named() {
    refused(files("sliced"), &["bert/embeddings/word_embeddings", "slices"]);
    refused(files("objects"), &["TensorFlow 2"]);
    let mut other = files("types");
    other.push(("config.json".into(), br#"{"model_type": "albert"}"#.to_vec()));
    let e = open(other).unwrap_err();
    assert!(e.kind() == ErrorKind::Unsupported && e.message().contains("albert"), "{e}");
    let lost = files("pretraining").into_iter().filter(|(name, _)| !name.ends_with("data-00001-of-00003")).collect();
    assert_eq!(refused(lost, &["bert_model.ckpt.data-00001-of-00003"]).kind(), ErrorKind::Io);
}

#[test]
fn a_changed_byte_is_found_by_the_checksums() {
    let index = files("pretraining").into_iter().find(|(name, _)| name == INDEX).unwrap().1;
    for at in 0..index.len() {
        let damaged = changed("pretraining", INDEX, |bytes| bytes[at] ^= 0x10);
        let footer = at >= index.len() - 48;
        // Of the footer, the place of the unused block and its padding may say what they like.
        match read(damaged) {
            Err(e) => assert!(matches!(e.kind(), ErrorKind::InvalidFile | ErrorKind::Unsupported), "{at}: {e:?}"),
            Ok(_) => assert!(footer, "byte {at}"),
        }
        assert!(read(changed("pretraining", INDEX, |bytes| bytes.truncate(at))).is_err(), "cut at {at}");
    }
    let data = "bert_model.ckpt.data-00001-of-00003";
    let len = files("pretraining").into_iter().find(|(name, _)| name == data).unwrap().1.len();
    for at in (0..len).step_by(997) {
        // Bytes of the optimizer's slots are never read.
        if let Err(e) = read(changed("pretraining", data, |bytes| bytes[at] ^= 1)) {
            assert!(e.message().contains("checksum"), "{e}");
        }
        let e = read(changed("pretraining", data, |bytes| bytes.truncate(at))).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidFile, "{e}");
    }
    let damaged = read(changed("types", "bert_model.ckpt.data-00000-of-00001", |bytes| bytes[0] ^= 1)).unwrap_err();
    assert!(damaged.message().contains("checksum") && damaged.message().contains("bert/pooler/dense/bias"), "{damaged}");
}

#[test]
fn a_tensor_that_no_rule_maps_is_named_with_the_nearest() {
    // Sound checksums, another name: the block is written anew.
    let sound = files("types").into_iter().find(|(name, _)| name == INDEX).unwrap().1;
    let index = super::table::one_block(&sound, |block| {
        let at = block.windows(4).position(|w| w == b"bias").unwrap();
        block[at..at + 4].copy_from_slice(b"bais");
    });
    let unknown = changed("types", INDEX, |bytes| *bytes = index);
    let e = refused(unknown.clone(), &["bert/pooler/dense/bais", "nearest", "bert/pooler/dense/bias"]);
    assert_eq!(e.kind(), ErrorKind::InvalidTensor);
    let place = tempfile::tempdir().unwrap();
    put(place.path(), &unknown);
    std::fs::write(place.path().join("config.json"), CONFIG).unwrap();
    let (good, _, told) = try_run(&["convert", "-m", path(place.path()), "-o", "unused.gguf", "--dry-run"]);
    assert!(!good && told.contains("bert/pooler/dense/bias") && !Path::new("unused.gguf").exists(), "{told}");
}
