#!/bin/sh
# Tests the Go binding; called by scripts/bindings.sh, which says what it may expect.
set -u
sh scripts/bootstrap.sh cc pkg-config go || exit 1

passed=0 failed=0 skipped=0
finish() {
    echo "binding go: $passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit
}

# Debian's own Go may be older than runtime.Pinner for strings; nothing is downloaded in its place.
export GOTOOLCHAIN=local GOFLAGS=-mod=mod GOCACHE="${GOCACHE:-$(go env GOCACHE)}"
minor=$(go env GOVERSION | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
if [ "${minor:-0}" -lt 22 ]; then
    echo "SKIPPED all tests: $(go version) is older than Go 1.22"
    skipped=1
    finish
fi

# What `make install` would give to pkg-config, for the library that was just built.
mkdir -p "$CLOZE_SCRATCH/pkgconfig"
sed -e "s|@PREFIX@|$CLOZE_SCRATCH|" -e "s|@LIBDIR@|$CLOZE_LIB|" -e "s|@INCLUDEDIR@|$CLOZE_INCLUDE|" -e "s|@VERSION@|0|" -e "s|@PRIVATE@||" \
    cloze.pc.in >"$CLOZE_SCRATCH/pkgconfig/cloze.pc"
export PKG_CONFIG_PATH="$CLOZE_SCRATCH/pkgconfig" LD_LIBRARY_PATH="$CLOZE_LIB"
cd bindings/go || exit 1

# suite NAME ARGUMENTS: one run of `go test`, counted by its cases.
suite() {
    name="$1"
    shift
    go test -json "$@" ./... >"$CLOZE_SCRATCH/log.json" 2>"$CLOZE_SCRATCH/errors"
    status=$?
    # Of nested tests the inner ones count: those that no other name continues.
    results=$(sed -n 's/.*"Action":"\(pass\|fail\|skip\)".*"Package":"\([^"]*\)","Test":"\([^"]*\)".*/\1 \2.\3/p' "$CLOZE_SCRATCH/log.json" | awk '
        { result[$2] = $1; name = $2; while (sub(/\/[^\/]*$/, "", name)) outer[name] = 1 }
        END { for (name in result) if (!(name in outer) || result[name] == "fail") print result[name], name }')
    p=$(echo "$results" | grep -c '^pass ') f=$(echo "$results" | grep -c '^fail ') s=$(echo "$results" | grep -c '^skip ')
    # A package that does not build, or was killed, has no failing test of its own.
    if [ "$status" != 0 ] && [ "$f" = 0 ]; then f=1; fi
    if [ "$f" != 0 ]; then
        sed -n 's/.*"Action":"output".*"Output":"\(.*\)"}$/\1/p' "$CLOZE_SCRATCH/log.json" | grep -v '^ *\(=== \|--- PASS\)' | sed 's/\\n$//; s/\\t/\t/g'
        cat "$CLOZE_SCRATCH/errors"
        echo "FAILED $name"
    fi
    if [ "$s" != 0 ]; then echo "$results" | sed -n "s/^skip /SKIPPED $name: /p"; fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

check() {
    name="$1"
    shift
    if said=$("$@" 2>&1) && { [ "$name" != gofmt ] || [ -z "$said" ]; }; then passed=$((passed + 1)); else
        echo "FAILED $name: $said"
        failed=$((failed + 1))
    fi
}

check gofmt gofmt -l .
check "go vet" go vet ./...
suite "go test" -count=1
# Fewer rounds; pointers that C must not keep are looked for everywhere.
if [ "$(go env CGO_ENABLED)" = 1 ] && GOEXPERIMENT=cgocheck2 go build -race -o "$CLOZE_SCRATCH/small" ./examples/rerankd 2>/dev/null; then
    GOEXPERIMENT=cgocheck2 suite "go test -race" -race -short -count=1
else
    echo "SKIPPED go test -race: this machine has no race detector"
    skipped=$((skipped + 1))
fi

# The program of the README, as it stands there, in a module of its own.
quick="$CLOZE_SCRATCH/quick"
mkdir -p "$quick"
sed -n '/^```go$/,/^```$/p' README.md | sed '/^```/d' >"$quick/main.go"
printf 'module quick\n\ngo 1.22\n\nrequire cloze.dev/go v0.0.0\n\nreplace cloze.dev/go => %s\n' "$PWD" >"$quick/go.mod"
check "the quick start of the README" sh -c "cd '$quick' && go run . '$PWD/../../tests/golden/models/tiny-gelu' | tee said && grep -q '2 vectors of 8 values' said && grep -q '0 of 2 are finished' said"
finish
