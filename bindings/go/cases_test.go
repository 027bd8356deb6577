package cloze

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Does Go get the answers of the reference, and a clear status for what is wrong? The cases are those of tests/golden/bindings, which
// tests/golden/make/bindings.py describes.

var golden = filepath.Join("..", "..", "tests", "golden")

type testCase struct {
	Name       string
	Model      string
	Memory     bool
	Files      map[string]string
	Options    map[string]string
	Call       string
	Set        map[string]string
	Texts      []json.RawMessage
	Pairs      []*string
	Query      string
	Labels     []string
	Candidates []string
	Hex        bool
	Cancelled  bool
	Tolerance  float64
	Expect     json.RawMessage

	Status   string
	Message  string
	Finished *int
}

// expected is what a case may expect; each call uses a part of it.
type expected struct {
	Dimensions           int
	Rows, Tokens, Totals []int
	Truncated            []bool
	Vectors              [][]float64
	Bits                 []string
	Weights              [][][2]float64
	Order                []int
	Scores, Logits       []float64
	Answers              []json.RawMessage
}

func cases(t *testing.T) (right, refused []testCase) {
	t.Helper()
	var all struct{ Cases, Refused []testCase }
	bytes, err := os.ReadFile(filepath.Join(golden, "bindings", "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(bytes, &all); err != nil {
		t.Fatal(err)
	}
	return all.Cases, all.Refused
}

func settings(words map[string]string) (list []Setting) {
	for key, value := range words {
		list = append(list, Setting{key, value})
	}
	return list
}

func (c *testCase) texts(t *testing.T) (list []string) {
	for _, raw := range c.Texts {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return nil // lists of words
		}
		if c.Hex {
			bytes, err := hex.DecodeString(text)
			check(t, err)
			text = string(bytes)
		}
		list = append(list, text)
	}
	return list
}

func (c *testCase) pair(t *testing.T) Pair {
	pair := Pair{Text: c.texts(t)[0]}
	if len(c.Pairs) > 0 {
		pair.Second = c.Pairs[0]
	}
	return pair
}

func (c *testCase) open(t *testing.T) (*Model, error) {
	files := map[string][]byte{}
	for name, content := range c.Files {
		files[name] = []byte(content)
	}
	if c.Memory {
		folder := os.DirFS(filepath.Join(golden, c.Model))
		check(t, fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				files[path], err = fs.ReadFile(folder, path)
			}
			return err
		}))
	}
	if len(files) > 0 {
		return OpenFiles(files, settings(c.Options)...)
	}
	return Open(golden+"/"+c.Model, settings(c.Options)...)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: %v instead of %v", what, got, want)
	}
}

func (c *testCase) near(t *testing.T, what string, got float32, want float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) <= c.Tolerance*math.Max(1, math.Abs(want))) {
		t.Errorf("%s: %v instead of %v", what, got, want)
	}
}

func (c *testCase) nearAll(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers instead of %d", what, len(got), len(want))
	}
	for i := range want {
		c.near(t, what, got[i], want[i])
	}
}

func unmarshal[T any](t *testing.T, raw json.RawMessage) (value T) {
	t.Helper()
	check(t, json.Unmarshal(raw, &value))
	return value
}

