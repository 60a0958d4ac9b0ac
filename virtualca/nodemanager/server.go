package nodemanager

import (
	_ "embed"
	"net/http"
	"strings"
	"sync"

	"github.com/scalehist/scalehist/internal/restapi"
)

// KeyHeader carries the key of a change, of up to 64 characters.
const KeyHeader = "Idempotency-Key"

// PathOpenAPI is where the API describes itself.
const PathOpenAPI = "/openapi.json"

// OpenAPI is the OpenAPI 3.1 document of the API, as docs/nodemanager.openapi.json has it.
//
//go:embed openapi.json
var OpenAPI []byte

// Server is the API over a backend. It is an http.Handler.
type Server struct {
	backend Backend
	// changing: changes come one after the other, so that two with one key are not made both.
	changing sync.Mutex
	handler  http.Handler
}

// route is a path of the API; methods are separated by spaces.
type route struct {
	methods, path string
	// changes: GET is an alias of POST, for clients of the original.
	changes bool
	handle  func(w http.ResponseWriter, r *http.Request) (any, error)
}

// NewServer serves a backend.
func NewServer(b Backend, gate restapi.Gate) *Server {
	s := &Server{backend: b}
	mux := http.NewServeMux()
	for _, one := range s.routes() {
		handle := func(w http.ResponseWriter, r *http.Request) {
			v, err := one.handle(w, r)
			if err != nil {
				fail(w, r, err)
				return
			}
			restapi.WriteJSON(w, http.StatusOK, "application/json", v)
		}
		for method := range strings.SplitSeq(one.methods, " ") {
			h := handle
			if one.changes && method == http.MethodGet {
				h = restapi.Changing(handle, fail)
			}
			mux.HandleFunc(method+" "+one.path, h)
		}
	}
	alive := func(w http.ResponseWriter, _ *http.Request) { restapi.WriteText(w, http.StatusOK, "ok\n") }
	mux.HandleFunc("GET /healthz", alive)
	mux.HandleFunc("GET /readyz", alive)
	mux.HandleFunc("GET "+PathOpenAPI, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(OpenAPI) // who asked may have gone
	})
	s.handler = restapi.Identify(restapi.Recover(gate.Wrap(mux, PathOpenAPI, fail), "the node manager", func() {}, fail))
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Server) routes() []route {
	const read, ask, change = "GET", "GET POST", "POST GET"
	return []route{
		{read, "/nodegroup", false, s.groups},
		{ask, "/nodegroup/ownership", false, s.ownership},
		{read, "/nodegroup/current-size", false, s.size},
		{read, "/nodegroup/nodes", false, s.nodes},
		{read, "/nodegroup/template", false, s.template},
		{"POST", "/nodegroup/options", false, s.options},
		{ask, "/nodegroup/nodeprice", false, s.nodePrice},
		{"POST", "/nodegroup/podprice", false, s.podPrice},
		{read, "/gpu/label", false, s.gpuLabel},
		{read, "/gpu/types", false, s.gpuTypes},
		{change, "/nodegroup/scaleup", true, s.scaleUp},
		{change, "/nodegroup/scaledown", true, s.scaleDown},
		{change, "/nodegroup/decrease", true, s.decrease},
		{"POST", "/nodegroup/create", true, s.create},
		{change, "/nodegroup/destroy", true, s.destroy},
		{change, "/refresh", true, s.refresh},
		{change, "/cleanup", true, s.cleanup},
	}
}
