package httproute

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestRefuse(t *testing.T) {
	mux := http.NewServeMux()
	fine := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
	mux.HandleFunc("GET /a/{name}", fine)
	mux.HandleFunc("POST /b", fine)
	mux.HandleFunc("PUT /b", fine)
	h := Refuse(mux, func(w http.ResponseWriter, _ *http.Request, code int) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte("mine")) // a recorder takes everything
	})
	for _, c := range []struct {
		method, path string
		code         int
		allow        string
	}{
		{"GET", "/a/x", 204, ""}, {"HEAD", "/a/x", 204, ""}, {"POST", "/b", 204, ""},
		{"DELETE", "/a/x", 405, "GET, HEAD"}, {"GET", "/b", 405, "POST, PUT"},
		{"GET", "/c", 404, ""}, {"POST", "/", 404, ""}, {"GET", "/a//x", 307, ""},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil))
		if w.Code != c.code || w.Header().Get("Allow") != c.allow || (w.Code >= 400) != (w.Body.String() == "mine") {
			t.Errorf("%s %s: got %d, Allow %q, %q; want %d, %q", c.method, c.path, w.Code, w.Header().Get("Allow"), w.Body, c.code, c.allow)
		}
	}
}
