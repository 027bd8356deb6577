//! A copy of a model that a test may break, and what the error must say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cloze::{Error, ErrorKind, Model, Options};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::Value;

pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/models").join(name)
}

/// A copy of the model that a test may break.
pub struct Folder(tempfile::TempDir);

/// Tensors as they stand in a file: type, shape, bytes.
pub type Tensors = BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>;

impl Folder {
    pub fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        std::fs::create_dir(folder.path("1_Pooling")).unwrap();
        for (name, bytes) in files() {
            std::fs::write(folder.path(&name), bytes).unwrap();
        }
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn remove(self, name: &str) -> Folder {
        std::fs::remove_file(self.path(name)).unwrap();
        self
    }

    pub fn write(self, name: &str, bytes: impl AsRef<[u8]>) -> Folder {
        std::fs::write(self.path(name), bytes).unwrap();
        self
    }

    pub fn json(self, name: &str, edit: impl FnOnce(&mut Value)) -> Folder {
        let mut value: Value = serde_json::from_slice(&std::fs::read(self.path(name)).unwrap()).unwrap();
        edit(&mut value);
        self.write(name, value.to_string())
    }

    pub fn config(self, key: &str, value: Value) -> Folder {
        self.json("config.json", |config| config[key] = value)
    }

    pub fn tensors(self, edit: impl FnOnce(&mut Tensors)) -> Folder {
        let bytes = std::fs::read(self.path("model.safetensors")).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let read = |(name, t): (String, TensorView)| (name, (t.dtype(), t.shape().to_vec(), t.data().to_vec()));
        let mut tensors: Tensors = file.tensors().into_iter().map(read).collect();
        edit(&mut tensors);
        let views = tensors.iter().map(|(name, (dtype, shape, data))| (name, TensorView::new(*dtype, shape.clone(), data).unwrap()));
        let bytes = safetensors::serialize(views, None).unwrap();
        self.write("model.safetensors", bytes)
    }

    /// Changes the header of the weights and leaves their bytes.
    pub fn header(self, edit: impl FnOnce(&mut Value)) -> Folder {
        let bytes = std::fs::read(self.path("model.safetensors")).unwrap();
        let end = 8 + usize::try_from(u64::from_le_bytes(*bytes.first_chunk().unwrap())).unwrap();
        let mut header: Value = serde_json::from_slice(&bytes[8..end]).unwrap();
        edit(&mut header);
        let text = header.to_string();
        self.write("model.safetensors", [&(text.len() as u64).to_le_bytes(), text.as_bytes(), &bytes[end..]].concat())
    }

    pub fn open(&self) -> cloze::Result<Model> {
        Model::load(self.0.path(), &Options::default())
    }

    /// The folder does not open, within a second, and the error says `words`.
    pub fn refused(self, kind: ErrorKind, words: &[&str]) {
        let start = Instant::now();
        match self.open() {
            Ok(_) => panic!("opened, instead of {kind:?} with {words:?}"),
            Err(e) => says(&e, kind, words),
        }
        assert!(start.elapsed() < Duration::from_secs(5), "{words:?}: {:?}", start.elapsed());
    }
}

/// The files of the model that a load reads.
pub fn files() -> Vec<(String, Vec<u8>)> {
    let names = "config.json model.safetensors tokenizer.json vocab.txt tokenizer_config.json special_tokens_map.json modules.json \
                 sentence_bert_config.json config_sentence_transformers.json 1_Pooling/config.json";
    names.split_whitespace().map(|name| (name.to_owned(), std::fs::read(golden("tiny-gelu").join(name)).unwrap())).collect()
}

#[track_caller]
pub fn says(e: &Error, kind: ErrorKind, words: &[&str]) {
    assert_eq!(e.kind(), kind, "{e}");
    for word in words {
        assert!(e.message().contains(word), "{word:?} is not in: {e}");
    }
}
