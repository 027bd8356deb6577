#!/bin/sh
# Does an installed library serve a C program that knows only pkg-config? Installs into a scratch folder, compiles
# examples/encode.c against it, dynamically and statically, and runs both on the committed model.
set -eu
cd "$(dirname "$0")/.."

model="${1:-tests/golden/models/tiny-gelu}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make --no-print-directory install PREFIX="$work/usr"

export PKG_CONFIG_PATH="$work/usr/lib/pkgconfig"
# shellcheck disable=SC2046 # pkg-config prints lists of words
cc -std=c11 -Wall -Wextra -Werror examples/encode.c $(pkg-config --cflags --libs cloze) -o "$work/dynamic"
# shellcheck disable=SC2046
cc -std=c11 -Wall -Wextra -Werror examples/encode.c $(pkg-config --cflags cloze) "$work/usr/lib/libcloze.a" \
    $(pkg-config --libs --static cloze | tr ' ' '\n' | grep -v -e '^-lcloze$' -e '^-L' | tr '\n' ' ') -o "$work/static"

LD_LIBRARY_PATH="$work/usr/lib" "$work/dynamic" "$model" "a text" >"$work/one"
"$work/static" "$model" "a text" >"$work/two"
cmp "$work/one" "$work/two"
"$work/usr/bin/cloze" encode -m "$model" "a text" >/dev/null
echo "check-install: the installed library serves C programs, linked dynamically and statically"
