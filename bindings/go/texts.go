package cloze

// #include <cloze.h>
import "C"

import (
	"runtime"
	"unsafe"
)

// texts are strings of Go where C reads them: their bytes are pinned, not copied, until release.
type texts struct {
	starts  []*C.char
	lengths []C.size_t
	pinner  runtime.Pinner
}

func newTexts(list []string) *texts {
	t := &texts{starts: make([]*C.char, 0, len(list)), lengths: make([]C.size_t, 0, len(list))}
	for _, text := range list {
		t.add(text)
	}
	return t
}

func (t *texts) add(text string) {
	start := unsafe.Pointer(&nothing[0])
	if len(text) > 0 {
		start = unsafe.Pointer(unsafe.StringData(text))
		t.pinner.Pin(start)
	}
	t.starts = append(t.starts, (*C.char)(start))
	t.lengths = append(t.lengths, C.size_t(len(text)))
}

// addNone adds a second text that is not there.
func (t *texts) addNone() {
	t.starts = append(t.starts, nil)
	t.lengths = append(t.lengths, 0)
}

func (t *texts) release() { t.pinner.Unpin() }

func (t *texts) count() C.size_t   { return C.size_t(len(t.starts)) }
func (t *texts) start() **C.char   { return first(t.starts) }
func (t *texts) length() *C.size_t { return first(t.lengths) }

// one is a text that C takes by itself.
func one(text string) (*C.char, C.size_t) {
	if len(text) == 0 {
		return (*C.char)(unsafe.Pointer(&nothing[0])), 0
	}
	return (*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text))
}

// text is a string of C, with its length behind it.
func text(start *C.char, length C.size_t) string { return C.GoStringN(start, C.int(length)) }
