//! `C = A W^T` on encoder shapes, one thread: our packed tile against the crate `gemm`. Best of many runs, in GFLOP/s.
//!
//! Ours is measured through the engine (embedding rows, product, copy of the result), the crate's call alone with its output
//! ready: the comparison favours the crate.

use std::sync::Arc;
use std::time::Instant;

use cloze::engine::graph::{Activation, Index, Lookup, WeightId};
use cloze::engine::{Batch, Control, Engine, Graph, Role, Weight};
use cloze::quant::{Bytes, Dtype, Tensor};

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 2001) as f32 / 1000.0 - 1.0).collect()
}

fn weight(name: &str, role: Role, rows: usize, width: usize, values: &[f32]) -> Weight {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let tensor = Tensor::new(Dtype::F32, vec![rows, width], Bytes::owned(bytes)).expect("shape and bytes agree");
    Weight { name: name.into(), role, tensors: vec![tensor] }
}

fn best(mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut best = f64::INFINITY;
    while start.elapsed().as_secs_f64() < 1.5 {
        let t = Instant::now();
        run();
        best = best.min(t.elapsed().as_secs_f64());
    }
    best
}

fn main() {
    println!("{:>6} {:>6} {:>6} {:>10} {:>10} {:>8}", "tokens", "in", "out", "ours", "gemm", "ratio");
    for (tokens, inputs, outputs) in
        [(16, 384, 384), (16, 384, 1536), (128, 384, 1536), (128, 768, 768), (128, 768, 3072), (128, 3072, 768), (512, 768, 3072)]
    {
        let (x, w) = (numbers(tokens * inputs), numbers(outputs * inputs));
        let weights =
            [weight("x", Role::Table, tokens, inputs, &x), weight("w", Role::Matrix, outputs, inputs, &w)];
        let engine = Engine::new(&weights, None).expect("an instruction set");
        let mut graph = Graph::new();
        let rows = graph.embed(vec![Lookup { table: WeightId(0), index: Index::Token }], None, inputs);
        graph.linear(rows, WeightId(1), None, Activation::Identity, outputs);
        let graph = Arc::new(graph);
        let mut batch = Batch::default();
        batch.push(&(0..tokens as u32).collect::<Vec<_>>(), &vec![0; tokens], 0);
        let batch = Arc::new(batch);
        let mut ours_out = Vec::new();
        let ours = best(|| ours_out = engine.run(&graph, &batch, 1, &Control::default()).expect("runs").expect("not stopped"));
        let mut out = vec![0f32; tokens * outputs];
        let (m, n, k) = (tokens, outputs, inputs);
        let theirs = best(|| {
            // SAFETY: A is (m, k) row-major, W is (n, k) row-major read as its transpose, C is (m, n) row-major.
            unsafe {
                gemm::gemm(
                    m, n, k, out.as_mut_ptr(), 1, n as isize, false, x.as_ptr(), 1, k as isize, w.as_ptr(), k as isize, 1, 0.0, 1.0,
                    false, false, false, gemm::Parallelism::None,
                );
            }
        });
        let worst = ours_out.iter().zip(&out).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst < 1e-3 * (k as f32).sqrt(), "the two disagree: {worst}");
        let rate = |seconds: f64| 2.0 * (m * n * k) as f64 / seconds / 1e9;
        println!("{m:>6} {k:>6} {n:>6} {:>10.1} {:>10.1} {:>8.2}", rate(ours), rate(theirs), theirs / ours);
    }
}
