package api

import (
	_ "embed"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/internal/restapi"
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
type TokenMatcher = restapi.TokenMatcher

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
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { restapi.WriteText(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	gate := restapi.Gate{LocalHosts: s.o.LocalHosts, Hosts: s.o.Hosts, Tokens: s.o.Tokens, ClientCertificates: s.o.ClientCertificates}
	inner := gate.Wrap(mux, PathOpenAPI, s.fail)
	return restapi.Identify(s.metrics.count(mux, restapi.Recover(compress(inner), "the recommender", s.metrics.panics.Inc, s.fail)))
}

// ready answers a probe.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.draining.Load() {
		restapi.WriteText(w, http.StatusServiceUnavailable, "shutting down\n")
		return
	}
	restapi.WriteText(w, http.StatusOK, "ok\n")
}

func (s *Server) strategies(w http.ResponseWriter, _ *http.Request) {
	restapi.WriteJSON(w, http.StatusOK, "application/json", StrategyList{APIVersion: Version, Name: s.o.Name, Strategies: s.o.Strategies, Scorings: s.o.Scorings,
		Weights: recommender.DefaultWeights()})
}
