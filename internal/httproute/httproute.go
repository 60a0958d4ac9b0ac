// Package httproute answers what a mux has no route for in the words of who serves. It knows nothing of what is served.
package httproute

import "net/http"

// Refuse puts the server's own answers in the place of the mux's: refuse is called with 404, or with 405, where the header
// Allow is set already. A catch-all pattern would hide which of the two it is.
func Refuse(mux *http.ServeMux, refuse func(w http.ResponseWriter, r *http.Request, code int)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		asked := answer{header: http.Header{}}
		handler.ServeHTTP(&asked, r)
		switch asked.code {
		case http.StatusNotFound, http.StatusMethodNotAllowed:
			if allow := asked.header.Get("Allow"); allow != "" {
				w.Header().Set("Allow", allow)
			}
			refuse(w, r, asked.code)
		default: // a redirect to a clean path
			mux.ServeHTTP(w, r)
		}
	})
}

// answer remembers status and header of an answer that nobody gets.
type answer struct {
	header http.Header
	code   int
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	if a.code == 0 {
		a.code = code
	}
}
