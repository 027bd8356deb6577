#!/bin/sh
# What do users who build nothing get? Called by `make package`, which builds the C library and sets LIBCLOZE to its folder, TARGET to the folder for
# build products and VERSION. Makes in TARGET/package
#
#   cloze-VERSION-ARCH-linux.tar.gz              library, headers, pkg-config file, CMake package; may be unpacked anywhere
#   libcloze1_VERSION_ARCH.deb, libcloze-dev_…   the same as Debian has it
#
# and what bindings/LANGUAGE/package.sh make, each of which also tries its package in a clean folder: they find what a test.sh finds
# (scripts/bindings.sh), and CLOZE_PACKAGES, the folder for what they make. scripts/check-package.sh tries the first two.
set -eu
cd "$(dirname "$0")/.."

mkdir -p "$TARGET/package"
CLOZE_PACKAGES=$(cd "$TARGET/package" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -f "$CLOZE_PACKAGES"/*.tar.gz "$CLOZE_PACKAGES"/*.deb

# staged FOLDER PREFIX LIBDIR: an installation below FOLDER. Archives carry no names of this machine's users.
staged() {
    LIBCLOZE="$LIBCLOZE" COMMANDS="" VERSION="$VERSION" DESTDIR="$1" PREFIX="$2" BINDIR="$2/bin" LIBDIR="$3" INCLUDEDIR="$2/include" PKGCONFIGDIR="$3/pkgconfig" \
        sh scripts/install.sh >/dev/null
}

archive="cloze-$VERSION-$(uname -m)-linux"
staged "$work/$archive" "" /lib
# pkg-config knows where the file lies.
sed -i -e 's|^prefix=.*|prefix=${pcfiledir}/../..|' -e 's|^libdir=.*|libdir=${prefix}/lib|' -e 's|^includedir=.*|includedir=${prefix}/include|' \
    "$work/$archive/lib/pkgconfig/cloze.pc"
cp LICENSE-MIT LICENSE-APACHE CHANGELOG.md README.md "$work/$archive"
tar -C "$work" --owner=0 --group=0 --numeric-owner --sort=name -czf "$CLOZE_PACKAGES/$archive.tar.gz" "$archive"

# The newest version of glibc that the library asks for.
glibc=$(readelf --wide --version-info "$LIBCLOZE/libcloze.so" | sed -n 's/.*Name: GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -n 1)
arch=$(dpkg --print-architecture)
multiarch="/usr/lib/$(uname -m)-linux-gnu"

# debian PACKAGE DEPENDS SECTION WORDS: packs $work/PACKAGE.
debian() {
    folder="$work/$1"
    mkdir -p "$folder/DEBIAN" "$folder/usr/share/doc/$1"
    { cat LICENSE-MIT && echo && cat LICENSE-APACHE; } >"$folder/usr/share/doc/$1/copyright"
    size=$(du -sk --exclude=DEBIAN "$folder" | cut -f1)
    cat >"$folder/DEBIAN/control" <<CONTROL
Package: $1
Version: $VERSION
Architecture: $arch
Maintainer: Cloze contributors <cloze@localhost>
Installed-Size: $size
Depends: $2
Section: $3
Priority: optional
Description: embedded language understanding: BERT-family encoders behind a C ABI
 $4
CONTROL
    dpkg-deb --root-owner-group --build "$folder" "$CLOZE_PACKAGES/$1_${VERSION}_$arch.deb" >/dev/null
}

staged "$work/libcloze-dev" /usr "$multiarch"
mkdir -p "$work/libcloze1$multiarch"
mv "$work/libcloze-dev$multiarch"/libcloze.so.* "$work/libcloze1$multiarch"
mkdir -p "$work/libcloze1/DEBIAN"
echo "activate-noawait ldconfig" >"$work/libcloze1/DEBIAN/triggers"
debian libcloze1 "libc6 (>= $glibc), libgcc-s1" libs "This package has the shared library."
debian libcloze-dev "libcloze1 (= $VERSION)" libdevel "This package has what programs in C and C++ are built with: headers, the archive, a pkg-config file and a CMake package."

sh scripts/check-package.sh "$CLOZE_PACKAGES/$archive.tar.gz" "$CLOZE_PACKAGES/libcloze1_${VERSION}_$arch.deb" "$CLOZE_PACKAGES/libcloze-dev_${VERSION}_$arch.deb"

CLOZE_PACKAGES="$CLOZE_PACKAGES" VERSION="$VERSION" SCRIPT=package sh scripts/bindings.sh
ls -l "$CLOZE_PACKAGES"
