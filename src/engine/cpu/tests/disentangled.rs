//! Attention that adds what queries and keys say to their distance, and rows with their neighbours.

use super::*;

/// Distances beyond this have the row of the end.
const REACH: isize = 60;

/// The row of a distance, query minus key: one by one when near, six at a time when far; 0 to 32.
fn place(distance: isize) -> usize {
    let distance = distance.clamp(-REACH, REACH);
    let far = (distance.abs() - 8).max(0);
    (16 + distance.signum() * (distance.abs().min(8) + (far + 5) / 6).min(16)) as usize
}

/// The tables of all heads, (33, head_size) each, and the attention over them.
fn disentangled(heads: usize, head_size: usize, (keys, queries): (bool, bool)) -> (Vec<Weight>, Attention) {
    let mut numbers = Numbers(12);
    let mut weights = Vec::new();
    let mut tables = |wanted: bool| {
        let first = weights.len();
        let count = if wanted { heads } else { 0 };
        for _ in 0..count {
            let bytes: Vec<u8> = numbers.take(33 * head_size).iter().flat_map(|x| (x * 2.0).to_le_bytes()).collect();
            let table = Tensor::new(Dtype::F32, vec![33, head_size], Bytes::owned(bytes)).unwrap();
            weights.push(Weight { name: "positions".into(), role: Role::Head, tensors: vec![table] });
        }
        if wanted { Met::Made((first..first + count).map(WeightId).collect()) } else { Met::Nothing }
    };
    let (keys, queries) = (tables(keys), tables(queries));
    let places = (-REACH..=REACH).map(|d| place(d) as u32).collect();
    let bias = Bias::Disentangled(Disentangled { keys, queries, places });
    (weights, Attention { bias, ..Attention::plain(heads, head_size) })
}

/// The formula of He et al., in double precision.
fn by_definition(rows: &[f32], attention: &Attention, weights: &[Weight]) -> Vec<f32> {
    let Attention { heads, head_size, bias: Bias::Disentangled(positions), .. } = attention else { unreachable!() };
    let width = heads * head_size;
    let tokens = rows.len() / (3 * width);
    let part = |token: usize, which: usize, head: usize| &rows[token * 3 * width + which * width + head * head_size..][..*head_size];
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let terms = 1 + usize::from(positions.keys.is_something()) + usize::from(positions.queries.is_something());
    let mut out = vec![0.0; tokens * width];
    for head in 0..*heads {
        let table = |met: &Met| met.made(head).map(|id| weights[id.0].tensors[0].to_f32());
        let (keys, queries) = (table(&positions.keys), table(&positions.queries));
        for i in 0..tokens {
            let score = |j: usize| {
                let at = place(i as isize - j as isize) * head_size;
                let c2p = keys.as_ref().map_or(0.0, |t| dot(part(i, 0, head), &t[at..at + head_size]));
                let p2c = queries.as_ref().map_or(0.0, |t| dot(part(j, 1, head), &t[at..at + head_size]));
                (dot(part(i, 0, head), part(j, 1, head)) + c2p + p2c) / ((head_size * terms) as f64).sqrt()
            };
            let top = (0..tokens).map(score).fold(f64::NEG_INFINITY, f64::max);
            let looks: Vec<f64> = (0..tokens).map(|j| (score(j) - top).exp()).collect();
            let total: f64 = looks.iter().sum();
            for k in 0..*head_size {
                let sum: f64 = (0..tokens).map(|j| looks[j] * f64::from(part(j, 2, head)[k])).sum();
                out[i * width + head * head_size + k] = (sum / total) as f32;
            }
        }
    }
    out
}

#[test]
fn disentangled_scores_follow_the_formula_on_every_table_in_f32_and_bf16_and_so_do_maps() {
    for (tokens, heads, head_size) in [(1, 1, 8), (2, 3, 5), (23, 2, 16), (70, 3, 12), (150, 1, 33)] {
        for terms in [(true, true), (true, false), (false, true)] {
            let (mut weights, attention) = disentangled(heads, head_size, terms);
            let graph = biased(tokens, &attention, &mut weights);
            let rows = weights.last().unwrap().tensors[0].to_f32();
            let want = by_definition(&rows, &attention, &weights);
            let plain = attention_by_definition(&rows, &Attention::plain(heads, head_size), |_, _| 0.0);
            assert!(tokens == 1 || want.iter().zip(&plain).any(|(a, b)| (a - b).abs() > 0.1), "positions tell");
            check_attention(&weights, &graph, &attention, &want, [3e-5, 6e-2], &format!("{tokens} tokens {terms:?}"));
        }
    }
}

