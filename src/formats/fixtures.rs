//! What do real files look like? Test data, written by the reference implementation of the format and not by our own code.

use super::Source;
use crate::error::Result;

/// A named tensor of f32 values.
pub(super) struct F32Tensor {
    name: String,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl F32Tensor {
    /// Values 0, 1, 2, ...
    pub(super) fn counting(name: &str, shape: &[usize]) -> F32Tensor {
        let elements: usize = shape.iter().product();
        let bytes = (0..elements).flat_map(|i| (i as f32).to_le_bytes()).collect();
        F32Tensor { name: name.to_owned(), shape: shape.to_vec(), bytes }
    }
}

/// A safetensors file with these tensors, written by the `safetensors` crate.
pub(super) fn reference_file(tensors: &[F32Tensor]) -> Vec<u8> {
    use ::safetensors::{Dtype, serialize, tensor::TensorView};
    let views = tensors.iter().map(|t| (t.name.as_str(), TensorView::new(Dtype::F32, t.shape.clone(), &t.bytes).unwrap()));
    serialize(views, Some([("format".to_owned(), "pt".to_owned())].into())).unwrap()
}

/// A file with this header, sound or not.
pub(super) fn raw(header: &[u8], data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header, data].concat()
}

/// A model in memory that tests add to and take from.
pub(super) struct Files(Vec<(String, Vec<u8>)>);

impl Files {
    pub(super) fn none() -> Files {
        Files(Vec::new())
    }

    /// The smallest folder that opens: a configuration and two tensors, `a` (2) and `b` (2, 3).
    pub(super) fn minimal() -> Files {
        Files::none().with("config.json", r#"{"model_type":"bert"}"#).with("model.safetensors", ab())
    }

    /// With this file, in place of one of the same name.
    pub(super) fn with(self, name: &str, content: impl AsRef<[u8]>) -> Files {
        let mut files = self.without(name);
        files.0.push((name.to_owned(), content.as_ref().to_vec()));
        files
    }

    pub(super) fn without(mut self, name: &str) -> Files {
        self.0.retain(|(n, _)| n != name);
        self
    }

    pub(super) fn source(self) -> Source {
        Source::memory(self.0).unwrap()
    }

    pub(super) fn open(self) -> Result<super::Folder> {
        super::huggingface::open(&self.source())
    }
}

/// A safetensors file with the tensors `a` (2) and `b` (2, 3).
pub(super) fn ab() -> Vec<u8> {
    reference_file(&[F32Tensor::counting("a", &[2]), F32Tensor::counting("b", &[2, 3])])
}
