//! How are a GGUF file's settings shown?
//!
//! As JSON values under their keys. Long texts and arrays are shortened to their type, their length and their beginning, unless
//! all of them is asked for.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::formats::gguf::{Array, Metadata, Value};

/// Longer texts and arrays are shortened to so many characters or items.
const TEXT: usize = 200;
const ITEMS: usize = 8;

/// Settings as a JSON object, written one by one: as JSON values in memory, an array of numbers would take many times its size.
pub(super) struct Shown {
    metadata: Metadata,
    /// Whether nothing is shortened.
    full: bool,
}

impl Shown {
    pub(super) fn new(metadata: Metadata, full: bool) -> Shown {
        Shown { metadata, full }
    }

    /// Keys and settings for people, on one line each. A text goes without quotes, what is shortened as
    /// `string[30522]: ["[PAD]","[unused0]", ...`.
    pub(super) fn lines(&self) -> impl Iterator<Item = (&str, String)> {
        self.metadata.iter().map(|(key, value)| (key, line(value, self.full)))
    }
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.metadata.iter().map(|(key, value)| (key, Setting(value, self.full))))
    }
}

fn line(value: &Value, full: bool) -> String {
    match value {
        Value::String(text) if full || !is_long(text) => text.clone(),
        Value::String(text) => format!("text[{}]: {} ...", text.len(), beginning(text)),
        Value::Array(array) if !full && array.len() > ITEMS => {
            let begins = json(&Items(array, ITEMS, full));
            format!("{}[{}]: {} ...", kind(array), array.len(), begins.trim_end_matches(']'))
        }
        other => json(&Setting(other, full)),
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn is_long(text: &str) -> bool {
    text.chars().nth(TEXT).is_some()
}

fn beginning(text: &str) -> String {
    text.chars().take(TEXT).collect()
}

fn kind(array: &Array) -> String {
    format!("{:?}", array.kind()).to_lowercase()
}

/// A value; whether it is shown in full.
struct Setting<'a>(&'a Value, bool);
struct Text<'a>(&'a str, bool);
struct List<'a>(&'a Array, bool);
/// The first items of an array.
struct Items<'a>(&'a Array, usize, bool);

impl Serialize for Setting<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::U8(n) => n.serialize(to),
            Value::I8(n) => n.serialize(to),
            Value::U16(n) => n.serialize(to),
            Value::I16(n) => n.serialize(to),
            Value::U32(n) => n.serialize(to),
            Value::I32(n) => n.serialize(to),
            Value::U64(n) => n.serialize(to),
            Value::I64(n) => n.serialize(to),
            // JSON has no NaN and no infinity: they become null.
            Value::F32(n) => n.serialize(to),
            Value::F64(n) => n.serialize(to),
            Value::Bool(b) => b.serialize(to),
            Value::String(text) => Text(text, self.1).serialize(to),
            Value::Array(array) => List(array, self.1).serialize(to),
        }
    }
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Text(text, full) = self;
        if *full || !is_long(text) { text.serialize(to) } else { shortened(to, "text", text.len(), &beginning(text)) }
    }
}

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let List(array, full) = *self;
        if full || array.len() <= ITEMS {
            return Items(array, array.len(), full).serialize(to);
        }
        shortened(to, &kind(array), array.len(), &Items(array, ITEMS, full))
    }
}

fn shortened<S: Serializer>(to: S, kind: &str, length: usize, begins: &impl Serialize) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(3))?;
    map.serialize_entry("begins", begins)?;
    map.serialize_entry("length", &length)?;
    map.serialize_entry("type", kind)?;
    map.end()
}

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Items(array, count, full) = *self;
        match array {
            Array::U8(a) => to.collect_seq(&a[..count]),
            Array::I8(a) => to.collect_seq(&a[..count]),
            Array::U16(a) => to.collect_seq(&a[..count]),
            Array::I16(a) => to.collect_seq(&a[..count]),
            Array::U32(a) => to.collect_seq(&a[..count]),
            Array::I32(a) => to.collect_seq(&a[..count]),
            Array::U64(a) => to.collect_seq(&a[..count]),
            Array::I64(a) => to.collect_seq(&a[..count]),
            Array::F32(a) => to.collect_seq(&a[..count]),
            Array::F64(a) => to.collect_seq(&a[..count]),
            Array::Bool(a) => to.collect_seq(&a[..count]),
            Array::String(a) => to.collect_seq(a[..count].iter().map(|text| Text(text, full))),
            Array::Array(a) => to.collect_seq(a[..count].iter().map(|inner| List(inner, full))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

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

    fn shown(full: bool) -> Json {
        serde_json::from_str(&serde_json::to_string(&Shown::new(metadata(), full)).unwrap()).unwrap()
    }

    #[test]
    fn long_settings_are_shortened_and_say_how_long_they_are() {
        let shown = shown(false);
        assert_eq!(shown["a.number"], json!(u64::MAX));
        assert_eq!(shown["a.epsilon"].to_string(), "1e-12");
        assert_eq!(shown["a.nan"], Json::Null);
        assert_eq!((&shown["a.text"]["type"], &shown["a.text"]["length"]), (&json!("text"), &json!(1000)));
        assert_eq!(shown["a.tokens"]["begins"].as_array().unwrap().len(), ITEMS);
        assert_eq!(shown["a.nested"][0], json!([-1, 2]));
        assert_eq!(shown["a.nested"][1]["length"], 20);
        let short = Shown::new(metadata(), false);
        let lines: std::collections::BTreeMap<_, _> = short.lines().collect();
        assert!(lines["a.tokens"].starts_with("string[100]: [\"t0\",\"t1\""), "{}", lines["a.tokens"]);
        assert!(lines["a.text"].starts_with("text[1000]: xxx") && lines["a.text"].len() < 300);
        assert_eq!((&*lines["a.epsilon"], &*lines["a.number"]), ("1e-12", "18446744073709551615"));
    }

    #[test]
    fn in_full_nothing_is_missing() {
        let shown = shown(true);
        assert_eq!(shown["a.text"].as_str().unwrap().len(), 1000);
        assert_eq!(shown["a.tokens"].as_array().unwrap().len(), 100);
        assert_eq!(shown["a.nested"][1][19].to_string(), "0.1");
    }
}
