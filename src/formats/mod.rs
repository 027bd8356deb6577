//! What is in a model's files?
//!
//! Checked parsers over mapped or in-memory files; nothing behind them needs to distrust a file again.
//!
//! [`Source`] (a folder, or files in memory) -> [`huggingface::open`] -> [`huggingface::Folder`]: the configuration, every
//! tensor by name ([`Weights`]), the tokenizer's files and the sentence-transformers modules. `model` turns the configuration
//! and the tensors into a graph and refuses what it does not know; `tasks` hands the tokenizer's files to `tokenizer`.
//!
//! | file | question |
//! |---|---|
//! | `source`, `mapping` | where do the files come from, and how do they become bytes? |
//! | `huggingface` | what does the folder hold? |
//! | `sentence`, `modules` | what comes after the encoder: pooling, dense layers, prompts? |
//! | `checkpoint` | which files hold the tensors? |
//! | `safetensors`, `header` | where does each tensor lie in a file? |
//! | `weights` | which tensors are there, and which were used? |

mod checkpoint;
#[cfg(test)]
mod fixtures;
mod header;
pub mod huggingface;
mod mapping;
mod modules;
pub mod safetensors;
pub mod sentence;
mod source;
mod weights;

pub use huggingface::{Folder, TokenizerFiles};
pub use sentence::{DenseModule, SentenceModules};
pub use source::Source;
pub use weights::Weights;
