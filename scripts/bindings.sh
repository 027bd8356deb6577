#!/bin/sh
# Do the bindings of every language give the answers of tests/golden/bindings? Runs bindings/LANGUAGE/test.sh of each (or of those that are named),
# called by `make bindings`, which builds the C library and sets LIBCLOZE to its folder and TARGET to the folder for build products.
#
# A test.sh runs in the repository's root and finds
#   CLOZE_LIB      a folder with libcloze.so, libcloze.so.1 and libcloze.a, and nothing else
#   CLOZE_INCLUDE  the folder of cloze.h
#   CLOZE_SCRATCH  a folder of its own for what it builds, kept until `make clean`
#   CLOZE_SOUND    a GGUF file with golden probes, for `verify`; not set where the command that writes one was not built
# So does a package.sh, which scripts/package.sh calls through this one (SCRIPT=package).
#
# A test.sh asks scripts/bootstrap.sh for its tools, prints `SKIPPED name: why` for what this machine cannot run, and closes with
# `binding LANGUAGE: N passed, N failed, N skipped`, which .ci/run counts. A test.sh that ends without this line counts as failed.
set -u
cd "$(dirname "$0")/.." || exit 1

script="${SCRIPT:-test}"
# shellcheck disable=SC2046,SC2012 # names of folders, a word each
[ $# -gt 0 ] || set -- $(ls bindings/*/"$script.sh" | cut -d/ -f2)
mkdir -p "$TARGET/bindings/lib"
scratch=$(cd "$TARGET/bindings" && pwd)
library=$(cd "$LIBCLOZE" && pwd)
for name in libcloze.so libcloze.so.1; do ln -sf "$library/libcloze.so" "$scratch/lib/$name"; done
ln -sf "$library/libcloze.a" "$scratch/lib/libcloze.a"

if [ "$script" = test ] && [ -n "${COMMAND:-}" ] && "$COMMAND" quantize -m tests/golden/models/tiny-gelu -o "$scratch/sound.gguf" --force --type q8_0 >/dev/null; then
    export CLOZE_SOUND="$scratch/sound.gguf"
fi

failed=""
for language in "$@"; do
    [ "$script" = test ] && echo "Testing binding $language"
    mkdir -p "$scratch/$language"
    CLOZE_LIB="$scratch/lib" CLOZE_INCLUDE="$PWD/include" CLOZE_SCRATCH="$scratch/$language" sh "bindings/$language/$script.sh" </dev/null ||
        failed="$failed $language"
done
[ -z "$failed" ] || { echo "bindings: failed:$failed" >&2; exit 1; }