/// A layer of such attention and a convolution over three tokens, and random weights.
fn layer() -> (Vec<Weight>, Arc<Graph>) {
    let (mut weights, attention) = disentangled(3, 12, (true, true));
    let mut numbers = Numbers(13);
    let mut weight = |role, rows, width| {
        weights.push(Weight { name: format!("w{}", weights.len()), role, tensors: vec![tensor(rows, width, &mut numbers)] });
        WeightId(weights.len() - 1)
    };
    let mut g = Graph::new();
    let x = g.embed(vec![Lookup { table: weight(Role::Table, 50, 36), index: Index::Token }], None, 36);
    let qkv = g.linear(x, weight(Role::Matrix, 108, 36), None, Activation::Identity, 108);
    let mixed = g.attention(qkv, attention);
    let around = g.neighbours(mixed, 3);
    let last = g.linear(around, weight(Role::Matrix, 33, 108), None, Activation::Tanh, 33);
    g.pool(last, Reduce::Mean);
    (weights, Arc::new(g))
}

#[test]
fn distances_and_neighbours_give_the_same_bits_in_any_batch_and_on_any_threads() {
    let (weights, graph) = layer();
    for (table, precision) in kernels::all().flat_map(|table| [Precision::F32, Precision::Int8].map(|p| (table, p))) {
        let engine = engine(&weights, &graph, table.name, precision, 40);
        let run = |lengths: &[usize], threads| engine.run(&graph, &batch(lengths), threads, &Control::default()).unwrap().unwrap();
        let alone: Vec<Vec<f32>> = LENGTHS.iter().map(|l| run(&[*l], 1)).collect();
        for threads in [1, 3] {
            let long: Vec<usize> = LENGTHS.iter().rev().cycle().take(LENGTHS.len() * 3).copied().collect();
            for lengths in [LENGTHS, &long] {
                for (length, row) in lengths.iter().zip(run(lengths, threads).chunks(33)) {
                    let i = LENGTHS.iter().position(|l| l == length).unwrap();
                    assert!(row == alone[i], "{} {precision:?} length {length} on {threads} threads", table.name);
                }
            }
        }
    }
}

#[test]
fn neighbours_stand_column_by_column_and_end_with_the_sequence() {
    let bytes: Vec<u8> = (0..5).flat_map(|i| [i as f32 + 1.0, (i as f32 + 1.0) * 10.0]).flat_map(f32::to_le_bytes).collect();
    let table = Tensor::new(Dtype::F32, vec![5, 2], Bytes::owned(bytes)).unwrap();
    let weights = [Weight { name: "words".into(), role: Role::Table, tensors: vec![table] }];
    let mut g = Graph::new();
    let x = g.embed(vec![Lookup { table: WeightId(0), index: Index::Token }], None, 2);
    g.neighbours(x, 3);
    let engine = Engine::new(&weights, None, None).unwrap();
    let mut b = Batch::default();
    b.push(&[0, 1, 2], &[0; 3], 0);
    b.push(&[4], &[0; 1], 0);
    let got = engine.run(&Arc::new(g), &Arc::new(b), 1, &Control::default()).unwrap().unwrap();
    let rows: Vec<&[f32]> = got.chunks(6).collect();
    assert_eq!(rows[0], [0.0, 1.0, 2.0, 0.0, 10.0, 20.0]);
    assert_eq!(rows[1], [1.0, 2.0, 3.0, 10.0, 20.0, 30.0]);
    assert_eq!(rows[2], [2.0, 3.0, 0.0, 20.0, 30.0, 0.0]);
    assert_eq!(rows[3], [0.0, 5.0, 0.0, 0.0, 50.0, 0.0]);
}

#[test]
fn tables_of_positions_that_do_not_fit_are_refused() {
    for damage in 0..3 {
        let (mut weights, mut attention) = disentangled(2, 8, (true, true));
        let Bias::Disentangled(positions) = &mut attention.bias else { unreachable!() };
        match damage {
            0 => positions.keys = Met::Made(positions.keys.made(0).into_iter().collect()),
            1 => positions.places = [0, 5, 4].into(),
            _ => positions.places = [0, 1, 64].into(),
        }
        let graph = biased(5, &attention, &mut weights);
        let engine = Engine::new(&weights, None, None).unwrap();
        let e = engine.run(&graph, &batch(&[5]), 1, &Control::default()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{damage}: {e}");
    }
}
