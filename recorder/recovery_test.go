package recorder

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// patience is how long a test waits for what must come: no machine is that slow, so it has hung.
const patience = 5 * time.Minute

// until waits for a condition that somebody else brings about.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s: %s", patience, what)
		}
	}
}

func (r *recording) gaps(kind string) []history.Gap {
	r.t.Helper()
	db, err := history.Open(r.t.Context(), r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close()
	all, err := db.Gaps(r.t.Context(), time.Time{}, time.Time{})
	if err != nil {
		r.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(g history.Gap) bool { return len(g.Kinds) != 1 || g.Kinds[0] != kind })
}

// TestExpiredCredentials: the recorder says so, reads the kubeconfig again, and goes on; prior art built a new recorder
// then, and crashed when that failed once.
func TestExpiredCredentials(t *testing.T) {
	c, ns := client(t)
	g := newGate(t)
	var mu sync.Mutex
	reload, broken := "one", errors.New("the kubeconfig cannot be read")
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, g.config("one"), Options{Path: path, Reload: func() (*rest.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		return g.config(reload), broken
	}})
	g.token.Store("two")
	g.CloseClientConnections()
	until(t, "trouble with the kubeconfig", func() bool { return strings.Contains(rec.Stats().Trouble, "kubeconfig cannot be read") })
	mu.Lock()
	reload, broken = "two", nil
	mu.Unlock()
	must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, "during"), metav1.CreateOptions{}))
	until(t, "the end of the trouble", func() bool { return rec.Stats().Trouble == "" })
	rec.flush()
	at := rec.now()
	rec.end()
	if diff := cmp.Diff([]string{"during"}, podNames(snapshotAt(t, open(t, path), at), ns)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

// TestCredentialsOfAnotherCluster: a kubeconfig that leads elsewhere now is not followed: every object would end.
func TestCredentialsOfAnotherCluster(t *testing.T) {
	g := newGate(t)
	rec := record(t, g.config("one"), Options{Path: filepath.Join(t.TempDir(), "h.db"), Reload: func() (*rest.Config, error) {
		return g.config("two"), nil
	}})
	another := "another"
	rec.cluster.Store(&another)
	g.token.Store("two")
	g.CloseClientConnections()
	until(t, "trouble", func() bool { return strings.Contains(rec.Stats().Trouble, "is of another cluster") })
	rec.end()
}

// TestWait: a recorder that may wait begins when the API server is there.
func TestWait(t *testing.T) {
	g := newGate(t)
	g.away.Store(true)
	r, err := New(g.config("one"), Options{Path: filepath.Join(t.TempDir(), "h.db"), Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	until(t, "trouble", func() bool { return strings.HasPrefix(r.Stats().Trouble, "waiting for the API server: ") })
	g.away.Store(false)
	if err := r.WaitForStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if trouble := r.Stats().Trouble; trouble != "" {
		t.Errorf("trouble %q after the start", trouble)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestWaitIsStopped: who waits can be stopped, and makes no file.
func TestWaitIsStopped(t *testing.T) {
	r, err := New(&rest.Config{Host: "127.0.0.1:1"}, Options{Path: filepath.Join(t.TempDir(), "h.db"), Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	until(t, "trouble", func() bool { return r.Stats().Trouble != "" })
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "before the API server could be reached") {
		t.Errorf("Run: %v, want that it was stopped while it waited", err)
	}
}

// TestMissedDeletes: what went while the watch could not resume, or while no recorder ran, is deleted when a list does
// not show it, and the deletion says that nobody saw it. Prior art kept such objects for ever.
func TestMissedDeletes(t *testing.T) {
	c, ns := client(t)
	g := newGate(t)
	for _, name := range []string{"seen", "expired", "restart"} {
		must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, name), metav1.CreateOptions{}))
	}
	remove := func(name string) {
		if err := c.CoreV1().Pods(ns).Delete(t.Context(), name, atOnce); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, g.config("one"), Options{Path: path})
	remove("seen")
	rec.flush()
	g.expired.Store(true)
	g.away.Store(true)
	g.CloseClientConnections()
	rec.watching(false)
	remove("expired")
	g.away.Store(false)
	rec.watching(true)
	g.expired.Store(false)
	rec.flush()
	rec.end()
	remove("restart")
	record(t, cluster, Options{Path: path}).end()
	missed, err := open(t, path).Missed(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range missed {
		if m.Namespace == ns && m.Kind == "Pod" {
			got[m.Name] = m.Why
			if !m.From.Before(m.Seen) {
				t.Errorf("%s was missed from %s to %s", m.Name, m.From, m.Seen)
			}
		}
	}
	if diff := cmp.Diff(map[string]string{"expired": whyRestarted, "restart": "no recorder was running"}, got); diff != "" {
		t.Errorf("missed deletions (-want +got):\n%s", diff)
	}
}

// TestListedButNotWatched: an account that may list a kind and not watch it makes one gap that grows.
func TestListedButNotWatched(t *testing.T) {
	c, _ := client(t)
	user := "lists-only"
	cfg := reader(t, user, "pods", "nodes")
	allow(t, c, user+"-jobs", user, []string{"list"}, "jobs")
	waitAllowed(t, c, user, "jobs")
	rec := record(t, cfg, Options{Path: filepath.Join(t.TempDir(), "h.db"), Kinds: []string{"Job"}})
	lists := map[time.Time]bool{}
	until(t, "three lists", func() bool {
		for _, w := range rec.all() {
			if w.kind == "Job" {
				w.mu.Lock()
				lists[w.current] = true
				w.mu.Unlock()
			}
		}
		return len(lists) >= 3
	})
	if trouble := rec.Stats().Trouble; !strings.Contains(trouble, "Job cannot be watched") {
		t.Errorf("trouble %q, want that jobs cannot be watched", trouble)
	}
	rec.end()
	gaps := rec.gaps("Job")
	if len(gaps) != 1 || gaps[0].Why != whyRefused {
		t.Errorf("gaps %+v, want one because %q", gaps, whyRefused)
	}
}

// TestSilentWatch: streams that are open and say nothing are opened again. Where something had happened the silence is a
// gap from the last sign of life; a quiet kind has none.
func TestSilentWatch(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	rec, line, fake := throughCable(t, path)
	rec.upToDate()
	rec.probe.Store(int64(200 * time.Millisecond))
	heard := rec.now()
	line.stall(true)
	must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, "unheard"), metav1.CreateOptions{}))
	until(t, "the end of the silent streams", func() bool {
		fake.Step(silenceCheck)
		return strings.Contains(rec.Stats().Trouble, "cannot be watched") // on a busy machine the leaps of its clock are trouble first
	})
	back := rec.now()
	rec.probe.Store(int64(patience)) // a slow answer is one
	line.stall(false)
	rec.upToDate()
	at := rec.now()
	rec.end()
	gaps := rec.gaps("Pod")
	if len(gaps) == 0 || gaps[0].From.After(heard) || gaps[len(gaps)-1].To.Before(back) {
		t.Errorf("gaps of pods %+v, want from %s at the latest to %s at least", gaps, heard, back)
	}
	if diff := cmp.Diff([]string{"unheard"}, podNames(snapshotAt(t, open(t, path), at), ns)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

// TestQuietWatchIsNoGap: hours in which nothing happens, and nothing but the recorder's own look for silence.
func TestQuietWatchIsNoGap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	rec, _, fake := throughCable(t, path)
	rec.watching(true)
	streams := map[*stream]bool{}
	until(t, "two streams opened again", func() bool {
		rec.watching(true)
		time.Sleep(150 * time.Millisecond) // a stream of less than a second of real time counts as broken
		looked := fake.looks.Load()
		fake.Step(silenceCheck)
		// When the recorder waits for the next look, this one has ended the streams it found silent.
		until(t, "a look for silence", func() bool { return fake.looks.Load() > looked })
		for _, w := range rec.all() {
			if w.kind == "Job" {
				w.mu.Lock()
				streams[w.stream] = true
				w.mu.Unlock()
			}
		}
		delete(streams, nil)
		return len(streams) >= 3
	})
	rec.watching(true)
	rec.end()
	if gaps := rec.gaps("Job"); len(gaps) != 0 {
		t.Errorf("gaps %+v, want none", gaps)
	}
}

// TestSuspectWatch: what a stream shows first that was opened in place of a silent one shows whether that one missed it.
func TestSuspectWatch(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		gaps    int
	}{"missed": {"9", 1}, "new": {"11", 0}} {
		t.Run(name, func(t *testing.T) {
			w, fake := unitWatch(t)
			from := w.r.now()
			fake.Step(silenceLimit)
			s := &stream{Interface: nothing{}, done: w.ended}
			w.mu.Lock()
			w.stream = s
			w.mu.Unlock()
			if got := w.overdue(w.r.now()); got != s {
				t.Fatal("the stream is not overdue")
			}
			s.Stop()
			if err := w.opened(nil, false, "10"); err != nil {
				t.Fatal(err)
			}
			before := len(w.r.queue)
			n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", ResourceVersion: c.version}}
			if err := w.Add(n); err != nil {
				t.Fatal(err)
			}
			if got := len(w.r.queue) - before - 1; got != c.gaps {
				t.Fatalf("%d gaps, want %d", got, c.gaps)
			}
			for range before {
				<-w.r.queue
			}
			if c.gaps == 0 {
				return
			}
			want := &history.Gap{From: from, To: w.r.now(), Kinds: []string{"Namespace"}, Why: whySilent}
			if diff := cmp.Diff(want, (<-w.r.queue).gap); diff != "" {
				t.Errorf("gap (-want +got):\n%s", diff)
			}
		})
	}
}

// countedClock counts how often it is read.
type countedClock struct {
	*testclock.FakeClock
	read atomic.Int64
}

func (c *countedClock) Now() time.Time {
	defer c.read.Add(1)
	return c.FakeClock.Now()
}

// TestBackpressureIsAGap: while the queue is full everybody waits, and what happens then is seen late.
func TestBackpressureIsAGap(t *testing.T) {
	fake := &countedClock{FakeClock: testclock.NewFakeClock(virtualStart)}
	r, err := New(cluster, Options{Path: "unused.db", Clock: fake, QueueSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	close(r.synced)
	if err := r.enqueue(item{synced: &watched{}}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	before := fake.read.Load()
	go func() { done <- r.enqueue(item{synced: &watched{}}) }()
	until(t, "an item that finds no room", func() bool { return fake.read.Load() > before })
	fake.Step(time.Minute)
	<-r.queue
	<-r.queue
	got := (<-r.queue).gap
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	want := &history.Gap{From: virtualStart, To: virtualStart.Add(time.Minute), Why: whyBehind}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("gap (-want +got):\n%s", diff)
	}
}

// offClock is the machine's clock, set wrong.
type offClock struct {
	clock.RealClock
	mu  sync.Mutex
	off time.Duration
}

func (c *offClock) set(off time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = off
}

func (c *offClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.RealClock.Now().Add(c.off)
}

// TestClockSkew: a clock that differs from the API server's is trouble, and the history keeps by how much.
func TestClockSkew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, cluster, Options{Path: path, Clock: &offClock{off: -time.Hour}})
	until(t, "trouble", func() bool { return strings.Contains(rec.Stats().Trouble, "behind the API server's") })
	rec.end()
	db := open(t, path)
	meta, err := db.Meta(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(meta[SkewSeries], "behind the API server's") {
		t.Errorf("meta %v, want a word on the skew", meta)
	}
	var skews []float64
	for s, err := range db.Samples(t.Context(), time.Time{}, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Series == SkewSeries {
			skews = append(skews, s.Value)
		}
	}
	// The server's date is cut to the second, and its answer takes what it takes on a busy machine.
	if hour := time.Hour.Seconds(); len(skews) == 0 || skews[0] > hour+0.1 || skews[0] < hour-patience.Seconds() {
		t.Errorf("skews %v, want about an hour", skews)
	}
}

// TestClockJump: a clock that is set is noted; forward it leaves a gap, back it must not make time stand still. What
// happens before, between and after is there, in its order.
func TestClockJump(t *testing.T) {
	c, ns := client(t)
	happens := func(name string) {
		must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, name), metav1.CreateOptions{}))
	}
	path := filepath.Join(t.TempDir(), "h.db")
	wall := &offClock{}
	r, err := New(cluster, Options{Path: path, Clock: wall})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r.steady = func() time.Duration { return time.Since(began) }
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	if err := r.WaitForStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	flush := func() {
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	happens("before")
	flush()
	before := r.now()
	wall.set(time.Hour)
	after := r.now()
	until(t, "the jump forward", func() bool { return strings.Contains(r.Stats().Trouble, "set forward by 1h0m0") })
	happens("between")
	flush()
	wall.set(0)
	stuck := r.now()
	until(t, "the jump back", func() bool { return strings.Contains(r.Stats().Trouble, "set back by 1h0m0") })
	if !r.now().After(stuck) {
		t.Error("time stands still after the clock was set back")
	}
	happens("after")
	flush()
	end := r.now()
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	db := open(t, path)
	checkJumps(t, db, ns, end)
	gaps, err := db.Gaps(t.Context(), before, after)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(gaps, func(g history.Gap) bool {
		return len(g.Kinds) == 0 && !g.To.After(after) && g.To.Sub(g.From) > 59*time.Minute && strings.Contains(g.Why, "set forward")
	}) {
		t.Errorf("gaps %+v, want one of the hour that was left out", gaps)
	}
}

