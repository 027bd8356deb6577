//! Windows, causal attention, slopes, rotary positions, gates, sums and scaled columns: each by its definition, on every table; and a layer of all of them
//! for the whole runs.

use super::*;
use crate::engine::graph::{Half, Rotary, Span, ValueId};

/// A layer with norms in front, as newer encoders have: 3 heads of 12, 36 wide, 2 * 35 in between.
pub(super) fn layer(g: &mut Graph, x: ValueId, norm: Norm, weight: &mut impl FnMut(Role, usize, usize) -> WeightId) -> ValueId {
    let unshifted = Norm { bias: None, ..norm };
    let rotary = Rotary { head_size: 12, frequencies: [1.0, 0.3, 0.02, 0.001].into() };
    let attention =
        Attention { bias: Bias::Slopes([0.5, 0.25, 0.01].into()), span: Span { before: 40, after: 9 }, ..Attention::plain(3, 12) };
    let normed = g.norm(x, unshifted);
    let qkv = g.linear(normed, weight(Role::Matrix, 108, 36), None, Activation::Identity, 108);
    let turned = g.rotate(qkv, rotary);
    let mixed = g.attention(turned, attention);
    let projected = g.linear(mixed, weight(Role::Matrix, 36, 36), None, Activation::Identity, 36);
    let attended = g.add(projected, x);
    let normed = g.norm(attended, unshifted);
    let wide = g.linear(normed, weight(Role::Matrix, 70, 36), None, Activation::Identity, 70);
    let gated = g.gate(wide, Activation::Silu, Half::Second);
    let narrow = g.linear(gated, weight(Role::Matrix, 36, 35), None, Activation::Identity, 36);
    let sum = g.add(narrow, attended);
    let (Some(shift), scale) = (norm.bias, norm.weight) else { panic!("the norm of these tests shifts") };
    let scaled = g.affine(sum, None, (scale, shift));
    g.affine(scaled, Some(attended), (scale, shift))
}

/// Whether each of `got` is near `want`.
fn near(got: &[f32], want: &[f32], allowed: f32, told: &str) {
    assert_eq!(got.len(), want.len());
    let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst < allowed, "{told}: {worst}");
}

#[test]
fn a_sequence_without_tokens_pools_to_zeros_and_attention_refuses_it() {
    let numbers: Vec<u8> = (0..15).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let table = Tensor::new(Dtype::F32, vec![5, 3], Bytes::owned(numbers)).unwrap();
    let weights = [Weight { name: "t".into(), role: Role::Table, tensors: vec![table] }];
    let mut batch = Batch::default();
    for ids in [&[][..], &[4], &[], &[1, 2], &[]] {
        batch.push(ids, &vec![0; ids.len()], 1);
    }
    let batch = Arc::new(batch);
    let engine = Engine::new(&weights, None, None).unwrap();
    for reduce in [Reduce::Start, Reduce::First, Reduce::Last, Reduce::Mean, Reduce::Max, Reduce::MeanSqrtLen, Reduce::WeightedMean] {
        let mut g = Graph::new();
        let x = g.embed(vec![Lookup { table: WeightId(0), index: Index::Token }], None, 3);
        g.pool(x, reduce);
        let rows = engine.run(&Arc::new(g), &batch, 2, &Control::default()).unwrap().unwrap();
        assert_eq!((&rows[3..6], &rows[9..12].iter().any(|v| *v != 0.0)), (&[12.0, 13.0, 14.0][..], &true));
        assert!([0, 2, 4].iter().all(|s| rows[s * 3..s * 3 + 3] == [0.0; 3]), "{reduce:?}");
    }
    let mut g = Graph::new();
    let x = g.embed(vec![Lookup { table: WeightId(0), index: Index::Token }], None, 3);
    g.attention(x, Attention::plain(1, 1));
    let e = engine.run(&Arc::new(g), &batch, 1, &Control::default()).unwrap_err();
    assert!(e.message().contains("no tokens"), "{e}");
}

const SPANS: &[Span] = &[
    Span { before: 5, after: 5 },
    Span { before: 64, after: 64 },
    Span { before: 3, after: 40 },
    Span { before: 0, after: 0 },
    Span { before: usize::MAX, after: 0 },
    Span { before: 31, after: usize::MAX },
];

