//! Where are the numbers of a constant?
//!
//! In the file, as raw bytes or as a list of numbers; or in a file beside it.

use std::collections::BTreeMap;

use super::super::checkpoint::join;

use super::super::source::inside;
use super::{Source, invalid};
use crate::error::{ErrorKind, Result, fail};
use crate::quant::protobuf::{Message, Value};
use crate::quant::{Bytes, Dtype};

/// What numbers a constant holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Numbers that are computed with; doubles are read as F32.
    Float(Dtype),
    /// Whole numbers of 8 bits, which quantised graphs have for weights.
    Byte,
    /// Anything else: whole numbers that say how the graph is computed.
    Other,
}

/// A constant of a graph (`TensorProto`).
#[derive(Debug)]
pub(super) struct Constant {
    pub(super) kind: Kind,
    pub(super) shape: Vec<usize>,
    double: bool,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Nowhere,
    /// Numbers as they lie in memory, little endian.
    Raw(Bytes),
    /// Numbers of 16 bits as numbers of the wire format.
    Narrow(Bytes),
    /// A file beside the graph's.
    Outside {
        file: String,
        offset: usize,
        len: Option<usize>,
    },
}

/// `TensorProto.DataType`.
const FLOAT: i64 = 1;
const BYTES: [i64; 2] = [2, 3];
const HALF: i64 = 10;
const DOUBLE: i64 = 11;
const BFLOAT: i64 = 16;

impl Constant {
    /// The name and the constant that a message holds.
    pub(super) fn read(message: Message) -> Result<(String, Constant)> {
        let (mut name, mut shape, mut dtype) = (String::new(), Vec::new(), 0);
        let (mut place, mut outside, mut external) = (Place::Nowhere, Vec::new(), false);
        for field in message {
            match field? {
                (1, dims) => shape.extend(dims.ints()?),
                (2, number) => dtype = number.int()?,
                (3, _) => return fail(ErrorKind::Unsupported, "a constant in segments"),
                (4 | 9 | 10, Value::Bytes(bytes)) => put(&mut place, Place::Raw(bytes))?,
                (5, Value::Bytes(bytes)) => put(&mut place, Place::Narrow(bytes))?,
                (8, text) => name = text.text()?,
                (13, entry) => outside.push(pair(entry.message()?)?),
                (14, number) => external = number.int()? == 1,
                _ => {}
            }
        }
        if external {
            place = self::outside(&outside)?;
        }
        let shape: Option<Vec<usize>> = shape.into_iter().map(|d| usize::try_from(d).ok()).collect();
        let shape = shape.ok_or_else(|| invalid(format!("tensor {name:?} has a negative size")))?;
        let kind = match dtype {
            FLOAT | DOUBLE => Kind::Float(Dtype::F32),
            HALF => Kind::Float(Dtype::F16),
            BFLOAT => Kind::Float(Dtype::Bf16),
            other if BYTES.contains(&other) => Kind::Byte,
            _ => Kind::Other,
        };
        Ok((name, Constant { kind, shape, double: dtype == DOUBLE, place }))
    }

    /// The numbers of a constant of the kind `Float`.
    pub(super) fn bytes(&self, files: &mut Files<'_>) -> Result<Bytes> {
        let Kind::Float(dtype) = self.kind else { return Err(invalid("it holds no floats")) };
        let size = if self.double { 8 } else { dtype.block_bytes() };
        let wanted = self.shape.iter().try_fold(size, |n, d| n.checked_mul(*d));
        let wanted = wanted.ok_or_else(|| invalid(format!("shape {:?} is too large", self.shape)))?;
        let bytes = match &self.place {
            Place::Raw(bytes) => bytes.clone(),
            Place::Narrow(bytes) if size == 2 => narrow(bytes)?,
            Place::Outside { file, offset, len } => files.range(file, *offset, len.unwrap_or(wanted))?,
            Place::Narrow(_) | Place::Nowhere => Bytes::owned([0u8; 0]),
        };
        if bytes.len() != wanted {
            return Err(invalid(format!("{} bytes do not hold its shape {:?}", bytes.len(), self.shape)));
        }
        if self.double {
            let floats = bytes.as_chunks().0.iter().flat_map(|v| (f64::from_le_bytes(*v) as f32).to_le_bytes());
            return Ok(Bytes::owned(floats.collect::<Vec<u8>>()));
        }
        Ok(bytes)
    }
}

fn put(place: &mut Place, found: Place) -> Result<()> {
    match place {
        Place::Nowhere => *place = found,
        _ => return Err(invalid("a constant has its numbers twice")),
    }
    Ok(())
}

/// `StringStringEntryProto`.
fn pair(message: Message) -> Result<(String, String)> {
    let mut pair = (String::new(), String::new());
    for field in message {
        match field? {
            (1, key) => pair.0 = key.text()?,
            (2, value) => pair.1 = value.text()?,
            _ => {}
        }
    }
    Ok(pair)
}

fn outside(pairs: &[(String, String)]) -> Result<Place> {
    let find = |key: &str| pairs.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str());
    let number = |key: &str| match find(key) {
        None => Ok(None),
        Some(digits) => digits.parse().map(Some).map_err(|_| invalid(format!("{key} of its external data is {digits:?}, no size"))),
    };
    match find("location") {
        Some(file) => Ok(Place::Outside { file: file.to_owned(), offset: number("offset")?.unwrap_or(0), len: number("length")? }),
        None => Err(invalid("its external data has no location")),
    }
}

/// The files beside the graph's, each opened once.
pub(super) struct Files<'a> {
    source: &'a Source,
    /// The folder of the graph's file.
    dir: &'a str,
    open: BTreeMap<String, Bytes>,
}

impl<'a> Files<'a> {
    pub(super) fn of(source: &'a Source, dir: &'a str) -> Files<'a> {
        Files { source, dir, open: BTreeMap::new() }
    }

    /// Bytes of those that were opened.
    pub(super) fn len(&self) -> usize {
        self.open.values().map(|bytes| bytes.len()).sum()
    }

    fn range(&mut self, file: &str, offset: usize, len: usize) -> Result<Bytes> {
        // Asked of the name itself: joined to a folder, "../x" would stay within the model.
        let Some(file) = inside(file) else { return Err(invalid(format!("its external data {file:?} leaves the model's folder"))) };
        if !self.open.contains_key(&file) {
            let bytes = self.source.require_mapped(&join(self.dir, &file))?;
            self.open.insert(file.clone(), bytes);
        }
        let bytes = &self.open[&file];
        let range = offset.checked_add(len).and_then(|end| bytes.slice(offset..end));
        range.ok_or_else(|| invalid(format!("it ends behind byte {} of {file}; truncated", bytes.len())))
    }
}

/// Numbers of 16 bits.
fn narrow(list: &Bytes) -> Result<Bytes> {
    let mut bytes = Vec::new();
    for number in Value::Bytes(list.clone()).ints()? {
        let bits = u16::try_from(number).map_err(|_| invalid(format!("{number} is no number of 16 bits")))?;
        bytes.extend_from_slice(&bits.to_le_bytes());
    }
    Ok(Bytes::owned(bytes))
}
