#!/bin/sh
# Installs what `make lib` and `make cli` built; called by `make install`, which sets every variable.
set -eu
cd "$(dirname "$0")/.."

bin="$DESTDIR$BINDIR" lib="$DESTDIR$LIBDIR" include="$DESTDIR$INCLUDEDIR" pkgconfig="$DESTDIR$PKGCONFIGDIR"
# The library says itself under which name programs will look for it; the file carries the full version.
soname=$(readelf -d "$LIBCLOZE/libcloze.so" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')
[ -n "$soname" ] || { echo "install: $LIBCLOZE/libcloze.so has no SONAME" >&2; exit 1; }
file="$soname.$VERSION"

install -d "$bin" "$lib" "$include" "$pkgconfig"
install -m 755 "$LIBCLOZE/libcloze.so" "$lib/$file"
ln -sf "$file" "$lib/$soname"
ln -sf "$soname" "$lib/libcloze.so"
install -m 644 "$LIBCLOZE/libcloze.a" "$lib/libcloze.a"
install -m 644 include/cloze.h "$include/cloze.h"
install -m 755 "$COMMANDS/cloze" "$COMMANDS/cloze-train" "$bin"
# A static link needs what the Rust standard library needs.
sed -e "s|@PREFIX@|$PREFIX|" -e "s|@LIBDIR@|$LIBDIR|" -e "s|@INCLUDEDIR@|$INCLUDEDIR|" -e "s|@VERSION@|$VERSION|" \
    -e "s|@PRIVATE@|-lpthread -ldl -lm -lgcc_s|" cloze.pc.in >"$pkgconfig/cloze.pc"
echo "installed $lib/$file, $lib/libcloze.a, $include/cloze.h, $pkgconfig/cloze.pc, $bin/cloze, $bin/cloze-train"
