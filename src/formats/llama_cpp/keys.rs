//! Which sizes and which pooling do llama.cpp's keys state?
//!
//! [`SIZES`] has one row a size: the key behind `general.architecture` and the field of config.json. The keys are those of
//! llama.cpp's `llama-arch.cpp`.

use serde_json::{Map, Value as Json, json};

use super::super::gguf::{Array, Metadata, Value};
use super::super::names::Family;
use super::more_keys;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::Dtype;

/// Key and field of each whole number; the first name of a field is the usual one, the others are some families'.
const SIZES: &[(&str, &[&str])] = &[
    (POSITIONS, &["max_position_embeddings", "n_positions"]),
    ("embedding_length", &["hidden_size", "dim", "n_embd", "emb_dim"]),
    ("feed_forward_length", &["intermediate_size", "hidden_dim", "n_inner"]),
    ("block_count", &["num_hidden_layers", "n_layers", "n_layer"]),
    ("attention.head_count", &["num_attention_heads", "n_heads", "n_head"]),
];

/// The name that config.json uses of these, and its value.
fn stated(config: &Json, names: &[&'static str]) -> Option<(&'static str, u64)> {
    names.iter().find_map(|name| Some((*name, config.get(*name)?.as_u64()?)))
}

const POSITIONS: &str = "context_length";

/// A size as GGUF files state it: of the positions those that a text can have.
fn positions_left(family: &Family, config: &Json, key: &str, size: u64) -> Option<u64> {
    if key == POSITIONS { size.checked_sub(family.skipped_positions(config) as u64) } else { Some(size) }
}

/// The activation that a model of llama.cpp's `bert` has in place of GELU, which llama.cpp computes whatever a file says.
fn other_activation<'a>(arch: &str, config: &'a Json) -> Option<&'a str> {
    let stated = ["hidden_act", "activation"].iter().find_map(|field| config.get(field)?.as_str());
    stated.filter(|name| arch == "bert" && !name.starts_with("gelu"))
}

/// A key that llama.cpp reads of every model, as a number: it stops at a text rather than computing something else. Nothing here reads it.
const STOP: &str = "expert_count";

/// Where config.json states no width of the feed-forward layers, they are so many times as wide as the rows (GPT, XLM).
const FEED_FORWARD: (&str, u64) = ("feed_forward_length", 4);

/// The size behind `key`, one of [`SIZES`], as far as config.json says it.
fn size(config: &Json, key: &str) -> Option<u64> {
    let names = |key: &str| SIZES.iter().find(|(k, _)| *k == key).map(|(_, names)| *names);
    let said = |key: &str| stated(config, names(key)?).map(|(_, number)| number);
    said(key).or_else(|| if key == FEED_FORWARD.0 { said("embedding_length")?.checked_mul(FEED_FORWARD.1) } else { None })
}

/// Architectures of tokens that do not see what follows them.
const CAUSAL_ONES: &[&str] = &["gpt2-encoder", "gpt-encoder"];

const EPSILON: &str = "attention.layer_norm_epsilon";

const EPSILON_FIELD: &str = "layer_norm_eps";

/// The architectures whose field of the epsilon is not the usual one: field, and number where it is not stated.
const EPSILON_FIELDS: &[(&str, &str, f64)] =
    &[("modern-bert", "norm_eps", 1e-5), ("gpt2-encoder", "layer_norm_epsilon", 1e-5), ("gpt-encoder", "layer_norm_epsilon", 1e-5)];

/// The authors' form of NomicBERT's config.json.
const AUTHORS_EPSILON: &str = "layer_norm_epsilon";

fn epsilon_field(arch: &str, config: &Json) -> (&'static str, f64) {
    let usual = if config.get(AUTHORS_EPSILON).is_some() { AUTHORS_EPSILON } else { EPSILON_FIELD };
    let own = EPSILON_FIELDS.iter().find(|(name, ..)| *name == arch);
    own.map_or((usual, 1e-12), |(_, field, default)| (field, *default))
}
const SEGMENTS: (&str, &str) = ("tokenizer.ggml.token_type_count", "type_vocab_size");
const CAUSAL: &str = "attention.causal";
const POOLING: &str = "pooling_type";
const LABELS: &str = "classifier.output_labels";

