package cloze

// #include <cloze.h>
import "C"

import "context"

// Rerank ranks documents by how well they answer a query. Of a call that was stopped, the documents that were scored by then are ranked.
func (m *Model) Rerank(ctx context.Context, query string, documents []string, settings ...Setting) (*Ranking, error) {
	t := newTexts(documents)
	defer t.release()
	var answer *Ranking
	err := m.call(ctx, settings, func(r *request) C.cloze_status {
		var raw *C.cloze_ranking
		start, length := one(query)
		status := C.cloze_rerank(m.held.model, r.raw, start, length, t.start(), t.length(), t.count(), &raw, r.error)
		if raw != nil {
			defer C.cloze_ranking_free(raw)
			answer = readRanking(raw, len(documents))
		}
		return status
	})
	return answer, err
}

func readRanking(raw *C.cloze_ranking, documents int) *Ranking {
	answer := &Ranking{make([]Ranked, C.cloze_ranking_count(raw)), int(C.cloze_ranking_scored(raw)), make([]Seen, documents)}
	var document C.size_t
	var score, logit C.float
	for rank := range answer.Ranks {
		C.cloze_ranking_get(raw, C.size_t(rank), &document, &score, &logit, nil)
		answer.Ranks[rank] = Ranked{int(document), float32(score), float32(logit)}
	}
	var s seen
	for i := range answer.Documents {
		C.cloze_ranking_document(raw, C.size_t(i), &s.tokens, &s.total, &s.truncated, &s.windows, nil)
		answer.Documents[i] = s.goSeen()
	}
	return answer
}

// Classify labels texts.
func (m *Model) Classify(ctx context.Context, list []string, settings ...Setting) (*Batch[Labelled], error) {
	t := newTexts(list)
	defer t.release()
	return m.classes(ctx, settings, func(r *request, raw **C.cloze_classes) C.cloze_status {
		return C.cloze_classify(m.held.model, r.raw, t.start(), t.length(), nil, nil, t.count(), raw, r.error)
	})
}

// ClassifyPairs labels texts, each with its second text or without.
func (m *Model) ClassifyPairs(ctx context.Context, pairs []Pair, settings ...Setting) (*Batch[Labelled], error) {
	t, seconds := &texts{}, &texts{}
	defer t.release()
	defer seconds.release()
	for _, pair := range pairs {
		t.add(pair.Text)
		if pair.Second != nil {
			seconds.add(*pair.Second)
		} else {
			seconds.addNone()
		}
	}
	return m.classes(ctx, settings, func(r *request, raw **C.cloze_classes) C.cloze_status {
		return C.cloze_classify(m.held.model, r.raw, t.start(), t.length(), seconds.start(), seconds.length(), t.count(), raw, r.error)
	})
}

// ClassifyAs says how well labels of the caller's fit texts, by a model of natural language inference.
func (m *Model) ClassifyAs(ctx context.Context, list, labels []string, settings ...Setting) (*Batch[Labelled], error) {
	t, l := newTexts(list), newTexts(labels)
	defer t.release()
	defer l.release()
	return m.classes(ctx, settings, func(r *request, raw **C.cloze_classes) C.cloze_status {
		return C.cloze_classify_as(m.held.model, r.raw, t.start(), t.length(), t.count(), l.start(), l.length(), l.count(), raw, r.error)
	})
}

func (m *Model) classes(ctx context.Context, settings []Setting, call func(*request, **C.cloze_classes) C.cloze_status) (*Batch[Labelled], error) {
	var answer *Batch[Labelled]
	err := m.call(ctx, settings, func(r *request) C.cloze_status {
		var raw *C.cloze_classes
		status := call(r, &raw)
		if raw != nil {
			defer C.cloze_classes_free(raw)
			answer = readClasses(raw)
		}
		return status
	})
	return answer, err
}

func readClasses(raw *C.cloze_classes) *Batch[Labelled] {
	answer := &Batch[Labelled]{make([]Labelled, C.cloze_classes_count(raw)), int(C.cloze_classes_finished(raw))}
	var s seen
	for i := range answer.Inputs {
		C.cloze_classes_input(raw, C.size_t(i), &s.tokens, &s.total, &s.truncated, &s.windows, nil)
		labels := make([]Label, C.cloze_classes_labels(raw, C.size_t(i)))
		for place := range labels {
			var label, length C.size_t
			var score, logit C.float
			C.cloze_classes_get(raw, C.size_t(i), C.size_t(place), &label, &score, &logit, nil)
			name := C.cloze_classes_name(raw, C.size_t(i), C.size_t(place), &length)
			labels[place] = Label{int(label), text(name, length), float32(score), float32(logit)}
		}
		answer.Inputs[i] = Labelled{s.goSeen(), labels}
	}
	return answer
}

