package cloze

// The library is found by pkg-config: `make install PREFIX=...` and PKG_CONFIG_PATH. The module that `make package` makes has another
// link.go, which takes the archive that lies in the module itself.

// #cgo pkg-config: cloze
import "C"