/// llama.cpp's poolings (`llama_pooling_type`), and the mode of sentence-transformers where it has one.
const POOLINGS: &[(u64, &str, Option<&str>)] =
    &[(0, "none", None), (1, "mean", Some("mean")), (2, "cls", Some("cls")), (3, "last", Some("lasttoken")), (4, "rank", None)];

/// Keys of old configurations of the Pooling module, and the mode that each switches on.
const OLD_MODES: &[(&str, &str)] = &[
    ("pooling_mode_mean_tokens", "mean"),
    ("pooling_mode_cls_token", "cls"),
    ("pooling_mode_lasttoken", "lasttoken"),
    ("pooling_mode_max_tokens", "max"),
    ("pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"),
    ("pooling_mode_weightedmean_tokens", "weightedmean"),
];

/// `general.file_type` (`llama_ftype`) of a file whose linear layers have this type.
const FILE_TYPES: &[(Dtype, u32)] = &[
    (Dtype::F32, 0),
    (Dtype::F16, 1),
    (Dtype::Q4_0, 2),
    (Dtype::Q4_1, 3),
    (Dtype::Q8_0, 7),
    (Dtype::Q5_0, 8),
    (Dtype::Q5_1, 9),
    (Dtype::Q2K, 10),
    (Dtype::Q3K, 11),
    (Dtype::Q4K, 14),
    (Dtype::Q5K, 16),
    (Dtype::Q6K, 18),
    (Dtype::Iq4Nl, 25),
    (Dtype::Bf16, 32),
];

/// `general.file_type`, `None` for a type that llama.cpp has no number for.
pub(in super::super) fn file_type(linear: Dtype) -> Option<u32> {
    FILE_TYPES.iter().find(|(dtype, _)| *dtype == linear).map(|(_, number)| *number)
}

/// Writes what llama.cpp needs to know of a model. `pooling` is the configuration of the Pooling module; `ranks` says whether
/// the model scores pairs by a classifier.
pub(in super::super) fn describe(family: &Family, config: &Json, pooling: Option<&Json>, ranks: bool, into: &mut Metadata) -> Result<()> {
    let arch = family.architecture;
    for (key, names) in SIZES {
        let Some(size) = size(config, key).and_then(|n| u32::try_from(positions_left(family, config, key, n)?).ok()) else {
            return fail(ErrorKind::InvalidFile, format!("config.json: {} is missing or not a size; a GGUF file needs it", names[0]));
        };
        into.set(format!("{arch}.{key}"), Value::U32(size));
    }
    let (field, default) = epsilon_field(arch, config);
    let epsilon = config.get(field).and_then(Json::as_f64).unwrap_or(default);
    into.set(format!("{arch}.{EPSILON}"), Value::F32(epsilon as f32));
    more_keys::describe(arch, config, into);
    if let Some(other) = other_activation(arch, config) {
        into.set(format!("{arch}.{STOP}"), Value::String(format!("no number: the activation is {other}, and llama.cpp has gelu")));
    }
    into.set(format!("{arch}.{CAUSAL}"), Value::Bool(CAUSAL_ONES.contains(&arch)));
    let number = if ranks { 4 } else { pooling.and_then(pooling_number).unwrap_or(0) };
    into.set(format!("{arch}.{POOLING}"), Value::U32(number as u32));
    if let Some(labels) = labels(config).filter(|_| ranks) {
        into.set(format!("{arch}.{LABELS}"), Value::Array(Array::String(labels)));
    }
    let segments = config.get(SEGMENTS.1).and_then(Json::as_u64).and_then(|n| u32::try_from(n).ok()).unwrap_or(2);
    into.set(SEGMENTS.0, Value::U32(segments));
    Ok(())
}

/// The labels of `id2label` by id.
fn labels(config: &Json) -> Option<Vec<String>> {
    let map = config.get("id2label")?.as_object()?;
    (0..map.len()).map(|id| map.get(&id.to_string())?.as_str().map(str::to_owned)).collect()
}

