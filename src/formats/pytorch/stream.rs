//! Where do the numbers lie in the layout of PyTorch before 1.6?
//!
//! Five pickles one behind the other (a magic number, a version, facts of the machine, the values, the keys of the storages), then
//! of each storage the number of its elements (8 bytes, little endian) and the elements.

use std::collections::HashMap;

use super::cursor::Cursor;
use super::pickle::{Storage, Value, Values, load};
use super::strides::{Budget, tensor};
use super::{invalid, state};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::Weights;
use crate::quant::Bytes;

const MAGIC: i128 = 0x1950_a86a_20f9_469c_fc6c;
const VERSION: i128 = 1001;

pub(super) fn read(bytes: &Bytes) -> Result<Weights> {
    let mut cursor = Cursor::new(bytes);
    match (load(&mut cursor)?.top(), load(&mut cursor)?.top()) {
        (Value::Int(MAGIC), Value::Int(VERSION)) => {}
        _ => return Err(invalid("a pickle, but not one that torch.save wrote")),
    }
    check_machine(&load(&mut cursor)?)?;
    let values = load(&mut cursor)?;
    let keys = load(&mut cursor)?;
    let storages = storages(bytes, &mut cursor, &values, &keys)?;
    let mut budget = Budget::of(bytes.len());
    let mut weights = Weights::default();
    for (name, view) in state::tensors(&values)? {
        let within = |e: Error| e.within(format!("tensor {name:?}"));
        let storage = storages.get(view.storage.key.as_str()).ok_or_else(|| within(invalid("its storage is missing")))?;
        let storage = part(&view.storage, storage).map_err(within)?;
        match tensor(view, &storage, &mut budget).map_err(within)? {
            Some(tensor) => weights.insert(name.to_owned(), tensor)?,
            None => weights.skip(name.to_owned()),
        }
    }
    Ok(weights)
}

fn check_machine(values: &Values) -> Result<()> {
    let Value::Dict(facts) = values.top() else { return Err(invalid("the facts of its machine are missing")) };
    let little = facts.iter().find(|(key, _)| matches!(values.get(*key), Value::Text(text) if text == "little_endian"));
    match little.map(|(_, value)| values.get(*value)) {
        Some(Value::Int(0)) => fail(ErrorKind::Unsupported, "its numbers are big endian; save it on a little-endian machine"),
        _ => Ok(()),
    }
}

/// The bytes of each storage, by its key.
fn storages<'a>(bytes: &Bytes, cursor: &mut Cursor<'_>, values: &'a Values, keys: &Values) -> Result<HashMap<&'a str, Bytes>> {
    let mut wanted: HashMap<&str, &Storage> = HashMap::new();
    for value in values.all() {
        let Value::Storage(storage) = value else { continue };
        if wanted.insert(&storage.key, storage).is_some_and(|other| (other.element, other.len) != (storage.element, storage.len)) {
            return Err(invalid(format!("storage {:?} has two types or lengths", storage.key)));
        }
    }
    let Value::List(list) = keys.top() else { return Err(invalid("the list of its storages is missing")) };
    let mut found = HashMap::new();
    for key in list {
        let Value::Text(key) = keys.get(*key) else { return Err(invalid("the key of a storage is no text")) };
        let Some((key, storage)) = wanted.get_key_value(key.as_str()) else {
            return Err(invalid(format!("storage {key:?} is of no type, since nothing uses it")));
        };
        let stated = u64::from_le_bytes(cursor.array()?);
        if usize::try_from(stated).ok() != Some(storage.len) {
            return Err(invalid(format!("storage {key:?} has {stated} numbers, the pickle says {}", storage.len)));
        }
        let len = storage.len.checked_mul(storage.element.size()).ok_or_else(|| invalid(format!("storage {key:?} is too large")))?;
        let start = cursor.at();
        cursor.take(len).map_err(|_| invalid(format!("the file ends within storage {key:?}; truncated, copy or download it again")))?;
        let range = bytes.slice(start..start + len).ok_or_else(|| invalid("the file ends within a storage"))?;
        if found.insert(*key, range).is_some() {
            return Err(invalid(format!("storage {key:?} is listed twice")));
        }
    }
    if cursor.at() < bytes.len() {
        return Err(invalid(format!("{} bytes stand behind its last storage", bytes.len() - cursor.at())));
    }
    Ok(found)
}

/// The part of `root` that a storage is.
fn part(storage: &Storage, root: &Bytes) -> Result<Bytes> {
    let Some((offset, len)) = storage.part else { return Ok(root.clone()) };
    let size = storage.element.size();
    let range = offset.checked_mul(size).zip(len.checked_mul(size)).and_then(|(start, len)| Some(start..start.checked_add(len)?));
    range.and_then(|range| root.slice(range)).ok_or_else(|| invalid("its storage is a part that reaches outside the whole"))
}
