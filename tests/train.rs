//! Does `cloze-train` make models of text, whatever happens meanwhile?
//!
//! Small models of a few hundred made-up sentences. What the numbers must be is in `tests/learning.rs`, what examples are like beside
//! `src/train`.
#![cfg(all(feature = "train", feature = "cli"))]

#[path = "train/faults.rs"]
mod faults;
#[path = "train/machines.rs"]
mod machines;
#[path = "train/objectives.rs"]
mod objectives;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use cloze::{Model, Options, Request};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with text, a tokenizer, shards and held-out shards.
struct Ground {
    folder: TempDir,
}

const NOUNS: [&str; 12] = [
    "the cat",
    "a dog",
    "my friend",
    "the queen",
    "one child",
    "a river",
    "the stone",
    "our house",
    "the wind",
    "a ship",
    "the moon",
    "a tree",
];
const VERBS: [&str; 8] = ["sees", "follows", "finds", "loves", "hears", "carries", "leaves", "wants"];

/// Documents of a few sentences, each a function of its number.
fn text(documents: std::ops::Range<usize>) -> String {
    let sentence = |d: usize, s: usize| {
        let n = d * 31 + s * 7;
        format!("{} {} {} near {} .\n", NOUNS[n % 12], VERBS[(n / 3) % 8], NOUNS[(n / 5 + d) % 12], NOUNS[(d + s) % 12])
    };
    documents.map(|d| (0..4 + d % 3).map(|s| sentence(d, s)).collect::<String>() + "\n").collect()
}

