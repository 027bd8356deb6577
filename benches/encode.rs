//! Whole calls: tokenizer alone, and text to vectors: `cargo bench --bench encode`.
//!
//! With models/minilm (`make model`) the real MiniLM is measured, otherwise the tiny golden model.

use std::path::Path;

use cloze::{Model, Options, Request};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const PASSAGE: &str = "The city library lends books, films and instruments to everyone who lives in the county. A card costs nothing; \
    bring a document with your address. Items may be kept for four weeks and renewed twice unless somebody is waiting for them. Late \
    returns cost ten cents a day, which the library waives for children.";

fn open(threads: usize) -> Model {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let real = root.join("models/minilm");
    let folder = if real.is_dir() { real } else { root.join("tests/golden/models/tiny-gelu") };
    println!("model: {}", folder.display());
    Model::load(folder, &Options { threads: Some(threads), ..Options::default() }).expect("the model opens")
}

fn calls(c: &mut Criterion) {
    let request = Request::default();
    let passages = vec![PASSAGE; 32];
    for threads in [1, 2] {
        let model = open(threads);
        let mut group = c.benchmark_group(format!("{threads} threads"));
        group.throughput(Throughput::Elements(1));
        group.bench_function("encode a query", |b| b.iter(|| model.encode(&["when are books due?"], &request).expect("encodes")));
        group.bench_function("encode a passage", |b| b.iter(|| model.encode(&[PASSAGE], &request).expect("encodes")));
        group.throughput(Throughput::Elements(32));
        group.bench_function("encode 32 passages", |b| b.iter(|| model.encode(&passages, &request).expect("encodes")));
        group.finish();
    }
    let model = open(1);
    let mut group = c.benchmark_group("tokenizer");
    group.throughput(Throughput::Bytes(PASSAGE.len() as u64));
    group.bench_function("a passage", |b| b.iter(|| model.tokenize(&[(PASSAGE, None)], &request).expect("tokenizes")));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(3));
    targets = calls
}
criterion_main!(benches);