/// llama.cpp's number of the pooling that sentence-transformers is configured to do, `None` for those it does not have.
fn pooling_number(config: &Json) -> Option<u64> {
    let named: Vec<&str> = match config.get("pooling_mode") {
        Some(Json::String(mode)) => vec![mode],
        Some(Json::Array(modes)) => modes.iter().filter_map(Json::as_str).collect(),
        _ => OLD_MODES.iter().filter(|(key, _)| config.get(*key) == Some(&json!(true))).map(|(_, mode)| *mode).collect(),
    };
    let [mode] = named.as_slice() else { return None };
    POOLINGS.iter().find(|(.., theirs)| *theirs == Some(*mode)).map(|(number, ..)| *number)
}

/// Where file and keys state the same, they must agree: `config` is the file's own config.json, `pooling` that of its Pooling module,
/// `ranks` as in [`describe`].
pub(in super::super) fn check(family: &Family, metadata: &Metadata, config: &Json, pooling: Option<&Json>, ranks: bool) -> Result<()> {
    check_sizes(family, metadata, config)?;
    let contradiction = |key: &str, stated: String, theirs: String| {
        fail(ErrorKind::InvalidFile, format!("setting {key:?} is {stated}, but {theirs}; convert the model again"))
    };
    let arch = family.architecture;
    refuse_causal(arch, metadata)?;
    more_keys::check(arch, metadata, config)?;
    let (key, field) = (format!("{arch}.{EPSILON}"), epsilon_field(arch, config).0);
    if let (Some(stated), Some(theirs)) = (epsilon(&key, metadata)?, config.get(field).and_then(Json::as_f64))
        && stated as f32 != theirs as f32
    {
        return contradiction(&key, stated.to_string(), format!("{field} in the file's own config.json is {theirs}"));
    }
    let key = format!("{arch}.{POOLING}");
    let theirs = pooling.and_then(pooling_number).unwrap_or(0);
    match metadata.count(&key)? {
        None => Ok(()),
        Some(4) if ranks => Ok(()),
        Some(number) if number == theirs => Ok(()),
        Some(number) => {
            let (stated, theirs) = (known_pooling(&key, number)?.1, POOLINGS[theirs as usize].1);
            let named = pooling.map_or("the file has no Pooling module".to_owned(), |_| {
                format!("the configuration of the file's own Pooling module amounts to {theirs}")
            });
            contradiction(&key, format!("{number} ({stated})"), named)
        }
    }
}

/// A norm adds it to a variance before the root.
fn epsilon(key: &str, metadata: &Metadata) -> Result<Option<f64>> {
    match metadata.number(key)? {
        Some(epsilon) if !epsilon.is_finite() || epsilon < 0.0 => {
            fail(ErrorKind::InvalidFile, format!("setting {key:?} is {epsilon}; expected a small number from 0, such as 1e-12"))
        }
        stated => Ok(stated),
    }
}

fn refuse_causal(arch: &str, metadata: &Metadata) -> Result<()> {
    let causal = format!("{arch}.{CAUSAL}");
    if metadata.flag(&causal)? == Some(true) && !CAUSAL_ONES.contains(&arch) {
        let told = format!("setting {causal:?} is true: a model that does not see what follows is not an encoder");
        return fail(ErrorKind::Unsupported, told);
    }
    Ok(())
}

fn known_pooling(key: &str, number: u64) -> Result<&'static (u64, &'static str, Option<&'static str>)> {
    let known = || POOLINGS.iter().map(|(n, name, _)| format!("{n} ({name})")).collect::<Vec<_>>().join(", ");
    let unknown = || Error::new(ErrorKind::Unsupported, format!("setting {key:?} is {number}; known are {}", known()));
    POOLINGS.iter().find(|(n, ..)| *n == number).ok_or_else(unknown)
}

