//! Which files hold the tensors of a folder?
//!
//! The first row of [`FORMS`] whose file is there; each row says who reads it. An index of shards names them, and each must hold exactly
//! the tensors that the index places there. The tensors go to [`Weights`]; the same reading serves the folders of Dense modules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::header::Index;
#[cfg(feature = "keras")]
use super::keras;
use super::source::inside;
use super::{Source, Weights, onnx, pytorch, safetensors, tensorflow};
use crate::error::{ErrorKind, Result, fail};
use crate::quant::Bytes;

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Reads a file of tensors: its name for messages, its bytes, and where the tensors go.
type Reader = fn(&str, &Bytes, &mut Weights) -> Result<()>;
/// What the reader calls a tensor that an index names.
type Naming = fn(&str) -> String;

/// How a checkpoint is read.
enum Form {
    /// The file holds every tensor.
    File(Reader),
    /// The file says which shard holds which tensor.
    Shards(Reader, Naming),
    /// An index beside its data files, of any name: TensorFlow's.
    TensorFlow,
    /// A graph, perhaps with files of constants beside it.
    Onnx,
    /// Not here, and what to do.
    Refused(&'static str),
}

const TRANSFORMERS: &str = "with transformers: AutoModel.from_pretrained(folder).save_pretrained(folder)";
/// What transformers 5 no longer reads.
const TRANSFORMERS_4: &str = "with transformers 4: AutoModel.from_pretrained(folder, from_flax=True).save_pretrained(folder)";
/// What the command line reads and the small library leaves out.
#[cfg(not(feature = "keras"))]
const CONVERT: &str = "with the command line: cloze convert -m FOLDER -o NEW.gguf";

/// Every checkpoint, in the order in which a folder with several is read.
const FORMS: &[(&str, Form)] = &[
    (SINGLE, Form::File(safetensors::read)),
    (INDEX, Form::Shards(safetensors::read, str::to_owned)),
    ("pytorch_model.bin", Form::File(pytorch::read)),
    ("pytorch_model.bin.index.json", Form::Shards(pytorch::read, str::to_owned)),
    ("*.ckpt*.index", Form::TensorFlow),
    ("model.onnx", Form::Onnx),
    ("onnx/model.onnx", Form::Onnx),
    #[cfg(feature = "keras")]
    ("tf_model.h5", Form::File(keras::read)),
    #[cfg(feature = "keras")]
    ("tf_model.h5.index.json", Form::Shards(keras::read_shard, keras::indexed)),
    #[cfg(not(feature = "keras"))]
    ("tf_model.h5", Form::Refused(CONVERT)),
    #[cfg(not(feature = "keras"))]
    ("tf_model.h5.index.json", Form::Refused(CONVERT)),
    ("flax_model.msgpack", Form::Refused(TRANSFORMERS_4)),
    ("rust_model.ot", Form::Refused(TRANSFORMERS)),
    ("openvino_model.xml", Form::Refused(TRANSFORMERS)),
    ("openvino/openvino_model.xml", Form::Refused(TRANSFORMERS)),
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
    for (name, form) in FORMS {
        let found = match form {
            Form::TensorFlow => tensorflow::find(source, dir)?,
            _ => source.contains(&join(dir, name)).then(|| (*name).to_owned()),
        };
        if let Some(name) = found {
            return read_form(source, dir, &name, form);
        }
    }
    absent(source, dir)
}

fn read_form(source: &Source, dir: &str, name: &str, form: &Form) -> Result<Weights> {
    let path = join(dir, name);
    match form {
        Form::TensorFlow => tensorflow::read(source, dir, name),
        Form::Onnx => onnx::read(source, dir, name),
        Form::File(reader) => {
            let mut weights = Weights::default();
            reader(&source.label(&path), &source.require_mapped(&path)?, &mut weights)?;
            Ok(weights)
        }
        Form::Shards(reader, naming) => read_shards(source, dir, &path, *reader, *naming),
        Form::Refused(advice) => fail(
            ErrorKind::Unsupported,
            format!("{} has {name} but no {SINGLE}: this version does not read it; convert it {advice}", place(source, dir)),
        ),
    }
}

fn read_shards(source: &Source, dir: &str, index: &str, reader: Reader, naming: Naming) -> Result<Weights> {
    let Some(Index { weight_map }) = source.parse(index)? else { return absent(source, dir) };
    let mut weights = Weights::default();
    for (shard, names) in by_shard(&weight_map.0, naming) {
        let tensors = read_shard(source, dir, shard, &names, reader).map_err(|e| e.within(source.label(index)))?;
        weights.append(tensors)?;
    }
    if weights.is_empty() {
        return fail(ErrorKind::InvalidFile, format!("{}: weight_map names no tensor", source.label(index)));
    }
    Ok(weights)
}

fn by_shard(weight_map: &BTreeMap<String, String>, naming: Naming) -> BTreeMap<&str, BTreeSet<String>> {
    let mut shards: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, shard) in weight_map {
        shards.entry(shard).or_default().insert(naming(name));
    }
    shards
}

/// The tensors of one shard, which must be `names`.
fn read_shard(source: &Source, dir: &str, shard: &str, names: &BTreeSet<String>, reader: Reader) -> Result<Weights> {
    // Asked of the shard's own name: joined to a folder, "/etc/x" would look harmless.
    if inside(shard).is_none() {
        return fail(ErrorKind::InvalidFile, format!("the shard name {shard:?} leaves the model's folder"));
    }
    let path = join(dir, shard);
    let mut weights = Weights::default();
    reader(&source.label(&path), &source.require_mapped(&path)?, &mut weights)?;
    let skipped: BTreeSet<&str> = weights.skipped().collect();
    if let Some(name) = names.iter().find(|name| weights.get(name).is_none() && !skipped.contains(name.as_str())) {
        return fail(ErrorKind::InvalidTensor, format!("tensor {name:?} is missing from {shard}, where weight_map places it"));
    }
    if let Some(name) = weights.names().find(|name| !names.contains(*name)) {
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

/// The folder, for messages.
fn place(source: &Source, dir: &str) -> String {
    if dir.is_empty() { source.describe() } else { source.label(dir) }
}

fn absent<T>(source: &Source, dir: &str) -> Result<T> {
    let place = place(source, dir);
    fail(ErrorKind::Io, format!("{place} has no {SINGLE} and no other checkpoint that is read; copy or download the whole model"))
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
        for (name, _) in FORMS.iter().filter(|(_, form)| matches!(form, Form::Refused(_))) {
            let e = error(Files::none().with(name, "x"));
            assert_eq!(e.kind(), ErrorKind::Unsupported);
            assert!(e.message().contains(name) && e.message().contains("convert"), "{e}");
        }
        let e = error(Files::none());
        assert_eq!(e.kind(), ErrorKind::Io);
        assert!(e.message().contains(SINGLE), "{e}");
    }
}
