#!/bin/sh
# Makes the Go module in CLOZE_PACKAGES, with header and static library inside, and tries it as a user would, in a clean folder. The variables are
# those of scripts/package.sh.
set -eu
sh scripts/bootstrap.sh cc go
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name="cloze-go-$VERSION"
inside="$work/$name/c/$(go env GOOS)_$(go env GOARCH)"

mkdir -p "$inside"
cp -R bindings/go/. "$work/$name"
rm "$work/$name/test.sh" "$work/$name/package.sh" "$work/$name"/*_test.go "$work/$name"/examples/*/*_test.go
cp LICENSE-MIT LICENSE-APACHE CHANGELOG.md "$work/$name"
cp "$CLOZE_INCLUDE/cloze.h" "$work/$name/c"
cp -L "$CLOZE_LIB/libcloze.a" "$inside"
cat >"$work/$name/link.go" <<LINK
package cloze

// The library lies in the module: one folder for each system that the archive was made for.

// #cgo CFLAGS: -I\${SRCDIR}/c
// #cgo $(go env GOOS),$(go env GOARCH) LDFLAGS: \${SRCDIR}/c/$(go env GOOS)_$(go env GOARCH)/libcloze.a -lpthread -ldl -lm -lgcc_s
import "C"
LINK
rm -f "$CLOZE_PACKAGES"/cloze-go-*.tar.gz
tar -C "$work" --owner=0 --group=0 --numeric-owner --sort=name -czf "$CLOZE_PACKAGES/$name.tar.gz" "$name"

# A program of its own that knows only the archive.
mkdir "$work/clean"
cd "$work/clean"
tar -xzf "$CLOZE_PACKAGES/$name.tar.gz"
sed -n '/^```go$/,/^```$/p' "$name/README.md" | sed '/^```/d' >main.go
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
printf 'module clean\n\ngo 1.22\n\nrequire cloze.dev/go v0.0.0\n\nreplace cloze.dev/go => ./%s\n' "$name" >go.mod
env -u PKG_CONFIG_PATH -u LD_LIBRARY_PATH go build -o program .
env -u LD_LIBRARY_PATH ./program "$root/tests/golden/models/tiny-gelu" >said
grep -q '2 vectors of 8 values' said
echo "package go: $name.tar.gz"
