package cloze

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Does the package keep what its documentation promises: contexts, goroutines, Close, memory?

func open1(t testing.TB, folder string) *Model {
	t.Helper()
	model, err := Open(golden+"/"+folder, Set("threads", 1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	return model
}

func gelu(t testing.TB) *Model { return open1(t, "models/tiny-gelu") }

// many are so many texts that a call can be stopped within them.
func many() []string {
	texts := make([]string, 6000)
	for i := range texts {
		texts[i] = "the quick brown fox jumps over the lazy dog and some more words come after it"
	}
	return texts
}

func TestAStoppedCallKeepsWhatIsFinished(t *testing.T) {
	model, texts, background := gelu(t), many(), context.Background()
	all, err := model.Encode(background, texts)
	check(t, err)
	expired, cancelExpired := context.WithTimeout(background, 3*time.Millisecond)
	defer cancelExpired()
	cause := errors.New("the user left")
	left, leave := context.WithCancelCause(background)
	time.AfterFunc(3*time.Millisecond, func() { leave(cause) })
	for _, test := range []struct {
		what     string
		ctx      context.Context
		settings []Setting
		status   Status
		is       []error
	}{
		{"deadline of the context", expired, nil, DeadlineExceeded, []error{context.DeadlineExceeded}},
		{"cancelled with a cause", left, nil, Cancelled, []error{context.Canceled, cause}},
		{"the setting", background, []Setting{Set("deadline_ms", 3)}, DeadlineExceeded, []error{context.DeadlineExceeded}},
		{"the shorter of two", expired, []Setting{Set("deadline_ms", 100000)}, DeadlineExceeded, []error{context.DeadlineExceeded}},
	} {
		part, err := model.Encode(test.ctx, texts, test.settings...)
		for _, is := range append(test.is, error(test.status)) {
			equal(t, test.what+": "+is.Error(), errors.Is(err, is), true)
		}
		if part == nil || part.Finished >= len(texts) {
			t.Fatalf("%s: there is no part, or all of it", test.what)
		}
		equal(t, test.what, part.Values, all.Values[:part.Finished*part.Dimensions])
		equal(t, test.what, part.Inputs[len(texts)-1].Vectors, 0)
	}
	// A context that can end and does not changes nothing.
	free, cancel := context.WithTimeout(background, time.Hour)
	defer cancel()
	whole, err := model.Encode(free, texts[:3])
	check(t, err)
	equal(t, "vectors", whole.Values, all.Values[:3*all.Dimensions])
}

func TestManyGoroutinesShareAModelAndCloseIt(t *testing.T) {
	model := gelu(t)
	texts := []string{"a text", "今天天气", ""}
	want, err := model.Encode(context.Background(), texts)
	check(t, err)
	var ready, done sync.WaitGroup
	var answered, refused atomic.Int64
	for g := 0; g < 32; g++ {
		ready.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			for i := 0; i < 200; i++ {
				ctx, cancel := context.WithCancel(context.Background())
				got, err := model.Encode(ctx, texts)
				cancel()
				switch {
				case errors.Is(err, Closed):
					refused.Add(1)
				case err != nil:
					t.Error(err)
				default:
					answered.Add(1)
					if !slices.Equal(got.Values, want.Values) {
						t.Error("other values than alone")
					}
				}
				if i == 20 {
					ready.Done()
				}
			}
		}()
	}
	ready.Wait()
	check(t, model.Close())
	check(t, model.Close()) // twice does no harm
	done.Wait()
	if answered.Load() < 32*20 || refused.Load() == 0 {
		t.Errorf("%d calls were answered, %d refused", answered.Load(), refused.Load())
	}
	_, err = model.Describe()
	equal(t, "closed", errors.Is(err, Closed), true)
}

func TestAForgottenModelIsFreed(t *testing.T) {
	held := func() *held {
		model, err := Open(golden + "/models/tiny-gelu")
		check(t, err)
		return model.held
	}()
	for i := 0; i < 100 && held.users.Load() != 0; i++ {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	equal(t, "users", held.users.Load(), int64(0))
}

func TestFloatsAreNotReadOutOfOtherNumbers(t *testing.T) {
	model := gelu(t)
	_, err := model.Encode(context.Background(), []string{"a"}, Set("output", "int8"))
	equal(t, "int8", errors.Is(err, InvalidArgument), true)
	rows, err := model.Encode(context.Background(), []string{"a text", "another"}, Set("vectors", "token"))
	check(t, err)
	equal(t, "first vector", rows.Inputs[1].FirstVector, rows.Inputs[0].Vectors)
	equal(t, "values", len(rows.Values), (rows.Inputs[0].Vectors+rows.Inputs[1].Vectors)*rows.Dimensions)
}

func TestAnEmptySecondTextIsNotNone(t *testing.T) {
	model := open1(t, "heads/labels-three")
	got, err := model.ClassifyPairs(context.Background(), []Pair{PairOf("a text", ""), {Text: "a text"}})
	check(t, err)
	equal(t, "the pair's own [SEP]", got.Inputs[0].Tokens, got.Inputs[1].Tokens+1)
}

func TestMemorySaysWhatAModelHolds(t *testing.T) {
	model := gelu(t)
	_, err := model.Encode(context.Background(), []string{"a"})
	check(t, err)
	work, err := model.Memory("workspaces")
	check(t, err)
	check(t, model.MemoryTrim())
	trimmed, err := model.Memory("workspaces")
	check(t, err)
	peak, err := model.MemoryPeak(32, 4)
	check(t, err)
	if work == 0 || trimmed != 0 || peak == 0 || Version() == "" {
		t.Errorf("%d bytes of work areas, %d after trimming, %d at most", work, trimmed, peak)
	}
	for _, key := range []string{"no such key", "calls\x00"} {
		_, err = model.Memory(key)
		equal(t, key, errors.Is(err, InvalidArgument), true)
	}
}

func TestAFileProvesItselfOrTheStatusTellsThatItDoesNot(t *testing.T) {
	sound := os.Getenv("CLOZE_SOUND")
	if sound == "" {
		t.Skip("the command that writes files with probes was not built: make cli")
	}
	model, err := Open(sound)
	check(t, err)
	defer model.Close()
	report, err := model.Verify()
	check(t, err)
	equal(t, "passed", strings.Contains(report, `"passed":true`), true)

	bytes, err := os.ReadFile(sound)
	check(t, err)
	for i := len(bytes) - 3000; i < len(bytes)-2900; i++ {
		bytes[i] ^= 0x11
	}
	damaged, err := OpenFiles(map[string][]byte{"damaged.gguf": bytes})
	check(t, err)
	defer damaged.Close()
	report, err = damaged.Verify()
	equal(t, "status", errors.Is(err, VerificationFailed), true)
	equal(t, "passed", strings.Contains(report, `"passed":false`), true)
}

func resident(t *testing.T) int {
	runtime.GC()
	bytes, err := os.ReadFile("/proc/self/statm")
	check(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(bytes))[1])
	check(t, err)
	return pages * os.Getpagesize()
}

// oneCall is a success or a failure of some kind.
func oneCall(t *testing.T, encoder, ranker *Model, round int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var err error
	switch round % 6 {
	case 0:
		_, err = encoder.Encode(ctx, []string{"a text", "b"})
	case 1:
		if _, err = encoder.Encode(ctx, []string{"a"}, Set("deadline_ms", 0)); errors.Is(err, DeadlineExceeded) {
			err = nil
		}
	case 2:
		if _, err = encoder.Encode(context.Background(), []string{"\xff"}); errors.Is(err, InvalidUTF8) {
			err = nil
		}
	case 3:
		_, err = encoder.Tokenize(ctx, PairOf("a text", "a pair"))
	case 4:
		_, err = ranker.Rerank(ctx, "a query", []string{"a", "b"}, Set("top", 1))
	default:
		cancel()
		if _, err = encoder.Encode(ctx, []string{"a"}); errors.Is(err, Cancelled) {
			err = nil
		}
	}
	check(t, err)
}

func TestMemoryStaysFlatOverAHundredThousandCalls(t *testing.T) {
	rounds, room := 100000, 4<<20 // Go's own heap breathes
	if testing.Short() {
		rounds, room = 2000, 64<<20
	}
	encoder, ranker := gelu(t), open1(t, "heads/rerank-sigmoid")
	for round := 0; round < rounds/5; round++ {
		oneCall(t, encoder, ranker, round)
	}
	before := resident(t)
	for round := 0; round < rounds; round++ {
		oneCall(t, encoder, ranker, round)
	}
	if grown := resident(t) - before; grown > room {
		t.Errorf("%d bytes more after %d calls", grown, rounds)
	}
}

func BenchmarkEncodeInto(b *testing.B) {
	model := open1(b, "static/glove.txt")
	into := make([]float32, 1024)
	texts := []string{"the river"}
	free, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, bench := range []struct {
		name     string
		ctx      context.Context
		settings []Setting
	}{{"plain", context.Background(), nil}, {"context", free, nil}, {"setting", context.Background(), []Setting{Set("normalize", true)}}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				if _, _, err := model.EncodeInto(bench.ctx, texts, into, bench.settings...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
