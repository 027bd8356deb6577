//! Is the shipped library what a host can live with: few dependencies, our own names only, small?
#![cfg(target_os = "linux")]

#[path = "abi/history.rs"]
mod history;
#[path = "capi/shared.rs"]
mod shared;

use std::collections::BTreeSet;
use std::process::Command;

use shared::{library, root, scratch, succeed};

fn readelf(option: &str) -> String {
    succeed(Command::new("readelf").args(["--wide", option]).arg(library()), "readelf")
}

/// The values of one kind of entry of the dynamic section: what stands in brackets.
fn dynamic(kind: &str) -> Vec<String> {
    let section = readelf("--dynamic");
    let entries = section.lines().filter(|line| line.contains(&format!("({kind})")));
    entries.filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned())).collect()
}

/// The names that the library exports.
fn exports() -> BTreeSet<String> {
    let symbols = succeed(Command::new("nm").args(["--dynamic", "--defined-only", "--format=posix"]).arg(library()), "nm");
    symbols.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn only_the_c_library_and_the_unwinder_are_needed() {
    let needed = dynamic("NEEDED");
    assert!(!needed.is_empty(), "readelf shows no dependency: has its output changed?");
    for name in needed {
        let known = ["libc.so.6", "libm.so.6", "libgcc_s.so.1"].contains(&&*name) || name.starts_with("ld-linux");
        assert!(known, "the library needs {name}");
    }
    for kind in ["RPATH", "RUNPATH"] {
        assert_eq!(dynamic(kind), [""; 0], "the library looks for others in a fixed place");
    }
}

#[test]
fn its_name_carries_the_version_of_the_abi() {
    assert_eq!(dynamic("SONAME"), [format!("libcloze.so.{}", cloze::capi::error::CLOZE_ABI_VERSION)]);
}

#[test]
fn exactly_the_functions_of_the_header_are_exported() {
    let header = std::fs::read_to_string(root().join("include/cloze.h")).unwrap();
    // A prototype is the only thing in the header whose line names a function before a bracket outside a comment.
    let code = header.lines().filter(|line| !line.trim_start().starts_with(['*', '/', '#']));
    let declared: BTreeSet<String> = code
        .filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next())
        .filter(|name| name.starts_with("cloze_"))
        .map(str::to_owned)
        .collect();
    assert!(declared.len() > 30, "only {} functions found in the header: has its form changed?", declared.len());
    assert_eq!(exports(), declared);
}

#[test]
fn no_code_is_writable_and_no_stack_is_executable() {
    let segments = readelf("--segments");
    let stack = segments.lines().find(|line| line.contains("GNU_STACK")).expect("a GNU_STACK segment");
    assert!(!stack.contains("RWE"), "{stack}");
    assert!(segments.contains("GNU_RELRO"));
    assert!(!readelf("--dynamic").contains("TEXTREL"));
}

#[test]
fn stripped_it_is_small() {
    const MOST: u64 = 8 << 20;
    let stripped = scratch().join(format!("stripped-{}.so", std::process::id()));
    succeed(Command::new("strip").arg("-o").arg(&stripped).arg(library()), "strip");
    let bytes = std::fs::metadata(&stripped).unwrap().len();
    std::fs::remove_file(&stripped).unwrap();
    assert!(bytes <= MOST, "{bytes} bytes stripped, more than {MOST}");
}

/// Without link-time optimisation the archive holds every function of every crate, some fifty megabytes.
#[test]
fn the_archive_holds_what_the_library_needs_and_no_more() {
    const MOST: u64 = 24 << 20;
    let bytes = std::fs::metadata(library().with_file_name("libcloze.a")).unwrap().len();
    assert!(bytes <= MOST, "{bytes} bytes, more than {MOST}: was it built without link-time optimisation?");
}
