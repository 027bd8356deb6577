//! Products of bytes, and the rows that they read: each table against the reference, over the whole range of a byte.

use super::*;
use crate::engine::cpu::dot::{DotTile, QuantiseRow, bf16_pair};
use crate::engine::cpu::int8::{BLOCK, OUTLIER_ROWS, OUTLIERS, PANEL_BLOCK, PANEL_HEAD, RowLayout, UNITS, panel_bytes};

/// Bytes of full-range weights and activations: all extremes, or mixed.
fn extreme(kind: usize, i: usize) -> (i8, u8) {
    match kind {
        0 => (127, 255),
        1 => (-127, 255),
        2 => (-127, 0),
        3 => (if i.is_multiple_of(2) { 127 } else { -127 }, if i.is_multiple_of(3) { 255 } else { 0 }),
        _ => ((i * 7919 % 255) as i8, (i * 104_729 % 256) as u8),
    }
}

/// A panel and a row for each of `rows`, of these kinds.
fn int8_operands(kind: usize, depth: usize, rows: usize, numbers: &mut Numbers) -> (Vec<u8>, Vec<u8>) {
    let layout = RowLayout::new(depth);
    let mut panel = vec![0u8; panel_bytes(depth)];
    let mut head = numbers.take(PANEL_HEAD / 4);
    head[UNITS * PANEL..(UNITS + 1) * PANEL].iter_mut().enumerate().for_each(|(j, unit)| *unit = [0.25, 0.5, 1.0][j % 3]);
    let bf16_pairs = |numbers: &[f32]| -> Vec<f32> { numbers.chunks(2).map(|p| f32::from_bits(bf16_pair([p[0], p[1]]))).collect() };
    head[OUTLIER_ROWS * PANEL..].copy_from_slice(&bf16_pairs(&numbers.take(OUTLIERS * PANEL)));
    let units = head[UNITS * PANEL..(UNITS + 1) * PANEL].to_vec();
    let head: Vec<u8> = head.iter().flat_map(|x| x.to_ne_bytes()).collect();
    panel[..PANEL_HEAD].copy_from_slice(&head);
    for (b, block) in panel[PANEL_HEAD..].chunks_mut(PANEL_BLOCK).enumerate() {
        for j in 0..PANEL {
            block[j * 2..j * 2 + 2].copy_from_slice(&half::f16::from_f32(0.01 + numbers.next().abs()).to_ne_bytes());
        }
        for (i, w) in block[PANEL * 2..].iter_mut().enumerate() {
            // -128 is no weight.
            *w = extreme(kind, b + i).0.max(-127) as u8;
        }
    }
    // The head's first numbers are the sums of the weights: where a kernel takes something from activations, they bring it back.
    for j in 0..PANEL {
        let sum = |block: &[u8]| {
            let scale = half::f16::from_ne_bytes([block[j * 2], block[j * 2 + 1]]).to_f32();
            (0..BLOCK).map(|k| f32::from(block[PANEL * 2 + (k / 4 * PANEL + j) * 4 + k % 4] as i8)).sum::<f32>() * scale
        };
        let total: f32 = panel[PANEL_HEAD..].chunks(PANEL_BLOCK).map(sum).sum::<f32>() * units[j];
        panel[j * 4..j * 4 + 4].copy_from_slice(&total.to_ne_bytes());
    }
    let mut a = vec![0u8; layout.stride * rows];
    for (r, row) in a.chunks_mut(layout.stride).enumerate() {
        let outliers = bf16_pairs(&numbers.take(OUTLIERS));
        let head: Vec<u8> = numbers.take(2).iter().chain(&outliers).flat_map(|x| x.to_ne_bytes()).collect();
        row[..head.len()].copy_from_slice(&head);
        row[RowLayout::DATA..].iter_mut().enumerate().for_each(|(i, x)| *x = extreme(kind, r + i).1);
    }
    (panel, a)
}

