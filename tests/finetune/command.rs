//! Does `cloze-train finetune` say what a person needs to know?

use std::path::Path;
use std::process::Command;

use super::{ROWS, golden};

/// A folder with examples, and the command run in it.
struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Ground {
        let ground = Ground(tempfile::tempdir().unwrap());
        ground.write("rows.jsonl", ROWS);
        ground
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The exit code, standard output and standard error of a command.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_cloze-train")).current_dir(self.0.path()).args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }

    /// A run of a few steps over `rows.jsonl`, with flags of its own.
    fn finetune(&self, out: &str, more: &[&str]) -> (i32, String, String) {
        let model = golden("heads/labels-three");
        let mut arguments = vec!["finetune", "-m", model.to_str().unwrap(), "-o", out, "--train", "rows.jsonl"];
        if !more.contains(&"--task") {
            arguments.extend(["--task", "classify"]);
        }
        arguments.extend(more);
        self.run(&arguments)
    }
}

#[test]
fn what_would_have_no_effect_is_refused_as_it_was_written() {
    let ground = Ground::new();
    ground.write("run.toml", "vector-loss = \"triplet\"\nmargin = 2\n");
    for (more, words) in [
        (&["--margin", "2"][..], "--margin: only task encode with --vector-loss triplet"),
        (&["--settings", "run.toml"], "vector_loss: only task encode"),
        (&["--task", "regression", "--class-weights", "balanced"], "--class-weights"),
        (&["--patience", "2"], "--patience: only a run with --dev"),
        (&["--steps", "2", "--epochs", "2"], "--epochs: only a run without --steps"),
        (&["--rate", "1e-5", "--rates", "1e-5,2e-5", "--dev", "rows.jsonl"], "--rate and --rates"),
        (&["--rates", "1e-5,0.00001", "--dev", "rows.jsonl"], "0.00001 twice; the other is written 1e-5"),
        (&["--rates", "1e-5,2e-5"], "--rates needs --dev"),
    ] {
        let (code, _, told) = ground.finetune("run", more);
        assert!(code == 2 && told.contains(words), "{more:?}: {code} {told}");
        assert!(!ground.0.path().join("run").exists(), "{more:?}");
    }
    let (code, _, told) = ground.run(&["evaluate", "-m", "nothing", "--task", "tag", "--pair", "2", "rows.conll"]);
    assert!(code == 2 && told.contains("--pair: only tasks with two texts"), "{told}");
}

#[test]
fn options_in_messages_are_the_flags_or_keys_that_were_given() {
    let ground = Ground::new();
    ground.write("rows.csv", "text,label\na,good\nb,bad,too much\n");
    ground.write("run.toml", "ragged = false\nclass_weights = [1, 2]\n");
    for (more, words) in [
        (&[][..], "rows.csv, line 3: the row has 3 cells, and the first row 2; where that may be so, set --ragged"),
        (&["--settings", "run.toml"], "set ragged = true"),
        (&["--settings", "run.toml", "--ragged"], "class_weights has 2 numbers for 3 classes"),
        (&["--ragged", "--class-weights", "0,0"], "--class-weights are all 0"),
        (&["--ragged", "--max-length", "4000"], "--max-length 4000: the model has positions"),
    ] {
        let model = golden("heads/labels-three");
        let start = ["finetune", "-m", model.to_str().unwrap(), "-o", "run", "--task", "classify", "--train"];
        ground.write("rows2.csv", "text,label\na,good\nb,bad,too much\nc,neither\n");
        let file = if more.is_empty() || more == ["--settings", "run.toml"] { "rows.csv" } else { "rows2.csv" };
        let (code, _, told) = ground.run(&[&start[..], &[file], more].concat());
        assert!(code == 1 && told.contains(words), "{more:?}: {told}");
    }
}

#[test]
fn a_folder_that_is_no_run_is_left_alone() {
    let ground = Ground::new();
    ground.write("mine/thesis.txt", "years of work");
    ground.write("file.txt", "text");
    let copied = ground.0.path().join("model");
    std::fs::create_dir(&copied).unwrap();
    for file in std::fs::read_dir(golden("heads/labels-three")).unwrap().flatten() {
        std::fs::copy(file.path(), copied.join(file.file_name())).unwrap();
    }
    for (out, words) in [
        ("mine", "mine holds thesis.txt, which is no part of a run"),
        ("file.txt", "file.txt is a file"),
        ("new.gguf", "is the name of a GGUF file"),
        ("model", "model is the folder of model, which the run reads"),
    ] {
        let (code, _, told) =
            ground.run(&["finetune", "-m", "model", "--task", "classify", "--train", "rows.jsonl", "-o", out, "--steps", "1"]);
        assert!(code == 1 && told.contains(words), "{out}: {told}");
    }
    assert_eq!(std::fs::read_to_string(ground.0.path().join("mine/thesis.txt")).unwrap(), "years of work");
    assert!(!ground.0.path().join("new.gguf").exists() && !Path::new(&copied).join("log.jsonl").exists());
}

#[test]
fn a_sweep_of_rates_from_a_file_ends_with_the_best_model_and_its_figures() {
    let ground = Ground::new();
    ground.write("run.toml", "rates = [1e-3, 3e-3]\nsteps = 4\nbatch = 5\nclass-weights = \"balanced\"\n");
    let (code, told, notes) = ground.finetune("sweep", &["--settings", "run.toml", "--dev", "rows.jsonl"]);
    assert_eq!(code, 0, "{notes}");
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("f32: accuracy ") && lines[1].starts_with("int8: accuracy "), "{told}");
    let out = ground.0.path().join("sweep");
    assert!(out.join("best/model.safetensors").exists() && out.join("rate-0.001/log.jsonl").exists(), "{notes}");
    let page = std::fs::read_to_string(out.join("rate-0.001/report.html")).unwrap();
    assert!(page.contains("<th>macro f1</th>") && page.contains("<th>accuracy</th>") && !page.contains("perplexity"), "{page}");
    // The sweep is taken up, and has nothing left to do; without --resume it is not.
    let (code, again, notes) = ground.finetune("sweep", &["--settings", "run.toml", "--dev", "rows.jsonl", "--resume"]);
    assert!(code == 0 && again == told, "{notes}");
    let (code, _, notes) = ground.finetune("sweep", &["--settings", "run.toml", "--dev", "rows.jsonl"]);
    assert!(code == 1 && notes.contains("--resume"), "{notes}");
}
