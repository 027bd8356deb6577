//! What is in a model's files?
//!
//! Checked parsers over mapped or in-memory files; nothing behind them needs to distrust a file again.
//!
//! [`Source`] (a folder, files in memory, or a GGUF file) -> [`huggingface::open`] -> [`huggingface::Folder`]: the configuration, every
//! tensor by name ([`Weights`]), the tokenizer's files and the sentence-transformers modules. `model` turns the configuration
//! and the tensors into a graph and refuses what it does not know; `tasks` hands the tokenizer's files to `tokenizer`.
//!
//! | file | question |
//! |---|---|
//! | `source`, `mapping` | where do the files come from, and how do they become bytes? |
//! | `huggingface` | what does the folder hold? |
//! | `word_vectors`, `static_vectors` | how is a file of word vectors a folder, and what is a table of vectors? |
//! | `sentence`, `modules` | what comes after the encoder: pooling, dense layers, prompts? |
//! | `checkpoint` | which files hold the tensors, and who reads them? |
//! | `safetensors`, `header` | where does each tensor lie in a file, and how is one written? |
//! | `gguf` | the same of GGUF files, and their settings |
//! | `pytorch`, `zip` | which tensors does a PyTorch checkpoint hold? |
//! | `tensorflow`, `keras`, `onnx` | the same of TensorFlow's checkpoints, of Keras's files and of exported graphs |
//! | `nearest` | which names are most like one that is not there? |
//! | `package`, `llama_cpp`, `names` | how is a GGUF file a folder? |
//! | `convert`, `stored_type`, `type_choice`, `plan`, `atomic`, `rename` | how does a folder become a GGUF file, or the other way round? |
//! | `soundness`, `checksums` | are the numbers sound, and as they were written? |
//! | `weights` | which tensors are there, and which were used? |

pub mod atomic;
mod checkpoint;
pub mod checksums;
pub mod convert;
#[cfg(test)]
mod fixtures;
pub mod gguf;
mod header;
pub mod huggingface;
#[cfg(feature = "keras")]
mod keras;
mod late;
mod llama_cpp;
mod mapping;
mod modules;
pub mod names;
mod nearest;
mod onnx;
mod package;
mod plan;
mod positions;
pub mod pytorch;
mod rename;
pub mod safetensors;
pub mod sentence;
mod soundness;
mod source;
mod static_vectors;
mod stored_type;
mod tensorflow;
mod type_choice;
mod weights;
mod word_vectors;
mod zip;

// Files are made of tensors: who reads files need not know where tensors are defined.
pub use crate::quant::Tensor;
pub use huggingface::{Folder, TokenizerFiles};
pub use late::{Expand, LateSettings};
#[cfg(feature = "train")]
pub(crate) use mapping::map_file;
pub use nearest::nearest;
pub use plan::TensorPlan;
pub use sentence::{DenseModule, SentenceModules};
pub use source::Source;
pub use static_vectors::StaticSettings;
pub use stored_type::stored_type;
#[cfg(feature = "train")]
pub use tensorflow::EventFile;
pub use type_choice::{Form, ResolvedTypes, TypeChoice};
pub use weights::Weights;
