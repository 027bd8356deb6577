//! Where does each tensor lie in a GGUF file?
//!
//! Everything that the file states is checked against its length before a tensor is made: counts, lengths, types, shapes,
//! alignment, and that the tensors' bytes follow one another without overlap or hole.

use std::collections::BTreeMap;

use super::cursor::Cursor;
use super::{ALIGNMENT, ALIGNMENT_KEY, DIMENSIONS_MAX, MAGIC, Metadata};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::{Bytes, Dtype, Tensor};

/// The fewest bytes of a setting (key length, type, value) and of a tensor's description.
const SETTING_LEAST: usize = 8 + 4 + 1;
const TENSOR_LEAST: usize = 8 + 4 + 4 + 8;

/// A larger alignment is damage: a file would be mostly padding.
const ALIGNMENT_MAX: u64 = 1 << 20;

/// ggml's types that are not read, for messages.
const OTHER_TYPES: &[(u32, &str)] = &[
    (9, "Q8_1"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (23, "IQ4_XS"),
    (29, "IQ1_M"),
    (34, "TQ1_0"),
    (35, "TQ2_0"),
    (39, "MXFP4"),
];

/// An opened file: checked, its tensors sharing its bytes.
#[derive(Debug)]
pub struct Reader {
    version: u32,
    alignment: usize,
    metadata: Metadata,
    tensors: Vec<(String, Tensor)>,
    places: BTreeMap<String, usize>,
}

impl Reader {
    /// Reads a file.
    ///
    /// # Errors
    /// `InvalidFile` when the file is cut off or contradicts itself, `Unsupported` for version 1, big-endian files and element
    /// types that [`Dtype`] does not have. The message says where, and names setting or tensor.
    pub fn open(bytes: &Bytes) -> Result<Reader> {
        let mut cursor = Cursor::new(bytes);
        let version = read_version(&mut cursor)?;
        let tensors = cursor.count(TENSOR_LEAST, "a file of", "tensors")?;
        let settings = cursor.count(SETTING_LEAST, "a file of", "settings")?;
        let metadata = Metadata::read(settings, &mut cursor)?;
        let alignment = alignment(&metadata)?;
        let claims: Vec<Claim> = (0..tensors).map(|index| Claim::read(index, &mut cursor)).collect::<Result<_>>()?;
        let places = unique(&claims)?;
        let start = cursor.at().next_multiple_of(alignment);
        check_tiling(&claims, bytes.len().saturating_sub(start), alignment)?;
        let tensors = claims.into_iter().map(|claim| claim.tensor(start, bytes)).collect::<Result<_>>()?;
        Ok(Reader { version, alignment, metadata, tensors, places })
    }

    /// Whether a file that begins with these bytes is to be read as GGUF.
    pub fn recognises(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Tensors begin at multiples of so many bytes.
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// The settings.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Names and tensors in the order of the file. Shapes are outermost first, as everywhere here; the file has them reversed.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// The tensor of that name.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.places.get(name).map(|place| &self.tensors[*place].1)
    }
}

fn read_version(cursor: &mut Cursor<'_>) -> Result<u32> {
    if cursor.take::<4>()? != *MAGIC {
        return fail(ErrorKind::InvalidFile, "the file does not begin with GGUF; it is of another format, or damaged");
    }
    match cursor.u32()? {
        version @ (2 | 3) => Ok(version),
        1 => fail(ErrorKind::Unsupported, "GGUF version 1; versions 2 and 3 are read: convert the model again with a current llama.cpp"),
        swapped if matches!(swapped.swap_bytes(), 1..=3) => {
            fail(ErrorKind::Unsupported, "a big-endian GGUF file; convert it with llama.cpp's gguf_convert_endian.py ... little")
        }
        other => fail(ErrorKind::Unsupported, format!("GGUF version {other}; versions 2 and 3 are read")),
    }
}

fn alignment(metadata: &Metadata) -> Result<usize> {
    match metadata.count(ALIGNMENT_KEY)? {
        None => Ok(ALIGNMENT as usize),
        Some(n) if n.is_power_of_two() && n <= ALIGNMENT_MAX => Ok(n as usize),
        Some(n) => fail(ErrorKind::InvalidFile, format!("setting {ALIGNMENT_KEY:?} is {n}; expected a power of two up to {ALIGNMENT_MAX}")),
    }
}

/// What the file says of a tensor; its number of bytes is that of its type and shape.
struct Claim {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    offset: u64,
    len: usize,
}

impl Claim {
    fn read(index: usize, cursor: &mut Cursor<'_>) -> Result<Claim> {
        let name = cursor.string().map_err(|e| e.within(format!("the name of tensor {index}")))?;
        Self::read_rest(&name, cursor).map_err(|e| e.within(format!("tensor {name:?}")))
    }

    fn read_rest(name: &str, cursor: &mut Cursor<'_>) -> Result<Claim> {
        let dimensions = cursor.u32()? as usize;
        if dimensions > DIMENSIONS_MAX {
            return fail(ErrorKind::InvalidFile, format!("{dimensions} dimensions; expected at most {DIMENSIONS_MAX}"));
        }
        let mut stated = [0u64; DIMENSIONS_MAX];
        for size in &mut stated[..dimensions] {
            *size = cursor.u64()?;
        }
        let stated = &stated[..dimensions];
        let number = cursor.u32()?;
        let Some(dtype) = Dtype::from_ggml(number) else {
            let other = OTHER_TYPES.iter().find(|(n, _)| *n == number).map(|(_, name)| format!(" ({name})")).unwrap_or_default();
            let known: Vec<_> = Dtype::all().map(Dtype::name).collect();
            return fail(ErrorKind::Unsupported, format!("element type {number}{other} is not supported; supported: {}", known.join(", ")));
        };
        let offset = cursor.u64()?;
        let shape: Option<Vec<usize>> = stated.iter().rev().map(|size| usize::try_from(*size).ok()).collect();
        let sized = shape.and_then(|shape| Tensor::bytes_for(dtype, &shape).map(|len| (shape, len)));
        let Some((shape, len)) = sized else {
            let told = format!("{stated:?} elements (innermost first) of type {} are too many or no whole blocks in a row", dtype.name());
            return fail(ErrorKind::InvalidFile, told);
        };
        Ok(Claim { name: name.to_owned(), dtype, shape, offset, len })
    }

    fn tensor(self, start: usize, bytes: &Bytes) -> Result<(String, Tensor)> {
        let Claim { name, dtype, shape, offset, len } = self;
        // Checked by `check_tiling`; an empty tensor may stand anywhere.
        let begin = if len == 0 { 0 } else { start + offset as usize };
        let found = bytes.slice(begin..begin + len).and_then(|bytes| Tensor::new(dtype, shape, bytes));
        match found {
            Some(tensor) => Ok((name, tensor)),
            None => fail(ErrorKind::InvalidFile, format!("tensor {name:?} does not lie in the file")),
        }
    }
}

fn unique(claims: &[Claim]) -> Result<BTreeMap<String, usize>> {
    let mut places = BTreeMap::new();
    for (place, claim) in claims.iter().enumerate() {
        if places.insert(claim.name.clone(), place).is_some() {
            return fail(ErrorKind::InvalidTensor, format!("tensor {:?} occurs twice", claim.name));
        }
    }
    Ok(places)
}

/// Whether the tensors, by offset, follow one another in `len` bytes, each at the first aligned place behind the one before.
fn check_tiling(claims: &[Claim], len: usize, alignment: usize) -> Result<()> {
    let invalid = |told: String| Err(Error::new(ErrorKind::InvalidFile, told));
    let mut sorted: Vec<&Claim> = claims.iter().filter(|claim| claim.len > 0).collect();
    sorted.sort_by_key(|claim| claim.offset);
    let (mut end, mut last) = (0u64, None);
    for claim in sorted {
        let Claim { name, offset, len: size, .. } = claim;
        if !offset.is_multiple_of(alignment as u64) {
            return invalid(format!(
                "tensor {name:?} begins at byte {offset} of the data, which is no multiple of the alignment {alignment}"
            ));
        }
        match last {
            Some(last) if *offset < end => return invalid(format!("tensors {last:?} and {name:?} overlap at byte {offset} of the data")),
            _ if *offset > end.next_multiple_of(alignment as u64) => {
                return invalid(format!("bytes {end} to {offset} of the data, before tensor {name:?}, belong to no tensor"));
            }
            _ => {}
        }
        match offset.checked_add(*size as u64) {
            Some(after) if after <= len as u64 => (end, last) = (after, Some(name)),
            _ => {
                let told = format!("tensor {name:?} takes {size} bytes from byte {offset} of the data, but there are only {len}");
                return invalid(format!("{told}; cut off, copy or download it again"));
            }
        }
    }
    if len as u64 > end.next_multiple_of(alignment as u64) {
        return invalid(format!("the last {} bytes of the file belong to no tensor", len as u64 - end));
    }
    Ok(())
}
