//! How is a GGUF file written?
//!
//! Version 3, little endian, byte for byte as the `gguf` Python package writes it. A tensor is asked for when its turn comes, so
//! that a model never lies in memory twice.

use std::io::Write;

use super::super::TensorPlan;
use super::metadata::write_string;
use super::{ALIGNMENT, ALIGNMENT_KEY, DIMENSIONS_MAX, MAGIC, Metadata, NAME_MAX};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::{Bytes, Tensor};

const VERSION: u32 = 3;

/// The head of a file, checked and laid out; [`Writer::write`] writes it and the tensors.
#[derive(Debug)]
pub struct Writer {
    head: Vec<u8>,
    plans: Vec<(TensorPlan, usize)>,
    alignment: usize,
}

impl Writer {
    /// Lays out a file. The alignment is `general.alignment`, or 32.
    ///
    /// # Errors
    /// `InvalidArgument` for a tensor that GGUF cannot hold: a name that is empty, occurs twice or is longer than ggml's 63
    /// bytes, more than 4 dimensions, a row that is no whole blocks; or for an alignment that is not a power of two.
    pub fn new(metadata: &Metadata, tensors: Vec<TensorPlan>) -> Result<Writer> {
        let alignment = metadata.count(ALIGNMENT_KEY)?.unwrap_or(ALIGNMENT.into());
        if !alignment.is_power_of_two() || alignment > 1 << 20 {
            return fail(ErrorKind::InvalidArgument, format!("{ALIGNMENT_KEY} {alignment} is not a power of two up to 1048576"));
        }
        let alignment = alignment as usize;
        let mut head = Vec::new();
        head.extend(MAGIC);
        head.extend(VERSION.to_le_bytes());
        head.extend((tensors.len() as u64).to_le_bytes());
        head.extend((metadata.len() as u64).to_le_bytes());
        metadata.encode(|_| true, &mut head);
        let mut names = std::collections::BTreeSet::new();
        let (mut plans, mut offset) = (Vec::with_capacity(tensors.len()), 0usize);
        for plan in tensors {
            if !names.insert(plan.name.clone()) {
                return fail(ErrorKind::InvalidArgument, format!("tensor {:?} is given twice", plan.name));
            }
            let len = check(&plan)?;
            describe(&plan, offset as u64, &mut head);
            let Some(next) = len.checked_next_multiple_of(alignment).and_then(|len| offset.checked_add(len)) else {
                return fail(ErrorKind::InvalidArgument, "the tensors are too large for one file");
            };
            offset = next;
            plans.push((plan, len));
        }
        head.resize(head.len().next_multiple_of(alignment), 0);
        Ok(Writer { head, plans, alignment })
    }

    /// Bytes of the whole file.
    pub fn len(&self) -> usize {
        self.head.len() + self.plans.iter().map(|(_, len)| len.next_multiple_of(self.alignment)).sum::<usize>()
    }

    /// Whether the file has no tensor.
    pub fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// What comes before the tensors. Settings of the same lengths give one of the same length.
    pub(in super::super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Writes the file. `data` gives each tensor's bytes when its turn comes; `progress` hears the bytes written so far.
    ///
    /// # Errors
    /// `Io` when the system refuses to write, `InvalidTensor` when `data` gives another number of bytes than planned, and
    /// whatever `data` fails with.
    pub fn write(
        &self,
        out: &mut impl Write,
        mut data: impl FnMut(&TensorPlan) -> Result<Bytes>,
        mut progress: impl FnMut(usize),
    ) -> Result<()> {
        let refused = |e: std::io::Error| Error::new(ErrorKind::Io, format!("cannot write: {e}"));
        out.write_all(&self.head).map_err(refused)?;
        let mut written = self.head.len();
        progress(written);
        for (plan, len) in &self.plans {
            let bytes = data(plan)?;
            if bytes.len() != *len {
                return fail(ErrorKind::InvalidTensor, format!("tensor {:?} has {} bytes; planned were {len}", plan.name, bytes.len()));
            }
            out.write_all(&bytes).map_err(refused)?;
            let padded = len.next_multiple_of(self.alignment);
            out.write_all(&vec![0; padded - len]).map_err(refused)?;
            written += padded;
            progress(written);
        }
        Ok(())
    }
}

/// Bytes of a tensor that GGUF can hold.
fn check(plan: &TensorPlan) -> Result<usize> {
    let TensorPlan { name, dtype, shape } = plan;
    if name.is_empty() || name.len() >= NAME_MAX {
        return fail(
            ErrorKind::InvalidArgument,
            format!("tensor name {name:?} has {} bytes; GGUF takes from 1 to {}", name.len(), NAME_MAX - 1),
        );
    }
    if shape.len() > DIMENSIONS_MAX {
        return fail(ErrorKind::InvalidArgument, format!("tensor {name:?} has {} dimensions; GGUF takes {DIMENSIONS_MAX}", shape.len()));
    }
    Tensor::bytes_for(*dtype, shape).map_or_else(
        || fail(ErrorKind::InvalidArgument, format!("tensor {name:?} of shape {shape:?} does not divide into blocks of {}", dtype.name())),
        Ok,
    )
}

fn describe(plan: &TensorPlan, offset: u64, head: &mut Vec<u8>) {
    write_string(&plan.name, head);
    head.extend((plan.shape.len() as u32).to_le_bytes());
    plan.shape.iter().rev().for_each(|size| head.extend((*size as u64).to_le_bytes()));
    head.extend(plan.dtype.ggml().to_le_bytes());
    head.extend(offset.to_le_bytes());
}
