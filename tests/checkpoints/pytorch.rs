//! Types, strides, and files that no honest program writes.

use std::io::Write;

use cloze::formats::{Weights, pytorch};
use cloze::quant::Bytes;
use cloze::{Error, ErrorKind};
use serde_json::Value;

use super::bases::golden;

fn read(bytes: Vec<u8>) -> Result<Weights, Error> {
    let mut weights = Weights::default();
    pytorch::read("pytorch_model.bin", &Bytes::owned(bytes), &mut weights)?;
    Ok(weights)
}

fn file(name: &str) -> Vec<u8> {
    std::fs::read(golden("pytorch").join(name)).unwrap()
}

#[test]
fn every_type_and_stride_has_the_values_that_torch_gives() {
    let expected: Value = serde_json::from_slice(&file("types/types.json")).unwrap();
    for name in ["types/zip.bin", "types/legacy.bin"] {
        let weights = read(file(name)).unwrap();
        let tensors = expected["tensors"].as_object().unwrap();
        assert_eq!(weights.len(), tensors.len());
        for (key, want) in tensors {
            let (shape, values): (Vec<usize>, Vec<f32>) = serde_json::from_value(want.clone()).unwrap();
            let tensor = weights.get(key).unwrap_or_else(|| panic!("{name}: {key}"));
            assert_eq!(tensor.shape(), shape, "{name}: {key}");
            let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&tensor.to_f32()), bits(&values), "{name}: {key}");
        }
        let mut skipped: Vec<&str> = weights.skipped().collect();
        skipped.sort_unstable();
        let mut want: Vec<&str> = expected["skipped"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
        want.sort_unstable();
        assert_eq!(skipped, want);
    }
}

#[test]
fn tensors_that_lie_in_order_are_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["zip", "legacy"] {
        for (file, bytes) in super::Base::of("encoder").with(super::bases::files_below(&golden("pytorch").join(name), "")) {
            let path = folder.path().join(name).join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::File::create(path).unwrap().write_all(&bytes).unwrap();
        }
        let opened = cloze::formats::huggingface::open(&cloze::formats::Source::open(&folder.path().join(name)).unwrap()).unwrap();
        assert!(opened.weights.len() > 30 && opened.weights.iter().all(|(_, tensor)| tensor.bytes().is_mapped()), "{name}");
    }
}

/// A file of the old layout whose values are this pickle.
fn legacy(values: &[u8]) -> Vec<u8> {
    let mut file = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.".to_vec();
    file.extend_from_slice(values);
    file.extend_from_slice(b"\x80\x02].");
    file
}

/// A zip archive with these entries, stored as they are.
fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in entries {
        let sizes = [(data.len() as u32).to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
        let name_len = [(name.len() as u16).to_le_bytes(), [0; 2]].concat();
        directory.extend(
            [&b"PK\x01\x02"[..], &[0; 16], &sizes, &name_len, &[0; 10], &(file.len() as u32).to_le_bytes(), name.as_bytes()].concat(),
        );
        file.extend([&b"PK\x03\x04"[..], &[0; 14], &sizes, &name_len, name.as_bytes(), data].concat());
    }
    end(file, &directory, entries.len())
}

fn end(mut file: Vec<u8>, directory: &[u8], count: usize) -> Vec<u8> {
    let (start, count) = (file.len() as u32, (count as u16).to_le_bytes());
    file.extend_from_slice(directory);
    file.extend(
        [&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &(directory.len() as u32).to_le_bytes(), &start.to_le_bytes(), &[0; 2]].concat(),
    );
    file
}

fn refused(bytes: Vec<u8>, words: &[&str]) {
    let e = read(bytes).expect_err(&format!("accepted: {words:?}"));
    assert!(matches!(e.kind(), ErrorKind::InvalidFile | ErrorKind::Unsupported | ErrorKind::InvalidTensor), "{e:?}");
    for word in words {
        assert!(e.message().contains(word), "{word:?} is not in: {e}");
    }
}

