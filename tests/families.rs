//! Do the heads of every family give the reference's numbers, and do wrong pairings of files say what is wrong?
//!
//! `tests/golden/make/family_heads.py` made a tiny model of each family and head in `tests/golden/families` and wrote down what
//! `transformers` computes from token ids. (Hidden states and tokenizers of the families are in `tests/golden.rs`.) `cargo test --test
//! families -- --nocapture` prints the worst error of each.

#[path = "families/narrow_and_causal.rs"]
mod narrow_and_causal;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cloze::engine::{Batch, Control, Precision};
use cloze::formats::convert::{Contents, kept, quantised};
use cloze::formats::{Source, huggingface};
use cloze::model::heads::Kind;
use cloze::model::{Encoder, Output, Setup, config};
use cloze::quant::Dtype;
use cloze::{ErrorKind, LayerChoice, Model, Options};
use serde::Deserialize;

/// The largest error of a number, as a share of its size where that is above 1.
const TOLERANCE: f64 = 1e-4;

#[derive(Deserialize)]
struct Expected {
    inputs: Vec<Input>,
    heads: Vec<Head>,
}

#[derive(Deserialize)]
struct Input {
    ids: Vec<u32>,
    type_ids: Vec<u32>,
}

/// A head's folder, its kind if a task answers it, and the numbers of each input.
#[derive(Deserialize)]
struct Head {
    folder: String,
    kind: Option<String>,
    numbers: Vec<Vec<f32>>,
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn families() -> Vec<(String, Expected)> {
    let mut names: Vec<String> =
        std::fs::read_dir(golden("families")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let expected = |name: &String| serde_json::from_slice(&std::fs::read(golden(&format!("families/{name}/expected.json"))).unwrap());
    names.iter().map(|name| (name.clone(), expected(name).unwrap())).collect()
}

fn encoder(source: &Source, isa: Option<&str>, precision: Precision) -> cloze::Result<Encoder> {
    let mut folder = huggingface::open(source)?;
    let sample = || Ok(vec![(4..20).collect()]);
    let setup = Setup { isa, precision: Some(precision), sample: &sample };
    Encoder::new(&folder.config, folder.weights, &mut folder.sentence, &setup)
}

/// What the model gives for each input, one input a run.
fn numbers(encoder: &Encoder, output: &Output, inputs: &[Input]) -> Vec<Vec<f32>> {
    let graph = encoder.graph(output).unwrap();
    let run = |input: &Input| {
        let mut batch = Batch::default();
        batch.push(&input.ids, &input.type_ids, 0);
        (0..input.ids.len()).for_each(|token| batch.pick(token));
        encoder.engine().run(&graph, &Arc::new(batch), 1, &Control::default()).unwrap().unwrap()
    };
    inputs.iter().map(run).collect()
}

fn distance(got: &[Vec<f32>], want: &[Vec<f32>]) -> f64 {
    let one = |(g, w): (&f32, &f32)| (f64::from(*g) - f64::from(*w)).abs() / f64::from(w.abs()).max(1.0);
    let of_input = |(got, want): (&Vec<f32>, &Vec<f32>)| {
        assert_eq!(got.len(), want.len());
        got.iter().zip(want).map(one).fold(0.0, |m, e| if e > m || e.is_nan() { e } else { m })
    };
    got.iter().zip(want).map(of_input).fold(0.0, |m, e| if e > m || e.is_nan() { e } else { m })
}

/// The root mean square of the differences, as a share of that of the numbers.
fn share(got: &[Vec<f32>], want: &[Vec<f32>]) -> f64 {
    let squares = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>();
    let pairs = || got.iter().flatten().zip(want.iter().flatten());
    let differences = squares(&mut pairs().map(|(g, w)| f64::from(*g) - f64::from(*w)));
    (differences / squares(&mut pairs().map(|(_, w)| f64::from(*w)))).sqrt()
}

fn kind(name: &str) -> Kind {
    Kind::ALL.iter().find(|(n, _)| *n == name).unwrap().1
}

#[test]
fn every_head_of_every_family_gives_the_reference_numbers() {
    for (family, expected) in families() {
        for head in &expected.heads {
            let source = Source::open(&golden(&format!("families/{family}/{}", head.folder))).unwrap();
            for isa in ["avx512", "avx2", "portable"] {
                let Ok(encoder) = encoder(&source, Some(isa), Precision::F32) else {
                    assert_ne!(isa, "portable", "{family} {}", head.folder);
                    continue;
                };
                let Some(name) = &head.kind else {
                    assert!(encoder.heads().is_empty(), "{family} {}", head.folder);
                    numbers(&encoder, &Output::Tokens(LayerChoice::Last), &expected.inputs);
                    continue;
                };
                let error = distance(&numbers(&encoder, &Output::Head(kind(name)), &expected.inputs), &head.numbers);
                println!("{family:<12} {:<14} {name:<14} {isa:<9} worst error {error:.1e}", head.folder);
                assert!(error <= TOLERANCE, "{family} {} {name} on {isa}: {error}", head.folder);
            }
        }
    }
}

/// The folder as a GGUF file in memory.
fn as_gguf(source: &Source, quantise: bool) -> Source {
    let contents = Contents::of(source).unwrap();
    let mut bytes = Vec::new();
    let types = |item: &_| if quantise { quantised(Dtype::Q8_0)(item) } else { kept(item) };
    contents.write_gguf_to(&mut std::io::Cursor::new(&mut bytes), types, |_, _| {}).unwrap();
    Source::memory(vec![("model.gguf".to_owned(), bytes)]).unwrap()
}

#[test]
fn heads_come_through_gguf_files_and_int8_stays_near() {
    for (family, expected) in families() {
        for head in &expected.heads {
            let Some(name) = &head.kind else { continue };
            let source = Source::open(&golden(&format!("families/{family}/{}", head.folder))).unwrap();
            let of = |source: &Source, precision| {
                numbers(&encoder(source, None, precision).unwrap(), &Output::Head(kind(name)), &expected.inputs)
            };
            assert!(of(&as_gguf(&source, false), Precision::F32) == of(&source, Precision::F32), "{family} {}", head.folder);
            let far = share(&of(&as_gguf(&source, true), Precision::Int8), &head.numbers);
            println!("{family:<12} {:<14} {name:<14} int8 from q8_0: error {far:.3} of the numbers", head.folder);
            // Random and lively models, sixteen numbers wide; a wrong path gives errors as large as the numbers.
            assert!(far < 0.1, "{family} {}: {far}", head.folder);
        }
    }
}

/// The files of a folder of tests/golden/models, without what sentence-transformers adds.
fn files_of(folder: &str) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(golden(&format!("models/{folder}"))).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap());
    entries.filter(|path| path.is_file()).map(read).filter(|(name, _)| name != "modules.json").collect()
}

