//! Does a model open from every checkpoint that it comes in, and give the same answers?
//!
//! `tests/golden/make/checkpoints.py` and `checkpoints_tensorflow.py` made tiny models with safetensors, what transformers answers,
//! and the same weights as PyTorch, TensorFlow and ONNX's exporters write them. Each must give the answers of the safetensors folder
//! bit for bit, and become that folder, or a GGUF file, by `cloze convert`.

#[path = "checkpoints/bases.rs"]
mod bases;
#[path = "checkpoints/onnx.rs"]
mod onnx;
#[path = "checkpoints/pytorch.rs"]
mod pytorch;
#[path = "checkpoints/table.rs"]
mod table;
#[path = "checkpoints/tensorflow.rs"]
mod tensorflow;

use bases::{Base, golden};

#[test]
fn safetensors_give_the_reference_answers() {
    for name in ["encoder", "classifier", "pretraining"] {
        Base::of(name).matches_the_reference();
    }
}

#[test]
fn every_pytorch_file_gives_the_answers_of_safetensors() {
    let encoder = Base::of("encoder");
    let mut variants = 0;
    for entry in std::fs::read_dir(golden("pytorch")).unwrap() {
        let path = entry.unwrap().path();
        if path.join("pytorch_model.bin").exists() || path.join("pytorch_model.bin.index.json").exists() {
            encoder.same_from(&path);
            variants += 1;
        }
    }
    assert!(variants >= 9, "a folder is missing: run tests/golden/make/checkpoints.py");
}
