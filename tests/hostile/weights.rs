//! What happens with damaged weight files?

use cloze::{Error, ErrorKind, Request};
use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};

use super::folder::{Folder, Tensors, golden, says};
use super::set;

const WORDS: &str = "embeddings.word_embeddings.weight";
const QUERY: &str = "encoder.layer.0.attention.self.query.weight";

#[test]
fn a_truncated_weight_file_is_an_error_wherever_it_ends() {
    let whole = std::fs::read(golden("tiny-gelu").join("model.safetensors")).unwrap();
    for length in [0, 1, 7, 8, 9, 100, 2000, whole.len() / 2, whole.len() - 4, whole.len() - 1] {
        Folder::new().write("model.safetensors", &whole[..length]).refused(ErrorKind::InvalidFile, &["model.safetensors"]);
    }
    Folder::new().write("model.safetensors", [&whole[..], &[0; 4]].concat()).refused(ErrorKind::InvalidFile, &["model.safetensors"]);
}

#[test]
fn a_header_longer_than_the_file_is_an_error_not_an_allocation() {
    for length in [1u64 << 60, u64::MAX, 1 << 31, 99_000_000] {
        let file = [&length.to_le_bytes()[..], b"{}"].concat();
        Folder::new().write("model.safetensors", file).refused(ErrorKind::InvalidFile, &["model.safetensors", &length.to_string()]);
    }
}

#[test]
fn ranges_that_overlap_or_lie_are_errors() {
    let ends = |change: fn(u64) -> u64| {
        move |h: &mut Value| {
            let range = &mut h[QUERY]["data_offsets"];
            range[1] = json!(change(range[0].as_u64().unwrap()));
        }
    };
    Folder::new().header(|h| h[QUERY]["data_offsets"] = json!([0, 9216])).refused(ErrorKind::InvalidFile, &["overlap"]);
    Folder::new().header(ends(|begin| begin + 9220)).refused(ErrorKind::InvalidFile, &["overlap"]);
    Folder::new().header(ends(|begin| begin - 1)).refused(ErrorKind::InvalidFile, &[QUERY, "before it begins"]);
    Folder::new().header(ends(|_| 1 << 60)).refused(ErrorKind::InvalidFile, &[QUERY]);
    Folder::new().header(|h| h[QUERY]["shape"] = json!([48, 49])).refused(ErrorKind::InvalidFile, &[QUERY]);
    Folder::new().header(|h| h[QUERY]["shape"] = json!([u64::MAX, u64::MAX])).refused(ErrorKind::InvalidFile, &[QUERY]);
    Folder::new().header(|h| h[QUERY]["shape"] = json!([-1, 48])).refused(ErrorKind::InvalidFile, &["model.safetensors"]);
    Folder::new().header(|h| drop(h.as_object_mut().unwrap().remove(QUERY))).refused(ErrorKind::InvalidFile, &["belong to no tensor"]);
}

#[test]
fn element_types_that_are_not_floats_are_refused() {
    Folder::new().header(|h| h[QUERY]["dtype"] = json!("F7")).refused(ErrorKind::Unsupported, &[QUERY, "F7"]);
    Folder::new().header(|h| h[QUERY]["dtype"] = json!("U32")).refused(ErrorKind::Unsupported, &[QUERY, "U32"]);
    let integers = |t: &mut Tensors| drop(t.insert(QUERY.into(), (Dtype::I64, vec![48, 48], vec![0; 48 * 48 * 8])));
    Folder::new().tensors(integers).refused(ErrorKind::InvalidTensor, &[QUERY, "I64"]);
}

#[test]
fn unknown_missing_and_misshapen_tensors_are_named() {
    let f32s = |shape: &[usize]| (Dtype::F32, shape.to_vec(), vec![0; shape.iter().product::<usize>() * 4]);
    let add = |name: &'static str| move |t: &mut Tensors| drop(t.insert(name.into(), f32s(&[4])));
    for name in ["surprise", "encoder.layer.2.attention.self.query.weight", "encoder.layer.0.attention.self.query.extra"] {
        Folder::new().tensors(add(name)).refused(ErrorKind::InvalidTensor, &[name]);
    }
    let names: Vec<String> = {
        let bytes = std::fs::read(golden("tiny-gelu").join("model.safetensors")).unwrap();
        SafeTensors::deserialize(&bytes).unwrap().names().into_iter().map(str::to_owned).collect()
    };
    assert_eq!(names.len(), 39);
    Folder::new().tensors(add("bert.pooler.dense.bias")).refused(ErrorKind::InvalidTensor, &["bert."]);
    for name in &names {
        Folder::new().tensors(|t| drop(t.insert(name.clone(), f32s(&[5, 7])))).refused(ErrorKind::InvalidTensor, &[name, "[5, 7]"]);
        if !name.starts_with("pooler") {
            Folder::new().tensors(|t| drop(t.remove(name))).refused(ErrorKind::InvalidTensor, &[name]);
        }
    }
    Folder::new().tensors(|t| drop(t.remove("pooler.dense.bias"))).refused(ErrorKind::InvalidTensor, &["pooler.dense.bias"]);
    Folder::new().tensors(Tensors::clear).refused(ErrorKind::InvalidTensor, &["embeddings"]);
    let harmless = |t: &mut Tensors| drop(t.insert("embeddings.position_ids".into(), (Dtype::I64, vec![1, 64], vec![0; 512])));
    assert!(Folder::new().tensors(harmless).open().is_ok());
}

/// Opens the folder and encodes: the one or the other must say that a number is not finite.
fn not_finite(folder: &Folder) -> Error {
    match folder.open() {
        Err(e) => e,
        Ok(model) => model.encode(&["the quick fox"], &Request::default()).expect_err("a vector that is not a number"),
    }
}

#[test]
fn weights_that_are_not_numbers_are_found_at_the_latest_in_the_vectors() {
    for (name, value) in
        [(WORDS, f32::NAN), (QUERY, f32::NAN), ("encoder.layer.1.output.LayerNorm.weight", f32::INFINITY), (WORDS, f32::MAX)]
    {
        let spoil = |t: &mut Tensors| t.get_mut(name).unwrap().2.as_chunks_mut().0.iter_mut().for_each(|v| *v = value.to_le_bytes());
        let folder = Folder::new().tensors(spoil);
        let e = not_finite(&folder);
        assert!(matches!(e.kind(), ErrorKind::NonFinite | ErrorKind::InvalidTensor), "{name} = {value}: {e}");
        assert!(e.message().contains("finite"), "{e}");
        if let Ok(model) = folder.open() {
            for settings in [&[("vectors", "token")], &[("output", "binary")], &[("pooling", "cls")]] {
                says(&model.encode(&["a"], &set(settings)).unwrap_err(), ErrorKind::NonFinite, &["text 0"]);
            }
        }
    }
}
