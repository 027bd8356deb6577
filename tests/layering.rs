//! Does every module import only what it may?
//!
//! Reads the paths of each file of src/ (`crate::`, `super::`, `self::`, grouped and inline, macros included) and compares
//! them with [`TABLE`]; also keeps `unsafe`, `cfg(target_arch)` and `cfg(feature = "ggml")` where they belong. The table is
//! explained in ARCHITECTURE.md and changes with an argument there. Comments and strings are not read.

use std::path::{Path, PathBuf};

/// A module (or a part of one) and what its code may name besides itself.
struct Row {
    module: &'static str,
    may: &'static [&'static str],
}

/// The longest matching module counts, so that a part of a module can be held to less than the whole.
const TABLE: &[Row] = &[
    Row { module: "error", may: &[] },
    Row { module: "quant", may: &["error"] },
    Row { module: "formats", may: &["error", "quant"] },
    Row { module: "tokenizer", may: &["error", "quant"] },
    Row { module: "engine", may: &["error", "quant"] },
    Row { module: "engine::cpu", may: ENGINE_PARTS },
    Row { module: "engine::ggml", may: ENGINE_PARTS },
    Row { module: "model", may: &["error", "quant", "formats", "engine"] },
    Row { module: "tasks", may: &["error", "quant", "formats", "model", "tokenizer", "engine"] },
    Row { module: "train", may: &["error", "quant", "formats", "model", "tokenizer", "engine", "tasks"] },
    Row { module: "capi", may: &["error", "tasks"] },
    Row { module: "cli", may: &["error", "tasks", "train", "formats"] },
];

/// What every executor builds on, by module and by the names that `engine` re-exports; executors never name each other.
const ENGINE_PARTS: &[&str] = &[
    "error",
    "quant",
    "engine::graph",
    "engine::batch",
    "engine::control",
    "engine::threads",
    "engine::memory",
    "engine::weights",
    // What a graph learns from, and the graph that it learns by (of which tests make some).
    "engine::lesson",
    "engine::gradient",
    "engine::Graph",
    "engine::Batch",
    "engine::Control",
    "engine::Weight",
    "engine::Role",
    "engine::Precision",
];

/// A word of the source that may stand only in files below some folders of src/.
struct Confined {
    word: Token,
    what: &'static str,
    folders: &'static [&'static str],
}

/// `Confined` rows; a function because a `Token` owns its text.
fn confined() -> [Confined; 3] {
    let ident = |word: &str| Token::Ident(word.to_owned());
    [
        Confined { word: ident("unsafe"), what: "`unsafe`", folders: &["engine/cpu", "engine/ggml", "capi", "formats"] },
        Confined { word: ident("target_arch"), what: "`cfg(target_arch)`", folders: &["engine/cpu"] },
        Confined { word: Token::Text("ggml".to_owned()), what: "the feature \"ggml\"", folders: &["engine"] },
    ]
}

// ---------------------------------------------------------------------------------------------------------------------
// The checks

/// Every violation in one file; `path` is relative to src/.
fn check(path: &str, source: &str) -> Vec<String> {
    let tokens = lex(source);
    let mut found = check_confined(path, &tokens);
    let module = module_of(path);
    if path.starts_with("bin/") {
        found.extend(check_binary(path, &tokens));
    } else if !module.is_empty() {
        // lib.rs only lists the modules and re-exports their names.
        found.extend(paths(&tokens, &module).iter().filter_map(|p| check_path(path, &module, p)));
    }
    found
}

fn check_path(path: &str, module: &[String], import: &Import) -> Option<String> {
    let importer = module.join("::");
    let Some(row) = TABLE.iter().filter(|row| within(&importer, row.module)).max_by_key(|row| row.module.len()) else {
        return Some(format!("{path}: module `{importer}` is not in the table of tests/layering.rs; give it a row"));
    };
    let target = import.path.join("::");
    let allowed = row.may.iter().chain([&row.module]).any(|may| within(&target, may));
    (!allowed).then(|| {
        let may = if row.may.is_empty() { "nothing".to_owned() } else { row.may.join(", ") };
        format!("{path}:{}: `{}` names `crate::{target}`; it may import {may}", import.line, row.module)
    })
}

