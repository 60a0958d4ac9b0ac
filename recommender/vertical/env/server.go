package env

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/scalehist/scalehist/internal/httphost"
	"github.com/scalehist/scalehist/internal/httproute"
	"github.com/scalehist/scalehist/recommender/vertical"
)

// The bounds of a server: sets of environments at once, environments of a set, and bytes of a request.
const (
	maxSets   = 100
	maxInSet  = 1024
	maxAnswer = 4 << 20
)

// Workload is what a server offers environments of.
type Workload struct {
	Name       string
	Containers []Container
	Step       time.Duration
	// From is when its first step begins.
	From time.Time
}

// Server serves environments over HTTP, as JSON:
//
//	GET    /v1/workloads        {"workloads": [{"name", "containers", "steps", "stepSeconds"}]}
//	POST   /v1/envs             Request -> Made
//	POST   /v1/envs/ID/reset    {"seed"} -> {"observations": [[...], ...]}
//	POST   /v1/envs/ID/step     {"actions": [[...], ...]} -> {"results": [Result, ...]}
//	DELETE /v1/envs/ID
//
// What is wrong is {"error"} with 400, 404, or 503 where there are too many sets. It may be asked by many at once.
type Server struct {
	workloads []Workload
	names     httphost.Names
	lock      sync.Mutex
	sets      map[int]*set
	next      int
}

type set struct {
	lock sync.Mutex
	v    *Vector
}

// NewServer serves environments of workloads to this machine.
func NewServer(workloads []Workload) *Server {
	return &Server{workloads: workloads, names: httphost.Names{LocalOnly: true}, sets: map[int]*set{}}
}

// Request asks for environments.
type Request struct {
	// Workloads are names of what GET /v1/workloads lists, in turns; none: all.
	Workloads []string `json:"workloads"`
	// Number is how many environments there are; 0: one of each workload.
	Number      int    `json:"number"`
	Updater     string `json:"updater"`
	Reward      string `json:"reward"`
	RoundRobin  bool   `json:"roundRobin"`
	RandomStart bool   `json:"randomStart"`
}

// Made is a set of environments. All of its numbers are from 0 to the highest of observations and actions.
type Made struct {
	ID         int       `json:"id"`
	Number     int       `json:"number"`
	Containers []string  `json:"containers"`
	Observed   []float64 `json:"observationHigh"`
	Acted      []float64 `json:"actionHigh"`
}

// failure is an error with a status.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }

func wrong(code int, format string, args ...any) error {
	return &failure{code, fmt.Errorf(format, args...)}
}

// Handler is the server's.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/workloads", s.answer(s.list))
	mux.HandleFunc("POST /v1/envs", s.answer(s.make))
	mux.HandleFunc("POST /v1/envs/{id}/reset", s.answer(s.reset))
	mux.HandleFunc("POST /v1/envs/{id}/step", s.answer(s.step))
	mux.HandleFunc("DELETE /v1/envs/{id}", s.answer(s.remove))
	return httproute.Refuse(mux, func(w http.ResponseWriter, r *http.Request, code int) {
		write(w, code, map[string]string{"error": fmt.Sprintf("%s %s: %s", r.Method, r.URL.Path, http.StatusText(code))})
	})
}

func write(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // who asked is gone
}

// answer writes what f returns. Requests must say that they are JSON, which a page elsewhere cannot without being asked first.
func (s *Server) answer(f func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.names.Check(r); err != nil {
			write(w, http.StatusForbidden, map[string]string{"error": err.Error()})
			return
		}
		if r.Method == http.MethodPost && r.Header.Get("Content-Type") != "application/json" {
			write(w, http.StatusUnsupportedMediaType, map[string]string{"error": "want Content-Type application/json"})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxAnswer)
		v, err := f(r)
		var known *failure
		switch {
		case errors.As(err, &known):
			write(w, known.code, map[string]string{"error": known.Error()})
		case err != nil:
			write(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		default:
			write(w, http.StatusOK, v)
		}
	}
}

func read(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the body is no such JSON: %w", err)
	}
	return nil
}

func (s *Server) list(*http.Request) (any, error) {
	type entry struct {
		Name       string   `json:"name"`
		Containers []string `json:"containers"`
		Steps      int      `json:"steps"`
		Seconds    float64  `json:"stepSeconds"`
	}
	out := []entry{}
	for _, w := range s.workloads {
		out = append(out, entry{w.Name, names(w.Containers), len(w.Containers[0].Usage), w.Step.Seconds()})
	}
	return map[string]any{"workloads": out}, nil
}

