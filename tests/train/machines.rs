//! Do processes that MPI starts learn what one process learns?
//!
//! `cargo test --features mpi --test train machines` on a machine that has Open MPI; without either, the tests say so.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::{Ground, pretrain};

/// Whether this build and this machine can start several processes; says why not.
fn possible() -> bool {
    let why = if !cfg!(feature = "mpi") {
        "built without the feature mpi"
    } else if !Command::new("mpirun").arg("--version").stdout(Stdio::null()).status().is_ok_and(|s| s.success()) {
        "no mpirun (Debian: openmpi-bin)"
    } else {
        return true;
    };
    println!("SKIPPED: {why}");
    false
}

/// `mpirun` of some processes of one thread each, as a container's root may.
fn mpirun(ground: &Ground, processes: usize, program: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1").current_dir(ground.at(""));
    command.args(["--oversubscribe", "--bind-to", "none", "--mca", "odls_base_sigkill_timeout", "3"]);
    command.args(["-n", &processes.to_string()]).args(program);
    command
}

fn train<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&[env!("CARGO_BIN_EXE_cloze-train")], arguments, &["--threads", "1"]].concat()
}

fn done(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn processes_learn_what_one_does() {
    if !possible() {
        return;
    }
    let ground = Ground::new();
    let flags = ["--steps", "12", "--save-every", "6", "--held-out", "held-out", "--evaluate-every", "6", "--recompute", "layers"];
    ground.done(&pretrain("one", &flags));
    for (run, processes) in [("two", 2), ("again", 2), ("three", 3)] {
        done(&mpirun(&ground, processes, &train(&pretrain(run, &flags))).output().unwrap());
    }
    assert!(ground.model("two") == ground.model("again"), "the same bits each time");
    let figures = |run: &str| -> Vec<(String, f64)> {
        let log = ground.log(run);
        let of = |event: &serde_json::Value| {
            let name = format!("{} {}", event["event"], event["step"]);
            ["masked_loss", "masked_accuracy", "pair_loss", "norm"]
                .map(|field| (format!("{name} {field}"), event[field].as_f64().unwrap_or(0.0)))
        };
        log.iter().flat_map(of).collect()
    };
    let one = figures("one");
    assert!(one.len() == 4 * (12 + 2 + 2), "{one:?}");
    for run in ["two", "three"] {
        let all = figures(run);
        assert_eq!(all.len(), one.len(), "each event once");
        let apart = one.iter().zip(&all).map(|(a, b)| {
            assert_eq!(a.0, b.0);
            ((a.1 - b.1).abs() / a.1.abs().max(1e-3), a, b)
        });
        let worst = apart.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        println!("{run}: worst of {} figures {:.1e}: {:?} and {:?}", all.len(), worst.0, worst.1, worst.2);
        // Sums in another order: rounding, twelve steps of it.
        assert!(worst.0 < 1e-4, "{run}: {worst:?}");
    }
    // Taken up again, by as many processes.
    std::fs::remove_dir_all(ground.at("again/checkpoints/step-00000012")).unwrap();
    let arguments = pretrain("again", &[&flags[..], &["--resume"]].concat());
    done(&mpirun(&ground, 2, &train(&arguments)).output().unwrap());
    assert!(ground.model("two") == ground.model("again"), "the same bits after going on");
}

/// What one process says, or how it ends, is the end of all.
#[test]
fn processes_end_together() {
    if !possible() {
        return;
    }
    let ground = Ground::new();
    let endless = pretrain("run", &["--steps", "100000"]);
    let mut child = mpirun(&ground, 2, &train(&endless)).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while ground.log("run").len() < 3 && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ended = child.wait().unwrap();
    println!("mpirun ended with {ended} at an interrupt");
    assert_eq!(ground.log("run").last().unwrap()["event"], "saved", "an interrupt ends with a checkpoint");

    // Process 1 is given something else.
    for (otherwise, words) in [("--seed=7", ["process 1", "command"]), ("--shards=nowhere", ["nowhere", "cloze-train"])] {
        let arguments = train(&pretrain("other", &["--steps", "100000"])).join(" ");
        let script = format!(
            "if [ $OMPI_COMM_WORLD_RANK = 1 ]; then exec {} {otherwise}; else exec {arguments}; fi",
            without(&arguments, otherwise)
        );
        let started = Instant::now();
        let output = mpirun(&ground, 2, &["sh", "-c", &script]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && started.elapsed() < Duration::from_secs(60), "{told}");
        words.iter().for_each(|word| assert!(told.contains(word), "{otherwise}: {told}"));
        assert!(!ground.at("other/checkpoints").exists(), "{told}");
    }
}

/// The command without the flag that is given otherwise.
fn without(command: &str, otherwise: &str) -> String {
    let flag = otherwise.split('=').next().unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    match words.iter().position(|word| *word == flag) {
        Some(at) => [&words[..at], &words[at + 2..]].concat().join(" "),
        None => command.to_owned(),
    }
}

/// A program without MPI does not begin the same run twice.
#[test]
fn mpirun_of_a_program_without_mpi_is_refused() {
    let ground = Ground::new();
    if cfg!(feature = "mpi") {
        return;
    }
    let output = ground.command(&pretrain("run", &["--steps", "2"])).env("OMPI_COMM_WORLD_SIZE", "2").output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("--features mpi"), "{told}");
    assert!(!ground.at("run").exists());
}
