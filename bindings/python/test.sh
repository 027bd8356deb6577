#!/bin/sh
# Does the Python package do what its README says? Called by scripts/bindings.sh, which says what the variables are. Builds the wheel, installs it
# in an environment of its own as a user would, and runs the tests against that; then Spark's, in another one.
set -eu
sh scripts/bootstrap.sh pip venv
here="$PWD/bindings/python"

# The words of a command that went well are noise.
quietly() {
    "$@" >"$CLOZE_SCRATCH/log" 2>&1 || { cat "$CLOZE_SCRATCH/log"; echo "python: failed: $*"; exit 1; }
}

environment() {
    [ -x "$CLOZE_SCRATCH/$1/bin/pip" ] || python3 -m venv "$CLOZE_SCRATCH/$1"
}

environment tests
pip="$CLOZE_SCRATCH/tests/bin/pip"
quietly "$pip" install 'numpy>=1.21' pytest mypy hatchling
rm -rf "$CLOZE_SCRATCH/wheel"
quietly "$pip" wheel --no-deps --no-build-isolation --wheel-dir "$CLOZE_SCRATCH/wheel" "$here"
quietly "$pip" install --no-deps --force-reinstall "$CLOZE_SCRATCH"/wheel/cloze-*.whl

# Spark is large (300 MB) and needs Java: a machine that cannot have it says so.
spark="$CLOZE_SCRATCH/spark"
why=""
if ! java -version >/dev/null 2>&1; then
    why="there is no java"
elif ! "$spark/bin/python" -c 'import pyspark, pandas, pyarrow' 2>/dev/null; then
    environment spark
    "$spark/bin/pip" install --no-input wheel setuptools 'numpy<3' 'pandas<3' pyarrow 'pyspark==3.5.*' >"$CLOZE_SCRATCH/log" 2>&1 ||
        why="pip could not install pyspark: $(tail -n 1 "$CLOZE_SCRATCH/log")"
fi
if [ -z "$why" ]; then
    quietly "$spark/bin/pip" install --no-deps --force-reinstall "$CLOZE_SCRATCH"/wheel/cloze-*.whl
    export CLOZE_SPARK="$spark/bin/python"
else
    echo "SKIPPED python on Spark: $why"
fi

status=0
"$CLOZE_SCRATCH/tests/bin/python" -m pytest -q -rs -p no:cacheprovider "$here/tests" >"$CLOZE_SCRATCH/said" 2>&1 || status=$?
cat "$CLOZE_SCRATCH/said"
# The last line is "1 failed, 98 passed, 1 skipped in 12.34s": the number before a word, or 0.
count() { tail -n 1 "$CLOZE_SCRATCH/said" | tr ',' '\n' | sed -n "s/^[ =]*\([0-9]*\) $1.*/\1/p" | grep . || echo 0; }
failed=$(($(count failed) + $(count error)))
[ "$status" = 0 ] || [ "$failed" -gt 0 ] || failed=1
echo "binding python: $(count passed) passed, $failed failed, $(count skipped) skipped"
[ "$status" = 0 ]
