//! Do programs that were compiled with an older header still work?
//!
//! `libcloze.abi` is what `abidw` (Debian: abigail-tools) says of the functions of the last version that was recorded, and `abidiff` compares the
//! functions of today with it. Both read debug information, and Rust's describes Rust's types; so the functions that they see are those of
//! include/cloze.h, compiled by the C compiler into a library of empty bodies. That the header is what src/capi says and that exactly its functions
//! are exported, is tested in tests/header.rs and tests/abi.rs.
//!
//! `CLOZE_RECORD_ABI=1 cargo test --test abi` records the ABI of today, for a version that is published.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::shared::{compiler, library_folder, root, scratch, succeed};

/// A library of the functions that `header` declares, with nothing in them but their types.
fn library_of(header: &str, name: &str) -> PathBuf {
    let folder = scratch().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("cloze.h"), header).unwrap();
    // Comments go, includes stay. After that prototypes alone end a line like this.
    let mut strip = Command::new("cc");
    strip.args(["-fpreprocessed", "-dD", "-E", "-P"]).arg(folder.join("cloze.h"));
    let code = succeed(&mut strip, "cc -E").replace(");\n", ") { __builtin_trap(); }\n");
    std::fs::write(folder.join("functions.c"), code).unwrap();
    let library = folder.join("libcloze.so");
    let mut command = Command::new("cc");
    // What is recorded must not name this machine's folders.
    command.args(["-g", "-w", "-shared", "-fPIC", "-Wl,-soname,libcloze.so.1"]).arg(format!("-ffile-prefix-map={}=.", folder.display()));
    command.arg(folder.join("functions.c")).arg("-o").arg(&library);
    succeed(&mut command, "the library of empty functions");
    library
}

fn header() -> String {
    std::fs::read_to_string(root().join("include/cloze.h")).unwrap()
}

/// What is not as it was recorded; functions that were added do not count.
fn differences(library: &Path) -> Output {
    Command::new("abidiff")
        .args(["--no-added-syms", "--no-show-locs"])
        .arg(root().join("tests/abi/libcloze.abi"))
        .arg(library)
        .output()
        .unwrap()
}

fn cannot_compare() -> bool {
    let missing = Command::new("abidiff").arg("--version").output().is_err();
    if missing {
        println!("SKIPPED: abidiff is not installed (Debian: abigail-tools)");
    } else if cfg!(not(target_arch = "x86_64")) {
        println!("SKIPPED: the recorded ABI is that of x86-64");
    }
    missing || cfg!(not(target_arch = "x86_64"))
}

#[test]
fn functions_are_added_and_never_changed() {
    if cannot_compare() {
        return;
    }
    let library = library_of(&header(), "today");
    if std::env::var_os("CLOZE_RECORD_ABI").is_some() {
        let mut command = Command::new("abidw");
        command.args(["--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--out-file"]).arg(root().join("tests/abi/libcloze.abi"));
        succeed(command.arg(&library), "abidw");
    }
    let found = differences(&library);
    assert!(found.status.success(), "{}{}", String::from_utf8_lossy(&found.stdout), String::from_utf8_lossy(&found.stderr));
}

#[test]
fn a_changed_function_would_be_found() {
    if cannot_compare() {
        return;
    }
    for (name, old, new) in [
        ("type", "size_t capacity_bytes,", "uint32_t capacity_bytes,"),
        (
            "order",
            "cloze_status cloze_memory_trim(const cloze_model *model, cloze_error *error);",
            "cloze_status cloze_memory_trim(cloze_error *error, const cloze_model *model);",
        ),
        ("gone", "void cloze_maps_free(cloze_maps *maps);", ""),
    ] {
        let changed = header().replace(old, new);
        assert_ne!(changed, header(), "{old} is not in the header any more: choose another example");
        let found = differences(&library_of(&changed, name));
        assert!(!found.status.success(), "{name} passed as compatible");
    }
}

#[test]
fn statuses_keep_their_numbers() {
    let old = std::fs::read_to_string(root().join("tests/abi/0.1.0/cloze.h")).unwrap();
    let numbers: Vec<&str> =
        old.lines().filter(|line| line.starts_with("#define CLOZE_") && line.split_whitespace().count() == 3).collect();
    assert!(numbers.len() >= 17, "{numbers:?}");
    let today = header();
    numbers.iter().for_each(|line| assert!(today.lines().any(|now| now == *line), "{line} is gone or another"));
}

#[test]
fn a_program_of_version_0_1_0_still_links_and_runs() {
    let program = scratch().join("old");
    let mut command = compiler(false);
    // Before include/, which the compiler has been given already.
    command.arg("-std=c11").arg("-iquote").arg(root().join("tests/abi/0.1.0")).arg("-include").arg(root().join("tests/abi/0.1.0/cloze.h"));
    command.arg(root().join("tests/abi/old.c")).arg("-o").arg(&program).arg("-L").arg(library_folder()).arg("-lcloze");
    succeed(command.arg(format!("-Wl,-rpath,{}", library_folder().display())), "old.c");
    assert_eq!(succeed(Command::new(program).arg(root().join("tests/golden/models/tiny-gelu")), "old.c"), "");
}
