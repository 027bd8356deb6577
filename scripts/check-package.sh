#!/bin/sh
# Do the archive and the Debian packages serve someone who has nothing else? check-package.sh ARCHIVE LIBRARY.deb DEVELOPMENT.deb: unpacks each in a
# clean folder, builds the C and the C++ example by pkg-config and by CMake, dynamically and statically, and runs them.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
model="$root/tests/golden/models/tiny-gelu"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LIBRARY_PATH CPATH CMAKE_PREFIX_PATH LD_LIBRARY_PATH 2>/dev/null || true

# try NAME PREFIX LIBDIR: programs that know only where the package lies.
try() {
    mkdir "$work/$1-programs"
    cd "$work/$1-programs"
    export PKG_CONFIG_LIBDIR="$3/pkgconfig"
    # Debian's files name /usr, where they are not: they lie below a folder.
    case "$1" in debian) export PKG_CONFIG_SYSROOT_DIR="${2%/usr}" ;; *) unset PKG_CONFIG_SYSROOT_DIR 2>/dev/null || true ;; esac
    # shellcheck disable=SC2046 # pkg-config prints lists of words
    cc -std=c11 "$root/examples/c/encode.c" $(PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config --cflags --libs cloze) -lm -o encode
    LD_LIBRARY_PATH="$3" ./encode "$model" "a text" "another" >said
    grep -q '1.00' said
    cmake -S "$root/examples/cpp" -B build -DCMAKE_PREFIX_PATH="$2" -DCMAKE_LIBRARY_ARCHITECTURE="$(uname -m)-linux-gnu" >log 2>&1 && cmake --build build >>log 2>&1 || {
        cat log
        exit 1
    }
    ./build/search "$model" "$root/examples/demo/passages.txt" "how much is postage" >said
    [ "$(wc -l <said)" = 5 ]
    # The archive of the library, named by CMake; the program then needs no libcloze.so.
    mkdir static
    printf 'cmake_minimum_required(VERSION 3.13)\nproject(static LANGUAGES C)\nfind_package(Cloze 0.1 REQUIRED)\nadd_executable(static %s)\ntarget_link_libraries(static Cloze::static)\n' \
        "$root/examples/c/encode.c" >static/CMakeLists.txt
    cmake -S static -B static/build -DCMAKE_PREFIX_PATH="$2" >log 2>&1 && cmake --build static/build >>log 2>&1 || {
        cat log
        exit 1
    }
    ./static/build/static "$model" "a text" >/dev/null
    if readelf -d static/build/static | grep -q 'NEEDED.*libcloze'; then echo "check-package: $1: the static program needs libcloze.so" >&2; exit 1; fi
    cd "$root"
}

mkdir "$work/archive" "$work/debian"
tar -C "$work/archive" -xzf "$1"
prefix=$(echo "$work"/archive/*)
try archive "$prefix" "$prefix/lib"

for package in "$2" "$3"; do dpkg-deb --extract "$package" "$work/debian"; done
dpkg-deb --field "$2" Depends | grep -q 'libc6 (>= 2'
try debian "$work/debian/usr" "$work/debian/usr/lib/$(uname -m)-linux-gnu"
echo "check-package: the archive and the Debian packages serve C and C++ programs, linked dynamically and statically"
