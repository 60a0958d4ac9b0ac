package recorder

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// endless is a body without an end; what it has been asked for is counted.
type endless struct {
	of   string
	read int64
	most int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.read >= e.most {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) {
		n += copy(p[n:], e.of)
	}
	e.read += int64(n)
	return n, nil
}

func (e *endless) Close() error { return nil }

// TestAnswersAreBounded: no event and no list is read whole, however large it is; many events are.
func TestAnswersAreBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		query, contentType, of string
		most                   int64
		want                   string
	}{
		"an event":         {"?watch=true", "application/json", "x", maxEvent * 3, "an event of more than 32 MiB"},
		"many events":      {"?watch=true", "application/json;stream=watch", strings.Repeat("x", 999) + "\n", maxEvent * 3, ""},
		"protobuf's own":   {"?watch=true", "application/vnd.kubernetes.protobuf;stream=watch", "x", maxEvent * 3, ""},
		"a list":           {"", "application/json", "xxxxxxxxxxxxxxxx", maxAnswer * 2, "an answer of more than 1024 MiB"},
		"a list that fits": {"", "application/json", "x", maxEvent * 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			body := &endless{of: tt.of, most: tt.most}
			cfg := &rest.Config{Host: "http://localhost", Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {tt.contentType}}, Body: body}, nil
			})}
			boundAnswers(cfg)
			client, err := rest.HTTPClientFor(cfg)
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/v1/pods"+tt.query, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp.Body, make([]byte, 1<<20))
			// What is read beyond the bound is at most one buffer.
			if bound := map[string]int64{"an event": maxEvent, "a list": maxAnswer}[name]; bound > 0 && body.read > bound+1<<20 {
				t.Errorf("%d bytes were read, the bound is %d", body.read, bound)
			}
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v after %d bytes, want %q", err, body.read, tt.want)
			}
		})
	}
}
