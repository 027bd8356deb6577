//! Where does each tensor lie in a safetensors file?
//!
//! The format: 8 bytes of header length (little endian), a JSON object that gives each tensor's type, shape and range of bytes,
//! then the bytes. <https://huggingface.co/docs/safetensors>. Everything the header claims is checked against the file before a
//! tensor is handed to [`Weights`]: the ranges tile the data exactly (no overlap, no hole, nothing behind the last) and each
//! is as long as its type and shape say.

use std::collections::BTreeMap;

use super::super::Weights;
use super::super::header::{Claim, Header};
use crate::error::{Error, ErrorKind, Result, fail, json_message};
use crate::quant::{Bytes, Dtype, Tensor};

/// Bytes of the header's length at the start of the file.
const PREFIX: usize = 8;

/// The limit of the reference implementation: no real header is near it.
const HEADER_MAX: u64 = 100_000_000;

/// What stands in a folder that was cloned without Git LFS, the most common reason for a file that is no safetensors file.
const LFS_POINTER: &[u8] = b"version https://git-lfs";

/// Reads every tensor of a file; `file` is its name for messages. The tensors share `bytes`.
///
/// # Errors
/// `InvalidFile` when the file is truncated or what its header claims is inconsistent, `Unsupported` for an element type that
/// [`Dtype`] does not know, `InvalidTensor` when `into` has a tensor of that name. `into` is unchanged unless the file is sound.
pub fn read(file: &str, bytes: &Bytes, into: &mut Weights) -> Result<()> {
    let tensors = parse(bytes).map_err(|e| e.within(file))?;
    tensors.into_iter().try_for_each(|(name, tensor)| into.insert(name, tensor)).map_err(|e| e.within(file))
}

fn parse(bytes: &Bytes) -> Result<Vec<(String, Tensor)>> {
    let (header, data) = split(bytes)?;
    let Header(claims) = serde_json::from_slice(&header).map_err(|e| invalid(format!("the header is malformed: {}", json_message(&e))))?;
    check_tiling(&claims, data.len())?;
    claims.into_iter().map(|(name, claim)| tensor(&name, claim, &data).map(|t| (name, t))).collect()
}

fn invalid(sentence: String) -> Error {
    Error::new(ErrorKind::InvalidFile, sentence)
}

/// The header, and the bytes behind it. The header is copied, since a mapped file could change between its check and its use.
fn split(bytes: &Bytes) -> Result<(Vec<u8>, Bytes)> {
    if bytes.starts_with(LFS_POINTER) {
        return fail(ErrorKind::InvalidFile, "this is a Git LFS pointer, not the file itself; run `git lfs pull` in the folder");
    }
    let Some(length) = bytes.first_chunk::<PREFIX>() else {
        return fail(
            ErrorKind::InvalidFile,
            format!("{} bytes are too few for a safetensors file; copy or download it again", bytes.len()),
        );
    };
    let length = u64::from_le_bytes(*length);
    if length > HEADER_MAX {
        return fail(
            ErrorKind::InvalidFile,
            format!("the header claims {length} bytes (at most {HEADER_MAX}); not a safetensors file, or damaged"),
        );
    }
    // At most 10^8, so it fits any usize and the sum cannot overflow.
    let end = PREFIX + length as usize;
    let (Some(header), Some(data)) = (bytes.slice(PREFIX..end), bytes.slice(end..bytes.len())) else {
        return fail(
            ErrorKind::InvalidFile,
            format!("the header claims {length} bytes, but only {} follow; truncated, copy or download it again", bytes.len() - PREFIX),
        );
    };
    if header.first() != Some(&b'{') {
        return fail(ErrorKind::InvalidFile, "the header does not start with {; not a safetensors file, or damaged");
    }
    Ok((header.to_vec(), data))
}

