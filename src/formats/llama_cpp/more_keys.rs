//! What do llama.cpp's keys say that only some families have: windows, and bases of rotary positions?
//!
//! [`KEYS`] has one row a key. `keys` has what all families have.

use serde_json::{Map, Value as Json, json};

use super::super::gguf::{Metadata, Value};
use crate::error::{ErrorKind, Result, fail};

/// A number that a family's config.json states.
struct Key {
    architecture: &'static str,
    /// llama.cpp's, behind the architecture.
    key: &'static str,
    /// Where config.json states it: fields of objects, with points between. The last is the one written.
    fields: &'static [&'static str],
    /// What it is where config.json states nothing.
    default: f64,
    whole: bool,
}

const fn base(architecture: &'static str, key: &'static str, fields: &'static [&'static str], default: f64) -> Key {
    Key { architecture, key, fields, default, whole: false }
}

const KEYS: &[Key] = &[
    Key { architecture: "modern-bert", key: "attention.sliding_window", fields: &["local_attention"], default: 128.0, whole: true },
    base("modern-bert", "rope.freq_base", &["rope_parameters.full_attention.rope_theta", "global_rope_theta"], 160_000.0),
    base("modern-bert", "rope.freq_base_swa", &["rope_parameters.sliding_attention.rope_theta", "local_rope_theta"], 10_000.0),
    base("nomic-bert", "rope.freq_base", &["rotary_emb_base", "rope_parameters.rope_theta", "rope_theta"], 1000.0),
    base("gte-new", "rope.freq_base", &["rope_theta"], 10_000.0),
    base("gte", "rope.freq_base", &["rope_parameters.rope_theta", "rope_theta"], 160_000.0),
];

/// Every so many layers looks at all tokens; the others have the window.
const PERIOD: (&str, &str, &str) = ("modern-bert", "attention.sliding_window_pattern", "global_attn_every_n_layers");

impl Key {
    fn stated(&self, config: &Json) -> Option<f64> {
        self.fields.iter().find_map(|path| path.split('.').try_fold(config, |at, field| at.get(field))?.as_f64())
    }
}

fn of(architecture: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |row| row.architecture == architecture)
}

/// Writes the keys of a model of `architecture`. Where layers with a window follow no period, llama.cpp has no number for it, and stops
/// at a text rather than computing something else.
pub(super) fn describe(architecture: &str, config: &Json, into: &mut Metadata) {
    for row in of(architecture) {
        let number = row.stated(config).unwrap_or(row.default);
        let value = if row.whole { Value::U32(number as u32) } else { Value::F32(number as f32) };
        into.set(format!("{architecture}.{}", row.key), value);
    }
    if architecture == PERIOD.0 {
        let value = period(config).map_or_else(|| Value::String("as layer_types in config.json says".into()), Value::U32);
        into.set(format!("{architecture}.{}", PERIOD.1), value);
    }
}

/// The period of layers that look at all tokens.
fn period(config: &Json) -> Option<u32> {
    let Some(types) = config.get("layer_types").and_then(Json::as_array) else {
        return u32::try_from(config.get(PERIOD.2).map_or(Some(3), Json::as_u64)?).ok();
    };
    let windowed: Vec<bool> = types.iter().map(|kind| kind == "sliding_attention").collect();
    (1..=types.len().max(1)).find(|n| windowed.iter().enumerate().all(|(i, w)| *w != i.is_multiple_of(*n))).and_then(|n| n.try_into().ok())
}

/// Where file and keys state the same, they must agree.
pub(super) fn check(architecture: &str, metadata: &Metadata, config: &Json) -> Result<()> {
    for row in of(architecture) {
        let key = format!("{architecture}.{}", row.key);
        let theirs = row.stated(config).unwrap_or(row.default);
        if let Some(stated) = metadata.number(&key)?.filter(|stated| *stated as f32 != theirs as f32) {
            let told = format!(
                "setting {key:?} is {stated}, but {} in the file's own config.json is {theirs}; convert the model again",
                row.fields[0]
            );
            return fail(ErrorKind::InvalidFile, told);
        }
    }
    Ok(())
}

/// The fields of config.json that the keys amount to; what they do not state stays with the family's default.
pub(super) fn fields(architecture: &str, metadata: &Metadata, into: &mut Map<String, Json>) -> Result<()> {
    for row in of(architecture) {
        let Some(number) = metadata.number(&format!("{architecture}.{}", row.key))? else { continue };
        let field = row.fields.last().copied().unwrap_or_default();
        into.insert(field.into(), if row.whole { json!(number as u64) } else { json!(number) });
    }
    if architecture == PERIOD.0
        && let Some(period) = metadata.count(&format!("{architecture}.{}", PERIOD.1))?
    {
        into.insert(PERIOD.2.into(), json!(period));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(types: &[&str]) -> Json {
        let types: Vec<String> = types.iter().map(|t| format!("{t}_attention")).collect();
        json!({ "layer_types": types })
    }

    #[test]
    fn keys_come_from_both_forms_of_config_json_and_go_back() {
        let rope = json!({"full_attention": {"rope_theta": 500.0}, "sliding_attention": {"rope_theta": 20.0}});
        let newer = json!({"local_attention": 6, "rope_parameters": rope, "layer_types": ["full_attention", "sliding_attention"]});
        let older = json!({"local_attention": 6, "global_rope_theta": 500.0, "local_rope_theta": 20.0, "global_attn_every_n_layers": 2});
        let written = |config: &Json| {
            let mut metadata = Metadata::default();
            describe("modern-bert", config, &mut metadata);
            metadata
        };
        let (a, b) = (written(&newer), written(&older));
        assert!(a.iter().eq(b.iter()));
        let mut back = Map::new();
        fields("modern-bert", &a, &mut back).unwrap();
        assert_eq!(Json::Object(back), older);
        assert!(check("modern-bert", &a, &older).is_ok());
        let other = json!({"local_attention": 8});
        assert!(check("modern-bert", &a, &other).unwrap_err().message().contains("local_attention"));
    }

    #[test]
    fn layers_without_a_period_have_a_text_at_which_llama_cpp_stops() {
        assert_eq!(period(&json!({})), Some(3));
        assert_eq!(period(&layers(&["full", "sliding", "sliding", "full"])), Some(3));
        assert_eq!(period(&layers(&["full", "full"])), Some(1));
        assert_eq!(period(&layers(&["sliding", "full"])), None);
        let mut metadata = Metadata::default();
        describe("modern-bert", &layers(&["sliding", "full"]), &mut metadata);
        assert!(matches!(metadata.get("modern-bert.attention.sliding_window_pattern"), Some(Value::String(_))));
        assert!(fields("modern-bert", &metadata, &mut Map::new()).is_err());
    }
}
