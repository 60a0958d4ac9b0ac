package restapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/klog/v2"
)

// Problem is an error on the wire (RFC 9457, application/problem+json).
type Problem struct {
	// Type tells problems apart: a link to its description.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail says what is wrong.
	Detail string `json:"detail"`
	// Path says where in the request: "objects[3].spec.containers[0].image".
	Path string `json:"path,omitempty"`
	// Advice says what to do.
	Advice    string `json:"advice,omitempty"`
	RequestID string `json:"requestId,omitempty"`
}

// Error is an error that is answered as a Problem.
type Error struct {
	Status int
	// Kind is one word for the problem, with hyphens: the anchor of its description.
	Kind                 string
	Detail, Path, Advice string
	// RetryAfter is the header of that name, in seconds; empty: none.
	RetryAfter string
}

func (e *Error) Error() string { return e.Detail }

// Kinds of problems that every API has.
const (
	KindToken  = "token"
	KindRoute  = "no-such-path"
	KindFailed = "failed"
)

// WriteProblem answers a request with an error. page is the address of the description of all kinds, with its #.
func WriteProblem(w http.ResponseWriter, r *http.Request, page string, e *Error) {
	if e.RetryAfter != "" {
		w.Header().Set("Retry-After", e.RetryAfter)
	}
	WriteJSON(w, e.Status, "application/problem+json", &Problem{Type: page + e.Kind, Title: strings.ReplaceAll(e.Kind, "-", " "), Status: e.Status,
		Detail: e.Detail, Path: e.Path, Advice: e.Advice, RequestID: RequestID(r)})
}

// WriteJSON answers with a value.
func WriteJSON(w http.ResponseWriter, code int, contentType string, v any) {
	b, err := Marshal(v)
	if err != nil {
		code, contentType = http.StatusInternalServerError, "text/plain; charset=utf-8"
		b = []byte(err.Error() + "\n")
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write(b) // who asked may have gone
}

// Answer is WriteJSON for handlers that return an error: it returns none.
func Answer(w http.ResponseWriter, code int, v any) error {
	WriteJSON(w, code, "application/json", v)
	return nil
}

// Unexpected is the problem of an error that nobody foresaw. The log of the server has it, too.
func Unexpected(r *http.Request, err error) *Error {
	klog.FromContext(r.Context()).Error(err, "A request could not be answered", "path", r.URL.Path, "requestId", RequestID(r))
	return &Error{Status: http.StatusInternalServerError, Kind: KindFailed, Detail: err.Error(), Advice: "see the server's log"}
}

// WriteText answers with a line, as probes expect it.
func WriteText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text)) // who asked may have gone
}

// Marshal is how answers are written, indented: people read them.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return b.Bytes(), nil
}
