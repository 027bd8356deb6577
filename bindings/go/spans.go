package cloze

// #include <cloze.h>
import "C"

import "context"

// seen is where C writes what became of an input.
type seen struct {
	tokens, total C.size_t
	truncated     C.bool
	windows       C.size_t
}

func (s *seen) goSeen() Seen {
	return Seen{int(s.tokens), int(s.total), bool(s.truncated), int(s.windows)}
}

// Extract finds the parts of contexts that answer a question.
func (m *Model) Extract(ctx context.Context, question string, contexts []string, settings ...Setting) (*Batch[Extracted], error) {
	t := newTexts(contexts)
	defer t.release()
	var answer *Batch[Extracted]
	err := m.call(ctx, settings, func(r *request) C.cloze_status {
		var raw *C.cloze_answers
		start, length := one(question)
		status := C.cloze_extract(m.held.model, r.raw, start, length, t.start(), t.length(), t.count(), &raw, r.error)
		if raw != nil {
			defer C.cloze_answers_free(raw)
			answer = readAnswers(raw)
		}
		return status
	})
	return answer, err
}

func readAnswers(raw *C.cloze_answers) *Batch[Extracted] {
	answer := &Batch[Extracted]{make([]Extracted, C.cloze_answers_count(raw)), int(C.cloze_answers_finished(raw))}
	var s seen
	for i := range answer.Inputs {
		var score, logit C.float
		C.cloze_answers_context(raw, C.size_t(i), &s.tokens, &s.total, &s.truncated, &s.windows, nil)
		C.cloze_answers_none(raw, C.size_t(i), &score, &logit, nil)
		input := Extracted{s.goSeen(), make([]Answer, C.cloze_answers_found(raw, C.size_t(i))), float32(score), float32(logit)}
		for place := range input.Answers {
			var start, end, length C.size_t
			C.cloze_answers_get(raw, C.size_t(i), C.size_t(place), &start, &end, &score, &logit, nil)
			part := C.cloze_answers_text(raw, C.size_t(i), C.size_t(place), &length)
			input.Answers[place] = Answer{text(part, length), int(start), int(end), float32(score), float32(logit)}
		}
		answer.Inputs[i] = input
	}
	return answer
}

// Tag finds the entities of texts.
func (m *Model) Tag(ctx context.Context, list []string, settings ...Setting) (*Batch[Tagged], error) {
	t := newTexts(list)
	defer t.release()
	return m.entities(ctx, settings, func(r *request, raw **C.cloze_entities) C.cloze_status {
		return C.cloze_tag(m.held.model, r.raw, t.start(), t.length(), t.count(), raw, r.error)
	})
}

// TagWords finds the entities of words that the caller has found, a list for each input.
func (m *Model) TagWords(ctx context.Context, inputs [][]string, settings ...Setting) (*Batch[Tagged], error) {
	t := &texts{}
	defer t.release()
	counts := make([]C.size_t, len(inputs))
	for i, words := range inputs {
		counts[i] = C.size_t(len(words))
		for _, word := range words {
			t.add(word)
		}
	}
	return m.entities(ctx, settings, func(r *request, raw **C.cloze_entities) C.cloze_status {
		return C.cloze_tag_words(m.held.model, r.raw, t.start(), t.length(), first(counts), C.size_t(len(counts)), raw, r.error)
	})
}

func (m *Model) entities(ctx context.Context, settings []Setting, call func(*request, **C.cloze_entities) C.cloze_status) (*Batch[Tagged], error) {
	var answer *Batch[Tagged]
	err := m.call(ctx, settings, func(r *request) C.cloze_status {
		var raw *C.cloze_entities
		status := call(r, &raw)
		if raw != nil {
			defer C.cloze_entities_free(raw)
			answer = readEntities(raw)
		}
		return status
	})
	return answer, err
}

