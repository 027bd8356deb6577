#!/bin/sh
# Builds and tests the library with the oldest supported Rust: msrv.sh VERSION TARGET-FOLDER. Skips aloud where that toolchain
# is not there and cannot be fetched.
set -eu
version="$1" target="$2"

if ! command -v rustup >/dev/null; then
    echo "SKIPPED: msrv: no rustup, so Rust $version cannot be had"
    exit 0
fi
toolchain=$(rustup toolchain list | grep -o "^${version}[.0-9]*" | head -n 1 || true)
if [ -z "$toolchain" ]; then
    toolchain="$version"
    if ! rustup toolchain install "$version" --profile minimal >&2; then
        echo "SKIPPED: msrv: rustup could not fetch Rust $version"
        exit 0
    fi
fi
echo "msrv: $(rustup run "$toolchain" rustc --version)"
rustup run "$toolchain" cargo build --lib --bin cloze --target-dir "$target"
rustup run "$toolchain" cargo test --lib --target-dir "$target"