/// Whether the claimed ranges, in order, run from 0 to `len` with each beginning where the one before ends.
fn check_tiling(claims: &BTreeMap<String, Claim>, len: usize) -> Result<()> {
    let mut ranges: Vec<(usize, usize, &str)> =
        claims.iter().map(|(name, c)| (c.data_offsets.0, c.data_offsets.1, name.as_str())).collect();
    ranges.sort_unstable();
    let (mut at, mut last) = (0, None);
    for (begin, end, name) in ranges {
        if begin > end {
            return Err(invalid(format!("tensor {name:?} ends at byte {end}, before it begins at {begin}")));
        }
        if end > len {
            let message =
                format!("tensor {name:?} ends at byte {end} of the data, but there are only {len}; truncated, copy or download it again");
            return Err(invalid(message));
        }
        match last {
            Some(last) if begin < at => return Err(invalid(format!("tensors {last:?} and {name:?} overlap at byte {begin} of the data"))),
            _ if begin > at => {
                return Err(invalid(format!("bytes {at} to {begin} of the data, before tensor {name:?}, belong to no tensor")));
            }
            _ => (at, last) = (end, Some(name)),
        }
    }
    if at < len {
        return Err(invalid(format!("the last {} bytes of the data belong to no tensor", len - at)));
    }
    Ok(())
}