#[test]
fn pickles_that_would_run_code_are_refused_by_the_name_of_what_they_call() {
    let mut tried = 0;
    for entry in std::fs::read_dir(golden("pytorch/hostile")).unwrap() {
        let path = entry.unwrap().path();
        let pickle = std::fs::read(&path).unwrap();
        let stem = path.file_stem().unwrap().to_str().unwrap().trim_end_matches("-4").to_owned();
        let called = stem.rsplit_once('.').unwrap().1;
        refused(legacy(&pickle), &[called, "nothing was run"]);
        refused(archive(&[("x/data.pkl", &pickle)]), &[called, "nothing was run"]);
        tried += 1;
    }
    assert!(tried >= 8);
    assert!(!std::path::Path::new("cloze-was-here").exists(), "a pickle was obeyed");
    for (module, name) in
        [("os", "system"), ("posix", "system"), ("builtins", "eval"), ("torch", "load"), ("numpy", "load"), ("torch._utils", "x")]
    {
        let call = [b"\x80\x02c", module.as_bytes(), b"\n", name.as_bytes(), b"\nU\x04true\x85R."].concat();
        refused(legacy(&call), &[&format!("{module}.{name}")]);
        let stacked =
            [&b"\x80\x04\x8c"[..], &[module.len() as u8], module.as_bytes(), b"\x8c", &[name.len() as u8], name.as_bytes(), b"\x93."]
                .concat();
        refused(legacy(&stacked), &[&format!("{module}.{name}")]);
    }
    // Names from the list, put together otherwise.
    refused(legacy(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R."), &["arguments"]);
    refused(legacy(b"\x80\x02ccollections\nOrderedDict\nU\x01xbctorch\nSize\nb."), &[]);
}

#[test]
fn pickles_that_nest_or_grow_are_no_burden() {
    let begin = std::time::Instant::now();
    // A million tuples, one in the other.
    refused(legacy(&[b"\x80\x02)".as_slice(), &vec![0x85; 1_000_000], b"."].concat()), &["dictionary"]);
    refused(legacy(&[b"\x80\x02".as_slice(), &vec![b']'; 3_000_000], b"."].concat()), &["values"]);
    refused(legacy(&[b"\x80\x02".as_slice(), &vec![b'('; 3_000_000], b"."].concat()), &["values"]);
    refused(legacy(&[b"\x80\x02)".as_slice(), &vec![b'2'; 3_000_000], b"."].concat()), &["values"]);
    // Each list holds the one before twice: 2^60 when written out.
    let mut laughs = b"\x80\x02]q\x00".to_vec();
    for i in 0..60u8 {
        laughs.extend([b']', b'(', b'h', i, b'h', i, b'e', b'q', i + 1]);
    }
    laughs.push(b'.');
    refused(legacy(&laughs), &["dictionary"]);
    // A dictionary of a long list, copied again and again; a long text as the key of every storage.
    let list = [&b"\x80\x02](K\x01K\x02\x86q\x00"[..], &b"h\x00".repeat(50_000), b"eq\x01ccollections\nOrderedDict\nq\x020h\x01\x85q\x030"]
        .concat();
    refused(legacy(&[list, b"h\x02h\x03R".repeat(100)].concat()), &["copies more"]);
    let key =
        [&b"\x80\x02(U\x07storagectorch\nFloatStorage\n"[..], b"T\x00\x00\x10\x00", &vec![b'k'; 1 << 20], b"U\x03cpuK\x01tQ."].concat();
    refused(legacy(&key), &["key of a storage"]);
    // Itself as its own entry.
    refused(legacy(b"\x80\x02}q\x00U\x05modelh\x00s."), &["keys"]);
    for (bytes, words) in [
        (&b"\x80\x02T\xff\xff\xff\x7f"[..], &["text of"][..]),
        (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff", &["text of"]),
        (b"\x80\x02X\xff\xff\xff\x03abc", &["ends"]),
        (b"\x80\x02\x8a\xff", &["ends"]),
        (b"\x80\x02\x8b\x00\x00\x00\x40", &["opcode"]),
        (b"\x80\x09.", &["protocol 9"]),
        (b"\x80\x02h\x07.", &["never kept"]),
        (b"\x80\x02.", &["none"]),
        (b"\x80\x02t.", &["mark", "none"]),
        (b"\x80\x02(0.", &["none"]),
        (b"\x80\x02)(0.", &["none"]),
        (b"\x80\x02}U\x01as.", &["none"]),
        (b"\x80\x02}(U\x01au.", &["no value"]),
        (b"\x80\x02)K\x01a.", &["no list"]),
        (b"\x80\x02)R.", &[]),
        (b"\x80\x02(lp0\n.", &["opcode"]),
        (b"\x80\x02cos", &["cut off"]),
        (b"\x80\x02U\x06modulecx\ny\n", &["x.y"]),
    ] {
        refused(legacy(bytes), words);
    }
    assert!(begin.elapsed() < std::time::Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn a_file_cut_at_any_byte_is_an_error() {
    for name in ["types/zip.bin", "types/legacy.bin"] {
        let whole = file(name);
        for len in 0..whole.len() {
            refused(whole[..len].to_vec(), &[]);
        }
        let mut longer = whole;
        longer.push(0);
        refused(longer, &[]);
    }
}

/// The values `{"w": tensor}` over storage "0" of 4 floats.
fn one_tensor(offset: &[u8], shape: &[u8], strides: &[u8], len: &[u8]) -> Vec<u8> {
    let mut values = b"\x80\x02}U\x01wctorch._utils\n_rebuild_tensor_v2\n((U\x07storagectorch\nFloatStorage\nU\x010U\x03cpu".to_vec();
    values.extend([len, b"tQ", offset, shape, strides, b"\x89)tRs."].concat());
    values
}

#[test]
fn shapes_strides_and_storages_that_do_not_fit_are_refused() {
    let in_zip = |values: Vec<u8>, data: &[u8]| archive(&[("x/data.pkl", &values), ("x/data/0", data)]);
    let sound = || one_tensor(b"K\x00", b"K\x02K\x02\x86", b"K\x02K\x01\x86", b"K\x04");
    assert_eq!(read(in_zip(sound(), &[0; 16])).unwrap().get("w").unwrap().shape(), [2, 2]);
    refused(in_zip(sound(), &[0; 12]), &["\"w\"", "12 bytes"]);
    refused(archive(&[("x/data.pkl", &sound())]), &["\"w\"", "missing"]);
    let huge: &[u8] = b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f";
    let cases = [
        one_tensor(b"K\x01", b"K\x02K\x02\x86", b"K\x02K\x01\x86", b"K\x04"),
        one_tensor(b"K\x00", b"K\x02K\x02\x86", b"K\x03K\x01\x86", b"K\x04"),
        one_tensor(b"K\x00", b"K\x02K\x02\x86", b"K\x01\x85", b"K\x04"),
        one_tensor(b"J\xff\xff\xff\xff", b"K\x01\x85", b"K\x01\x85", b"K\x04"),
        one_tensor(b"K\x00", b"J\xff\xff\xff\xff\x85", b"K\x01\x85", b"K\x04"),
        one_tensor(b"K\x00", b"K\x02\x85", b"J\xff\xff\xff\xff\x85", b"K\x04"),
        one_tensor(b"K\x00", &[huge, huge, b"\x86"].concat(), b"K\x00K\x00\x86", b"K\x04"),
        one_tensor(b"K\x00", &[huge, b"\x85"].concat(), b"K\x00\x85", b"K\x04"),
        one_tensor(b"K\x00", b"J\x00\x00\x00\x10\x85", b"K\x00\x85", b"K\x04"),
        one_tensor(huge, b"K\x01\x85", b"K\x01\x85", b"K\x04"),
        one_tensor(b"K\x00", b"K\x02\x85", b"K\x01\x85", huge),
        one_tensor(b"U\x01a", b"K\x02\x85", b"K\x01\x85", b"K\x04"),
    ];
    for (i, values) in cases.into_iter().enumerate() {
        let e = read(in_zip(values, &[0; 16])).expect_err(&format!("case {i}"));
        assert_eq!(e.kind(), ErrorKind::InvalidFile, "case {i}: {e}");
    }
    let mut quantised = sound();
    let at = quantised.windows(12).position(|w| w == b"FloatStorage").unwrap();
    quantised[at..at + 12].copy_from_slice(b"QInt8Storage");
    refused(in_zip(quantised, &[0; 16]), &["torch.QInt8Storage"]);
}

#[test]
fn archives_that_contradict_themselves_are_refused() {
    let values = one_tensor(b"K\x00", b"K\x04\x85", b"K\x01\x85", b"K\x04");
    let sound = archive(&[("x/data.pkl", &values), ("x/data/0", &[1; 16])]);
    assert!(read(sound.clone()).is_ok());
    let find = |what: &[u8], from: usize| from + sound[from..].windows(what.len()).position(|w| w == what).unwrap();
    let change = |at: usize, bytes: &[u8]| {
        let mut file = sound.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let directory = find(b"PK\x01\x02", 0);
    let second = find(b"PK\x01\x02", directory + 4);
    let end = find(b"PK\x05\x06", 0);
    refused(change(directory + 10, &[8]), &["compressed", "zip -0"]);
    refused(change(directory + 8, &[1]), &["encrypted"]);
    refused(change(directory + 20, &[9]), &["two sizes"]);
    refused(change(second + 42, &[0; 4]), &["another name"]);
    refused(change(second + 20, &[0xff, 0xff, 0, 0, 0xff, 0xff, 0, 0]), &["damaged"]);
    refused(change(directory + 42, &(u32::MAX - 1).to_le_bytes()), &["damaged"]);
    refused(change(directory + 42, &u32::MAX.to_le_bytes()), &["damaged"]);
    refused(change(end + 10, &[0xff, 0xff]), &["damaged"]);
    refused(change(end + 10, &[1]), &["length"]);
    refused(change(end + 12, &u32::MAX.to_le_bytes()), &["damaged"]);
    refused(change(end + 16, &[0; 4]), &["damaged"]);
    refused(change(end + 4, &[1]), &["split"]);
    refused(change(end + 20, &[7]), &["damaged"]);
    refused(archive(&[("x/data.pkl", &values), ("x/data/0", &[1; 16]), ("x/data/0", &[1; 16])]), &["twice"]);
    refused(archive(&[("x/data.pkl", &values), ("y/data.pkl", &values)]), &["several"]);
    refused(archive(&[("x/data.pkl", &values), ("x/constants.pkl", b"")]), &["TorchScript"]);
    refused(archive(&[("x/data.pkl", &values), ("x/byteorder", b"big")]), &["big endian"]);
    refused(archive(&[("other", b"")]), &["data.pkl"]);
    // An entry that lies within another: a bomb that repeats itself.
    let inner = archive(&[("x/data.pkl", &values), ("x/data/0", &[1; 16])]);
    let outer = [&b"PK\x03\x04"[..], &[0; 22], &[1, 0, 0, 0], b"a"].concat();
    let mut entries = inner[directory..end].to_vec();
    let at = second - directory;
    entries[42] += outer.len() as u8;
    let place = u32::from_le_bytes(entries[at + 42..at + 46].try_into().unwrap()) + outer.len() as u32;
    entries[at + 42..at + 46].copy_from_slice(&place.to_le_bytes());
    let len = (directory as u32).to_le_bytes();
    entries.extend([&b"PK\x01\x02"[..], &[0; 16], &len, &len, &[1, 0], &[0; 12], &[0; 4], b"a"].concat());
    refused(super::pytorch::end([&outer[..], &inner[..directory]].concat(), &entries, 3), &["overlap"]);
}

#[test]
fn names_in_archives_are_no_paths() {
    let values = one_tensor(b"K\x00", b"K\x04\x85", b"K\x01\x85", b"K\x04");
    let at = values.windows(3).position(|w| w == b"U\x010").unwrap();
    let mut climbing = values.clone();
    climbing.splice(at..at + 3, *b"U\x10../../etc/passwd");
    refused(archive(&[("x/data.pkl", &climbing), ("x/data/0", &[1; 16])]), &["../../etc/passwd", "missing"]);
    let named = archive(&[("../../x/data.pkl", &values), ("../../x/data/0", &[1; 16]), ("/etc/passwd", b"no")]);
    assert_eq!(read(named).unwrap().get("w").unwrap().elements(), 4, "nothing is written by any name");
}

#[test]
fn directories_of_large_archives_are_read() {
    let values = one_tensor(b"K\x00", b"K\x04\x85", b"K\x01\x85", b"K\x04");
    let narrow = archive(&[("x/data.pkl", &values), ("x/data/0", &[1; 16])]);
    let directory = narrow.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    let second = directory + 4 + narrow[directory + 4..].windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    let end = narrow.windows(4).position(|w| w == b"PK\x05\x06").unwrap();
    // The second entry's sizes and place in its extra field, the directory's in a record of its own.
    let place = u64::from(u32::from_le_bytes(narrow[second + 42..second + 46].try_into().unwrap()));
    let mut entries = narrow[directory..end].to_vec();
    let at = second - directory;
    entries[at + 20..at + 28].fill(0xff);
    entries[at + 42..at + 46].fill(0xff);
    entries[at + 30] = 28;
    entries.extend([&[1, 0, 24, 0][..], &16u64.to_le_bytes(), &16u64.to_le_bytes(), &place.to_le_bytes()].concat());
    let mut wide = narrow[..directory].to_vec();
    wide.extend_from_slice(&entries);
    let record = wide.len() as u64;
    wide.extend([&b"PK\x06\x06"[..], &44u64.to_le_bytes(), &[0; 12], &2u64.to_le_bytes(), &2u64.to_le_bytes()].concat());
    wide.extend([&(entries.len() as u64).to_le_bytes()[..], &(directory as u64).to_le_bytes()].concat());
    wide.extend([&b"PK\x06\x07\0\0\0\0"[..], &record.to_le_bytes(), &1u32.to_le_bytes()].concat());
    wide.extend([&b"PK\x05\x06\0\0\0\0"[..], &[0xff; 12], &[0; 2]].concat());
    assert_eq!(read(wide.clone()).unwrap().get("w").unwrap().elements(), 4);
    for len in 0..wide.len() {
        refused(wide[..len].to_vec(), &[]);
    }
}

#[test]
fn tar_archives_that_contradict_themselves_are_refused() {
    let whole = file("tar/pytorch_model.bin");
    assert!(read(whole.clone()).unwrap().len() > 30);
    let change = |at: usize, bytes: &[u8]| {
        let mut file = whole.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    refused(change(0, b"../../x"), &["damaged"]);
    refused(change(124, b"77777777777"), &["damaged"]);
    let mut empty = vec![0; 600];
    empty[257..262].copy_from_slice(b"ustar");
    refused(empty, &["damaged"]);
    let mut cuts = 0;
    for len in (0..whole.len()).step_by(37) {
        cuts += usize::from(read(whole[..len].to_vec()).is_err());
    }
    // Blocks of zeros stand at the end.
    assert!(cuts >= (whole.len() - 10_240 - 512) / 37, "{cuts}");
}

#[test]
fn what_is_no_checkpoint_says_what_to_do() {
    refused(b"version https://git-lfs.github.com/spec/v1\n".to_vec(), &["git lfs pull"]);
    refused(b"hello".to_vec(), &["not a PyTorch checkpoint"]);
    refused(Vec::new(), &["not a PyTorch checkpoint"]);
    refused(b"\x80\x02K\x01.\x80\x02K\x01.".to_vec(), &["not one that torch.save wrote"]);
    refused(legacy(b"\x80\x02}U\x05epochK\x03s."), &["epoch", "state_dict"]);
}
