#!/bin/sh
# What must this machine have? `bootstrap.sh cc c++ ...` installs the Debian packages of the tools that are missing and does
# nothing where all are there. Called by the Makefile; every target works as the first command on a machine with only Rust.
set -eu

say() { echo "bootstrap: $*" >&2; }

# tool -> is it there?
present() {
    case "$1" in
    cc) command -v cc >/dev/null && printf '#include <stdio.h>\nint main(void){return 0;}\n' | cc -x c -fsyntax-only - 2>/dev/null ;;
    c++) command -v c++ >/dev/null && printf '#include <string>\nint main(){return 0;}\n' | c++ -x c++ -fsyntax-only - 2>/dev/null ;;
    pip) python3 -m pip --version >/dev/null 2>&1 ;;
    venv) python3 -c 'import venv, ensurepip' >/dev/null 2>&1 ;;
    nlohmann-json) echo '#include <nlohmann/json.hpp>' | c++ -std=c++17 -x c++ -E - >/dev/null 2>&1 ;;
    # Bindings are made with it when they are compiled.
    libclang) [ -n "${LIBCLANG_PATH:-}" ] || ls /usr/lib/llvm*/lib/libclang*.so* >/dev/null 2>&1 ;;
    # A JDK with the header of JNI, not only a runtime.
    javac) command -v javac >/dev/null && [ -f "$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")/include/jni.h" ] ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

# tool -> Debian packages
packages() {
    case "$1" in
    cc) echo gcc libc6-dev ;;
    c++) echo g++ libc6-dev ;;
    readelf | nm) echo binutils ;;
    pip) echo python3 python3-pip ;;
    venv) echo python3 python3-venv ;;
    pkg-config) echo pkg-config ;;
    mpicc | mpirun) echo libopenmpi-dev openmpi-bin ;;
    libclang) echo libclang-dev ;;
    nlohmann-json) echo nlohmann-json3-dev ;;
    abidiff | abidw) echo abigail-tools ;;
    go) echo golang ;;
    dpkg-deb) echo dpkg ;;
    javac) echo default-jdk-headless ;;
    mvn) echo maven ;;
    *) echo "$1" ;;
    esac
}

# Rust itself is the one thing that is asked for, not installed.
if ! command -v "${CARGO:-cargo}" >/dev/null; then
    say "cargo is missing. Install Rust 1.89 or newer from https://rustup.rs, then run this again."
    exit 1
fi

missing=""
for tool in "$@"; do
    present "$tool" || missing="$missing $tool"
done
[ -z "$missing" ] && exit 0

wanted=""
for tool in $missing; do
    wanted="$wanted $(packages "$tool")"
done
if ! command -v apt-get >/dev/null; then
    say "missing:$missing. This system has no apt-get; install them with its own package manager (on Debian:$wanted)."
    exit 1
fi
sudo=""
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        say "missing:$missing. Become root or install sudo, or run as root: apt-get install$wanted"
        exit 1
    fi
    sudo="sudo"
fi
say "missing:$missing; installing$wanted"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # lists of words
if ! { $sudo apt-get update -q && $sudo apt-get install -q -y --no-install-recommends $wanted; } >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    say "apt-get could not install$wanted; its words are above."
    exit 1
fi
for tool in $missing; do
    present "$tool" || { say "$tool is still missing after installing $(packages "$tool")"; exit 1; }
done
