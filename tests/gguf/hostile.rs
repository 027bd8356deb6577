//! Damaged and malicious files: every one is an error that names what is wrong.

use cloze::ErrorKind;
use cloze::formats::gguf::Reader;
use cloze::quant::Bytes;

use super::{golden, read};
use cloze::{Model, Options};

/// A file that tests build byte by byte.
struct Raw {
    version: u32,
    tensors: u64,
    settings: u64,
    body: Vec<u8>,
}

impl Raw {
    fn new() -> Raw {
        Raw { version: 3, tensors: 0, settings: 0, body: Vec::new() }
    }

    fn string(mut self, text: &[u8]) -> Raw {
        self.body.extend((text.len() as u64).to_le_bytes());
        self.body.extend(text);
        self
    }

    fn u32(mut self, n: u32) -> Raw {
        self.body.extend(n.to_le_bytes());
        self
    }

    fn u64(mut self, n: u64) -> Raw {
        self.body.extend(n.to_le_bytes());
        self
    }

    /// A setting of any bytes.
    fn setting(mut self, key: &[u8], kind: u32, value: &[u8]) -> Raw {
        self.settings += 1;
        self = self.string(key).u32(kind);
        self.body.extend(value);
        self
    }

    /// The description of a tensor, dimensions innermost first.
    fn tensor(mut self, name: &[u8], dimensions: &[u64], dtype: u32, offset: u64) -> Raw {
        self.tensors += 1;
        self = self.string(name).u32(dimensions.len() as u32);
        self = dimensions.iter().fold(self, |raw, d| raw.u64(*d));
        self.u32(dtype).u64(offset)
    }

    fn file(&self, data: usize) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(self.version.to_le_bytes());
        file.extend(self.tensors.to_le_bytes());
        file.extend(self.settings.to_le_bytes());
        file.extend(&self.body);
        if data > 0 {
            file.resize(file.len().next_multiple_of(32) + data, 0);
        }
        file
    }
}

fn open(file: Vec<u8>) -> cloze::Result<Reader> {
    Reader::open(&Bytes::owned(file))
}

fn refused(what: &str, file: Vec<u8>, kind: ErrorKind, says: &str) {
    match open(file) {
        Ok(_) => panic!("{what}: opened"),
        Err(e) => assert!(e.kind() == kind && e.message().contains(says), "{what}: {:?} {e}", e.kind()),
    }
}

const BAD: ErrorKind = ErrorKind::InvalidFile;
const F32: u32 = 0;

#[test]
fn the_builder_builds_files_that_open() {
    let raw = Raw::new().setting(b"k", 4, &7u32.to_le_bytes()).tensor(b"a", &[2, 3], F32, 0).tensor(b"b", &[], F32, 32).tensor(
        b"c",
        &[0, 9],
        F32,
        64,
    );
    let reader = open(raw.file(36)).unwrap();
    assert_eq!(reader.tensor("a").unwrap().shape(), [3, 2]);
    assert_eq!((reader.tensor("b").unwrap().elements(), reader.tensor("c").unwrap().elements()), (1, 0));
    let old = Raw { version: 2, ..raw };
    assert_eq!(open(old.file(36)).unwrap().version(), 2);
    assert_eq!(open(Raw::new().file(0)).unwrap().tensors().len(), 0);
}

#[test]
fn a_file_cut_at_any_byte_is_refused() {
    for name in ["gguf/settings.gguf", "gguf/aligned.gguf", "gguf/bpe.gguf"] {
        let whole = read(name);
        // The padding behind the last tensor may be missing: some writers leave it out.
        let last = whole.len() - whole.iter().rev().take_while(|b| **b == 0).count();
        for len in 0..last.min(20_000) {
            let e = open(whole[..len].to_vec()).unwrap_err();
            assert_eq!(e.kind(), BAD, "{name} cut at {len}: {e}");
        }
        assert!(open(whole.clone()).is_ok());
        let mut longer = whole;
        longer.resize(longer.len() + 129, 0);
        assert!(open(longer).unwrap_err().message().contains("belong to no tensor") || name == "gguf/bpe.gguf");
    }
}

#[test]
fn versions_and_byte_orders_that_are_not_read_are_named() {
    let of = |version: u32| Raw { version, ..Raw::new() }.file(0);
    refused("version 1", of(1), ErrorKind::Unsupported, "version 1");
    refused("version 4", of(4), ErrorKind::Unsupported, "version 4");
    refused("big endian", of(3u32.swap_bytes()), ErrorKind::Unsupported, "big-endian");
    refused("big endian", of(2u32.swap_bytes()), ErrorKind::Unsupported, "big-endian");
    refused("version 0", of(0), ErrorKind::Unsupported, "version 0");
    refused("another format", b"ggml0000".to_vec(), BAD, "does not begin with GGUF");
    refused("nothing", Vec::new(), BAD, "ends at byte 0");
}

