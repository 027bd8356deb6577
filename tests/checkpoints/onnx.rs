//! Exported graphs: names, orientation, files of constants, and files that are damaged.

use cloze::formats::{Source, Weights, huggingface};
use cloze::{Error, ErrorKind};

use super::bases::{Base, Files, files_below, golden};

fn files(name: &str) -> Files {
    files_below(&golden("onnx").join(name), "")
}

fn read(mut files: Files) -> Result<Weights, Error> {
    files.push(("config.json".into(), br#"{"model_type": "bert"}"#.to_vec()));
    huggingface::open(&Source::memory(files).unwrap()).map(|folder| folder.weights)
}

/// A message of the wire format: fields with bytes.
fn message(fields: &[(u8, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, content) in fields {
        bytes.push(number << 3 | 2);
        let mut len = content.len();
        while len > 0x7f {
            bytes.push(len as u8 | 0x80);
            len >>= 7;
        }
        bytes.push(len as u8);
        bytes.extend_from_slice(content);
    }
    bytes
}

/// A tensor of floats.
fn tensor(name: &str, shape: &[u8], dtype: u8, more: &[(u8, &[u8])]) -> Vec<u8> {
    [message(&[(1, shape), (8, name.as_bytes())]), vec![2 << 3, dtype], message(more)].concat()
}

fn node(op: &str, inputs: &[&str], output: &str, more: &[(u8, &[u8])]) -> Vec<u8> {
    let mut fields: Vec<(u8, &[u8])> = inputs.iter().map(|input| (1, input.as_bytes())).collect();
    fields.extend([(2, output.as_bytes()), (4, op.as_bytes())]);
    fields.extend(more);
    message(&fields)
}

fn model(tensors: &[Vec<u8>], nodes: &[Vec<u8>]) -> Files {
    let fields: Vec<(u8, &[u8])> = nodes.iter().map(|n| (1, n.as_slice())).chain(tensors.iter().map(|t| (5, t.as_slice()))).collect();
    vec![("model.onnx".into(), message(&[(7, &message(&fields))]))]
}

fn floats(count: usize) -> Vec<u8> {
    (0..count).flat_map(|i| (i as f32).to_le_bytes()).collect()
}

fn refused(files: Files, words: &[&str]) -> Error {
    let e = read(files).expect_err(&format!("accepted: {words:?}"));
    for word in words {
        assert!(e.message().contains(word), "{word:?} is not in: {e}");
    }
    e
}

#[test]
fn graphs_of_both_exporters_give_the_answers_of_safetensors() {
    for (base, exporter) in [("encoder", "script"), ("encoder", "export"), ("classifier", "script"), ("pretraining", "export")] {
        Base::of(base).same_from(&golden("onnx").join(format!("{base}-{exporter}")));
    }
    let nested = files("encoder-export").into_iter().map(|(name, bytes)| (format!("onnx/{name}"), bytes)).collect();
    let base = Base::of("encoder");
    base.same("onnx/model.onnx", base.with(nested));
}

#[test]
fn the_use_of_a_matrix_says_how_it_lies() {
    let six = floats(6);
    let w = |name: &str| tensor(name, &[2, 3], 1, &[(9, &six)]);
    let b = |len: u8| tensor("m.bias", &[len], 1, &[(9, &floats(usize::from(len)))]);
    let add = |bias: &str| node("Add", &[bias, "p"], "s", &[]);
    let turned = vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0];
    let plain = vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    let attribute = |value: u8| [message(&[(1, b"transB")]), vec![3 << 3, value]].concat();
    let gemm = |value: u8| node("Gemm", &["x", "w", "m.bias"], "s", &[(5, &attribute(value))]);
    // A name of its own, or the bias's; as MatMul and Gemm use it.
    let cases = [
        (model(&[w("w"), b(3)], &[node("MatMul", &["x", "w"], "p", &[]), add("m.bias")]), [3, 2], &turned),
        (model(&[w("m.weight"), b(3)], &[node("MatMul", &["x", "m.weight"], "p", &[]), add("m.bias")]), [3, 2], &turned),
        (
            model(&[w("m.weight"), b(3)], &[node("Transpose", &["m.weight"], "t", &[]), node("MatMul", &["x", "t"], "p", &[])]),
            [2, 3],
            &plain,
        ),
        (model(&[w("w"), b(3)], &[gemm(0)]), [3, 2], &turned),
        (model(&[w("w"), b(2)], &[gemm(1)]), [2, 3], &plain),
        (model(&[w("m.weight"), b(2)], &[node("Gather", &["m.weight", "ids"], "g", &[])]), [2, 3], &plain),
    ];
    for (i, (files, shape, values)) in cases.into_iter().enumerate() {
        let weights = read(files).unwrap_or_else(|e| panic!("case {i}: {e}"));
        let weight = weights
            .get("weight")
            .or_else(|| weights.get("m.weight"))
            .unwrap_or_else(|| panic!("case {i}: {:?}", weights.names().collect::<Vec<_>>()));
        assert_eq!((weight.shape(), &weight.to_f32()), (shape.as_slice(), values), "case {i}");
    }
    // Twice, with other numbers.
    let twice = [node("MatMul", &["x", "w"], "p", &[]), add("m.bias"), node("MatMul", &["x", "m.weight"], "q", &[])];
    let other = tensor("m.weight", &[2, 3], 1, &[(9, &[0; 24])]);
    refused(model(&[w("w"), other, b(3)], &twice), &["weight", "twice"]);
    assert!(read(model(&[w("w"), w("m.weight"), b(3)], &twice)).is_ok());
    let both = [node("MatMul", &["x", "m.weight"], "p", &[]), node("Gather", &["m.weight", "ids"], "g", &[])];
    refused(model(&[w("m.weight"), b(3)], &both), &["m.weight", "both"]);
}

#[test]
fn numbers_stand_in_any_field_that_the_format_has() {
    let place = |more: &[(u8, &[u8])], dtype: u8| {
        let files = model(&[tensor("a.weight", &[2], dtype, more), tensor("b.bias", &[1], 1, &[(9, &floats(1))])], &[]);
        read(files).map(|weights| weights.get("a.weight").unwrap().to_f32())
    };
    let doubles: Vec<u8> = [0.1f64, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(place(&[(9, &floats(2))], 1).unwrap(), [0.0, 1.0]);
    assert_eq!(place(&[(4, &floats(2))], 1).unwrap(), [0.0, 1.0]);
    assert_eq!(place(&[(10, &doubles)], 11).unwrap(), [0.1f32, 2.0]);
    assert_eq!(place(&[(9, &doubles)], 11).unwrap(), [0.1f32, 2.0]);
    // 1.0 and -2.0 as f16, and as bf16.
    assert_eq!(place(&[(5, b"\x80\x78\x80\x80\x03")], 10).unwrap(), [1.0, -2.0]);
    assert_eq!(place(&[(9, b"\x80\x3f\x00\xc0")], 16).unwrap(), [1.0, -2.0]);
    for (more, dtype) in [(&[][..], 1), (&[(9, &floats(3)[..])], 1), (&[(9, &floats(2)[..7])], 1), (&[(5, b"\xff\xff\x7f")], 10)] {
        assert_eq!(place(more, dtype).unwrap_err().kind(), ErrorKind::InvalidFile);
    }
    assert!(place(&[(9, &floats(2)), (4, &floats(2))], 1).unwrap_err().message().contains("twice"));
}

#[test]
fn constants_outside_the_file_stay_in_the_models_folder() {
    let outside = |location: &str, offset: &str, length: &str| {
        let entries: Vec<Vec<u8>> = [("location", location), ("offset", offset), ("length", length)]
            .iter()
            .map(|(k, v)| message(&[(1, k.as_bytes()), (2, v.as_bytes())]))
            .collect();
        let more: Vec<(u8, &[u8])> = entries.iter().map(|entry| (13, entry.as_slice())).collect();
        let constant = [tensor("a.weight", &[2], 1, &more), vec![14 << 3, 1]].concat();
        let mut files = model(&[constant, tensor("b.bias", &[1], 1, &[(9, &floats(1))])], &[]);
        files.push(("w.data".into(), floats(4)));
        files
    };
    assert_eq!(read(outside("w.data", "8", "8")).unwrap().get("a.weight").unwrap().to_f32(), [2.0, 3.0]);
    assert_eq!(read(outside("./w.data", "0", "8")).unwrap().get("a.weight").unwrap().to_f32(), [0.0, 1.0]);
    for location in ["../../etc/passwd", "/etc/passwd", "..", "", "a/../../w.data", "C:\\w.data"] {
        refused(outside(location, "0", "8"), &["leaves the model's folder"]);
    }
    refused(outside("none.data", "0", "8"), &["none.data"]);
    for (offset, length) in
        [("12", "8"), ("18446744073709551615", "8"), ("0", "18446744073709551615"), ("0", "4"), ("-1", "8"), ("x", "8"), ("0", "16")]
    {
        assert_eq!(refused(outside("w.data", offset, length), &[]).kind(), ErrorKind::InvalidFile);
    }
}

#[test]
fn graphs_that_do_not_tell_their_weights_are_refused() {
    let w = tensor("onnx::MatMul_7", &[2, 3], 1, &[(9, &floats(6))]);
    let b = tensor("m.bias", &[3], 1, &[(9, &floats(3))]);
    let product = || node("MatMul", &["x", "onnx::MatMul_7"], "p", &[]);
    let untold = refused(model(&[w.clone(), b.clone()], &[product()]), &["onnx::MatMul_7", "no operation tells its layer"]);
    assert_eq!(untold.kind(), ErrorKind::InvalidTensor);
    let shared = [product(), node("Add", &["m.bias", "p"], "s", &[]), node("Add", &["n.bias", "p"], "t", &[])];
    refused(model(&[w.clone(), b.clone()], &shared), &["onnx::MatMul_7"]);
    let narrow = tensor("m.bias", &[2], 1, &[(9, &floats(2))]);
    refused(model(&[w.clone(), narrow], &[product(), node("Add", &["m.bias", "p"], "s", &[])]), &["onnx::MatMul_7"]);
    let fused = node("FusedMatMul", &["x", "onnx::MatMul_7"], "p", &[(7, b"com.microsoft")]);
    assert_eq!(refused(model(&[w, b], &[fused]), &["FusedMatMul", "optimised"]).kind(), ErrorKind::Unsupported);
    let quantised = tensor("encoder.layer.0.q_quantized", &[2, 3], 3, &[(9, &[0; 6])]);
    assert_eq!(refused(model(&[quantised], &[]), &["q_quantized", "quantised"]).kind(), ErrorKind::Unsupported);
}

#[test]
fn damaged_graphs_are_errors() {
    refused(vec![("model.onnx".into(), Vec::new())], &["no graph"]);
    refused(vec![("model.onnx".into(), b"version https://git-lfs.github.com/spec/v1".to_vec())], &["git lfs pull"]);
    let same = tensor("a.weight", &[1], 1, &[(9, &floats(1))]);
    refused(model(&[same.clone(), same], &[]), &["twice"]);
    // Lengths that promise far more than there is.
    for bytes in [&b"\x3a\xff\xff\xff\xff\x0f"[..], b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x3a\x06\x2a\xff\xff\xff\xff\x0f"] {
        assert_eq!(refused(vec![("model.onnx".into(), bytes.to_vec())], &[]).kind(), ErrorKind::InvalidFile);
    }
    let huge: &[u8] = &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 8];
    refused(model(&[tensor("a.weight", huge, 1, &[(9, &floats(1))])], &[]), &["a.weight", "too large"]);
    let negative: &[u8] = &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    refused(model(&[tensor("a.weight", negative, 1, &[(9, &floats(1))])], &[]), &["a.weight", "negative"]);
    // Fields that follow the graph are no part of the weights.
    let whole = files("classifier-script").remove(0).1;
    let mut refusals = 0;
    for len in (0..whole.len()).step_by(61) {
        let cut = vec![("model.onnx".into(), whole[..len].to_vec())];
        refusals += usize::from(read(cut).is_err());
    }
    assert!(refusals >= whole.len() / 61 - 2, "{refusals}");
}
