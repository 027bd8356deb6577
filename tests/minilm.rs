//! Does the real all-MiniLM-L6-v2 give sentence-transformers' vectors?
//!
//! The model is not in the repository: `make` fetches it to `models/minilm`, or `CLOZE_MINILM` names its folder. What to expect
//! was written by `tests/golden/make/minilm.py`. Without the model, or without the data, a test says `SKIPPED` and why.

use std::io::Write;
use std::path::{Path, PathBuf};

use cloze::{ErrorKind, Model, Options, Precision, Request};
use serde::Deserialize;

/// Least cosine to the reference allowed.
const COSINE: f64 = 0.999_999;

#[derive(Deserialize)]
struct Expected {
    dimensions: usize,
    limit: usize,
    stsb: Stsb,
    totals: Vec<usize>,
    texts: Vec<String>,
}

#[derive(Deserialize)]
struct Stsb {
    pairs: usize,
    spearman: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Says aloud, past the test runner's capture, that something was not tested.
fn skipped(why: &str) {
    std::io::stderr().write_all(format!("SKIPPED: {why}\n").as_bytes()).unwrap();
}

/// The folder of the real model, or `None` after saying so aloud.
fn folder() -> Option<PathBuf> {
    let path = std::env::var_os("CLOZE_MINILM").map_or_else(|| root().join("models/minilm"), PathBuf::from);
    if path.join("model.safetensors").is_file() {
        return Some(path);
    }
    skipped(&format!("all-MiniLM-L6-v2 is not at {}; `make model` fetches it, or set CLOZE_MINILM", path.display()));
    None
}

fn expected() -> Expected {
    serde_json::from_slice(&std::fs::read(root().join("tests/golden/minilm/expected.json")).unwrap()).unwrap()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Encodes every `step`-th of the 500 texts on `isa` and compares; slow tables take fewer texts.
fn texts_have_the_reference_vectors(isa: &str, step: usize) {
    let Some(folder) = folder() else { return };
    let model = match Model::load(&folder, &Options { isa: Some(isa.into()), ..Options::default() }) {
        Ok(model) => model,
        Err(e) if isa.starts_with("avx") => return skipped(&format!("this machine lacks {isa} ({e})")),
        Err(e) => panic!("{isa}: {e}"),
    };
    let expected = expected();
    let vectors = std::fs::read(root().join("tests/golden/minilm/vectors.f32")).unwrap();
    let vectors: Vec<f32> = vectors.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    assert_eq!((expected.texts.len(), vectors.len()), (500, 500 * expected.dimensions));
    let chosen: Vec<usize> = (0..expected.texts.len()).step_by(step).collect();
    let texts: Vec<&str> = chosen.iter().map(|i| expected.texts[*i].as_str()).collect();
    let answer = model.encode(&texts, &Request::default()).unwrap();
    assert_eq!((answer.dimensions, answer.finished), (expected.dimensions, texts.len()));
    let mut worst = (1.0, "");
    for (row, i) in chosen.iter().enumerate() {
        let range = |at: usize| at * expected.dimensions..(at + 1) * expected.dimensions;
        let (got, total) = (&answer.vectors.as_f32().unwrap()[range(row)], expected.totals[*i]);
        let similarity = cosine(got, &vectors[range(*i)]);
        assert!(similarity >= COSINE, "{isa}: cosine {similarity} for {:?}", texts[row]);
        let report = &answer.texts[row];
        assert_eq!(
            (report.total, report.tokens, report.truncated),
            (total, total.min(expected.limit), total > expected.limit),
            "{:?}",
            texts[row]
        );
        worst = if similarity < worst.0 { (similarity, texts[row]) } else { worst };
    }
    println!("{isa}: {} texts, worst cosine 1 - {:.1e} for {:?}", texts.len(), 1.0 - worst.0, worst.1);
}

#[test]
fn five_hundred_texts_have_the_reference_vectors_on_avx512() {
    texts_have_the_reference_vectors("avx512", 1);
}

#[test]
fn five_hundred_texts_have_the_reference_vectors_on_avx2() {
    texts_have_the_reference_vectors("avx2", 1);
}

#[test]
fn texts_have_the_reference_vectors_on_portable() {
    texts_have_the_reference_vectors("portable", 10);
}

#[test]
fn texts_have_the_reference_vectors_on_reference() {
    texts_have_the_reference_vectors("reference", 50);
}

/// The numbers to hold at int8, against the reference's f32 vectors of 500 texts: mean and worst cosine, and the share of each
/// text's ten nearest neighbours that stay its nearest.
const INT8: (f64, f64, f64) = (0.9995, 0.999, 0.98);

/// Texts of fewer tokens (nothing, "?!", one word repeated) average less rounding away, and may be this far.
const FEW_TOKENS: (usize, f64) = (8, 0.9985);

/// The ten nearest of each vector's neighbours.
fn neighbours(vectors: &[f32], dimensions: usize) -> Vec<Vec<usize>> {
    let rows: Vec<&[f32]> = vectors.chunks(dimensions).collect();
    let nearest = |i: usize| {
        let mut others: Vec<(f64, usize)> = (0..rows.len()).filter(|j| *j != i).map(|j| (-cosine(rows[i], rows[j]), j)).collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        others.into_iter().take(10).map(|(_, j)| j).collect()
    };
    (0..rows.len()).map(nearest).collect()
}

fn int8_vectors_stay_close_to_the_reference(isa: &str) {
    let Some(folder) = folder() else { return };
    let expected = expected();
    let bytes = std::fs::read(root().join("tests/golden/minilm/vectors.f32")).unwrap();
    let reference: Vec<f32> = bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    let exact = neighbours(&reference, expected.dimensions);
    let options = Options { isa: Some(isa.into()), precision: Precision::Int8, ..Options::default() };
    let model = match Model::load(&folder, &options) {
        Ok(model) => model,
        Err(e) if e.kind() == ErrorKind::InvalidArgument => return skipped(&format!("this machine lacks {isa} ({e})")),
        Err(e) => panic!("{isa}: {e}"),
    };
    assert_eq!(model.describe().precision, "int8");
    let answer = model.encode(&expected.texts, &Request::default()).unwrap();
    let got = answer.vectors.as_f32().unwrap();
    let pairs = got.chunks(expected.dimensions).zip(reference.chunks(expected.dimensions));
    let cosines: Vec<f64> = pairs.map(|(a, b)| cosine(a, b)).collect();
    let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
    let worst_of = |few: bool| {
        let chosen = cosines.iter().zip(&expected.totals).filter(|(_, total)| (**total < FEW_TOKENS.0) == few);
        chosen.map(|(c, _)| *c).fold(1.0, f64::min)
    };
    let (worst, worst_few) = (worst_of(false), worst_of(true));
    let ours = neighbours(got, expected.dimensions);
    let kept: usize = exact.iter().zip(&ours).map(|(a, b)| a.iter().filter(|i| b.contains(i)).count()).sum();
    let overlap = kept as f64 / (10 * exact.len()) as f64;
    println!("{isa}: cosine mean {mean:.5}, worst {worst:.5}, of few tokens {worst_few:.5}; neighbours {overlap:.4}");
    assert!(worst_few >= FEW_TOKENS.1, "{isa}: {worst_few:.5}");
    assert!(mean >= INT8.0 && worst >= INT8.1 && overlap >= INT8.2, "{isa}: {mean:.5} {worst:.5} {overlap:.4}");
}

#[test]
fn int8_vectors_stay_close_to_the_reference_on_avx512bf16() {
    int8_vectors_stay_close_to_the_reference("avx512bf16");
}

#[test]
fn int8_vectors_stay_close_to_the_reference_on_avx512vnni() {
    int8_vectors_stay_close_to_the_reference("avx512vnni");
}

#[test]
fn int8_vectors_stay_close_to_the_reference_on_avxvnni() {
    int8_vectors_stay_close_to_the_reference("avxvnni");
}

#[test]
fn int8_vectors_stay_close_to_the_reference_on_avx2() {
    int8_vectors_stay_close_to_the_reference("avx2");
}

/// The ranks of `values`, from 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    for group in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = start as f64 + (group.len() as f64 + 1.0) / 2.0;
        group.iter().for_each(|i| ranks[*i] = rank);
        start += group.len();
    }
    ranks
}

