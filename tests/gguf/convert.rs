//! From folders to GGUF files and back.

use std::collections::BTreeMap;
use std::path::Path;

use cloze::formats::convert::{Contents, kept, quantised, unpacked};
use cloze::formats::gguf::Reader;
use cloze::formats::{Source, huggingface};
use cloze::quant::{Bytes, Dtype};
use cloze::{ErrorKind, Model, Options};

use super::{encode, golden};

const TEXTS: &[&str] =
    &["The quick brown fox jumps over the lazy dog.", "今天天气很好，我们去公园。", "Crème brûlée", "", "I ❤️ search 🔍"];

fn folders() -> Vec<std::path::PathBuf> {
    let mut all: Vec<_> = std::fs::read_dir(golden("models")).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    all
}

fn contents(path: &Path) -> Contents {
    Contents::of(&Source::open(path).unwrap()).unwrap()
}

fn load(path: &Path) -> Model {
    Model::load(path, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Every file of a folder but for tensors and what other tools left there.
fn small_files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                open.push(path);
            } else if !name.contains("safetensors") && !name.starts_with("expected") {
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn every_folder_survives_the_way_to_gguf_and_back() {
    for path in folders() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let place = tempfile::tempdir().unwrap();
        let (file, back) = (place.path().join("model.gguf"), place.path().join("back"));
        contents(&path).write_gguf(&file, kept, |done, all| assert!(done <= all)).unwrap();
        contents(&file).write_folder(&back, unpacked, |done, all| assert!(done <= all)).unwrap();
        let original = load(&path);
        let expected = encode(&original, TEXTS, &[]);
        for copy in [&file, &back] {
            let copy = load(copy);
            assert!(encode(&copy, TEXTS, &[]) == expected, "{name}: other vectors");
            let (a, b) = (original.describe(), copy.describe());
            assert_eq!(
                (&a.prompts, &a.default_prompt, a.max_tokens, a.normalize),
                (&b.prompts, &b.default_prompt, b.max_tokens, b.normalize)
            );
            assert_eq!((&a.pooling, a.pooler, a.parameters), (&b.pooling, b.pooler, b.parameters), "{name}");
        }
        let (mut original, back) = (small_files(&path), small_files(&back));
        // tokenizer.json says all that vocab.txt says.
        if original.keys().any(|name| name.ends_with("tokenizer.json")) {
            original.retain(|name, _| !name.ends_with("vocab.txt"));
        }
        assert_eq!(original.keys().collect::<Vec<_>>(), back.keys().collect::<Vec<_>>(), "{name}");
        assert!(original == back, "{name}: a small file changed");
        // A second time, from the GGUF file: the same bytes.
        let again = place.path().join("again.gguf");
        contents(&file).write_gguf(&again, kept, |_, _| {}).unwrap();
        assert!(std::fs::read(&file).unwrap() == std::fs::read(&again).unwrap(), "{name}: another file");
        let left: Vec<_> = std::fs::read_dir(place.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 3, "{left:?}");
    }
}

#[test]
fn what_llama_cpp_needs_is_there_and_nothing_that_it_refuses() {
    for (name, refused) in [("tiny-gelu", 0), ("tiny-vocab", 0), ("tiny-dense-two", 3), ("tiny-pretraining", 7)] {
        let contents = contents(&golden(&format!("models/{name}")));
        assert_eq!(contents.items.iter().filter(|item| !item.shared).count(), refused, "{name}");
        let mut file = Vec::new();
        contents.write_gguf_to(&mut std::io::Cursor::new(&mut file), kept, |_, _| {}).unwrap();
        let reader = Reader::open(&Bytes::owned(file)).unwrap();
        let m = reader.metadata();
        assert_eq!(m.text("general.architecture").unwrap(), Some("bert"));
        assert_eq!(m.text("tokenizer.ggml.model").unwrap(), Some("bert"));
        let rows = reader.tensor("token_embd.weight").unwrap().rows();
        let tokens = m.texts("tokenizer.ggml.tokens").unwrap().unwrap();
        assert_eq!(tokens.len(), rows, "{name}: llama.cpp wants a token for each row");
        assert_eq!(m.numbers("tokenizer.ggml.token_type").unwrap().unwrap().len(), rows);
        let id = |key: &str| tokens[m.count(&format!("tokenizer.ggml.{key}_token_id")).unwrap().unwrap() as usize].as_str();
        assert_eq!(["bos", "seperator", "unknown", "padding", "mask"].map(id), ["[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"]);
        assert!(tokens.contains(&"\u{2581}the".to_owned()));
        let positions = reader.tensor("position_embd.weight").unwrap().rows() as u64;
        assert_eq!(m.count("bert.context_length").unwrap(), Some(positions));
        assert!(reader.tensors().all(|(_, t)| t.shape().len() > 1 || t.dtype() == Dtype::F32));
    }
}

#[test]
fn vocabularies_are_in_llama_cpps_keys_and_give_the_same_tokens_from_there() {
    // A space before each text is not llama.cpp's way of bytes; ALBERT changes its texts more than by a map.
    for (name, model, pre) in [
        ("tiny-modernbert", "gpt2", "modern-bert"),
        ("tiny-roberta", "gpt2", "roberta-bpe"),
        ("tiny-xlm-roberta", "t5", "default"),
        ("tiny-camembert", "t5", "default"),
        ("tiny-gpt", "", ""),
        ("tiny-albert", "", ""),
    ] {
        let path = golden(&format!("models/{name}"));
        let mut contents = contents(&path);
        let said = |key: &str| contents.metadata.text(&format!("tokenizer.ggml.{key}")).unwrap().unwrap_or_default().to_owned();
        assert_eq!((said("model").as_str(), said("pre").as_str()), (model, pre), "{name}");
        if model.is_empty() {
            continue;
        }
        let rows = contents.items.iter().find(|item| item.gguf_name == "token_embd.weight").unwrap().tensor.rows();
        let tokens = contents.metadata.texts("tokenizer.ggml.tokens").unwrap().unwrap();
        assert_eq!(tokens.len(), rows, "{name}: llama.cpp wants a token for each row");
        let original = load(&path);
        // The tokenizer made of the keys alone.
        contents.metadata.remove(|key| key == "tokenizer.huggingface.json");
        let mut file = Vec::new();
        contents.write_gguf_to(&mut std::io::Cursor::new(&mut file), kept, |_, _| {}).unwrap();
        let rebuilt = Model::load_files(vec![("x".to_owned(), file)], &Options::default()).unwrap();
        for text in TEXTS {
            for pair in [None, Some("a second text")] {
                let tokens = |model: &Model| model.tokenize(&[(*text, pair)], &cloze::Request::default()).unwrap().remove(0).ids;
                assert_eq!(tokens(&rebuilt), tokens(&original), "{name}: {text:?}");
            }
        }
    }
}

/// llama.cpp has GELU in every `bert`, and stops at a text where it expects a number.
#[test]
fn llama_cpp_stops_at_a_model_of_another_activation() {
    for (name, stops) in [("tiny-relu", true), ("tiny-gelu", false), ("tiny-distilbert", false), ("tiny-jina", false)] {
        let contents = contents(&golden(&format!("models/{name}")));
        let stated = contents.metadata.text("bert.expert_count").unwrap();
        assert_eq!(stated.is_some_and(|text| text.contains("relu")), stops, "{name}");
    }
}

/// RoBERTa's relatives are BERT to llama.cpp, whose positions begin at 0.
#[test]
fn rows_of_positions_up_to_the_padding_id_are_a_setting_and_come_back_to_the_bit() {
    for (name, skipped) in [("tiny-roberta", 2), ("tiny-xlm-roberta", 2), ("tiny-camembert", 2), ("tiny-gelu", 0)] {
        let path = golden(&format!("models/{name}"));
        let original = huggingface::open(&Source::open(&path).unwrap()).unwrap();
        let table = original.weights.iter().find(|(name, _)| name.ends_with("position_embeddings.weight")).unwrap();
        for asked in [Dtype::F32, Dtype::F16, Dtype::Q8_0] {
            let choose = |item: &_| if asked == Dtype::F32 { kept(item) } else { quantised(asked)(item) };
            let mut file = Vec::new();
            contents(&path).write_gguf_to(&mut std::io::Cursor::new(&mut file), choose, |_, _| {}).unwrap();
            let reader = Reader::open(&Bytes::owned(file.clone())).unwrap();
            let (metadata, stored) = (reader.metadata(), reader.tensor("position_embd.weight").unwrap());
            assert_eq!(metadata.text("general.architecture").unwrap(), Some("bert"), "{name}");
            assert_eq!(stored.rows(), table.1.rows() - skipped, "{name}");
            assert_eq!(metadata.count("bert.context_length").unwrap(), Some(stored.rows() as u64), "{name}");
            let first = metadata.numbers("cloze.position_embd.first_rows").unwrap();
            assert_eq!(first.map(|numbers| numbers.len()), (skipped > 0).then_some(skipped * table.1.row_len()), "{name}");
            let back = huggingface::open(&Source::memory(vec![("x".to_owned(), file)]).unwrap()).unwrap();
            assert_eq!(back.weights.get(table.0).unwrap().to_f32(), table.1.to_f32(), "{name} as {asked:?}");
        }
    }
}

#[test]
fn a_file_whose_first_rows_of_positions_are_not_as_config_json_says_is_refused() {
    let refused = |change: &dyn Fn(&mut Contents), told: &str| {
        let mut contents = contents(&golden("models/tiny-roberta"));
        change(&mut contents);
        let mut file = Vec::new();
        contents.write_gguf_to(&mut std::io::Cursor::new(&mut file), kept, |_, _| {}).unwrap();
        let e = Model::load_files(vec![("x".to_owned(), file)], &Options::default()).unwrap_err();
        assert!(e.message().contains(told), "{e}");
    };
    const ROWS: &str = "cloze.position_embd.first_rows";
    refused(&|contents| contents.metadata.remove(|key| key == ROWS), "first_rows\" is missing");
    let rows = |n: usize| cloze::formats::gguf::Value::Array(cloze::formats::gguf::Array::F32(vec![0.5; n]));
    for n in [0, 1, 63, 65, 96] {
        refused(&|contents| contents.metadata.set(ROWS, rows(n)), &format!("has {n} numbers"));
    }
    let count = |n| cloze::formats::gguf::Value::U32(n);
    refused(&|contents| contents.metadata.set("bert.context_length", count(42)), "42, less 2 up to the padding id");
    refused(&|contents| contents.metadata.set("cloze.files.config.json", text(&other_padding(1 << 40))), "first_rows");
    refused(&|contents| contents.metadata.set("cloze.files.config.json", text(&other_padding(u64::MAX))), "first_rows");
}

fn text(text: &str) -> cloze::formats::gguf::Value {
    cloze::formats::gguf::Value::String(text.to_owned())
}

/// The configuration of tiny-roberta with another padding id.
fn other_padding(id: u64) -> String {
    let config = std::fs::read(golden("models/tiny-roberta/config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_slice(&config).unwrap();
    config["pad_token_id"] = id.into();
    config.to_string()
}

#[test]
fn a_file_without_the_folders_files_is_rebuilt_from_llama_cpps_keys() {
    for folder in ["tiny-gelu", "tiny-jina", "tiny-roberta", "tiny-xlm-roberta", "tiny-camembert"] {
        let mut contents = contents(&golden(&format!("models/{folder}")));
        contents.metadata.remove(|key| key.starts_with("cloze.") || key == "tokenizer.huggingface.json");
        let mut file = Vec::new();
        contents.write_gguf_to(&mut std::io::Cursor::new(&mut file), kept, |_, _| {}).unwrap();
        let model = Model::load_files(vec![("x".to_owned(), file)], &Options::default()).unwrap();
        super::answers(&model, folder);
        assert_eq!(model.describe().pooling, ["mean"]);
    }
}

#[test]
fn quantised_files_open_and_more_bits_are_nearer() {
    let path = golden("models/tiny-sharded");
    let expected = encode(&load(&path), TEXTS, &[]);
    let cosine = |asked: Dtype| {
        let mut file = Vec::new();
        contents(&path).write_gguf_to(&mut std::io::Cursor::new(&mut file), quantised(asked), |_, _| {}).unwrap();
        let reader = Reader::open(&Bytes::owned(file.clone())).unwrap();
        let linear = reader.tensor("blk.0.ffn_up.weight").unwrap().dtype();
        assert_eq!(
            linear,
            if asked.block_elements() > 32 {
                cloze::formats::stored_type(asked, cloze::formats::names::Role::Linear, &[96, 64])
            } else {
                asked
            }
        );
        assert!(reader.metadata().count("general.file_type").unwrap().is_some(), "{asked:?}");
        let got = encode(&Model::load_files(vec![("x".into(), file)], &Options::default()).unwrap(), TEXTS, &[]);
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
        dot(&got, &expected) / (dot(&got, &got) * dot(&expected, &expected)).sqrt()
    };
    for (asked, at_least) in [
        (Dtype::F16, 0.999_99),
        (Dtype::Bf16, 0.999_9),
        (Dtype::Q8_0, 0.999_5),
        (Dtype::Q6K, 0.999_5),
        (Dtype::Q5_1, 0.99),
        (Dtype::Q5_0, 0.99),
        (Dtype::Q4_1, 0.97),
        (Dtype::Q4_0, 0.97),
        (Dtype::Iq4Nl, 0.97),
        (Dtype::Q4K, 0.99),
    ] {
        let got = cosine(asked);
        assert!(got >= at_least, "{asked:?}: {got}");
    }
}

#[test]
fn a_dense_modules_tensors_come_back_to_their_folder() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("m.gguf");
    contents(&golden("models/tiny-dense-two")).write_gguf(&file, kept, |_, _| {}).unwrap();
    let folder = huggingface::open(&Source::open(&file).unwrap()).unwrap();
    let names: Vec<Vec<&str>> = folder.sentence.dense.iter().map(|d| d.weights.names().collect()).collect();
    assert_eq!(names, [vec!["linear.weight"], vec!["linear.bias", "linear.weight"]]);
    assert!(folder.weights.iter().all(|(_, t)| t.bytes().is_mapped()), "tensors share the mapped file");
}

#[test]
fn a_failed_conversion_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("m.gguf");
    let whole = contents(&golden("models/tiny-gelu"));
    for (choose, kind) in [(Dtype::I8, ErrorKind::InvalidArgument), (Dtype::Q8K, ErrorKind::InvalidArgument)] {
        let e = whole.write_gguf(&file, |_| Some(choose), |_, _| {}).unwrap_err();
        assert_eq!(e.kind(), kind, "{e}");
    }
    let e = whole.write_folder(&file, |_| Some(Dtype::Q4_0), |_, _| {}).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    let e = whole.write_folder(place.path().parent().unwrap(), unpacked, |_, _| {}).unwrap_err();
    assert!(e.message().contains("exists"), "{e}");
}