// checkJumps compares a history whose clock leapt by an hour, forward and back, with what happened.
func checkJumps(t *testing.T, db *history.DB, ns string, end time.Time) {
	t.Helper()
	if err := db.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"before", "between", "after"}, podNames(snapshotAt(t, db, end), ns)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	var order []string
	for change, err := range db.Changes(t.Context(), time.Time{}, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		if o := change.Object; o.GetNamespace() == ns && objectlog.KindOf(o) == "Pod" {
			order = append(order, o.GetName())
		}
	}
	if diff := cmp.Diff([]string{"before", "between", "after"}, order); diff != "" {
		t.Errorf("order of the pods (-want +got):\n%s", diff)
	}
	var jumps []time.Duration
	for s, err := range db.Samples(t.Context(), time.Time{}, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Series == JumpSeries {
			jumps = append(jumps, time.Duration(s.Value*float64(time.Second)).Round(time.Second))
		}
	}
	if diff := cmp.Diff([]time.Duration{time.Hour, -time.Hour}, jumps); diff != "" {
		t.Errorf("jumps (-want +got):\n%s", diff)
	}
}

// TestServerDates: a Date is cut to the second and written somewhere between request and answer; only what these cannot
// explain is skew.
func TestServerDates(t *testing.T) {
	at := func(ms int) time.Time { return virtualStart.Add(time.Duration(ms) * time.Millisecond) }
	for name, c := range map[string]struct {
		asked, answered, date int // ms
		want                  time.Duration
	}{
		"same":                {0, 10, 0, 0},
		"cut":                 {999, 999, 0, 0},
		"slow answer":         {0, 30000, 29000, 0},
		"slow headers":        {0, 30000, 0, 0},
		"within tolerance":    {0, 0, 1000, 0},
		"behind the server":   {0, 500, 5000, 4500 * time.Millisecond},
		"ahead of the server": {9000, 9500, 5000, -3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var w clockWatch
			w.compare(at(c.asked), at(c.answered), at(c.date))
			var got time.Duration
			for _, n := range w.take() {
				got = n.off
			}
			if got != c.want {
				t.Errorf("skew %s, want %s", got, c.want)
			}
		})
	}
}

// TestByVersion: within a batch the changes of different watches are in the API server's order, and time ascends.
func TestByVersion(t *testing.T) {
	var batch []history.Entry
	order := []string{"7", "5", "", "6", "9", "8"}
	for i, v := range order {
		e := history.Entry{ObservedAt: virtualStart.Add(time.Duration(i) * time.Second)}
		e.Change.Object = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: v}}
		batch = append(batch, e)
	}
	byVersion(batch, order)
	var got []string
	for i, e := range batch {
		got = append(got, e.Change.Object.GetResourceVersion())
		if want := virtualStart.Add(time.Duration(i) * time.Second); !e.ObservedAt.Equal(want) {
			t.Errorf("entry %d is of %s, want %s", i, e.ObservedAt, want)
		}
	}
	if diff := cmp.Diff([]string{"5", "6", "", "7", "8", "9"}, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

// nothing is a watch that shows nothing.
type nothing struct{}

func (nothing) Stop() {}

func (nothing) ResultChan() <-chan watch.Event { return nil }
