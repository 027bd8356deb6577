//! GGUF: one file with settings and tensors, ggml's format.
//!
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>: magic, version, counts; then the settings ([`Metadata`], keys and
//! typed values), the tensors' names, shapes, types and places; then their bytes, aligned. Little-endian versions 2 and 3 are
//! read, version 3 is written. What the settings mean is not known here: `package` reads a model out of them.
//!
//! [`Reader::open`] checks a file as a whole; its tensors share the file's bytes. [`Writer::write`] takes tensors one by one.

mod cursor;
mod metadata;
mod read;
mod write;

pub use metadata::{Array, Kind, Metadata, Value};
pub use read::Reader;
pub use write::Writer;

/// The first bytes of a file.
pub const MAGIC: &[u8; 4] = b"GGUF";

/// The key whose value aligns the tensors.
const ALIGNMENT_KEY: &str = "general.alignment";

/// The alignment of files that do not state one.
const ALIGNMENT: u32 = 32;

/// ggml's limits: dimensions of a tensor, and bytes of a name with its closing zero.
const DIMENSIONS_MAX: usize = 4;
const NAME_MAX: usize = 64;
