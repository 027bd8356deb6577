//! Which element types can a tensor have, and what is the f32 value of each element?
//!
//! Everything that is known of a type is one row of [`ROWS`]; the files beside this one define the types' blocks.

use super::{floats, iq4_nl, k_quants, q4, q5, q8_0};
use crate::error::{ErrorKind, Result, fail};
use k_quants::{q2_k, q3_k, q6_k, q8_k, q45_k};

/// The element type of a [`Tensor`](super::Tensor).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dtype {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of a binary32.
    Bf16,
    /// 8 bits, a scale for each 32.
    Q8_0,
    /// 4 bits, a scale for each 32.
    Q4_0,
    /// 4 bits, scale and minimum for each 32.
    Q4_1,
    /// 5 bits, a scale for each 32.
    Q5_0,
    /// 5 bits, scale and minimum for each 32.
    Q5_1,
    /// 2 bits, super-blocks of 256.
    Q2K,
    /// 3 bits, super-blocks of 256.
    Q3K,
    /// 4 bits, super-blocks of 256.
    Q4K,
    /// 5 bits, super-blocks of 256.
    Q5K,
    /// 6 bits, super-blocks of 256.
    Q6K,
    /// 8 bits, super-blocks of 256.
    Q8K,
    /// 4 bits that choose among 16 uneven levels, a scale for each 32.
    Iq4Nl,
    /// IEEE 754 binary64; the engine refuses it.
    F64,
    /// Signed 8-bit integers; the engine refuses them.
    I8,
    /// Signed 16-bit integers; the engine refuses them.
    I16,
    /// Signed 32-bit integers; the engine refuses them.
    I32,
    /// Signed 64-bit integers: position buffers that old checkpoints carry; the engine refuses them.
    I64,
}

/// How blocks become values and back; lengths have been compared.
struct Codec {
    dequantise: fn(&[u8], &mut [f32]),
    quantise: fn(&[f32], &mut [u8]),
}

/// What is known of a type.
struct Row {
    dtype: Dtype,
    /// ggml's name, which is also safetensors' where that has the type.
    name: &'static str,
    in_safetensors: bool,
    /// The number of `ggml_type`, which GGUF files hold.
    ggml: u32,
    /// Values of a block.
    elements: usize,
    /// Bytes of a block.
    bytes: usize,
    /// `None` for types that are not computed with.
    codec: Option<Codec>,
}

/// A row of ROWS that the engine computes with.
macro_rules! float {
    ($dtype:ident, $name:literal, $safe:literal, $ggml:literal, $elements:expr, $bytes:expr, $dequantise:path, $quantise:path) => {
        Row {
            dtype: Dtype::$dtype,
            name: $name,
            in_safetensors: $safe,
            ggml: $ggml,
            elements: $elements,
            bytes: $bytes,
            codec: Some(Codec { dequantise: $dequantise, quantise: $quantise }),
        }
    };
}

/// A row of ROWS that only has a name and a size.
macro_rules! named {
    ($dtype:ident, $name:literal, $ggml:literal, $bytes:literal) => {
        Row { dtype: Dtype::$dtype, name: $name, in_safetensors: true, ggml: $ggml, elements: 1, bytes: $bytes, codec: None }
    };
}

