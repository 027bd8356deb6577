#!/bin/sh
# Rust needs no binding: the crate itself is held against tests/golden by `make test`. Here the program that a search engineer begins with is built and
# tested as a package of its own: examples/tantivy.
set -u
sh scripts/bootstrap.sh cc || exit 1
log="$CLOZE_SCRATCH/log"
"${CARGO:-cargo}" test --manifest-path examples/tantivy/Cargo.toml --target-dir "$CLOZE_SCRATCH/target" --no-fail-fast -- --show-output >"$log" 2>&1
status=$?
# Marked, so that what it counts is not counted twice.
sed 's/^/| /' "$log"
grep '^SKIPPED' "$log"
awk -v status="$status" '
    /^SKIPPED/ { skipped++ }
    /^test result: / { passed += $4; failed += $6 }
    END {
        if (status != 0 && failed == 0) failed = 1
        printf "binding rust: %d passed, %d failed, %d skipped\n", passed - skipped, failed, skipped
        exit failed > 0
    }' "$log"