#[test]
fn counts_and_lengths_beyond_the_file_are_refused_before_anything_is_allocated() {
    for huge in [u64::MAX, u64::MAX / 2, 1 << 62, 1 << 40, 1000] {
        refused("tensors", Raw { tensors: huge, ..Raw::new() }.file(0), BAD, "tensors");
        refused("settings", Raw { settings: huge, ..Raw::new() }.file(0), BAD, "settings");
        refused("key", Raw { settings: 1, ..Raw::new().u64(huge).u64(0).u64(0) }.file(0), BAD, "setting 0: byte 24 states a string of");
        refused("string", Raw::new().setting(b"k", 8, &huge.to_le_bytes()).file(0), BAD, "setting \"k\"");
        refused("name", Raw { tensors: 1, ..Raw::new().u64(huge).u64(0).u64(0) }.file(0), BAD, "the name of tensor 0");
        for kind in 0..13u32 {
            let array = [&kind.to_le_bytes()[..], &huge.to_le_bytes()].concat();
            refused("array", Raw::new().setting(b"k", 9, &array).file(0), BAD, "setting \"k\"");
        }
    }
}

#[test]
fn settings_that_cannot_be_are_named() {
    refused("type", Raw::new().setting(b"k", 13, &[0; 8]).file(0), BAD, "type 13");
    refused("type", Raw::new().setting(b"k", u32::MAX, &[0; 8]).file(0), BAD, "setting \"k\"");
    refused("bool", Raw::new().setting(b"k", 7, &[2]).file(0), BAD, "true or false");
    refused("utf8", Raw::new().setting(b"k", 8, &[&3u64.to_le_bytes()[..], b"a\xff\xfe"].concat()).file(0), BAD, "not UTF-8");
    refused("utf8 key", Raw::new().setting(b"\xc3", 0, &[0]).file(0), BAD, "not UTF-8");
    refused("twice", Raw::new().setting(b"k", 0, &[1]).setting(b"k", 0, &[1]).file(0), BAD, "\"k\" occurs twice");
    // Arrays in arrays: each level is a type and a count of 1.
    let level = [&9u32.to_le_bytes()[..], &1u64.to_le_bytes()].concat();
    refused("deep", Raw::new().setting(b"k", 9, &level.repeat(10_000)).file(0), BAD, "deep");
    for alignment in [0u32, 3, 33, 1 << 30] {
        let e = format!("is {alignment}");
        refused("alignment", Raw::new().setting(b"general.alignment", 4, &alignment.to_le_bytes()).file(0), BAD, &e);
    }
    refused("alignment", Raw::new().setting(b"general.alignment", 8, &0u64.to_le_bytes()).file(0), BAD, "general.alignment");
}

#[test]
fn tensors_that_cannot_be_are_named() {
    let one = |dimensions: &[u64], dtype: u32, offset: u64| Raw::new().tensor(b"w", dimensions, dtype, offset).file(64);
    refused("type", one(&[8], 31, 0), ErrorKind::Unsupported, "\"w\": element type 31");
    refused("type", one(&[8], 23, 0), ErrorKind::Unsupported, "IQ4_XS");
    refused("type", one(&[8], u32::MAX, 0), ErrorKind::Unsupported, "supported: F32");
    refused("dimensions", one(&[1; 5], F32, 0), BAD, "5 dimensions");
    refused("overflow", one(&[u64::MAX, u64::MAX], F32, 0), BAD, "too many");
    refused("overflow", one(&[1 << 62, 4], F32, 0), BAD, "too many");
    refused("overflow", one(&[1 << 62], F32, 0), BAD, "too many");
    refused("blocks", one(&[33, 1], 8, 0), BAD, "no whole blocks");
    refused("blocks", one(&[16, 2], 8, 0), BAD, "no whole blocks");
    refused("past the end", one(&[17], F32, 0), BAD, "only 64");
    refused("past the end", one(&[8], F32, 64), BAD, "\"w\"");
    refused("past the end", one(&[8], F32, u64::MAX - 31), BAD, "\"w\"");
    refused("unaligned", one(&[8], F32, 4), BAD, "alignment 32");
    refused("hole", one(&[8], F32, 32), BAD, "belong to no tensor");
    refused("rest", one(&[], F32, 0), BAD, "belong to no tensor");
    let two = |a: u64, b: u64| Raw::new().tensor(b"a", &[8], F32, a).tensor(b"b", &[16], F32, b).file(96);
    assert!(open(two(0, 32)).is_ok() && open(two(64, 0)).is_ok(), "any order");
    refused("overlap", two(0, 0), BAD, "overlap");
    refused("overlap", two(32, 0), BAD, "overlap");
    let twice = Raw::new().tensor(b"a", &[8], F32, 0).tensor(b"a", &[8], F32, 32).file(64);
    refused("twice", twice, ErrorKind::InvalidTensor, "\"a\" occurs twice");
    refused("name", Raw::new().tensor(b"\xff", &[8], F32, 0).file(32), BAD, "the name of tensor 0");
}

