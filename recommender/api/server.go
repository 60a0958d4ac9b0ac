package api

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/internal/httphost"
	"github.com/scalehist/scalehist/internal/httproute"
	"github.com/scalehist/scalehist/internal/httpstatus"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/recommender"
)

// Options are the settings of a Server. Recommender is needed.
type Options struct {
	Recommender recommender.Recommender
	// Name is what the recommender calls itself in GET /v1/strategies; default "recommender".
	Name string
	// Strategies and Scorings it can be asked for; default those of package recommender.
	Strategies, Scorings []string
	// Prices are for requests that have none; nil: those have no prices.
	Prices *prices.Table
	// Parallelism is how many simulations a recommendation runs at once; 0: one per processor.
	Parallelism int
	// MaxConcurrent is how many recommendations are made at once; what is beyond is refused with 429. Default 4.
	MaxConcurrent int
	// MaxBody bounds a request, unpacked, in bytes; default 64 MiB.
	MaxBody int64
	// ReadTimeout bounds the reading of a request's body, for which no slot is taken yet; default a minute.
	ReadTimeout time.Duration
	// Timeout bounds the making of an answer, once the request was read; default a minute.
	Timeout time.Duration
	// LocalHosts admits requests to this machine's own names only, so that a page elsewhere cannot reach the server by a
	// name of its own. Hosts are admitted beside them.
	LocalHosts bool
	Hosts      []string
	// Tokens says which bearer tokens are let in; nil: everybody is. Probes need none.
	Tokens TokenMatcher
	// ClientCertificates lets in who showed a certificate that the TLS layer verified.
	ClientCertificates bool
	// Version and Commit are shown and are labels of scalehist_build_info.
	Version, Commit string
	// Clock measures run times; default the wall clock.
	Clock clock.PassiveClock
}

// TokenMatcher knows tokens. It takes the same time for all wrong ones.
type TokenMatcher interface{ Match(token string) bool }

// The defaults of Options.
const (
	DefaultMaxConcurrent = 4
	DefaultMaxBody       = 64 << 20
	DefaultReadTimeout   = time.Minute
	DefaultTimeout       = time.Minute
)

// Server answers the API. It is an http.Handler.
type Server struct {
	o        Options
	metrics  *metrics
	handler  http.Handler
	slots    chan struct{}
	received received
	draining atomic.Bool
	incoming incoming
}

// OpenAPI is the OpenAPI 3.1 document of the API, as docs/recommender.openapi.json has it.
//
//go:embed openapi.json
var OpenAPI []byte

// NewServer prepares a server. It is an error to give limits that let nothing through.
func NewServer(o Options) (*Server, error) {
	if o.Recommender == nil {
		return nil, errors.New("recommender API: no recommender: give Options.Recommender")
	}
	if o.MaxConcurrent < 0 || o.MaxBody < 0 || o.ReadTimeout < 0 || o.Timeout < 0 || o.Parallelism < 0 {
		return nil, errors.New("recommender API: limits must not be negative")
	}
	if o.Name == "" {
		o.Name = "recommender" // as the engine of this process is called
	}
	if o.Strategies == nil {
		o.Strategies, o.Scorings = recommender.Strategies(), recommender.Scorings()
	}
	if o.MaxConcurrent == 0 {
		o.MaxConcurrent = DefaultMaxConcurrent
	}
	if o.MaxBody == 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = DefaultReadTimeout
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	s := &Server{o: o, metrics: newMetrics(&o), slots: make(chan struct{}, o.MaxConcurrent)}
	s.received.most = max(2*int64(o.MaxConcurrent)*o.MaxBody, leastReceived)
	s.handler = s.routes()
	return s, nil
}

// leastReceived is what requests together may hold while they are read where the largest body is small.
const leastReceived = 16 << 20

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// HTTPServer is an http.Server for the API, with timeouts that leave a request its own.
func (s *Server) HTTPServer() *http.Server {
	return &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: s.o.ReadTimeout + 10*time.Second,
		WriteTimeout: s.o.ReadTimeout + s.o.Timeout + time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
}

