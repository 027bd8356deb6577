//! What MobileBERT, XLM, GPT and the first DeBERTa have that no other family has.

use serde_json::{Value, json};

use super::{changed, files_of, golden};
use cloze::{ErrorKind, Model, Options, Request, Vectors};

#[test]
fn settings_that_cannot_be_are_errors_that_name_the_field() {
    for (folder, fields, told) in [
        ("tiny-mobilebert", json!({"normalization_type": "batch_norm"}), "normalization_type"),
        ("tiny-mobilebert", json!({"intra_bottleneck_size": 15}), "intra_bottleneck_size"),
        ("tiny-mobilebert", json!({"num_feedforward_networks": 0}), "num_feedforward_networks"),
        ("tiny-mobilebert", json!({"num_feedforward_networks": 5000}), "num_feedforward_networks"),
        ("tiny-mobilebert", json!({"key_query_shared_bottleneck": false}), "key_query_shared_bottleneck"),
        ("tiny-mobilebert", json!({"trigram_input": "yes"}), "trigram_input"),
        // Tensors that the changed configuration has no place for, or misses.
        ("tiny-mobilebert", json!({"num_feedforward_networks": 2}), "ffn.1"),
        ("tiny-mobilebert", json!({"num_feedforward_networks": 4}), "ffn.2"),
        ("tiny-mobilebert", json!({"trigram_input": false}), "embedding_transformation"),
        ("tiny-mobilebert", json!({"use_bottleneck": false}), "attention"),
        ("tiny-mobilebert", json!({"embedding_size": 11}), "word_embeddings"),
        ("tiny-mobilebert-norms", json!({"classifier_activation": true, "intra_bottleneck_size": 12}), "bottleneck"),
        ("tiny-xlm", json!({"causal": true}), "causal"),
        ("tiny-xlm", json!({"is_encoder": false}), "is_encoder"),
        ("tiny-xlm", json!({"asm": true}), "asm"),
        ("tiny-flaubert", json!({"pre_norm": "yes"}), "pre_norm"),
        ("tiny-xlm", json!({"lang2id": {"en": 7}}), "lang2id"),
        ("tiny-xlm", json!({"n_langs": 4}), "lang_embeddings"),
        ("tiny-xlm", json!({"use_lang_emb": false}), "lang_embeddings"),
        ("tiny-xlm", json!({"n_langs": 1_000_000}), "n_langs"),
        ("tiny-xlm", json!({"emb_dim": 0}), "emb_dim"),
        ("tiny-gpt2", json!({"scale_attn_by_inverse_layer_idx": true}), "scale_attn_by_inverse_layer_idx"),
        ("tiny-gpt2", json!({"scale_attn_weights": false}), "scale_attn_weights"),
        ("tiny-gpt2", json!({"add_cross_attention": true}), "add_cross_attention"),
        ("tiny-gpt2", json!({"activation_function": "mish"}), "activation_function"),
        ("tiny-gpt2", json!({"n_head": 5}), "n_head"),
        ("tiny-gpt2", json!({"n_inner": 99}), "c_fc"),
        ("tiny-gpt", json!({"afn": "mish"}), "afn"),
        ("tiny-deberta-v1", json!({"talking_head": true}), "talking_head"),
        ("tiny-deberta-v1", json!({"share_att_key": true}), "share_att_key"),
        ("tiny-deberta-v1", json!({"position_buckets": 12}), "position_buckets"),
        ("tiny-deberta-v1", json!({"pos_att_type": "c2p"}), "pos_q_proj"),
        ("tiny-deberta-v1", json!({"max_relative_positions": 9}), "rel_embeddings"),
    ] {
        let Err(e) = changed(folder, &fields) else { panic!("{folder}: {fields} was taken") };
        assert!(matches!(e.kind(), ErrorKind::InvalidFile | ErrorKind::Unsupported | ErrorKind::InvalidTensor), "{fields}: {e}");
        assert!(e.message().contains(told), "{folder} {fields}: {e}");
    }
}

fn vectors(model: &Model, texts: &[&str], settings: &[(&str, &str)]) -> cloze::Result<Vectors> {
    let mut request = Request::default();
    settings.iter().for_each(|(name, value)| request.set(name, value).unwrap());
    Ok(model.encode(texts, &request)?.vectors)
}

#[test]
fn a_language_is_chosen_by_a_name_that_the_model_has() {
    let xlm = Model::load(golden("models/tiny-xlm"), &Options::default()).unwrap();
    assert_eq!(xlm.describe().languages, ["en", "fr", "zh"]);
    let of = |language: &str| vectors(&xlm, &["a quiet harbour", "rain"], &[("language", language)]);
    let plain = vectors(&xlm, &["a quiet harbour", "rain"], &[]).unwrap();
    assert_eq!(of("none").unwrap(), plain);
    assert_ne!(of("en").unwrap(), plain);
    assert_ne!(of("en").unwrap(), of("fr").unwrap());
    let e = of("de").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.message().contains("\"de\"") && e.message().contains("en, fr, zh"), "{e}");
    for folder in ["tiny-gelu", "tiny-xlm-sines"] {
        let without = Model::load(golden(&format!("models/{folder}")), &Options::default()).unwrap();
        assert!(without.describe().languages.is_empty());
        let e = vectors(&without, &["rain"], &[("language", "en")]).unwrap_err();
        assert!(e.message().contains("does not tell languages apart"), "{e}");
    }
}

