#!/bin/sh
# Installs what `make lib` and `make cli` built; called by `make install`, which sets every variable. Without COMMANDS only the library, its
# headers and what build systems find it by.
set -eu
cd "$(dirname "$0")/.."

bin="$DESTDIR$BINDIR" lib="$DESTDIR$LIBDIR" include="$DESTDIR$INCLUDEDIR" pkgconfig="$DESTDIR$PKGCONFIGDIR" cmake="$DESTDIR$LIBDIR/cmake/Cloze"
# The library says itself under which name programs will look for it; the file carries the full version.
soname=$(readelf -d "$LIBCLOZE/libcloze.so" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')
[ -n "$soname" ] || { echo "install: $LIBCLOZE/libcloze.so has no SONAME" >&2; exit 1; }
file="$soname.$VERSION"
# A static link needs what the Rust standard library needs.
private="pthread dl m gcc_s"

install -d "$lib" "$include" "$pkgconfig" "$cmake"
install -m 755 "$LIBCLOZE/libcloze.so" "$lib/$file"
ln -sf "$file" "$lib/$soname"
ln -sf "$soname" "$lib/libcloze.so"
install -m 644 "$LIBCLOZE/libcloze.a" "$lib/libcloze.a"
install -m 644 include/cloze.h bindings/cpp/cloze.hpp bindings/cpp/cloze_answers.hpp "$include"
sed -e "s|@PREFIX@|$PREFIX|" -e "s|@LIBDIR@|$LIBDIR|" -e "s|@INCLUDEDIR@|$INCLUDEDIR|" -e "s|@VERSION@|$VERSION|" \
    -e "s|@PRIVATE@|$(printf -- '-l%s ' $private)|" cloze.pc.in >"$pkgconfig/cloze.pc"
for template in ClozeConfig.cmake ClozeConfigVersion.cmake; do
    sed -e "s|@INCLUDE_FROM_LIB@|$(realpath -s -m --relative-to="$LIBDIR" "$INCLUDEDIR")|" -e "s|@SONAME@|$soname|" -e "s|@VERSION@|$VERSION|" \
        -e "s|@MAJOR_MINOR@|${VERSION%.*}|" -e "s|@PRIVATE_LIBRARIES@|$(echo "$private" | tr ' ' ';')|" "bindings/cpp/cmake/$template.in" >"$cmake/$template"
done
echo "installed $lib/$file, $lib/libcloze.a, $include/cloze.h, $include/cloze.hpp, $pkgconfig/cloze.pc, $cmake/ClozeConfig.cmake"
[ -n "$COMMANDS" ] || exit 0
install -d "$bin"
install -m 755 "$COMMANDS/cloze" "$COMMANDS/cloze-train" "$bin"
echo "installed $bin/cloze, $bin/cloze-train"
