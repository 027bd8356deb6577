//! The operations of an encoder one at a time, through the engine that runs them: `cargo bench --bench kernels`.
//!
//! Shapes are those of MiniLM (384 wide, 12 heads of 32) and BERT-base (768 wide, 12 heads of 64). Throughput counts the
//! multiply-adds of the operation (two each); the embedding that feeds it is measured alone to be taken off.

use std::sync::Arc;

use cloze::engine::graph::{Activation, Attention, Index, Lookup, Norm, Span, WeightId};
use cloze::engine::{Batch, Control, Engine, Graph, Role, Weight};
use cloze::quant::{Bytes, Dtype, Tensor};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn weight(weights: &mut Vec<Weight>, role: Role, rows: usize, width: usize) -> WeightId {
    let value = |i: usize| ((i * 7919) % 2001) as f32 / 1000.0 - 1.0;
    let bytes: Vec<u8> = (0..rows * width).flat_map(|i| (value(i) / (width as f32).sqrt()).to_le_bytes()).collect();
    let tensor = Tensor::new(Dtype::F32, vec![rows, width], Bytes::owned(bytes)).expect("shape and bytes agree");
    weights.push(Weight { name: format!("w{}", weights.len()), role, tensors: vec![tensor] });
    WeightId(weights.len() - 1)
}

fn batch(sequences: usize, tokens: usize) -> Arc<Batch> {
    let mut batch = Batch::default();
    for s in 0..sequences {
        let ids: Vec<u32> = (0..tokens).map(|i| ((i * 31 + s) % 100) as u32).collect();
        batch.push(&ids, &vec![0; tokens], 0);
    }
    Arc::new(batch)
}

/// An operation after an embedding of `width`.
struct Case {
    name: &'static str,
    width: usize,
    tokens: usize,
    operations: u64,
    build: fn(&mut Graph, &mut Vec<Weight>, cloze::engine::graph::ValueId),
}

fn linear(graph: &mut Graph, weights: &mut Vec<Weight>, x: cloze::engine::graph::ValueId, outputs: usize, activation: Activation) {
    let width = graph.node(x).width;
    let matrix = weight(weights, Role::Matrix, outputs, width);
    let bias = weight(weights, Role::Vector, 1, outputs);
    graph.linear(x, matrix, Some(bias), activation, outputs);
}

fn cases() -> Vec<Case> {
    let products = |tokens: u64, inputs: u64, outputs: u64| 2 * tokens * inputs * outputs;
    let case = |name, width, tokens, operations, build| Case { name, width, tokens, operations, build };
    vec![
        case("linear 16x384x1536 gelu", 384, 16, products(16, 384, 1536), |g, w, x| linear(g, w, x, 1536, Activation::Gelu)),
        case("linear 128x384x1536 gelu", 384, 128, products(128, 384, 1536), |g, w, x| linear(g, w, x, 1536, Activation::Gelu)),
        case("linear 128x768x768", 768, 128, products(128, 768, 768), |g, w, x| linear(g, w, x, 768, Activation::Identity)),
        case("linear 128x768x3072 gelu", 768, 128, products(128, 768, 3072), |g, w, x| linear(g, w, x, 3072, Activation::Gelu)),
        case("linear 128x3072x768", 3072, 128, products(128, 3072, 768), |g, w, x| linear(g, w, x, 768, Activation::Identity)),
        case("linear 512x768x768", 768, 512, products(512, 768, 768), |g, w, x| linear(g, w, x, 768, Activation::Identity)),
        case("attention 128 tokens 12x32", 1152, 128, 2 * products(128, 128, 384), |g, _, x| {
            g.attention(x, Attention::plain(12, 32));
        }),
        case("attention 128 tokens 12x64", 2304, 128, 2 * products(128, 128, 768), |g, _, x| {
            g.attention(x, Attention::plain(12, 64));
        }),
        case("attention 512 tokens 12x64", 2304, 512, 2 * products(512, 512, 768), |g, _, x| {
            g.attention(x, Attention::plain(12, 64));
        }),
        case("add and norm 128x768", 768, 128, 128 * 768, |g, w, x| {
            let norm = Norm { weight: weight(w, Role::Vector, 1, 768), bias: Some(weight(w, Role::Vector, 1, 768)), epsilon: 1e-12 };
            g.add_norm(x, x, norm);
        }),
        case("embedding alone 128x768", 768, 128, 128 * 768, |_, _, _| {}),
        case("embedding alone 128x2304", 2304, 128, 128 * 2304, |_, _, _| {}),
    ]
}

/// Attention by the length of a text: all tokens, and ModernBERT's window of 64 to either side.
fn windows(c: &mut Criterion) {
    let mut group = c.benchmark_group("window");
    for (name, span) in [("64", Span { before: 64, after: 64 }), ("all", Span::ALL)] {
        for tokens in [512, 1024, 2048, 4096, 8192] {
            let mut weights = Vec::new();
            let table = weight(&mut weights, Role::Table, 100, 2304);
            let mut graph = Graph::new();
            let x = graph.embed(vec![Lookup { table, index: Index::Token }], None, 2304);
            graph.attention(x, Attention { span, ..Attention::plain(12, 64) });
            let graph = Arc::new(graph);
            let engine = Engine::new(&weights, None, None).expect("an instruction set of this machine");
            group.bench_with_input(BenchmarkId::new(name, tokens), &batch(1, tokens), |b, batch| {
                b.iter(|| engine.run(&graph, batch, 1, &Control::default()).expect("the shapes fit"));
            });
        }
    }
    group.finish();
}

fn operations(c: &mut Criterion) {
    let mut group = c.benchmark_group("operation");
    for case in cases() {
        let mut weights = Vec::new();
        let table = weight(&mut weights, Role::Table, 100, case.width);
        let mut graph = Graph::new();
        let x = graph.embed(vec![Lookup { table, index: Index::Token }], None, case.width);
        (case.build)(&mut graph, &mut weights, x);
        let graph = Arc::new(graph);
        let batch = batch(1, case.tokens);
        group.throughput(Throughput::Elements(case.operations));
        for isa in cloze::engine::cpu::kernels::all().map(|k| k.name).filter(|n| *n != "reference") {
            let engine = Engine::new(&weights, Some(isa), None).expect("an instruction set of this machine");
            group.bench_with_input(BenchmarkId::new(case.name, isa), &batch, |b, batch| {
                b.iter(|| engine.run(&graph, batch, 1, &Control::default()).expect("the shapes fit"));
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(2)).warm_up_time(std::time::Duration::from_millis(500));
    targets = operations, windows
}
criterion_main!(benches);