func names(containers []Container) []string {
	var out []string
	for _, c := range containers {
		out = append(out, c.Name)
	}
	return out
}

// configs are those of the workloads that are asked for, which must have as many containers.
func (s *Server) configs(q *Request) ([]Config, []string, error) {
	reward, err := ParseReward(q.Reward)
	if q.Reward == "" {
		reward, err = ParseReward("weighted")
	}
	if err != nil {
		return nil, nil, err
	}
	if q.Updater == "" {
		q.Updater = vertical.UpdaterUpstream
	}
	wanted := q.Workloads
	if len(wanted) == 0 {
		for _, w := range s.workloads {
			wanted = append(wanted, w.Name)
		}
	}
	var out []Config
	var first []string
	for _, name := range wanted {
		at := -1
		for i := range s.workloads {
			if s.workloads[i].Name == name {
				at = i
			}
		}
		if at < 0 {
			return nil, nil, fmt.Errorf("workload %q is not there: GET /v1/workloads lists them", name)
		}
		w := &s.workloads[at]
		if first == nil {
			first = names(w.Containers)
		}
		if len(w.Containers) != len(first) {
			return nil, nil, fmt.Errorf("workload %s has %d containers, the first has %d: choose workloads with as many", name, len(w.Containers), len(first))
		}
		out = append(out, Config{Containers: w.Containers, Step: w.Step, Updater: q.Updater, Reward: reward, RoundRobin: q.RoundRobin, RandomStart: q.RandomStart})
	}
	return out, first, nil
}

func (s *Server) make(r *http.Request) (any, error) {
	var q Request
	if err := read(r, &q); err != nil {
		return nil, err
	}
	configs, containers, err := s.configs(&q)
	if err != nil {
		return nil, err
	}
	if q.Number == 0 {
		q.Number = len(configs)
	}
	if q.Number < 1 || q.Number > maxInSet {
		return nil, fmt.Errorf("number %d: want 1 to %d", q.Number, maxInSet)
	}
	v, err := NewVector(configs, q.Number)
	if err != nil {
		return nil, err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if len(s.sets) >= maxSets {
		return nil, wrong(http.StatusServiceUnavailable, "there are %d sets of environments: delete one first", maxSets)
	}
	s.next++
	s.sets[s.next] = &set{v: v}
	m := Made{ID: s.next, Number: q.Number, Containers: containers}
	for range containers {
		b := DefaultBounds
		pair := []float64{b.MostMemory, b.MostCPU}
		m.Observed = append(m.Observed, append(pair, pair...)...)
		m.Acted = append(m.Acted, append(append(pair, pair...), pair...)...)
	}
	return m, nil
}

// set is the one whose ID the path has.
func (s *Server) set(r *http.Request) (int, *set, error) {
	id, err := strconv.Atoi(r.PathValue("id"))
	s.lock.Lock()
	defer s.lock.Unlock()
	if err != nil || s.sets[id] == nil {
		return 0, nil, wrong(http.StatusNotFound, "environments %q are not there: make some with POST /v1/envs", r.PathValue("id"))
	}
	return id, s.sets[id], nil
}

func (s *Server) reset(r *http.Request) (any, error) {
	var q struct {
		Seed uint64 `json:"seed"`
	}
	_, one, err := s.set(r)
	if err != nil {
		return nil, err
	}
	if err := read(r, &q); err != nil {
		return nil, err
	}
	one.lock.Lock()
	defer one.lock.Unlock()
	return map[string]any{"observations": one.v.Reset(q.Seed)}, nil
}

func (s *Server) step(r *http.Request) (any, error) {
	var q struct {
		Actions [][]float64 `json:"actions"`
	}
	_, one, err := s.set(r)
	if err != nil {
		return nil, err
	}
	if err := read(r, &q); err != nil {
		return nil, err
	}
	one.lock.Lock()
	defer one.lock.Unlock()
	results, err := one.v.Step(q.Actions)
	if err != nil {
		return nil, err
	}
	return map[string]any{"results": results}, nil
}

func (s *Server) remove(r *http.Request) (any, error) {
	id, _, err := s.set(r)
	if err != nil {
		return nil, err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	delete(s.sets, id)
	return map[string]any{}, nil
}