/// Whether `path` is `module` or lies in it.
fn within(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// A binary is a face of a face: it calls `cloze::cli` (or `cloze::train`'s command line) and nothing else.
fn check_binary(path: &str, tokens: &[(Token, usize)]) -> Vec<String> {
    let mut found = Vec::new();
    for (i, (token, line)) in tokens.iter().enumerate() {
        if *token == Token::Ident("cloze".to_owned()) && starts_path(tokens, i) {
            let next = tokens.get(i + 3).map(|(t, _)| t);
            if next != Some(&Token::Ident("cli".to_owned())) {
                found.push(format!("{path}:{line}: a binary may call `cloze::cli` only"));
            }
        }
    }
    found
}

fn check_confined(path: &str, tokens: &[(Token, usize)]) -> Vec<String> {
    let mut found = Vec::new();
    for rule in confined() {
        if rule.folders.iter().any(|f| path.starts_with(&format!("{f}/")) || path == format!("{f}.rs")) {
            continue;
        }
        for (_, line) in tokens.iter().filter(|(token, _)| *token == rule.word) {
            found.push(format!("{path}:{line}: {} belongs in {} only", rule.what, rule.folders.join(", ")));
        }
    }
    found
}

/// The module that a file of src/ holds; empty for lib.rs.
fn module_of(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib")) {
        parts.pop();
    }
    parts
}

// ---------------------------------------------------------------------------------------------------------------------
// Paths

/// A path into the crate, resolved from its root, and where it stands.
#[derive(Debug, PartialEq)]
struct Import {
    path: Vec<String>,
    line: usize,
}

/// Every path that starts with `crate`, `super` or `self`, in a file that holds `module`.
fn paths(tokens: &[(Token, usize)], module: &[String]) -> Vec<Import> {
    let mut found = Vec::new();
    let mut here = module.to_vec();
    let mut depth = 0usize;
    let mut inline: Vec<usize> = Vec::new(); // brace depths at which inline modules opened
    let mut i = 0;
    while i < tokens.len() {
        match &tokens[i].0 {
            Token::Punct('{') => depth += 1,
            Token::Punct('}') => {
                depth = depth.saturating_sub(1);
                if inline.last() == Some(&depth) {
                    inline.pop();
                    here.pop();
                }
            }
            Token::Ident(word) if word == "mod" => {
                if let (Some((Token::Ident(name), _)), Some((Token::Punct('{'), _))) = (tokens.get(i + 1), tokens.get(i + 2)) {
                    here.push(name.clone());
                    inline.push(depth);
                }
            }
            Token::Ident(word) if matches!(word.as_str(), "crate" | "super" | "self") && starts_path(tokens, i) => {
                i = read_path(tokens, i, &[], &here, &mut found);
                continue;
            }
            _ => {}
        }
        i += 1;
    }
    found
}

/// Whether the word at `i` is followed by `::` and not itself preceded by it.
fn starts_path(tokens: &[(Token, usize)], i: usize) -> bool {
    let colon = |k: usize| matches!(tokens.get(k), Some((Token::Punct(':'), _)));
    colon(i + 1) && colon(i + 2) && !(i >= 2 && colon(i - 1) && colon(i - 2))
}

/// Reads the path or the group of paths at `i`, below `prefix`; returns the position after it.
fn read_path(tokens: &[(Token, usize)], mut i: usize, prefix: &[String], here: &[String], found: &mut Vec<Import>) -> usize {
    let mut path = prefix.to_vec();
    let line = tokens[i].1;
    while let Some((token, _)) = tokens.get(i) {
        match token {
            Token::Ident(word) => path.push(word.clone()),
            Token::Punct('*') => path.push("*".to_owned()),
            Token::Punct('{') => return read_group(tokens, i + 1, &path, here, found),
            _ => break, // generics after `::`: the path before them is complete
        }
        i += 1;
        let more = matches!(tokens.get(i..i + 2), Some([(Token::Punct(':'), _), (Token::Punct(':'), _)]));
        if !more {
            break;
        }
        i += 2;
    }
    found.push(Import { path: resolve(&path, here), line });
    i
}

fn read_group(tokens: &[(Token, usize)], mut i: usize, prefix: &[String], here: &[String], found: &mut Vec<Import>) -> usize {
    while let Some((token, _)) = tokens.get(i) {
        match token {
            Token::Punct('}') => return i + 1,
            Token::Punct(',') => i += 1,
            Token::Ident(word) if word == "as" => i += 2,
            Token::Ident(_) | Token::Punct('*' | '{') => i = read_path(tokens, i, prefix, here, found),
            _ => i += 1,
        }
    }
    i
}

