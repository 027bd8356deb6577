//! Does a model open from every checkpoint that it comes in, and give the same answers?
//!
//! `tests/golden/make/checkpoints.py` and `checkpoints_tensorflow.py` made tiny models with safetensors, what transformers answers,
//! and the same weights as PyTorch, TensorFlow and ONNX's exporters write them. Each must give the answers of the safetensors folder
//! bit for bit, and become that folder, or a GGUF file, by `cloze convert`.

#[path = "checkpoints/bases.rs"]
mod bases;
#[path = "checkpoints/keras.rs"]
#[cfg(feature = "keras")]
mod keras;
#[path = "checkpoints/onnx.rs"]
mod onnx;
#[path = "checkpoints/pytorch.rs"]
mod pytorch;
#[path = "checkpoints/table.rs"]
mod table;
#[path = "checkpoints/tensorflow.rs"]
mod tensorflow;

use bases::{Base, Files, files_below, golden, path, run};
use cloze::{Model, Options};

#[test]
fn safetensors_give_the_reference_answers() {
    for name in ["encoder", "classifier", "pretraining"] {
        Base::of(name).matches_the_reference();
    }
}

#[test]
fn every_pytorch_file_gives_the_answers_of_safetensors() {
    let encoder = Base::of("encoder");
    let mut variants = 0;
    for entry in std::fs::read_dir(golden("pytorch")).unwrap() {
        let path = entry.unwrap().path();
        if path.join("pytorch_model.bin").exists() || path.join("pytorch_model.bin.index.json").exists() {
            encoder.same_from(&path);
            variants += 1;
        }
    }
    assert!(variants >= 10, "a folder is missing: run tests/golden/make/checkpoints.py");
    Base::of("pretraining").same_from(&golden("pytorch-pretraining"));
}

#[test]
fn of_several_checkpoints_the_first_of_the_table_is_read() {
    // Sound ones, each beside damaged ones of every later row.
    let base = Base::of("encoder");
    let sound = [
        vec![("model.safetensors".to_owned(), std::fs::read(golden("encoder/model.safetensors")).unwrap())],
        files_below(&golden("pytorch/zip"), ""),
        files_below(&golden("pytorch/sharded"), ""),
        files_below(&golden("onnx/encoder-script"), ""),
    ];
    let order = [
        "model.safetensors",
        "model.safetensors.index.json",
        "pytorch_model.bin",
        "pytorch_model.bin.index.json",
        "x.ckpt.index",
        "model.onnx",
        "onnx/model.onnx",
        "tf_model.h5",
        "tf_model.h5.index.json",
        "flax_model.msgpack",
        "rust_model.ot",
        "openvino_model.xml",
        "openvino/openvino_model.xml",
    ];
    let open = |files: Files| Model::load_files(files, &Options::default());
    let want = base.answers(&open(base.files()).unwrap());
    for variant in sound {
        let row = order.iter().position(|name| variant.iter().any(|(file, _)| file == name)).unwrap();
        let mut files = base.with(variant);
        files.extend(order[row + 1..].iter().map(|name| ((*name).to_owned(), b"damaged".to_vec())));
        assert_eq!(base.answers(&open(files.clone()).unwrap()), want, "{}", order[row]);
        // A damaged file of an earlier row is not passed over.
        if row > 0 {
            files.push((order[row - 1].to_owned(), b"damaged".to_vec()));
            assert!(open(files).is_err(), "{}", order[row - 1]);
        }
    }
    for (row, name) in order.iter().enumerate() {
        let files = order[row..].iter().map(|name| ((*name).to_owned(), b"damaged".to_vec())).collect();
        let e = open(base.with(files)).unwrap_err();
        assert!(e.message().contains(name), "{name}: {e}");
    }
}

#[test]
fn a_dry_run_shows_which_tensor_goes_where_and_writes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (folder, out) = (golden("tensorflow/pretraining"), place.path().join("out.gguf"));
    let told = run(&["convert", "-m", path(&folder), "-o", path(&out), "--dry-run"]);
    let words = |name: &str| {
        let line = told.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_else(|| panic!("{name}: {told}"));
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        words("bert/encoder/layer_1/intermediate/dense/kernel"),
        "bert/encoder/layer_1/intermediate/dense/kernel F32 [24, 16] -> blk.1.ffn_up.weight F32"
    );
    assert!(told.contains("left out: bert/embeddings/LayerNorm/beta/adam_m") && told.contains("and 90 more"), "{told}");
    let json: serde_json::Value =
        serde_json::from_str(&run(&["quantize", "-m", path(&folder), "-o", path(&out), "--type", "q8_0", "--dry-run", "--json"])).unwrap();
    let row = json["tensors"].as_array().unwrap().iter().find(|row| row["source"] == "bert/embeddings/word_embeddings").unwrap();
    assert_eq!((row["name"].as_str(), row["shape"][0].as_u64()), (Some("token_embd.weight"), Some(70)));
    assert_eq!((json["tensors"].as_array().unwrap().len(), json["left_out"].as_array().unwrap().len()), (46, 93));
    let told = run(&["convert", "-m", path(&folder), "-o", path(&place.path().join("folder")), "--dry-run"]);
    assert!(told.contains("-> bert.encoder.layer.1.intermediate.dense.weight  F32"), "{told}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "something was written");

    // Tensors that the model has no place for, and one of another shape.
    for (config, words) in
        [("num_hidden_layers", ["\"encoder.layer.1.", "nearest are encoder.layer.0."]), ("vocab_size", ["word_embeddings", "70"])]
    {
        let folder = place.path().join(config);
        bases::put(&folder, &files_below(&golden("encoder"), ""));
        let text = std::fs::read_to_string(folder.join("config.json")).unwrap();
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        value[config] = 1.into();
        std::fs::write(folder.join("config.json"), value.to_string()).unwrap();
        let (good, _, told) = bases::try_run(&["convert", "-m", path(&folder), "-o", path(&out), "--dry-run"]);
        assert!(!good && words.iter().all(|word| told.contains(word)), "{told}");
    }
}
