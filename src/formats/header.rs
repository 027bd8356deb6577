//! What does the header of a safetensors file, or an index of such files, say?
//!
//! Both are JSON objects whose keys are tensor names. serde_json keeps the last of two equal keys in silence; here a key that
//! occurs twice is an error, since two readers could otherwise see two different models in one file. `safetensors` checks what
//! the header claims; `checkpoint` follows the index to the files.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// The key that is not a tensor: free text about the file, string to string.
const METADATA: &str = "__metadata__";

/// What the header of a safetensors file says of one tensor. Nothing of it is checked yet.
#[derive(Debug, serde::Deserialize)]
#[serde(expecting = "an object with dtype, shape and data_offsets")]
pub(super) struct Claim {
    pub(super) dtype: String,
    pub(super) shape: Vec<usize>,
    /// Begin and end, in bytes from the first byte after the header.
    pub(super) data_offsets: (usize, usize),
}

/// The header of a safetensors file: a claim for each tensor name.
#[derive(Debug)]
pub(super) struct Header(pub(super) BTreeMap<String, Claim>);

/// `model.safetensors.index.json`: the file that holds each tensor. What else it says (`metadata`) is not needed.
#[derive(Debug, serde::Deserialize)]
#[serde(expecting = "an object with weight_map")]
pub(super) struct Index {
    pub(super) weight_map: WeightMap,
}

/// File names by tensor name.
#[derive(Debug)]
pub(super) struct WeightMap(pub(super) BTreeMap<String, String>);

fn insert_once<V, E: Error>(map: &mut BTreeMap<String, V>, key: String, value: V) -> Result<(), E> {
    if map.contains_key(&key) {
        return Err(E::custom(format_args!("tensor {key:?} occurs twice")));
    }
    map.insert(key, value);
    Ok(())
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Header;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensor names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
                let mut claims = BTreeMap::new();
                let mut metadata = None;
                while let Some(key) = map.next_key::<String>()? {
                    if key != METADATA {
                        let claim = map.next_value()?;
                        insert_once(&mut claims, key, claim)?;
                    } else if metadata.replace(map.next_value::<Option<BTreeMap<String, String>>>()?).is_some() {
                        return Err(A::Error::duplicate_field(METADATA));
                    }
                }
                Ok(Header(claims))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl<'de> Deserialize<'de> for WeightMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = WeightMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensor names and file names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WeightMap, A::Error> {
                let mut files = BTreeMap::new();
                while let Some((key, file)) = map.next_entry::<String, String>()? {
                    insert_once(&mut files, key, file)?;
                }
                Ok(WeightMap(files))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Result<Header, String> {
        serde_json::from_str(text).map_err(|e| e.to_string())
    }

    #[test]
    fn metadata_is_not_a_tensor() {
        let h = header(r#"{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}"#).unwrap();
        assert_eq!(h.0.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!((h.0["a"].shape.as_slice(), h.0["a"].data_offsets), ([2, 3].as_slice(), (0, 24)));
        assert!(header(r#"{"__metadata__":null}"#).unwrap().0.is_empty());
        assert!(header(r#"{"__metadata__":{"step":3}}"#).is_err(), "the format says strings only");
    }

    #[test]
    fn a_key_that_occurs_twice_is_an_error_that_names_it() {
        let claim = r#"{"dtype":"F32","shape":[],"data_offsets":[0,4]}"#;
        let e = header(&format!(r#"{{"a":{claim},"b":{claim},"a":{claim}}}"#)).unwrap_err();
        assert!(e.contains("\"a\" occurs twice"), "{e}");
        // The same name, spelled with an escape.
        assert!(header(&format!(r#"{{"a":{claim},"\u0061":{claim}}}"#)).is_err());
        assert!(header(r#"{"__metadata__":{},"__metadata__":{}}"#).unwrap_err().contains("__metadata__"));
        assert!(header(r#"{"a":{"dtype":"F32","dtype":"F16","shape":[],"data_offsets":[0,4]}}"#).unwrap_err().contains("dtype"));
        let index = |text| serde_json::from_str::<Index>(text).map_err(|e| e.to_string());
        assert!(index(r#"{"weight_map":{"a":"1","a":"2"}}"#).unwrap_err().contains("\"a\" occurs twice"));
        assert!(index(r#"{"weight_map":{},"weight_map":{}}"#).unwrap_err().contains("weight_map"));
        assert_eq!(index(r#"{"metadata":{"total_size":1},"weight_map":{"a":"1"}}"#).unwrap().weight_map.0["a"], "1");
    }

    #[test]
    fn claims_of_the_wrong_form_are_refused() {
        for bad in [
            "[]",
            "null",
            r#"{"a":null}"#,
            r#"{"a":{"shape":[],"data_offsets":[0,4]}}"#,
            r#"{"a":{"dtype":"F32","data_offsets":[0,4]}}"#,
            r#"{"a":{"dtype":"F32","shape":[]}}"#,
            r#"{"a":{"dtype":3,"shape":[],"data_offsets":[0,4]}}"#,
            r#"{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}"#,
            r#"{"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}}"#,
            r#"{"a":{"dtype":"F32","shape":[],"data_offsets":[0]}}"#,
            r#"{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4,8]}}"#,
            r#"{"a":{"dtype":"F32","shape":[],"data_offsets":[0,99999999999999999999]}}"#,
        ] {
            assert!(header(bad).is_err(), "{bad}");
        }
    }
}
