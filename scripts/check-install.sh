#!/bin/sh
# Does an installed library serve programs that know only pkg-config? Installs into a scratch folder, compiles the C and the
# C++ example against it, the C one statically as well, and runs them and the command on the committed model.
set -eu
cd "$(dirname "$0")/.."

model="${1:-tests/golden/models/tiny-gelu}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make --no-print-directory install PREFIX="$work/usr"

export PKG_CONFIG_PATH="$work/usr/lib/pkgconfig"
export LD_LIBRARY_PATH="$work/usr/lib"
# shellcheck disable=SC2046 # pkg-config prints lists of words
{
    cc -std=c11 -Wall -Wextra -Werror examples/c/encode.c $(pkg-config --cflags --libs cloze) -lm -o "$work/dynamic"
    c++ -std=c++17 -Wall -Wextra -Werror examples/cpp/search.cpp $(pkg-config --cflags --libs cloze) -o "$work/search"
    # The archive in place of -lcloze, and what pkg-config says it needs beside it.
    cc -std=c11 -Wall -Wextra -Werror examples/c/encode.c $(pkg-config --cflags cloze) "$work/usr/lib/libcloze.a" \
        $(pkg-config --libs --static cloze | tr ' ' '\n' | grep -v -x -e '-lcloze' -e '-L.*') -o "$work/static"
}
"$work/dynamic" "$model" "a text" "another" >"$work/one"
"$work/static" "$model" "a text" "another" >"$work/two"
cmp "$work/one" "$work/two"
"$work/search" "$model" examples/demo/passages.txt "a query" >/dev/null
"$work/usr/bin/cloze" encode -m "$model" "a text" >/dev/null
"$work/usr/bin/cloze-train" --version >/dev/null
echo "check-install: the installed library serves C and C++ programs, linked dynamically and statically"
