//! F32, F16 and BF16: one element a block.

use half::{bf16, f16};

use super::block::{read_blocks, write_blocks};

const _: () = assert!(size_of::<f32>() == 4 && size_of::<f16>() == 2 && size_of::<bf16>() == 2);

/// F32: IEEE 754 binary32.
pub(super) fn dequantise_f32(bytes: &[u8], out: &mut [f32]) {
    read_blocks(bytes, out, |b: &[u8; 4], v: &mut [f32; 1]| v[0] = f32::from_le_bytes(*b));
}

/// The bits as they are.
pub(super) fn quantise_f32(values: &[f32], bytes: &mut [u8]) {
    write_blocks(values, bytes, |v: &[f32; 1], b: &mut [u8; 4]| *b = v[0].to_le_bytes());
}

/// F16: IEEE 754 binary16.
pub(super) fn dequantise_f16(bytes: &[u8], out: &mut [f32]) {
    read_blocks(bytes, out, |b: &[u8; 2], v: &mut [f32; 1]| v[0] = f16::from_le_bytes(*b).to_f32());
}

/// To nearest even; beyond ±65504 infinite.
pub(super) fn quantise_f16(values: &[f32], bytes: &mut [u8]) {
    write_blocks(values, bytes, |v: &[f32; 1], b: &mut [u8; 2]| *b = f16::from_f32(v[0]).to_le_bytes());
}

/// BF16: the upper half of a binary32.
pub(super) fn dequantise_bf16(bytes: &[u8], out: &mut [f32]) {
    read_blocks(bytes, out, |b: &[u8; 2], v: &mut [f32; 1]| v[0] = bf16::from_le_bytes(*b).to_f32());
}

/// To nearest even.
pub(super) fn quantise_bf16(values: &[f32], bytes: &mut [u8]) {
    write_blocks(values, bytes, |v: &[f32; 1], b: &mut [u8; 2]| *b = bf16::from_f32(v[0]).to_le_bytes());
}