// NextSentence says how probably the second text of each pair follows the first.
func (m *Model) NextSentence(ctx context.Context, pairs [][2]string, settings ...Setting) (*Batch[Follow], error) {
	t, seconds := &texts{}, &texts{}
	defer t.release()
	defer seconds.release()
	for _, pair := range pairs {
		t.add(pair[0])
		seconds.add(pair[1])
	}
	var answer *Batch[Follow]
	err := m.call(ctx, settings, func(r *request) C.cloze_status {
		var raw *C.cloze_follows
		status := C.cloze_next_sentence(m.held.model, r.raw, t.start(), t.length(), seconds.start(), seconds.length(), t.count(), &raw, r.error)
		if raw != nil {
			defer C.cloze_follows_free(raw)
			answer = readFollows(raw)
		}
		return status
	})
	return answer, err
}

func readFollows(raw *C.cloze_follows) *Batch[Follow] {
	answer := &Batch[Follow]{make([]Follow, C.cloze_follows_count(raw)), int(C.cloze_follows_finished(raw))}
	var s seen
	for i := range answer.Inputs {
		var score, logit, other C.float
		C.cloze_follows_input(raw, C.size_t(i), &s.tokens, &s.total, &s.truncated, &s.windows, nil)
		C.cloze_follows_get(raw, C.size_t(i), &score, &logit, &other, nil)
		answer.Inputs[i] = Follow{s.goSeen(), float32(score), float32(logit), float32(other)}
	}
	return answer
}

// FillMask fills the blanks of texts: the mask token as it is written, such as [MASK]. Without candidates the whole vocabulary is asked.
func (m *Model) FillMask(ctx context.Context, list, candidates []string, settings ...Setting) (*Batch[Filled], error) {
	t, c := newTexts(list), newTexts(candidates)
	defer t.release()
	defer c.release()
	var answer *Batch[Filled]
	err := m.call(ctx, settings, func(r *request) C.cloze_status {
		var raw *C.cloze_fills
		status := C.cloze_fill_mask(m.held.model, r.raw, t.start(), t.length(), t.count(), c.start(), c.length(), c.count(), &raw, r.error)
		if raw != nil {
			defer C.cloze_fills_free(raw)
			answer = readFills(raw)
		}
		return status
	})
	return answer, err
}

func readFills(raw *C.cloze_fills) *Batch[Filled] {
	answer := &Batch[Filled]{make([]Filled, C.cloze_fills_count(raw)), int(C.cloze_fills_finished(raw))}
	var s seen
	for i := range answer.Inputs {
		C.cloze_fills_input(raw, C.size_t(i), &s.tokens, &s.total, &s.truncated, &s.windows, nil)
		blanks := make([]Blank, C.cloze_fills_blanks(raw, C.size_t(i)))
		for number := range blanks {
			blanks[number] = readBlank(raw, C.size_t(i), C.size_t(number))
		}
		answer.Inputs[i] = Filled{s.goSeen(), blanks}
	}
	return answer
}

func readBlank(raw *C.cloze_fills, input, number C.size_t) Blank {
	var start, end, count, length C.size_t
	C.cloze_fills_blank(raw, input, number, &start, &end, &count, nil)
	blank := Blank{int(start), int(end), make([]Fill, count)}
	for place := range blank.Fills {
		var id C.uint32_t
		var score, logit C.float
		C.cloze_fills_get(raw, input, number, C.size_t(place), &id, &score, &logit, nil)
		token := C.cloze_fills_token(raw, input, number, C.size_t(place), &length)
		fill := Fill{ID: int(id), Token: text(token, length), Score: float32(score), Logit: float32(logit)}
		C.cloze_fills_text(raw, input, number, C.size_t(place), nil, 0, &length, nil)
		whole := make([]C.char, length)
		C.cloze_fills_text(raw, input, number, C.size_t(place), first(whole), length, &length, nil)
		fill.Text = text(first(whole), length)
		blank.Fills[place] = fill
	}
	return blank
}
