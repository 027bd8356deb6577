//! Where do the numbers lie in a tar archive, the layout of PyTorch's first versions?
//!
//! Three entries: `storages` (their number; of each a pickle of its number, device and type, then the count and the elements; then a
//! pickle of those that are parts of others), `tensors` (their number; of each a pickle of its number, its storage's and its type, then
//! dimensions, sizes, strides and offset), and `pickle`, the values, which name tensors by number. The header of an entry is POSIX's
//! ustar; names are only compared.

use std::collections::HashMap;

use super::cursor::Cursor;
use super::globals::{Element, Known};
use super::pickle::{Ref, Storage, Value, Values, View, load, load_with};
use super::strides::{Budget, tensor};
use super::{invalid, state};
use crate::error::{Error, Result};
use crate::formats::Weights;
use crate::quant::Bytes;

const BLOCK: usize = 512;
const DIMENSIONS_MAX: i32 = 16;

/// Storages by number: what they hold, and their bytes.
type Storages = HashMap<String, (Element, Bytes)>;

pub(super) fn read(bytes: &Bytes) -> Result<Weights> {
    let entry = |name: &str| entry(bytes, name)?.ok_or_else(|| invalid(format!("the tar archive has no {name}; not a PyTorch checkpoint")));
    let storages = storages(&entry("storages")?).map_err(|e| e.within("storages"))?;
    let tensors = tensors(&entry("tensors")?, &storages).map_err(|e| e.within("tensors"))?;
    let values = load_with(&mut Cursor::new(&entry("pickle")?), &tensors).map_err(|e| e.within("pickle"))?;
    let mut budget = Budget::of(bytes.len());
    let mut weights = Weights::default();
    for (name, view) in state::tensors(&values)? {
        let within = |e: Error| e.within(format!("tensor {name:?}"));
        let (_, storage) = storages.get(&view.storage.key).ok_or_else(|| within(invalid("its storage is missing")))?;
        match tensor(view, storage, &mut budget).map_err(within)? {
            Some(tensor) => weights.insert(name.to_owned(), tensor)?,
            None => weights.skip(name.to_owned()),
        }
    }
    Ok(weights)
}

/// The bytes of the entry `name`.
fn entry(bytes: &Bytes, name: &str) -> Result<Option<Bytes>> {
    let cut = || invalid("the tar archive is damaged or truncated; copy or download it again");
    let mut at = 0;
    while let Some(header) = bytes.get(at..at + BLOCK).map(<[u8]>::to_vec) {
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        // The checksum counts itself as blanks.
        let sum: u64 = header.iter().enumerate().map(|(i, byte)| if (148..156).contains(&i) { 32 } else { u64::from(*byte) }).sum();
        if octal(&header[148..156]) != Some(sum) {
            return Err(cut());
        }
        let len = octal(&header[124..136]).and_then(|len| usize::try_from(len).ok()).ok_or_else(cut)?;
        let (start, regular) = (at + BLOCK, matches!(header[156], 0 | b'0'));
        let end = start.checked_add(len).ok_or_else(cut)?;
        let data = bytes.slice(start..end).ok_or_else(cut)?;
        if regular && header[..100].split(|byte| *byte == 0).next() == Some(name.as_bytes()) {
            return Ok(Some(data));
        }
        at = end.checked_next_multiple_of(BLOCK).ok_or_else(cut)?;
    }
    Ok(None)
}

fn octal(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    u64::from_str_radix(text.trim_matches(['\0', ' ']), 8).ok()
}

/// The whole number that a value is.
fn number(values: &Values, at: Option<&Ref>) -> Result<i128> {
    match at.map(|at| values.get(*at)) {
        Some(Value::Int(number)) => Ok(*number),
        _ => Err(invalid("a number is missing")),
    }
}

fn size(number: i128) -> Result<usize> {
    usize::try_from(number).map_err(|_| invalid(format!("{number} is no size")))
}

fn count(cursor: &mut Cursor<'_>) -> Result<i128> {
    if let Value::Int(count) = load(cursor)?.top() { Ok(*count) } else { Err(invalid("it does not begin with a number")) }
}

fn long(cursor: &mut Cursor<'_>) -> Result<usize> {
    size(i64::from_le_bytes(cursor.array()?).into())
}

fn storages(bytes: &Bytes) -> Result<Storages> {
    let mut cursor = Cursor::new(bytes);
    let mut found = Storages::new();
    for _ in 0..count(&mut cursor)? {
        let values = load(&mut cursor)?;
        let Value::Tuple(facts) = values.top() else { return Err(invalid("a storage has no number and type")) };
        let (key, Some(kind)) = (number(&values, facts.first())?, facts.get(2)) else { return Err(invalid("a storage has no type")) };
        let Value::Global(Known::Storage(element)) = values.get(*kind) else { return Err(invalid("a storage has no type")) };
        let len = long(&mut cursor)?.checked_mul(element.size()).ok_or_else(|| invalid("a storage is too large"))?;
        let start = cursor.at();
        cursor.take(len)?;
        let data = bytes.slice(start..start + len).ok_or_else(|| invalid("it ends within a storage"))?;
        found.insert(key.to_string(), (*element, data));
    }
    let views = load(&mut cursor)?;
    let Value::List(list) = views.top() else { return Err(invalid("the list of parts is missing")) };
    for part in list {
        let Value::Tuple(part) = views.get(*part) else { return Err(invalid("a part of a storage is no tuple")) };
        let facts = (0..4).map(|i| number(&views, part.get(i))).collect::<Result<Vec<_>>>()?;
        let (element, root) = found.get(&facts[1].to_string()).ok_or_else(|| invalid("a part's storage is missing"))?.clone();
        let bytes = |count: i128| size(count)?.checked_mul(element.size()).ok_or_else(|| invalid("a part is too large"));
        let (start, len) = (bytes(facts[2])?, bytes(facts[3])?);
        let data = start.checked_add(len).and_then(|end| root.slice(start..end));
        found.insert(facts[0].to_string(), (element, data.ok_or_else(|| invalid("a part reaches outside its storage"))?));
    }
    Ok(found)
}

/// Tensors by number.
fn tensors(bytes: &Bytes, storages: &Storages) -> Result<HashMap<String, View>> {
    let mut cursor = Cursor::new(bytes);
    let mut found = HashMap::new();
    for _ in 0..count(&mut cursor)? {
        let values = load(&mut cursor)?;
        let Value::Tuple(facts) = values.top() else { return Err(invalid("a tensor has no number and storage")) };
        let (id, key) = (number(&values, facts.first())?.to_string(), number(&values, facts.get(1))?.to_string());
        let (element, data) = storages.get(&key).ok_or_else(|| invalid("a tensor's storage is missing"))?;
        let dimensions = i32::from_le_bytes(cursor.array()?);
        cursor.take(4)?;
        if !(0..=DIMENSIONS_MAX).contains(&dimensions) {
            return Err(invalid(format!("a tensor of {dimensions} dimensions")));
        }
        let mut sizes = || (0..dimensions).map(|_| long(&mut cursor)).collect::<Result<Vec<_>>>();
        let (shape, strides) = (sizes()?, sizes()?);
        let storage = Storage { key, element: *element, len: data.len() / element.size(), part: None };
        found.insert(id, View { storage, offset: long(&mut cursor)?, shape, strides });
    }
    Ok(found)
}
