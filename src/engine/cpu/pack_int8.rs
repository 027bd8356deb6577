//! A matrix -> int8 panels, as [`super::int8`] lays them out.

use half::f16;

use super::dot::bf16_pair;
use super::gemm::PANEL;
use super::int8::{BLOCK, OUTLIER_ROWS, PANEL_BLOCK, PANEL_HEAD, UNITS, panel_bytes};
use super::pack::check_finite;
use crate::engine::weights::Weight;
use crate::error::Result;

/// Packs `weight` (outputs, `depth`) into `panels`, zeros at first, a multiple of a panel's numbers; the inputs `outliers` go to the
/// bf16 rows.
pub(super) fn pack(weight: &Weight, depth: usize, outliers: &[u32], panels: &mut [f32]) -> Result<()> {
    // A whole number of blocks; what lies beyond the depth stays zero.
    let mut row = vec![0f32; depth.next_multiple_of(BLOCK)];
    let size = panel_bytes(depth) / 4;
    let mut output = 0;
    for tensor in &weight.tensors {
        for i in 0..tensor.rows() {
            tensor.row(i, &mut row[..depth]);
            check_finite(&row, weight)?;
            let panel = &mut panels[output / PANEL * size..][..size];
            pack_output(&mut row, outliers, panel, output % PANEL);
            output += 1;
        }
    }
    Ok(())
}

/// The panel as the bytes that it is read as.
fn bytes_of(panel: &mut [f32]) -> &mut [u8] {
    // SAFETY: any f32 is four bytes, of alignment 1, and any four bytes are an f32.
    unsafe { std::slice::from_raw_parts_mut(panel.as_mut_ptr().cast(), panel.len() * 4) }
}

/// Writes one output's weights into column `column` of its panel.
fn pack_output(row: &mut [f32], outliers: &[u32], panel: &mut [f32], column: usize) {
    for (pair, inputs) in outliers.chunks(2).enumerate() {
        let mut weight = |i: usize| inputs.get(i).map_or(0.0, |input| std::mem::take(&mut row[*input as usize]));
        panel[(OUTLIER_ROWS + pair) * PANEL + column] = f32::from_bits(bf16_pair([weight(0), weight(1)]));
    }
    let unit = unit(largest(row) / 127.0);
    let mut total = 0f64;
    let bytes = bytes_of(panel);
    for (block, part) in row.chunks_exact(BLOCK).zip(bytes[PANEL_HEAD..].chunks_exact_mut(PANEL_BLOCK)) {
        let (scale, inverse) = scale(block, unit);
        part[column * 2..column * 2 + 2].copy_from_slice(&scale.to_ne_bytes());
        let (q, sum) = quantise(block, inverse);
        for (k, four) in q.as_chunks::<4>().0.iter().enumerate() {
            part[PANEL * 2 + (k * PANEL + column) * 4..][..4].copy_from_slice(four);
        }
        total += f64::from(sum) * f64::from(scale.to_f32()) * f64::from(unit);
    }
    panel[column] = total as f32;
    panel[UNITS * PANEL + column] = unit;
}

/// The power of two at or below an output's largest scale: divided by it, scales from 2^-14 of the largest on are exact in f16 to
/// 11 bits, however small or large the weights are, and nothing is lost by the division.
fn unit(scale: f32) -> f32 {
    let power = f32::from_bits(scale.to_bits() & f32::INFINITY.to_bits());
    if power > 0.0 { power } else { f32::MIN_POSITIVE }
}

/// A block's numbers as the bytes of i8, and their sum.
fn quantise(block: &[f32], inverse: f32) -> ([u8; BLOCK], i32) {
    // Adding 1.5 * 2^23 rounds to nearest and leaves the whole number in the lowest bits: in vectors, where a call would round
    // one number at a time.
    const MAGIC: f32 = 12_582_912.0;
    let (mut q, mut sum) = ([0; BLOCK], 0);
    for (q, x) in q.iter_mut().zip(block) {
        let whole = ((x * inverse).clamp(-127.0, 127.0) + MAGIC).to_bits().wrapping_sub(MAGIC.to_bits());
        *q = whole as u8;
        sum += whole.cast_signed();
    }
    (q, sum)
}

