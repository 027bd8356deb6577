//! What does `cloze-train` say and leave behind when text, files or the disk are not what they should be?

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Output;

use super::{Ground, pretrain};

/// A run that failed as it should: with a sentence, no panic, no signal, and no half file.
fn failed_well(ground: &Ground, output: &Output) -> String {
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.status.signal()), (Some(1), None), "{told}");
    assert!(!told.contains("panicked") && told.contains("cloze-train"), "{told}");
    assert_eq!(half_files(&ground.at("")), Vec::<PathBuf>::new(), "{told}");
    told
}

/// Files that are being written, in a folder and those in it.
fn half_files(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().collect();
    let inside = entries.iter().filter(|e| e.path().is_dir()).flat_map(|e| half_files(&e.path()));
    let here = entries.iter().filter(|e| e.file_name().to_string_lossy().contains(".partial")).map(|e| e.path());
    inside.chain(here).collect()
}

/// A run of the command that can write no file of more than `blocks` of 512 bytes: what a full disk does, at a chosen moment.
fn on_a_full_disk(ground: &Ground, blocks: usize, arguments: &[&str]) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    let mut command = std::process::Command::new("sh");
    command.current_dir(ground.at("")).args(["-c", &script, "sh", env!("CARGO_BIN_EXE_cloze-train")]).args(arguments);
    command.output().unwrap()
}

#[test]
fn a_full_disk_leaves_no_half_file() {
    let ground = Ground::new();
    for blocks in [0, 4] {
        let told = failed_well(&ground, &on_a_full_disk(&ground, blocks, &["vocab", "-o", "v", "--size", "120", "train.txt"]));
        assert!(told.contains("File too large"), "{told}");
        assert!(!ground.at("v").exists(), "{blocks}: {told}");
    }
    let told = failed_well(&ground, &on_a_full_disk(&ground, 4, &["shards", "-t", "tokenizer", "-o", "s", "train.txt"]));
    assert!(told.contains("File too large") && !ground.at("s").exists(), "{told}");
    // The log, the weights of the first checkpoint, and later lines of the log.
    for blocks in [0, 3, 500] {
        let flags = ["--steps", "6", "--save-every", "3"];
        let output = on_a_full_disk(&ground, blocks, &pretrain("run", &flags));
        let told = failed_well(&ground, &output);
        assert!(told.contains("File too large") && told.contains("run/"), "{blocks}: {told}");
        assert!(!ground.at("run/model").exists() && !ground.at("run/checkpoints/step-00000003").exists(), "{blocks}: {told}");
    }
    // With room again, the same command works.
    std::fs::remove_dir_all(ground.at("run")).unwrap();
    ground.done(&pretrain("run", &["--steps", "6", "--save-every", "3"]));
    // A run that goes on, and finds no room for its next checkpoint, leaves the last one as it was.
    ground.done(&pretrain("long", &["--steps", "6", "--save-every", "3", "--keep", "9"]));
    std::fs::remove_dir_all(ground.at("long/checkpoints/step-00000006")).unwrap();
    let whole = ground.model("long");
    let arguments = pretrain("long", &["--steps", "6", "--save-every", "3", "--keep", "9", "--resume"]);
    failed_well(&ground, &on_a_full_disk(&ground, 500, &arguments));
    assert!(ground.model("long") == whole, "the model of the last checkpoint stays");
    ground.done(&arguments);
    assert!(ground.model("long") == ground.model("run"), "the same bits");
}

