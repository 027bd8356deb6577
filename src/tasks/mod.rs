//! Text in, answer out.
//!
//! A [`Model`] is a tokenizer, an encoder and what the model's files say about their use. Each task is one file: it takes
//! texts and a [`Request`], cuts them into packed batches, runs the encoder's graph and shapes the answer. The faces (`capi`,
//! `cli`, Rust callers) add nothing but their own dress.

mod attention;
mod blocks;
mod classify;
mod cosine;
mod describe;
mod encode;
mod entities;
mod extract;
mod fill_mask;
mod forward;
mod heads;
mod late;
mod next_sentence;
mod open;
mod options;
mod probes;
mod request;
mod request_table;
mod rerank;
mod rerank_vectors;
mod sample;
mod scheme;
pub(crate) mod settings;
mod spans;
mod sparse;
mod tag;
mod tokenize;
mod tolerance;
mod verify;
mod zero_shot;

pub use crate::model::labels::Score;
pub use crate::model::pooling::{LayerChoice, Pooling};
pub use crate::tokenizer::{LONGEST_TEXT, OffsetUnit, Truncation};
pub use attention::Maps;
pub use classify::{Classes, Classified, LabelScore};
pub use cosine::cosine;
pub use describe::{Description, HeadDescription, Memory};
pub use encode::{Embeddings, TextReport, Vectors};
#[cfg(feature = "train")]
pub(crate) use extract::LONGEST_WINDOW;
pub use extract::{Answer, Answers, Extracted};
pub use fill_mask::{Blank, Fill, Filled, Fills, MOST_FILLS};
pub use heads::InputReport;
pub use late::{LateInput, LateVectors};
pub use next_sentence::{Follows, NextSentence};
pub use open::Model;
#[cfg(feature = "train")]
pub(crate) use open::{open_tokenizer, tokenizer_of};
pub use options::{Options, Precision};
pub use probes::Probes;
pub use request::{Aggregation, Cancel, Output, Prompt, Request, Windows};
pub use rerank::{Ranked, Ranking};
pub use scheme::Scheme;
pub use settings::Setting;
pub use sparse::{SparseVector, SparseVectors, TermWeight};
pub use tag::{Entities, Entity, TagInput, Tagged};
pub use tokenize::Tokens;
pub use tolerance::Tolerance;
pub use verify::{ProbeReport, Verification};
