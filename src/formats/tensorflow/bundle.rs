//! What does the index say of each tensor?
//!
//! The messages `BundleHeaderProto`, under the empty key, and `BundleEntryProto` of `tensorflow/core/protobuf/tensor_bundle.proto`.

use super::invalid;
use super::table::Entries;
use crate::error::{ErrorKind, Result, fail};
use crate::quant::Bytes;
use crate::quant::protobuf::{Message, Value};

/// A tensor in one of the data files.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// Its number in `tensorflow/core/framework/types.proto`.
    pub(super) dtype: u64,
    pub(super) shape: Vec<usize>,
    pub(super) shard: usize,
    pub(super) offset: usize,
    pub(super) size: usize,
    pub(super) checksum: Option<u32>,
    sliced: bool,
}

/// How many data files there are, and every tensor by name.
#[derive(Debug)]
pub(super) struct Bundle {
    pub(super) shards: usize,
    pub(super) entries: Vec<(String, Entry)>,
}

/// What the keys of slices begin with; the tensor's own entry says that it has them.
const SLICE: &[u8] = b"\0";

pub(super) fn read(entries: Entries) -> Result<Bundle> {
    let mut entries = entries.into_iter();
    let header = match entries.next() {
        Some((key, value)) if key.is_empty() => value,
        _ => return Err(invalid("the index has no header")),
    };
    let mut shards = 0;
    for field in message(header) {
        match field? {
            (1, value) => shards = value.size()?,
            (2, Value::Number(0)) => {}
            (2, _) => return fail(ErrorKind::Unsupported, "its numbers are big endian; save it on a little-endian machine"),
            _ => {}
        }
    }
    let (mut named, mut slices) = (Vec::new(), 0);
    for (key, value) in entries {
        if key.starts_with(SLICE) {
            slices += 1;
            continue;
        }
        let name = String::from_utf8(key).map_err(|_| invalid("the name of a tensor is not UTF-8"))?;
        let entry = entry(value).map_err(|e| e.within(format!("tensor {name:?}")))?;
        named.push((name, entry));
    }
    if slices > 0 {
        return Err(invalid("the index has slices of tensors that it does not name"));
    }
    Ok(Bundle { shards, entries: named })
}

fn message(bytes: Vec<u8>) -> Message {
    Message::new(Bytes::owned(bytes))
}

fn entry(bytes: Vec<u8>) -> Result<Entry> {
    let mut entry = Entry::default();
    for field in message(bytes) {
        match field? {
            (1, Value::Number(dtype)) => entry.dtype = dtype,
            (2, shape) => entry.shape = sizes(shape.message()?)?,
            (3, shard) => entry.shard = shard.size()?,
            (4, offset) => entry.offset = offset.size()?,
            (5, size) => entry.size = size.size()?,
            (6, Value::Fixed32(sum)) => entry.checksum = Some(u32::from_le_bytes(sum)),
            (7, _) => entry.sliced = true,
            _ => {}
        }
    }
    if entry.sliced {
        return fail(ErrorKind::Unsupported, "it was saved in slices; load the checkpoint with TensorFlow and save it again as a whole");
    }
    Ok(entry)
}

/// `TensorShapeProto`: a message a dimension.
fn sizes(shape: Message) -> Result<Vec<usize>> {
    let mut sizes = Vec::new();
    for field in shape {
        let (number, value) = field?;
        if number == 2 {
            let mut size = 0;
            for field in value.message()? {
                let (number, value) = field?;
                if number == 1 {
                    size = value.size()?;
                }
            }
            sizes.push(size);
        }
    }
    Ok(sizes)
}
