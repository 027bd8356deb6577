package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	cloze "cloze.dev/go"
)

func TestTheServiceRanksAndTellsWhatIsWrong(t *testing.T) {
	model, err := cloze.Open("../../../../tests/golden/models/tiny-gelu")
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	post := func(limit time.Duration, body string) *httptest.ResponseRecorder {
		recorder := httptest.NewRecorder()
		service(model, limit).ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/rerank", strings.NewReader(body)))
		return recorder
	}

	good := `{"query": "how to search", "documents": ["a text", "how to search", ""], "top": 2}`
	said := post(time.Minute, good)
	var a answer
	if err := json.Unmarshal(said.Body.Bytes(), &a); said.Code != http.StatusOK || err != nil {
		t.Fatalf("%d %s", said.Code, said.Body)
	}
	if len(a.Ranks) != 2 || a.Scored != 3 || a.Ranks[0].Document != 1 || a.Ranks[0].Text != "how to search" {
		t.Errorf("%+v", a)
	}
	if late := post(0, good); late.Code != http.StatusOK || !strings.Contains(late.Body.String(), `"scored":0`) {
		t.Errorf("%d %s", late.Code, late.Body)
	}
	if bad := post(time.Minute, "{"); bad.Code != http.StatusBadRequest {
		t.Errorf("%d %s", bad.Code, bad.Body)
	}
	long := `{"query": "a", "documents": ["` + strings.Repeat("x", 5<<20) + `"]}`
	if tooLong := post(time.Minute, long); tooLong.Code != http.StatusBadRequest || !strings.Contains(tooLong.Body.String(), "document") {
		t.Errorf("%d %.200s", tooLong.Code, tooLong.Body)
	}
}
