#!/bin/sh
# Makes the wheel in CLOZE_PACKAGES and tries it as a user would, in a clean environment and a clean folder. CLOZE_LIB and CLOZE_SCRATCH are as for test.sh.
set -eu
sh scripts/bootstrap.sh pip venv
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/build"
"$work/build/bin/pip" -q install hatchling
rm -f "$CLOZE_PACKAGES"/cloze-*.whl
"$work/build/bin/pip" -q wheel --no-deps --no-build-isolation --wheel-dir "$CLOZE_PACKAGES" bindings/python

cd "$work"
python3 -m venv clean
clean/bin/pip -q install "$CLOZE_PACKAGES"/cloze-*.whl
env -u CLOZE_LIBRARY -u LD_LIBRARY_PATH clean/bin/python "$root/bindings/python/examples/search.py" "$root/tests/golden/models/tiny-gelu" \
    "$root/examples/demo/passages.txt" "how much is postage" --top 1 >said
grep -q '^ 1\. ' said
echo "package python: $(basename "$CLOZE_PACKAGES"/cloze-*.whl)"
