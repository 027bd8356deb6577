//! What must hold for every sequence of bytes: no panic, and what is accepted is sound.
//!
//! Used by the cargo-fuzz targets beside it, and by `tests/fuzzing.rs` on stable Rust. Each function says whether the bytes were
//! accepted.
#![allow(dead_code, reason = "each target uses one of them")]

use cloze::formats::convert::{Contents, kept};
use cloze::formats::gguf::Reader;
use cloze::formats::{Source, Weights, safetensors as format};
use cloze::quant::Bytes;
use cloze::{Model, Options, Request};

/// Bytes as a GGUF file: read, opened as a model, used, and written again.
pub fn gguf(data: &[u8]) -> bool {
    let bytes = Bytes::owned(data.to_vec());
    let Ok(reader) = Reader::open(&bytes) else { return false };
    let mut in_tensors = 0;
    for (_, tensor) in reader.tensors() {
        in_tensors += tensor.bytes().len();
        if tensor.dtype().is_float() {
            assert_eq!(tensor.to_f32().len(), tensor.shape().iter().product::<usize>());
        }
    }
    assert!(in_tensors <= data.len(), "tensors share bytes");
    let file = || vec![("model.gguf".to_owned(), data.to_vec())];
    if let Ok(source) = Source::memory(file())
        && let Ok(contents) = Contents::of(&source)
    {
        let mut written = Vec::new();
        if contents.write_gguf_to(&mut std::io::Cursor::new(&mut written), kept, |_, _| {}).is_ok() {
            let again = Reader::open(&Bytes::owned(written)).expect("what we write, we read");
            assert_eq!(again.tensors().len(), contents.items.len());
        }
    }
    if let Ok(model) = Model::load_files(file(), &Options { threads: Some(1), ..Options::default() }) {
        let _ = model.encode(&["a text", ""], &Request::default());
    }
    true
}

/// Bytes as a safetensors file: read, and written again.
pub fn safetensors(data: &[u8]) -> bool {
    let mut weights = Weights::default();
    if format::read("x", &Bytes::owned(data.to_vec()), &mut weights).is_err() {
        return false;
    }
    let plans: Vec<_> = weights
        .iter()
        .map(|(name, t)| cloze::formats::TensorPlan { name: name.to_owned(), dtype: t.dtype(), shape: t.shape().to_vec() })
        .collect();
    let mut written = Vec::new();
    let bytes = |plan: &cloze::formats::TensorPlan| Ok(weights.get(&plan.name).expect("planned from it").bytes().clone());
    format::write(&mut written, &plans, bytes, |_| {}).expect("what we read, we write");
    let mut again = Weights::default();
    format::read("y", &Bytes::owned(written), &mut again).expect("what we write, we read");
    for (name, tensor) in weights.iter() {
        let copy = again.get(name).expect("a tensor is lost");
        assert_eq!((tensor.dtype(), tensor.shape(), &**tensor.bytes()), (copy.dtype(), copy.shape(), &**copy.bytes()));
    }
    true
}
