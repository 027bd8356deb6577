//! Does the C ABI keep its word to C programs, with no leak, no overrun and no race?
//!
//! Each program of tests/capi is compiled against include/cloze.h and the shipped library, plain and with sanitizers:
//!
//! - AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer see every allocation of the process, the library's too (its
//!   allocator is malloc), and every access of the C code and of libc; the library's own code is not instrumented.
//! - ThreadSanitizer sees the C code only. The library's locks and atomics are invisible to it, so whatever libc functions the
//!   library calls would look like races: `called_from_lib` tells it to look away there. It proves that the programs use the
//!   ABI without races of their own, which is what the header promises to be enough.
#![cfg(target_os = "linux")]

#[path = "capi/shared.rs"]
mod shared;

use std::path::{Path, PathBuf};
use std::process::Command;

use cloze::formats::convert::{Contents, quantised};
use cloze::formats::{Source, Tensor};
use cloze::quant::{Bytes, Dtype};
use cloze::{Model, Options, Precision, Probes, Tolerance};

use shared::{compiler, library, library_folder, root, scratch, succeed};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Build {
    Plain,
    /// AddressSanitizer with leak check, and UndefinedBehaviorSanitizer.
    Address,
    Thread,
}
use Build::{Address, Plain, Thread};

impl Build {
    fn flags(self) -> &'static [&'static str] {
        match self {
            Plain => &[],
            Address => &["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
            Thread => &["-g", "-fsanitize=thread"],
        }
    }

    /// How many rounds a sanitizer's slowness leaves of `rounds`.
    fn rounds(self, rounds: usize) -> usize {
        match self {
            Plain => rounds,
            Address => rounds.div_ceil(10),
            Thread => rounds.div_ceil(20),
        }
    }
}

fn model() -> PathBuf {
    root().join("tests/golden/models/tiny-gelu")
}

/// Compiles `source` (a path from the root) and returns the program.
fn compile(source: &str, build: Build) -> PathBuf {
    let name = Path::new(source).file_stem().unwrap().to_str().unwrap();
    let program = library_folder().join(format!("{name}-{build:?}"));
    let mut command = compiler(false);
    command.args(["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", "-rdynamic"]);
    command.args(build.flags()).arg(root().join(source)).arg("-o").arg(&program);
    command.arg("-L").arg(library_folder()).args(["-lcloze", "-lpthread", "-ldl", "-lm"]);
    command.arg(format!("-Wl,-rpath,{}", library_folder().display()));
    succeed(&mut command, source);
    program
}

/// The command that runs a program under its sanitizer.
fn command(program: &Path, build: Build) -> Command {
    let mut command = match build {
        // ThreadSanitizer's shadow memory does not fit every layout that address randomisation makes.
        Thread if Path::new("/usr/bin/setarch").exists() => {
            let mut setarch = Command::new("/usr/bin/setarch");
            setarch.args([std::env::consts::ARCH, "-R"]).arg(program);
            setarch
        }
        _ => Command::new(program),
    };
    command.env("ASAN_OPTIONS", "detect_leaks=1:strict_string_checks=1:check_initialization_order=1");
    command.env("UBSAN_OPTIONS", "print_stacktrace=1");
    command.env("TSAN_OPTIONS", format!("suppressions={}", suppressions().display()));
    command
}

/// What ThreadSanitizer must not judge: see the head of this file.
fn suppressions() -> PathBuf {
    let file = scratch().join("thread-sanitizer");
    std::fs::write(&file, "called_from_lib:libcloze.so.1\n").unwrap();
    file
}

/// Compiles and runs a program of tests/capi; it must print nothing.
fn check(source: &str, builds: &[Build], rounds: Option<usize>) {
    for build in builds {
        let program = compile(&format!("tests/capi/{source}"), *build);
        let mut command = command(&program, *build);
        command.arg(model());
        command.args(rounds.map(|r| build.rounds(r).to_string()));
        let printed = succeed(&mut command, &format!("{source} ({build:?})"));
        assert_eq!(printed, "", "{source} ({build:?}) printed something");
    }
}

