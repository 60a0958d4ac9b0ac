package recorder

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist/recorder/history"
)

// TestOutageIsAGap: watches that resume after 12 seconds deliver what happened, at the time of the return. That is a
// gap of every kind, from when it was last current until it resumed.
func TestOutageIsAGap(t *testing.T) {
	c, ns := client(t)
	o, line := outageOfACable(t)
	o.begin(12*time.Second, line.unplug)
	must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, "during"), metav1.CreateOptions{}))
	o.finish(func() { line.plug(t) })
	o.check(ns, "during")
}

// TestAnHourWithoutServer: the API server is gone for an hour; the recorder says so, and the hour is a gap of each kind.
func TestAnHourWithoutServer(t *testing.T) {
	c, ns := client(t)
	o, line := outageOfACable(t)
	must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, "goes"), metav1.CreateOptions{}))
	o.begin(time.Hour, line.unplug)
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), "goes", atOnce); err != nil {
		t.Fatal(err)
	}
	o.finish(func() { line.plug(t) })
	o.check(ns)
}

// TestServerBehindABalancer: what is in front of an API server that is away takes connections, and closes them. The recorder
// sees an end and not a refusal, and knows an outage all the same: it says so, and the hour is a gap.
func TestServerBehindABalancer(t *testing.T) {
	c, ns := client(t)
	o, line := outageOfACable(t)
	var server string
	o.begin(time.Hour, func() {
		server = line.lead("127.0.0.1:1") // nobody is there
		line.cut()
	})
	must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, "during"), metav1.CreateOptions{}))
	o.finish(func() { line.lead(server) })
	o.check(ns, "during")
}

// TestOutageUntilTheEnd: what was not watched any more when the recording ended is a gap.
func TestOutageUntilTheEnd(t *testing.T) {
	o, line := outageOfACable(t)
	o.begin(time.Minute, line.unplug)
	end := o.now()
	if !o.blind(end) {
		t.Error("a recorder that watches neither pods nor nodes does not know it")
	}
	o.end()
	if diff := cmp.Diff(sortedKinds(), gapsByKind(t, o.path, o.from, end, whyLost)); diff != "" {
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

// unitWatch is a watch that is open, of a recorder that does not run.
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

// TestResumeThatIsRefused: an API server that was started again takes a watch that would resume, and only then says in it that the version
// is gone. The stream showed nothing, so the outage lasts until the list; one that stood a while, or showed something, had resumed.
func TestResumeThatIsRefused(t *testing.T) {
	hour := virtualStart.Add(time.Hour)
	for name, c := range map[string]struct {
		stood time.Duration
		shows bool
		from  time.Time
	}{
		"at once":              {0, false, virtualStart},
		"soon":                 {interruptionTolerance - 1, false, virtualStart},
		"after a while":        {interruptionTolerance, false, hour},
		"after a sign of life": {0, true, hour},
	} {
		t.Run(name, func(t *testing.T) {
			w, clock := unitWatch(t)
			w.ended()
			clock.Step(time.Hour)
			if err := w.opened(nil, false, ""); err != nil {
				t.Fatal(err)
			}
			if c.shows {
				if err := w.Bookmark("2"); err != nil {
					t.Fatal(err)
				}
			}
			clock.Step(c.stood)
			w.ended()
			w.ended()
			clock.Step(time.Second)
			before := len(w.r.queue)
			if err := w.Replace(nil, "3"); err != nil {
				t.Fatal(err)
			}
			for range before {
				<-w.r.queue
			}
			want := &history.Gap{From: c.from, To: w.r.now(), Kinds: []string{"Namespace"}, Why: whyRestarted}
			if diff := cmp.Diff(want, (<-w.r.queue).gap); diff != "" {
				t.Errorf("gap (-want +got):\n%s", diff)
			}
		})
	}
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