/// Every type, in the order of [`Dtype`].
const ROWS: &[Row] = &[
    float!(F32, "F32", true, 0, 1, 4, floats::dequantise_f32, floats::quantise_f32),
    float!(F16, "F16", true, 1, 1, 2, floats::dequantise_f16, floats::quantise_f16),
    float!(Bf16, "BF16", true, 30, 1, 2, floats::dequantise_bf16, floats::quantise_bf16),
    float!(Q8_0, "Q8_0", false, 8, q8_0::ELEMENTS, q8_0::BYTES, q8_0::dequantise, q8_0::quantise),
    float!(Q4_0, "Q4_0", false, 2, q4::ELEMENTS, q4::BYTES_0, q4::dequantise_0, q4::quantise_0),
    float!(Q4_1, "Q4_1", false, 3, q4::ELEMENTS, q4::BYTES_1, q4::dequantise_1, q4::quantise_1),
    float!(Q5_0, "Q5_0", false, 6, q5::ELEMENTS, q5::BYTES_0, q5::dequantise_0, q5::quantise_0),
    float!(Q5_1, "Q5_1", false, 7, q5::ELEMENTS, q5::BYTES_1, q5::dequantise_1, q5::quantise_1),
    float!(Q2K, "Q2_K", false, 10, k_quants::ELEMENTS, q2_k::BYTES, q2_k::dequantise, q2_k::quantise),
    float!(Q3K, "Q3_K", false, 11, k_quants::ELEMENTS, q3_k::BYTES, q3_k::dequantise, q3_k::quantise),
    float!(Q4K, "Q4_K", false, 12, k_quants::ELEMENTS, q45_k::BYTES_4, q45_k::dequantise_4, q45_k::quantise_4),
    float!(Q5K, "Q5_K", false, 13, k_quants::ELEMENTS, q45_k::BYTES_5, q45_k::dequantise_5, q45_k::quantise_5),
    float!(Q6K, "Q6_K", false, 14, k_quants::ELEMENTS, q6_k::BYTES, q6_k::dequantise, q6_k::quantise),
    float!(Q8K, "Q8_K", false, 15, k_quants::ELEMENTS, q8_k::BYTES, q8_k::dequantise, q8_k::quantise),
    float!(Iq4Nl, "IQ4_NL", false, 20, iq4_nl::ELEMENTS, iq4_nl::BYTES, iq4_nl::dequantise, iq4_nl::quantise),
    named!(F64, "F64", 28, 8),
    named!(I8, "I8", 24, 1),
    named!(I16, "I16", 25, 2),
    named!(I32, "I32", 26, 4),
    named!(I64, "I64", 27, 8),
];

impl Dtype {
    /// Every type.
    pub fn all() -> impl Iterator<Item = Dtype> {
        ROWS.iter().map(|row| row.dtype)
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    fn find(wanted: impl Fn(&Row) -> bool) -> Option<Dtype> {
        ROWS.iter().find(|row| wanted(row)).map(|row| row.dtype)
    }

    /// The type of that name (`F16`, `Q8_0`, `Q4_K`), in upper or lower case.
    pub fn from_name(name: &str) -> Option<Dtype> {
        Self::find(|row| row.name.eq_ignore_ascii_case(name))
    }

    /// The type of that name in a safetensors file.
    pub fn from_safetensors(name: &str) -> Option<Dtype> {
        Self::find(|row| row.in_safetensors && row.name == name)
    }

    /// The type of that `ggml_type` number, which GGUF files hold.
    pub fn from_ggml(number: u32) -> Option<Dtype> {
        Self::find(|row| row.ggml == number)
    }

    /// The name: ggml's, which is also safetensors' where that has the type.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The name in a safetensors file, `None` where those do not have the type.
    pub fn safetensors_name(self) -> Option<&'static str> {
        self.row().in_safetensors.then_some(self.row().name)
    }

    /// The `ggml_type` number.
    pub fn ggml(self) -> u32 {
        self.row().ggml
    }

    /// Values of a block: the fewest that can be stored.
    pub fn block_elements(self) -> usize {
        self.row().elements
    }

    /// Bytes of a block.
    pub fn block_bytes(self) -> usize {
        self.row().bytes
    }

    /// Bytes of `elements` values, `None` unless they are whole blocks (or where the number overflows).
    pub fn bytes_of(self, elements: usize) -> Option<usize> {
        let Row { elements: block, bytes, .. } = self.row();
        if elements.is_multiple_of(*block) { (elements / block).checked_mul(*bytes) } else { None }
    }

    /// Whether the engine computes with this type.
    pub fn is_float(self) -> bool {
        self.row().codec.is_some()
    }

    /// Whether several values share a scale.
    pub fn is_quantised(self) -> bool {
        self.row().elements > 1
    }