#[test]
fn spans_and_slopes_are_those_of_the_definition_on_every_table_in_f32_and_bf16() {
    let slopes = [0.5f32, 0.03, 2.0];
    for (tokens, heads, head_size) in [(1, 1, 8), (2, 3, 5), (33, 2, 16), (131, 3, 12), (300, 1, 9)] {
        for (span, with_slopes) in SPANS.iter().flat_map(|span| [(*span, false), (*span, true)]) {
            let bias = if with_slopes { Bias::Slopes(slopes[..heads].into()) } else { Bias::None };
            let attention = Attention { bias, span, ..Attention::plain(heads, head_size) };
            let mut weights = Vec::new();
            let graph = biased(tokens, &attention, &mut weights);
            let rows = weights[0].tensors[0].to_f32();
            let slope = |head: usize, d: isize| if with_slopes { -f64::from(slopes[head]) * d.unsigned_abs() as f64 } else { 0.0 };
            let want = attention_by_definition(&rows, &attention, slope);
            let maps = Engine::new(&weights, None, None).unwrap();
            let mut map = vec![0.0; tokens * tokens];
            maps.attention_map(&graph.nodes()[1].op, &rows, 0, &mut map);
            for (query, looks) in map.chunks_exact(tokens).enumerate() {
                let seen = span.seen(query..query + 1, tokens);
                assert!(looks.iter().enumerate().all(|(key, share)| seen.contains(&key) == (*share > 0.0) || *share < 1e-20));
                let mixed: f32 = (0..tokens).map(|key| looks[key] * rows[key * 3 * heads * head_size + 2 * heads * head_size]).sum();
                assert!((mixed - want[query * heads * head_size]).abs() < 2e-5, "a map shows {span:?}");
            }
            for table in kernels::all() {
                for (precision, allowed) in [(Precision::F32, 2e-5), (Precision::Int8, 6e-2)] {
                    let engine = engine(&weights, &graph, table.name, precision, tokens.min(20));
                    let got = engine.run(&graph, &batch(&[tokens]), 1, &Control::default()).unwrap().unwrap();
                    near(&got, &want, allowed, &format!("{} {precision:?} {tokens} tokens {span:?} slopes {with_slopes}", table.name));
                    // What another sequence left in the scratch must not tell.
                    if tokens > 40 {
                        let both = engine.run(&graph, &batch(&[tokens, 40, tokens]), 1, &Control::default()).unwrap().unwrap();
                        assert!(both.ends_with(&got) && both.starts_with(&got), "{} {span:?}", table.name);
                    }
                }
            }
        }
    }
}

#[test]
fn a_causal_token_does_not_depend_on_what_follows() {
    let attention = Attention { span: Span { before: usize::MAX, after: 0 }, ..Attention::plain(2, 16) };
    let mut weights = Vec::new();
    let graph = biased(100, &attention, &mut weights);
    for table in kernels::all() {
        for precision in [Precision::F32, Precision::Int8] {
            let engine = engine(&weights, &graph, table.name, precision, 20);
            let run = |tokens: usize| engine.run(&graph, &batch(&[tokens]), 1, &Control::default()).unwrap().unwrap();
            near(&run(60), &run(100)[..60 * 32], 1e-6, table.name);
        }
    }
}

/// Rows of numbers that a graph begins with, one a place.
fn rows(tokens: usize, width: usize) -> (Vec<Weight>, Graph, ValueId) {
    let weights = vec![Weight { name: "rows".into(), role: Role::Table, tensors: vec![tensor(tokens, width, &mut Numbers(11))] }];
    let mut g = Graph::new();
    let lookup = Lookup { table: WeightId(0), index: Index::Position { offset: 0, padding: None } };
    let value = g.embed(vec![lookup], None, width);
    (weights, g, value)
}

#[test]
fn queries_and_keys_turn_with_their_place_and_values_do_not() {
    let (tokens, heads, size) = (70, 2, 10);
    // Four of five pairs turn: numbers 8 and 9 of a head stay.
    let frequencies = [1.0f32, 0.1, 0.01, 0.001];
    let (weights, mut g, x) = rows(tokens, 3 * heads * size);
    g.rotate(x, Rotary { head_size: size, frequencies: frequencies.into() });
    let engine = Engine::new(&weights, None, None).unwrap();
    let got = engine.run(&Arc::new(g), &batch(&[33, tokens]), 1, &Control::default()).unwrap().unwrap();
    let given = weights[0].tensors[0].to_f32();
    let width = 3 * heads * size;
    for (place, (got, given)) in got[33 * width..].chunks(width).zip(given.chunks(width)).enumerate() {
        for (column, (got, x)) in got.iter().zip(given).enumerate() {
            let (head, i) = (column / size, column % size);
            let turns = head < 2 * heads && i < 2 * frequencies.len();
            let angle = place as f64 * f64::from(frequencies[i % frequencies.len()]);
            let (a, b) = (f64::from(given[head * size + i % 4]), f64::from(given[head * size + i % 4 + 4]));
            // A pair is a complex number, times e^(i angle).
            let turned = if i < 4 { a * angle.cos() - b * angle.sin() } else { a * angle.sin() + b * angle.cos() };
            let want = if turns { turned } else { f64::from(*x) };
            assert!((f64::from(*got) - want).abs() < 1e-5, "place {place} column {column}: {got} and {want}");
        }
    }
}

