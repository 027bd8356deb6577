// Rerankd ranks documents over HTTP: POST /rerank with {"query": "...", "documents": ["...", ...], "top": 3}.
//
//	go run ./examples/rerankd -model models/minilm
//	curl -d '{"query": "how much is postage", "documents": ["Shipping is free.", "We are closed."]}' localhost:8080/rerank
//
// When the client goes away, the work stops. When the time is over, what was ranked by then is the answer, and "scored" says so.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	cloze "cloze.dev/go"
)

type question struct {
	Query     string   `json:"query"`
	Documents []string `json:"documents"`
	Top       int      `json:"top"`
}

type rank struct {
	Document int     `json:"document"`
	Score    float32 `json:"score"`
	Text     string  `json:"text"`
}

type answer struct {
	Ranks  []rank `json:"ranks"`
	Scored int    `json:"scored"` // fewer than there are documents: the time was over
}

// service answers questions by one model, which any number of requests share.
func service(model *cloze.Model, limit time.Duration) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/rerank", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.Error(w, "use POST", http.StatusMethodNotAllowed)
			return
		}
		var q question
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<20)).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		var settings []cloze.Setting
		if q.Top > 0 {
			settings = append(settings, cloze.Set("top", q.Top))
		}
		ranking, err := model.Rerank(ctx, q.Query, q.Documents, settings...)
		switch {
		case errors.Is(err, cloze.Cancelled):
			return // nobody is listening
		case err != nil && !errors.Is(err, cloze.DeadlineExceeded):
			http.Error(w, err.Error(), code(err))
			return
		}
		a := answer{Ranks: []rank{}, Scored: ranking.Scored}
		for _, ranked := range ranking.Ranks {
			a.Ranks = append(a.Ranks, rank{ranked.Document, ranked.Score, q.Documents[ranked.Document]})
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(a)
	})
	return mux
}

// code tells the client's mistakes from ours.
func code(err error) int {
	for _, status := range []cloze.Status{cloze.InvalidArgument, cloze.InvalidUTF8, cloze.TooLong} {
		if errors.Is(err, status) {
			return http.StatusBadRequest
		}
	}
	return http.StatusInternalServerError
}

func main() {
	path := flag.String("model", "models/minilm", "folder or GGUF `file` of a reranker or an embedding model")
	address := flag.String("listen", "localhost:8080", "`address`")
	limit := flag.Duration("limit", time.Second, "longest `time` of one answer")
	flag.Parse()
	// Requests run beside each other: one thread each is the best use of the processors.
	model, err := cloze.Open(*path, cloze.Set("threads", 1))
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	server := &http.Server{Addr: *address, Handler: service(model, *limit)}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { server.Shutdown(context.Background()) })
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		log.Fatal(err)
	}
}
