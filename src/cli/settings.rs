//! How are a GGUF file's settings shown?
//!
//! As JSON values under their keys. Long texts and arrays are shortened to their type, their length and their beginning, unless
//! all of them is asked for.

use serde_json::{Map, Value as Json, json};

use crate::formats::gguf::{Array, Metadata, Value};

/// Longer texts and arrays are shortened to so many characters or items.
const TEXT: usize = 200;
const ITEMS: usize = 8;

/// The settings by key.
pub(super) fn shown(metadata: &Metadata, full: bool) -> Map<String, Json> {
    metadata.iter().map(|(key, value)| (key.to_owned(), setting(value, full))).collect()
}

/// A setting for people, on one line. A text goes without quotes, what is shortened as `string[30522]: ["[PAD]","[unused0]", ...`.
pub(super) fn line(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Object(short) => {
            let (kind, length) = (short["type"].as_str().unwrap_or_default(), &short["length"]);
            let begins = short["begins"].as_str().map_or_else(|| short["begins"].to_string(), str::to_owned);
            format!("{kind}[{length}]: {} ...", begins.trim_end_matches(']'))
        }
        other => other.to_string(),
    }
}

fn setting(value: &Value, full: bool) -> Json {
    match value {
        Value::U8(n) => json!(n),
        Value::I8(n) => json!(n),
        Value::U16(n) => json!(n),
        Value::I16(n) => json!(n),
        Value::U32(n) => json!(n),
        Value::I32(n) => json!(n),
        Value::U64(n) => json!(n),
        Value::I64(n) => json!(n),
        Value::F32(n) => short(*n),
        Value::F64(n) => json!(n),
        Value::Bool(b) => json!(b),
        Value::String(s) if full || s.chars().nth(TEXT).is_none() => json!(s),
        Value::String(s) => json!({"type": "text", "length": s.len(), "begins": s.chars().take(TEXT).collect::<String>()}),
        Value::Array(a) if full || a.len() <= ITEMS => Json::Array(items(a, a.len(), full)),
        Value::Array(a) => {
            json!({"type": format!("{:?}", a.kind()).to_lowercase(), "length": a.len(), "begins": items(a, ITEMS, full)})
        }
    }
}

/// The first items of an array.
fn items(array: &Array, count: usize, full: bool) -> Vec<Json> {
    fn first<T>(items: &[T], count: usize, show: impl Fn(&T) -> Json) -> Vec<Json> {
        items.iter().take(count).map(show).collect()
    }
    match array {
        Array::U8(a) => first(a, count, |n| json!(n)),
        Array::I8(a) => first(a, count, |n| json!(n)),
        Array::U16(a) => first(a, count, |n| json!(n)),
        Array::I16(a) => first(a, count, |n| json!(n)),
        Array::U32(a) => first(a, count, |n| json!(n)),
        Array::I32(a) => first(a, count, |n| json!(n)),
        Array::U64(a) => first(a, count, |n| json!(n)),
        Array::I64(a) => first(a, count, |n| json!(n)),
        Array::F32(a) => first(a, count, |n| short(*n)),
        Array::F64(a) => first(a, count, |n| json!(n)),
        Array::Bool(a) => first(a, count, |b| json!(b)),
        Array::String(a) => first(a, count, |s| setting(&Value::String(s.clone()), full)),
        Array::Array(a) => first(a, count, |inner| setting(&Value::Array(inner.clone()), full)),
    }
}

/// The shortest number that reads back as the same f32; null for one that is not finite.
fn short(n: f32) -> Json {
    n.to_string().parse::<f64>().map_or(Json::Null, |n| json!(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Metadata {
        let mut all = Metadata::default();
        all.set("a.number", Value::U64(u64::MAX));
        all.set("a.epsilon", Value::F32(1e-12));
        all.set("a.nan", Value::F32(f32::NAN));
        all.set("a.text", Value::String("x".repeat(1000)));
        all.set("a.tokens", Value::Array(Array::String((0..100).map(|i| format!("t{i}")).collect())));
        all.set("a.nested", Value::Array(Array::Array(vec![Array::I32(vec![-1, 2]), Array::F32(vec![0.1; 20])])));
        all
    }

    #[test]
    fn long_settings_are_shortened_and_say_how_long_they_are() {
        let shown = shown(&metadata(), false);
        assert_eq!(shown["a.number"], json!(u64::MAX));
        assert_eq!(shown["a.epsilon"].to_string(), "1e-12");
        assert_eq!(shown["a.nan"], Json::Null);
        assert_eq!((&shown["a.text"]["type"], &shown["a.text"]["length"]), (&json!("text"), &json!(1000)));
        assert_eq!(shown["a.tokens"]["begins"].as_array().unwrap().len(), ITEMS);
        assert_eq!(shown["a.nested"][0], json!([-1, 2]));
        assert_eq!(shown["a.nested"][1]["length"], 20);
        assert!(line(&shown["a.tokens"]).starts_with("string[100]: [\"t0\",\"t1\""), "{}", line(&shown["a.tokens"]));
        assert!(line(&shown["a.text"]).starts_with("text[1000]: xxx"));
    }

    #[test]
    fn in_full_nothing_is_missing() {
        let shown = shown(&metadata(), true);
        assert_eq!(shown["a.text"].as_str().unwrap().len(), 1000);
        assert_eq!(shown["a.tokens"].as_array().unwrap().len(), 100);
        assert_eq!(shown["a.nested"][1][19].to_string(), "0.1");
    }
}
