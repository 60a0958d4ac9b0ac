// Package httpstatus remembers what an HTTP handler answered. It knows nothing of what is served.
package httpstatus

import "net/http"

// Writer is an http.ResponseWriter that remembers the status, and whether anything was written.
type Writer struct {
	http.ResponseWriter
	// Code is 200 until a handler says otherwise.
	Code  int
	Wrote bool
}

// Remember puts a Writer around w.
func Remember(w http.ResponseWriter) *Writer { return &Writer{ResponseWriter: w, Code: http.StatusOK} }

// WriteHeader implements http.ResponseWriter.
func (w *Writer) WriteHeader(code int) {
	if !w.Wrote {
		w.Code, w.Wrote = code, true
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *Writer) Write(b []byte) (int, error) {
	w.Wrote = true
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