#[test]
fn every_int8_tile_agrees_with_the_reference_at_the_extremes() {
    let mut numbers = Numbers(5);
    for table in fast_tables() {
        for (rows, depth) in (1..=table.dot_rows).flat_map(|r| [1, BLOCK, BLOCK + 1, 3 * BLOCK].map(|d| (r, d))) {
            for (kind, outliers) in (0..5).flat_map(|k| [0, 1, OUTLIERS].map(|o| (k, o))) {
                let (panel, a) = int8_operands(kind, depth, rows, &mut numbers);
                let bias = numbers.take(PANEL);
                let layout = RowLayout::new(depth);
                let run = |k: &Kernels| {
                    let mut c = vec![7.0; rows * (PANEL + 3)];
                    for first in (0..rows).step_by(k.dot_rows) {
                        let tile = DotTile {
                            a: a[first * layout.stride..].as_ptr(),
                            layout,
                            panel: panel.as_ptr(),
                            outliers,
                            bias: if kind == 0 { std::ptr::null() } else { bias.as_ptr() },
                            c: c[first * (PANEL + 3)..].as_mut_ptr(),
                            c_stride: PANEL + 3,
                            rows: k.dot_rows.min(rows - first),
                            ahead: Ahead::none(bias.as_ptr()),
                        };
                        // SAFETY: the buffers have these sizes; `all` yields tables that run here.
                        unsafe { (k.dot_tile)(&tile) }
                    }
                    c
                };
                let (fast, slow) = (run(table), run(&reference::KERNELS));
                // The largest sum that a chain of this depth can meet; with AVX2, 128 of each activation comes back at the end.
                let size = depth.next_multiple_of(BLOCK) as f32 * 127.0 * 255.0;
                for (i, (x, y)) in fast.iter().zip(&slow).enumerate() {
                    let told = format!("{} rows {rows} depth {depth} kind {kind} at {i}: {x} and {y}", table.name);
                    assert!((x - y).abs() <= size * 1e-6 + 1e-5, "{told}");
                }
                assert!(fast.chunks(PANEL + 3).all(|row| row[PANEL..] == [7.0; 3]), "{}: wrote beside the tile", table.name);
            }
        }
    }
}

#[test]
fn every_quantiser_agrees_with_the_reference_and_leaves_the_row_as_it_was() {
    let mut numbers = Numbers(6);
    for table in fast_tables() {
        for width in [1, 5, 16, 31, 64, 65, 384, 1000] {
            for (kind, outliers) in (0..4).flat_map(|k| [vec![], vec![0], vec![2, 3, 4]].map(|o| (k, o))) {
                if outliers.len() >= width {
                    continue;
                }
                let size = [1.0, 1e-20, 1e30, 0.0][kind];
                let mut x: Vec<f32> = numbers.take(width).iter().map(|v| v * size + size * 0.3).collect();
                outliers.iter().for_each(|o| x[*o as usize] = 40.0);
                let layout = RowLayout::new(width);
                let run = |k: &Kernels| {
                    let (mut row, mut out) = (x.clone(), vec![0u8; layout.stride]);
                    // SAFETY: these sizes; `all` yields tables that run here.
                    unsafe {
                        (k.quantise_row)(&QuantiseRow { x: row.as_mut_ptr(), width, outliers: &outliers, out: out.as_mut_ptr(), layout });
                    }
                    assert_eq!(row, x);
                    out
                };
                let (fast, slow) = (run(table), run(&reference::KERNELS));
                let number = |row: &[u8], i: usize| f32::from_ne_bytes(row[i * 4..i * 4 + 4].try_into().unwrap());
                let (scale, low) = (number(&fast, 0), number(&fast, 1));
                assert!((scale - number(&slow, 0)).abs() <= scale * 1e-6 && low == number(&slow, 1), "{} width {width}", table.name);
                assert_eq!(fast[8..8 + OUTLIERS * 2], slow[8..8 + OUTLIERS * 2]);
                for (c, value) in x.iter().enumerate().filter(|(c, _)| !outliers.contains(&(*c as u32))) {
                    let (q, truth) = (fast[RowLayout::DATA + c], slow[RowLayout::DATA + c]);
                    assert!(q.abs_diff(truth) <= 1, "{} width {width} column {c}: {q} and {truth}", table.name);
                    assert!((scale * f32::from(q) + low - value).abs() <= scale * 0.501 + value.abs() * 1e-6, "{} column {c}", table.name);
                }
            }
        }
    }
}

#[test]
fn a_row_that_is_not_finite_shows_in_every_output() {
    for table in kernels::all() {
        for (bad, width) in [(f32::NAN, 40), (f32::INFINITY, 64), (f32::NEG_INFINITY, 7)] {
            let layout = RowLayout::new(width);
            let (mut x, mut out) = (vec![0.5; width], vec![0u8; layout.stride]);
            x[width / 2] = bad;
            // SAFETY: these sizes; `all` yields tables that run here.
            unsafe { (table.quantise_row)(&QuantiseRow { x: x.as_mut_ptr(), width, outliers: &[], out: out.as_mut_ptr(), layout }) }
            assert!(f32::from_ne_bytes(out[4..8].try_into().unwrap()).is_nan(), "{} {bad}", table.name);
        }
    }
}