/// The files of a folder, one of them from another.
fn mixed(folder: &str, file: &str, from: &str) -> cloze::Result<Model> {
    let mut files = files_of(folder);
    let own = files.iter_mut().find(|(name, _)| name == file).unwrap();
    own.1 = std::fs::read(golden(&format!("models/{from}/{file}"))).unwrap();
    Model::load_files(files, &Options::default())
}

/// The folders of tests/golden/models, and the family of each.
fn folders() -> Vec<(String, String)> {
    let mut names: Vec<String> =
        std::fs::read_dir(golden("models")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let family = |name: &String| -> Option<String> {
        let config: serde_json::Value =
            serde_json::from_slice(&std::fs::read(golden(&format!("models/{name}/config.json"))).ok()?).unwrap();
        Some(config["model_type"].as_str().unwrap().to_owned())
    };
    // Other layouts (a folder within the folder, several files) are no matter of a family.
    let is_plain = |name: &String| golden(&format!("models/{name}/model.safetensors")).exists();
    names.into_iter().filter(is_plain).filter_map(|name| Some((name.clone(), family(&name)?))).collect()
}

#[test]
fn weights_of_another_family_are_refused_by_every_family_with_the_tensor_that_does_not_fit() {
    let mut folders = folders();
    folders.push(("../static/short".to_owned(), "model2vec".to_owned()));
    // A folder a family, to take weights from.
    let mut others: Vec<&(String, String)> = Vec::new();
    folders.iter().for_each(|folder| {
        if others.iter().all(|(_, family)| *family != folder.1) {
            others.push(folder)
        }
    });
    let tested: Vec<&String> = others.iter().map(|(_, family)| family).collect();
    // Its config.json is made of what the weights are: there is none that could belong to others.
    let own = |name: &&str| *name != "static-embedding";
    let missing: Vec<&str> = config::model_types().filter(own).filter(|name| !tested.iter().any(|t| t == name)).collect();
    assert!(missing.is_empty(), "no folder of tests/golden/models is a model of {missing:?}");
    for (folder, family) in &folders {
        for (from, _) in others.iter().filter(|(_, other)| other != family) {
            let Err(e) = mixed(folder, "model.safetensors", from) else { panic!("{folder} took the weights of {from}") };
            assert_eq!(e.kind(), ErrorKind::InvalidTensor, "{folder} with {from}: {e}");
            assert!(e.message().contains("tensor \""), "{folder} with {from}: {e}");
        }
    }
}

#[test]
fn a_tokenizer_of_more_tokens_than_embeddings_is_refused_by_every_family() {
    for (folder, _) in folders() {
        let mut files = files_of(&folder);
        files.retain(|(name, _)| !["vocab.txt", "vocab.json", "merges.txt"].contains(&name.as_str()) && !name.ends_with(".model"));
        files.retain(|(name, _)| name != "tokenizer.json" && name != "tokenizer_config.json");
        let words: Vec<String> = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
            .into_iter()
            .map(str::to_owned)
            .chain((0..995).map(|i| format!("w{i}")))
            .collect();
        files.push(("vocab.txt".to_owned(), words.join("\n").into_bytes()));
        files.push(("tokenizer_config.json".to_owned(), br#"{"tokenizer_class": "BertTokenizer"}"#.to_vec()));
        let e = Model::load_files(files, &Options::default()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidFile, "{folder}: {e}");
        assert!(e.message().contains("999") && e.message().contains("the token embedding has"), "{folder}: {e}");
    }
}

#[test]
fn files_of_different_models_are_refused_with_what_does_not_fit() {
    for (folder, file, from, told) in [
        ("tiny-electra", "config.json", "tiny-ernie", "tensor"),
        ("tiny-gpt2", "config.json", "tiny-gpt", "tensor"),
        // A tokenizer of a larger vocabulary.
        ("tiny-electra", "tokenizer.json", "tiny-roberta", "the token embedding has 400 rows"),
        ("tiny-albert", "tokenizer.json", "tiny-roberta", "the token embedding has 400 rows"),
    ] {
        let e = mixed(folder, file, from).unwrap_err();
        assert!(matches!(e.kind(), ErrorKind::InvalidTensor | ErrorKind::InvalidFile), "{folder} with {from}: {e}");
        assert!(e.message().contains(told), "{folder} with {from}: {e}");
    }
}

/// The model of a folder with another config.json.
fn configured(folder: &str, change: impl Fn(&mut serde_json::Map<String, serde_json::Value>)) -> cloze::Result<Model> {
    let of_folder = |name: &str| std::fs::read(golden(&format!("models/{folder}/{name}"))).unwrap();
    let mut config: serde_json::Value = serde_json::from_slice(&of_folder("config.json")).unwrap();
    change(config.as_object_mut().unwrap());
    let names = ["model.safetensors", "tokenizer.json", "tokenizer_config.json"];
    let mut files: Vec<(String, Vec<u8>)> = names.iter().map(|name| ((*name).to_owned(), of_folder(name))).collect();
    files.push(("config.json".to_owned(), config.to_string().into_bytes()));
    Model::load_files(files, &Options::default())
}

/// NomicBERT's configuration under the names of its authors.
fn authors(config: &mut serde_json::Map<String, serde_json::Value>) {
    for (theirs, ours) in [
        ("n_embd", "hidden_size"),
        ("n_layer", "num_hidden_layers"),
        ("n_head", "num_attention_heads"),
        ("n_inner", "intermediate_size"),
        ("n_positions", "max_position_embeddings"),
        ("layer_norm_epsilon", "layer_norm_eps"),
    ] {
        let value = config.remove(ours).unwrap();
        config.insert(theirs.to_owned(), value);
    }
    let base = config.remove("rope_parameters").unwrap()["rope_theta"].clone();
    config.insert("rotary_emb_base".to_owned(), base);
    config.remove("hidden_act");
    config.insert("activation_function".to_owned(), "swiglu".into());
    config.insert("rotary_emb_fraction".to_owned(), 1.0.into());
    config.insert("prenorm".to_owned(), false.into());
}

#[test]
fn nomic_bert_opens_with_both_forms_of_its_configuration() {
    let vectors = |model: Model| model.encode(&["a quiet harbour", "rain"], &cloze::Request::default()).unwrap();
    let (ours, theirs) = (configured("tiny-nomic", |_| {}).unwrap(), configured("tiny-nomic", authors).unwrap());
    assert_eq!(format!("{:?}", vectors(ours)), format!("{:?}", vectors(theirs)));
}

#[test]
fn settings_that_no_graph_has_are_errors_that_name_them() {
    use serde_json::{Value, json};
    let refused = |folder: &str, form: fn(&mut serde_json::Map<String, Value>), field: &str, value: &Value| {
        let change = |config: &mut serde_json::Map<String, Value>| {
            form(config);
            config.insert(field.to_owned(), value.clone());
        };
        let e = configured(folder, change).err().unwrap_or_else(|| panic!("{folder}: {field} = {value} was taken"));
        assert!(matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::InvalidFile), "{folder} {field}: {e}");
        assert!(e.message().contains(field), "{folder} {field}: {e}");
    };
    for (field, value) in [
        ("rope_scaling", json!({"type": "ntk", "factor": 8.0})),
        ("rope_parameters", json!({"rope_type": "yarn", "rope_theta": 1000.0})),
        ("rope_parameters", json!(7)),
        ("rope_theta", json!("x")),
        ("position_embedding_type", json!("alibi")),
        ("max_position_embeddings", json!(0)),
    ] {
        refused("tiny-gte", |_| {}, field, &value);
        refused("tiny-nomic", |_| {}, field, &value);
    }
    refused("tiny-nomic", |_| {}, "head_dim", &json!(4));
    for (field, value) in [
        ("rotary_emb_fraction", json!(0.5)),
        ("rotary_scaling_factor", json!(2.0)),
        ("rotary_emb_interleaved", json!(true)),
        ("prenorm", json!(true)),
        ("qkv_proj_bias", json!(true)),
        ("use_rms_norm", json!(true)),
        ("activation_function", json!("geglu")),
        ("rotary_emb_base", json!(-1)),
    ] {
        refused("tiny-nomic", authors, field, &value);
    }
}

#[test]
fn every_model_type_is_known_to_files_and_to_models() {
    for name in config::model_types() {
        assert!(cloze::formats::names::Family::of_model_type(name).is_some(), "{name} has no names in GGUF files");
    }
}

/// The rows of the table in docs/models.md, from the tables of the code.
fn table() -> String {
    let mut rows = String::from(
        "| `model_type` | vocabulary, and its files without `tokenizer.json` | heads | architecture in GGUF files | precision |\n|---|---|---|---|---|\n",
    );
    let precisions: Vec<String> =
        ["f32", "int8"].iter().filter(|p| Options::default().set("precision", p).is_ok()).map(|p| format!("`{p}`")).collect();
    for name in config::model_types() {
        let (vocabulary, files) = cloze::tokenizer::usual_vocabulary(name);
        let files: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
        let files = if files.is_empty() { "none".to_owned() } else { files.join(", ") };
        let heads = config::heads(name).into_iter().map(|(kind, answers)| format!("{}{}", kind.name(), if answers { "" } else { "*" }));
        let heads = heads.collect::<Vec<_>>().join(", ");
        let heads = if heads.is_empty() { "none".to_owned() } else { heads };
        let architecture = cloze::formats::names::Family::of_model_type(name).unwrap().architecture;
        let told = [format!("`{name}`"), format!("{vocabulary}: {files}"), heads, format!("`{architecture}`"), precisions.join(", ")];
        rows += &format!("| {} |\n", told.join(" | "));
    }
    rows
}

#[test]
fn docs_models_md_has_the_table_that_the_code_says() {
    const MARKS: (&str, &str) = ("<!-- families -->\n", "<!-- /families -->\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/models.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(MARKS.0).expect("docs/models.md marks its table");
    let (_, after) = rest.split_once(MARKS.1).expect("docs/models.md marks the end of its table");
    let fresh = format!("{before}{}{}{}{after}", MARKS.0, table(), MARKS.1);
    if std::env::var_os("CLOZE_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    } else {
        assert!(text == fresh, "docs/models.md is stale: run `CLOZE_UPDATE_DOCS=1 cargo test --test families` and commit it");
    }
}

/// A folder of tests/golden/models with these fields of config.json changed (null takes one away).
fn changed(folder: &str, fields: &serde_json::Value) -> cloze::Result<Model> {
    let mut files = files_of(folder);
    let (_, bytes) = files.iter_mut().find(|(name, _)| name == "config.json").unwrap();
    let mut config: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    for (field, value) in fields.as_object().unwrap() {
        config[field] = value.clone();
    }
    *bytes = serde_json::to_vec(&config).unwrap();
    Model::load_files(files, &Options::default())
}

#[test]
fn settings_of_deberta_that_cannot_be_are_errors_that_name_the_field() {
    use serde_json::json;
    for (folder, fields, told) in [
        ("tiny-deberta-v3", json!({"pos_att_type": ["c2p", "p2p"]}), "pos_att_type"),
        ("tiny-deberta-v3", json!({"pos_att_type": 7}), "pos_att_type"),
        ("tiny-deberta-v3", json!({"pos_att_type": [7]}), "pos_att_type"),
        ("tiny-deberta-v3", json!({"pos_att_type": null}), "relative_attention"),
        ("tiny-deberta-v3", json!({"relative_attention": false}), "relative_attention"),
        ("tiny-deberta-v3", json!({"relative_attention": "yes"}), "relative_attention"),
        ("tiny-deberta-v3", json!({"position_buckets": 1}), "position_buckets"),
        ("tiny-deberta-v3", json!({"position_buckets": 250}), "position_buckets"),
        ("tiny-deberta-v3", json!({"position_buckets": 1.5}), "position_buckets"),
        ("tiny-deberta-v3", json!({"position_buckets": 99_999_999_999u64}), "position_buckets"),
        ("tiny-deberta-v3", json!({"max_relative_positions": "far"}), "max_relative_positions"),
        ("tiny-deberta-v3", json!({"max_relative_positions": 7}), "position_buckets"),
        ("tiny-deberta-v3", json!({"max_position_embeddings": 1 << 20}), "max_position_embeddings"),
        ("tiny-deberta-v3", json!({"norm_rel_ebd": "batch_norm"}), "norm_rel_ebd"),
        ("tiny-deberta-v3", json!({"attention_head_size": 5}), "attention_head_size"),
        ("tiny-deberta-v3", json!({"type_vocab_size": -1}), "type_vocab_size"),
        ("tiny-deberta-v3", json!({"embedding_size": 0}), "embedding_size"),
        ("tiny-deberta-v2-conv", json!({"conv_kernel_size": 2}), "conv_kernel_size"),
        ("tiny-deberta-v2-conv", json!({"conv_kernel_size": 1001}), "conv_kernel_size"),
        ("tiny-deberta-v2-conv", json!({"conv_groups": 2}), "conv_groups"),
        ("tiny-deberta-v2-conv", json!({"conv_act": "swoosh"}), "conv_act"),
        // Tensors that the changed configuration has no place for, or misses.
        ("tiny-deberta-v2-conv", json!({"conv_kernel_size": null}), "encoder.conv"),
        ("tiny-deberta-v2-conv", json!({"conv_kernel_size": 5}), "encoder.conv.conv.weight"),
        ("tiny-deberta-v2-conv", json!({"pos_att_type": "p2c"}), "pos_query_proj"),
        ("tiny-deberta-v2-conv", json!({"share_att_key": true}), "pos_key_proj"),
        ("tiny-deberta-v2-conv", json!({"type_vocab_size": 0}), "token_type_embeddings"),
        ("tiny-deberta-v3", json!({"position_buckets": 10}), "encoder.rel_embeddings.weight"),
        ("tiny-deberta-v3", json!({"norm_rel_ebd": "none"}), "encoder.LayerNorm"),
        ("tiny-deberta-v3", json!({"position_biased_input": true}), "position_embeddings"),
    ] {
        let e = changed(folder, &fields).unwrap_err();
        assert!(matches!(e.kind(), ErrorKind::InvalidFile | ErrorKind::Unsupported | ErrorKind::InvalidTensor), "{fields}: {e}");
        assert!(e.message().contains(told), "{fields}: {e}");
    }
    // What changes nothing: a table of positions that the configuration does not use is allowed, as in the reference.
    assert!(changed("tiny-deberta-v3", &json!({"max_relative_positions": 120})).is_ok());
    assert!(changed("tiny-deberta-v2-conv", &json!({"position_biased_input": false})).is_ok());
}

#[test]
fn settings_of_longformer_and_big_bird_that_cannot_be_are_errors_that_name_the_field() {
    use serde_json::json;
    for (folder, fields, told) in [
        ("tiny-longformer", json!({"attention_window": 5}), "attention_window"),
        ("tiny-longformer", json!({"attention_window": 0}), "attention_window"),
        ("tiny-longformer", json!({"attention_window": "wide"}), "attention_window"),
        ("tiny-longformer", json!({"attention_window": [4, 12]}), "attention_window"),
        ("tiny-longformer", json!({"attention_window": [4, 12, 3]}), "attention_window"),
        ("tiny-longformer", json!({"attention_window": 1u64 << 40}), "attention_window"),
        ("tiny-longformer", json!({"sep_token_id": -1}), "sep_token_id"),
        ("tiny-longformer", json!({"pad_token_id": 101}), "max_position_embeddings"),
        ("tiny-longformer", json!({"is_decoder": true}), "is_decoder"),
        ("tiny-longformer", json!({"model_type": "roberta"}), "_global"),
        ("tiny-big-bird", json!({"block_size": 0}), "block_size"),
        ("tiny-big-bird", json!({"block_size": "large"}), "block_size"),
        ("tiny-big-bird", json!({"num_random_blocks": 0}), "num_random_blocks"),
        ("tiny-big-bird", json!({"num_random_blocks": -1}), "num_random_blocks"),
        ("tiny-big-bird", json!({"attention_type": "sparse"}), "attention_type"),
        ("tiny-big-bird", json!({"attention_type": 3}), "attention_type"),
        ("tiny-big-bird", json!({"use_bias": false}), "use_bias"),
        ("tiny-big-bird", json!({"rescale_embeddings": true}), "rescale_embeddings"),
        ("tiny-big-bird", json!({"model_type": "longformer"}), "tensor"),
    ] {
        let e = changed(folder, &fields).unwrap_err();
        assert!(matches!(e.kind(), ErrorKind::InvalidFile | ErrorKind::Unsupported | ErrorKind::InvalidTensor), "{fields}: {e}");
        assert!(e.message().contains(told), "{fields}: {e}");
    }
    assert!(changed("tiny-longformer", &json!({"attention_window": 6})).is_ok());
}

#[test]
fn big_bird_sees_whole_texts_where_its_configuration_says_so_and_where_they_are_short() {
    let vectors = |fields, texts: &[&str]| {
        let model = changed("tiny-big-bird", &fields).unwrap();
        format!("{:?}", model.encode(texts, &cloze::Request::default()).unwrap().vectors)
    };
    let full = || serde_json::json!({"attention_type": "original_full"});
    let long = "the quick brown fox jumps over the lazy dog and ".repeat(6);
    assert_eq!(vectors(full(), &["rain", "a quiet harbour"]), vectors(serde_json::json!({}), &["rain", "a quiet harbour"]));
    assert_ne!(vectors(full(), &[&long]), vectors(serde_json::json!({}), &[&long]));
}

#[test]
fn settings_of_jina_bert_and_of_gte_in_its_authors_form_that_cannot_be_are_errors_that_name_the_field() {
    use serde_json::json;
    for (folder, fields, told) in [
        ("tiny-jina", json!({"feed_forward_type": "moe"}), "feed_forward_type"),
        ("tiny-jina", json!({"feed_forward_type": 3}), "feed_forward_type"),
        ("tiny-jina", json!({"feed_forward_type": "original"}), "intermediate.dense"),
        ("tiny-jina", json!({"position_embedding_type": "absolute"}), "position_embeddings"),
        ("tiny-jina", json!({"position_embedding_type": "relative_key"}), "position_embedding_type"),
        ("tiny-jina-original", json!({"feed_forward_type": "geglu"}), "mlp.gated_layers"),
        ("tiny-gte-new", json!({"rope_scaling": {"type": "dynamic", "factor": 2.0}}), "rope_scaling"),
        ("tiny-gte-new", json!({"rope_scaling": {"type": "ntk"}}), "factor"),
        ("tiny-gte-new", json!({"rope_scaling": {"type": "ntk", "factor": 2.0, "mixed_b": 0.75}}), "mixed_b"),
        ("tiny-gte-new", json!({"rope_scaling": {"factor": 2.0}}), "type"),
        ("tiny-gte-new", json!({"rope_scaling": 8}), "rope_scaling"),
        ("tiny-gte-new", json!({"rope_theta": -1}), "rope_theta"),
        ("tiny-gte-new", json!({"logn_attention_scale": true}), "logn_attention_scale"),
        ("tiny-gte-new", json!({"logn_attention_clip1": true}), "logn_attention_clip1"),
        ("tiny-gte-new", json!({"layer_norm_type": "rms_norm"}), "layer_norm_type"),
        ("tiny-gte-new", json!({"position_embedding_type": "absolute"}), "position_embedding_type"),
        ("tiny-gte-new", json!({"pack_qkv": false}), "q_proj"),
        ("tiny-gte-new", json!({"pack_qkv": "no"}), "pack_qkv"),
        ("tiny-gte-new", json!({"num_attention_heads": 4}), "9 numbers of each of 4 heads"),
    ] {
        let e = changed(folder, &fields).unwrap_err();
        assert!(matches!(e.kind(), ErrorKind::InvalidFile | ErrorKind::Unsupported | ErrorKind::InvalidTensor), "{fields}: {e}");
        assert!(e.message().contains(told), "{fields}: {e}");
    }
    assert!(changed("tiny-gte-new", &json!({"rope_scaling": null})).is_ok());
}
