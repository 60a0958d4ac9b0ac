package web

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/internal/httproute"
	"github.com/scalehist/scalehist/recorder/service"
)

// Recordings is what the web app needs of a *service.Service.
type Recordings interface {
	Clusters() []service.Status
	Config() service.ConfigStatus
	Ready() (ready bool, waiting []string)
	Dir() string
	HistoryPath(name string) string
}

var _ Recordings = (*service.Service)(nil)

// Options are the settings of a Server. Recordings is needed.
type Options struct {
	Recordings Recordings
	// Reports is the directory of replay reports; "" has none. It may come into being later.
	Reports string
	// ReportText turns a report file into text; nil shows its JSON.
	ReportText func(path string) (string, error)
	// ReportPage writes a report file as a page of its own, which brings a policy of what it may do; nil has none.
	ReportPage func(w io.Writer, path string) error
	// Tokens are accepted as bearer tokens and as passwords; nil accepts none.
	Tokens *Tokens
	// ClientCertificates accepts who showed a certificate that the TLS layer verified. With neither this nor Tokens
	// everybody is let in.
	ClientCertificates bool
	// LocalHosts admits requests to this machine's own names only ("localhost", loopback addresses), so that a page
	// elsewhere cannot reach it by a name of its own. Hosts are admitted beside them.
	LocalHosts bool
	Hosts      []string
	// MaxUpload bounds a history that is uploaded, in bytes; default 4 GiB.
	MaxUpload int64
	// Version and Commit are shown and are labels of scalehist_build_info.
	Version, Commit string
	// Clock says how old things are; default the wall clock.
	Clock clock.PassiveClock
}

// DefaultMaxUpload is 4 GiB.
const DefaultMaxUpload = 4 << 30

// Server is the web app.
type Server struct {
	o       Options
	library *library
	pages   pages
	metrics *metrics
	handler http.Handler
	copies  copies
	uploads chan struct{} // a place for each file that is being received
}

//go:embed static templates openapi.json
var assets embed.FS

// maxUploads bounds the files that are received at once: each may fill MaxUpload on the disk that recorders write to.
const maxUploads = 4

// New prepares the web app and removes what an earlier one left in the directory of histories when it was killed.
func New(o Options) (*Server, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.MaxUpload == 0 {
		o.MaxUpload = DefaultMaxUpload
	}
	s := &Server{o: o, copies: copies{alive: map[copyKey]*historyCopy{}}, uploads: make(chan struct{}, maxUploads)}
	s.library = newLibrary(o.Recordings, o.Clock)
	s.metrics = newMetrics(s)
	var err error
	if s.pages, err = parsePages(); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	if err := removeLeftovers(o.Recordings.Dir()); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	s.handler, err = s.routes()
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// HTTPServer is an http.Server for the app, with timeouts. Handlers that move files extend theirs as bytes flow.
func (s *Server) HTTPServer() *http.Server {
	return &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: ioTimeout, WriteTimeout: ioTimeout,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
}

// ioTimeout is how long a request, its answer, or the next bytes of a file may take.
const ioTimeout = time.Minute

func (s *Server) routes() (http.Handler, error) {
	static, err := fs.Sub(assets, "static")
	if err != nil {
		return nil, err
	}
	open := http.NewServeMux() // without credentials: what a kubelet asks
	open.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") })
	open.HandleFunc("GET /readyz", s.ready)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.indexPage)
	mux.HandleFunc("GET /clusters/{name}", s.clusterPage)
	mux.HandleFunc("POST /histories", s.uploadForm)
	mux.HandleFunc("GET /reports", s.reportsPage)
	mux.HandleFunc("GET /reports/{name}", s.reportPage)
	mux.HandleFunc("GET /reports/{name}/page", s.reportDrawn)
	mux.Handle("GET /static/", http.StripPrefix("/static/", staticFiles(static)))
	mux.HandleFunc("GET /api/clusters", s.apiClusters)
	mux.HandleFunc("GET /api/clusters/{name}", s.apiCluster)
	mux.HandleFunc("GET /api/clusters/{name}/series", s.apiSeries)
	mux.HandleFunc("GET /api/clusters/{name}/db", s.download)
	mux.HandleFunc("PUT /api/histories/{name}", s.apiUpload)
	mux.HandleFunc("POST /api/histories/{name}", s.apiUpload)
	mux.HandleFunc("GET /api/reports", s.apiReports)
	mux.HandleFunc("GET /api/reports/{name}", s.apiReport)
	mux.HandleFunc("GET /api/openapi.json", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, assets, "openapi.json")
	})
	mux.Handle("GET /metrics", s.metrics.handler())
	routes := httproute.Refuse(mux, func(w http.ResponseWriter, r *http.Request, code int) {
		err := errors.New("there is no such page: the API is described in /api/openapi.json")
		if code == http.StatusMethodNotAllowed {
			err = fmt.Errorf("%s is not for %s: use %s", r.URL.Path, r.Method, w.Header().Get("Allow"))
		}
		s.refuse(w, r, code, err)
	})
	guarded := s.checkHost(s.authenticate(http.NewCrossOriginProtection().Handler(routes)))
	both := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			open.ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	})
	return s.metrics.count(mux, secureHeaders(both)), nil
}

// ready answers a probe. Names and reasons are for those who may see the rest.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ready, waiting := s.o.Recordings.Ready()
	code := http.StatusOK
	if !ready {
		code = http.StatusServiceUnavailable
	}
	answer := struct {
		Ready   bool `json:"ready"`
		Waiting int  `json:"waiting"`
		Details any  `json:"details,omitempty"`
	}{Ready: ready, Waiting: len(waiting)}
	if s.names().Check(r) == nil && s.allowed(r) {
		type detail struct {
			State  string `json:"state"`
			Reason string `json:"reason,omitempty"`
		}
		clusters := map[string]detail{}
		for _, c := range s.o.Recordings.Clusters() {
			clusters[c.Name] = detail{State: string(c.State), Reason: c.Reason}
		}
		answer.Details = map[string]any{"waiting": append([]string{}, waiting...), "clusters": clusters, "config": s.o.Recordings.Config().Problem}
	}
	writeJSON(w, code, answer)
}

// Names of files that are being made in the directory of histories. They begin with a dot, so that no name of a
// history is one of them.
const (
	uploadPattern   = ".upload-*.db"
	downloadPattern = ".download-*"
)

func removeLeftovers(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".upload-") || strings.HasPrefix(e.Name(), ".download-") {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