func readEntities(raw *C.cloze_entities) *Batch[Tagged] {
	answer := &Batch[Tagged]{make([]Tagged, C.cloze_entities_count(raw)), int(C.cloze_entities_finished(raw))}
	var s seen
	for i := range answer.Inputs {
		C.cloze_entities_input(raw, C.size_t(i), &s.tokens, &s.total, &s.truncated, &s.windows, nil)
		input := Tagged{s.goSeen(), make([]Entity, C.cloze_entities_found(raw, C.size_t(i)))}
		for place := range input.Entities {
			var start, end, length, firstWord, endWord C.size_t
			var score C.float
			C.cloze_entities_get(raw, C.size_t(i), C.size_t(place), &start, &end, &score, nil)
			C.cloze_entities_words(raw, C.size_t(i), C.size_t(place), &firstWord, &endWord, nil) // of a text it refuses, and leaves 0
			label := C.cloze_entities_label(raw, C.size_t(i), C.size_t(place), &length)
			entity := Entity{Label: text(label, length), Start: int(start), End: int(end), Score: float32(score), FirstWord: int(firstWord), EndWord: int(endWord)}
			part := C.cloze_entities_text(raw, C.size_t(i), C.size_t(place), &length)
			entity.Text = text(part, length)
			input.Entities[place] = entity
		}
		answer.Inputs[i] = input
	}
	return answer
}

// Tokenize cuts a text, or a text and its second one, into the tokens that the encoder would see.
func (m *Model) Tokenize(ctx context.Context, pair Pair, settings ...Setting) (*Tokens, error) {
	var answer *Tokens
	err := m.call(ctx, settings, func(r *request) C.cloze_status {
		start, length := one(pair.Text)
		second, secondLength := pair.second()
		var raw *C.cloze_tokens
		status := C.cloze_tokenize(m.held.model, r.raw, start, length, second, secondLength, &raw, r.error)
		if raw != nil {
			defer C.cloze_tokens_free(raw)
			answer = readTokens(raw)
		}
		return status
	})
	return answer, err
}

func (p Pair) second() (*C.char, C.size_t) {
	if p.Second == nil {
		return nil, 0
	}
	return one(*p.Second)
}

func readTokens(raw *C.cloze_tokens) *Tokens {
	answer := &Tokens{make([][]Token, C.cloze_tokens_windows(raw)), int(C.cloze_tokens_total(raw)), bool(C.cloze_tokens_truncated(raw))}
	for window := range answer.Windows {
		tokens := make([]Token, C.cloze_tokens_count(raw, C.size_t(window)))
		for place := range tokens {
			var id, kind C.uint32_t
			var special C.bool
			var start, end, length C.size_t
			C.cloze_tokens_get(raw, C.size_t(window), C.size_t(place), &id, &kind, &special, &start, &end, nil)
			spelled := C.cloze_tokens_text(raw, C.size_t(window), C.size_t(place), &length)
			tokens[place] = Token{int(id), int(kind), bool(special), int(start), int(end), text(spelled, length)}
		}
		answer.Windows[window] = tokens
	}
	return answer
}

// Attention runs the encoder over a text, or a text and its second one, and keeps what each head looks at and all hidden states.
func (m *Model) Attention(ctx context.Context, pair Pair, settings ...Setting) (*Maps, error) {
	var answer *Maps
	err := m.call(ctx, settings, func(r *request) C.cloze_status {
		start, length := one(pair.Text)
		second, secondLength := pair.second()
		var raw *C.cloze_maps
		status := C.cloze_attention(m.held.model, r.raw, start, length, second, secondLength, &raw, r.error)
		if raw != nil {
			defer C.cloze_maps_free(raw)
			answer = readMaps(raw)
		}
		return status
	})
	return answer, err
}

func readMaps(raw *C.cloze_maps) *Maps {
	var layers, heads, tokens, hidden, count C.size_t
	C.cloze_maps_sizes(raw, &layers, &heads, &tokens, &hidden, nil)
	answer := &Maps{Layers: int(layers), Heads: int(heads), Hidden: int(hidden), Tokens: readTokens(C.cloze_maps_tokens(raw)).Windows[0]}
	for layer := C.size_t(0); layer < layers; layer++ {
		maps := make([][]float32, heads)
		for head := range maps {
			maps[head] = make([]float32, tokens*tokens)
			C.cloze_maps_attention(raw, layer, C.size_t(head), (*C.float)(first(maps[head])), tokens*tokens, &count, nil)
		}
		answer.Attention = append(answer.Attention, maps)
	}
	for layer := C.size_t(0); layer <= layers; layer++ {
		state := make([]float32, tokens*hidden)
		C.cloze_maps_state(raw, layer, (*C.float)(first(state)), tokens*hidden, &count, nil)
		answer.States = append(answer.States, state)
	}
	return answer
}
