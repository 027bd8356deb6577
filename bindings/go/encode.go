package cloze

// #include <cloze.h>
import "C"

import (
	"context"
	"unsafe"
)

// Encode turns texts into vectors of floats; the setting `output` stays f32.
func (m *Model) Encode(ctx context.Context, texts []string, settings ...Setting) (*Vectors, error) {
	packed, err := m.encode(ctx, texts, settings)
	if packed == nil {
		return nil, err
	}
	vectors := 0
	for _, text := range packed.Inputs {
		vectors += text.Vectors
	}
	if vectors*packed.Dimensions*4 != len(packed.Bytes) {
		return nil, &Error{Status: InvalidArgument, Message: "Encode gives floats: leave `output` at f32, or call EncodePacked"}
	}
	return &Vectors{packed.Report, floats(packed.Bytes)}, err
}

// EncodeInto writes the vectors to floats of the caller's; it returns what became of the texts, and how many floats were written. If there
// is no room for all, nothing is written, the error is [BufferTooSmall], and the number is of those needed.
func (m *Model) EncodeInto(ctx context.Context, texts []string, into []float32, settings ...Setting) (*Report, int, error) {
	bytes := []byte{}
	if len(into) > 0 {
		bytes = unsafe.Slice((*byte)(unsafe.Pointer(&into[0])), 4*len(into))
	}
	var report *Report
	written := 0
	err := m.call(ctx, settings, func(r *request) C.cloze_status {
		status, w, done := m.encodeTo(r, texts, bytes)
		report, written = done, w/4
		return status
	})
	return report, written, err
}

// EncodePacked turns texts into vectors of any `output`, as bytes.
func (m *Model) EncodePacked(ctx context.Context, texts []string, settings ...Setting) (*Packed, error) {
	return m.encode(ctx, texts, settings)
}

func (m *Model) encode(ctx context.Context, texts []string, settings []Setting) (*Packed, error) {
	var packed *Packed
	err := m.call(ctx, settings, func(r *request) C.cloze_status {
		room, status := m.roomFor(r, texts)
		if status != C.CLOZE_OK {
			return status
		}
		buffer := room.bytes()
		status, written, report := m.encodeTo(r, texts, buffer)
		if status == C.CLOZE_BUFFER_TOO_SMALL {
			buffer = size(written).bytes()
			status, written, report = m.encodeTo(r, texts, buffer)
		}
		if report != nil {
			packed = &Packed{*report, buffer[:written]}
		}
		return status
	})
	return packed, err
}

// size is a number of bytes. Their memory is that of floats, so that it can be read as such.
type size int

func (s size) bytes() []byte {
	if s == 0 {
		return []byte{}
	}
	memory := make([]float32, (int(s)+3)/4)
	return unsafe.Slice((*byte)(unsafe.Pointer(&memory[0])), int(s))
}

func floats(bytes []byte) []float32 {
	if len(bytes) == 0 {
		return []float32{}
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&bytes[0])), len(bytes)/4)
}

// encodeTo is cloze_encode. There is a report after success, and of a call that was stopped.
func (m *Model) encodeTo(r *request, list []string, into []byte) (C.cloze_status, int, *Report) {
	t := newTexts(list)
	defer t.release()
	var written C.size_t
	var raw *C.cloze_report
	status := C.cloze_encode(m.held.model, r.raw, t.start(), t.length(), t.count(), unsafe.Pointer(first(into)), C.size_t(len(into)), &written, &raw, r.error)
	if raw == nil {
		return status, int(written), nil
	}
	defer C.cloze_report_free(raw)
	return status, int(written), readReport(raw)
}

func readReport(raw *C.cloze_report) *Report {
	report := &Report{Dimensions: int(C.cloze_report_dimensions(raw))}
	report.Finished = int(C.cloze_report_finished(raw))
	report.Inputs = make([]Encoded, int(C.cloze_report_count(raw)))
	total := 0
	var s seen
	var first, vectors C.size_t
	for i := range report.Inputs {
		C.cloze_report_text(raw, C.size_t(i), &s.tokens, &s.total, &s.truncated, &s.windows, &first, &vectors, nil)
		report.Inputs[i] = Encoded{s.goSeen(), int(first), int(vectors)}
		total += int(vectors)
	}
	var scale C.float
	for i := 0; i < total && C.cloze_report_scale(raw, C.size_t(i), &scale, nil) == C.CLOZE_OK; i++ {
		report.Scales = append(report.Scales, float32(scale))
	}
	return report
}