fn check_sizes(family: &Family, metadata: &Metadata, config: &Json) -> Result<()> {
    for (name, names) in SIZES {
        let key = format!("{}.{name}", family.architecture);
        if let (Some(number), Some((field, stated))) = (metadata.count(&key)?, stated(config, names))
            && Some(number) != positions_left(family, config, name, stated)
        {
            let less = if *name == POSITIONS { family.skipped_positions(config) } else { 0 };
            let less = if less > 0 { format!(", less {less} up to the padding id") } else { String::new() };
            let told = format!(
                "setting {key:?} is {number}, but {field} in the file's own config.json is {stated}{less}; convert the model again"
            );
            return fail(ErrorKind::InvalidFile, told);
        }
    }
    Ok(())
}

/// The folder's files that the keys amount to, by name. `vocabulary` and `segments` are the rows of those embeddings.
pub(in super::super) fn folder_files(
    family: &Family,
    metadata: &Metadata,
    vocabulary: usize,
    segments: usize,
) -> Result<Vec<(&'static str, Json)>> {
    let arch = family.architecture;
    let mut config = Map::new();
    config.insert("model_type".into(), json!(family.model_type));
    for (field, said) in family.marks {
        config.insert((*field).into(), json!(said));
    }
    // llama.cpp's graph of this architecture; the exact form, as in the checkpoints that it converts.
    config.insert("hidden_act".into(), json!("gelu"));
    config.insert("vocab_size".into(), json!(vocabulary));
    for (key, names) in SIZES {
        let key = format!("{arch}.{key}");
        let Some(size) = metadata.count(&key)? else {
            return fail(ErrorKind::InvalidFile, format!("setting {key:?} is missing; convert the model again"));
        };
        config.insert(names[0].into(), json!(size));
    }
    let key = format!("{arch}.{EPSILON}");
    let Some(epsilon) = epsilon(&key, metadata)? else {
        return fail(ErrorKind::InvalidFile, format!("setting {key:?} is missing; convert the model again"));
    };
    config.insert(epsilon_field(arch, &Json::Null).0.into(), json!(epsilon));
    more_keys::fields(arch, metadata, &mut config)?;
    config.insert(SEGMENTS.1.into(), json!(segments));
    refuse_causal(arch, metadata)?;
    if let Some(labels) = metadata.texts(&format!("{arch}.{LABELS}"))? {
        let by_id = labels.iter().enumerate().map(|(id, label)| (id.to_string(), json!(label)));
        config.insert("id2label".into(), Json::Object(by_id.collect()));
    }
    let mut files = vec![("config.json", Json::Object(config))];
    files.extend(modules(&format!("{arch}.{POOLING}"), metadata)?);
    Ok(files)
}

/// modules.json and the configuration of the Pooling module, where the file states a pooling. Whether vectors are normalised is
/// not stated in such files.
fn modules(key: &str, metadata: &Metadata) -> Result<Vec<(&'static str, Json)>> {
    let Some(number) = metadata.count(key)? else { return Ok(Vec::new()) };
    let (.., mode) = known_pooling(key, number)?;
    let Some(mode) = mode else { return Ok(Vec::new()) };
    let entry = |idx: usize, path: &str, class: &str| json!({"idx": idx, "name": idx.to_string(), "path": path, "type": format!("sentence_transformers.models.{class}")});
    Ok(vec![
        ("modules.json", json!([entry(0, "", "Transformer"), entry(1, "1_Pooling", "Pooling")])),
        ("1_Pooling/config.json", json!({"pooling_mode": mode})),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pooling_that_both_have_is_found_in_old_and_new_configurations() {
        for (number, _, mode) in POOLINGS {
            let Some(mode) = mode else { continue };
            assert_eq!(pooling_number(&json!({"pooling_mode": mode})), Some(*number));
            let (old, _) = OLD_MODES.iter().find(|(_, m)| m == mode).unwrap();
            assert_eq!(pooling_number(&json!({*old: true, "pooling_mode_max_tokens": false})), Some(*number));
        }
        assert_eq!(pooling_number(&json!({"pooling_mode": ["mean", "cls"]})), None);
        assert_eq!(pooling_number(&json!({"pooling_mode": "max"})), None);
        assert_eq!(pooling_number(&json!({"pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true})), None);
    }
}
