package serve

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/remote"
)

// The defaults of Options.
const (
	DefaultWorkloads = 10_000
	DefaultIdle      = 24 * time.Hour
)

// problemTypes is where docs/backtest.md describes problems; the anchor is the kind.
const problemTypes = "https://github.com/scalehist/scalehist/blob/main/docs/backtest.md#"

// The kinds of problems, beside those of every API.
const (
	kindUnknown = "no-such-workload"
	kindFull    = "too-many-workloads"
	kindState   = "invalid-state"
)

// Options are the settings of a Server. Recommender is needed.
type Options struct {
	restapi.Gate
	// Recommender is made for each workload.
	Recommender vertical.Spec
	// Workloads is how many are kept at most; one that nobody asks about for Idle makes room.
	Workloads int
	Idle      time.Duration
	// Clock measures Idle; default the wall clock.
	Clock clock.PassiveClock
}

// Server answers the API. It is an http.Handler.
type Server struct {
	o       Options
	handler http.Handler
	lock    sync.Mutex
	kept    map[string]*kept
	next    int
}

// kept is a workload.
type kept struct {
	lock        sync.Mutex
	recommender vertical.Recommender
	used        time.Time // under the server's lock
}

// New prepares a server.
func New(o Options) (*Server, error) {
	if o.Recommender.Maker == nil {
		return nil, errors.New("serve: Recommender must be set")
	}
	o.Workloads, o.Idle = cmp.Or(o.Workloads, DefaultWorkloads), cmp.Or(o.Idle, DefaultIdle)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	s := &Server{o: o, kept: map[string]*kept{}}
	mux := http.NewServeMux()
	for _, one := range s.routes() {
		mux.HandleFunc(one.method+" "+one.path, func(w http.ResponseWriter, r *http.Request) {
			if err := one.handle(w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
	s.handler = restapi.Identify(restapi.Recover(o.Wrap(mux, remote.PathOpenAPI, s.fail), "the recommender", func() {}, s.fail))
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// route is a path of the API.
type route struct {
	method, path string
	handle       func(http.ResponseWriter, *http.Request) error
}

func (s *Server) routes() []route {
	alive := func(w http.ResponseWriter, _ *http.Request) error {
		restapi.WriteText(w, http.StatusOK, "ok\n")
		return nil
	}
	one := remote.PathWorkloads + "/{id}"
	return []route{
		{"POST", remote.PathWorkloads, s.make},
		{"PUT", one, s.follow},
		{"DELETE", one, s.remove},
		{"POST", one + "/observe", s.observe},
		{"POST", one + "/recommend", s.recommend},
		{"POST", one + "/reset", s.reset},
		{"GET", one + "/state", s.save},
		{"PUT", one + "/state", s.load},
		{"GET", remote.PathOpenAPI, func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(remote.OpenAPI) // who asked may have gone
			return nil
		}},
		{"GET", "/healthz", alive},
		{"GET", "/readyz", alive},
	}
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var p *restapi.Error
	if !errors.As(err, &p) {
		p = restapi.Unexpected(r, err)
	}
	restapi.WriteProblem(w, r, problemTypes, p)
}

func done(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) make(w http.ResponseWriter, r *http.Request) error {
	var q remote.Workload
	if err := restapi.ReadJSON(w, r, &q); err != nil {
		return err
	}
	made, err := s.o.Recommender.Maker(vertical.Workload{Namespace: q.Namespace, Name: q.Name, Containers: q.Containers, VPA: q.VPA})
	if err != nil {
		return fmt.Errorf("recommender %s: %w", s.o.Recommender, err)
	}
	now := s.o.Clock.Now()
	s.lock.Lock()
	defer s.lock.Unlock()
	for id, k := range s.kept {
		if now.Sub(k.used) > s.o.Idle {
			delete(s.kept, id)
		}
	}
	if len(s.kept) >= s.o.Workloads {
		return &restapi.Error{Status: http.StatusServiceUnavailable, Kind: kindFull, Detail: fmt.Sprintf("there are %d workloads", len(s.kept)), Advice: "remove one first"}
	}
	s.next++
	id := strconv.Itoa(s.next)
	s.kept[id] = &kept{recommender: made, used: now}
	return restapi.Answer(w, http.StatusCreated, remote.Made{ID: id})
}

// with does something with the workload of the path, and nobody else does meanwhile.
func (s *Server) with(r *http.Request, do func(vertical.Recommender) error) error {
	s.lock.Lock()
	k := s.kept[r.PathValue("id")]
	if k != nil {
		k.used = s.o.Clock.Now()
	}
	s.lock.Unlock()
	if k == nil {
		return &restapi.Error{Status: http.StatusNotFound, Kind: kindUnknown, Detail: fmt.Sprintf("workload %q is not there", r.PathValue("id")), Advice: "make it with POST " + remote.PathWorkloads}
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	return do(k.recommender)
}

func (s *Server) follow(w http.ResponseWriter, r *http.Request) error {
	var q remote.Workload
	if err := restapi.ReadJSON(w, r, &q); err != nil {
		return err
	}
	return s.with(r, func(to vertical.Recommender) error {
		vertical.Follow(to, q.VPA)
		return done(w)
	})
}

func (s *Server) remove(w http.ResponseWriter, r *http.Request) error {
	return s.with(r, func(of vertical.Recommender) error {
		vertical.Close(of)
		s.lock.Lock()
		defer s.lock.Unlock()
		delete(s.kept, r.PathValue("id"))
		return done(w)
	})
}

// take hands observations over, and says which were not taken.
func take(to vertical.Recommender, list []remote.Observation) *remote.Refused {
	var refused remote.Refused
	refuse := func(number int, why string) {
		refused.Number += number
		refused.First = cmp.Or(refused.First, why)
	}
	for i := range list {
		o := &list[i]
		if o.Ended {
			vertical.Forget(to, o.Pod)
			continue
		}
		usage, err := vertical.AmountOfWire(o.Amount)
		if err == nil && (o.Pod == "" || o.Container == "" || o.At.IsZero()) {
			err = errors.New("at, pod or container is missing")
		}
		if err == nil {
			err = to.Observe(vertical.Sample{At: o.At, Pod: o.Pod, Container: o.Container, Usage: usage, OOM: o.OOM, Requested: o.RequestedBytes})
		}
		if err != nil {
			refuse(1, fmt.Sprintf("observed[%d]: %v", i, err))
		}
	}
	refuse(vertical.Refused(to))
	if refused.Number == 0 {
		return nil
	}
	return &refused
}

func (s *Server) observe(w http.ResponseWriter, r *http.Request) error {
	var q remote.Observed
	if err := restapi.ReadJSON(w, r, &q); err != nil {
		return err
	}
	return s.with(r, func(to vertical.Recommender) error {
		return restapi.Answer(w, http.StatusOK, remote.Taken{Refused: take(to, q.Observed)})
	})
}

func (s *Server) recommend(w http.ResponseWriter, r *http.Request) error {
	var q remote.Question
	if err := restapi.ReadJSON(w, r, &q); err != nil {
		return err
	}
	if q.Now.IsZero() {
		return &restapi.Error{Status: http.StatusBadRequest, Kind: restapi.KindRequest, Path: "now", Detail: "is missing", Advice: "say when it is: 2026-01-05T00:00:00Z"}
	}
	return s.with(r, func(from vertical.Recommender) error {
		refused := take(from, q.Observed)
		list, err := from.Recommend(r.Context(), q.Now)
		if err != nil {
			return err
		}
		return restapi.Answer(w, http.StatusOK, remote.Answer{Recommendations: vertical.Wire(list), Refused: refused})
	})
}

func (s *Server) reset(w http.ResponseWriter, r *http.Request) error {
	return s.with(r, func(one vertical.Recommender) error {
		one.Reset()
		return done(w)
	})
}

func (s *Server) save(w http.ResponseWriter, r *http.Request) error {
	now, err := time.Parse(time.RFC3339, r.URL.Query().Get("now"))
	if err != nil {
		return &restapi.Error{Status: http.StatusBadRequest, Kind: restapi.KindRequest, Path: "now", Detail: fmt.Sprintf("%q is no instant", r.URL.Query().Get("now")), Advice: "say when it is: 2026-01-05T00:00:00Z"}
	}
	return s.with(r, func(from vertical.Recommender) error {
		var b bytes.Buffer
		if err := from.Save(&b, now); err != nil {
			return err
		}
		return restapi.Answer(w, http.StatusOK, remote.State{State: b.Bytes()})
	})
}

func (s *Server) load(w http.ResponseWriter, r *http.Request) error {
	var q remote.State
	if err := restapi.ReadJSON(w, r, &q); err != nil {
		return err
	}
	return s.with(r, func(to vertical.Recommender) error {
		if err := to.Load(bytes.NewReader(q.State)); err != nil {
			return &restapi.Error{Status: http.StatusUnprocessableEntity, Kind: kindState, Detail: err.Error(), Advice: "send what a recommender of the same name and options saved"}
		}
		return done(w)
	})
}
