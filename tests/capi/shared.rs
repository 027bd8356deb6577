//! Which library and which compiler do the tests of the C ABI use?
//!
//! The library is the one that is shipped, built as `make lib` builds it and where, once for all tests.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder for what the tests build.
pub fn scratch() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi");
    std::fs::create_dir_all(&folder).expect("a folder for test programs");
    folder
}

/// The shared library, built on first use.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("clib");
        let done = Command::new(env!("CARGO"))
            .args(["rustc", "--release", "--no-default-features", "--lib", "--crate-type", "cdylib,staticlib", "--quiet", "--target-dir"])
            .arg(&target)
            .current_dir(root())
            .env_remove("CARGO_BUILD_TARGET")
            .status()
            .expect("cargo runs");
        assert!(done.success(), "the shared library does not build");
        target.join("release/libcloze.so")
    })
}

/// A folder that holds the library under the name that programs look for.
pub fn library_folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = scratch().join("lib");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["libcloze.so.1", "libcloze.so"] {
            std::os::unix::fs::symlink(library(), folder.join(name)).unwrap();
        }
        folder
    })
}

/// The C or C++ compiler, as the crate `cc` finds it (CC and CXX are heard), with every warning an error.
pub fn compiler(cpp: bool) -> Command {
    let version = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host");
    let mut command = cc::Build::new().cpp(cpp).target(host).host(host).opt_level(1).cargo_metadata(false).get_compiler().to_command();
    command.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]).arg(root().join("include"));
    command
}

/// What a command printed on standard output; panics when it fails or says anything on standard error.
pub fn succeed(command: &mut Command, what: &str) -> String {
    let done = command.output().unwrap_or_else(|e| panic!("{what}: {command:?}: {e}"));
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{what}: {}\n{out}\n{err}", done.status);
    assert!(err.is_empty(), "{what} wrote to standard error:\n{err}");
    out.into_owned()
}