/// Spearman's correlation: Pearson's, of the ranks.
fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() as f64 + 1.0) / 2.0;
    let moment = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    moment(&a, &b) / (moment(&a, &a) * moment(&b, &b)).sqrt()
}

/// The fields of a line of comma-separated values; a field may stand in quotes, in which `""` is a quote.
fn fields(line: &str) -> Vec<String> {
    let (mut all, mut quoted, mut chars) = (vec![String::new()], false, line.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => all.last_mut().unwrap().push(chars.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(String::new()),
            _ => all.last_mut().unwrap().push(c),
        }
    }
    all
}

#[test]
fn spearman_shares_the_ranks_of_equal_values() {
    assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    assert_eq!(spearman(&[1.0, 2.0, 3.0], &[10.0, 20.0, 400.0]), 1.0);
    assert_eq!(fields("a,\"b, \"\"c\"\"\",1.5"), ["a", "b, \"c\"", "1.5"]);
}

#[test]
fn the_sts_benchmark_has_the_reference_correlation() {
    let Some(folder) = folder() else { return };
    let data = std::env::var_os("CLOZE_DATA").map_or_else(|| root().join("../shared/data"), PathBuf::from);
    let Ok(csv) = std::fs::read_to_string(data.join("stsb/en-test.csv")) else {
        return skipped(&format!("no stsb/en-test.csv in {}; set CLOZE_DATA to a folder that has it", data.display()));
    };
    let rows: Vec<Vec<String>> = csv.lines().map(fields).collect();
    let (model, expected) = (Model::load(&folder, &Options::default()).unwrap(), expected().stsb);
    assert!(rows.len() == expected.pairs && rows.iter().all(|r| r.len() == 3));
    let side = |i: usize| {
        let texts: Vec<&str> = rows.iter().map(|r| r[i].as_str()).collect();
        model.encode(&texts, &Request::default()).unwrap()
    };
    let (a, b) = (side(0), side(1));
    let vectors = |e: &'_ cloze::Embeddings| e.vectors.as_f32().unwrap().to_vec();
    let (va, vb) = (vectors(&a), vectors(&b));
    let cosines: Vec<f64> = va.chunks(a.dimensions).zip(vb.chunks(a.dimensions)).map(|(x, y)| cosine(x, y)).collect();
    let scores: Vec<f64> = rows.iter().map(|r| r[2].parse().unwrap()).collect();
    let got = spearman(&cosines, &scores);
    println!("Spearman {got:.6}");
    assert_eq!(format!("{got:.4}"), expected.spearman);
}
