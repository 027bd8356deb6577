//! Do GGUF files open as models, are ours what others write, and is every damaged one refused?
//!
//! `tests/golden/make/gguf_files.py` wrote the files in `tests/golden/gguf` with the `gguf` Python package, as llama.cpp's
//! converter does; the answers are those of the folders in `tests/golden/models`, from which they were made.

#[path = "gguf/convert.rs"]
mod convert;
#[path = "gguf/hostile.rs"]
mod hostile;

use std::path::{Path, PathBuf};

use cloze::formats::gguf::{Array, Metadata, Reader, Value, Writer};
use cloze::formats::{Source, TensorPlan, huggingface};
use cloze::quant::{Bytes, Dtype};
use cloze::tokenizer::{Files, Limit, Tokenizer, Truncation};
use cloze::{Model, Options, Request, Vectors};
use serde_json::Value as Json;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(golden(name)).unwrap_or_else(|e| panic!("{name}: {e}; run tests/golden/make/gguf_files.py"))
}

fn json(name: &str) -> Json {
    serde_json::from_slice(&read(name)).unwrap()
}

/// The vectors of `texts` with these settings.
fn encode(model: &Model, texts: &[&str], set: &[(&str, &str)]) -> Vec<f32> {
    let mut request = Request::default();
    set.iter().for_each(|(name, value)| request.set(name, value).unwrap());
    match model.encode(texts, &request).unwrap().vectors {
        Vectors::F32(vectors) => vectors,
        _ => panic!("not f32"),
    }
}

/// Checks a model against the cases of a golden folder that do not depend on what such a GGUF file leaves out: whether vectors are
/// normalised, the pooler, and poolings that llama.cpp does not have.
fn answers(model: &Model, folder: &str) {
    let expected = json(&format!("models/{folder}/expected.json"));
    let values: Vec<f32> = read(&format!("models/{folder}/expected.f32")).as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    let all: Vec<&str> = expected["texts"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
    let mut checked = 0;
    for case in expected["cases"].as_array().unwrap() {
        let set: Vec<(&str, &str)> = case["set"].as_object().unwrap().iter().map(|(k, v)| (k.as_str(), v.as_str().unwrap())).collect();
        let tokens = set.contains(&("vectors", "token"));
        let stated = |name: &str| tokens || set.iter().any(|(n, _)| *n == name);
        let texts: Vec<&str> = case["texts"].as_array().unwrap().iter().map(|t| all[t.as_u64().unwrap() as usize]).collect();
        if texts.is_empty() || !stated("normalize") || !stated("pooling") || set.contains(&("pooling", "pooler")) {
            continue;
        }
        let got = encode(model, &texts, &set);
        let want = &values[case["at"].as_u64().unwrap() as usize..][..got.len()];
        let rms = (want.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / want.len() as f64).sqrt();
        let worst = got.iter().zip(want).map(|(a, b)| f64::from((a - b).abs())).fold(0.0, f64::max);
        assert!(worst <= 2e-5 * rms, "{folder}, {}: error {:.1e} x rms", case["what"], worst / rms);
        checked += 1;
    }
    assert!(checked >= 7, "{folder}: only {checked} cases");
}

#[test]
fn a_file_of_llama_cpps_converter_opens_and_gives_the_reference_answers() {
    for name in ["tiny-gelu", "tiny-no-pooler"] {
        let model = Model::load(golden(&format!("gguf/{name}.gguf")), &Options::default()).unwrap();
        answers(&model, name);
        assert_eq!(model.describe().pooling, ["mean"]);
        assert!(!model.describe().normalize && !model.describe().pooler);
        let in_memory = Model::load_files(vec![("any name".to_owned(), read(&format!("gguf/{name}.gguf")))], &Options::default()).unwrap();
        assert_eq!(encode(&in_memory, &["a text"], &[]), encode(&model, &["a text"], &[]));
    }
}

/// llama.cpp turns RoBERTa and XLM-RoBERTa into its architecture bert.
#[test]
fn an_xlm_roberta_of_llama_cpps_converter_gives_the_reference_vectors() {
    let model = Model::load(golden("gguf/xlm-roberta.gguf"), &Options::default()).unwrap();
    assert_eq!(model.describe().pooling, ["cls"]);
    let expected = json("gguf/xlm-roberta.json");
    let chosen = expected["chosen"].as_array().unwrap().iter().map(|i| &expected["texts"][i.as_u64().unwrap() as usize]);
    let texts: Vec<&str> = chosen.map(|t| t.as_str().unwrap()).collect();
    let wanted: Vec<Vec<f32>> = serde_json::from_value(expected["vectors"].clone()).unwrap();
    let got = encode(&model, &texts, &[]);
    assert!(texts.len() > 8 && got.len() == wanted.len() * wanted[0].len());
    for ((text, got), want) in texts.iter().zip(got.chunks(wanted[0].len())).zip(&wanted) {
        let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst < 2e-5, "{text:?}: {worst}");
    }
}

