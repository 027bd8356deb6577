//! What does a C program see?
//!
//! The types and functions of `include/cloze.h`, which cbindgen makes from this folder: the doc comments here are the manual
//! of the C ABI, written in C's words. There is no logic: a call checks its pointers (`guard`), turns them into Rust values,
//! calls [`crate::tasks`], and hands the answer to a handle or a caller's buffer. One file a handle:
//!
//! - [`error`]: `cloze_status`, `cloze_error`, versions
//! - [`options`]: `cloze_options`, how a model is opened
//! - [`model`]: `cloze_model`, load, share, describe
//! - [`request`], [`cancel`]: what a call is asked for, and how another thread stops it
//! - [`encode`], [`report`]: texts to vectors, and what became of each text
//! - [`sparse`]: texts to sparse weights of the vocabulary
//! - [`late`]: texts to the token vectors that late-interaction models compare
//! - [`rerank`], [`classify`], [`next_sentence`], [`extract`], [`tag`], [`fill_mask`]: what heads answer
//! - [`tokenize`]: text to tokens
//! - [`attention`]: what the heads of attention look at
//! - [`memory`]: what a model holds, and how to give it back
//!
//! Functions are only ever added, each with a `Since` line; numbers are never reused; no struct layout is shown.

#![expect(unsafe_code, reason = "C hands over raw pointers; they are checked here and nowhere else")]
#![expect(non_camel_case_types, reason = "the types have their C names, so that the header needs no renaming")]
#![allow(clippy::missing_safety_doc, reason = "the header's conventions state the contract of all pointers, once")]

pub mod attention;
pub mod cancel;
pub mod classify;
pub mod encode;
pub mod error;
pub mod extract;
pub mod fill_mask;
mod guard;
pub mod late;
pub mod memory;
pub mod model;
pub mod next_sentence;
pub mod options;
pub mod report;
pub mod request;
pub mod rerank;
pub mod sparse;
pub mod tag;
pub mod tokenize;
