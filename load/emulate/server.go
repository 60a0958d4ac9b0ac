package emulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"
)

// Timeout is how long a worker may take to answer.
const Timeout = 3 * time.Second

const (
	maxHosts    = 10_000
	maxAnswer   = 64 << 10
	concurrency = 64
)

// Amount is what a host is asked to use.
type Amount struct {
	// RAM is memory in MiB, CPU millicores.
	RAM int64 `json:"ram"`
	CPU int64 `json:"cpu"`
}

// Measured is what a worker used since it was asked last.
type Measured struct {
	// CPUMilli is the mean over Seconds, MemoryBytes what it holds in memory now.
	CPUMilli    int64   `json:"cpuMilli"`
	MemoryBytes int64   `json:"memoryBytes"`
	Seconds     float64 `json:"seconds"`
	Error       string  `json:"error,omitempty"`
}

// Curve is what a host is asked for, a value a period.
type Curve struct {
	// Name, where it is a host's, is for that host. Others are given out in order, and again from the first.
	Name   string
	Values []Amount
}

// Sample is a period of a host.
type Sample struct {
	Host     string
	From, To time.Time
	Asked    Amount
	// Measured is nil where the host did not answer, or not what it measured.
	Measured *Measured
	Err      error
}

// Options say what a Server does.
type Options struct {
	// Curves are played; all have the same number of values.
	Curves []Curve
	Period time.Duration
	// Periods is for how many of them; 0 is until the context ends.
	Periods int
	// Address is where hosts are asked that register without a port, with {host} in it: "http://{host}.emulate.svc".
	Address string
	// Clock is the wall clock where it is nil.
	Clock clock.WithTicker
	// Report gets each period of each host when it is over, in order of hosts.
	Report func(Sample)
}

// Server says each period how much every host is to use.
type Server struct {
	options Options
	clock   clock.WithTicker
	client  *http.Client
	begun   chan struct{}

	mu    sync.Mutex
	at    int // the value that is played
	hosts []*host
	ended bool
}

type host struct {
	name, url string
	values    []Amount
	since     time.Time
	asked     Amount
}

// New prepares a server.
func New(o Options) (*Server, error) {
	if len(o.Curves) == 0 || o.Period <= 0 {
		return nil, errors.New("emulate: want curves, and a period of more than 0")
	}
	for _, c := range o.Curves {
		if len(c.Values) == 0 || len(c.Values) != len(o.Curves[0].Values) {
			return nil, errors.New("emulate: curves have different numbers of values, or none")
		}
		for _, v := range c.Values {
			if v.RAM < 0 || v.CPU < 0 {
				return nil, fmt.Errorf("emulate: curve %s: %+v is negative", c.Name, v)
			}
		}
	}
	if o.Address == "" {
		o.Address = "http://{host}"
	}
	if u, err := url.Parse(strings.ReplaceAll(o.Address, "{host}", "host")); err != nil || u.Host == "" || u.Scheme != "http" || !strings.Contains(o.Address, "{host}") {
		return nil, fmt.Errorf("emulate: address %q: want http:// and {host} in it", o.Address)
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Report == nil {
		o.Report = func(Sample) {}
	}
	client := &http.Client{Timeout: Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Server{options: o, clock: o.Clock, client: client, begun: make(chan struct{})}, nil
}

// hostName is a name of a host as DNS has them.
var hostName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// Handler answers registrations.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics/{host}/{$}", func(w http.ResponseWriter, r *http.Request) {
		amount, code, err := s.register(r.PathValue("host"), r.FormValue("port"), r.RemoteAddr)
		if err != nil {
			http.Error(w, err.Error(), code)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(amount)
	})
	return mux
}