/// The tensor that a claim describes; its range is known to lie in `data`.
fn tensor(name: &str, claim: Claim, data: &Bytes) -> Result<Tensor> {
    let Some(dtype) = Dtype::from_safetensors(&claim.dtype) else {
        let known: Vec<&str> = Dtype::all().filter_map(Dtype::safetensors_name).collect();
        return fail(
            ErrorKind::Unsupported,
            format!("tensor {name:?} has element type {:?}; this version reads {}", claim.dtype, known.join(", ")),
        );
    };
    let Claim { shape, data_offsets: (begin, end), .. } = claim;
    let described = format!("tensor {name:?}: {} bytes do not hold {} elements of shape {shape:?}", end - begin, dtype.name());
    data.slice(begin..end).and_then(|bytes| Tensor::new(dtype, shape, bytes)).ok_or_else(|| invalid(described))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::fixtures::{F32Tensor, raw, reference_file};
    use proptest::prelude::*;

    fn open(bytes: Vec<u8>) -> Result<Weights> {
        let mut weights = Weights::default();
        read("model.safetensors", &Bytes::owned(bytes), &mut weights)?;
        Ok(weights)
    }

    /// The error of a file with this header and `data` bytes behind it.
    fn error(header: &str, data: usize) -> Error {
        let e = open(raw(header.as_bytes(), &vec![0; data])).unwrap_err();
        assert!(e.message().starts_with("model.safetensors: "), "{e}");
        e
    }

    fn small() -> Vec<u8> {
        reference_file(&[F32Tensor::counting("b.weight", &[2, 3]), F32Tensor::counting("a", &[1]), F32Tensor::counting("c", &[4])])
    }

    #[test]
    fn a_file_written_by_the_reference_crate_reads_back() {
        let weights = open(small()).unwrap();
        assert_eq!(weights.names().collect::<Vec<_>>(), ["a", "b.weight", "c"]);
        let b = weights.get("b.weight").unwrap();
        assert_eq!((b.dtype(), b.shape()), (Dtype::F32, [2, 3].as_slice()));
        assert_eq!(b.to_f32(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    }

    #[test]
    fn every_type_of_the_reference_crate_is_read_or_refused_by_name() {
        use ::safetensors::{Dtype as Theirs, serialize, tensor::TensorView};
        let cases = [
            (Theirs::F32, 4),
            (Theirs::F16, 2),
            (Theirs::BF16, 2),
            (Theirs::I64, 8),
            (Theirs::F64, 8),
            (Theirs::U8, 1),
            (Theirs::F8_E4M3, 1),
        ];
        for (theirs, size) in cases {
            let data = vec![0; 2 * size];
            let file = serialize([("position_ids", TensorView::new(theirs, vec![1, 2], &data).unwrap())], None).unwrap();
            let name = serde_json::to_value(theirs).unwrap();
            let name = name.as_str().unwrap();
            match (Dtype::from_safetensors(name), open(file)) {
                (Some(ours), Ok(weights)) => assert_eq!(weights.get("position_ids").unwrap().dtype(), ours),
                (None, Err(e)) => {
                    assert_eq!(e.kind(), ErrorKind::Unsupported);
                    assert!(e.message().contains("position_ids") && e.message().contains(name), "{e}");
                }
                (ours, got) => panic!("{name}: {ours:?}, {got:?}"),
            }
        }
    }

    #[test]
    fn a_file_cut_at_any_byte_is_an_error() {
        let whole = small();
        for len in 0..whole.len() {
            let e = open(whole[..len].to_vec()).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidFile, "cut at {len}: {e}");
        }
        let mut longer = whole;
        longer.push(0);
        assert!(open(longer).unwrap_err().message().contains("last 1 bytes"));
    }

    #[test]
    fn a_header_that_claims_more_than_the_file_is_refused_without_allocating_it() {
        for length in [1u64 << 60, u64::MAX, u64::MAX - 7, 100_000_001, 100_000_000, 3] {
            let mut file = length.to_le_bytes().to_vec();
            file.extend_from_slice(b"{}");
            let e = open(file).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidFile);
            assert!(e.message().contains(&length.to_string()), "{e}");
        }
        assert!(open(raw(b"", b"")).is_err());
    }

    #[test]
    fn ranges_that_do_not_tile_the_data_are_refused() {
        let two = |a: &str, b: &str| {
            format!(r#"{{"a":{{"dtype":"F32","shape":[2],"data_offsets":{a}}},"b":{{"dtype":"F32","shape":[2],"data_offsets":{b}}}}}"#)
        };
        let cases = [
            (two("[0,8]", "[4,12]"), 12, "\"a\" and \"b\" overlap"),
            (two("[0,8]", "[0,8]"), 8, "\"a\" and \"b\" overlap"),
            (two("[0,8]", "[12,20]"), 20, "bytes 8 to 12"),
            (two("[4,12]", "[12,20]"), 20, "bytes 0 to 4"),
            (two("[0,8]", "[8,16]"), 20, "last 4 bytes"),
            (two("[0,8]", "[8,16]"), 15, "only 15"),
            (two("[8,0]", "[8,16]"), 16, "before it begins"),
            (two("[0,8]", "[8,18446744073709551615]"), 16, "only 16"),
            ("{}".to_owned(), 4, "last 4 bytes"),
        ];
        for (header, data, says) in cases {
            let e = error(&header, data);
            assert_eq!(e.kind(), ErrorKind::InvalidFile);
            assert!(e.message().contains(says), "{header}: {e}");
        }
        assert_eq!(open(raw(two("[8,16]", "[0,8]").as_bytes(), &[0; 16])).unwrap().len(), 2, "any order of names");
    }

    #[test]
    fn a_size_that_is_not_that_of_type_and_shape_is_refused() {
        let one =
            |dtype: &str, shape: &str, end: usize| format!(r#"{{"a.b":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[0,{end}]}}}}"#);
        for (dtype, shape, end) in [
            ("F32", "[3]", 8),
            ("F16", "[3]", 12),
            ("F32", "[]", 8),
            ("F32", "[0]", 4),
            ("F32", "[4611686018427387904,4]", 0),
            ("F32", "[4611686018427387905]", 4),
            ("F32", "[18446744073709551615,18446744073709551615]", 4),
            ("I64", "[2305843009213693952]", 0),
        ] {
            let e = error(&one(dtype, shape, end), end);
            assert_eq!(e.kind(), ErrorKind::InvalidFile);
            assert!(e.message().contains("a.b"), "{shape}: {e}");
        }
    }

    #[test]
    fn empty_tensors_scalars_and_empty_files_are_sound() {
        let header = r#"{"e":{"dtype":"F32","shape":[0,3],"data_offsets":[4,4]},"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   "#;
        let weights = open(raw(header.as_bytes(), &1f32.to_le_bytes())).unwrap();
        assert_eq!(weights.get("e").unwrap().to_f32(), [0f32; 0]);
        assert_eq!(weights.get("s").unwrap().to_f32(), [1.0]);
        assert!(open(raw(b"{}", b"")).unwrap().is_empty());
        // Inside another tensor, even an empty one overlaps.
        let inside = r#"{"e":{"dtype":"F32","shape":[0],"data_offsets":[2,2]},"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}"#;
        assert!(error(inside, 4).message().contains("overlap"));
    }

    #[test]
    fn a_header_that_is_not_one_json_object_of_distinct_names_is_refused() {
        let claim = r#"{"dtype":"F32","shape":[],"data_offsets":[0,4]}"#;
        let twice = error(&format!(r#"{{"a":{claim},"a":{claim}}}"#), 4);
        assert!(twice.message().contains("\"a\" occurs twice") && twice.message().contains("line 1 column"), "{twice}");
        for bad in ["[]", "{", "{}x", " {}", "null", "{\"a\":1}", "{\"a\":{}}"] {
            assert_eq!(error(bad, 0).kind(), ErrorKind::InvalidFile, "{bad}");
        }
        let e = open(raw(b"{\"\xff\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", &[0; 4])).unwrap_err();
        assert!(e.message().contains("malformed"), "{e}");
    }

    #[test]
    fn a_git_lfs_pointer_says_how_to_get_the_file() {
        let e = open(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 90868376\n".to_vec()).unwrap_err();
        assert!(e.message().contains("git lfs pull"), "{e}");
    }

    #[test]
    fn a_tensor_that_another_file_holds_is_refused() {
        let mut weights = open(small()).unwrap();
        let e = read("other.safetensors", &Bytes::owned(small()), &mut weights).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidTensor);
        assert!(e.message().starts_with("other.safetensors") && e.message().contains("\"a\""), "{e}");
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = open(bytes);
        }

        #[test]
        fn whatever_a_header_claims_what_is_accepted_tiles_the_data(
            claims in proptest::collection::btree_map(
                "[a-c]",
                (
                    prop_oneof![Just("F32"), Just("F16"), Just("I64"), Just("U8")],
                    proptest::collection::vec(prop_oneof![8 => 0u64..5, 1 => any::<u64>()], 0..4),
                    prop_oneof![8 => 0u64..32, 1 => any::<u64>()],
                    prop_oneof![8 => 0u64..32, 1 => any::<u64>()],
                ),
                0..4,
            ),
            data in 0usize..48,
        ) {
            let header: serde_json::Map<_, _> = claims
                .into_iter()
                .map(|(name, (dtype, shape, begin, end))| (name, serde_json::json!({"dtype": dtype, "shape": shape, "data_offsets": [begin, end]})))
                .collect();
            let header = serde_json::Value::from(header).to_string();
            if let Ok(weights) = open(raw(header.as_bytes(), &vec![0; data])) {
                prop_assert_eq!(weights.iter().map(|(_, t)| t.bytes().len()).sum::<usize>(), data);
            }
        }

        #[test]
        fn a_damaged_file_never_panics_and_what_it_still_yields_is_sound(
            edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
            cut in proptest::option::of(any::<prop::sample::Index>()),
        ) {
            let mut file = small();
            for (at, byte) in edits {
                let at = at.index(file.len());
                file[at] = byte;
            }
            if let Some(cut) = cut {
                file.truncate(cut.index(file.len()));
            }
            if let Ok(weights) = open(file) {
                let bytes: usize = weights.iter().map(|(_, t)| t.bytes().len()).sum();
                prop_assert_eq!(bytes, 11 * 4, "the ranges must still tile the data");
            }
        }
    }
}
