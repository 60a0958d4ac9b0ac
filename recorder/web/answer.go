package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

// statusError is an error with its HTTP status.
type statusError struct {
	code int
	err  error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

func withStatus(code int, format string, args ...any) error {
	return &statusError{code: code, err: fmt.Errorf(format, args...)}
}

// fail answers with an error: JSON to programs, a page to people.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // nobody listens
	}
	var known *statusError
	switch {
	case errors.As(err, &known):
		s.refuse(w, r, known.code, err)
	case errors.Is(err, errUnknown):
		s.refuse(w, r, http.StatusNotFound, err)
	default:
		klog.FromContext(r.Context()).Error(err, "A request could not be answered", "path", r.URL.Path)
		s.refuse(w, r, http.StatusInternalServerError, err)
	}
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, code int, err error) {
	message := err.Error()
	if strings.HasPrefix(r.URL.Path, "/api/") || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		writeJSON(w, code, map[string]string{"error": message})
		return
	}
	s.render(w, code, "error", errorPage{shared: s.shared(http.StatusText(code), ""), Code: code, Message: message})
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		b.Reset()
		code = http.StatusInternalServerError
		fmt.Fprintf(&b, "{\"error\": %q}\n", err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // who asked may have gone
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text)) // who asked may have gone
}

// window reads from and to of a request: RFC 3339, or what a browser's time input gives, taken as UTC.
func window(r *http.Request) (from, to time.Time, err error) {
	if from, err = instant(r, "from"); err == nil {
		to, err = instant(r, "to")
	}
	if err == nil && !from.IsZero() && !to.IsZero() && to.Before(from) {
		err = withStatus(http.StatusBadRequest, "to=%s is before from=%s", to.Format(time.RFC3339), from.Format(time.RFC3339))
	}
	return from, to, err
}

func instant(r *http.Request, key string) (time.Time, error) {
	text := r.FormValue(key)
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, withStatus(http.StatusBadRequest, "%s=%q is no time: write 2024-05-28T10:00:00Z", key, text)
}

func (s *Server) apiClusters(w http.ResponseWriter, r *http.Request) {
	config := s.o.Recordings.Config()
	writeJSON(w, http.StatusOK, struct {
		Clusters []Cluster   `json:"clusters"`
		Config   configState `json:"config"`
	}{s.library.list(r.Context()), newConfigState(config)})
}

func (s *Server) apiCluster(w http.ResponseWriter, r *http.Request) {
	d, err := s.library.detail(r.Context(), r.PathValue("name"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, d)
}

func (s *Server) apiSeries(w http.ResponseWriter, r *http.Request) {
	from, to, err := window(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var latest time.Duration
	if text := r.FormValue("last"); text != "" {
		if latest, err = time.ParseDuration(text); err != nil || latest <= 0 {
			s.fail(w, r, withStatus(http.StatusBadRequest, "last=%q is no duration: write 6h", text))
			return
		}
	}
	series, err := s.library.series(r.Context(), r.PathValue("name"), from, to, latest)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, series)
}
