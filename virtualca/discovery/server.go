package discovery

import (
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/scalehist/scalehist/internal/restapi"
)

// The paths of the API. PathList is that of the original system.
const (
	PathClusters = "/v1/clusters"
	PathList     = "/list"
	PathOpenAPI  = "/openapi.json"
)

// problemTypes is where docs/capacity.md describes problems; the anchor is the kind.
const problemTypes = "https://github.com/scalehist/scalehist/blob/main/docs/capacity.md#"

// The kinds of problems, beside those of every API. They are anchors of the page.
const (
	kindCluster = "invalid-cluster"
	kindUnknown = "no-such-cluster"
	kindReader  = "not-a-reader"
)

// ClusterList is the list, by name.
type ClusterList struct {
	Clusters []Cluster `json:"clusters"`
}

// Kubeconfig reaches a cluster.
type Kubeconfig struct {
	// Kubeconfig is a file for kubectl, as text.
	Kubeconfig string `json:"kubeconfig"`
}

// OpenAPI is the OpenAPI 3.1 document of the API, as docs/discovery.openapi.json has it.
//
//go:embed openapi.json
var OpenAPI []byte

// ServerOptions are the settings of a Server.
type ServerOptions struct {
	restapi.Gate
	// ReaderTokens and ReaderNames say who may read kubeconfigs: who sends one of the tokens, and who shows a verified certificate with one of the names
	// as its common name or among its DNS names. With neither nobody may.
	ReaderTokens restapi.TokenMatcher
	ReaderNames  []string
}

// Server is the API over a registry. It is an http.Handler.
type Server struct {
	registry *Registry
	o        ServerOptions
	handler  http.Handler
}

// route is a path of the API.
type route struct {
	method, path string
	handle       func(http.ResponseWriter, *http.Request) error
}

// NewServer serves a registry.
func NewServer(r *Registry, o ServerOptions) *Server {
	s := &Server{registry: r, o: o}
	mux := http.NewServeMux()
	for _, one := range s.routes() {
		mux.HandleFunc(one.method+" "+one.path, func(w http.ResponseWriter, r *http.Request) {
			if err := one.handle(w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
	s.handler = restapi.Identify(restapi.Recover(o.Wrap(mux, PathOpenAPI, s.fail), "discovery", func() {}, s.fail))
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Server) routes() []route {
	alive := func(w http.ResponseWriter, _ *http.Request) error {
		restapi.WriteText(w, http.StatusOK, "ok\n")
		return nil
	}
	return []route{
		{"GET", PathClusters, s.list},
		{"GET", PathClusters + "/{name}", s.get},
		{"PUT", PathClusters + "/{name}", s.put},
		{"DELETE", PathClusters + "/{name}", s.remove},
		{"POST", PathClusters + "/{name}/heartbeat", s.heartbeat},
		{"GET", PathClusters + "/{name}/kubeconfig", s.kubeconfig},
		{"GET", PathList, s.original},
		{"GET", PathOpenAPI, func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(OpenAPI) // who asked may have gone
			return nil
		}},
		{"GET", "/healthz", alive},
		{"GET", "/readyz", alive},
	}
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var p *restapi.Error
	switch {
	case errors.As(err, &p):
	case errors.Is(err, ErrUnknown):
		p = &restapi.Error{Status: http.StatusNotFound, Kind: kindUnknown, Detail: err.Error(), Advice: "GET " + PathClusters + " lists those there are"}
	case errors.Is(err, ErrInvalid):
		p = &restapi.Error{Status: http.StatusUnprocessableEntity, Kind: kindCluster, Detail: err.Error(), Advice: "see " + PathOpenAPI}
	default:
		p = restapi.Unexpected(r, err)
	}
	restapi.WriteProblem(w, r, problemTypes, p)
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) error {
	switch v := r.URL.Query().Get("watch"); v {
	case "", "false":
		return restapi.Answer(w, http.StatusOK, ClusterList{Clusters: s.registry.List()})
	case "true":
		return s.watch(w, r)
	default:
		return &restapi.Error{Status: http.StatusBadRequest, Kind: restapi.KindRequest, Path: "watch", Detail: "watch=" + v, Advice: "want true or false"}
	}
}

// watch sends an event a line until the asker goes.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) error {
	c := http.NewResponseController(w)
	_ = c.SetWriteDeadline(time.Time{}) // where there is one, it is for answers that end
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	lines := json.NewEncoder(w)
	sent := func(e Event) bool { return lines.Encode(e) == nil && c.Flush() == nil }
	for e := range s.registry.Watch(r.Context()) {
		if !sent(e) {
			break // the asker has gone
		}
	}
	return nil
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) error {
	c, err := s.registry.Get(r.PathValue("name"))
	if err != nil {
		return err
	}
	return restapi.Answer(w, http.StatusOK, c)
}

func (s *Server) put(w http.ResponseWriter, r *http.Request) error {
	var in Registration
	if err := restapi.ReadJSON(w, r, &in); err != nil {
		return err
	}
	name := r.PathValue("name")
	if in.Name != "" && in.Name != name {
		return &restapi.Error{Status: http.StatusBadRequest, Kind: restapi.KindRequest, Path: "name", Detail: "it is not the name in the path"}
	}
	in.Name = name
	c, created, err := s.registry.Put(r.Context(), FromAPI, in)
	if err != nil {
		return err
	}
	if created {
		return restapi.Answer(w, http.StatusCreated, c)
	}
	return restapi.Answer(w, http.StatusOK, c)
}

func (s *Server) heartbeat(w http.ResponseWriter, r *http.Request) error {
	c, err := s.registry.Heartbeat(r.PathValue("name"))
	if err != nil {
		return err
	}
	return restapi.Answer(w, http.StatusOK, c)
}

func (s *Server) remove(w http.ResponseWriter, r *http.Request) error {
	if err := s.registry.Remove(r.Context(), FromAPI, r.PathValue("name")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// reader says whether somebody may read kubeconfigs.
func (s *Server) reader(r *http.Request) bool {
	if s.o.ReaderTokens != nil && s.o.ReaderTokens.Match(restapi.BearerToken(r)) {
		return true
	}
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return false
	}
	leaf := r.TLS.VerifiedChains[0][0]
	return slices.ContainsFunc(append(slices.Clone(leaf.DNSNames), leaf.Subject.CommonName), func(name string) bool {
		return name != "" && slices.Contains(s.o.ReaderNames, name)
	})
}

func (s *Server) kubeconfig(w http.ResponseWriter, r *http.Request) error {
	if !s.reader(r) {
		return &restapi.Error{Status: http.StatusForbidden, Kind: kindReader, Detail: "kubeconfigs are for readers",
			Advice: "show a certificate with a name of the server's --reader, or send a token of its --reader-token-file"}
	}
	text, err := s.registry.Kubeconfig(r.PathValue("name"))
	if err != nil {
		return err
	}
	return restapi.Answer(w, http.StatusOK, Kubeconfig{Kubeconfig: text})
}

// original is the list as the original system has it: an array, with kubeconfigs, for readers alone.
func (s *Server) original(w http.ResponseWriter, r *http.Request) error {
	out := []Registration{}
	reads := s.reader(r)
	for _, c := range s.registry.List() {
		one := Registration{Cluster: c}
		if reads && c.HasKubeconfig {
			var err error
			if one.Kubeconfig, err = s.registry.Kubeconfig(c.Name); err != nil {
				return err
			}
		}
		out = append(out, one)
	}
	return restapi.Answer(w, http.StatusOK, out)
}