// Drain makes the server unready and refuses new recommendations; those under way go on, and bodies that are being sent have a
// second to arrive. Call it before Shutdown.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.incoming.end(s.o.Clock.Now().Add(drainGrace))
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+PathRecommend, s.working(s.recommend))
	mux.HandleFunc("GET "+PathStrategies, s.strategies)
	mux.HandleFunc("GET "+PathOpenAPI, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(OpenAPI) // who asked may have gone
	})
	mux.Handle("GET /metrics", s.metrics.handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	routes := httproute.Refuse(mux, func(w http.ResponseWriter, r *http.Request, code int) {
		p := &problem{status: code, kind: kindRoute, detail: "there is no " + r.URL.Path, advice: "see " + PathOpenAPI}
		if code == http.StatusMethodNotAllowed {
			p.detail, p.advice = r.URL.Path+" takes no "+r.Method, "use "+w.Header().Get("Allow")
		}
		s.fail(w, r, p)
	})
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, &problem{status: http.StatusForbidden, kind: kindRoute, detail: "a page of another origin asks", advice: "ask from a program, or from a page of this origin"})
	}))
	inner := s.checkHost(s.authenticate(crossOrigin.Handler(routes)))
	return s.identify(s.metrics.count(mux, s.recovering(compress(inner))))
}

// ready answers a probe.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.draining.Load() {
		writeText(w, http.StatusServiceUnavailable, "shutting down\n")
		return
	}
	writeText(w, http.StatusOK, "ok\n")
}

func (s *Server) strategies(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, "application/json", StrategyList{APIVersion: Version, Name: s.o.Name, Strategies: s.o.Strategies, Scorings: s.o.Scorings,
		Weights: recommender.DefaultWeights()})
}

// open are the paths without credentials: what a kubelet asks.
func open(path string) bool { return path == "/healthz" || path == "/readyz" }

// checkHost refuses names that are not ours. Probes come by any.
func (s *Server) checkHost(next http.Handler) http.Handler {
	names := httphost.Names{LocalOnly: s.o.LocalHosts, Others: s.o.Hosts}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := names.Check(r); err != nil && !open(r.URL.Path) {
			s.fail(w, r, &problem{status: http.StatusMisdirectedRequest, kind: kindRoute, detail: err.Error()})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open(r.URL.Path) || s.allowed(r) {
			next.ServeHTTP(w, r)
			return
		}
		p := &problem{status: http.StatusUnauthorized, kind: kindToken, detail: "the token is missing or wrong", advice: "send 'Authorization: Bearer TOKEN' with one of the server's --token-file"}
		if s.o.Tokens == nil {
			p = &problem{status: http.StatusForbidden, kind: kindToken, detail: "a client certificate is needed", advice: "show one signed by the authority of the server's --client-ca"}
		} else {
			w.Header().Set("WWW-Authenticate", `Bearer realm="scalehist"`)
		}
		s.fail(w, r, p)
	})
}

func (s *Server) allowed(r *http.Request) bool {
	if s.o.Tokens == nil && !s.o.ClientCertificates || s.o.ClientCertificates && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return true
	}
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return ok && s.o.Tokens != nil && strings.EqualFold(scheme, "Bearer") && s.o.Tokens.Match(strings.TrimSpace(token))
}

type idKey struct{}

// requestIDHeader names a request in answers, problems and logs.
const requestIDHeader = "X-Request-Id"

var goodID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// identify gives each request an id: the caller's if it is a sane one.
func (s *Server) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(requestIDHeader)
		if !goodID.MatchString(id) {
			var b [8]byte
			_, _ = rand.Read(b[:]) // it never fails
			id = hex.EncodeToString(b[:])
		}
		h := w.Header()
		h.Set(requestIDHeader, id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), idKey{}, id)))
	})
}

func requestID(r *http.Request) string {
	id, _ := r.Context().Value(idKey{}).(string)
	return id
}

// recovering answers a panic with a problem; the process goes on.
func (s *Server) recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v)
			}
			s.metrics.panics.Inc()
			klog.FromContext(r.Context()).Error(fmt.Errorf("panic: %v", v), "A request ended in a panic", "path", r.URL.Path, "requestId", requestID(r), "stack", string(debug.Stack()))
			if seen, ok := w.(*httpstatus.Writer); ok && seen.Wrote {
				panic(http.ErrAbortHandler) // half an answer is none
			}
			w.Header().Del("Content-Encoding")
			s.fail(w, r, &problem{status: http.StatusInternalServerError, kind: kindFailed, detail: "the recommender broke down on this request",
				advice: "the server's log has the stack under the request id; please report it with the request"})
		}()
		next.ServeHTTP(w, r)
	})
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text)) // who asked may have gone
}
