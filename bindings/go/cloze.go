// Package cloze turns text into vectors, ranks, labels and entities inside the caller's own process, with BERT-family models.
//
//	model, err := cloze.Open("models/minilm")
//	...
//	defer model.Close()
//	ranking, err := model.Rerank(ctx, "how much is postage", passages, cloze.Set("top", 3))
//
// It is a thin layer over the C library: methods are the calls of cloze.h, settings its keys and values, and what that header says of limits
// and answers holds here. Texts are UTF-8, as Go's usually are, and are passed to C where they lie.
//
// Errors are *[Error], with the status of the C call: errors.Is(err, cloze.TooLong). A call that its context or `deadline_ms` stops
// returns the finished part of its answer and an error.
//
// Any number of goroutines may call one [Model] at once, and close it at any time.
package cloze

// #include <cloze.h>
import "C"

import (
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"
)

// Model is an open model: tokenizer, weights, and what the model's files say about their use. It never changes.
type Model struct {
	held *held
}

// held counts the calls that use a model in C, and the Model itself: the last one to leave frees it.
type held struct {
	model  *C.cloze_model
	users  atomic.Int64
	closed atomic.Bool
}

// Open opens a folder or a GGUF file. The keys of settings are those of cloze_options_set.
func Open(path string, settings ...Setting) (*Model, error) {
	word, err := cWord("the path", path)
	if err != nil {
		return nil, err
	}
	return open(settings, func(options *C.cloze_options, model **C.cloze_model, e *C.cloze_error) C.cloze_status {
		return C.cloze_model_load(word, options, model, e)
	})
}

// OpenFiles opens a model whose files are in memory, by their names relative to the model's folder, with `/`. The bytes are copied.
func OpenFiles(files map[string][]byte, settings ...Setting) (*Model, error) {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	names := make([]*C.char, 0, len(files)+1)
	datas := make([]unsafe.Pointer, 0, len(files)+1)
	lengths := make([]C.size_t, 0, len(files)+1)
	for name, bytes := range files {
		word, err := cWord("the name", name)
		if err != nil {
			return nil, err
		}
		pinner.Pin(word)
		data := unsafe.Pointer(&nothing[0])
		if len(bytes) > 0 {
			data = unsafe.Pointer(&bytes[0])
		}
		pinner.Pin(data)
		names, datas, lengths = append(names, word), append(datas, data), append(lengths, C.size_t(len(bytes)))
	}
	return open(settings, func(options *C.cloze_options, model **C.cloze_model, e *C.cloze_error) C.cloze_status {
		return C.cloze_model_load_files(first(names), first(datas), first(lengths), C.size_t(len(names)), options, model, e)
	})
}

func open(settings []Setting, load func(*C.cloze_options, **C.cloze_model, *C.cloze_error) C.cloze_status) (*Model, error) {
	e := newError()
	defer C.cloze_error_free(e)
	options := C.cloze_options_new()
	defer C.cloze_options_free(options)
	for _, setting := range settings {
		key, value, err := setting.words()
		if err != nil {
			return nil, err
		}
		if status := C.cloze_options_set(options, key, value, e); status != C.CLOZE_OK {
			return nil, failed(status, e)
		}
	}
	h := &held{}
	if status := load(options, &h.model, e); status != C.CLOZE_OK {
		return nil, failed(status, e)
	}
	h.users.Store(1)
	model := &Model{h}
	// A net for those who forget Close: memory of C weighs nothing with Go's collector, so do not count on it.
	runtime.SetFinalizer(model, (*Model).Close)
	return model, nil
}

// Close frees the model, once the calls that run have ended; it does not wait for them. Calls that begin later fail with [Closed].
func (m *Model) Close() error {
	if m.held.closed.CompareAndSwap(false, true) {
		runtime.SetFinalizer(m, nil)
		m.held.leave()
	}
	return nil
}

// enter lets a call use the model until it leaves.
func (h *held) enter() error {
	for {
		users := h.users.Load()
		if users == 0 || h.closed.Load() {
			return &Error{Status: Closed, Message: "the model is closed"}
		}
		if h.users.CompareAndSwap(users, users+1) {
			return nil
		}
	}
}

