//! PyTorch's checkpoints (`pytorch_model.bin`): tensors in a pickle.
//!
//! A pickle is a program for Python's unpickler, and `torch.load` of old runs whatever it says. [`read`] runs none of it: `pickle`
//! is a machine that only builds values, and `globals` lists the few names that a checkpoint may call, each of which stands for a
//! value here. Any other is an error that names it.
//!
//! | file | question |
//! |---|---|
//! | `cursor`, `opcodes`, `pickle` | which values does a pickle build? |
//! | `globals`, `calls` | which names may it use, and what do they make? |
//! | `archive`, `stream`, `tar` | where do the numbers lie: in a zip archive (PyTorch 1.6 and later), behind the pickle (before), in a tar archive (2017)? |
//! | `strides` | how does a part of a storage become a tensor? |
//! | `state` | which of the values are the model's tensors? |
//!
//! Sources of the formats: Python's `pickletools`, and `torch/serialization.py` (`_save`, `_legacy_save`, `_load`, `_legacy_load`).

mod archive;
mod calls;
mod cursor;
mod globals;
mod opcodes;
mod pickle;
mod state;
mod stream;
mod strides;
mod tar;

use super::Weights;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::Bytes;

/// Magic bytes of a zip archive, and of a pickle of protocol 2 or later.
const ZIP: &[u8] = b"PK\x03\x04";
const PICKLE: u8 = 0x80;
/// Where a tar archive says that it is one.
const TAR: (usize, &[u8]) = (257, b"ustar");
const LFS_POINTER: &[u8] = b"version https://git-lfs";

/// Reads every tensor of a file; `file` is its name for messages. Tensors share `bytes` where they lie there in order and in a type
/// that is computed with; others are copies. Tensors of whole numbers are noted as skipped.
///
/// # Errors
/// `InvalidFile` when the file is damaged or its parts contradict each other, `Unsupported` for a name that is not a checkpoint's
/// and for layouts that this version does not read, `InvalidTensor` when `into` has a tensor of that name.
pub fn read(file: &str, bytes: &Bytes, into: &mut Weights) -> Result<()> {
    parse(bytes).and_then(|found| into.append(found)).map_err(|e| e.within(file))
}

fn parse(bytes: &Bytes) -> Result<Weights> {
    let tar = bytes.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1));
    match bytes.first() {
        _ if bytes.starts_with(LFS_POINTER) => {
            fail(ErrorKind::InvalidFile, "this is a Git LFS pointer, not the file itself; run `git lfs pull` in the folder")
        }
        _ if bytes.starts_with(ZIP) => archive::read(bytes),
        _ if tar => tar::read(bytes),
        Some(&PICKLE) => stream::read(bytes),
        _ => fail(ErrorKind::InvalidFile, "neither a zip archive nor a pickle; not a PyTorch checkpoint, or damaged"),
    }
}

fn invalid(sentence: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidFile, sentence)
}
