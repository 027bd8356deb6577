//! Do the types of GGUF have ggml's bytes and values?
//!
//! `tests/golden/make/gguf_types.py` asked ggml's C code (and the `gguf` package) for the bytes of hostile and ordinary rows in
//! every type, and for the values of those bytes and of random ones.

use std::path::PathBuf;

use cloze::quant::{Bytes, Dtype, Tensor};
use serde_json::Value;

fn read(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/quant").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn floats(name: &str) -> Vec<f32> {
    read(name).as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

struct Golden {
    width: usize,
    names: Vec<String>,
    rows: Vec<f32>,
    types: Vec<(Dtype, Value)>,
}

fn golden() -> Golden {
    let summary: Value = serde_json::from_slice(&read("summary.json")).unwrap();
    let names: Vec<String> = serde_json::from_value(summary["rows"].clone()).unwrap();
    let types: Vec<_> = summary["types"].as_object().unwrap().iter().map(|(n, v)| (Dtype::from_name(n).unwrap(), v.clone())).collect();
    assert_eq!(types.len(), Dtype::all().filter(|t| t.is_quantised()).count(), "a type has no golden data");
    Golden { width: summary["width"].as_u64().unwrap() as usize, names, rows: floats("rows.f32"), types }
}

#[test]
fn sizes_and_numbers_are_ggmls() {
    for (dtype, row) in golden().types {
        let expected = [dtype.block_elements(), dtype.block_bytes(), dtype.ggml() as usize];
        assert_eq!(["block", "bytes", "ggml"].map(|key| row[key].as_u64().unwrap() as usize), expected, "{}", dtype.name());
    }
}

#[test]
fn every_row_has_ggmls_bytes_in_every_type() {
    let golden = golden();
    let mut wrong = Vec::new();
    for (dtype, _) in &golden.types {
        let expected = read(&format!("{}.bytes", dtype.name()));
        let size = dtype.bytes_of(golden.width).unwrap();
        for (i, name) in golden.names.iter().enumerate() {
            let got = dtype.quantise(&golden.rows[i * golden.width..][..golden.width]).unwrap();
            let want = &expected[i * size..][..size];
            let differ = got.iter().zip(want).filter(|(a, b)| a != b).count();
            if differ > 0 {
                wrong.push(format!("{}: {differ} of {size} bytes of the row {name:?}", dtype.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn all_bytes_have_ggmls_values_as_rows_and_as_a_whole() {
    let golden = golden();
    for (dtype, _) in &golden.types {
        let bytes = read(&format!("{}.bytes", dtype.name()));
        let expected = floats(&format!("{}.f32", dtype.name()));
        let rows = expected.len() / golden.width;
        assert!(rows > golden.names.len());
        let tensor = Tensor::new(*dtype, vec![rows, golden.width], Bytes::owned(bytes)).unwrap();
        let all = tensor.to_f32();
        let mut row = vec![0.0; golden.width];
        for i in 0..rows {
            tensor.row(i, &mut row);
            for (j, got) in row.iter().enumerate() {
                let at = i * golden.width + j;
                // A scale that overflowed makes NaN of some codes; which NaN is nobody's business.
                let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
                assert!(same(*got, expected[at]) && same(all[at], expected[at]), "{}: row {i}, value {j}", dtype.name());
            }
        }
    }
}

/// Not golden data: the types must be ordered by how well they keep a row of weights.
#[test]
fn more_bits_keep_a_row_of_weights_better() {
    let golden = golden();
    let row = &golden.rows[..golden.width];
    let error = |name: &str| {
        let dtype = Dtype::from_name(name).unwrap();
        let mut back = vec![0.0; golden.width];
        dtype.widen(&dtype.quantise(row).unwrap(), &mut back);
        let squares = |v: &mut dyn Iterator<Item = f32>| v.map(|x| f64::from(x).powi(2)).sum::<f64>();
        (squares(&mut row.iter().zip(&back).map(|(a, b)| a - b)) / squares(&mut row.iter().copied())).sqrt()
    };
    for (worse, better) in [
        ("Q2_K", "Q3_K"),
        ("Q3_K", "Q4_K"),
        ("Q4_0", "Q5_0"),
        ("Q4_K", "Q5_K"),
        ("Q5_K", "Q6_K"),
        ("Q5_0", "Q8_0"),
        ("Q6_K", "Q8_0"),
        ("Q8_0", "F16"),
    ] {
        assert!(error(worse) > error(better), "{worse} {} {better} {}", error(worse), error(better));
    }
}