// run makes the call of a case and compares the answer with what is expected. It returns the error of the call, and of a call that was
// stopped how many inputs were finished.
func (c *testCase) run(t *testing.T) (finished int, err error) {
	model, err := c.open(t)
	if err != nil {
		return -1, err
	}
	defer model.Close()
	ctx := context.Background()
	if c.Cancelled {
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		ctx = cancelled
	}
	set, texts := settings(c.Set), c.texts(t)
	var want expected
	if c.Expect != nil && c.Call != "tokenize" && c.Call != "attention" && c.Call != "model_describe" {
		want = unmarshal[expected](t, c.Expect)
	}
	switch c.Call {
	case "encode":
		return c.encode(t, ctx, model, texts, set, &want)
	case "encode_sparse":
		got, err := model.EncodeSparse(ctx, texts, set...)
		if err != nil {
			return -1, err
		}
		for i, weights := range want.Weights {
			equal(t, "weights", len(got.Inputs[i].Weights), len(weights))
			for w, weight := range weights {
				equal(t, "id", got.Inputs[i].Weights[w].ID, int(weight[0]))
				c.near(t, "weight", got.Inputs[i].Weights[w].Weight, weight[1])
				equal(t, "a token is empty", got.Inputs[i].Weights[w].Token == "", false)
			}
		}
	case "encode_late":
		got, err := model.EncodeLate(ctx, texts, set...)
		if err != nil {
			return -1, err
		}
		c.compareLate(t, got, &want)
	case "rerank":
		got, err := model.Rerank(ctx, c.Query, texts, set...)
		if err != nil {
			if got != nil {
				return got.Scored, err
			}
			return -1, err
		}
		c.compareRanking(t, got, &want)
	case "classify", "classify_as":
		return c.classify(t, ctx, model, texts, set, &want)
	case "next_sentence":
		return c.nextSentence(t, ctx, model, texts, set, &want)
	case "fill_mask":
		got, err := model.FillMask(ctx, texts, c.Candidates, set...)
		if err != nil {
			return -1, err
		}
		c.compareFills(t, got, &want)
	case "extract":
		got, err := model.Extract(ctx, c.Query, texts, set...)
		if err != nil {
			return -1, err
		}
		c.compareAnswers(t, got, &want)
	case "tag":
		got, err := model.Tag(ctx, texts, set...)
		if err != nil {
			return -1, err
		}
		c.compareEntities(t, got, &want)
	case "tag_words":
		var words [][]string
		for _, raw := range c.Texts {
			words = append(words, unmarshal[[]string](t, raw))
		}
		got, err := model.TagWords(ctx, words, set...)
		if err != nil {
			return -1, err
		}
		c.compareEntities(t, got, &want)
	case "tokenize":
		got, err := model.Tokenize(ctx, c.pair(t), set...)
		if err != nil {
			return -1, err
		}
		c.compareTokens(t, got)
	case "attention":
		got, err := model.Attention(ctx, c.pair(t), set...)
		if err != nil {
			return -1, err
		}
		c.compareMaps(t, got)
	case "model_describe":
		got, err := model.Describe()
		if err != nil {
			return -1, err
		}
		said := unmarshal[map[string]any](t, json.RawMessage(got))
		for name, value := range unmarshal[map[string]any](t, c.Expect) {
			equal(t, name, said[name], value)
		}
	case "model_verify":
		_, err := model.Verify()
		return -1, err
	default:
		t.Fatalf("no such call: %s", c.Call)
	}
	return -1, nil
}

func (c *testCase) encode(t *testing.T, ctx context.Context, model *Model, texts []string, set []Setting, want *expected) (int, error) {
	var report Report
	if output := c.Set["output"]; output != "" && output != "f32" {
		got, err := model.EncodePacked(ctx, texts, set...)
		if err != nil {
			return -1, err
		}
		c.comparePacked(t, got, output, want)
		report = got.Report
	} else {
		got, err := model.Encode(ctx, texts, set...)
		if err != nil {
			if got != nil {
				return got.Finished, err
			}
			return -1, err
		}
		for i, vector := range want.Vectors {
			c.nearAll(t, "vector", got.Vector(i), vector)
		}
		c.compareInto(t, model, texts, set, got)
		report = got.Report
	}
	equal(t, "dimensions", report.Dimensions, want.Dimensions)
	equal(t, "finished", report.Finished, len(texts))
	for i, text := range report.Inputs {
		equal(t, "rows", text.Vectors, want.Rows[i])
		if want.Tokens != nil {
			equal(t, "seen", text.Seen, Seen{want.Tokens[i], want.Totals[i], want.Truncated[i], 1})
		}
	}
	return -1, nil
}

// compareInto encodes into floats of the caller's; with one too few nothing is written, and the error says so.
func (c *testCase) compareInto(t *testing.T, model *Model, texts []string, set []Setting, want *Vectors) {
	into := make([]float32, len(want.Values))
	report, written, err := model.EncodeInto(context.Background(), texts, into, set...)
	check(t, err)
	equal(t, "written", written, len(into))
	equal(t, "into", into, want.Values)
	equal(t, "report", *report, want.Report)
	if len(into) > 0 {
		_, needed, err := model.EncodeInto(context.Background(), texts, into[1:], set...)
		equal(t, "too small", errors.Is(err, BufferTooSmall), true)
		equal(t, "needed", needed, len(into))
	}
}

func (c *testCase) comparePacked(t *testing.T, got *Packed, output string, want *expected) {
	width := map[string]int{"binary": (got.Dimensions + 7) / 8, "f16": 2 * got.Dimensions, "int8": got.Dimensions}[output]
	for i, bits := range want.Bits {
		equal(t, "bits", hex.EncodeToString(got.Bytes[i*width:(i+1)*width]), bits)
	}
	for i, vector := range want.Vectors {
		bytes := got.Bytes[i*width : (i+1)*width]
		values := make([]float32, got.Dimensions)
		for d := range values {
			if output == "f16" {
				values[d] = half(uint16(bytes[2*d]) | uint16(bytes[2*d+1])<<8)
			} else {
				values[d] = float32(int8(bytes[d])) * got.Scales[i]
			}
		}
		c.nearAll(t, "vector", values, vector)
	}
}