// roomFor is the bytes of the vectors: known for one vector a text; for one a token, what as many tokens as there are may need.
func (m *Model) roomFor(r *request, list []string) (size, C.cloze_status) {
	var needed C.size_t
	status := C.cloze_encode_size(m.held.model, r.raw, C.size_t(len(list)), &needed, r.error)
	if status != C.CLOZE_INVALID_ARGUMENT {
		return size(needed), status
	}
	var dimensions C.size_t
	if status := C.cloze_model_dimensions(m.held.model, r.raw, &dimensions, r.error); status != C.CLOZE_OK {
		return 0, status
	}
	vectors := 0
	for _, text := range list {
		start, length := one(text)
		var tokens *C.cloze_tokens
		if status := C.cloze_tokenize(m.held.model, r.raw, start, length, nil, 0, &tokens, r.error); status != C.CLOZE_OK {
			return 0, status
		}
		for window := C.size_t(0); window < C.cloze_tokens_windows(tokens); window++ {
			vectors += int(C.cloze_tokens_count(tokens, window))
		}
		C.cloze_tokens_free(tokens)
	}
	return size(vectors * int(dimensions) * 4), C.CLOZE_OK
}

// Dimensions is the number of values of one vector.
func (m *Model) Dimensions(settings ...Setting) (int, error) {
	var dimensions C.size_t
	err := m.call(context.Background(), settings, func(r *request) C.cloze_status {
		return C.cloze_model_dimensions(m.held.model, r.raw, &dimensions, r.error)
	})
	return int(dimensions), err
}

// EncodeSparse turns texts into sparse weights of the vocabulary.
func (m *Model) EncodeSparse(ctx context.Context, list []string, settings ...Setting) (*Batch[SparseText], error) {
	t := newTexts(list)
	defer t.release()
	var answer *Batch[SparseText]
	err := m.call(ctx, settings, func(r *request) C.cloze_status {
		var raw *C.cloze_sparse
		status := C.cloze_encode_sparse(m.held.model, r.raw, t.start(), t.length(), t.count(), &raw, r.error)
		if raw != nil {
			defer C.cloze_sparse_free(raw)
			answer = readSparse(raw)
		}
		return status
	})
	return answer, err
}

func readSparse(raw *C.cloze_sparse) *Batch[SparseText] {
	answer := &Batch[SparseText]{make([]SparseText, C.cloze_sparse_count(raw)), int(C.cloze_sparse_finished(raw))}
	var s seen
	for i := range answer.Inputs {
		C.cloze_sparse_input(raw, C.size_t(i), &s.tokens, &s.total, &s.truncated, &s.windows, nil)
		count := C.cloze_sparse_weights(raw, C.size_t(i))
		ids, weights := make([]C.uint32_t, count), make([]C.float, count)
		C.cloze_sparse_copy(raw, C.size_t(i), first(ids), first(weights), count, &count, nil)
		input := SparseText{Seen: s.goSeen(), Weights: make([]Weight, count)}
		for place := range input.Weights {
			var length C.size_t
			token := C.cloze_sparse_token(raw, C.size_t(i), C.size_t(place), &length)
			input.Weights[place] = Weight{int(ids[place]), float32(weights[place]), text(token, length)}
		}
		answer.Inputs[i] = input
	}
	return answer
}

// EncodeLate turns texts into the token vectors that late interaction compares.
func (m *Model) EncodeLate(ctx context.Context, list []string, settings ...Setting) (*Late, error) {
	t := newTexts(list)
	defer t.release()
	var answer *Late
	err := m.call(ctx, settings, func(r *request) C.cloze_status {
		var raw *C.cloze_late
		status := C.cloze_encode_late(m.held.model, r.raw, t.start(), t.length(), t.count(), &raw, r.error)
		if raw != nil {
			defer C.cloze_late_free(raw)
			answer = readLate(raw)
		}
		return status
	})
	return answer, err
}

func readLate(raw *C.cloze_late) *Late {
	answer := &Late{Dimensions: int(C.cloze_late_dimensions(raw))}
	answer.Inputs, answer.Finished = make([]LateText, C.cloze_late_count(raw)), int(C.cloze_late_finished(raw))
	var s seen
	for i := range answer.Inputs {
		C.cloze_late_input(raw, C.size_t(i), &s.tokens, &s.total, &s.truncated, &s.windows, nil)
		input := LateText{Seen: s.goSeen(), Rows: make([]LateToken, C.cloze_late_vectors(raw, C.size_t(i)))}
		input.Values = make([]float32, len(input.Rows)*answer.Dimensions)
		var count C.size_t
		C.cloze_late_copy(raw, C.size_t(i), (*C.float)(first(input.Values)), C.size_t(len(input.Values)), &count, nil)
		for row := range input.Rows {
			var id C.uint32_t
			var start, end, length C.size_t
			C.cloze_late_get(raw, C.size_t(i), C.size_t(row), &id, &start, &end, nil)
			token := C.cloze_late_token(raw, C.size_t(i), C.size_t(row), &length)
			input.Rows[row] = LateToken{int(id), int(start), int(end), text(token, length)}
		}
		answer.Inputs[i] = input
	}
	return answer
}