/// The same layer has another name in RoBERTa's classifier than as BERT's pooler; llama.cpp has one for both.
#[test]
fn a_roberta_reranker_of_llama_cpps_converter_gives_the_reference_numbers() {
    let model = Model::load(golden("gguf/roberta-rank.gguf"), &Options::default()).unwrap();
    let expected = json("gguf/roberta-rank.json");
    let chosen = expected["chosen"].as_array().unwrap().iter().map(|i| &expected["texts"][i.as_u64().unwrap() as usize]);
    let texts: Vec<&str> = chosen.map(|t| t.as_str().unwrap()).collect();
    let wanted: Vec<f32> = serde_json::from_value(expected["logits"].clone()).unwrap();
    let ranking = model.rerank(expected["query"].as_str().unwrap(), &texts, &Request::default()).unwrap();
    assert!(texts.len() > 8 && ranking.ranked.len() == wanted.len());
    for ranked in &ranking.ranked {
        let (got, want) = (ranked.logit, wanted[ranked.index]);
        assert!((got - want).abs() < 1e-4 * want.abs().max(1.0), "{:?}: {got} for {want}", texts[ranked.index]);
    }
}

/// The token ids of texts, by the tokenizer that a GGUF file amounts to.
fn ids(file: &str, texts: &[&str]) -> Vec<Vec<u32>> {
    let source = Source::memory(vec![("model.gguf".to_owned(), read(&format!("gguf/{file}.gguf")))]).unwrap();
    let folder = huggingface::open(&source).unwrap();
    let tokenizer = Tokenizer::open(&Files { json: folder.tokenizer.json.as_deref(), ..Files::default() }).unwrap();
    let limit = Limit { max_tokens: 10_000, truncation: Truncation::Error, overlap: 0 };
    texts.iter().map(|text| tokenizer.encode(text, None, &limit).unwrap().windows[0].ids.clone()).collect()
}

