//! Which files of a Hugging Face folder follow from Google's?
//!
//! Google's folders have `bert_config.json` and `vocab.txt`. Where there is no `config.json`, the first becomes one, of `model_type`
//! `bert`; and where nothing says whether texts are lower-cased, the folder's name does, as Google's own scripts check it
//! (`tokenization.py`, `validate_case_matches_checkpoint`): a name with `cased` that is not `uncased` keeps the letters' case
//! (`cased_L-12_H-768_A-12`, `multi_cased_L-12_H-768_A-12`), any other lower-cases. `tokenizer_config.json` with `do_lower_case`
//! says otherwise.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::error::Result;
use crate::formats::Source;
use crate::quant::Bytes;

const GOOGLES: &str = "bert_config.json";
/// Files that say whether texts are lower-cased.
const TOKENIZERS: &[&str] = &["tokenizer.json", "tokenizer_config.json", "sentence_bert_config.json"];

/// Files that are not there and follow from those that are.
pub(in crate::formats) fn made(source: &Source) -> Result<BTreeMap<String, Bytes>> {
    let mut made = BTreeMap::new();
    if source.contains("config.json") {
        return Ok(made);
    }
    let Some(Value::Object(mut config)) = source.object(GOOGLES)? else { return Ok(made) };
    config.entry("model_type").or_insert_with(|| "bert".into());
    made.insert("config.json".to_owned(), text(&Value::Object(config)));
    if !TOKENIZERS.iter().any(|name| source.contains(name)) {
        let lower = lower_cases(&source.folder_name());
        made.insert("tokenizer_config.json".to_owned(), text(&json!({"do_lower_case": lower, "tokenizer_class": "BertTokenizer"})));
    }
    Ok(made)
}

fn text(value: &Value) -> Bytes {
    Bytes::owned(format!("{value:#}\n"))
}

fn lower_cases(folder: &str) -> bool {
    !folder.to_lowercase().replace("uncased", "").contains("cased")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::fixtures::Files;

    #[test]
    fn the_folders_name_says_whether_texts_are_lower_cased() {
        for name in
            ["uncased_L-12_H-768_A-12", "wwm_uncased_L-24_H-1024_A-16", "chinese_L-12_H-768_A-12", "multilingual_L-12_H-768_A-12", ""]
        {
            assert!(lower_cases(name), "{name}");
        }
        for name in ["cased_L-12_H-768_A-12", "multi_cased_L-12_H-768_A-12", "BioBERT-Cased"] {
            assert!(!lower_cases(name), "{name}");
        }
    }

    #[test]
    fn googles_configuration_is_one_of_bert_where_there_is_no_other() {
        let files = || Files::none().with("bert_config.json", r#"{"hidden_size": 8}"#).with("vocab.txt", "[PAD]\n");
        let source = files().source();
        assert_eq!(source.require_object("config.json").unwrap()["model_type"], "bert");
        assert_eq!(source.require_object("tokenizer_config.json").unwrap()["do_lower_case"], true);
        let own = files().with("config.json", r#"{"model_type": "x"}"#).source();
        assert_eq!(own.require_object("config.json").unwrap()["model_type"], "x");
        assert!(!own.contains("tokenizer_config.json"));
        let told = files().with("tokenizer_config.json", r#"{"do_lower_case": false}"#).source();
        assert_eq!(told.require_object("tokenizer_config.json").unwrap()["do_lower_case"], false);
    }
}
