package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/recommender"
)

// TestAnswersStaySmall: some kB of gzip that a recommender answers do not become gigabytes, and what it calls itself stays short.
//
//scalehist:unraced
func TestAnswersStaySmall(t *testing.T) {
	const many = 1_500_000
	for _, c := range []struct{ name, before, one, after, want string }{
		{"groups", `{"apiVersion":"recommender.scalehist.io/v1","recommendation":{"scaleUps":[{}`, ",{}", "]}}", "decoding it takes more than"},
		{"steps", `{"apiVersion":"recommender.scalehist.io/v1","recommendation":{"steps":[{}`, ",{}", "]}}", "decoding it takes more than"},
		{"spaces", `{`, strings.Repeat(" ", 50), "}", "the answer is larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := zipped(t, c.before, c.one, c.after, many)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(body)
			}))
			defer server.Close()
			client, err := NewClient(ClientOptions{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			took := allocated(func() { _, err = client.Recommend(t.Context(), &recommender.Request{}) })
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "recommender at ") || len(err.Error()) > 500 {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if took > maxAnswerMemory+8*maxAnswer { // reading doubles its buffer, counting allocates little
				t.Errorf("%d MB were allocated", took>>20)
			}
		})
	}
}

// TestNamesOfRecommendersAreShort: the name is in every report.
func TestNamesOfRecommendersAreShort(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"apiVersion":"recommender.scalehist.io/v1","name":"` + strings.Repeat("x", maxServerName+1) + `","strategies":[]}`))
	}))
	defer server.Close()
	client, err := NewClient(ClientOptions{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Strategies(t.Context()); err == nil || !strings.Contains(err.Error(), "its name has 201 bytes") {
		t.Errorf("got %v", err)
	}
}
