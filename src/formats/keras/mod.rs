//! Keras's files of weights, `tf_model.h5`, as transformers 4 wrote its TensorFlow models.
//!
//! | file | question |
//! |---|---|
//! | `names` | what is a tensor called in a Hugging Face folder, and does it lie the other way round? |
//!
//! HDF5 is read by the crate `hdf5-reader`, within limits that follow from the file's length; [`read`] gives every tensor under Hugging Face's name.

mod names;

use hdf5_reader::group::Group;
use hdf5_reader::{Dataset, Datatype, Hdf5File, OpenOptions};

use super::Weights;
use super::tensorflow::transposed;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::{Bytes, Dtype, Tensor};

/// Deeper than any model's names: a group may hold itself.
const DEEPEST: usize = 24;
/// What deflate makes of a byte at most; no data set is larger than its whole file unpacked.
const INFLATED: usize = 1032;

fn invalid(found: &hdf5_reader::error::Error) -> Error {
    Error::new(ErrorKind::InvalidFile, format!("the HDF5 file is damaged, truncated or of an unknown kind: {found}"))
}

/// Every tensor of the file `label` into `weights`.
///
/// # Errors
/// `InvalidFile` when the file is damaged, `Unsupported` for numbers of another type than float, `InvalidTensor` for a name that occurs twice.
pub(super) fn read(label: &str, bytes: &Bytes, weights: &mut Weights) -> Result<()> {
    // Before the names stand the layer of the model and the model.
    read_below(2, label, bytes, weights)
}

/// The same of a shard, where nothing stands before them.
///
/// # Errors
/// As [`read`].
pub(super) fn read_shard(label: &str, bytes: &Bytes, weights: &mut Weights) -> Result<()> {
    read_below(0, label, bytes, weights)
}

/// The Hugging Face name of a tensor that `tf_model.h5.index.json` names, with the model before it.
pub(super) fn indexed(name: &str) -> String {
    let path: Vec<String> = name.split('/').skip(1).map(str::to_owned).collect();
    names::target(&path).map_or_else(|| name.to_owned(), |name| name.ours)
}

fn read_below(levels: usize, label: &str, bytes: &Bytes, weights: &mut Weights) -> Result<()> {
    let options = OpenOptions::default().with_max_read_bytes(bytes.len().saturating_mul(INFLATED)).with_chunk_cache_bytes(0);
    let within = |e: Error| e.within(label);
    let file = Hdf5File::from_owner(bytes.clone(), options).map_err(|e| within(invalid(&e)))?;
    let root = file.root_group().map_err(|e| within(invalid(&e)))?;
    walk(&root, &mut Vec::new(), &mut |path, found| place(path, levels, found, weights)).map_err(within)
}

/// Shows every data set below `group` with the names of the groups above it and its own.
fn walk(group: &Group, above: &mut Vec<String>, visit: &mut dyn FnMut(&[String], &Dataset) -> Result<()>) -> Result<()> {
    if above.len() > DEEPEST {
        return fail(ErrorKind::InvalidFile, format!("groups lie deeper than {DEEPEST} in each other: {}", above.join("/")));
    }
    let (groups, tensors) = group.members().map_err(|e| invalid(&e))?;
    for tensor in &tensors {
        above.push(tensor.name().to_owned());
        visit(above, tensor)?;
        above.pop();
    }
    for below in &groups {
        above.push(below.name().to_owned());
        walk(below, above, visit)?;
        above.pop();
    }
    Ok(())
}

fn place(path: &[String], levels: usize, found: &Dataset, weights: &mut Weights) -> Result<()> {
    let origin = path.join("/");
    let within = |e: Error| e.within(format!("tensor {origin:?}"));
    let Some(name) = path.get(levels..).and_then(names::target) else {
        return fail(ErrorKind::InvalidTensor, "it is no layer's weight as Keras writes them: LAYER/MODEL/.../NAME:0").map_err(within);
    };
    let tensor = tensor(found, name.turned).map_err(within)?;
    // A layer that uses another's weights stores them once more.
    if weights.get(&name.ours).is_some_and(|other| other.shape() == tensor.shape() && **other.bytes() == **tensor.bytes()) {
        weights.skip(origin);
        return Ok(());
    }
    weights.insert_as(name.ours, &origin, tensor)
}

fn tensor(found: &Dataset, turned: bool) -> Result<Tensor> {
    let (dtype, size) = match found.dtype() {
        Datatype::FloatingPoint { size: 4, .. } => (Dtype::F32, 4),
        Datatype::FloatingPoint { size: 2, .. } => (Dtype::F16, 2),
        other => return fail(ErrorKind::Unsupported, format!("it is of the type {other:?}; floats of 4 and 2 bytes are read")),
    };
    let shape: Option<Vec<usize>> = found.shape().iter().map(|d| usize::try_from(*d).ok()).collect();
    let mut shape =
        shape.ok_or_else(|| Error::new(ErrorKind::InvalidFile, format!("its shape {:?} is beyond this machine", found.shape())))?;
    let mut bytes = Bytes::owned(found.read_native_bytes().map_err(|e| invalid(&e))?);
    if turned {
        bytes = reversed(bytes, &shape, size);
        shape.reverse();
    }
    Tensor::new(dtype, shape, bytes).ok_or_else(|| Error::new(ErrorKind::InvalidFile, "its shape does not fit its bytes"))
}

/// The numbers, of `size` bytes, of a tensor with its axes in the other order: Keras's kernels are (inputs, outputs), and of convolutions (width,
/// inputs, outputs). The first axis goes behind all others; then it is part of what is moved.
fn reversed(bytes: Bytes, shape: &[usize], size: usize) -> Bytes {
    match shape {
        [first, rest @ ..] if !bytes.is_empty() && !rest.is_empty() => {
            reversed(transposed(&bytes, *first, rest.iter().product(), size), rest, first * size)
        }
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_change_places() {
        let turned = |bytes: &[u8], shape: &[usize], size| reversed(Bytes::owned(bytes.to_vec()), shape, size).to_vec();
        // (2, 3) to (3, 2), and (2, 1, 3) to (3, 1, 2).
        for shape in [&[2, 3][..], &[2, 1, 3]] {
            assert_eq!(turned(&[0, 1, 2, 3, 4, 5], shape, 1), [0, 3, 1, 4, 2, 5]);
        }
        // Each number stands where its places in the other order say.
        let (shape, size) = ([2, 3, 4], 2);
        let number = |a: usize, b: usize, c: usize| [(a * 3 + b) as u8, c as u8];
        let all = |of: &dyn Fn(usize, usize, usize) -> [u8; 2], [l, m, n]: [usize; 3]| -> Vec<u8> {
            (0..l).flat_map(|a| (0..m).flat_map(move |b| (0..n).flat_map(move |c| of(a, b, c)))).collect()
        };
        assert_eq!(turned(&all(&number, shape), &shape, size), all(&|c, b, a| number(a, b, c), [4, 3, 2]));
        assert!(turned(&[], &[0, 3], 4).is_empty());
        assert!(turned(&[], &[0, usize::MAX, usize::MAX], 4).is_empty());
        assert_eq!(turned(&[1, 2], &[], 2), [1, 2]);
    }

    #[test]
    fn bytes_that_are_no_hdf5_are_an_error_that_names_the_file() {
        for bytes in [&b""[..], b"\x89HDF\r\n\x1a\n", b"\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08", b"PK\x03\x04"] {
            let e = read("tf_model.h5", &Bytes::owned(bytes.to_vec()), &mut Weights::default()).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidFile);
            assert!(e.message().contains("tf_model.h5"), "{e}");
        }
    }
}
