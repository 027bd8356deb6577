#!/bin/sh
# Tests the C++ binding; called by scripts/bindings.sh, which says what it may expect. Needs nlohmann's JSON reader, for the tests only.
set -u
sh scripts/bootstrap.sh c++ cmake pkg-config readelf nlohmann-json || exit 1

passed=0 failed=0 skipped=0
warnings="-std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror"
flags="-Ibindings/cpp -I$CLOZE_INCLUDE -L$CLOZE_LIB -lcloze -Wl,-rpath,$CLOZE_LIB -pthread"
golden=tests/golden

pass() { passed=$((passed + 1)); }
fail() { echo "FAILED $1"; failed=$((failed + 1)); }
skip() { echo "SKIPPED $1"; skipped=$((skipped + 1)); }

# compile PROGRAM SOURCE COMPILER FLAGS: compiled before with the same headers, it is left alone.
compile() {
    program="$CLOZE_SCRATCH/$1" source="$2"
    shift 2
    [ -n "$(find "$source" bindings/cpp include "$CLOZE_LIB/" -newer "$program" 2>/dev/null)" ] || [ ! -x "$program" ] || return 0
    # shellcheck disable=SC2086 # lists of words
    "$@" $warnings "$source" $flags -o "$program"
}

# counted NAME COMMAND: a program that closes with its own count.
counted() {
    name="$1"
    shift
    log=$("$@" 2>&1) || true
    count=$(echo "$log" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' | tail -n 1)
    case "$count" in *" 0 "*) echo "$log" | grep '^SKIPPED' ;; *) echo "$log" | sed "s|^FAILED |FAILED $name: |" ;; esac
    if [ -z "$count" ]; then fail "$name: it ended without a count"; return; fi
    # shellcheck disable=SC2086 # three numbers
    set -- $count
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1
address="-g1 -fsanitize=address,undefined -fno-sanitize-recover=all"

# tested NAME COMPILER TEST ROUNDS FLAGS: a program of tests/, compiled and run.
tested() {
    name="$3 ($1)" compiler="$2" test="$3" rounds="$4"
    shift 4
    if compile "$test-$(echo "$name" | tr -c 'a-z\n+' -)" "bindings/cpp/tests/$test.cpp" "$compiler" "$@"; then
        # shellcheck disable=SC2046 # no word, or one
        counted "$name" "$program" "$golden" $([ "$test" = cases ] || echo "$rounds")
    else fail "$name: it does not compile"; fi
}

# Each compiler: plain, so that memory can be measured, and under sanitizers where a small program of it links.
for compiler in g++ clang++; do
    command -v "$compiler" >/dev/null || { skip "all tests with $compiler: it is not installed"; continue; }
    tested "$compiler" "$compiler" behaviour 100000 -O1
    # shellcheck disable=SC2086 # a list of words
    if echo 'int main() {}' | "$compiler" $address -x c++ - -o "$CLOZE_SCRATCH/small" 2>/dev/null; then
        tested "$compiler, sanitizers" "$compiler" cases 0 -O0 $address
        tested "$compiler, sanitizers" "$compiler" behaviour 2000 -O0 $address
    else
        skip "sanitizers of $compiler: it has no library for them"
        tested "$compiler" "$compiler" cases 0 -O0
    fi
    # Newer standards, and programs without exceptions.
    for more in -std=c++20 -fno-exceptions; do
        # shellcheck disable=SC2086 # lists of words
        if printf '#include "cloze.hpp"\nint main() { return cloze::Model::load("/nowhere").ok(); }\n' |
            "$compiler" $warnings $more -x c++ -fsyntax-only -Ibindings/cpp -I"$CLOZE_INCLUDE" -; then pass; else fail "the headers with $compiler $more"; fi
    done
done

# The program of the README, as it stands there.
sed -n '/^```cpp$/,/^```$/p' bindings/cpp/README.md | sed '/^```/d' >"$CLOZE_SCRATCH/quick_start.cpp"
if compile quick_start "$CLOZE_SCRATCH/quick_start.cpp" c++ && "$CLOZE_SCRATCH/quick_start" $golden/models/tiny-gelu >"$CLOZE_SCRATCH/said" &&
    grep -q '^2 vectors of 8 values' "$CLOZE_SCRATCH/said" && grep -q '^CLOZE_DEADLINE_EXCEEDED: 0 of 2 are finished' "$CLOZE_SCRATCH/said"; then pass; else fail "the quick start of the README"; fi

# An installation, found by CMake in a place to which it was moved, and by pkg-config.
rm -rf "$CLOZE_SCRATCH/install" "$CLOZE_SCRATCH/moved" "$CLOZE_SCRATCH/build"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
LIBCLOZE="$CLOZE_LIB" COMMANDS="" VERSION="$version" DESTDIR="$CLOZE_SCRATCH/install" PREFIX=/usr BINDIR=/usr/bin LIBDIR=/usr/lib INCLUDEDIR=/usr/include \
    PKGCONFIGDIR=/usr/lib/pkgconfig sh scripts/install.sh >/dev/null && mv "$CLOZE_SCRATCH/install/usr" "$CLOZE_SCRATCH/moved"
if cmake -S examples/cpp -B "$CLOZE_SCRATCH/build" -DCMAKE_PREFIX_PATH="$CLOZE_SCRATCH/moved" -DCMAKE_BUILD_TYPE=Release >"$CLOZE_SCRATCH/cmake.log" 2>&1 &&
    cmake --build "$CLOZE_SCRATCH/build" >>"$CLOZE_SCRATCH/cmake.log" 2>&1; then pass; else fail "the example with CMake: $(cat "$CLOZE_SCRATCH/cmake.log")"; fi

# The example finds a line by its own words, with and without a reranker, and says what is missing.
search="$CLOZE_SCRATCH/build/search"
printf 'a first passage\nhow to search\n\na third one\n' >"$CLOZE_SCRATCH/lines.txt"
if "$search" $golden/models/tiny-gelu "$CLOZE_SCRATCH/lines.txt" "how to search" | head -n 1 | grep -q '^1.000  how to search$'; then pass; else fail "the example's best line"; fi
if [ "$("$search" $golden/models/tiny-gelu "$CLOZE_SCRATCH/lines.txt" "how to search" $golden/heads/rerank-sigmoid | wc -l)" = 3 ]; then pass; else fail "the example with a reranker"; fi
if "$search" /nowhere "$CLOZE_SCRATCH/lines.txt" "a query" 2>&1 | grep -q '^CLOZE_IO: .*/nowhere'; then pass; else fail "the example's error"; fi

echo "binding cpp: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
