package cloze

// #include <cloze.h>
import "C"

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Setting is a key and its value, both words, as on the command line.
type Setting struct {
	Key, Value string
}

// Set makes a setting of a call, with a key of cloze_request_set, or of [Open], with one of cloze_options_set. Numbers and bools become words.
func Set(key string, value any) Setting { return Setting{key, fmt.Sprint(value)} }

func (s Setting) words() (key, value *C.char, err error) {
	if key, err = cWord("the key", s.Key); err != nil {
		return nil, nil, err
	}
	value, err = cWord("the value", s.Value)
	return key, value, err
}

// request is what one call in C needs beside its texts.
type request struct {
	raw    *C.cloze_request // NULL where nothing is asked for
	cancel *C.cloze_cancel
	error  *C.cloze_error
	ctx    context.Context
	stop   func() bool
	raised chan struct{}
}

// newRequest takes the settings, and lets the context stop the call. Its end() must be called.
func newRequest(ctx context.Context, settings []Setting) (*request, error) {
	r := &request{error: newError(), ctx: ctx}
	deadline, timed := ctx.Deadline()
	if len(settings) == 0 && ctx.Done() == nil && !timed {
		return r, nil
	}
	r.raw = C.cloze_request_new()
	if timed {
		settings = append(settings[:len(settings):len(settings)], remaining(deadline, settings))
	}
	for _, setting := range settings {
		key, value, err := setting.words()
		if err != nil {
			r.end()
			return nil, err
		}
		if status := C.cloze_request_set(r.raw, key, value, r.error); status != C.CLOZE_OK {
			err := failed(status, r.error)
			r.end()
			return nil, err
		}
	}
	if ctx.Done() != nil {
		r.watch()
	}
	return r, nil
}

// remaining is the `deadline_ms` of a context, or the caller's own if it is shorter.
func remaining(deadline time.Time, settings []Setting) Setting {
	left := math.Max(0, math.Ceil(float64(time.Until(deadline))/float64(time.Millisecond)))
	for _, setting := range settings {
		if own, err := strconv.ParseFloat(setting.Value, 64); setting.Key == "deadline_ms" && err == nil {
			left = math.Min(left, own)
		}
	}
	return Set("deadline_ms", int64(math.Min(left, 1e12)))
}

// watch raises a flag of C when the context is done.
func (r *request) watch() {
	r.cancel = C.cloze_cancel_new()
	C.cloze_request_set_cancel(r.raw, r.cancel, nil)
	if r.ctx.Err() != nil {
		C.cloze_cancel_cancel(r.cancel, nil)
		return
	}
	r.raised = make(chan struct{})
	r.stop = context.AfterFunc(r.ctx, func() {
		C.cloze_cancel_cancel(r.cancel, nil)
		close(r.raised)
	})
}

// end frees everything, after the flag's last use.
func (r *request) end() {
	if r.stop != nil && !r.stop() {
		<-r.raised
	}
	C.cloze_cancel_free(r.cancel)
	C.cloze_request_free(r.raw)
	C.cloze_error_free(r.error)
}

// err is the error of a call, nil of CLOZE_OK. Where the context stopped it, it says so in the context's words, too.
func (r *request) err(status C.cloze_status) error {
	if status == C.CLOZE_OK {
		return nil
	}
	e := failed(status, r.error)
	if stopped(status) && r.ctx.Err() != nil {
		e.cause = context.Cause(r.ctx)
		if r.ctx.Err() == context.DeadlineExceeded {
			e.Status = DeadlineExceeded // the context's timer may raise the flag before the library looks at the clock
		}
	}
	return e
}

func stopped(status C.cloze_status) bool {
	return status == C.CLOZE_DEADLINE_EXCEEDED || status == C.CLOZE_CANCELLED
}

// call runs a call in C over the texts of some lists. The status, and the function that reads its answer, are the caller's to use.
func (m *Model) call(ctx context.Context, settings []Setting, body func(r *request) C.cloze_status) error {
	if err := m.held.enter(); err != nil {
		return err
	}
	defer m.held.leave()
	r, err := newRequest(ctx, settings)
	if err != nil {
		return err
	}
	defer r.end()
	return r.err(body(r))
}