impl Ground {
    fn new() -> Ground {
        let ground = Ground { folder: tempfile::tempdir().unwrap() };
        std::fs::write(ground.at("train.txt"), text(0..120)).unwrap();
        std::fs::write(ground.at("held-out.txt"), text(120..150)).unwrap();
        ground.done(&["vocab", "-o", "tokenizer", "--size", "120", "train.txt"]);
        ground.done(&["shards", "-t", "tokenizer", "-o", "shards", "train.txt"]);
        ground.done(&["shards", "-t", "tokenizer", "-o", "held-out", "held-out.txt"]);
        ground
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cloze-train"));
        command.current_dir(self.folder.path()).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn done(&self, arguments: &[&str]) {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// What a command that fails says, and its exit code.
    fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?} should fail");
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn model(&self, run: &str) -> Vec<u8> {
        std::fs::read(self.at(run).join("model/model.safetensors")).unwrap()
    }

    fn log(&self, run: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.at(run).join("log.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A short run into `out`.
fn pretrain<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["pretrain", "-o", out, "--shards", "shards", "-t", "tokenizer", "--preset", "bert-tiny", "--max-length", "48"];
    arguments.extend(["--batch", "16", "--part-tokens", "200", "--rate", "3e-3", "--log-every", "1"]);
    arguments.extend(more);
    arguments
}

#[test]
fn a_model_of_text_is_learned_evaluated_and_opens() {
    let ground = Ground::new();
    ground.done(&pretrain("run", &["--steps", "120", "--held-out", "held-out", "--evaluate-every", "40", "--threads", "2"]));
    let log = ground.log("run");
    let of = |event: &str| log.iter().filter(|e| e["event"] == event).collect::<Vec<_>>();
    let losses: Vec<f64> = of("step").iter().map(|e| e["masked_loss"].as_f64().unwrap()).collect();
    assert_eq!(losses.len(), 120);
    let tokens = std::fs::read_to_string(ground.at("run/model/vocab.txt")).unwrap().lines().count();
    assert!((losses[0] - (tokens as f64).ln()).abs() < 0.5, "from nothing, every token is as likely as another: {}", losses[0]);
    assert!(losses[100..].iter().sum::<f64>() / 20.0 < 0.6 * losses[0], "{losses:?}");
    let held_out: Vec<f64> = of("evaluated").iter().map(|e| e["masked_loss"].as_f64().unwrap()).collect();
    assert!(held_out.len() == 3 && held_out[2] < held_out[0], "{held_out:?}");
    let perplexity = of("evaluated")[2]["perplexity"].as_f64().unwrap();
    assert!((perplexity.ln() - held_out[2]).abs() < 1e-9);
    for file in ["curve.svg", "curve.png", "report.html", "best/model.safetensors", "model/config.json", "model/tokenizer.json"] {
        assert!(ground.at("run").join(file).exists(), "{file}");
    }
    let model = Model::load(ground.at("run/model"), &Options::default()).unwrap();
    let filled = model.fill_mask(&["the cat [MASK] a dog near the queen ."], &[] as &[&str], &Request::default()).unwrap();
    assert_eq!(filled.inputs[0].blanks.len(), 1, "{filled:?}");
}

/// Every kind of sequence with every way of asking that needs no list: a few steps, on which the loss falls.
#[test]
fn every_objective_runs() {
    let ground = Ground::new();
    for sequences in ["next_sentence", "sentence_order", "single", "packed"] {
        for learning in ["token", "whole_word", "span", "left_to_right"] {
            let run = format!("{sequences}-{learning}");
            ground.done(&pretrain(&run, &["--steps", "25", "--sequences", sequences, "--learning", learning]));
            let log = ground.log(&run);
            let losses: Vec<f64> = log.iter().filter(|e| e["event"] == "step").map(|e| e["masked_loss"].as_f64().unwrap()).collect();
            assert!(losses[20..].iter().sum::<f64>() / 5.0 < losses[0] - 0.3, "{run}: {losses:?}");
            let pairs = sequences.contains("sentence");
            assert_eq!(log[0].get("pair_loss").is_some(), pairs, "{run}");
        }
    }
}

#[test]
fn a_run_is_the_same_on_any_number_of_threads() {
    let ground = Ground::new();
    for (run, threads) in [("one", "1"), ("three", "3")] {
        ground.done(&pretrain(run, &["--steps", "8", "--threads", threads]));
    }
    assert!(ground.model("one") == ground.model("three"), "the same bits");
}

/// Killed again and again at whatever moment, a run that goes on ends with the weights of one that was left in peace.
#[test]
fn a_run_that_is_killed_goes_on_bit_for_bit() {
    let ground = Ground::new();
    let flags = ["--steps", "60", "--save-every", "3", "--held-out", "held-out", "--evaluate-every", "20", "--threads", "1"];
    ground.done(&pretrain("peace", &flags));
    let (mut killed, mut tries) = (0, 0);
    loop {
        let resumes = ground.at("killed/checkpoints").read_dir().is_ok_and(|mut entries| entries.next().is_some());
        let mut arguments = pretrain("killed", &flags);
        arguments.extend(resumes.then_some("--resume"));
        let mut child = ground.command(&arguments).stderr(Stdio::piped()).spawn().unwrap();
        tries += 1;
        // Ten times at a moment of its own, counted from the first new checkpoint; then it may end.
        if killed < 10 && kill_after(&ground, &mut child, Duration::from_millis(7 * tries)) {
            killed += 1;
            continue;
        }
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        break;
    }
    assert!(killed >= 5, "killed {killed} times before it ended");
    assert!(ground.model("peace") == ground.model("killed"), "killed {killed} times: the same bits");
    let steps: Vec<u64> = ground.log("killed").iter().filter(|e| e["event"] == "step").map(|e| e["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, (1..=60).collect::<Vec<u64>>(), "each step stands in the log once");
}

/// Waits for a checkpoint that was not there, then a while, and kills. Whether it did so before the end.
fn kill_after(ground: &Ground, child: &mut Child, more: Duration) -> bool {
    let last = || {
        ground
            .at("killed/checkpoints")
            .read_dir()
            .ok()?
            .flatten()
            .map(|e| e.file_name())
            .filter(|n| n.to_string_lossy().starts_with("step-"))
            .max()
    };
    let (before, started) = (last(), Instant::now());
    while last() == before && started.elapsed() < Duration::from_secs(60) {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(more);
    let running = child.try_wait().unwrap().is_none();
    let _ = child.kill();
    let _ = child.wait();
    running
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_with_a_checkpoint() {
    let ground = Ground::new();
    let child = ground.command(&pretrain("run", &["--steps", "100000"])).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while ground.log("run").len() < 3 && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let asked = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(asked.success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--resume"));
    assert_eq!(ground.log("run").last().unwrap()["event"], "saved");
    assert!(Model::load(ground.at("run/model"), &Options::default()).is_ok());
}

/// A model goes on learning from where another run left it, also for another objective.
#[test]
fn a_model_learns_on() {
    let ground = Ground::new();
    ground.done(&pretrain("first", &["--steps", "60"]));
    let more = ["--steps", "10", "--model", "first/model", "--sequences", "single"];
    ground.done(&pretrain("second", &more));
    let loss = |run: &str, at: usize| ground.log(run)[at]["masked_loss"].as_f64().unwrap();
    assert!(loss("second", 0) < 0.8 * loss("first", 0), "it begins where the first ended");
    let config: Value = serde_json::from_slice(&std::fs::read(ground.at("second/model/config.json")).unwrap()).unwrap();
    assert_eq!(config["architectures"][0], "BertForMaskedLM");
}

/// LAMB learns; what is computed again changes nothing; what is frozen stays.
#[test]
fn optimisers_rates_and_memory_are_options() {
    let ground = Ground::new();
    ground.done(&pretrain("plain", &["--steps", "8"]));
    ground.done(&pretrain("again", &["--steps", "8", "--recompute", "layers"]));
    assert!(ground.model("plain") == ground.model("again"), "the same bits");
    ground.done(&pretrain("lamb", &["--steps", "40", "--optimiser", "lamb", "--layer-decay", "0.9"]));
    let losses: Vec<f64> = ground.log("lamb").iter().filter(|e| e["event"] == "step").map(|e| e["masked_loss"].as_f64().unwrap()).collect();
    assert!(losses[35..].iter().sum::<f64>() / 5.0 < losses[0] - 0.3, "{losses:?}");
    ground.done(&pretrain("frozen", &["--steps", "4", "--model", "plain/model", "--freeze", "1"]));
    let (before, after) = (ground.model("plain"), ground.model("frozen"));
    let tensors = |bytes| safetensors::SafeTensors::deserialize(bytes).unwrap();
    let (before, after) = (tensors(&before), tensors(&after));
    // The keys' bias has no gradient but rounding.
    for (name, tensor) in before.tensors().into_iter().filter(|(name, _)| !name.ends_with("key.bias")) {
        let frozen = name.contains("embeddings") || name.contains("encoder.layer.0.");
        assert_eq!(tensor.data() == after.tensor(&name).unwrap().data(), frozen, "{name}");
    }
    let (_, told) = ground.refused(&pretrain("none", &["--steps", "4", "--freeze", "3"]));
    assert!(told.contains("freeze") && told.contains("2 layers"), "{told}");
}

/// TensorBoard draws what the log says, each step once, also of a run that went on.
#[test]
fn tensorboard_reads_a_run() {
    let ground = Ground::new();
    let flags = ["--steps", "9", "--save-every", "3", "--held-out", "held-out", "--evaluate-every", "3"];
    ground.done(&pretrain("run", &flags));
    // As if it had been killed after its second checkpoint.
    std::fs::remove_dir_all(ground.at("run/checkpoints/step-00000009")).unwrap();
    ground.done(&pretrain("run", &[&flags[..], &["--resume"]].concat()));
    let files = std::fs::read_dir(ground.at("run")).unwrap().flatten();
    assert_eq!(files.filter(|e| e.file_name().to_string_lossy().starts_with("events.out.tfevents.")).count(), 2);
    let python = std::env::var("CLOZE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    if !Command::new(&python).args(["-c", "import tensorboard"]).output().is_ok_and(|o| o.status.success()) {
        println!("SKIPPED: {python} has no tensorboard (pip install tensorboard, or CLOZE_PYTHON=a Python that has it)");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/train/read_events.py");
    let output = Command::new(&python).arg(script).arg(ground.at("run")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();
    let log = ground.log("run");
    let tags = [
        ("train/masked_loss", "step", "masked_loss"),
        ("train/pair_loss", "step", "pair_loss"),
        ("train/learning_rate", "step", "rate"),
        ("train/grad_norm", "step", "norm"),
        ("train/tokens_per_second", "step", "tokens_per_second"),
        ("eval/masked_loss", "evaluated", "masked_loss"),
        ("eval/perplexity", "evaluated", "perplexity"),
    ];
    for (tag, event, field) in tags {
        let told = log.iter().filter(|e| e["event"] == event);
        let told: Vec<(u64, f32)> = told.map(|e| (e["step"].as_u64().unwrap(), e[field].as_f64().unwrap() as f32)).collect();
        let drawn = read[tag].as_array().unwrap_or_else(|| panic!("{tag} is missing: {read}")).iter();
        let drawn: Vec<(u64, f32)> = drawn.map(|p| (p[0].as_u64().unwrap(), p[1].as_f64().unwrap() as f32)).collect();
        assert_eq!(drawn, told, "{tag}");
    }
    let sum = read["train/masked_loss"][0][1].as_f64().unwrap() + read["train/pair_loss"][0][1].as_f64().unwrap();
    assert!((read["train/loss"][0][1].as_f64().unwrap() - sum).abs() < 1e-5);
}

#[test]
fn wrong_words_and_files_are_named() {
    let ground = Ground::new();
    ground.done(&pretrain("run", &["--steps", "4", "--save-every", "2"]));
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["--steps", "4"], 1, &["run", "--resume"]),
        (&["--steps", "9", "--resume"], 1, &["steps = 4", "steps = 9"]),
        (&["--steps", "0"], 2, &["steps"]),
        (&["--rate", "7"], 2, &["rate"]),
        (&["--preset", "bert-huge"], 2, &["-mini"]),
        (&["--max-length", "600"], 1, &["600", "512"]),
    ];
    for (more, code, words) in cases {
        let out = if more.contains(&"600") { "other" } else { "run" };
        let mut arguments = pretrain(out, &[]);
        // A flag may be given once.
        if let Some(at) = arguments.iter().position(|a| more.contains(a)) {
            arguments.drain(at..at + 2);
        }
        arguments.extend(*more);
        let (status, told) = ground.refused(&arguments);
        assert_eq!(status, *code, "{more:?}: {told}");
        words.iter().for_each(|word| assert!(told.contains(word), "{more:?}: {told}"));
    }
    // A damaged checkpoint is named, not taken up.
    let state = ground.at("run/checkpoints/step-00000004/model.safetensors");
    let bytes = std::fs::read(&state).unwrap();
    std::fs::write(&state, &bytes[..bytes.len() / 2]).unwrap();
    let (_, told) = ground.refused(&pretrain("run", &["--steps", "4", "--save-every", "2", "--resume"]));
    assert!(told.contains("step-00000004"), "{told}");
}

#[test]
fn settings_come_from_a_file_too() {
    let ground = Ground::new();
    std::fs::write(ground.at("run.toml"), "steps = 5\nlearning = \"whole_word\"\nsave_every = 5\n").unwrap();
    ground.done(&pretrain("run", &["--settings", "run.toml"]));
    assert_eq!(ground.log("run").iter().filter(|e| e["event"] == "step").count(), 5);
    for (text, word) in [("stepps = 5", "stepps"), ("steps = [5, 6]", "steps"), ("steps = -1", "steps"), ("steps 5", "run.toml")] {
        std::fs::write(ground.at("run.toml"), text).unwrap();
        let (_, told) = ground.refused(&pretrain("other", &["--settings", "run.toml"]));
        assert!(told.contains(word) && told.contains("run.toml"), "{text}: {told}");
    }
}

/// A folder that is no run, and a tokenizer that is not the shards'.
#[test]
fn what_does_not_belong_together_is_refused() {
    let ground = Ground::new();
    ground.done(&["vocab", "-o", "another", "--size", "90", "train.txt"]);
    let mut arguments = pretrain("run", &["--steps", "2"]);
    let at = arguments.iter().position(|a| *a == "tokenizer").unwrap();
    arguments[at] = "another";
    let (_, told) = ground.refused(&arguments);
    assert!(told.contains("tokenizer"), "{told}");
    assert!(!Path::new(&ground.at("run/model")).exists());
    let (_, told) = ground.refused(&pretrain("none", &["--resume"]));
    assert!(told.contains("no checkpoint"), "{told}");
}