/// The path from the crate's root that `path` means inside the module `here`.
fn resolve(path: &[String], here: &[String]) -> Vec<String> {
    let mut full = if path[0] == "crate" { Vec::new() } else { here.to_vec() };
    for word in path {
        match word.as_str() {
            "crate" | "self" => {}
            "super" => drop(full.pop()),
            _ => full.push(word.clone()),
        }
    }
    full
}

// ---------------------------------------------------------------------------------------------------------------------
// Words

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Ident(String),
    Punct(char),
    /// The inside of a string literal, escapes not undone.
    Text(String),
}

/// The words of a source file with their lines; comments, numbers, characters and lifetimes are left out.
fn lex(source: &str) -> Vec<(Token, usize)> {
    let chars: Vec<char> = source.chars().collect();
    let mut tokens = Vec::new();
    let (mut i, mut line) = (0, 1);
    while i < chars.len() {
        let rest = &chars[i..];
        let (length, token) = match rest {
            ['/', '/', ..] => (rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()), None),
            ['/', '*', ..] => (block_comment(rest), None),
            ['"', ..] => string(rest, 0),
            ['b' | 'c', '"', ..] => string(rest, 1),
            ['r', '"' | '#', ..] | ['b' | 'c', 'r', '"' | '#', ..] => raw(rest),
            ['\'', ..] => (quote(rest), None),
            [c, ..] if c.is_alphabetic() || *c == '_' => {
                let n = rest.iter().position(|c| !c.is_alphanumeric() && *c != '_').unwrap_or(rest.len());
                (n, Some(Token::Ident(rest[..n].iter().collect())))
            }
            [c, ..] if c.is_ascii_digit() => (rest.iter().position(|c| !c.is_alphanumeric() && *c != '_').unwrap_or(rest.len()), None),
            [c, ..] if c.is_whitespace() => (1, None),
            [c, ..] => (1, Some(Token::Punct(*c))),
            [] => break,
        };
        tokens.extend(token.map(|t| (t, line)));
        line += rest[..length].iter().filter(|c| **c == '\n').count();
        i += length;
    }
    tokens
}

fn block_comment(rest: &[char]) -> usize {
    let mut depth = 0;
    let mut i = 0;
    while i < rest.len() {
        match rest[i..] {
            ['/', '*', ..] => (depth, i) = (depth + 1, i + 2),
            ['*', '/', ..] => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            break;
        }
    }
    i
}

/// A string literal with `prefix` letters before its quote.
fn string(rest: &[char], prefix: usize) -> (usize, Option<Token>) {
    let mut i = prefix + 1;
    while i < rest.len() && rest[i] != '"' {
        i += if rest[i] == '\\' { 2 } else { 1 };
    }
    let end = i.min(rest.len());
    (rest.len().min(i + 1), Some(Token::Text(rest[prefix + 1..end].iter().collect())))
}

/// A raw string, or a raw identifier.
fn raw(rest: &[char]) -> (usize, Option<Token>) {
    let prefix = rest.iter().position(|c| *c == 'r').unwrap_or(0) + 1;
    let hashes = rest[prefix..].iter().take_while(|c| **c == '#').count();
    let start = prefix + hashes;
    if rest.get(start) != Some(&'"') {
        let n = rest[start..].iter().position(|c| !c.is_alphanumeric() && *c != '_').unwrap_or(rest.len() - start);
        return (start + n, Some(Token::Ident(rest[start..start + n].iter().collect())));
    }
    let closing: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let length = rest[start + 1..].windows(closing.len()).position(|w| w == closing).unwrap_or(rest.len() - start - 1);
    (rest.len().min(start + 1 + length + closing.len()), Some(Token::Text(rest[start + 1..start + 1 + length].iter().collect())))
}

