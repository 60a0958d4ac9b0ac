package service

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist/recorder"
)

// attempt is a recording that a test plays.
type attempt struct {
	cluster Cluster
	start   chan error // what WaitForStart returns
	fail    chan error // ends Run
	ended   chan struct{}
	changes int64
}

func (a *attempt) Run(ctx context.Context) error {
	defer close(a.ended)
	select {
	case <-ctx.Done():
		return nil
	case err := <-a.fail:
		return err
	}
}

func (a *attempt) WaitForStart(ctx context.Context) error {
	select {
	case err := <-a.start:
		return err
	case <-a.ended:
		return errors.New("ended")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *attempt) Stats() recorder.Stats {
	return recorder.Stats{Changes: a.changes, Written: a.changes}
}
func (a *attempt) Refused() []recorder.Refused { return nil }

// stage is a service whose attempts are a test's.
type stage struct {
	t        *testing.T
	config   string
	service  *Service
	clock    *testclock.FakeClock
	attempts chan *attempt // each that is begun
	states   chan Status   // each change
	configs  chan ConfigStatus
	stop     func()
}

func newStage(t *testing.T, config string) *stage {
	t.Helper()
	dir := t.TempDir()
	s := &stage{t: t, config: filepath.Join(dir, ConfigKey), clock: testclock.NewFakeClock(time.Unix(1e9, 0)),
		attempts: make(chan *attempt, 100), states: make(chan Status, 1000), configs: make(chan ConfigStatus, 100)}
	s.write(config)
	service, err := New(Options{Config: dir, Dir: filepath.Join(dir, "h"), Clock: s.clock,
		ClusterChanged: func(c Status) { s.states <- c }, ConfigChanged: func(c ConfigStatus) { s.configs <- c }})
	if err != nil {
		t.Fatal(err)
	}
	service.prepare = func(c *Cluster, _, _ string, _ clock.Clock) (recording, string, error) {
		if c.Context == "broken" {
			return nil, "", errors.New("kubeconfig: broken")
		}
		a := &attempt{cluster: *c, start: make(chan error, 1), fail: make(chan error, 1), ended: make(chan struct{}), changes: 10}
		s.attempts <- a
		return a, "https://" + c.Name, nil
	}
	s.service = service
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- service.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, service.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// write replaces the configuration as an editor does.
func (s *stage) write(text string) {
	s.t.Helper()
	temp := s.config + ".new"
	if err := errors.Join(os.WriteFile(temp, []byte(text), 0o644), os.Rename(temp, s.config)); err != nil {
		s.t.Fatal(err)
	}
}

// state waits for a cluster to come into one.
func (s *stage) state(name string, want State) Status {
	s.t.Helper()
	for c := range s.states {
		if c.Name == name && c.State == want {
			return c
		}
	}
	return Status{}
}

// elapse lets the next timer fire, once somebody waits for one.
func (s *stage) elapse(d time.Duration) {
	s.t.Helper()
	for !s.clock.HasWaiters() {
		select {
		case <-s.t.Context().Done():
			s.t.Fatal("nobody waits")
		case <-time.After(time.Millisecond):
		}
	}
	s.clock.Step(d)
}

// TestBackoff: attempts that fail are further and further apart; a recording that began starts over.
func TestBackoff(t *testing.T) {
	s := newStage(t, "clusters: [{name: a, kubeconfig: x}]")
	var waits []time.Duration
	for range 11 {
		(<-s.attempts).fail <- errors.New("no route")
		c := s.state("a", StateFailed)
		waits = append(waits, c.NextTry.Sub(s.clock.Now()))
		s.elapse(c.NextTry.Sub(s.clock.Now()))
	}
	seconds := func(n ...int) (out []time.Duration) {
		for _, s := range n {
			out = append(out, time.Duration(s)*time.Second)
		}
		return out
	}
	if diff := cmp.Diff(seconds(1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300), waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	a := <-s.attempts
	a.start <- nil
	s.state("a", StateRecording)
	a.fail <- errors.New("disk full")
	c := s.state("a", StateFailed)
	if wait := c.NextTry.Sub(s.clock.Now()); wait != time.Second || c.Reason != "disk full" || c.Failures != 12 || c.Starts != 1 || c.Attempts != 12 {
		t.Errorf("after a recording: %+v, want another try in 1s", c)
	}
	if c.Changes != 120 {
		t.Errorf("%d changes, want those of all attempts", c.Changes)
	}
}

// TestNoAnswer: a server that never answers does not hold an attempt for ever.
func TestNoAnswer(t *testing.T) {
	s := newStage(t, "clusters: [{name: a, kubeconfig: x}]")
	a := <-s.attempts
	s.elapse(startTimeout)
	c := s.state("a", StateFailed)
	if !strings.Contains(c.Reason, "no complete answer") {
		t.Errorf("reason %q", c.Reason)
	}
	<-a.ended
}

// TestReload: what changed starts again, what went ends, what is new begins, the rest goes on; what is wrong changes
// nothing.
func TestReload(t *testing.T) {
	s := newStage(t, "clusters: [{name: a, kubeconfig: x}, {name: b, kubeconfig: x}, {name: c, kubeconfig: x}]")
	if ready, waiting := s.service.Ready(); ready {
		t.Errorf("ready before anything was tried, waiting %v", waiting)
	}
	first := map[string]*attempt{}
	for range 3 {
		a := <-s.attempts
		a.start <- nil
		first[a.cluster.Name] = a
	}
	for range 3 {
		for c := range s.states {
			if c.State == StateRecording {
				break
			}
		}
	}
	if ready, waiting := s.service.Ready(); !ready {
		t.Errorf("not ready, waiting %v", waiting)
	}
	s.write("clusters: [{name: a, kubeconfig: x}, {name: b, bogus: x}]")
	if c := <-s.configs; !strings.Contains(c.Problem, `line 1: unknown key "bogus"`) || c.Refused != 1 || c.Clusters != 3 {
		t.Errorf("config %+v, want it refused", c)
	}
	if got := len(s.service.Clusters()); got != 3 {
		t.Errorf("%d clusters, want the three from before", got)
	}
	s.write("clusters: [{name: a, kubeconfig: x}, {name: b, kubeconfig: other}, {name: d, context: broken}]")
	if c := <-s.configs; c.Problem != "" || c.Reloads != 1 || c.Clusters != 3 {
		t.Errorf("config %+v, want it in force", c)
	}
	<-first["b"].ended
	<-first["c"].ended
	if a := <-s.attempts; a.cluster.Name != "b" || a.cluster.Kubeconfig != "other" {
		t.Errorf("attempt of %+v, want b again", a.cluster)
	} else {
		a.start <- nil
	}
	for failed, recording := false, false; !failed || !recording; { // in either order
		switch c := <-s.states; {
		case c.Name == "d" && c.State == StateFailed:
			if failed = true; c.Reason != "kubeconfig: broken" {
				t.Errorf("d: %+v", c)
			}
		case c.Name == "b" && c.State == StateRecording:
			recording = true
		}
	}
	select {
	case <-first["a"].ended:
		t.Error("a ended, although nothing changed for it")
	default:
	}
	var names []string
	for _, c := range s.service.Clusters() {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "d"}, names); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	if ready, _ := s.service.Ready(); !ready {
		t.Error("a reload took readiness back")
	}
	s.stop()
	<-first["a"].ended
}

// TestKubeconfigChanges: new credentials end a wait, and start a recording again.
func TestKubeconfigChanges(t *testing.T) {
	dir := t.TempDir()
	credentials := filepath.Join(dir, "k.yaml")
	renew := func(text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(credentials+".new", []byte(text), 0o600), os.Rename(credentials+".new", credentials)); err != nil {
			t.Fatal(err)
		}
	}
	renew("one")
	s := newStage(t, "clusters: [{name: a, kubeconfig: "+credentials+"}]")
	(<-s.attempts).fail <- errors.New("Unauthorized")
	s.state("a", StateFailed)
	renew("two")
	a := <-s.attempts // without any time
	a.start <- nil
	s.state("a", StateRecording)
	renew("three")
	<-a.ended
	a = <-s.attempts
	a.start <- nil
	if c := s.state("a", StateRecording); c.Failures != 1 {
		t.Errorf("%d failures, want that of the first attempt only", c.Failures)
	}
	if err := os.Remove(credentials); err != nil {
		t.Fatal(err)
	}
	s.write("clusters: [{name: a, kubeconfig: " + credentials + "}, {name: b, context: broken}]")
	s.state("b", StateFailed) // by now the removal was seen
	select {
	case <-a.ended:
		t.Error("credentials that went ended a recording")
	default:
	}
}

// TestConfigMap follows the links of a mounted ConfigMap.
func TestConfigMap(t *testing.T) {
	dir := t.TempDir()
	publish := func(version, text string) {
		t.Helper()
		data := filepath.Join(dir, "..data")
		if err := errors.Join(os.Mkdir(filepath.Join(dir, version), 0o755), os.WriteFile(filepath.Join(dir, version, ConfigKey), []byte(text), 0o644),
			os.Symlink(version, data+"_tmp"), os.Rename(data+"_tmp", data)); err != nil {
			t.Fatal(err)
		}
	}
	publish("..2024_1", "clusters: []")
	if err := os.Symlink(filepath.Join("..data", ConfigKey), filepath.Join(dir, ConfigKey)); err != nil {
		t.Fatal(err)
	}
	configs := make(chan ConfigStatus, 10)
	s, err := New(Options{Config: dir, Dir: t.TempDir(), ConfigChanged: func(c ConfigStatus) { configs <- c }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	publish("..2024_2", "clusters: [{name: a, kubeconfig: none}]")
	if c := <-configs; c.Clusters != 1 {
		t.Errorf("config %+v, want one cluster", c)
	}
	if err := os.RemoveAll(filepath.Join(dir, "..2024_1")); err != nil {
		t.Fatal(err)
	}
	publish("..2024_3", "clusters: [}")
	if c := <-configs; c.Problem == "" {
		t.Errorf("config %+v, want it refused", c)
	}
	cancel()
	if err := errors.Join(<-done, s.Close()); err != nil {
		t.Error(err)
	}
}

// TestDirInUse: two services do not share a directory.
func TestDirInUse(t *testing.T) {
	config := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(config, []byte("clusters: []"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := Options{Config: config, Dir: t.TempDir()}
	first, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var used *InUseError
	if _, err := New(o); !errors.As(err, &used) {
		t.Errorf("error %v, want InUseError", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