    /// Writes the f32 values of `bytes` (little endian, whole blocks, any alignment) to `out`.
    ///
    /// # Panics
    /// If the lengths do not match, or for a type that the engine refuses: the loader has checked both before.
    pub fn widen(self, bytes: &[u8], out: &mut [f32]) {
        assert_eq!(self.bytes_of(out.len()), Some(bytes.len()), "widen: lengths differ");
        let Some(codec) = &self.row().codec else { unreachable!("tensors of type {} are never computed with", self.name()) };
        (codec.dequantise)(bytes, out);
    }

    /// The bytes of `values` in this type, equal to those that ggml writes. Values that are not finite, or blocks whose scale
    /// is beyond what the type holds, give bytes whose values are not finite or not near.
    ///
    /// # Errors
    /// `InvalidArgument` unless `values` are whole blocks, or for a type that the engine refuses.
    pub fn quantise(self, values: &[f32]) -> Result<Vec<u8>> {
        let Row { name, elements, codec, .. } = self.row();
        let Some(codec) = codec else { return fail(ErrorKind::InvalidArgument, format!("numbers are not stored as {name} here")) };
        let Some(len) = self.bytes_of(values.len()) else {
            let told = format!("{} values are no whole blocks of {name}, which take {elements} each", values.len());
            return fail(ErrorKind::InvalidArgument, told);
        };
        let mut bytes = vec![0; len];
        (codec.quantise)(values, &mut bytes);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_types_and_no_name_or_number_occurs_twice() {
        for (i, row) in ROWS.iter().enumerate() {
            assert_eq!(row.dtype as usize, i, "{}", row.name);
            assert_eq!(Dtype::from_name(row.name), Some(row.dtype));
            assert_eq!(Dtype::from_name(&row.name.to_lowercase()), Some(row.dtype));
            assert_eq!(Dtype::from_ggml(row.ggml), Some(row.dtype));
            assert_eq!(Dtype::from_safetensors(row.name).is_some(), row.in_safetensors);
        }
        assert_eq!(Dtype::from_name("F8_E4M3"), None);
        assert_eq!(Dtype::from_safetensors("Q8_0"), None);
        assert_eq!(Dtype::from_ggml(u32::MAX), None);
    }

    #[test]
    fn floats_widen_to_their_exact_value() {
        let mut out = [0f32; 3];
        let values = [1.5f32, -0.25, 65504.0];
        Dtype::F32.widen(&values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>(), &mut out);
        assert_eq!(out, values);
        Dtype::F16.widen(&[0x00, 0x3e, 0x00, 0xb4, 0xff, 0x7b], &mut out);
        assert_eq!(out, values);
        Dtype::Bf16.widen(&[0xc0, 0x3f, 0x80, 0xbe, 0x80, 0x47], &mut out);
        assert_eq!(out, [1.5, -0.25, 65536.0]);
    }

    #[test]
    fn what_is_not_whole_blocks_or_not_a_float_is_refused() {
        for dtype in Dtype::all() {
            let (block, bytes) = (dtype.block_elements(), dtype.block_bytes());
            assert_eq!(dtype.bytes_of(3 * block), Some(3 * bytes));
            if dtype.is_quantised() {
                assert_eq!(dtype.bytes_of(block + 1), None);
                let e = dtype.quantise(&vec![0.0; block - 1]).unwrap_err();
                assert!(e.kind() == ErrorKind::InvalidArgument && e.message().contains(dtype.name()), "{e}");
            }
            assert_eq!(dtype.quantise(&vec![0.0; block]).is_ok(), dtype.is_float(), "{}", dtype.name());
        }
    }

    #[test]
    fn no_value_makes_a_block_panic_and_every_byte_has_a_value() {
        let hostile = [0.0, -0.0, 1.0, f32::MIN_POSITIVE / 4.0, f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-30];
        let mut seed = 1u32;
        let mut next = |n: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed as usize / 65536 % n
        };
        for dtype in Dtype::all().filter(|t| t.is_float()) {
            for _ in 0..50 {
                let values: Vec<f32> = (0..dtype.block_elements()).map(|_| hostile[next(hostile.len())]).collect();
                dtype.quantise(&values).unwrap();
                let bytes: Vec<u8> = (0..dtype.block_bytes()).map(|_| next(256) as u8).collect();
                dtype.widen(&bytes, &mut vec![0.0; dtype.block_elements()]);
            }
        }
    }
}