#[test]
fn every_null_is_refused_by_name_or_accepted() {
    check("nulls.c", &[Plain, Address], None);
}

#[test]
fn a_model_is_opened_shared_described_measured_and_freed() {
    check("lifecycle.c", &[Plain, Address], None);
}

#[test]
fn vectors_are_laid_out_converted_and_reported_as_the_header_says() {
    check("encode.c", &[Plain, Address], None);
}

#[test]
fn tokens_come_with_ids_segments_offsets_and_windows() {
    check("tokens.c", &[Plain, Address], None);
}

#[test]
fn bad_input_gets_a_clear_answer() {
    check("bad_input.c", &[Plain, Address], None);
}

#[test]
fn deadlines_and_cancellation_keep_what_is_finished() {
    check("stop.c", &[Plain, Address, Thread], Some(2000));
}

#[test]
fn a_ranking_that_is_stopped_ranks_what_was_scored() {
    for build in [Plain, Address, Thread] {
        let program = compile("tests/capi/rerank.c", build);
        let printed = succeed(command(&program, build).arg(root().join("tests/golden/heads/rerank-sigmoid")), "rerank.c");
        assert_eq!(printed, "");
    }
}

#[test]
fn labels_and_answers_for_pairs_come_as_the_header_says() {
    let folder = |name: &str| root().join("tests/golden/heads").join(name);
    for build in [Plain, Address] {
        let program = compile("tests/capi/classify.c", build);
        let printed = succeed(command(&program, build).arg(folder("labels-three")).arg(folder("pretraining")), "classify.c");
        assert_eq!(printed, "");
    }
}

#[test]
fn fills_and_attention_maps_come_as_the_header_says() {
    for build in [Plain, Address] {
        let program = compile("tests/capi/fill_mask.c", build);
        let printed = succeed(command(&program, build).arg(root().join("tests/golden/fill_mask/tied")), "fill_mask.c");
        assert_eq!(printed, "");
    }
}

#[test]
fn sparse_weights_come_as_the_header_says() {
    let folder = |name: &str| root().join("tests/golden").join(name);
    for build in [Plain, Address] {
        let program = compile("tests/capi/sparse.c", build);
        let printed = succeed(command(&program, build).arg(folder("sparse/max")).arg(folder("heads/labels-three")), "sparse.c");
        assert_eq!(printed, "");
    }
}

#[test]
fn late_interaction_comes_as_the_header_says() {
    for build in [Plain, Address] {
        let program = compile("tests/capi/late.c", build);
        let printed = succeed(command(&program, build).arg(root().join("tests/golden/late/colbert")), "late.c");
        assert_eq!(printed, "");
    }
}

#[test]
fn answers_and_entities_come_out_as_the_header_says() {
    let folder = |name: &str| root().join("tests/golden").join(name);
    for (program, model, other) in [("extract.c", "answers/long", "entities/bio"), ("tag.c", "entities/bio", "heads/labels-three")] {
        for build in [Plain, Address] {
            let compiled = compile(&format!("tests/capi/{program}"), build);
            let printed = succeed(command(&compiled, build).arg(folder(model)).arg(folder(other)), program);
            assert_eq!(printed, "");
        }
    }
}

/// The folder of tests/golden as a quantised file that has probes; where `damaged`, with a matrix of zeros.
fn with_probes(name: &str, damaged: bool) -> PathBuf {
    let source = Source::open(&root().join("tests/golden/models/tiny-sharded")).unwrap();
    let mut contents = Contents::of(&source).unwrap();
    let types = |item: &_| quantised(Dtype::Q8_0)(item);
    let options = Options { precision: Precision::F32, ..Options::default() };
    let mut probes = Probes::make(&Model::load(source.describe(), &options).unwrap()).unwrap();
    probes.tolerance = Tolerance::of_types(contents.items.iter().filter_map(|item| Some((item.tensor.dtype(), types(item)?))));
    probes.write(&mut contents.metadata);
    for item in contents.items.iter_mut().filter(|item| damaged && item.gguf_name == "blk.0.ffn_up.weight") {
        let zeros = Bytes::owned(vec![0u8; item.tensor.bytes().len()]);
        item.tensor = Tensor::new(item.tensor.dtype(), item.tensor.shape().to_vec(), zeros).unwrap();
    }
    let path = scratch().join(name);
    let _ = std::fs::remove_file(&path);
    contents.write_gguf(&path, types, |_, _| {}).unwrap();
    path
}

