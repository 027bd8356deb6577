//! Do damaged files of every kind leave the readers standing?
//!
//! The seeds in `tests/fuzz/seeds` and in the golden data, then mutations of them from a fixed sequence of random numbers, for 30
//! seconds a format (`CLOZE_FUZZ_SECONDS` for another time). `tests/fuzz` has the same harness for cargo-fuzz, which needs a
//! nightly compiler. An input that panics is written to the temporary folder and named.

#[path = "fuzz/harness.rs"]
mod harness;

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Files longer than this make mutations slow and dull.
const LONGEST_SEED: u64 = 70_000;

fn seeds(folders: &[&str], extension: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut paths: Vec<PathBuf> =
        folders.iter().flat_map(|f| std::fs::read_dir(root.join(f)).unwrap()).map(|e| e.unwrap().path()).collect();
    paths.sort();
    let small = |path: &PathBuf| path.metadata().unwrap().len() <= LONGEST_SEED;
    paths.iter().filter(|p| p.extension().is_some_and(|e| e == extension) && small(p)).map(|p| std::fs::read(p).unwrap()).collect()
}

/// Numerical Recipes' linear congruential generator: the same sequence everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }

    /// A place in `len` bytes, more often near the start, where headers are.
    fn place(&mut self, len: usize) -> usize {
        let within = if self.below(2) == 0 { len } else { len.min(1 << (4 + self.below(9))) };
        self.below(within)
    }
}

/// Numbers at which arithmetic goes wrong.
const EDGES: &[u64] =
    &[0, 1, 2, 7, 31, 32, 33, 255, 256, 65535, 1 << 31, u32::MAX as u64, 1 << 32, 1 << 40, 1 << 62, 1 << 63, u64::MAX - 31, u64::MAX];

/// One change to a file.
fn mutate(file: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.place(file.len());
    match random.below(8) {
        _ if file.is_empty() => file.push(random.below(256) as u8),
        0 => file[at] ^= 1 << random.below(8),
        1 => file[at] = random.below(256) as u8,
        2 | 3 => {
            let edge = EDGES[random.below(EDGES.len())].to_le_bytes();
            let width = [1, 2, 4, 8][random.below(4)].min(file.len() - at);
            file[at..at + width].copy_from_slice(&edge[..width]);
        }
        4 => file.truncate(at),
        5 => {
            let len = random.below(64).min(file.len() - at);
            file.drain(at..at + len);
        }
        6 => {
            let len = random.below(64).min(file.len() - at);
            let piece = file[at..at + len].to_vec();
            let to = random.place(file.len());
            file.splice(to..to, piece);
        }
        _ => {
            let from = random.place(other.len());
            let len = random.below(256).min(other.len() - from).min(file.len() - at);
            file[at..at + len].copy_from_slice(&other[from..from + len]);
        }
    }
}

fn run(name: &str, seeds: &[Vec<u8>], harness: fn(&[u8]) -> bool) {
    assert!(seeds.len() >= 3, "{name}: the seeds are missing");
    let seconds = std::env::var("CLOZE_FUZZ_SECONDS").map_or(30, |s| s.parse().expect("CLOZE_FUZZ_SECONDS is a number of seconds"));
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut random = Random(20_260_101);
    let (mut tried, mut accepted) = (0usize, 0usize);
    seeds.iter().for_each(|seed| accepted += usize::from(harness(seed)));
    while Instant::now() < end {
        let mut file = seeds[random.below(seeds.len())].clone();
        let other = &seeds[random.below(seeds.len())];
        for _ in 0..1 + random.below(4) {
            mutate(&mut file, other, &mut random);
        }
        match catch_unwind(|| harness(&file)) {
            Ok(good) => accepted += usize::from(good),
            Err(_) => {
                let path = std::env::temp_dir().join(format!("cloze-fuzz-{name}-{tried}.bin"));
                std::fs::write(&path, &file).unwrap();
                panic!("{name}: input {tried} panics; it is in {}", path.display());
            }
        }
        tried += 1;
    }
    println!("{name}: {} seeds, {tried} mutations, {accepted} accepted", seeds.len());
}

#[test]
fn gguf_files_of_any_bytes_are_read_or_refused() {
    run("gguf", &seeds(&["fuzz/seeds/gguf", "golden/gguf"], "gguf"), harness::gguf);
}

#[test]
fn the_smallest_seed_is_a_whole_model() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/gguf/model.gguf");
    let model = cloze::Model::load(file, &cloze::Options::default()).unwrap();
    let tokens = model.tokenize(&[("A texts.", None)], &cloze::Request::default()).unwrap();
    assert_eq!(tokens[0].ids, [2, 5, 6, 7, 8, 3]);
}

#[test]
fn safetensors_files_of_any_bytes_are_read_or_refused() {
    run("safetensors", &seeds(&["fuzz/seeds/safetensors"], "safetensors"), harness::safetensors);
}

#[test]
fn pytorch_files_of_any_bytes_are_read_or_refused() {
    let folders =
        ["types", "zip", "legacy", "strided", "strided-legacy", "training"].map(|name| format!("golden/checkpoints/pytorch/{name}"));
    run("pytorch", &seeds(&folders.each_ref().map(String::as_str), "bin"), harness::pytorch);
}

#[test]
fn pickles_of_any_bytes_are_read_or_refused() {
    let mut files = seeds(&["golden/checkpoints/pytorch/hostile"], "pickle");
    // The values of whole files, from the first that a checkpoint has.
    files.extend(seeds(&["golden/checkpoints/pytorch/types"], "bin"));
    run("pickle", &files, harness::pickle);
}

#[test]
fn indexes_of_any_bytes_are_read_or_refused() {
    let folders = ["types", "pretraining", "sliced", "objects", "classifier"].map(|name| format!("golden/checkpoints/tensorflow/{name}"));
    let mut files = seeds(&folders.each_ref().map(String::as_str), "index");
    let blocks: Vec<Vec<u8>> = files.iter().map(|index| index[..harness::table::first_block(index)].to_vec()).collect();
    files.extend(blocks);
    run("tensorflow", &files, harness::tensorflow);
}

#[test]
fn word_vectors_of_any_bytes_are_read_or_refused() {
    let files = ["txt", "vec", "bin"].map(|extension| seeds(&["golden/static"], extension)).concat();
    run("words", &files, harness::words);
}

#[test]
fn graphs_of_any_bytes_are_read_or_refused() {
    let folders = ["encoder-export", "pretraining-export", "encoder-script", "classifier-script"]
        .map(|name| format!("golden/checkpoints/onnx/{name}"));
    run("onnx", &seeds(&folders.each_ref().map(String::as_str), "onnx"), harness::onnx);
}

#[cfg(feature = "keras")]
#[test]
fn keras_files_of_any_bytes_are_read_or_refused() {
    let mut files = seeds(&["golden/checkpoints/keras/other-types", "golden/checkpoints/keras/refused"], "h5");
    // Whole models are mostly numbers, and long: the first tensors' groups stand in the first part.
    files.extend(seeds(&["golden/checkpoints/keras/sharded"], "h5"));
    run("keras", &files, harness::keras);
}