/// The length of a character literal, or of a lifetime's quote.
fn quote(rest: &[char]) -> usize {
    match rest {
        ['\'', '\\', _, tail @ ..] => 3 + tail.iter().position(|c| *c == '\'').map_or(tail.len(), |n| n + 1),
        ['\'', _, '\'', ..] => 3,
        _ => 1,
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Tests

/// Every Rust file below src/, relative to it.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_module_imports_only_what_the_table_allows() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    assert!(files.len() > 20, "only {} files under {}: is this the right folder?", files.len(), src.display());
    let mut violations = Vec::new();
    for file in files {
        let path = file.strip_prefix(&src).unwrap().to_str().unwrap().replace('\\', "/");
        violations.extend(check(&path, &std::fs::read_to_string(&file).unwrap()));
    }
    assert!(violations.is_empty(), "{} violations:\n{}", violations.len(), violations.join("\n"));
}

/// (file, source, what the violation must mention; empty = none expected)
const PLANTED: &[(&str, &str, &str)] = &[
    ("model/bert.rs", "use crate::tokenizer::Tokenizer;", "crate::tokenizer::Tokenizer"),
    ("model/bert.rs", "use crate::{engine::graph::Op, tasks};", "crate::tasks"),
    ("model/bert.rs", "use crate::{engine::{graph, batch::{Batch, self}}, quant::*};", ""),
    ("model/bert.rs", "fn f() { let x = crate::capi::version(); }", "crate::capi::version"),
    ("tasks/encode.rs", "use super::super::cli::flags;", "crate::cli::flags"),
    ("tasks/encode.rs", "mod tests { use super::super::Model; }", ""),
    ("tasks/encode.rs", "mod tests { fn f() {} }\nuse super::super::train;", ":2:"),
    ("quant/dtype.rs", "use crate::formats::Source;", "crate::formats::Source"),
    ("quant/dtype.rs", "// use crate::formats::Source;\n/* crate::cli::x */ const S: &str = \"crate::tasks::y\";", ""),
    ("error.rs", "use crate::quant::Tensor;", "may import nothing"),
    ("engine/cpu/gemm.rs", "use super::super::threads::Pool; use crate::engine::graph::Op; use super::kernels;", ""),
    ("engine/cpu/gemm.rs", "use super::super::ggml::Buffers;", "crate::engine::ggml::Buffers"),
    ("engine/ggml/lower.rs", "use crate::engine::cpu::Kernels;", "crate::engine::cpu::Kernels"),
    ("formats/gguf.rs", "use crate::tokenizer as t;", "crate::tokenizer"),
    ("capi/model.rs", "use crate::engine::threads;", "crate::engine::threads"),
    ("cli/encode.rs", "use crate::Model;", "crate::Model"),
    ("cli/encode.rs", "use crate::*;", "crate::*"),
    ("shiny/mod.rs", "use crate::error::Error;", "not in the table"),
    ("tasks/open.rs", "macro_rules! m { () => { $crate::capi::x() } }", "crate::capi::x"),
    ("tasks/open.rs", "pub(crate) fn f() -> crate::error::Result<()> { self::g::<u8>() }", ""),
    ("tasks/open.rs", "fn f<'a>(c: char) -> bool { c == '\"' || c == '\\'' } use crate::train::Loss;", "crate::train::Loss"),
    ("tasks/open.rs", "const R: &str = r#\"quote \" here\"#; use crate::train::Loss;", "crate::train::Loss"),
    ("tasks/open.rs", "unsafe { f() }", "`unsafe`"),
    ("engine/threads.rs", "unsafe { f() }", "`unsafe`"),
    ("engine/cpu/avx2.rs", "#[cfg(target_arch = \"x86_64\")] unsafe fn f() {}", ""),
    ("capi/guard.rs", "#[unsafe(no_mangle)] pub unsafe extern \"C\" fn f() {}", ""),
    ("quant/bytes.rs", "#[cfg(target_arch = \"x86_64\")] fn f() {}", "`cfg(target_arch)`"),
    ("tasks/open.rs", "#[cfg(feature = \"ggml\")] fn f() {}", "ggml"),
    ("engine/mod.rs", "#[cfg(feature = \"ggml\")] pub mod ggml;", ""),
    ("bin/cloze.rs", "fn main() -> ExitCode { cloze::cli::main() }", ""),
    ("bin/cloze.rs", "use cloze::tasks::Model;", "cloze::cli"),
    ("lib.rs", "pub mod cli; pub use tasks::Model;", ""),
];

#[test]
fn planted_violations_are_caught_and_nothing_else() {
    for (file, source, expected) in PLANTED {
        let found = check(file, source);
        if expected.is_empty() {
            assert!(found.is_empty(), "{file}: {source}\nfalse alarm: {found:?}");
        } else {
            assert_eq!(found.len(), 1, "{file}: {source}\nfound: {found:?}");
            assert!(found[0].contains(expected), "{file}: {source}\nfound: {found:?}");
        }
    }
}

#[test]
fn the_table_has_no_cycle() {
    // A module may import only rows above it, parts of engine aside: reading top to bottom is reading the layers.
    for (i, row) in TABLE.iter().enumerate() {
        for may in row.may {
            let top = may.split("::").next().unwrap();
            let above = TABLE[..i].iter().any(|r| r.module == top);
            assert!(above, "{} may import {may}, which does not stand above it", row.module);
        }
    }
}