/// What opens as a file, but not as a model.
#[test]
fn files_that_hold_no_model_of_ours_say_so() {
    let load = |file: Vec<u8>| Model::load_files(vec![("x.gguf".to_owned(), file)], &Options::default()).unwrap_err();
    let text = |s: &str| [&(s.len() as u64).to_le_bytes()[..], s.as_bytes()].concat();
    let bert = || Raw::new().setting(b"general.architecture", 8, &text("bert"));
    let ours = |config: &str| bert().setting(b"cloze.files.config.json", 8, &text(config));
    let sizes = |raw: Raw| {
        let keys = ["context_length", "embedding_length", "feed_forward_length", "block_count", "attention.head_count"];
        keys.iter().fold(raw, |raw, key| raw.setting(format!("bert.{key}").as_bytes(), 4, &4u32.to_le_bytes()))
    };
    const EPSILON: &[u8] = b"bert.attention.layer_norm_epsilon";
    let tower = [&4u32.to_le_bytes()[..]].concat();
    for (what, file, says) in [
        ("no architecture", Raw::new().file(0), "general.architecture"),
        ("llama", Raw::new().setting(b"general.architecture", 8, &text("llama")).file(0), "\"llama\""),
        ("number", Raw::new().setting(b"general.architecture", 4, &tower).file(0), "expected a string"),
        ("one of several", bert().setting(b"split.count", 2, &2u16.to_le_bytes()).file(0), "one of several files"),
        ("no sizes", bert().file(0), "bert.context_length"),
        ("unknown tensor", bert().tensor(b"blk.0.attn_x.weight", &[8], F32, 0).file(32), "blk.0.attn_x.weight"),
        ("folder", bert().tensor(b"cloze.../x/w", &[8], F32, 0).file(32), "leaves"),
        ("fused", bert().tensor(b"blk.0.attn_qkv.weight", &[4, 2], F32, 0).file(32), "attn_qkv"),
        ("file name", bert().setting(b"cloze.files.../config.json", 8, &text("{}")).file(0), "is no name of a file"),
        ("no text", bert().setting(b"cloze.files.config.json", 4, &tower).file(0), "cloze.files.config.json"),
        ("malformed", bert().setting(b"cloze.files.config.json", 8, &text("{")).file(0), "cloze.files.config.json"),
        (
            "contradiction",
            bert()
                .setting(b"bert.embedding_length", 4, &tower)
                .setting(b"cloze.files.config.json", 8, &text("{\"hidden_size\":8}"))
                .file(0),
            "\"bert.embedding_length\" is 4, but hidden_size",
        ),
        ("epsilon", sizes(bert()).setting(EPSILON, 6, &f32::NAN.to_le_bytes()).file(0), "layer_norm_epsilon\" is NaN"),
        ("epsilon", sizes(bert()).setting(EPSILON, 6, &(-1f32).to_le_bytes()).file(0), "layer_norm_epsilon\" is -1"),
        ("causal", ours("{}").setting(b"bert.attention.causal", 7, &[1]).file(0), "is not an encoder"),
        ("epsilon", ours("{}").setting(EPSILON, 6, &f32::INFINITY.to_le_bytes()).file(0), "layer_norm_epsilon\" is inf"),
        (
            "epsilon",
            ours("{\"layer_norm_eps\":1e-12}").setting(EPSILON, 6, &1e-5f32.to_le_bytes()).file(0),
            "but layer_norm_eps in the file's own config.json is",
        ),
        ("pooling", ours("{}").setting(b"bert.pooling_type", 4, &9u32.to_le_bytes()).file(0), "known are 0 (none), 1 (mean)"),
        ("pooling", ours("{}").setting(b"bert.pooling_type", 4, &2u32.to_le_bytes()).file(0), "2 (cls), but the file has no Pooling"),
        (
            "pooling",
            ours("{}")
                .setting(b"cloze.files.modules.json", 8, &text(r#"[{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]"#))
                .setting(b"cloze.files.1_Pooling/config.json", 8, &text(r#"{"pooling_mode":"mean"}"#))
                .setting(b"bert.pooling_type", 4, &2u32.to_le_bytes())
                .file(0),
            "2 (cls), but the configuration of the file's own Pooling module amounts to mean",
        ),
    ] {
        let e = load(file);
        assert!(e.message().contains(says), "{what}: {e}");
    }
    let path = golden("gguf/none.gguf");
    assert_eq!(Model::load(&path, &Options::default()).unwrap_err().kind(), ErrorKind::Io);
}
