//! Tokens that see and are seen however far away, blocks, and sums over long texts: each by its definition, on every table.

use super::*;
use crate::engine::graph::{Blocks, Far, Span, Start};

/// Queries, keys and values of `tokens` tokens, and those of the start's own where there are some; ids that are 7, and 9 where the question
/// ends.
struct Given {
    weights: Vec<Weight>,
    graph: Arc<Graph>,
    rows: Vec<Vec<f32>>,
    ids: Vec<u32>,
}

fn given(tokens: usize, attention: &Attention, own: bool, question: usize) -> Given {
    let width = 3 * attention.heads * attention.head_size;
    let mut numbers = Numbers(21);
    let (mut weights, mut rows, mut g) = (Vec::new(), Vec::new(), Graph::new());
    let mut values = Vec::new();
    for _ in 0..1 + usize::from(own) {
        let of_all: Vec<f32> = numbers.take(tokens * width).iter().map(|x| x * 3.0).collect();
        let bytes: Vec<u8> = of_all.iter().flat_map(|x| x.to_le_bytes()).collect();
        let table = Tensor::new(Dtype::F32, vec![tokens, width], Bytes::owned(bytes)).unwrap();
        weights.push(Weight { name: "rows".into(), role: Role::Table, tensors: vec![table] });
        let lookup = Lookup { table: WeightId(weights.len() - 1), index: Index::Position { offset: 0, padding: None } };
        values.push(g.embed(vec![lookup], None, width));
        rows.push(of_all);
    }
    g.attention_from(values[0], values.get(1).copied(), attention.clone());
    let ids = (0..tokens).map(|i| if i == question { 9 } else { 7 }).collect();
    Given { weights, graph: Arc::new(g), rows, ids }
}

/// How often each query counts each key, and whether it looks with the start's own rows.
fn looks(attention: &Attention, ids: &[u32]) -> Vec<(Vec<f64>, bool)> {
    let tokens = ids.len();
    let near = |i: usize, j: usize| i.saturating_sub(j) <= attention.span.before && j.saturating_sub(i) <= attention.span.after;
    let start = |count: usize| {
        let one = |i: usize| (0..tokens).map(|j| f64::from(u8::from(i < count || j < count || near(i, j)))).collect();
        (0..tokens).map(|i| (one(i), i < count)).collect()
    };
    match attention.far {
        Far::None => start(0),
        Far::Start(Start::First) => start(1),
        Far::Start(Start::Before(id)) => start(ids.iter().position(|x| *x == id).unwrap_or(0)),
        Far::End(id) => {
            let from = ids.iter().position(|x| *x == id).map_or(tokens, |at| at + 2);
            let one = |i: usize| (0..tokens).map(|j| f64::from(u8::from(i >= from || j >= from || near(i, j)))).collect();
            (0..tokens).map(|i| (one(i), i >= from)).collect()
        }
        Far::Blocks(Blocks { size, whole, times }) => {
            let last = (tokens - 1) / size;
            let count = |i: usize, j: usize| match (i / size, j / size) {
                _ if tokens <= whole => 1.0,
                (query, _) if query == 0 || query == last => 1.0,
                (_, 0) => f64::from(times),
                (query, key) => f64::from(u8::from(key == last || query.abs_diff(key) <= 1)),
            };
            (0..tokens).map(|i| ((0..tokens).map(|j| count(i, j)).collect(), false)).collect()
        }
    }
}

/// The formula in double precision.
fn by_definition(given: &Given, attention: &Attention) -> Vec<f32> {
    let Attention { heads, head_size, .. } = *attention;
    let (width, tokens) = (heads * head_size, given.ids.len());
    let mut out = vec![0.0; tokens * width];
    for (query, (times, own)) in looks(attention, &given.ids).iter().enumerate() {
        let rows = given.rows.get(usize::from(*own)).unwrap_or(&given.rows[0]);
        for head in 0..heads {
            let at = |token: usize, part: usize, i: usize| f64::from(rows[token * 3 * width + part * width + head * head_size + i]);
            let dot = |key| (0..head_size).map(|i| at(query, 0, i) * at(key, 1, i)).sum::<f64>() / (head_size as f64).sqrt();
            let scores: Vec<f64> = (0..tokens).map(|key| if times[key] > 0.0 { dot(key) } else { f64::NEG_INFINITY }).collect();
            let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().zip(times).map(|(score, times)| times * (score - top).exp()).collect();
            let total: f64 = weights.iter().sum();
            for i in 0..head_size {
                let sum: f64 = (0..tokens).map(|key| weights[key] * at(key, 2, i)).sum();
                out[query * width + head * head_size + i] = (sum / total) as f32;
            }
        }
    }
    out
}

fn worst(got: &[f32], want: &[f32]) -> f32 {
    assert_eq!(got.len(), want.len());
    got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, |m, e| if e > m || e.is_nan() { e } else { m })
}

fn batch_of(ids: &[&[u32]]) -> Arc<Batch> {
    let mut b = Batch::default();
    ids.iter().for_each(|ids| b.push(ids, &vec![0; ids.len()], 0));
    Arc::new(b)
}

