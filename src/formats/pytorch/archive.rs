//! Where do the numbers lie in a zip archive, the layout of PyTorch 1.6 and later?
//!
//! `NAME/data.pkl` is the pickle, `NAME/data/KEY` each storage, not compressed, so that tensors are read where they lie in a mapped
//! file. `NAME/byteorder` is there since PyTorch 2.1.

use super::cursor::Cursor;
use super::pickle::{LONGEST, Value, load};
use super::strides::{Budget, tensor};
use super::{invalid, state};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::Weights;
use crate::formats::zip::Archive;
use crate::quant::Bytes;

pub(super) fn read(bytes: &Bytes) -> Result<Weights> {
    let archive = Archive::open(bytes)?;
    let mut roots = archive.names().filter_map(|name| name.strip_suffix("/data.pkl"));
    let (Some(root), None) = (roots.next(), roots.next()) else {
        return Err(invalid("the zip archive has no data.pkl, or several; not a PyTorch checkpoint"));
    };
    if archive.names().any(|name| name == format!("{root}/constants.pkl")) {
        return fail(ErrorKind::Unsupported, "a TorchScript program, not a checkpoint; save model.state_dict()");
    }
    if let Some(order) = archive.entry(&format!("{root}/byteorder"))?
        && &*order != b"little"
    {
        return fail(ErrorKind::Unsupported, "its numbers are big endian; save it on a little-endian machine");
    }
    let pickle = archive.entry(&format!("{root}/data.pkl"))?.ok_or_else(|| invalid("data.pkl is missing"))?;
    if pickle.len() > LONGEST {
        return Err(invalid(format!("data.pkl has {} bytes; it holds more than tensors' names", pickle.len())));
    }
    // Copied, since a mapped file could change between a check and a use.
    let pickle = pickle.to_vec();
    let values = load(&mut Cursor::new(&pickle)).map_err(|e| e.within("data.pkl"))?;
    let mut budget = Budget::of(bytes.len());
    let mut weights = Weights::default();
    for (name, view) in state::tensors(&values)? {
        let within = |e: Error| e.within(format!("tensor {name:?}"));
        let key = &view.storage.key;
        let storage = archive.entry(&format!("{root}/data/{key}")).map_err(within)?;
        let storage = storage.ok_or_else(|| invalid(format!("its storage data/{key} is missing"))).map_err(within)?;
        if view.storage.len.checked_mul(view.storage.element.size()) != Some(storage.len()) {
            let told = format!("its storage data/{key} has {} bytes, not {} numbers", storage.len(), view.storage.len);
            return Err(within(invalid(told)));
        }
        match tensor(view, &storage, &mut budget).map_err(within)? {
            Some(tensor) => weights.insert(name.to_owned(), tensor)?,
            None => weights.skip(name.to_owned()),
        }
    }
    if values.all().any(|value| matches!(value, Value::Storage(storage) if storage.part.is_some())) {
        return Err(invalid("a storage is part of another, which archives do not have"));
    }
    Ok(weights)
}