// register adds a host, or finds it again: a worker that was restarted goes on with its curve.
func (s *Server) register(name, port, remote string) (Amount, int, error) {
	if !hostName.MatchString(name) {
		return Amount{}, http.StatusBadRequest, fmt.Errorf("host %q: want a name of DNS", name)
	}
	address := strings.ReplaceAll(s.options.Address, "{host}", name)
	if port != "" {
		ip, _, err := net.SplitHostPort(remote)
		if n, numeric := strconv.Atoi(port); err != nil || numeric != nil || n < 1 || n > 65535 {
			return Amount{}, http.StatusBadRequest, fmt.Errorf("port %q: want 1 to 65535", port)
		}
		address = "http://" + net.JoinHostPort(ip, port)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return Amount{}, http.StatusGone, errors.New("the load has ended")
	}
	i, known := slices.BinarySearchFunc(s.hosts, name, func(h *host, name string) int { return strings.Compare(h.name, name) })
	if !known {
		if len(s.hosts) == maxHosts {
			return Amount{}, http.StatusTooManyRequests, fmt.Errorf("%d hosts are registered: no more are taken", maxHosts)
		}
		s.hosts = slices.Insert(s.hosts, i, &host{name: name, values: s.curve(name)})
		if len(s.hosts) == 1 {
			close(s.begun)
		}
	}
	h := s.hosts[i]
	h.url, h.since, h.asked = address, s.clock.Now(), h.values[s.at]
	return h.asked, http.StatusOK, nil
}

// curve is that of a host.
func (s *Server) curve(name string) []Amount {
	for _, c := range s.options.Curves {
		if c.Name == name {
			return c.Values
		}
	}
	return s.options.Curves[len(s.hosts)%len(s.options.Curves)].Values
}

// Run waits for the first registration and plays, until the periods are over or ctx ends; then every host is asked for nothing, so that no load
// stays behind. That ctx ended is no error.
func (s *Server) Run(ctx context.Context) error {
	select {
	case <-s.begun:
	case <-ctx.Done():
		return nil
	}
	ticker := s.clock.NewTicker(s.options.Period)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			s.next(context.WithoutCancel(ctx), true)
			return nil
		case <-ticker.C():
		}
		last := n == s.options.Periods
		s.next(context.WithoutCancel(ctx), last)
		if last {
			return nil
		}
	}
}

// next ends a period: it asks every host for the next value, or for nothing, and reports what they measured in the one that is over.
func (s *Server) next(ctx context.Context, last bool) {
	s.mu.Lock()
	s.at = (s.at + 1) % len(s.options.Curves[0].Values)
	s.ended = last
	type question struct {
		host *host
		url  string
		ask  Amount
	}
	questions := make([]question, 0, len(s.hosts))
	samples := make([]Sample, len(s.hosts))
	for i, h := range s.hosts {
		q := question{h, h.url, h.values[s.at]}
		if last {
			q.ask = Amount{}
		}
		questions = append(questions, q)
		samples[i] = Sample{Host: h.name, From: h.since, Asked: h.asked}
	}
	s.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(concurrency)
	for i, q := range questions {
		group.Go(func() error {
			samples[i].Measured, samples[i].Err = s.ask(ctx, q.url, q.ask)
			samples[i].To = s.clock.Now()
			return nil
		})
	}
	_ = group.Wait() // errors are in samples
	s.mu.Lock()
	for i, q := range questions {
		if q.host.since.Equal(samples[i].From) { // it did not register again meanwhile
			q.host.since, q.host.asked = samples[i].To, q.ask
		}
	}
	s.mu.Unlock()
	for _, sample := range samples {
		s.options.Report(sample)
	}
}

// ask asks a host for an amount. Of a worker that does not measure, as the original's, the answer is nil.
func (s *Server) ask(ctx context.Context, address string, a Amount) (*Measured, error) {
	query := url.Values{"ram": {strconv.FormatInt(a.RAM, 10)}, "cpu": {strconv.FormatInt(a.CPU, 10)}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", answer.Status, strings.TrimSpace(string(body)))
	}
	var m Measured
	if json.Unmarshal(body, &m) != nil || m.Seconds <= 0 {
		return nil, nil //nolint:nilnil // as documented
	}
	if m.Error != "" {
		return nil, fmt.Errorf("it cannot measure: %s", m.Error)
	}
	return &m, nil
}
