//! What must hold for every sequence of bytes: no panic, and what is accepted is sound.
//!
//! Used by the cargo-fuzz targets beside it, and by `tests/fuzzing.rs` on stable Rust. Each function says whether the bytes were
//! accepted.
#![allow(dead_code, reason = "each target uses one of them")]

use cloze::formats::convert::{Contents, kept};
use cloze::formats::gguf::Reader;
use cloze::formats::{Source, Weights, huggingface, pytorch, safetensors as format};
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

/// Bytes as a file of word vectors: read, used, and written again.
pub fn words(data: &[u8]) -> bool {
    let file = || vec![("x".to_owned(), data.to_vec())];
    let Ok(source) = Source::memory(file()) else { return false };
    let Ok(contents) = Contents::of(&source) else { return false };
    let all: usize = contents.items.iter().map(|item| item.tensor.bytes().len()).sum();
    assert!(all <= 8 * data.len() + (1 << 20), "a table of {all} bytes from {}", data.len());
    let model = Model::load_files(file(), &Options { threads: Some(1), ..Options::default() }).expect("what is read, opens");
    let texts = [String::from_utf8_lossy(data).into_owned(), String::new()];
    // Every number is finite; their sum need not be.
    let encode = |model: &Model| model.encode(&texts, &Request::default()).map_err(|e| e.kind());
    let answer = encode(&model);
    let mut written = Vec::new();
    contents.write_gguf_to(&mut std::io::Cursor::new(&mut written), kept, |_, _| {}).expect("what is read, is written");
    let again = Model::load_files(vec![("x.gguf".to_owned(), written)], &Options { threads: Some(1), ..Options::default() });
    assert_eq!(encode(&again.expect("what we write, we read")), answer);
    true
}

/// Every tensor of a checkpoint of `len` bytes: as many numbers as its shape says, and not many times the file.
fn sound(weights: &Weights, len: usize) -> bool {
    let mut copied = 0;
    for (_, tensor) in weights.iter() {
        copied += tensor.bytes().len();
        if tensor.dtype().is_float() {
            assert_eq!(tensor.to_f32().len(), tensor.shape().iter().product::<usize>());
        }
    }
    // Tensors may share a storage, each once for a few bytes of its name.
    assert!(copied <= len.saturating_mul(len.max(64)), "tensors of {copied} bytes from {len}");
    true
}

/// Bytes as a PyTorch checkpoint, in whichever layout they are.
pub fn pytorch(data: &[u8]) -> bool {
    let mut weights = Weights::default();
    let read = pytorch::read("x", &Bytes::owned(data.to_vec()), &mut weights);
    read.is_ok() && sound(&weights, data.len())
}

/// Bytes as the values of a PyTorch checkpoint of the old layout, which has no storages.
pub fn pickle(data: &[u8]) -> bool {
    let head = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.";
    pytorch(&[&head[..], data, b"\x80\x02]."].concat()) || pytorch(data)
}

/// The tensors of a folder with these files.
fn folder(files: Vec<(&str, Vec<u8>)>) -> bool {
    let mut files: Vec<(String, Vec<u8>)> = files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
    files.push(("config.json".to_owned(), br#"{"model_type": "bert"}"#.to_vec()));
    let len = files.iter().map(|(_, bytes)| bytes.len()).sum();
    let opened = Source::memory(files).and_then(|source| huggingface::open(&source));
    opened.is_ok_and(|folder| sound(&folder.weights, len))
}

/// Bytes as the index of a TensorFlow checkpoint; and as the block of entries of one, with the checksums that it needs to be read.
pub fn tensorflow(data: &[u8]) -> bool {
    let shard = include_bytes!("../golden/checkpoints/tensorflow/types/bert_model.ckpt.data-00000-of-00001").to_vec();
    let read = |index| folder(vec![("bert_model.ckpt.index", index), ("bert_model.ckpt.data-00000-of-00001", shard.clone())]);
    read(table::written(data)) || read(data.to_vec())
}

/// Bytes as an ONNX file.
pub fn onnx(data: &[u8]) -> bool {
    folder(vec![("model.onnx", data.to_vec()), ("model.onnx.data", vec![0; 4096])])
}

/// Bytes as a Keras file.
#[cfg(feature = "keras")]
pub fn keras(data: &[u8]) -> bool {
    let mut files = vec![("tf_model.h5".to_owned(), data.to_vec())];
    files.push(("config.json".to_owned(), br#"{"model_type": "bert"}"#.to_vec()));
    let Ok(folder) = Source::memory(files).and_then(|source| huggingface::open(&source)) else { return false };
    // Deflate makes 1032 bytes of one at most, and a tensor may be linked to from many names.
    let largest = folder.weights.iter().map(|(_, tensor)| tensor.bytes().len()).max().unwrap_or(0);
    assert!(largest <= data.len().saturating_mul(1032), "a tensor of {largest} bytes from {}", data.len());
    true
}

#[path = "../checkpoints/table.rs"]
pub mod table;
