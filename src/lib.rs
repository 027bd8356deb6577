//! Cloze turns text into vectors, ranks, labels, answers, entities and filled blanks with BERT-family encoders, in the
//! caller's own process.
//!
//! text -> [`tokenizer`] -> packed batch -> encoder ([`model`] describes it as a graph, [`engine`] runs it) -> [`tasks`] ->
//! answer:
//!
//! 1. [`Model::load`] opens a Hugging Face folder ([`formats`]) and packs its weights for this machine ([`engine`]).
//! 2. [`Model::encode`] cuts texts into tokens, packs them without padding, runs the encoder, pools and normalises.
//! 3. [`Embeddings`] holds the vectors and says, for each text, how many tokens were seen and how many there were.
//!
//! ```no_run
//! use cloze::{Model, Options, Request};
//!
//! let model = Model::load("models/minilm", &Options::default())?;
//! let answer = model.encode(&["How do I reset my password?", "Forgotten credentials"], &Request::default())?;
//! println!("{} values a vector, {:?}", answer.dimensions, answer.vectors.as_f32());
//! # Ok::<(), cloze::Error>(())
//! ```
//!
//! The C ABI ([`capi`]) and the command line offer the same words. `ARCHITECTURE.md` has a section for each module.

pub mod capi;
#[cfg(feature = "cli")]
pub mod cli;
pub mod engine;
pub mod error;
pub mod formats;
pub mod model;
pub mod quant;
pub mod tasks;
pub mod tokenizer;
#[cfg(feature = "train")]
pub mod train;

pub use error::{Error, ErrorKind, Result};
pub use tasks::{
    Aggregation, Answer, Answers, Blank, Cancel, Classes, Classified, Description, Embeddings, Entities, Entity, Extracted, Fill, Filled,
    Fills, Follows, HeadDescription, InputReport, LabelScore, LateInput, LateVectors, LayerChoice, Maps, Memory, Model, NextSentence,
    OffsetUnit, Options, Output, Pooling, Precision, ProbeReport, Probes, Prompt, Ranked, Ranking, Request, Scheme, Score, SparseVector,
    SparseVectors, TagInput, Tagged, TermWeight, TextReport, Tokens, Tolerance, Truncation, Vectors, Verification, Windows,
};