#[test]
fn a_file_proves_itself_or_the_status_tells_that_it_does_not() {
    let (sound, tampered) = (with_probes("sound.gguf", false), with_probes("tampered.gguf", true));
    for build in [Plain, Address] {
        let program = compile("tests/capi/verify.c", build);
        let printed = succeed(command(&program, build).arg(model()).arg(&sound).arg(&tampered), "verify.c");
        assert_eq!(printed, "");
    }
}

#[test]
fn memory_stays_flat_over_a_hundred_thousand_calls() {
    check("flat.c", &[Plain], Some(100_000));
}

#[test]
fn sixteen_threads_get_the_answers_of_one() {
    check("threads.c", &[Plain, Address, Thread], Some(10_000));
}

#[test]
fn a_child_encodes_after_fork() {
    check("fork.c", &[Plain, Address], None);
}

#[test]
fn a_model_freed_during_a_call_lives_to_its_end() {
    check("free_during_call.c", &[Plain, Address, Thread], Some(100));
}

#[test]
fn the_library_is_a_polite_guest() {
    let program = compile("tests/capi/guest.c", Plain);
    let printed = succeed(Command::new(program).arg(library()).arg(model()), "guest.c");
    assert_eq!(printed, "");
}

/// The program that docs/c-api.md shows, as it stands there.
#[test]
fn the_program_of_the_tour_compiles_and_keeps_a_deadline() {
    let tour = std::fs::read_to_string(root().join("docs/c-api.md")).unwrap();
    let start = tour.find("/* encode_until.c").expect("docs/c-api.md shows encode_until.c");
    let program = tour[start..].split("```").next().unwrap();
    let source = scratch().join("encode_until.c");
    std::fs::write(&source, program).unwrap();
    for build in [Plain, Address] {
        let program = compile(source.to_str().unwrap(), build);
        let run = |folder: &Path, milliseconds: &str| {
            let done = command(&program, build).arg(folder).arg(milliseconds).output().unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (done.status.code(), text(&done.stdout), text(&done.stderr))
        };
        let (code, out, err) = run(&model(), "600000");
        assert_eq!((code, out.lines().count(), &*err), (Some(0), 4, ""), "{out}");
        assert!(out.ends_with("3 of 3 texts are finished\n"), "{out}");
        let (code, out, err) = run(&model(), "0");
        assert_eq!((code, &*out), (Some(0), "0 of 3 texts are finished\n"), "{err}");
        assert!(err.starts_with("CLOZE_DEADLINE_EXCEEDED: "), "{err}");
        let (code, _, err) = run(Path::new("/nowhere"), "1");
        assert!(code == Some(1) && err.contains("/nowhere"), "{err}");
    }
}

#[test]
fn the_c_example_encodes() {
    for build in [Plain, Address] {
        let program = compile("examples/c/encode.c", build);
        let printed = succeed(command(&program, build).arg(model()).args(["one text", "another text"]), "encode.c");
        assert!(printed.contains("1.00"), "a text is as near to itself as can be:\n{printed}");
        let printed = succeed(command(&program, build).arg(model()), "encode.c with its own sentences");
        assert!(printed.lines().count() > 4, "{printed}");
        let failed = command(&program, build).arg("/nowhere").output().unwrap();
        assert_eq!(failed.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&failed.stderr).contains("/nowhere"));
    }
}