#[test]
fn the_number_of_words_may_have_the_name_that_older_files_of_xlm_give_it() {
    let older = changed("tiny-xlm", &json!({"vocab_size": null, "n_words": 400})).unwrap();
    let newer = changed("tiny-xlm", &json!({})).unwrap();
    assert_eq!(vectors(&older, &["rain"], &[]).unwrap(), vectors(&newer, &["rain"], &[]).unwrap());
}

/// The files of a folder with those of its vocabulary in place of tokenizer.json.
fn with_vocabulary(folder: &str, class: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = files_of(folder);
    let json: Value = serde_json::from_slice(&files.iter().find(|(name, _)| name == "tokenizer.json").unwrap().1).unwrap();
    files.retain(|(name, _)| !name.starts_with("tokenizer") && name != "special_tokens_map.json");
    let pair = |pair: &Value| format!("{} {}\n", pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
    let merges: String = json["model"]["merges"].as_array().unwrap().iter().map(pair).collect();
    files.push(("vocab.json".to_owned(), json["model"]["vocab"].to_string().into_bytes()));
    files.push(("merges.txt".to_owned(), format!("#version: 0.2\n{merges}").into_bytes()));
    files.push(("tokenizer_config.json".to_owned(), json!({ "tokenizer_class": class }).to_string().into_bytes()));
    files
}

#[test]
fn files_of_a_vocabulary_make_the_tokenizer_of_their_class() {
    // The folders' own tokenizers end a text with a token, so that none is empty; GPT's classes do not.
    for (folder, class, ends) in [
        ("tiny-gpt2", "GPT2Tokenizer", 1),
        ("tiny-gpt", "OpenAIGPTTokenizer", 1),
        ("tiny-deberta-v1", "DebertaTokenizer", 0),
        ("tiny-deberta-v1-near", "DebertaTokenizerFast", 0),
    ] {
        let expected: Value = serde_json::from_slice(&std::fs::read(golden(&format!("models/{folder}/expected.json"))).unwrap()).unwrap();
        let model = Model::load_files(with_vocabulary(folder, class), &Options::default()).unwrap();
        let ids = |text: &str, pair: Option<&str>| model.tokenize(&[(text, pair)], &Request::default()).unwrap().remove(0);
        let mut whole = 0;
        for (text, want) in expected["texts"].as_array().unwrap().iter().zip(expected["ids"].as_array().unwrap()) {
            let want: Vec<u32> = want.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect();
            let text = text.as_str().unwrap();
            let got = ids(text, None);
            if got.truncated || got.ids.len() + ends >= model.describe().max_tokens {
                continue;
            }
            if class.starts_with("Deberta") && text.contains(" [MASK]") {
                // As version 4 of `transformers` has it, the mask takes the space before it; in version 5 it does not.
                assert_eq!(got.ids.len() + 1, want.len(), "{folder}: {text}");
                continue;
            }
            whole += 1;
            assert_eq!(got.ids, want[..want.len() - ends], "{folder}: {text}");
        }
        assert!(whole > 4, "{folder}: {whole}");
        let pair = ids("one", Some("two"));
        let [first, second] = ["one", "two"].map(|text| ids(text, None).ids);
        if class.starts_with("Deberta") {
            // As it was trained: [CLS] A [SEP] B [SEP], the second text in segment 1.
            assert_eq!(pair.ids, [&first[..], &second[1..]].concat());
            assert_eq!(pair.type_ids, [vec![0; first.len()], vec![1; second.len() - 1]].concat());
        } else {
            assert_eq!(pair.ids, [first, second].concat());
        }
    }
}

#[test]
fn a_text_without_tokens_is_an_error_that_says_so() {
    let model = Model::load_files(with_vocabulary("tiny-gpt2", "GPT2Tokenizer"), &Options::default()).unwrap();
    let e = vectors(&model, &["rain", ""], &[]).unwrap_err();
    assert!(e.kind() == ErrorKind::InvalidArgument && e.message().contains("no tokens"), "{e}");
}

#[test]
fn the_vocabulary_of_xlm_alone_makes_no_tokenizer() {
    for class in ["XLMTokenizer", "PreTrainedTokenizer"] {
        let e = Model::load_files(with_vocabulary("tiny-xlm", class), &Options::default()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
        assert!(e.message().contains("Moses") && e.message().contains("tokenizer.json"), "{e}");
    }
}

#[test]
fn a_causal_model_does_not_see_what_follows() {
    for folder in ["tiny-gpt2", "tiny-gpt"] {
        let model = Model::load(golden(&format!("models/{folder}")), &Options::default()).unwrap();
        let rows = |text: &str| match vectors(&model, &[text], &[("vectors", "token")]).unwrap() {
            Vectors::F32(numbers) => numbers,
            other => panic!("{other:?}"),
        };
        let (short, long) = (rows("the quick brown"), rows("the quick brown the the the"));
        // All but the last row, which is the end of the text.
        let seen = short.len() - model.describe().hidden;
        assert!(short[..seen].iter().zip(&long).all(|(a, b)| (a - b).abs() < 1e-5), "{folder}");
        assert!(short[seen..].iter().zip(&long[seen..]).any(|(a, b)| (a - b).abs() > 1e-2), "{folder}");
    }
}
