//! What do llama.cpp's own keys say of a model, in the words of a Hugging Face folder?
//!
//! `keys` (sizes and pooling <-> config.json, modules.json), `more_keys` (those of some families), `vocabulary` (`tokenizer.ggml.*` <-> tokenizer.json), with a file
//! for each kind of vocabulary, and `listed` for what two of them share. A GGUF file that has the folder's own files is read by those; then these keys must agree.

mod base64;
mod bpe;
mod keys;
mod listed;
mod more_keys;
mod unigram;
mod vocabulary;
mod wordpiece;

pub(super) use keys::{check, describe, file_type, folder_files};
pub(super) use vocabulary::{describe_tokenizer, tokenizer_json};
