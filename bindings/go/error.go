package cloze

// #include <cloze.h>
import "C"

import (
	"context"
)

// Status is the outcome of a call; statuses are errors, so that errors.Is(err, cloze.TooLong) works.
type Status int32

// The statuses of cloze.h.
const (
	NullArgument       Status = C.CLOZE_NULL_ARGUMENT
	InvalidArgument    Status = C.CLOZE_INVALID_ARGUMENT
	InvalidUTF8        Status = C.CLOZE_INVALID_UTF8
	IO                 Status = C.CLOZE_IO
	InvalidFile        Status = C.CLOZE_INVALID_FILE
	Unsupported        Status = C.CLOZE_UNSUPPORTED
	InvalidTensor      Status = C.CLOZE_INVALID_TENSOR
	TooLong            Status = C.CLOZE_TOO_LONG
	BufferTooSmall     Status = C.CLOZE_BUFFER_TOO_SMALL
	DeadlineExceeded   Status = C.CLOZE_DEADLINE_EXCEEDED
	Cancelled          Status = C.CLOZE_CANCELLED
	NonFinite          Status = C.CLOZE_NON_FINITE
	OutOfMemory        Status = C.CLOZE_OUT_OF_MEMORY
	Panic              Status = C.CLOZE_PANIC
	VerificationFailed Status = C.CLOZE_VERIFICATION_FAILED
	// Closed is of this package alone: the model was closed before the call began.
	Closed Status = -1
)

// Error is the status as cloze.h spells it, such as CLOZE_TOO_LONG.
func (s Status) Error() string {
	if s == Closed {
		return "CLOZE_CLOSED"
	}
	return C.GoString(C.cloze_status_name(C.cloze_status(s)))
}

// Error is a call that failed, or was stopped.
type Error struct {
	Status  Status
	Message string // one sentence that names the thing and says what to do
	cause   error
}

func (e *Error) Error() string { return "cloze: " + e.Message }

// Unwrap gives, of a call that its context stopped, the context's cause.
func (e *Error) Unwrap() error { return e.cause }

// Is makes errors.Is compare statuses; DeadlineExceeded and Cancelled are the errors of package context of that name, too.
func (e *Error) Is(target error) bool {
	switch target {
	case e.Status:
		return true
	case context.DeadlineExceeded:
		return e.Status == DeadlineExceeded
	case context.Canceled:
		return e.Status == Cancelled
	}
	return false
}

func newError() *C.cloze_error { return C.cloze_error_new() }

func failed(status C.cloze_status, e *C.cloze_error) *Error {
	var length C.size_t
	message := C.cloze_error_message(e, &length)
	return &Error{Status: Status(status), Message: C.GoStringN(message, C.int(length))}
}
