//! Which files hold the tensors of a folder?
//!
//! `model.safetensors`, or else the shards that `model.safetensors.index.json` names, each of which must hold exactly the
//! tensors that the index places there. The tensors go to [`Weights`]; the same reading serves the folders of Dense modules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::header::Index;
use super::source::inside;
use super::{Source, Weights, safetensors};
use crate::error::{ErrorKind, Result, fail};

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Checkpoints of other formats: a folder that has only one of these is complete, but not for us.
const FOREIGN: &[&str] = &[
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "tf_model.h5",
    "bert_model.ckpt.index",
    "model.ckpt.index",
    "flax_model.msgpack",
    "rust_model.ot",
    "model.onnx",
    "onnx/model.onnx",
    "openvino_model.xml",
    "openvino/openvino_model.xml",
];

/// The name of a file in the folder `dir` of a source; `dir` is empty for the source's own folder.
pub(super) fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

/// Every tensor of the checkpoint in the folder `dir` of `source`.
pub(super) fn read(source: &Source, dir: &str) -> Result<Weights> {
    if let Some(weights) = source.weights(dir) {
        return Ok(weights);
    }
    let mut weights = Weights::default();
    let single = join(dir, SINGLE);
    if let Some(bytes) = source.read(&single)? {
        safetensors::read(&source.label(&single), &bytes, &mut weights)?;
        return Ok(weights);
    }
    let index = join(dir, INDEX);
    let Some(Index { weight_map }) = source.parse(&index)? else { return absent(source, dir) };
    for (shard, names) in by_shard(&weight_map.0) {
        let tensors = read_shard(source, dir, shard, &names).map_err(|e| e.within(source.label(&index)))?;
        weights.append(tensors)?;
    }
    if weights.is_empty() {
        return fail(ErrorKind::InvalidFile, format!("{}: weight_map names no tensor", source.label(&index)));
    }
    Ok(weights)
}

fn by_shard(weight_map: &BTreeMap<String, String>) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut shards: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, shard) in weight_map {
        shards.entry(shard).or_default().insert(name);
    }
    shards
}

/// The tensors of one shard, which must be `names`.
fn read_shard(source: &Source, dir: &str, shard: &str, names: &BTreeSet<&str>) -> Result<Weights> {
    // Asked of the shard's own name: joined to a folder, "/etc/x" would look harmless.
    if inside(shard).is_none() {
        return fail(ErrorKind::InvalidFile, format!("the shard name {shard:?} leaves the model's folder"));
    }
    let path = join(dir, shard);
    let mut weights = Weights::default();
    safetensors::read(&source.label(&path), &source.require(&path)?, &mut weights)?;
    if let Some(name) = names.iter().find(|name| weights.get(name).is_none()) {
        return fail(ErrorKind::InvalidTensor, format!("tensor {name:?} is missing from {shard}, where weight_map places it"));
    }
    if let Some(name) = weights.names().find(|name| !names.contains(name)) {
        return fail(ErrorKind::InvalidTensor, format!("{shard} holds tensor {name:?}, which weight_map does not place there"));
    }
    Ok(weights)
}

/// The files of a checkpoint that the folder `dir` of the folder `root` may have, named relative to `root`: the single file, the
/// index, and the shards that an index there names.
pub(super) fn files_in(root: &Path, dir: &str) -> Vec<String> {
    let index = std::fs::read(root.join(join(dir, INDEX))).ok().and_then(|bytes| serde_json::from_slice::<Index>(&bytes).ok());
    let shards = index.into_iter().flat_map(|index| index.weight_map.0.into_values());
    // Whatever an index says, only files of tensors are shards.
    let shards = shards.filter_map(|name| inside(&name)).filter(|name| name.ends_with(".safetensors"));
    [SINGLE, INDEX].map(str::to_owned).into_iter().chain(shards).map(|name| join(dir, &name)).collect()
}

