//! convert, quantize, verify and inspect: files that appear whole or not at all, and prove themselves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cloze::formats::gguf::Reader;
use cloze::formats::{Source, huggingface};
use cloze::quant::Bytes;
use serde_json::Value;

use super::{Done, cloze, path};

/// 64 values a vector, so that rows are whole blocks; two shards.
fn sharded() -> String {
    path("tests/golden/models/tiny-sharded")
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(self.0.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn run(arguments: &[&str]) -> Done {
    cloze(arguments, "")
}

/// Runs a command that must end well.
fn well(arguments: &[&str]) -> Done {
    let done = run(arguments);
    assert_eq!((done.code, &*done.err), (0, ""), "{arguments:?}: {}", done.out);
    done
}

/// Type, shape and bytes of every tensor by folder and name.
fn tensors(model: &str) -> BTreeMap<String, (&'static str, Vec<usize>, Vec<u8>)> {
    let folder = huggingface::open(&Source::open(Path::new(model)).unwrap()).unwrap();
    let modules = folder.sentence.dense.iter().map(|dense| (dense.name.as_str(), &dense.weights));
    let all = [("", &folder.weights)].into_iter().chain(modules);
    let named = all.flat_map(|(dir, weights)| weights.iter().map(move |(name, t)| (format!("{dir}/{name}"), t.clone())));
    named.map(|(name, t)| (name, (t.dtype().name(), t.shape().to_vec(), t.bytes().to_vec()))).collect()
}

#[test]
fn a_folder_becomes_a_file_and_the_file_the_same_folder() {
    for (name, probes) in [("tiny-sharded", true), ("tiny-dense-two", true), ("tiny-f16", false)] {
        let (model, place) = (path(&format!("tests/golden/models/{name}")), Place::new());
        let (file, back, again) = (place.at("m.gguf"), place.at("back"), place.at("again.gguf"));
        let without = if probes { &[][..] } else { &["--without-probes"] };
        let written = well(&[&["convert", "-m", &model, "-o", &file, "--json"], without].concat()).lines().remove(0);
        assert_eq!(written["bytes"].as_u64().unwrap(), std::fs::metadata(&file).unwrap().len());
        assert_eq!(written["probes"]["count"].as_u64(), probes.then_some(16));
        // A GGUF file has vectors in F32, whatever the folder has.
        let half = if name == "tiny-f16" { &["--type", "f16"][..] } else { &[] };
        well(&[&["convert", "-m", &file, "-o", &back], half].concat());
        assert!(tensors(&model).into_iter().filter(|(n, _)| !n.contains("position_ids")).eq(tensors(&back)), "{name}");
        assert!(!Path::new(&back).join("vocab.txt").exists() && Path::new(&back).join("config.json").exists());
        // From file to file, nothing changes at all: the probes stay, too.
        well(&[&["convert", "-m", &file, "-o", &again], without].concat());
        assert!(std::fs::read(&file).unwrap() == std::fs::read(&again).unwrap(), "{name}");
        assert_eq!(place.names(), ["again.gguf", "back", "m.gguf"]);
    }
}

#[test]
fn types_are_chosen_by_the_table_and_by_name() {
    let (model, place) = (sharded(), Place::new());
    let types = |file: &str| {
        let reader = Source::open_gguf(Path::new(file)).unwrap();
        ["blk.0.attn_q.weight", "blk.0.attn_k.weight", "token_embd.weight", "blk.0.attn_q.bias"]
            .map(|name| reader.tensor(name).unwrap().dtype().name())
    };
    let file = place.at("q4.gguf");
    let done = well(&["quantize", "-m", &model, "-o", &file, "--type", "q4_0"]);
    assert_eq!(types(&file), ["Q4_0", "Q4_0", "Q8_0", "F32"]);
    for part in ["q4.gguf: ", "Q4_0", "tensors of", "16 probes made at f32"] {
        assert!(done.out.contains(part), "{part} is missing from:\n{}", done.out);
    }
    let other = place.at("mixed.gguf");
    let exceptions = ["--tensor", "blk.0.attn_k*=f16", "--tensor", "token_embd.weight=Q5_1"];
    let written = well(&[&["quantize", "-m", &file, "-o", &other, "--type", "q4_0", "--json"][..], &exceptions].concat()).lines().remove(0);
    assert_eq!(types(&other), ["Q4_0", "F16", "Q5_1", "F32"]);
    assert_eq!(written["probes"]["kept"], true);
    let rows = written["types"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["tensors"].as_u64().unwrap()).sum::<u64>(), written["tensors"].as_u64().unwrap());

    let half = place.at("half");
    well(&["convert", "-m", &file, "-o", &half, "--type", "f16"]);
    assert!(tensors(&half).values().all(|(dtype, ..)| *dtype == "F16"));
    let full = place.at("full");
    well(&["convert", "-m", &file, "-o", &full]);
    assert!(tensors(&full).values().all(|(dtype, ..)| *dtype == "F32"));
}

#[test]
fn what_cannot_be_written_is_said_before_anything_is() {
    let (model, place) = (sharded(), Place::new());
    let out = place.at("x.gguf");
    let quantize = |flags: &[&str]| run(&[&["quantize", "-m", &model][..], flags].concat());
    quantize(&["-o", &out]).failed(2, "--type");
    quantize(&["-o", &out, "--type", "q9"]).failed(2, "types are f32, f16, bf16, q8_0");
    quantize(&["-o", &out, "--type", "q8_0", "--tensor", "blk"]).failed(2, "PATTERN=TYPE");
    quantize(&["-o", &place.at("folder"), "--type", "q8_0"]).failed(2, ".gguf");
    quantize(&["-o", &out, "--type", "q8_0", "--tensor", "blk.7.*=f16"]).failed(1, "matches no tensor; the model has ");
    quantize(&["-o", &out, "--type", "q8_0", "--tensor", "blk.0.attn_q.weight=q4_k"]).failed(1, "rows of 64 values");
    run(&["convert", "-m", &model, "-o", &place.at("folder"), "--type", "q8_0"]).failed(1, "do not hold Q8_0");
    quantize(&["-o", &out, "--type", "q8_0", "--tensor", "*.bias=f16"]).failed(1, "has one dimension and stays F32");
    run(&["convert", "-m", &model, "-o", &place.at(".gguf")]).failed(1, "put a name before .gguf");
    run(&["convert", "-m", &model, "-o", &place.at("model.safetensors")]).failed(1, "give the name of a folder");
    run(&["convert", "-m", "/no/such/model", "-o", &out]).failed(1, "/no/such/model");
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn nothing_is_replaced_without_force() {
    let (model, place) = (sharded(), Place::new());
    let (file, folder) = (place.at("m.gguf"), place.at("folder"));
    for out in [&file, &folder] {
        well(&["convert", "-m", &model, "-o", out]);
    }
    let before = std::fs::read(&file).unwrap();
    for out in [&file, &folder] {
        run(&["convert", "-m", &model, "-o", out, "--type", "f16"]).failed(1, "--force to replace it");
    }
    assert!(before == std::fs::read(&file).unwrap() && tensors(&folder).values().all(|(dtype, ..)| *dtype == "F32"));
    // Onto itself: the source is read until the end.
    well(&["quantize", "-m", &file, "-o", &file, "--type", "q8_0", "--force"]);
    assert!(std::fs::read(&file).unwrap().len() < before.len());
    well(&["convert", "-m", &folder, "-o", &folder, "--type", "f16", "--force"]);
    assert!(tensors(&folder).values().all(|(dtype, ..)| *dtype == "F16"));
    let thesis = Path::new(&folder).join("thesis.doc");
    std::fs::write(&thesis, "years of work").unwrap();
    run(&["convert", "-m", &file, "-o", &folder, "--force"]).failed(1, "holds thesis.doc");
    std::os::unix::fs::symlink(&file, place.at("link.gguf")).unwrap();
    run(&["convert", "-m", &model, "-o", &place.at("link.gguf"), "--force"]).failed(1, "is a symbolic link, which is not replaced");
    std::fs::remove_file(place.at("link.gguf")).unwrap();
    run(&["convert", "-m", &file, "-o", &place.at("m.gguf"), "--without-probes"]).failed(1, "exists");
    assert!(thesis.exists());
    assert_eq!(place.names(), ["folder", "m.gguf"]);
}

#[test]
fn a_place_that_takes_no_file_is_named() {
    let (model, place) = (sharded(), Place::new());
    std::fs::write(place.at("file"), "x").unwrap();
    for out in ["none/x.gguf", "none/x", "file/x.gguf", "file/x"] {
        run(&["convert", "-m", &model, "-o", &place.at(out)]).failed(1, &place.at(out));
    }
    std::fs::create_dir(place.at("closed")).unwrap();
    std::fs::set_permissions(place.at("closed"), std::os::unix::fs::PermissionsExt::from_mode(0o555)).unwrap();
    if std::fs::write(place.at("closed/probe"), "").is_ok() {
        println!("SKIPPED a folder without permission: this user may write everywhere");
    } else {
        run(&["convert", "-m", &model, "-o", &place.at("closed/x.gguf")]).failed(1, &place.at("closed/x.gguf"));
    }
}

/// Runs a command where a file may have so many blocks of 512 bytes, as on a disk that is full then.
fn on_full_disk(blocks: usize, arguments: &[&str]) -> (Option<i32>, String) {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    let done = Command::new("sh").args(["-c", &script, "sh", env!("CARGO_BIN_EXE_cloze")]).args(arguments).output().unwrap();
    (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn a_full_disk_leaves_nothing_new_and_everything_old() {
    let (model, place) = (sharded(), Place::new());
    let (file, folder, other) = (place.at("m.gguf"), place.at("folder"), place.at("other"));
    well(&["quantize", "-m", &model, "-o", &file, "--type", "q8_0"]);
    let before = std::fs::read(&file).unwrap();
    for out in [&file, &folder] {
        for blocks in [0, 8, 200] {
            let (code, told) = on_full_disk(blocks, &["convert", "-m", &model, "-o", out, "--force"]);
            assert!(code == Some(1) && told.contains(out.as_str()) && told.contains("too large"), "{blocks}: {code:?} {told}");
        }
    }
    assert!(before == std::fs::read(&file).unwrap());
    assert_eq!(place.names(), ["m.gguf"]);
    let (code, told) = on_full_disk(100_000, &["convert", "-m", &model, "-o", &other]);
    assert_eq!((code, &*told), (Some(0), ""), "the limit itself stops nothing");
}

#[test]
fn a_killed_process_leaves_no_half_file_under_the_final_name() {
    let (model, place) = (sharded(), Place::new());
    let mut stopped = 0;
    for round in 0..30u64 {
        let out = place.at(if round % 2 == 0 { "m.gguf" } else { "folder" });
        let mut child = Command::new(env!("CARGO_BIN_EXE_cloze"))
            .args(["convert", "-m", &model, "-o", &out])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(round * 3));
        child.kill().unwrap();
        stopped += usize::from(child.wait().unwrap().code().is_none());
        if Path::new(&out).exists() {
            assert_eq!(run(&["encode", "-m", &out, "a text"]).code, 0, "{out} is there, and not whole");
            let _ = std::fs::remove_file(&out).or_else(|_| std::fs::remove_dir_all(&out));
        }
    }
    assert!(stopped > 0, "no process was killed in time");
}

#[test]
fn a_quantised_file_keeps_its_promise() {
    let (model, place) = (sharded(), Place::new());
    let file = place.at("m.gguf");
    well(&["quantize", "-m", &model, "-o", &file, "--type", "q8_0"]);
    for precision in ["auto", "f32", "int8"] {
        let report = well(&["verify", "-m", &file, "--precision", precision, "--json"]).lines().remove(0);
        assert_eq!(report["passed"], true);
        assert_eq!(report["probes"].as_array().unwrap().len(), 16);
        let (worst, mean) = (report["worst_cosine"].as_f64().unwrap(), report["mean_cosine"].as_f64().unwrap());
        assert!(0.995 < worst && worst <= mean && mean < 1.0, "{worst} {mean}: eight bits are near and not the same");
        assert!(report["worst_error"].as_f64().unwrap() > 0.0 && report["neighbours"].as_f64().unwrap() > 0.8);
    }
    let done = well(&["verify", "-m", &file]);
    for part in ["16 probes, ", "neighbours", "5 of 5", "How do I reset my password?", "\npassed\n"] {
        assert!(done.out.contains(part), "{part} is missing from:\n{}", done.out);
    }
    // A file that is not quantised answers as before.
    let same = place.at("same.gguf");
    well(&["convert", "-m", &model, "-o", &same]);
    let report = well(&["verify", "-m", &same, "--json"]).lines().remove(0);
    assert_eq!((&report["worst_error"], &report["neighbours"]), (&0.0.into(), &1.0.into()));
    // What eight bits cost is allowed to eight bits only.
    let report = well(&["verify", "-m", &same, "--precision", "int8", "--json"]).lines().remove(0);
    assert!(report["worst_error"].as_f64().unwrap() > 0.0);
}

/// Where the bytes of a tensor stand in a file.
fn place_of(file: &[u8], name: &str) -> std::ops::Range<usize> {
    let reader = Reader::open(&Bytes::owned(file.to_vec())).unwrap();
    let bytes = reader.tensor(name).unwrap().bytes().to_vec();
    let start = file.windows(bytes.len()).position(|window| window == &*bytes).unwrap();
    start..start + bytes.len()
}

#[test]
fn a_file_that_was_tampered_with_is_found_out() {
    let (model, place) = (sharded(), Place::new());
    let file = place.at("m.gguf");
    well(&["quantize", "-m", &model, "-o", &file, "--type", "q8_0"]);
    let mut bytes = std::fs::read(&file).unwrap();
    let weights = place_of(&bytes, "blk.0.ffn_up.weight");
    bytes[weights].fill(0);
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(run(&["encode", "-m", &file, "a text"]).code, 0, "it opens, and nobody would notice");
    let done = run(&["verify", "-m", &file]);
    assert_eq!(done.code, 1);
    assert!(done.out.contains("FAILED") && done.err.contains("probes failed, the worst is probe "), "{}{}", done.out, done.err);
    let done = run(&["verify", "-m", &file, "--json"]);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((done.code, &report["passed"]), (1, &false.into()));
}

#[test]
fn damaged_probes_stop_verify_and_convert_and_no_answer() {
    let (model, place) = (sharded(), Place::new());
    let file = place.at("m.gguf");
    well(&["convert", "-m", &model, "-o", &file]);
    let mut bytes = std::fs::read(&file).unwrap();
    let key = b"cloze.probes.dimensions";
    let at = bytes.windows(key.len()).position(|window| window == key).unwrap() + key.len() + 4;
    bytes[at..at + 4].fill(0xff);
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(run(&["encode", "-m", &file, "a text"]).code, 0);
    let done = run(&["verify", "-m", &file]);
    assert!(
        done.code == 1 && done.err.contains("the settings (tokenizer, configuration, probes) are not as they were written"),
        "{}",
        done.err
    );
    // A damaged file must not become one with sound checksums.
    run(&["quantize", "-m", &file, "-o", &place.at("x.gguf"), "--type", "q8_0", "--without-probes"]).failed(1, "the file is damaged");
    assert_eq!(place.names(), ["m.gguf"]);
}

#[test]
fn without_probes_verify_says_how_to_get_them() {
    let (model, place) = (sharded(), Place::new());
    let file = place.at("m.gguf");
    well(&["convert", "-m", &model, "-o", &file, "--without-probes"]);
    for model in [&model, &file] {
        run(&["verify", "-m", model]).failed(1, "cloze convert");
    }
}

#[test]
fn inspect_shows_a_gguf_file() {
    let (model, place) = (sharded(), Place::new());
    let file = place.at("m.gguf");
    well(&["quantize", "-m", &model, "-o", &file, "--type", "q8_0"]);
    let readable = well(&["inspect", "-m", &file]).out;
    for part in ["GGUF version 3", "blk.0.attn_q.weight", "Q8_0", "16 probes of 64 values", "string[", "general.architecture", "family"] {
        assert!(readable.contains(part), "{part} is missing from:\n{readable}");
    }
    let short = well(&["inspect", "-m", &file, "--json"]).lines().remove(0);
    let full = well(&["inspect", "-m", &file, "--json", "--full"]).lines().remove(0);
    let tokens = "tokenizer.ggml.tokens";
    assert_eq!(short["gguf"]["settings"][tokens]["type"], "string");
    assert_eq!(short["gguf"]["settings"][tokens]["length"], full["gguf"]["settings"][tokens].as_array().unwrap().len());
    assert_eq!(full["gguf"]["settings"]["cloze.probes.vectors"].as_array().unwrap().len(), 16 * 64);
    assert_eq!(short["gguf"]["probes"]["count"], 16);
    assert_eq!(short["totals"]["tensors"].as_u64().unwrap() as usize, short["tensors"].as_array().unwrap().len());
    // A folder has none of this.
    assert!(well(&["inspect", "-m", &model, "--json"]).lines()[0].get("gguf").is_none());
}

#[test]
fn inspect_shows_a_gguf_file_of_another_kind_and_says_that_it_does_not_open() {
    let done = run(&["inspect", "-m", &path("tests/golden/gguf/settings.gguf"), "--json"]);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    assert!(done.code == 1 && done.err.contains("\"nothing\""), "{}", done.err);
    assert_eq!(report["gguf"]["settings"]["a.u64"], (1u64 << 63) + 1);
    assert_eq!((report["tensors"].as_array().unwrap().len(), &report["model"]), (5, &Value::Null));
    let place = Place::new();
    std::fs::write(PathBuf::from(place.at("cut.gguf")), b"GGUF\x03\0\0\0").unwrap();
    run(&["inspect", "-m", &place.at("cut.gguf")]).failed(1, "cut.gguf");
}

/// A copy of a model's folder that may be changed, without what its reference answers.
fn copied(model: &str, place: &Place, name: &str) -> PathBuf {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().map(|e| e.unwrap()) {
            let (path, name) = (entry.path(), entry.file_name());
            if path.is_dir() {
                copy(&path, &to.join(name));
            } else if !name.to_string_lossy().starts_with("expected") {
                std::fs::copy(&path, to.join(name)).unwrap();
            }
        }
    }
    let to = PathBuf::from(place.at(name));
    copy(Path::new(model), &to);
    to
}

/// Changes the numbers of one F32 tensor where they lie in a file.
fn change(file: &Path, tensor: &str, change: impl Fn(usize, f32) -> f32) {
    let mut bytes = std::fs::read(file).unwrap();
    let mut weights = cloze::formats::Weights::default();
    cloze::formats::safetensors::read("x", &Bytes::owned(bytes.clone()), &mut weights).unwrap();
    let old = weights.get(tensor).unwrap().bytes().to_vec();
    let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
    for (i, number) in bytes[at..at + old.len()].as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *number = change(i, f32::from_le_bytes(*number)).to_le_bytes();
    }
    std::fs::write(file, bytes).unwrap();
}

fn shard_with(folder: &Path, tensor: &str) -> PathBuf {
    let index: Value = serde_json::from_slice(&std::fs::read(folder.join("model.safetensors.index.json")).unwrap()).unwrap();
    folder.join(index["weight_map"][tensor].as_str().unwrap())
}

#[test]
fn numbers_that_are_not_finite_are_written_by_nobody_and_inspect_says_so() {
    let place = Place::new();
    let folder = copied(&sharded(), &place, "model");
    let tensor = "embeddings.word_embeddings.weight";
    let keys: Value = serde_json::from_slice(&std::fs::read(folder.join("model.safetensors.index.json")).unwrap()).unwrap();
    let tensor = keys["weight_map"].as_object().unwrap().keys().find(|key| key.ends_with(tensor)).unwrap().clone();
    let (model, out) = (folder.to_str().unwrap().to_owned(), place.at("m.gguf"));
    // No probe has the last token of the vocabulary.
    let shard = shard_with(&folder, &tensor);
    let all = tensors(&model)[&format!("/{tensor}")].2.len() / 4;
    change(&shard, &tensor, |i, v| if i + 3 == all { f32::NAN } else { v });
    for flags in [&["convert", "--without-probes"][..], &["convert"], &["quantize", "--type", "q8_0"], &["convert", "--type", "f16"]] {
        run(&[flags, &["-m", &model, "-o", &out]].concat()).failed(1, &format!("{tensor:?}: number {} is NaN", all - 3));
    }
    run(&["convert", "-m", &model, "-o", &place.at("folder"), "--type", "f32"]).failed(1, &tensor);
    assert_eq!(place.names(), ["model"]);
    let done = run(&["inspect", "-m", &model]);
    assert!(done.code == 1 && done.err.contains("has 1 numbers that are NaN or infinite"), "{} {}", done.code, done.err);
}

#[test]
fn numbers_that_a_type_cannot_hold_are_not_written_as_zeros() {
    let place = Place::new();
    let folder = copied(&sharded(), &place, "model");
    let model = folder.to_str().unwrap().to_owned();
    let name = tensors(&model).into_keys().find(|key| key.ends_with("layer.0.output.dense.weight")).unwrap()[1..].to_owned();
    change(&shard_with(&folder, &name), &name, |_, v| v * 1e-8);
    let out = place.at("m.gguf");
    for dtype in ["q8_0", "q4_0", "q5_1", "f16"] {
        run(&["quantize", "-m", &model, "-o", &out, "--type", dtype]).failed(1, "--tensor 'blk.0.ffn_down.weight=f32'");
    }
    assert_eq!(place.names(), ["model"]);
    well(&["quantize", "-m", &model, "-o", &out, "--type", "q8_0", "--tensor", "blk.0.ffn_down.weight=bf16"]);
    well(&["verify", "-m", &out]);
}

#[test]
fn a_file_that_would_not_keep_its_promise_is_not_written() {
    let (model, place) = (sharded(), Place::new());
    let file = place.at("m.gguf");
    well(&["convert", "-m", &model, "-o", &file]);
    // The file's probes, and another model's numbers.
    let source = Source::open(Path::new(&file)).unwrap();
    let mut contents = cloze::formats::convert::Contents::of(&source).unwrap();
    for item in contents.items.iter_mut().filter(|item| item.gguf_name == "blk.0.ffn_up.weight") {
        let zeros = Bytes::owned(vec![0u8; item.tensor.bytes().len()]);
        item.tensor = cloze::formats::Tensor::new(item.tensor.dtype(), item.tensor.shape().to_vec(), zeros).unwrap();
    }
    let wrong = place.at("wrong.gguf");
    contents.write_gguf(Path::new(&wrong), cloze::formats::convert::kept, |_, _| {}).unwrap();
    let done = run(&["convert", "-m", &wrong, "-o", &place.at("x.gguf")]);
    done.failed(1, "x.gguf was not written: ");
    assert!(done.err.contains("the worst is probe ") && !done.err.contains("partial"), "{}", done.err);
    assert_eq!(place.names(), ["m.gguf", "wrong.gguf"]);
}

#[test]
fn verify_finds_damage_that_no_probe_would_show() {
    let (model, place) = (sharded(), Place::new());
    let file = place.at("m.gguf");
    well(&["quantize", "-m", &model, "-o", &file, "--type", "q8_0"]);
    let sound = std::fs::read(&file).unwrap();
    let done = well(&["verify", "-m", &file]);
    assert!(done.out.contains(" compared"), "{}", done.out);
    let embedding = place_of(&sound, "token_embd.weight");
    let text = |words: &[u8]| sound.windows(words.len()).position(|window| window == words).unwrap();
    for (what, at, says) in [
        ("the last row of the embedding", embedding.end - 1, "tensor \"token_embd.weight\" is not as it was written"),
        ("one weight", place_of(&sound, "blk.0.attn_v.weight").start + 9, "tensor \"blk.0.attn_v.weight\" is not"),
        ("the tokenizer", text(b"\"##") + 3, "the settings"),
        ("the checksums", text(b"cloze.checksums.tensors") + 22, "the checksums are incomplete"),
    ] {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        std::fs::write(&file, bytes).unwrap();
        let done = run(&["verify", "-m", &file, "--json"]);
        assert!(done.code == 1 && done.err.contains("the file is damaged: ") && done.err.contains(says), "{what}: {}", done.err);
        run(&["convert", "-m", &file, "-o", &place.at("x.gguf")]).failed(1, "the file is damaged: ");
    }
    // Files of earlier versions have none.
    let mut bytes = sound;
    for key in ["cloze.checksums.tensors", "cloze.checksums.settings"] {
        let at = bytes.windows(key.len()).position(|window| window == key.as_bytes()).unwrap();
        bytes[at + 6..at + 15].copy_from_slice(b"something");
    }
    std::fs::write(&file, bytes).unwrap();
    assert!(well(&["verify", "-m", &file]).out.contains("none in this file: judged by its probes alone"));
    assert_eq!(well(&["verify", "-m", &file, "--json"]).lines()[0]["checksums"], Value::Null);
}

#[test]
fn force_removes_what_this_conversion_would_write_and_old_shards_and_nothing_else() {
    let (model, place) = (sharded(), Place::new());
    let folder = copied(&model, &place, "model");
    let out = folder.to_str().unwrap();
    for foreign in ["extra.safetensors", "merges.txt", "sub/config.json"] {
        let path = folder.join(foreign);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "years of work").unwrap();
        run(&["convert", "-m", &model, "-o", out, "--force"]).failed(1, &format!("holds {foreign}"));
        std::fs::remove_file(&path).unwrap();
    }
    well(&["convert", "-m", &model, "-o", out, "--force"]);
    let names: Vec<String> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.contains(&"model.safetensors".to_owned()) && !names.iter().any(|name| name.contains("-of-")), "{names:?}");
    assert_eq!(place.names(), ["model"]);
}

#[test]
fn a_gguf_file_cannot_name_files_that_no_model_has() {
    let (model, place) = (sharded(), Place::new());
    for name in ["thesis.doc", "run.py", "sub/config.json", ".profile.json"] {
        let mut contents = cloze::formats::convert::Contents::of(&Source::open(Path::new(&model)).unwrap()).unwrap();
        contents.metadata.set(format!("cloze.files.{name}"), cloze::formats::gguf::Value::String("theirs".into()));
        let file = place.at("m.gguf");
        let _ = std::fs::remove_file(&file);
        contents.write_gguf(Path::new(&file), cloze::formats::convert::kept, |_, _| {}).unwrap();
        run(&["convert", "-m", &file, "-o", &place.at("folder"), "--force"]).failed(1, &format!("{name:?} is no name of a model's file"));
        assert_eq!(place.names(), ["m.gguf"]);
    }
}