#[test]
fn a_damaged_shard_is_named() {
    let ground = Ground::new();
    let shard = |folder: &str| {
        let files = std::fs::read_dir(ground.at(folder)).unwrap().flatten().map(|e| e.path());
        files.filter(|path| path.extension().is_none_or(|e| e != "json")).min().unwrap()
    };
    let path = shard("shards");
    let whole = std::fs::read(&path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 4;
    let longer = [&whole[..], &[0; 9]].concat();
    for (what, bytes) in [("a bit", &flipped[..]), ("its end", &whole[..whole.len() - 5]), ("all", &[]), ("more", &longer)] {
        std::fs::write(&path, bytes).unwrap();
        let told = failed_well(&ground, &ground.run(&pretrain("run", &["--steps", "2"])));
        assert!(told.contains(&name), "{what}: {told}");
        assert!(!ground.at("run").exists(), "{what}");
    }
    std::fs::remove_file(&path).unwrap();
    assert!(failed_well(&ground, &ground.run(&pretrain("run", &["--steps", "2"]))).contains(&name));
    std::fs::write(&path, whole).unwrap();
    std::fs::write(ground.at("shards/shards.json"), "{\"shards\": 7").unwrap();
    assert!(failed_well(&ground, &ground.run(&pretrain("run", &["--steps", "2"]))).contains("shards.json"));
}

#[test]
fn text_without_words_is_refused() {
    let ground = Ground::new();
    for (name, text) in [("empty.txt", ""), ("spaces.txt", " \n\t\n\u{3000}\n\n"), ("mark.txt", "\u{feff}\r\n")] {
        std::fs::write(ground.at(name), text).unwrap();
        for arguments in [&["vocab", "-o", "v", name][..], &["shards", "-t", "tokenizer", "-o", "s", name]] {
            let told = failed_well(&ground, &ground.run(arguments));
            assert!(told.contains("text"), "{name}: {told}");
            assert!(!ground.at("v").exists() && !ground.at("s").exists(), "{name}");
        }
    }
}

/// A vocabulary, shards and a few steps of a text; what was said.
fn learn(ground: &Ground, name: &str, text: &[u8], form: &str) -> String {
    std::fs::write(ground.at(name), text).unwrap();
    let (v, s, run) = (format!("{name}-v"), format!("{name}-s"), format!("{name}-run"));
    ground.done(&["vocab", "-o", &v, "--size", "200", "--form", form, name]);
    let output = ground.run(&["shards", "-t", &v, "-o", &s, "--form", form, name]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    let mut arguments = pretrain(&run, &["--steps", "3", "--sequences", "single"]);
    for (flag, value) in [("--shards", &s), ("-t", &v)] {
        let at = arguments.iter().position(|a| *a == flag).unwrap();
        arguments[at + 1] = value;
    }
    ground.done(&arguments);
    let log = ground.log(&run);
    let losses: Vec<f64> = log.iter().filter(|e| e["event"] == "step").map(|e| e["masked_loss"].as_f64().unwrap()).collect();
    assert!(losses.len() == 3 && losses.iter().all(|loss| loss.is_finite()), "{name}: {log:?}");
    told
}

#[test]
fn any_text_is_learned_from() {
    let ground = Ground::new();
    learn(&ground, "one-token.txt", "a ".repeat(300_000).as_bytes(), "documents");
    // 10 MB on one line, with sentences and without.
    learn(&ground, "long-line.txt", "The cat sees a dog near the river. ".repeat(300_000).as_bytes(), "documents");
    learn(&ground, "no-sentences.txt", "the cat sees a dog near the river ".repeat(310_000).as_bytes(), "sentences");
    let line = serde_json::json!({"text": "My friend hears the wind. ".repeat(400_000)}).to_string();
    learn(&ground, "long.jsonl", line.as_bytes(), "jsonl");
    // Bytes that are no text stand between words that are.
    let noise: Vec<u8> =
        (0..200_000u32).flat_map(|i| [b"cat dog \n"[i as usize % 9], (i.wrapping_mul(2_654_435_761) >> 24) as u8]).collect();
    let told = learn(&ground, "noise.bin", &noise, "sentences");
    assert!(told.contains("UTF-8") && told.contains("noise.bin"), "{told}");
}

/// A word of 300,000 letters is none, and nothing else is there.
#[test]
fn a_vocabulary_without_words_is_refused() {
    let ground = Ground::new();
    std::fs::write(ground.at("letters.txt"), "a".repeat(300_000)).unwrap();
    ground.done(&["vocab", "-o", "v", "--size", "200", "letters.txt"]);
    ground.done(&["shards", "-t", "v", "-o", "s", "letters.txt"]);
    let arguments = ["pretrain", "-o", "run", "--shards", "s", "-t", "v", "--preset", "bert-tiny", "--steps", "2", "--sequences", "single"];
    let told = failed_well(&ground, &ground.run(&arguments));
    assert!(told.contains("nothing to learn"), "{told}");
}

/// Weights that lead nowhere: after some steps that are left out the run ends, and says what to do.
#[test]
fn numbers_that_are_not_finite_end_a_run() {
    let ground = Ground::new();
    ground.done(&pretrain("sound", &["--steps", "1"]));
    let path = ground.at("sound/model/model.safetensors");
    let bytes = std::fs::read(&path).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    // Products of such numbers are larger than f32 has.
    let huge = |name: &str, view: &safetensors::tensor::TensorView<'_>| -> Vec<u8> {
        if !name.ends_with("dense.weight") {
            return view.data().to_vec();
        }
        view.data().chunks_exact(4).flat_map(|x| (f32::from_le_bytes(x.try_into().unwrap()) * 1e38).to_le_bytes()).collect()
    };
    let kept: Vec<(String, Vec<usize>, Vec<u8>)> =
        tensors.tensors().iter().map(|(name, view)| (name.clone(), view.shape().to_vec(), huge(name, view))).collect();
    let views = kept.iter().map(|(name, shape, bytes)| {
        (name.as_str(), safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape.clone(), bytes).unwrap())
    });
    std::fs::write(&path, safetensors::serialize(views, None).unwrap()).unwrap();
    let arguments = pretrain("run", &["--steps", "20", "--model", "sound/model", "--skips", "4"]);
    let told = failed_well(&ground, &ground.run(&arguments));
    assert!(told.contains("4 steps in a row") && told.contains("not finite"), "{told}");
    let skipped = ground.log("run").iter().filter(|e| e["event"] == "skipped").count();
    assert_eq!(skipped, 4);
}