func half(bits uint16) float32 {
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	value := math.Ldexp(fraction+1024, exponent-25)
	if exponent == 0 {
		value = math.Ldexp(fraction, -24)
	}
	if bits>>15 == 1 {
		value = -value
	}
	return float32(value)
}

func (c *testCase) compareLate(t *testing.T, got *Late, want *expected) {
	equal(t, "dimensions", got.Dimensions, want.Dimensions)
	for i, raw := range want.Answers {
		answer := unmarshal[struct {
			IDs     []int
			Offsets [][2]int
			Vectors [][]float64
		}](t, raw)
		equal(t, "rows", len(got.Inputs[i].Rows), len(answer.IDs))
		var flat []float64
		for row, token := range got.Inputs[i].Rows {
			equal(t, "token", [3]int{token.ID, token.Start, token.End}, [3]int{answer.IDs[row], answer.Offsets[row][0], answer.Offsets[row][1]})
			flat = append(flat, answer.Vectors[row]...)
		}
		c.nearAll(t, "vectors", got.Inputs[i].Values, flat)
	}
}

func (c *testCase) compareRanking(t *testing.T, got *Ranking, want *expected) {
	equal(t, "scored", got.Scored, len(c.Texts))
	equal(t, "documents", len(got.Documents), len(c.Texts))
	equal(t, "ranks", len(got.Ranks), len(want.Order))
	for rank, document := range want.Order {
		equal(t, "document", got.Ranks[rank].Document, document)
		c.near(t, "logit", got.Ranks[rank].Logit, want.Logits[document])
		if want.Scores != nil {
			c.near(t, "score", got.Ranks[rank].Score, want.Scores[document])
		}
	}
}

func (c *testCase) classify(t *testing.T, ctx context.Context, model *Model, texts []string, set []Setting, want *expected) (int, error) {
	var got *Batch[Labelled]
	var err error
	switch {
	case c.Call == "classify_as":
		got, err = model.ClassifyAs(ctx, texts, c.Labels, set...)
	case c.Pairs == nil:
		got, err = model.Classify(ctx, texts, set...)
	default:
		var pairs []Pair
		for i, text := range texts {
			pairs = append(pairs, Pair{text, c.Pairs[i]})
		}
		got, err = model.ClassifyPairs(ctx, pairs, set...)
	}
	if err != nil {
		return -1, err
	}
	for i, raw := range want.Answers {
		answer := unmarshal[struct {
			Labels         []int
			Names          []string
			Scores, Logits []float64
		}](t, raw)
		equal(t, "labels", len(got.Inputs[i].Labels), len(answer.Labels))
		for place, label := range got.Inputs[i].Labels {
			equal(t, "label", label.Label, answer.Labels[place])
			equal(t, "name", label.Name, answer.Names[place])
			c.near(t, "score", label.Score, answer.Scores[place])
			if answer.Logits != nil {
				c.near(t, "logit", label.Logit, answer.Logits[place])
			}
		}
	}
	return -1, nil
}

func (c *testCase) nextSentence(t *testing.T, ctx context.Context, model *Model, texts []string, set []Setting, want *expected) (int, error) {
	var pairs [][2]string
	for i, text := range texts {
		pairs = append(pairs, [2]string{text, *c.Pairs[i]})
	}
	got, err := model.NextSentence(ctx, pairs, set...)
	if err != nil {
		return -1, err
	}
	for i, raw := range want.Answers {
		answer := unmarshal[map[string]float64](t, raw)
		c.near(t, "score", got.Inputs[i].Score, answer["score"])
		c.near(t, "logit", got.Inputs[i].Logit, answer["logit"])
		c.near(t, "other logit", got.Inputs[i].OtherLogit, answer["other_logit"])
	}
	return -1, nil
}

func (c *testCase) compareFills(t *testing.T, got *Batch[Filled], want *expected) {
	for i, raw := range want.Answers {
		blanks := unmarshal[[]struct {
			Start, End int
			Fills      []struct {
				ID           int
				Token        string
				Score, Logit float64
				Text         *string
			}
		}](t, raw)
		equal(t, "blanks", len(got.Inputs[i].Blanks), len(blanks))
		for b, blank := range got.Inputs[i].Blanks {
			equal(t, "place", [2]int{blank.Start, blank.End}, [2]int{blanks[b].Start, blanks[b].End})
			equal(t, "fills", len(blank.Fills), len(blanks[b].Fills))
			for place, fill := range blanks[b].Fills {
				equal(t, "id", blank.Fills[place].ID, fill.ID)
				equal(t, "token", blank.Fills[place].Token, fill.Token)
				c.near(t, "score", blank.Fills[place].Score, fill.Score)
				c.near(t, "logit", blank.Fills[place].Logit, fill.Logit)
				if fill.Text != nil {
					equal(t, "text", blank.Fills[place].Text, *fill.Text)
				}
			}
		}
	}
}

