//! Does the road of docs/road.md lead from a labelled file to a C program?
//!
//! The page is run as it stands: its files are written, its commands go through a shell, its program is compiled. A tiny model stands in for the real
//! one, and a `pkg-config` of the test's own for an installation.
#![cfg(all(target_os = "linux", feature = "cli", feature = "train"))]

#[path = "capi/shared.rs"]
mod shared;

use std::path::{Path, PathBuf};
use std::process::Command;

use shared::{library_folder, root};

/// A block of the page: its language, the name of the file that it is, and what it says.
struct Block {
    language: String,
    file: Option<String>,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut pieces = page.split("```");
    let mut blocks = Vec::new();
    while let (Some(_), Some(block)) = (pieces.next(), pieces.next()) {
        let (head, text) = block.split_once('\n').unwrap();
        let mut words = head.split_whitespace().map(str::to_owned);
        blocks.push(Block { language: words.next().unwrap_or_default(), file: words.next(), text: text.to_owned() });
    }
    blocks
}

/// A folder whose programs are those of this build.
fn programs(ground: &Path) -> PathBuf {
    let folder = ground.join("bin");
    std::fs::create_dir(&folder).unwrap();
    for (name, program) in [("cloze", env!("CARGO_BIN_EXE_cloze")), ("cloze-train", env!("CARGO_BIN_EXE_cloze-train"))] {
        std::os::unix::fs::symlink(program, folder.join(name)).unwrap();
    }
    let flags = format!("-I{} -L{} -lcloze", root().join("include").display(), library_folder().display());
    std::fs::write(folder.join("pkg-config"), format!("#!/bin/sh\necho '{flags}'\n")).unwrap();
    std::fs::set_permissions(folder.join("pkg-config"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn the_page_leads_from_a_labelled_file_to_a_c_program() {
    let ground = tempfile::tempdir().unwrap();
    let at = |name: &str| ground.path().join(name);
    std::fs::create_dir(at("models")).unwrap();
    std::os::unix::fs::symlink(root().join("tests/golden/models/tiny-gelu"), at("models/minilm")).unwrap();
    // Where the page's last command looks for the library.
    std::fs::create_dir_all(at("cloze")).unwrap();
    std::os::unix::fs::symlink(library_folder(), at("cloze/lib")).unwrap();
    let path = format!("{}:{}", programs(ground.path()).display(), std::env::var("PATH").unwrap_or_default());
    let page = std::fs::read_to_string(root().join("docs/road.md")).unwrap();
    let (mut told, mut promised) = (Vec::new(), Vec::new());
    for Block { language, file, text } in blocks(&page) {
        match (language.as_str(), file) {
            (_, Some(file)) => std::fs::write(at(&file), text).unwrap(),
            ("sh", None) => {
                // A tiny model without anything learned before needs more of it than the page's.
                let text = text.replace("--epochs 10 --batch 4 --rate 1e-4", "--epochs 40 --batch 4 --rate 5e-4");
                let mut shell = Command::new("sh");
                shell.current_dir(ground.path()).env("PATH", &path).env("HOME", ground.path()).args(["-e", "-c", &text]);
                let done = shell.output().unwrap();
                let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
                assert!(done.status.success(), "{text}{}\n{out}\n{err}", done.status);
                told.push(out.into_owned());
            }
            _ => promised.push(text),
        }
    }
    assert_eq!((told.len(), &told[0]), (5, &promised[0]), "what the page shows is what the first command says");
    assert!(told[1].contains("accuracy 1.0000") && at("report.html").exists() && at("said.jsonl").exists(), "{}", told[1]);
    let sizes = ["reviews-f32.gguf", "reviews.gguf"].map(|name| std::fs::metadata(at(name)).unwrap().len());
    assert!(sizes[1] < sizes[0], "{sizes:?}");
    assert!(told[3].contains("accuracy 1.0000"), "{}", told[3]);
    let labels: Vec<&str> = told[4].lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(labels, ["bad", "good"], "{}", told[4]);
}
