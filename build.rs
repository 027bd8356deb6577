//! What must the linker know that cargo does not say?
//!
//! The shared library's name carries the major version of its ABI (`CLOZE_ABI_VERSION` of src/capi/error.rs), so that a
//! program keeps loading the one that it was compiled for. The exported symbols need no script here: rustc's own lists the
//! `#[unsafe(no_mangle)]` functions of src/capi and nothing else, which tests/abi.rs checks.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if ["linux", "android", "freebsd", "netbsd", "openbsd"].contains(&target.as_str()) {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcloze.so.1");
    }
}
