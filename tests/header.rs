//! Is include/cloze.h what src/capi says, does it compile, and does it tell the whole story?
//!
//! `CLOZE_UPDATE_HEADER=1 cargo test --test header` writes it anew.

#[path = "capi/shared.rs"]
mod shared;

use shared::{compiler, root, succeed};

/// The files of src/capi in the order in which the header presents them.
const FILES: &[&str] = &[
    "error",
    "options",
    "model",
    "request",
    "cancel",
    "encode",
    "report",
    "sparse",
    "late",
    "rerank",
    "classify",
    "next_sentence",
    "fill_mask",
    "extract",
    "tag",
    "tokenize",
    "attention",
    "memory",
];

fn made() -> String {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).expect("cbindgen.toml");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in FILES {
        builder = builder.with_src(root().join(format!("src/capi/{file}.rs")));
    }
    let mut text = Vec::new();
    builder.generate().expect("src/capi is readable for cbindgen").write(&mut text);
    String::from_utf8(text).unwrap()
}

fn committed() -> String {
    if std::env::var_os("CLOZE_UPDATE_HEADER").is_some() {
        return made();
    }
    std::fs::read_to_string(root().join("include/cloze.h")).expect("include/cloze.h")
}

/// The header's words in one line, without comment marks, so that a sentence is found wherever its lines are broken.
fn prose(header: &str) -> String {
    let words = header.lines().flat_map(|line| line.trim_start().trim_start_matches("/**").trim_start_matches('*').split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_committed_header_is_what_the_code_says() {
    let path = root().join("include/cloze.h");
    if std::env::var_os("CLOZE_UPDATE_HEADER").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, made()).unwrap();
    }
    assert!(committed() == made(), "include/cloze.h is stale: run `CLOZE_UPDATE_HEADER=1 cargo test --test header` and commit it");
}

#[test]
fn every_file_of_the_c_abi_is_in_the_header() {
    let not_shown = ["mod", "guard"];
    for entry in std::fs::read_dir(root().join("src/capi")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(FILES.contains(&&*name) || not_shown.contains(&&*name), "add {name} to FILES of tests/header.rs");
    }
}

#[test]
fn every_option_is_described_with_its_values() {
    let prose = prose(&committed());
    let options = cloze::Options::SETTINGS.iter().map(|s| ("cloze_options_set", s.name, s.values));
    let requests = cloze::Request::SETTINGS.iter().map(|s| ("cloze_request_set", s.name, s.values));
    for (function, name, values) in options.chain(requests) {
        let line = format!("- `{name}`: {values}. ");
        assert!(prose.contains(&line), "the comment of {function} (src/capi) must say: {line}");
    }
}

#[test]
fn every_function_says_since_when_it_exists() {
    let header = committed();
    let mut functions = 0;
    for block in header.split("/**").skip(1) {
        let (comment, code) = block.split_once("*/").expect("a comment ends");
        if code.contains("(") {
            functions += 1;
            assert!(comment.contains("Since: 0."), "no `Since` before {}", code.trim());
        }
    }
    assert!(functions > 30, "only {functions} functions found: has the header's form changed?");
}

/// Compiles `code` with every warning an error.
fn compile(cpp: bool, standard: &str, code: &str) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join(if cpp { "header.cpp" } else { "header.c" });
    std::fs::write(&source, code).unwrap();
    succeed(compiler(cpp).args([standard, "-fsyntax-only"]).arg(source), standard);
}

#[test]
fn the_header_compiles_alone_as_c_and_as_cpp() {
    let code = "#include \"cloze.h\"\n#include \"cloze.h\"\nint main(void) { return cloze_abi_version() != CLOZE_ABI_VERSION; }\n";
    for standard in ["-std=c11", "-std=c17"] {
        compile(false, standard, code);
    }
    for standard in ["-std=c++11", "-std=c++17", "-std=c++20"] {
        compile(true, standard, code);
    }
}
