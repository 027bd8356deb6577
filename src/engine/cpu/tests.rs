//! Every table of kernels that this machine can run, against the reference, on sizes around the register and panel widths
//! and on full-range values; and whole runs, bit for bit, over batches, orders and threads.

mod disentangled;
mod far;
mod int8;
mod newer;
mod picked;

use std::sync::Arc;

use super::buffer::Buffer;
use super::calibrate::{Calibration, calibrate};
use super::gemm::{Ahead, PANEL, Start, Tile};
use super::kernels::{self, Kernels, NormRow};
use super::pack::Packed;
use super::plan::{Plan, When};
use super::reference;
use super::run::{Engine, Shared};
use crate::engine::graph::{Activation, Attention, Bias, Disentangled, Index, Lookup, Met, Norm, Reduce, Relative, WeightId};
use crate::engine::{Batch, Control, Graph, Precision, Role, Weight};
use crate::error::ErrorKind;
use crate::quant::{Bytes, Dtype, Tensor};

/// A small generator with a fixed seed: numbers in [-1, 1).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    fn take(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.next()).collect()
    }
}

fn fast_tables() -> impl Iterator<Item = &'static Kernels> {
    kernels::all().filter(|k| k.name != reference::KERNELS.name)
}

#[test]
fn this_machine_has_the_portable_table_and_the_reference() {
    let names: Vec<_> = kernels::all().map(|k| k.name).collect();
    println!("instruction sets tested: {names:?}");
    assert!(names.ends_with(&["portable", "reference"]));
    assert_eq!(kernels::choose(Some("abacus")).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn every_tile_agrees_with_the_reference() {
    let mut numbers = Numbers(1);
    for table in fast_tables() {
        for rows in 1..=table.tile_rows {
            for depth in [0, 1, 2, 3, 7, 24, 97] {
                for start in 0..3 {
                    let (a, b, bias) = (numbers.take(rows * (depth + 5)), numbers.take(depth * PANEL), numbers.take(PANEL));
                    let mut c_before = numbers.take(rows * (PANEL + 3));
                    c_before.chunks_mut(PANEL + 3).for_each(|row| row[PANEL..].fill(7.0));
                    let run = |k: &Kernels| {
                        let mut c = c_before.clone();
                        for first in (0..rows).step_by(k.tile_rows) {
                            let tile = Tile {
                                a: a[first * (depth + 5)..].as_ptr(),
                                a_stride: depth + 5,
                                b: b.as_ptr(),
                                depth,
                                c: c[first * (PANEL + 3)..].as_mut_ptr(),
                                c_stride: PANEL + 3,
                                rows: k.tile_rows.min(rows - first),
                                ahead: Ahead::none(b.as_ptr()),
                                start: [Start::Zero, Start::Bias(bias.as_ptr()), Start::Sum][start],
                            };
                            // SAFETY: the buffers have these sizes; `all` yields tables that run here.
                            unsafe { (k.tile)(&tile) }
                        }
                        c
                    };
                    let (fast, slow) = (run(table), run(&reference::KERNELS));
                    for (i, (x, y)) in fast.iter().zip(&slow).enumerate() {
                        let told = format!("{} rows {rows} depth {depth} at {i}: {x} and {y}", table.name);
                        assert!((x - y).abs() <= 1e-6 * (depth as f32 + 1.0), "{told}");
                    }
                    assert!(fast.chunks(PANEL + 3).all(|row| row[PANEL..] == [7.0; 3]), "{}: wrote beside the tile", table.name);
                }
            }
        }
    }
}

#[test]
fn every_bf16_function_agrees_with_its_definition() {
    use half::bf16;
    let mut numbers = Numbers(7);
    let with_bf16 = kernels::all().filter_map(|k| Some((k, k.bf16?)));
    for (table, functions) in with_bf16 {
        println!("bf16 tested: {}", table.name);
        for n in [1usize, 2, 15, 16, 17, 33, 64] {
            let (x, y) = (numbers.take(n), numbers.take(n));
            let mut pairs = vec![0u32; n];
            // SAFETY: `n` numbers each; the table runs here.
            unsafe { (functions.pair)(x.as_ptr(), y.as_ptr(), n, pairs.as_mut_ptr()) }
            let bits = |v: f32| u32::from(bf16::from_f32(v).to_bits());
            assert!((0..n).all(|i| pairs[i] == bits(x[i]) | bits(y[i]) << 16), "{}", table.name);
            let mut halves = vec![0u16; n];
            // SAFETY: as above.
            unsafe { (functions.narrow)(x.as_ptr(), n, halves.as_mut_ptr()) }
            assert!((0..n).all(|i| u32::from(halves[i]) == bits(x[i])), "{} n {n}", table.name);
            let mut scaled = vec![0f32; n];
            // SAFETY: as above.
            unsafe { (functions.scale)(x.as_ptr(), 0.3, n, scaled.as_mut_ptr()) }
            assert!((0..n).all(|i| scaled[i] == x[i] * 0.3), "{} n {n}", table.name);
            let padded = n.next_multiple_of(2);
            let mut row = x.clone();
            row.resize(padded.next_multiple_of(PANEL), 9.0);
            let mut exact = row.clone();
            // SAFETY: whole panels.
            let (inverse, slow) = unsafe {
                (
                    (functions.softmax)(row.as_mut_ptr(), n, padded, 0.7),
                    (reference::KERNELS.softmax)(exact.as_mut_ptr(), n, exact.len(), 0.7),
                )
            };
            // `math::short_exp` is within 8e-5.
            assert!((inverse - slow).abs() < 1e-4 * slow, "{} n {n}: {inverse} and {slow}", table.name);
            for i in 0..padded {
                let half = bf16::from_bits((row[i / 2].to_bits() >> (i % 2 * 16)) as u16).to_f32();
                let truth = if i < n { exact[i] } else { 0.0 };
                assert!((half - truth).abs() <= truth / 250.0, "{} n {n} at {i}: {half} and {truth}", table.name);
            }
        }
        for (rows, pairs) in (1..=table.tile_rows).flat_map(|r| [0, 1, 5, 32].map(|p| (r, p))) {
            let mut half = |n: usize| numbers.take(n).iter().map(|x| bf16::from_f32(*x)).collect::<Vec<_>>();
            let (a, b) = (half(rows * (2 * pairs + 2)), half(2 * pairs * PANEL + 2));
            let mut c = vec![7.0; rows * (PANEL + 3)];
            let tile = super::attention_bf16::PairTile {
                a: a.as_ptr().cast(),
                a_stride: 2 * pairs + 2,
                b: b.as_ptr().cast(),
                pairs,
                c: c.as_mut_ptr(),
                c_stride: PANEL + 3,
                rows,
            };
            // SAFETY: the buffers have these sizes; the table runs here.
            unsafe { (functions.tile)(&tile) }
            for (r, row) in c.chunks(PANEL + 3).enumerate() {
                for (j, value) in row[..PANEL].iter().enumerate() {
                    let product = |k: usize| a[r * (2 * pairs + 2) + k].to_f64() * b[(k / 2 * PANEL + j) * 2 + k % 2].to_f64();
                    let truth: f64 = (0..2 * pairs).map(product).sum();
                    assert!((f64::from(*value) - truth).abs() < 1e-5 * (pairs as f64 + 1.0), "{} {rows} {pairs}", table.name);
                }
                assert!(row[PANEL..] == [7.0; 3], "{}: wrote beside the tile", table.name);
            }
        }
    }
}

/// Points at which activations are checked: dense around zero, wide, and the edges of every formula.
fn points() -> Vec<f32> {
    let dense = (-600_000..600_000).map(|i| i as f32 * 2e-5);
    let wide = (0..2000).flat_map(|i| [f32::powf(1.05, i as f32 - 1000.0), -f32::powf(1.05, i as f32 - 1000.0)]);
    let edges = [0.0, -0.0, 5.54, -5.54, -5.540_001, 9.01, -9.01, 1e4, -1e4, f32::MAX / 4.0, f32::MIN / 4.0];
    let mut all: Vec<f32> = dense.chain(wide.filter(|x| x.abs() < 1e30)).chain(edges).collect();
    all.resize(all.len().next_multiple_of(PANEL), 0.5);
    all
}

#[test]
fn every_activation_is_within_its_stated_error() {
    let points = points();
    for table in fast_tables() {
        for (activation, int8) in Activation::ALL.into_iter().flat_map(|a| [(a, false), (a, true)]) {
            let mut values = points.clone();
            let activate = if int8 { table.activate_int8 } else { table.activate };
            // SAFETY: whole panels; `all` yields tables that run here.
            unsafe { activate(activation, values.as_mut_ptr(), values.len() / PANEL, PANEL) }
            let mut worst = (0f64, 0f32);
            for (x, y) in points.iter().zip(&values) {
                let truth = reference::activation(activation, f64::from(*x));
                let allowed = match activation {
                    Activation::Identity | Activation::Relu => 0.0,
                    Activation::Tanh => 5e-7 * truth.abs(),
                    Activation::Silu => 5e-7 * truth.abs() + 2e-36,
                    Activation::Gelu | Activation::GeluTanh if int8 => 1e-4f64.max(3e-6 * f64::from(x.abs())),
                    Activation::Gelu | Activation::GeluTanh => 1.5e-6f64.max(3e-7 * truth.abs()),
                };
                let error = (f64::from(*y) - truth).abs();
                assert!(error <= allowed, "{} {activation:?}({x}) = {y}, true {truth}, int8 {int8}", table.name);
                if error > worst.0 && x.abs() < 12.0 {
                    worst = (error, *x);
                }
            }
            let of = if int8 { " of int8 products" } else { "" };
            println!("{:9} {activation:?}{of}: largest error {:.1e} at {}", table.name, worst.0, worst.1);
        }
    }
}

#[test]
fn nan_passes_through_every_kernel() {
    for table in kernels::all() {
        for activation in Activation::ALL {
            let mut block = vec![f32::NAN; PANEL];
            // SAFETY: one panel row.
            unsafe { (table.activate)(activation, block.as_mut_ptr(), 1, PANEL) }
            assert!(block.iter().all(|x| x.is_nan()), "{} {activation:?}", table.name);
            // SAFETY: as above.
            unsafe { (table.activate_int8)(activation, block.as_mut_ptr(), 1, PANEL) }
            assert!(block.iter().all(|x| x.is_nan()), "{} {activation:?}, int8", table.name);
        }
        let mut scores = vec![1.0; PANEL];
        scores[3] = f32::NAN;
        // SAFETY: one panel row.
        let inverse = unsafe { (table.softmax)(scores.as_mut_ptr(), 20, PANEL, 1.0) };
        assert!(inverse.is_nan() && scores[3].is_nan(), "{}", table.name);
    }
}

#[test]
fn every_softmax_agrees_with_the_reference() {
    let mut numbers = Numbers(2);
    for table in fast_tables() {
        for n in [1usize, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 513] {
            for size in [1.0, 40.0, 3000.0] {
                let padded = n.next_multiple_of(PANEL);
                let scores: Vec<f32> = numbers.take(padded).iter().map(|x| x * size).collect();
                let run = |k: &Kernels| {
                    let mut row = scores.clone();
                    // SAFETY: `padded` numbers; `all` yields tables that run here.
                    let inverse = unsafe { (k.softmax)(row.as_mut_ptr(), n, padded, 0.3) };
                    row.iter().map(|e| e * inverse).collect::<Vec<f32>>()
                };
                let (fast, slow) = (run(table), run(&reference::KERNELS));
                for (i, (x, y)) in fast.iter().zip(&slow).enumerate() {
                    // The argument of exp is rounded once, which weighs more the further it lies from zero.
                    let allowed = 3e-7 * y * (2.0 - y.max(f32::MIN_POSITIVE).ln()) + 1e-30;
                    assert!((x - y).abs() <= allowed, "{} n {n} at {i}: {x} and {y}", table.name);
                }
                assert!(fast[n..].iter().all(|x| *x == 0.0));
            }
        }
    }
}

#[test]
fn every_norm_agrees_with_the_reference_and_may_be_in_place() {
    let mut numbers = Numbers(3);
    for table in fast_tables() {
        for width in [1, 5, 8, 15, 16, 17, 31, 33, 96, 385, 1023] {
            let (x, y, weight, bias) = (numbers.take(width), numbers.take(width), numbers.take(width), numbers.take(width));
            for with_y in [false, true] {
                let run = |k: &Kernels, in_place: bool| {
                    let mut out = if in_place { x.clone() } else { vec![0.0; width] };
                    let row = NormRow {
                        x: if in_place { out.as_ptr() } else { x.as_ptr() },
                        y: if with_y { y.as_ptr() } else { std::ptr::null() },
                        out: out.as_mut_ptr(),
                        width,
                        weight: weight.as_ptr(),
                        bias: bias.as_ptr(),
                        epsilon: 1e-5,
                    };
                    // SAFETY: rows of `width` numbers; `all` yields tables that run here.
                    unsafe { (k.add_norm)(&row) }
                    out
                };
                let (fast, slow) = (run(table, false), run(&reference::KERNELS, false));
                for (a, b) in fast.iter().zip(&slow) {
                    assert!((a - b).abs() <= 5e-6 * (1.0 + b.abs()), "{} width {width}: {a} and {b}", table.name);
                }
                assert_eq!(fast, run(table, true), "{} width {width} in place", table.name);
            }
        }
    }
}

fn tensor(rows: usize, width: usize, numbers: &mut Numbers) -> Tensor {
    // Scaled so that products stay near one, as trained weights keep them.
    let scale = 2.0 / (width as f32).sqrt();
    let bytes: Vec<u8> = numbers.take(rows * width).iter().flat_map(|x| (x * scale).to_le_bytes()).collect();
    Tensor::new(Dtype::F32, vec![rows, width], Bytes::owned(bytes)).unwrap()
}

/// A graph with every operation, and random weights: 3 heads of 12, 36 wide, 70 in between, in two layers that share theirs and
/// one of the newer kind.
fn everything() -> (Vec<Weight>, Arc<Graph>) {
    let mut numbers = Numbers(4);
    let mut weights = Vec::new();
    let mut weight = |role, rows, width| {
        weights.push(Weight { name: format!("w{}", weights.len()), role, tensors: vec![tensor(rows, width, &mut numbers)] });
        WeightId(weights.len() - 1)
    };
    let lookups = vec![
        Lookup { table: weight(Role::Table, 50, 36), index: Index::Token },
        Lookup { table: weight(Role::Table, 300, 36), index: Index::Position { offset: 2, padding: Some(7) } },
        Lookup { table: weight(Role::Table, 2, 36), index: Index::Segment },
        Lookup { table: weight(Role::Table, 3, 36), index: Index::Always(1) },
    ];
    let norm = Norm { weight: weight(Role::Vector, 1, 36), bias: Some(weight(Role::Vector, 1, 36)), epsilon: 1e-12 };
    let mut g = Graph::new();
    let embedded = g.embed(lookups, Some(norm), 36);
    let (qkv_weight, qkv_bias) = (weight(Role::Matrix, 108, 36), weight(Role::Vector, 1, 108));
    let (up, down, down_bias) = (weight(Role::Matrix, 70, 36), weight(Role::Matrix, 36, 70), weight(Role::Vector, 1, 36));
    let buckets = (-20..=20i32).map(|distance| (distance + 21) as u32 / 3).collect();
    let bias = Bias::Relative(Relative { table: weight(Role::Vector, 14, 3), buckets });
    let layer = |g: &mut Graph, x, bias| {
        let qkv = g.linear(x, qkv_weight, Some(qkv_bias), Activation::Identity, 108);
        let mixed = g.attention(qkv, Attention { bias, ..Attention::plain(3, 12) });
        let attended = g.add_norm(mixed, x, norm);
        let wide = g.linear(attended, up, None, Activation::Gelu, 70);
        (attended, g.linear(wide, down, Some(down_bias), Activation::GeluTanh, 36))
    };
    let (attended, narrow) = layer(&mut g, embedded, Bias::None);
    let x = g.add_norm(narrow, attended, norm);
    let (attended, narrow) = layer(&mut g, x, bias);
    let newest = newer::layer(&mut g, x, norm, &mut weight);
    let mean = g.mean(vec![narrow, attended, newest]);
    let both = g.concat(vec![mean, x]);
    let reduces = [Reduce::Start, Reduce::First, Reduce::Last, Reduce::Mean, Reduce::Max, Reduce::MeanSqrtLen, Reduce::WeightedMean];
    let pooled = reduces.map(|r| g.pool(both, r)).to_vec();
    let all = g.concat(pooled);
    let last = g.linear(all, weight(Role::Matrix, 33, 7 * 72), Some(weight(Role::Vector, 1, 33)), Activation::Tanh, 33);
    (weights, Arc::new(g.ending_in(last)))
}

fn sequence(length: usize) -> (Vec<u32>, Vec<u32>, usize) {
    let ids = (0..length).map(|i| (i * i + 3 * length) as u32 % 50).collect();
    (ids, (0..length).map(|i| u32::from(i > length / 2)).collect(), length / 5)
}

fn batch(lengths: &[usize]) -> Arc<Batch> {
    let mut b = Batch::default();
    for length in lengths {
        let (ids, segments, skip) = sequence(*length);
        b.push(&ids, &segments, skip);
    }
    Arc::new(b)
}

const LENGTHS: &[usize] = &[1, 2, 5, 17, 31, 32, 33, 64, 100, 250];

/// The engine, calibrated with a sequence of `longest` tokens.
fn engine(weights: &[Weight], graph: &Arc<Graph>, isa: &str, precision: Precision, longest: usize) -> Engine {
    let calibration = Calibration { graph: Arc::clone(graph), batch: batch(&[longest, longest.min(7)]) };
    let calibration = (precision == Precision::Int8).then_some(calibration);
    Engine::new(weights, Some(isa), calibration.as_ref()).unwrap()
}

#[test]
fn whole_runs_agree_with_the_reference() {
    let (weights, graph) = everything();
    // At int8 a number halfway between two steps may fall to either side: a step is 1/255 of a row's range; a second layer starts from
    // what the first has made of that.
    for (precision, allowed) in [(Precision::F32, 2e-5), (Precision::Int8, 2e-2)] {
        let run = |isa: &str| {
            let engine = engine(&weights, &graph, isa, precision, 40);
            engine.run(&graph, &batch(LENGTHS), 1, &Control::default()).unwrap().unwrap()
        };
        let slow = run("reference");
        assert!(slow.iter().any(|x| x.abs() > 0.1) && slow.iter().all(|x| x.is_finite()));
        for table in fast_tables() {
            let worst = run(table.name).iter().zip(&slow).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
            println!("{:10} {precision:?}: {worst:.1e}", table.name);
            assert!(worst < allowed, "{} {precision:?}: {worst}", table.name);
        }
    }
}

/// Rows of queries, keys and values, and attention over them with a bias.
fn biased(tokens: usize, attention: &Attention, weights: &mut Vec<Weight>) -> Arc<Graph> {
    let width = 3 * attention.heads * attention.head_size;
    let mut numbers = Numbers(8);
    let bytes: Vec<u8> = numbers.take(tokens * width).iter().flat_map(|x| (x * 3.0).to_le_bytes()).collect();
    let rows = Tensor::new(Dtype::F32, vec![tokens, width], Bytes::owned(bytes)).unwrap();
    weights.push(Weight { name: "rows".into(), role: Role::Table, tensors: vec![rows] });
    let mut g = Graph::new();
    let lookup = Lookup { table: WeightId(weights.len() - 1), index: Index::Position { offset: 0, padding: None } };
    let rows = g.embed(vec![lookup], None, width);
    g.attention(rows, attention.clone());
    Arc::new(g)
}

/// The formula in double precision: softmax of scaled scores plus bias, then the weighted sum of values.
fn attention_by_definition(rows: &[f32], attention: &Attention, bias: impl Fn(usize, isize) -> f64) -> Vec<f32> {
    let Attention { heads, head_size, span, .. } = *attention;
    let width = heads * head_size;
    let tokens = rows.len() / (3 * width);
    let at = |token: usize, part: usize, head: usize, i: usize| f64::from(rows[token * 3 * width + part * width + head * head_size + i]);
    let mut out = vec![0.0; tokens * width];
    for (query, head) in (0..tokens).flat_map(|q| (0..heads).map(move |h| (q, h))) {
        let dot = |key| (0..head_size).map(|i| at(query, 0, head, i) * at(key, 1, head, i)).sum::<f64>();
        let sees = |key: usize| query.saturating_sub(key) <= span.before && key.saturating_sub(query) <= span.after;
        let score = |key: usize| match sees(key) {
            true => dot(key) / (head_size as f64).sqrt() + bias(head, key as isize - query as isize),
            false => f64::NEG_INFINITY,
        };
        let top = (0..tokens).map(score).fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = (0..tokens).map(|key| (score(key) - top).exp()).collect();
        let total: f64 = weights.iter().sum();
        for i in 0..head_size {
            let sum: f64 = (0..tokens).map(|key| weights[key] * at(key, 2, head, i)).sum();
            out[query * width + head * head_size + i] = (sum / total) as f32;
        }
    }
    out
}

/// Holds the attention of `graph`'s second operation, whose input is the last weight, against `want`: mixed by its maps, and as every
/// table computes it, within `allowed` at f32 and at int8.
fn check_attention(weights: &[Weight], graph: &Arc<Graph>, attention: &Attention, want: &[f32], allowed: [f32; 2], what: &str) {
    let Attention { heads, head_size, .. } = *attention;
    let rows = weights.last().unwrap().tensors[0].to_f32();
    let tokens = rows.len() / (3 * heads * head_size);
    let maps = Engine::new(weights, None, None).unwrap();
    for head in 0..heads {
        let mut map = vec![0.0; tokens * tokens];
        maps.attention_map(&graph.nodes()[1].op, &rows, head, &mut map);
        for (query, looks) in map.chunks_exact(tokens).enumerate() {
            let value = |key: usize| rows[key * 3 * heads * head_size + (2 * heads + head) * head_size];
            let mixed: f32 = (0..tokens).map(|key| looks[key] * value(key)).sum();
            assert!((mixed - want[query * heads * head_size + head * head_size]).abs() < 2e-5, "{what}: a map shows the bias");
        }
    }
    for table in kernels::all() {
        for (precision, allowed) in [Precision::F32, Precision::Int8].into_iter().zip(allowed) {
            let engine = engine(weights, graph, table.name, precision, tokens.min(20));
            let got = engine.run(graph, &batch(&[tokens]), 1, &Control::default()).unwrap().unwrap();
            let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            println!("{:12} {precision:?} {what}: {worst:.1e}", table.name);
            assert!(worst < allowed, "{} {precision:?} {what}: {worst}", table.name);
        }
    }
}

#[test]
fn relative_biases_are_added_by_distance_on_every_table_in_f32_and_bf16() {
    for (tokens, heads, head_size) in [(1, 1, 8), (2, 3, 5), (31, 2, 16), (70, 3, 12), (130, 1, 33)] {
        let mut numbers = Numbers(9);
        let table = numbers.take(7 * heads);
        let bytes: Vec<u8> = table.iter().flat_map(|x| (x * 4.0).to_le_bytes()).collect();
        let table_tensor = Tensor::new(Dtype::F32, vec![7, heads], Bytes::owned(bytes)).unwrap();
        let mut weights = vec![Weight { name: "bias".into(), role: Role::Vector, tensors: vec![table_tensor] }];
        // Near and far, before and behind: distances from -9 to 9, then all alike.
        let buckets: Arc<[u32]> = (-9..=9i32).map(|d| (d + 9) as u32 * 7 / 19).collect();
        let bias = Bias::Relative(Relative { table: WeightId(0), buckets });
        let attention = Attention { bias, ..Attention::plain(heads, head_size) };
        let graph = biased(tokens, &attention, &mut weights);
        let bucket = |d: isize| (d.clamp(-9, 9) + 9) as usize * 7 / 19;
        let want = attention_by_definition(&weights[1].tensors[0].to_f32(), &attention, |head, d| {
            4.0 * f64::from(table[bucket(d) * heads + head])
        });
        let plain = attention_by_definition(&weights[1].tensors[0].to_f32(), &attention, |_, _| 0.0);
        assert!(tokens == 1 || want.iter().zip(&plain).any(|(a, b)| (a - b).abs() > 0.1), "the bias tells");
        check_attention(&weights, &graph, &attention, &want, [2e-5, 3e-2], &format!("{tokens} tokens"));
    }
}

#[test]
fn tokens_that_take_no_place_stand_before_the_first() {
    let row = |value: f32| [value; 4].into_iter().flat_map(f32::to_le_bytes);
    let bytes: Vec<u8> = (0..12).flat_map(|i| row(i as f32)).collect();
    let tensor = Tensor::new(Dtype::F32, vec![12, 4], Bytes::owned(bytes)).unwrap();
    let weights = [Weight { name: "positions".into(), role: Role::Table, tensors: vec![tensor] }];
    let mut g = Graph::new();
    g.embed(vec![Lookup { table: WeightId(0), index: Index::Position { offset: 3, padding: Some(9) } }], None, 4);
    let engine = Engine::new(&weights, None, None).unwrap();
    let mut b = Batch::default();
    b.push(&[5, 9, 9, 6, 7], &[0; 5], 0);
    b.push(&[9, 5], &[0; 2], 0);
    let got = engine.run(&Arc::new(g), &Arc::new(b), 1, &Control::default()).unwrap().unwrap();
    assert_eq!(got.chunks(4).map(|row| row[0]).collect::<Vec<_>>(), [3.0, 2.0, 2.0, 4.0, 5.0, 2.0, 3.0]);
}

/// A matrix that two layers share, and a second that reads what the first reads in one of them only.
#[test]
fn matrices_that_read_values_in_common_leave_the_same_columns_in_f32_those_of_all_values() {
    let mut numbers = Numbers(6);
    let mut weights = Vec::new();
    let mut vector = |values: Vec<f32>| {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let tensor = Tensor::new(Dtype::F32, vec![values.len()], Bytes::owned(bytes)).unwrap();
        weights.push(Weight { name: format!("v{}", weights.len()), role: Role::Vector, tensors: vec![tensor] });
        WeightId(weights.len() - 1)
    };
    // Each norm lifts one column far above the others: in the first value column 3, in the second column 40.
    let lifted = |column: usize| (0..64).map(|i| if i == column { 30.0 } else { 1.0 }).collect::<Vec<f32>>();
    let (first, second, zero) = (vector(lifted(3)), vector(lifted(40)), vector(vec![0.0; 64]));
    let norm = |weight| Norm { weight, bias: Some(zero), epsilon: 1e-12 };
    let mut table = |role, rows| {
        weights.push(Weight { name: format!("w{}", weights.len()), role, tensors: vec![tensor(rows, 64, &mut numbers)] });
        WeightId(weights.len() - 1)
    };
    let (words, shared, other) = (table(Role::Table, 50), table(Role::Matrix, 64), table(Role::Matrix, 32));
    let mut g = Graph::new();
    let a = g.embed(vec![Lookup { table: words, index: Index::Token }], Some(norm(first)), 64);
    let b = g.linear(a, shared, None, Activation::Tanh, 64);
    let c = g.add_norm(b, a, norm(second));
    let d = g.linear(c, shared, None, Activation::Tanh, 64);
    let e = g.linear(c, other, None, Activation::Tanh, 32);
    g.concat(vec![d, e]);
    let graph = Arc::new(g);
    for table in kernels::all() {
        let mut packed = Arc::new(Shared { kernels: table, weights: Packed::new(&weights, Precision::Int8).unwrap(), bf16: table.bf16 });
        calibrate(&mut packed, &weights, &Calibration { graph: Arc::clone(&graph), batch: batch(&[20]) }).unwrap();
        for matrix in [shared, other] {
            assert_eq!(packed.weights.matrix(matrix).unwrap().int8, Some([3, 40].as_slice()), "{}", table.name);
        }
        let run = |precision| {
            let engine = engine(&weights, &graph, table.name, precision, 20);
            engine.run(&graph, &batch(LENGTHS), 1, &Control::default()).unwrap().unwrap()
        };
        let (exact, int8) = (run(Precision::F32), run(Precision::Int8));
        let worst = exact.iter().zip(&int8).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        println!("{:12} {worst:.1e}", table.name);
        assert!(worst < 0.1, "{}: {worst}", table.name);
    }
}

#[test]
fn int8_is_close_to_f32() {
    let (weights, graph) = everything();
    for table in kernels::all() {
        let run = |precision| {
            engine(&weights, &graph, table.name, precision, 40).run(&graph, &batch(LENGTHS), 1, &Control::default()).unwrap().unwrap()
        };
        let (exact, int8) = (run(Precision::F32), run(Precision::Int8));
        assert_ne!(exact, int8, "{}: int8 was not used", table.name);
        for (x, y) in exact.chunks(33).zip(int8.chunks(33)) {
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
            let cosine = dot(x, y) / (dot(x, x) * dot(y, y)).sqrt();
            assert!(cosine > 0.999, "{}: {cosine}", table.name);
        }
    }
}

#[test]
fn a_sequence_gives_the_same_bits_in_any_batch_order_and_thread_count() {
    let (weights, graph) = everything();
    let mut reversed = LENGTHS.to_vec();
    reversed.reverse();
    // Long enough to be worth helpers.
    let repeated: Vec<usize> = LENGTHS.iter().cycle().take(LENGTHS.len() * 3).copied().collect();
    for precision in [Precision::F32, Precision::Int8] {
        let packed = Packed::new(&weights, precision).unwrap();
        assert!(Plan::new(&graph, &batch(&repeated), &packed, 2, When::AtOnce).unwrap().threads == 2);
        for table in kernels::all() {
            let engine = engine(&weights, &graph, table.name, precision, 40);
            let run = |lengths: &[usize], threads| engine.run(&graph, &batch(lengths), threads, &Control::default()).unwrap().unwrap();
            let alone: Vec<Vec<f32>> = LENGTHS.iter().map(|l| run(&[*l], 1)).collect();
            for threads in [1, 2, 3, 5] {
                for lengths in [LENGTHS, &reversed, &repeated, &[250, 1], &[1, 1, 1, 33]] {
                    let rows = run(lengths, threads);
                    for (length, row) in lengths.iter().zip(rows.chunks(33)) {
                        let i = LENGTHS.iter().position(|l| l == length).unwrap();
                        let told = format!("{} {precision:?} length {length} among {lengths:?} on {threads} threads", table.name);
                        assert!(row == alone[i], "{told}");
                    }
                }
            }
        }
    }
}

#[test]
fn runs_refuse_what_the_tables_lack_and_stop_when_told() {
    let (weights, graph) = everything();
    let engine = Engine::new(&weights, None, None).unwrap();
    let refused = |ids: &[u32], segments: &[u32]| {
        let mut b = Batch::default();
        b.push(ids, segments, 0);
        engine.run(&graph, &Arc::new(b), 1, &Control::default()).unwrap_err()
    };
    assert!(refused(&[50], &[0]).message().contains("token id 50"));
    assert!(refused(&[1], &[2]).message().contains("segment 2"));
    assert!(refused(&[1; 299], &[0; 299]).message().contains("position 300"));
    let cancelled = Control::new(None, Some(Arc::new(|| true)));
    assert_eq!(engine.run(&graph, &batch(&[5]), 2, &cancelled).unwrap(), None);
    assert_eq!(engine.run(&graph, &Arc::new(Batch::default()), 1, &Control::default()).unwrap(), Some(vec![]));
}

#[test]
fn work_areas_are_counted_kept_and_trimmed() {
    let (weights, graph) = everything();
    let engine = Engine::new(&weights, None, None).unwrap();
    assert_eq!(engine.usage().areas, 0);
    for _ in 0..3 {
        engine.run(&graph, &batch(LENGTHS), 1, &Control::default()).unwrap();
        engine.run(&graph, &batch(&[3]), 1, &Control::default()).unwrap();
    }
    let needed = engine.run_bytes(&graph, &batch(LENGTHS), 1).unwrap();
    let kept = engine.usage().areas;
    assert!(kept > 0 && kept <= needed, "{kept} kept, {needed} stated");
    engine.trim();
    let usage = engine.usage();
    assert_eq!((usage.areas, usage.runs), (0, 0));
    assert!(usage.weights_owned > 0);
    assert!(Buffer::zeroed(3).is_ok());
}
