//! Config and weights -> graph: what does this model compute?
//!
//! [`config`] finds the family that config.json names; the family's file ([`bert`]) turns it into a [`Trunk`]: the weights it
//! takes, strictly accounted for by [`loader`], and the graph of its hidden states. [`encoder`] adds what comes after the
//! trunk, once for all families: layer choice, pooling, the pooler and dense layers ([`pooling`], [`dense`]), and the heads for
//! other tasks ([`heads`], [`labels`], [`crf`]). The result goes to `tasks`, which feeds it packed batches.

mod albert;
mod bert;
mod big_bird;
pub mod config;
pub mod crf;
mod deberta;
mod dense;
mod distilbert;
mod electra;
mod encoder;
mod ernie;
#[cfg(feature = "train")]
mod fresh;
mod gpt;
mod gte;
pub mod heads;
mod jina_bert;
pub mod labels;
pub mod languages;
#[cfg(feature = "train")]
mod learnable;
mod loader;
mod longformer;
mod mobilebert;
mod modernbert;
mod mpnet;
mod nomic_bert;
mod parts;
pub mod pooling;
mod postnorm;
mod roberta;
mod rotary;
mod sparse;
mod static_vectors;
mod trunk;
mod xlm;

pub use encoder::{Encoder, Output, Setup};
pub use trunk::Trunk;
#[cfg(feature = "train")]
pub use {fresh::Fresh, learnable::Learnable, parts::Part};
