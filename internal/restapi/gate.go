package restapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"

	"github.com/scalehist/scalehist/internal/httphost"
	"github.com/scalehist/scalehist/internal/httproute"
)

// TokenMatcher knows tokens. It takes the same time for all wrong ones.
type TokenMatcher interface{ Match(token string) bool }

// Gate says who is let in. The zero value lets everybody in.
type Gate struct {
	// LocalHosts admits requests to this machine's own names only, so that a page elsewhere cannot reach the server by a
	// name of its own. Hosts are admitted beside them.
	LocalHosts bool
	Hosts      []string
	// Tokens says which bearer tokens are let in; nil: everybody is, unless ClientCertificates is set.
	Tokens TokenMatcher
	// ClientCertificates lets in who showed a certificate that the TLS layer verified.
	ClientCertificates bool
}

// open are the paths without credentials: what a kubelet asks.
func open(path string) bool { return path == "/healthz" || path == "/readyz" }

// Wrap puts the gate in front of the routes of a mux: requests by another name, without credentials, of a page of another origin or without a
// route are answered by fail.
func (g Gate) Wrap(mux *http.ServeMux, openAPI string, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	routes := httproute.Refuse(mux, func(w http.ResponseWriter, r *http.Request, code int) {
		p := &Error{Status: code, Kind: KindRoute, Detail: "there is no " + r.URL.Path, Advice: "see " + openAPI}
		if code == http.StatusMethodNotAllowed {
			p.Detail, p.Advice = r.URL.Path+" takes no "+r.Method, "use "+w.Header().Get("Allow")
		}
		fail(w, r, p)
	})
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fail(w, r, otherOrigin()) }))
	return g.checkHost(g.authenticate(crossOrigin.Handler(routes), fail), fail)
}

func otherOrigin() *Error {
	return &Error{Status: http.StatusForbidden, Kind: KindRoute, Detail: "a page of another origin asks", Advice: "ask from a program, or from a page of this origin"}
}

// Changing guards a GET that changes something: a browser sends those across origins without asking.
func Changing(next http.HandlerFunc, fail func(http.ResponseWriter, *http.Request, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" || r.Header.Get("Origin") != "" {
			fail(w, r, otherOrigin())
			return
		}
		next(w, r)
	}
}

// checkHost refuses names that are not ours. Probes come by any.
func (g Gate) checkHost(next http.Handler, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	names := httphost.Names{LocalOnly: g.LocalHosts, Others: g.Hosts}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := names.Check(r); err != nil && !open(r.URL.Path) {
			fail(w, r, &Error{Status: http.StatusMisdirectedRequest, Kind: KindRoute, Detail: err.Error()})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g Gate) authenticate(next http.Handler, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open(r.URL.Path) || g.allowed(r) {
			next.ServeHTTP(w, r)
			return
		}
		p := &Error{Status: http.StatusUnauthorized, Kind: KindToken, Detail: "the token is missing or wrong", Advice: "send 'Authorization: Bearer TOKEN' with one of the server's --token-file"}
		if g.Tokens == nil {
			p = &Error{Status: http.StatusForbidden, Kind: KindToken, Detail: "a client certificate is needed", Advice: "show one signed by the authority of the server's --client-ca"}
		} else {
			w.Header().Set("WWW-Authenticate", `Bearer realm="scalehist"`)
		}
		fail(w, r, p)
	})
}

func (g Gate) allowed(r *http.Request) bool {
	if g.Tokens == nil && !g.ClientCertificates || g.ClientCertificates && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return true
	}
	return g.Tokens != nil && g.Tokens.Match(BearerToken(r))
}

// BearerToken is the token of a request, "" if it has none.
func BearerToken(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

type idKey struct{}

// RequestIDHeader names a request in answers, problems and logs.
const RequestIDHeader = "X-Request-Id"

var goodID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// NewID is a random id of a request.
func NewID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// Identify gives each request an id: the caller's if it is a sane one.
func Identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(RequestIDHeader)
		if !goodID.MatchString(id) {
			id = NewID()
		}
		h := w.Header()
		h.Set(RequestIDHeader, id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), idKey{}, id)))
	})
}

// RequestID is the id that Identify gave a request.
func RequestID(r *http.Request) string {
	id, _ := r.Context().Value(idKey{}).(string)
	return id
}