fn absent<T>(source: &Source, dir: &str) -> Result<T> {
    let place = source.label(dir);
    let place = if dir.is_empty() { source.describe() } else { place };
    match FOREIGN.iter().find(|name| source.contains(&join(dir, name))) {
        Some(found) => fail(
            ErrorKind::Unsupported,
            format!(
                "{place} has {found} but no {SINGLE}: this version reads safetensors only; convert it, for example with \
                 transformers: AutoModel.from_pretrained(folder).save_pretrained(folder)"
            ),
        ),
        None => fail(ErrorKind::Io, format!("{place} has no {SINGLE} and no {INDEX}; copy or download the whole model")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::formats::fixtures::{F32Tensor, Files, ab, reference_file};

    const SHARD_1: &str = "model-00001-of-00002.safetensors";
    const SHARD_2: &str = "model-00002-of-00002.safetensors";

    fn index(entries: &[(&str, &str)]) -> String {
        let map: serde_json::Map<_, _> = entries.iter().map(|(name, file)| ((*name).to_owned(), (*file).into())).collect();
        serde_json::json!({"metadata": {"total_size": 56}, "weight_map": map}).to_string()
    }

    /// Two shards: `a` and `b` in the first, `c` in the second.
    fn sharded() -> Files {
        Files::none()
            .with(INDEX, index(&[("a", SHARD_1), ("b", SHARD_1), ("c", SHARD_2)]))
            .with(SHARD_1, ab())
            .with(SHARD_2, reference_file(&[F32Tensor::counting("c", &[4])]))
    }

    fn error(files: Files) -> Error {
        read(&files.source(), "").unwrap_err()
    }

    #[test]
    fn shards_and_a_single_file_give_the_same_tensors() {
        let weights = read(&sharded().source(), "").unwrap();
        assert_eq!(weights.names().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(weights.get("c").unwrap().to_f32(), [0.0, 1.0, 2.0, 3.0]);
        // Where both are there, the single file wins, as in transformers.
        let both = sharded().with(SINGLE, ab());
        assert_eq!(read(&both.source(), "").unwrap().names().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn a_checkpoint_is_read_from_the_folder_asked_for() {
        let files = Files::none()
            .with(&join("2_Dense", INDEX), index(&[("a", "deep/x.safetensors"), ("b", "deep/x.safetensors")]))
            .with("2_Dense/deep/x.safetensors", ab());
        assert_eq!(read(&files.source(), "2_Dense").unwrap().len(), 2);
    }

    #[test]
    fn a_missing_shard_is_named_with_its_index() {
        let e = error(sharded().without(SHARD_2));
        assert_eq!(e.kind(), ErrorKind::Io);
        assert!(e.message().contains(SHARD_2) && e.message().contains(INDEX), "{e}");
    }

    #[test]
    fn index_and_shards_must_agree_on_every_tensor() {
        let cases = [
            // The index names a tensor that its shard lacks.
            (index(&[("a", SHARD_1), ("b", SHARD_1), ("d", SHARD_1), ("c", SHARD_2)]), "\"d\" is missing"),
            // A shard holds a tensor that the index does not name at all.
            (index(&[("a", SHARD_1), ("c", SHARD_2)]), "holds tensor \"b\""),
            // ... or places in another shard.
            (index(&[("a", SHARD_1), ("b", SHARD_2), ("c", SHARD_2)]), "\"b\""),
        ];
        for (text, says) in cases {
            let e = error(sharded().with(INDEX, text));
            assert_eq!(e.kind(), ErrorKind::InvalidTensor, "{e}");
            assert!(e.message().contains(says) && e.message().contains(INDEX), "{e}");
        }
    }

    #[test]
    fn a_shard_outside_the_folder_is_refused() {
        for name in ["../x.safetensors", "/etc/passwd", "a/../../x", "", ".", "..", "C:\\x", "a\\..\\x"] {
            for dir in ["", "0_Transformer"] {
                let files = Files::none().with(&join(dir, INDEX), index(&[("a", name)]));
                let e = read(&files.source(), dir).unwrap_err();
                assert_eq!(e.kind(), ErrorKind::InvalidFile, "{name:?}: {e}");
                assert!(e.message().contains("leaves the model's folder"), "{e}");
            }
        }
    }

    #[test]
    fn a_malformed_index_is_an_error_that_names_it() {
        let twice = format!(r#"{{"weight_map":{{"a":"{SHARD_1}","a":"{SHARD_2}"}}}}"#);
        for text in ["", "{}", "[]", "null", r#"{"weight_map":[]}"#, r#"{"weight_map":{"a":1}}"#, r#"{"weight_map":{}}"#, &twice] {
            let e = error(sharded().with(INDEX, text));
            assert_eq!(e.kind(), ErrorKind::InvalidFile, "{text}");
            assert!(e.message().contains(INDEX), "{e}");
        }
    }

    #[test]
    fn a_damaged_shard_is_named() {
        let e = error(sharded().with(SHARD_1, &ab()[..40]));
        assert_eq!(e.kind(), ErrorKind::InvalidFile);
        assert!(e.message().contains(SHARD_1), "{e}");
    }

    #[test]
    fn a_checkpoint_of_another_format_says_to_convert_it() {
        for name in FOREIGN {
            let e = error(Files::none().with(name, "x"));
            assert_eq!(e.kind(), ErrorKind::Unsupported);
            assert!(e.message().contains(name) && e.message().contains("convert"), "{e}");
        }
        let e = error(Files::none());
        assert_eq!(e.kind(), ErrorKind::Io);
        assert!(e.message().contains(SINGLE), "{e}");
    }
}