const FARS: &[Far] = &[
    Far::Start(Start::First),
    Far::Start(Start::Before(9)),
    Far::End(9),
    Far::Blocks(Blocks { size: 8, whole: 56, times: 2.0 }),
    Far::Blocks(Blocks { size: 40, whole: 0, times: 1.0 }),
];

#[test]
fn tokens_far_away_are_seen_as_the_definition_says_on_every_table_in_f32_and_bf16() {
    for (tokens, heads, head_size, question) in
        [(1, 1, 8, 0), (2, 3, 5, 1), (33, 2, 16, 33), (131, 2, 12, 7), (300, 1, 9, 45), (57, 1, 32, 56)]
    {
        for far in FARS {
            let span = Span { before: 10, after: 10 };
            let attention = Attention { span, far: *far, ..Attention::plain(heads, head_size) };
            let own = matches!(far, Far::Start(_) | Far::End(_));
            let given = given(tokens, &attention, own, question);
            let want = by_definition(&given, &attention);
            for table in kernels::all() {
                for (precision, allowed) in [(Precision::F32, 2e-5), (Precision::Int8, 6e-2)] {
                    let engine = engine(&given.weights, &given.graph, table.name, precision, tokens.min(20));
                    let run =
                        |ids: &[&[u32]], threads| engine.run(&given.graph, &batch_of(ids), threads, &Control::default()).unwrap().unwrap();
                    let got = run(&[&given.ids], 1);
                    let error = worst(&got, &want);
                    println!("{:12} {precision:?} {tokens} tokens {far:?}: {error:.1e}", table.name);
                    assert!(error < allowed, "{} {precision:?} {tokens} tokens {far:?}: {error}", table.name);
                    // What another sequence left in the scratch must not tell, nor who else is there.
                    let both = run(&[&given.ids, &given.ids[..tokens.min(40)], &given.ids], 3);
                    assert!(both.ends_with(&got) && both.starts_with(&got), "{} {far:?}", table.name);
                }
            }
        }
    }
}

#[test]
fn maps_of_blocks_are_those_of_the_definition() {
    let attention = Attention { far: FARS[3], ..Attention::plain(1, 8) };
    let given = given(70, &attention, false, 0);
    let want = by_definition(&given, &attention);
    let engine = Engine::new(&given.weights, None, None).unwrap();
    let mut map = vec![0.0; 70 * 70];
    engine.attention_map(&given.graph.nodes()[1].op, &given.rows[0], 0, &mut map);
    for (query, looks) in map.chunks_exact(70).enumerate() {
        let mixed: f32 = looks.iter().enumerate().map(|(key, share)| share * given.rows[0][key * 24 + 16]).sum();
        assert!((mixed - want[query * 8]).abs() < 2e-5, "query {query}");
        assert!((looks.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    }
}

#[test]
fn far_tokens_that_cannot_be_are_refused() {
    let far = Far::Start(Start::First);
    let slopes = Attention { far, bias: Bias::Slopes([0.5].into()), ..Attention::plain(1, 8) };
    let no_blocks = Attention { far: Far::Blocks(Blocks { size: 0, whole: 0, times: 1.0 }), ..Attention::plain(1, 8) };
    let no_start = Attention::plain(1, 8);
    for (attention, own) in [(slopes, true), (no_blocks, false), (no_start, true)] {
        let given = given(5, &attention, own, 0);
        let engine = Engine::new(&given.weights, None, None).unwrap();
        let e = engine.run(&given.graph, &batch(&[5]), 1, &Control::default()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{attention:?}: {e}");
    }
}

/// Each number is rounded the same way when it is added to a large sum: one chain over this many keys is 5e-5 away.
#[test]
fn sums_over_long_texts_keep_their_digits() {
    let (tokens, values) = (6000, [1.3f32, 1.0 / 3.0]);
    // Queries that see all keys alike.
    let row = [0.0, 0.0, 0.0, 0.0, values[0], values[1]];
    let bytes: Vec<u8> = (0..tokens).flat_map(|_| row).flat_map(f32::to_le_bytes).collect();
    let table = Tensor::new(Dtype::F32, vec![tokens, 6], Bytes::owned(bytes)).unwrap();
    let weights = [Weight { name: "rows".into(), role: Role::Table, tensors: vec![table] }];
    let mut g = Graph::new();
    let lookup = Lookup { table: WeightId(0), index: Index::Position { offset: 0, padding: None } };
    let x = g.embed(vec![lookup], None, 6);
    g.attention(x, Attention::plain(1, 2));
    let graph = Arc::new(g);
    for table in fast_tables() {
        let engine = Engine::new(&weights, Some(table.name), None).unwrap();
        let got = engine.run(&graph, &batch(&[tokens]), 2, &Control::default()).unwrap().unwrap();
        for (got, value) in got.iter().zip(values) {
            let error = ((got - value) / value).abs();
            assert!(error < 5e-6, "{} {value}: {error}", table.name);
        }
    }
}
