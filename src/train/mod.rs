//! How does text become a model?
//!
//! Text files -> a vocabulary (once) -> token ids in mapped shards (once a vocabulary) -> [`Example`]s of an objective -> packed
//! batches -> forward and backward over the family's own graph -> an optimiser's step -> a Hugging Face folder.
//!
//! Nothing here has a hidden state: an example is a function of (seed, epoch, index), a random number one of a [`random::Key`] and a
//! counter. So a run that is stopped goes on where it was, and any part of it can be looked at on its own.

pub mod distill;
pub mod evaluate;
mod example;
pub mod examples;
pub mod finetune;
pub mod labelled;
pub mod masking;
pub mod metrics;
mod permutation;
pub mod pretrain;
pub mod random;
pub mod rates;
pub mod report;
pub mod run;
pub mod shards;
pub mod team;
pub mod text;
pub mod vocabulary;

pub use example::Example;
pub use examples::{Corpus, ExampleSettings};
pub use permutation::Permutation;

use std::path::Path;

use crate::error::Result;
pub use crate::tokenizer::Tokenizer;

/// Opens the tokenizer in a folder, which may hold a model beside it.
///
/// # Errors
/// `Io` where there is no such folder, `InvalidFile` and `Unsupported` as [`Tokenizer::open`].
pub fn open_tokenizer(folder: &Path) -> Result<Tokenizer> {
    crate::tasks::open_tokenizer(folder)
}
