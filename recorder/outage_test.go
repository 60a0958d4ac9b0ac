package recorder

import (
	"net/url"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist/recorder/history"
)

// lookClock is a clock that the test moves. It counts how often the recorder has begun to wait for its next look for
// silence: the look before is through then.
type lookClock struct {
	*testclock.FakeClock
	looks atomic.Int64
}

// NewTimer implements clock.Clock.
func (c *lookClock) NewTimer(d time.Duration) clock.Timer {
	timer := c.FakeClock.NewTimer(d)
	if d == silenceCheck {
		c.looks.Add(1)
	}
	return timer
}

// throughCable records through a connection that can be cut, on a clock that the test moves.
func throughCable(t *testing.T, path string) (*recording, *cable, *lookClock) {
	t.Helper()
	host, err := url.Parse(cluster.Host)
	if err != nil {
		t.Fatal(err)
	}
	address := host.Host
	if address == "" {
		address = cluster.Host
	}
	line := newCable(t, address)
	cfg := rest.CopyConfig(cluster)
	cfg.Host = "https://" + line.Addr().String()
	fake := &lookClock{FakeClock: testclock.NewFakeClock(time.Now())}
	return record(t, cfg, Options{Path: path, Clock: fake}), line, fake
}

// watching waits until every watch stands, or is down.
func (r *recording) watching(want bool) {
	r.t.Helper()
	for _, w := range r.watches {
		if err := r.waitUntil(r.t.Context(), w, func() bool { return w.watching == want }); err != nil {
			r.t.Fatal(err)
		}
	}
}

// gapsByKind fails the test unless each gap is of one kind and between the bounds.
func gapsByKind(t *testing.T, path string, from, to time.Time, whys ...string) []string {
	t.Helper()
	gaps, err := open(t, path).Gaps(t.Context(), from.Add(-time.Hour), to.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, g := range gaps {
		want := history.Gap{From: from, To: to, Kinds: g.Kinds, Why: g.Why}
		if !slices.Contains(whys, g.Why) {
			t.Errorf("gap of %v because %q, want one of %q", g.Kinds, g.Why, whys)
		}
		if diff := cmp.Diff(want, g); diff != "" || len(g.Kinds) != 1 {
			t.Errorf("gap of %v (-want +got):\n%s", g.Kinds, diff)
			continue
		}
		kinds = append(kinds, g.Kinds[0])
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// sortedKinds are those of Kubernetes: no provider's kinds are installed.
func sortedKinds() []string {
	return slices.Sorted(slices.Values(typedKinds()))
}

// TestOutageIsAGap: watches that resume after 12 seconds deliver what happened, at the time of the return. That is a
// gap of every kind, from when it was last current until it resumed.
func TestOutageIsAGap(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	rec, line, clock := throughCable(t, path)
	rec.watching(true)
	rec.flush()
	lost := rec.now()
	line.unplug()
	rec.watching(false)
	clock.Step(12 * time.Second)
	must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, "during"), metav1.CreateOptions{}))
	back := rec.now()
	line.plug(t)
	rec.watching(true)
	rec.flush()
	rec.end()
	if diff := cmp.Diff(sortedKinds(), gapsByKind(t, path, lost, back, whyInterrupted, whyRestarted)); diff != "" {
		t.Errorf("kinds with a gap (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"during"}, podNames(snapshotAt(t, open(t, path), back), ns)); diff != "" {
		t.Errorf("pods after the outage (-want +got):\n%s", diff)
	}
}

// TestOutageUntilTheEnd: what was not watched any more when the recording ended is a gap.
func TestOutageUntilTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	rec, line, clock := throughCable(t, path)
	rec.watching(true)
	lost := rec.now()
	line.unplug()
	rec.watching(false)
	clock.Step(time.Minute)
	end := rec.now()
	if !rec.blind(end) {
		t.Error("a recorder that watches neither pods nor nodes does not know it")
	}
	rec.end()
	if diff := cmp.Diff(sortedKinds(), gapsByKind(t, path, lost, end, whyLost)); diff != "" {
		t.Errorf("kinds with a gap (-want +got):\n%s", diff)
	}
}

// TestShortInterruptionIsNoGap: servers end watches as a matter of course, and at the tolerance a gap begins.
func TestShortInterruptionIsNoGap(t *testing.T) {
	for took, gaps := range map[time.Duration]int{0: 0, interruptionTolerance - 1: 0, interruptionTolerance: 1} {
		w, clock := unitWatch(t)
		w.ended()
		w.ended() // the reflector stops a stream more than once
		clock.Step(took)
		if lost := w.downSince(w.r.now()); (lost != nil) != (gaps > 0) {
			t.Errorf("%s before the end: gap %+v", took, lost)
		}
		before := len(w.r.queue)
		if err := w.opened(nil, false, ""); err != nil {
			t.Fatal(err)
		}
		if got := len(w.r.queue) - before; got != gaps {
			t.Errorf("an interruption of %s: %d gaps, want %d", took, got, gaps)
		}
	}
}

// unitWatch is a watch that stands, of a recorder that does not run.
func unitWatch(t *testing.T) (*watched, *testclock.FakeClock) {
	t.Helper()
	clock := testclock.NewFakeClock(virtualStart)
	r, err := New(cluster, Options{Path: "unused.db", Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	w := newWatched(r, targets[0])
	if err := w.Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	if err := w.opened(nil, false, ""); err != nil {
		t.Fatal(err)
	}
	return w, clock
}

// TestSilentOutage: a connection that broke without a word was current when it last said something.
func TestSilentOutage(t *testing.T) {
	w, clock := unitWatch(t)
	clock.Step(time.Minute)
	w.r.line.note()
	clock.Step(45 * time.Second)
	w.ended()
	want := &history.Gap{From: virtualStart.Add(time.Minute), To: virtualStart.Add(105 * time.Second), Kinds: []string{"Namespace"}, Why: whyLost}
	if diff := cmp.Diff(want, w.downSince(w.r.now())); diff != "" {
		t.Errorf("gap (-want +got):\n%s", diff)
	}
}

// TestWriterDoesNotWaitForAWatch: with the queue full a watch holds its lock until the writer takes something, so a
// writer that asks whether the watch is down must not wait for that lock.
func TestWriterDoesNotWaitForAWatch(t *testing.T) {
	w := newWatched(&Recorder{}, target{})
	w.mu.Lock() // as put does while the queue is full
	answer := make(chan bool, 1)
	go func() { answer <- w.downSince(time.Time{}.Add(time.Hour)) != nil }()
	select {
	case down := <-answer:
		if down {
			t.Error("a watch that puts something in is called down")
		}
	case <-time.After(patience):
		t.Error("down waits for a watch that waits for the writer")
	}
	w.mu.Unlock()
	if w.downSince(time.Time{}.Add(time.Hour)) == nil {
		t.Error("a watch that never stood is not called down")
	}
}