#[test]
fn vocabularies_of_every_kind_give_the_ids_of_the_tokenizer_they_came_from() {
    for (file, expected) in
        [("tiny-gelu", "models/tiny-gelu/expected.json"), ("xlm-roberta", "gguf/xlm-roberta.json"), ("bpe", "gguf/bpe.json")]
    {
        let expected = json(expected);
        let texts: Vec<&str> = expected["texts"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
        let wanted: Vec<Vec<u32>> = serde_json::from_value(expected["ids"].clone()).unwrap();
        let limit = expected["limit"].as_u64().unwrap_or(u64::MAX) as usize;
        for ((text, got), want) in texts.iter().zip(ids(file, &texts)).zip(&wanted) {
            // The golden ids of models are cut to their limit.
            if want.len() < limit {
                assert_eq!(&got, want, "{file}: {text:?}");
            }
        }
    }
}

/// The settings that the Python script writes.
fn settings(alignment: Option<u32>) -> Metadata {
    let mut all = Metadata::default();
    let text = |s: &str| Value::String(s.to_owned());
    all.set("general.architecture", text("nothing"));
    if let Some(alignment) = alignment {
        all.set("general.alignment", Value::U32(alignment));
    }
    for (key, value) in [
        ("a.u8", Value::U8(200)),
        ("a.i8", Value::I8(-100)),
        ("a.u16", Value::U16(60000)),
        ("a.i16", Value::I16(-30000)),
        ("a.u32", Value::U32(4_000_000_000)),
        ("a.i32", Value::I32(-2_000_000_000)),
        ("a.f32", Value::F32(0.1)),
        ("a.bool", Value::Bool(true)),
        ("a.string", text("Zürich 漢字 🔍")),
        ("a.u64", Value::U64((1 << 63) + 1)),
        ("a.i64", Value::I64(-(1 << 62))),
        ("a.f64", Value::F64(0.1)),
        ("b.i32", Value::Array(Array::I32(vec![1, -2, 3]))),
        ("b.f32", Value::Array(Array::F32(vec![0.5, -0.25]))),
        ("b.bool", Value::Array(Array::Bool(vec![true, false]))),
        ("b.string", Value::Array(Array::String(["", "a", "漢"].map(str::to_owned).to_vec()))),
        ("b.nested", Value::Array(Array::Array(vec![Array::I32(vec![1, 2]), Array::I32(vec![3])]))),
    ] {
        all.set(key, value);
    }
    all
}

fn counting(dtype: Dtype, n: usize) -> Bytes {
    match dtype {
        Dtype::I64 => Bytes::owned((0..n as i64).flat_map(i64::to_le_bytes).collect::<Vec<u8>>()),
        _ => Bytes::owned(dtype.quantise(&(0..n).map(|i| i as f32).collect::<Vec<_>>()).unwrap()),
    }
}

const TENSORS: &[(&str, Dtype, &[usize])] = &[
    ("f32", Dtype::F32, &[2, 3]),
    ("f16", Dtype::F16, &[5]),
    ("i64", Dtype::I64, &[2, 1]),
    ("q8_0", Dtype::Q8_0, &[2, 64]),
    ("cube", Dtype::F32, &[2, 3, 4]),
];

#[test]
fn our_bytes_are_those_that_python_writes_and_read_back() {
    for (file, alignment) in [("settings", None), ("aligned", Some(128))] {
        let metadata = settings(alignment);
        let plans =
            TENSORS.iter().map(|(name, dtype, shape)| TensorPlan { name: (*name).to_owned(), dtype: *dtype, shape: shape.to_vec() });
        let writer = Writer::new(&metadata, plans.collect()).unwrap();
        let (mut ours, mut heard) = (Vec::new(), 0);
        writer.write(&mut ours, |plan| Ok(counting(plan.dtype, plan.shape.iter().product())), |done| heard = done).unwrap();
        let theirs = read(&format!("gguf/{file}.gguf"));
        assert_eq!((ours.len(), heard), (writer.len(), writer.len()));
        let differ = ours.iter().zip(&theirs).position(|(a, b)| a != b);
        assert_eq!((differ, ours.len()), (None, theirs.len()), "{file}");
        let reader = Reader::open(&Bytes::owned(theirs)).unwrap();
        assert_eq!((reader.version(), reader.alignment()), (3, alignment.unwrap_or(32) as usize));
        assert_eq!(reader.metadata(), &metadata);
        assert_eq!(reader.tensors().len(), TENSORS.len());
        for (name, dtype, shape) in TENSORS {
            let tensor = reader.tensor(name).unwrap();
            assert_eq!((tensor.dtype(), tensor.shape()), (*dtype, *shape));
            assert_eq!(&**tensor.bytes(), &*counting(*dtype, shape.iter().product()));
        }
    }
}

#[test]
fn settings_of_another_type_are_named() {
    let all = settings(None);
    assert_eq!(all.count("a.u8").unwrap(), Some(200));
    assert_eq!(all.number("a.i16").unwrap(), Some(-30000.0));
    assert_eq!(all.texts("b.string").unwrap().unwrap().len(), 3);
    assert_eq!(all.count("none").unwrap(), None);
    for wrong in [
        all.count("a.i8").map(drop),
        all.count("a.string").map(drop),
        all.text("a.u8").map(drop),
        all.flag("a.u8").map(drop),
        all.texts("b.i32").map(drop),
        all.numbers("b.string").map(drop),
    ] {
        let e = wrong.unwrap_err();
        assert!(e.message().contains("expected") && (e.message().contains("\"a.") || e.message().contains("\"b.")), "{e}");
    }
}