/// A block's scale as Q8_0 defines it, in units, and the factor that quantises: that of the rounded scale, which brings a block
/// that was Q8_0 in the file back to the very numbers it had.
fn scale(block: &[f32], unit: f32) -> (f16, f32) {
    let scale = f16::from_f32(largest(block) / 127.0 / unit);
    let rounded = scale.to_f32() * unit;
    // A block too small for the unit, or a scale whose inverse f32 cannot hold, is zero beside its neighbours.
    let inverse = 1.0 / rounded;
    if inverse.is_finite() { (scale, inverse) } else { (f16::ZERO, 0.0) }
}

/// The largest number without its sign: without a sign, bits are ordered as the numbers are, and that is found in vectors.
fn largest(numbers: &[f32]) -> f32 {
    f32::from_bits(numbers.iter().fold(0, |m, x| x.abs().to_bits().max(m)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Role;
    use crate::quant::{Bytes, Dtype, Tensor};

    #[test]
    fn every_weight_is_within_half_a_step_and_outliers_are_bf16() {
        // However small or large: a scale that f16 holds as zero or not at all would make the weights vanish.
        [1.0, 1e-9, 1e-30, 1e12, 1e30].into_iter().for_each(check_weights_of_size);
    }

    fn check_weights_of_size(size: f32) {
        let (outputs, depth) = (40, 70);
        let value = |o: usize, k: usize| (((o * 31 + k * 17) % 101) as f32 / 50.0 - 1.0) * size;
        let bytes: Vec<u8> = (0..outputs * depth).flat_map(|i| value(i / depth, i % depth).to_le_bytes()).collect();
        let tensor = Tensor::new(Dtype::F32, vec![outputs, depth], Bytes::owned(bytes)).unwrap();
        let weight = Weight { name: "w".into(), role: Role::Matrix, tensors: vec![tensor] };
        let mut panels = vec![0f32; panel_bytes(depth) / 4 * 2];
        pack(&weight, depth, &[5, 64], &mut panels).unwrap();
        for o in 0..64 {
            let panel = &mut panels[o / PANEL * panel_bytes(depth) / 4..][..panel_bytes(depth) / 4];
            let (column, mut sum) = (o % PANEL, 0.0);
            let at = |row: usize| panel[row * PANEL + column];
            let pair = at(OUTLIER_ROWS).to_bits();
            let (head, unit) = (at(0), at(UNITS));
            let kept = [pair << 16, pair & 0xffff_0000].map(f32::from_bits);
            let bytes = bytes_of(panel);
            for k in 0..depth.next_multiple_of(BLOCK) {
                let block = &bytes[PANEL_HEAD + k / BLOCK * PANEL_BLOCK..][..PANEL_BLOCK];
                let scale = f16::from_ne_bytes([block[column * 2], block[column * 2 + 1]]).to_f32() * unit;
                let q = i32::from(block[PANEL * 2 + (k % BLOCK / 4 * PANEL + column) * 4 + k % 4] as i8);
                let outlier = [5, 64].iter().position(|x| *x == k);
                let truth = if o < outputs && k < depth { value(o, k) } else { 0.0 };
                match outlier {
                    Some(i) => assert!(q == 0 && (kept[i] - truth).abs() <= truth.abs() / 256.0, "output {o}, input {k}"),
                    None => assert!((q as f32 * scale - truth).abs() <= scale * 0.57, "output {o}, input {k}: {q} * {scale}, {truth}"),
                }
                sum += q as f32 * scale;
            }
            assert!((head - sum).abs() < 1e-4 * size);
        }
    }
}