func (h *held) leave() {
	if h.users.Add(-1) == 0 {
		C.cloze_model_free(h.model)
	}
}

// Version is the version of the C library that is loaded.
func Version() string { return C.GoString(C.cloze_version()) }

// Describe describes the model as one JSON object: family, layers, dimensions, prompts and more.
func (m *Model) Describe() (string, error) {
	return m.json(func(buffer *C.char, capacity C.size_t, needed *C.size_t, e *C.cloze_error) C.cloze_status {
		return C.cloze_model_describe(m.held.model, buffer, capacity, needed, e)
	})
}

// Verify tells as one JSON object how near the model's answers are to the probes in its file. With [VerificationFailed] it returns both.
func (m *Model) Verify() (string, error) {
	return m.json(func(buffer *C.char, capacity C.size_t, needed *C.size_t, e *C.cloze_error) C.cloze_status {
		return C.cloze_model_verify(m.held.model, buffer, capacity, needed, e)
	})
}

func (m *Model) json(call func(*C.char, C.size_t, *C.size_t, *C.cloze_error) C.cloze_status) (string, error) {
	if err := m.held.enter(); err != nil {
		return "", err
	}
	defer m.held.leave()
	e := newError()
	defer C.cloze_error_free(e)
	buffer := make([]C.char, 16384)
	var needed C.size_t
	status := call(&buffer[0], C.size_t(len(buffer)), &needed, e)
	if status == C.CLOZE_BUFFER_TOO_SMALL {
		buffer = make([]C.char, needed)
		status = call(&buffer[0], C.size_t(len(buffer)), &needed, e)
	}
	if status != C.CLOZE_OK && status != C.CLOZE_VERIFICATION_FAILED {
		return "", failed(status, e)
	}
	text := C.GoStringN(&buffer[0], C.int(needed-1))
	if status != C.CLOZE_OK {
		return text, failed(status, e)
	}
	return text, nil
}

// Memory is a statistic of the memory that the model holds: see cloze_memory_statistics for the keys.
func (m *Model) Memory(key string) (int, error) {
	word, err := cWord("the key", key)
	if err != nil {
		return 0, err
	}
	return m.size(func(value *C.size_t, e *C.cloze_error) C.cloze_status {
		return C.cloze_memory_statistics(m.held.model, word, value, e)
	})
}

// MemoryPeak is the most bytes that one call needs at once to encode so many texts of so many tokens.
func (m *Model) MemoryPeak(tokens, texts int) (int, error) {
	return m.size(func(value *C.size_t, e *C.cloze_error) C.cloze_status {
		return C.cloze_memory_peak(m.held.model, C.size_t(tokens), C.size_t(texts), value, e)
	})
}

// MemoryTrim frees the work areas that no running call uses.
func (m *Model) MemoryTrim() error {
	_, err := m.size(func(_ *C.size_t, e *C.cloze_error) C.cloze_status { return C.cloze_memory_trim(m.held.model, e) })
	return err
}

func (m *Model) size(call func(*C.size_t, *C.cloze_error) C.cloze_status) (int, error) {
	if err := m.held.enter(); err != nil {
		return 0, err
	}
	defer m.held.leave()
	e := newError()
	defer C.cloze_error_free(e)
	var value C.size_t
	if status := call(&value, e); status != C.CLOZE_OK {
		return 0, failed(status, e)
	}
	return int(value), nil
}

// nothing is what the pointer of an empty text points to: C takes NULL for a text that is not there.
var nothing [1]byte

// cWord is a word for C, which ends at the first NUL: one that has another inside would become a different word.
func cWord(what, word string) (*C.char, error) {
	if strings.IndexByte(word, 0) >= 0 {
		return nil, &Error{Status: InvalidArgument, Message: what + " " + strings.ToValidUTF8(strings.ReplaceAll(word, "\x00", "\\0"), "?") + " has a NUL inside: leave it out"}
	}
	bytes := append([]byte(word), 0)
	return (*C.char)(unsafe.Pointer(&bytes[0])), nil
}

// first is a pointer to the first item of a list, nil of an empty one.
func first[T any](list []T) *T {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}
