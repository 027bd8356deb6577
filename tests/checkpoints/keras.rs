//! Keras's files, `tf_model.h5`: names, axes, types, shards, and files that are refused.

use std::path::Path;

use cloze::formats::{Folder, Source, huggingface};
use cloze::model::{Encoder, Setup};
use cloze::{Error, ErrorKind};

use super::bases::{Base, Files, files_below, golden};

fn keras(name: &str) -> Files {
    files_below(&golden("keras").join(name), "")
}

fn open(files: Files) -> Result<Folder, Error> {
    huggingface::open(&Source::memory(files).unwrap())
}

#[test]
fn what_transformers_4_saved_gives_the_answers_of_safetensors() {
    for name in ["encoder", "classifier", "pretraining"] {
        Base::of(name).same_from(&golden("keras").join(name));
    }
    Base::of("encoder").same_from(&golden("keras/sharded"));
}

/// Halves, big-endian numbers and compressed chunks: the values that h5py wrote, which are `encoder`'s rounded to halves.
#[test]
fn every_way_of_storing_gives_the_values() {
    let base = Base::of("encoder");
    let whole = open(base.files()).unwrap().weights;
    let stored = open(base.with(keras("other-types"))).unwrap().weights;
    let mut compared = 0;
    for (name, tensor) in stored.iter() {
        let name = name.strip_prefix("bert.").unwrap_or(name);
        let rounded: Vec<f32> = whole.get(name).unwrap().to_f32().iter().map(|v| half::f16::from_f32(*v).to_f32()).collect();
        assert_eq!(tensor.to_f32(), rounded, "{name}");
        compared += 1;
    }
    assert_eq!(compared, whole.len());
}

/// Every family that transformers 4 had a TensorFlow class of here, each with another head: all tensors have the bits of the safetensors.
#[test]
fn every_family_has_its_tensors() {
    let families = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/families");
    let mut opened = 0;
    for family in std::fs::read_dir(golden("keras/families")).unwrap() {
        for head in std::fs::read_dir(family.unwrap().path()).unwrap() {
            let head = head.unwrap().path();
            let name = head.strip_prefix(golden("keras/families")).unwrap().to_owned();
            let mut files = files_below(&families.join(&name), "");
            let whole = open(files.clone()).unwrap().weights;
            files.retain(|(file, _)| file != "model.safetensors");
            files.extend(files_below(&head, ""));
            let mut stored = open(files).unwrap();
            for (tensor, values) in stored.weights.iter() {
                // Of parameters with the same numbers, safetensors keep one.
                let tied = tensor.replace("predictions.decoder.bias", "predictions.bias");
                let Some(want) = whole.get(tensor).or_else(|| whole.get(&tied)) else {
                    // The TensorFlow class has one whatever the head.
                    assert!(tensor.contains("pooler"), "{}: {tensor}", name.display());
                    continue;
                };
                assert_eq!((values.shape(), values.to_f32()), (want.shape(), want.to_f32()), "{}: {tensor}", name.display());
            }
            // What is left out is stored twice in the safetensors, or not learned; the model itself says whether anything is missing.
            let setup = Setup { isa: None, precision: None, sample: &|| Ok(vec![(4..20).collect()]) };
            if let Err(e) = Encoder::new(&stored.config, stored.weights, &mut stored.sentence, &setup) {
                panic!("{}: {e}", name.display());
            }
            opened += 1;
        }
    }
    assert_eq!(opened, 8, "a folder is missing: run tests/golden/make/checkpoints_keras.py");
}

#[test]
fn what_is_no_model_is_refused_by_name() {
    let cases = [
        ("whole.h5", ErrorKind::Unsupported, "word_embeddings"),
        ("itself.h5", ErrorKind::InvalidFile, "deeper"),
        ("alone.h5", ErrorKind::InvalidTensor, "kernel:0"),
        ("huge.h5", ErrorKind::InvalidFile, "limit"),
    ];
    let base = Base::of("encoder");
    for (name, kind, word) in cases {
        let bytes = std::fs::read(golden("keras/refused").join(name)).unwrap();
        let e = open(base.with(vec![("tf_model.h5".to_owned(), bytes)])).map(|_| ()).unwrap_err();
        assert_eq!(e.kind(), kind, "{name}: {e}");
        assert!(e.message().contains(word) && e.message().contains("tf_model.h5"), "{name}: {e}");
    }
}

/// Whatever a damaged file holds, it is an error or another model, and ends soon.
#[test]
fn damaged_files_are_errors() {
    let base = Base::of("encoder");
    let (_, sound) = keras("encoder").pop().unwrap();
    let mut refused = 0;
    for cut in (0..sound.len()).step_by(sound.len() / 40) {
        let e = open(base.with(vec![("tf_model.h5".to_owned(), sound[..cut].to_vec())]));
        assert!(e.is_err(), "{cut} of {} bytes open", sound.len());
    }
    for at in 0..sound.len().min(4096) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0xff;
        refused += usize::from(open(base.with(vec![("tf_model.h5".to_owned(), bytes)])).is_err());
    }
    assert!(refused > 100, "only {refused} changed files were refused");
}
