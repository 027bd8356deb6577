//! Which element types can a tensor have, and what is the f32 value of each element?

use half::{bf16, f16};

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
    /// Signed 64-bit integers: position buffers that old checkpoints carry.
    I64,
}

impl Dtype {
    /// Every type, with the name that safetensors gives it.
    pub const ALL: [(Dtype, &'static str); 4] = [(Dtype::F32, "F32"), (Dtype::F16, "F16"), (Dtype::Bf16, "BF16"), (Dtype::I64, "I64")];

    /// The type of that name, as safetensors writes it.
    pub fn from_name(name: &str) -> Option<Dtype> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(t, _)| *t)
    }

    /// The name, as safetensors writes it.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::F32 => "F32",
            Dtype::F16 => "F16",
            Dtype::Bf16 => "BF16",
            Dtype::I64 => "I64",
        }
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Dtype::F32 => 4,
            Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::I64 => 8,
        }
    }

    /// Whether the engine computes with this type.
    pub fn is_float(self) -> bool {
        self != Dtype::I64
    }

    /// Writes the f32 values of `bytes` (little endian, any alignment) to `out`, one an element.
    ///
    /// # Panics
    /// If the lengths differ, or for an integer type: the loader refuses both before.
    pub fn widen(self, bytes: &[u8], out: &mut [f32]) {
        assert_eq!(bytes.len(), out.len() * self.size(), "widen: lengths differ");
        match self {
            Dtype::F32 => widen_each(bytes, out, f32::from_le_bytes),
            Dtype::F16 => widen_each(bytes, out, |b| f16::from_le_bytes(b).to_f32()),
            Dtype::Bf16 => widen_each(bytes, out, |b| bf16::from_le_bytes(b).to_f32()),
            Dtype::I64 => unreachable!("integer tensors are never computed with"),
        }
    }
}

fn widen_each<const N: usize>(bytes: &[u8], out: &mut [f32], value: impl Fn([u8; N]) -> f32) {
    let (elements, _) = bytes.as_chunks::<N>();
    for (o, b) in out.iter_mut().zip(elements) {
        *o = value(*b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_types_are_the_same_table() {
        for (t, name) in Dtype::ALL {
            assert_eq!(t.name(), name);
            assert_eq!(Dtype::from_name(name), Some(t));
        }
        assert_eq!(Dtype::from_name("F8_E4M3"), None);
    }

    #[test]
    fn every_type_widens_to_its_exact_value() {
        let mut out = [0f32; 3];
        let values = [1.5f32, -0.25, 65504.0];
        Dtype::F32.widen(&values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>(), &mut out);
        assert_eq!(out, values);
        Dtype::F16.widen(&[0x00, 0x3e, 0x00, 0xb4, 0xff, 0x7b], &mut out);
        assert_eq!(out, values);
        Dtype::Bf16.widen(&[0xc0, 0x3f, 0x80, 0xbe, 0x80, 0x47], &mut out);
        assert_eq!(out, [1.5, -0.25, 65536.0]);
    }
}