#[test]
fn a_gate_is_one_half_activated_times_the_other() {
    for (width, activated) in [1, 5, 32, 33, 100].into_iter().flat_map(|w| [(w, Half::First), (w, Half::Second)]) {
        for activation in Activation::ALL {
            let (weights, mut g, x) = rows(40, 2 * width);
            g.gate(x, activation, activated);
            let graph = Arc::new(g);
            let given = weights[0].tensors[0].to_f32();
            for table in kernels::all() {
                let engine = Engine::new(&weights, Some(table.name), None).unwrap();
                let got = engine.run(&graph, &batch(&[40]), 1, &Control::default()).unwrap().unwrap();
                for (got, given) in got.chunks(width).zip(given.chunks(2 * width)) {
                    let (first, second) = given.split_at(width);
                    let (gate, other) = if activated == Half::First { (first, second) } else { (second, first) };
                    for (got, (gate, other)) in got.iter().zip(gate.iter().zip(other)) {
                        let want = reference::activation(activation, f64::from(*gate)) * f64::from(*other);
                        assert!((f64::from(*got) - want).abs() < 3e-6, "{} {activation:?} {activated:?} width {width}", table.name);
                    }
                }
            }
        }
    }
}

#[test]
fn columns_are_scaled_and_shifted_with_and_without_a_residual() {
    let mut numbers = Numbers(13);
    for width in [1, 7, 32, 45] {
        let (mut weights, mut g, x) = rows(70, width);
        for name in ["scale", "shift"] {
            let bytes = numbers.take(width).iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
            let tensors = vec![Tensor::new(Dtype::F32, vec![width], Bytes::owned(bytes)).unwrap()];
            weights.push(Weight { name: name.into(), role: Role::Vector, tensors });
        }
        let once = g.affine(x, None, (WeightId(1), WeightId(2)));
        g.affine(once, Some(x), (WeightId(2), WeightId(1)));
        let engine = Engine::new(&weights, None, None).unwrap();
        let got = engine.run(&Arc::new(g), &batch(&[33, 70]), 1, &Control::default()).unwrap().unwrap();
        let [given, scale, shift] = [0, 1, 2].map(|i: usize| weights[i].tensors[0].to_f32());
        let want: Vec<f32> = given
            .iter()
            .enumerate()
            .map(|(i, x)| (x * scale[i % width] + shift[i % width] + x) * shift[i % width] + scale[i % width])
            .collect();
        assert_eq!(got[33 * width..], want, "width {width}");
    }
}

#[test]
fn every_norm_without_a_shift_agrees_with_the_reference() {
    let mut numbers = Numbers(12);
    for table in fast_tables() {
        for width in [1, 7, 16, 33, 385] {
            let (x, weight) = (numbers.take(width), numbers.take(width));
            let run = |k: &Kernels| {
                let mut out = vec![0.0; width];
                let row = NormRow {
                    x: x.as_ptr(),
                    y: std::ptr::null(),
                    out: out.as_mut_ptr(),
                    width,
                    weight: weight.as_ptr(),
                    bias: std::ptr::null(),
                    epsilon: 1e-5,
                };
                // SAFETY: rows of `width` numbers; `all` yields tables that run here.
                unsafe { (k.add_norm)(&row) }
                out
            };
            near(&run(table), &run(&reference::KERNELS), 1e-5, table.name);
        }
    }
}

#[test]
fn scratch_of_a_window_does_not_grow_with_the_square_and_never_shrinks() {
    let span = Span { before: 64, after: 64 };
    let attention = Attention { span, ..Attention::plain(1, 64) };
    let len = |tokens| super::super::attention::scratch_len(&attention, tokens);
    assert!((1..2000).all(|tokens| len(tokens) <= len(tokens + 1)), "a longer sequence of a batch leaves room for the others");
    assert!(len(8192) < 8192 * 2 * 64 + QUARTER_MIB);
}

/// Numbers.
const QUARTER_MIB: usize = 1 << 16;
