package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/klog/v2"
)

// problemTypes is where docs/recommender.md describes them; the anchor is the kind.
const problemTypes = "https://github.com/scalehist/scalehist/blob/main/docs/recommender.md#"

// The kinds of problems. They are anchors of the page.
const (
	kindRequest  = "bad-request"
	kindRefused  = "refused-by-the-recommender"
	kindTooLarge = "too-large"
	kindTooMany  = "too-many-requests"
	kindTimeout  = "timeout"
	kindToken    = "token"
	kindRoute    = "no-such-path"
	kindDraining = "shutting-down"
	kindFailed   = "failed"
)

// problem is an error that is answered as a Problem.
type problem struct {
	status               int
	kind                 string
	detail, path, advice string
	retryAfter           string
}

func (p *problem) Error() string { return p.detail }

// problemOf is what a handler's error is on the wire; timeout is told where it ran out.
func problemOf(err error, timeout string) *problem {
	var known *problem
	var large *tooLargeError
	var request *RequestError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &large):
		return &problem{status: http.StatusRequestEntityTooLarge, kind: kindTooLarge, detail: large.Problem, path: large.Path, advice: large.Advice}
	case errors.As(err, &request):
		return &problem{status: http.StatusBadRequest, kind: kindRequest, detail: request.Problem, path: request.Path, advice: request.Advice}
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{status: http.StatusGatewayTimeout, kind: kindTimeout, detail: "the recommendation was not ready after " + timeout,
			advice: "ask with strategy greedy, with fewer node groups or pods, or give the server a longer --timeout"}
	}
	return &problem{status: http.StatusUnprocessableEntity, kind: kindRefused, detail: err.Error()}
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // nobody listens
	}
	p := problemOf(err, s.o.Timeout.String())
	p.detail, p.path, p.advice = excerpt(p.detail), excerpt(p.path), excerpt(p.advice)
	id := requestID(r)
	if p.status >= http.StatusInternalServerError && p.kind != kindDraining {
		klog.FromContext(r.Context()).Error(err, "A request could not be answered", "path", r.URL.Path, "requestId", id)
	}
	s.metrics.problems.WithLabelValues(p.kind).Inc()
	if p.retryAfter != "" {
		w.Header().Set("Retry-After", p.retryAfter)
	}
	writeJSON(w, p.status, "application/problem+json", &Problem{Type: problemTypes + p.kind, Title: strings.ReplaceAll(p.kind, "-", " "), Status: p.status,
		Detail: p.detail, Path: p.path, Advice: p.advice, RequestID: id})
}

func writeJSON(w http.ResponseWriter, code int, contentType string, v any) {
	b, err := marshal(v)
	if err != nil {
		code, contentType = http.StatusInternalServerError, "text/plain; charset=utf-8"
		b = []byte(err.Error() + "\n")
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write(b) // who asked may have gone
}

// marshal is how answers are written, indented: people read them.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return b.Bytes(), nil
}