func (c *testCase) compareAnswers(t *testing.T, got *Batch[Extracted], want *expected) {
	for i, raw := range want.Answers {
		answer := unmarshal[struct {
			Answers []struct {
				Text         string
				Start, End   int
				Score, Logit float64
			}
			None struct{ Score, Logit float64 }
		}](t, raw)
		c.near(t, "score of none", got.Inputs[i].NoneScore, answer.None.Score)
		c.near(t, "logit of none", got.Inputs[i].NoneLogit, answer.None.Logit)
		equal(t, "answers", len(got.Inputs[i].Answers), len(answer.Answers))
		for place, part := range answer.Answers {
			said := got.Inputs[i].Answers[place]
			equal(t, "text", said.Text, part.Text)
			equal(t, "place", [2]int{said.Start, said.End}, [2]int{part.Start, part.End})
			c.near(t, "score", said.Score, part.Score)
			c.near(t, "logit", said.Logit, part.Logit)
		}
	}
}

func (c *testCase) compareEntities(t *testing.T, got *Batch[Tagged], want *expected) {
	equal(t, "inputs", len(got.Inputs), len(want.Answers))
	for i, raw := range want.Answers {
		entities := unmarshal[[]struct {
			Label, Text string
			Start, End  int
			Score       float64
			Words       [2]int
		}](t, raw)
		equal(t, "entities", len(got.Inputs[i].Entities), len(entities))
		for place, entity := range entities {
			said := got.Inputs[i].Entities[place]
			c.near(t, "score", said.Score, entity.Score)
			said.Score = 0
			equal(t, "entity", said, Entity{entity.Label, entity.Text, entity.Start, entity.End, 0, entity.Words[0], entity.Words[1]})
		}
	}
}

func (c *testCase) compareTokens(t *testing.T, got *Tokens) {
	want := unmarshal[struct {
		Total     int
		Truncated bool
		Windows   []struct {
			IDs, Types []int
			Special    []bool
			Offsets    [][2]int
			Tokens     []string
		}
	}](t, c.Expect)
	equal(t, "total", got.Total, want.Total)
	equal(t, "truncated", got.Truncated, want.Truncated)
	equal(t, "windows", len(got.Windows), len(want.Windows))
	for w, window := range want.Windows {
		equal(t, "tokens", len(got.Windows[w]), len(window.IDs))
		for i, token := range got.Windows[w] {
			equal(t, "token", token, Token{window.IDs[i], window.Types[i], window.Special[i], window.Offsets[i][0], window.Offsets[i][1], window.Tokens[i]})
		}
	}
}

func (c *testCase) compareMaps(t *testing.T, got *Maps) {
	type layer struct {
		Layer, Head int
		Values      []float64
	}
	want := unmarshal[struct {
		Layers, Heads, Tokens, Hidden int
		Map, State                    layer
	}](t, c.Expect)
	equal(t, "sizes", [4]int{got.Layers, got.Heads, len(got.Tokens), got.Hidden}, [4]int{want.Layers, want.Heads, want.Tokens, want.Hidden})
	c.nearAll(t, "map", got.Attention[want.Map.Layer][want.Map.Head], want.Map.Values)
	c.nearAll(t, "state", got.States[want.State.Layer], want.State.Values)
}

func TestCases(t *testing.T) {
	right, _ := cases(t)
	for _, c := range right {
		c := c
		t.Run(c.Name, func(t *testing.T) {
			_, err := c.run(t)
			check(t, err)
		})
	}
}

func TestRefused(t *testing.T) {
	_, refused := cases(t)
	for _, c := range refused {
		c := c
		t.Run(c.Name, func(t *testing.T) {
			finished, err := c.run(t)
			var failure *Error
			if !errors.As(err, &failure) {
				t.Fatalf("%v instead of %s", err, c.Status)
			}
			equal(t, "status of "+failure.Message, failure.Status.Error(), c.Status)
			equal(t, "errors.Is", errors.Is(err, failure.Status), true)
			if !strings.Contains(failure.Message, c.Message) {
				t.Errorf("%q is not in the message: %s", c.Message, failure.Message)
			}
			if c.Finished != nil {
				equal(t, "finished", finished, *c.Finished)
			}
		})
	}
}
