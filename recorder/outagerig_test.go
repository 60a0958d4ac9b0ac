package recorder

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	rec, fake := onMovedClock(t, cfg, path)
	return rec, line, fake
}

// onMovedClock records on a clock that the test moves.
func onMovedClock(t *testing.T, cfg *rest.Config, path string) (*recording, *lookClock) {
	t.Helper()
	fake := &lookClock{FakeClock: testclock.NewFakeClock(time.Now())}
	return record(t, cfg, Options{Path: path, Clock: fake}), fake
}

// watching waits until every watch is open or down.
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

// outage is a time in which a recorder cannot watch, by a clock that the test moves.
type outage struct {
	*recording
	t        *testing.T
	clock    *lookClock
	from, to time.Time
}

// outageOfACable records through a connection that can be cut.
func outageOfACable(t *testing.T) (*outage, *cable) {
	t.Helper()
	rec, line, fake := throughCable(t, filepath.Join(t.TempDir(), "h.db"))
	return &outage{recording: rec, t: t, clock: fake}, line
}

// upToDate waits until every watch is open, and what they have shown is in the file.
func (r *recording) upToDate() {
	r.t.Helper()
	r.watching(true)
	r.flush()
}

// begin severs a recorder that is up to date from its API server, waits until it says so, and lets time pass.
func (o *outage) begin(lasts time.Duration, sever func()) {
	o.t.Helper()
	o.upToDate()
	o.from = o.now()
	sever()
	o.watching(false)
	until(o.t, "trouble", func() bool { return strings.Contains(o.Stats().Trouble, "cannot be watched") })
	const step = time.Minute // so that the recorder's timers fire as often as they would
	for ; lasts > step; lasts -= step {
		o.clock.Step(step)
	}
	o.clock.Step(lasts)
}

// finish ends the outage, and waits until the recorder is up to date again, by itself.
func (o *outage) finish(mend func()) {
	o.t.Helper()
	o.to = o.now()
	mend()
	o.upToDate()
	until(o.t, "the end of the trouble", func() bool { return !strings.Contains(o.Stats().Trouble, "cannot be watched") })
}

// check ends the recording. The outage must be a gap of every kind, with these pods of the namespace behind it.
func (o *outage) check(ns string, pods ...string) {
	o.t.Helper()
	o.end()
	if diff := cmp.Diff(sortedKinds(), gapsByKind(o.t, o.path, o.from, o.to, whyInterrupted, whyRestarted)); diff != "" {
		o.t.Errorf("kinds with a gap (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(pods, podNames(snapshotAt(o.t, open(o.t, o.path), o.to), ns)); diff != "" {
		o.t.Errorf("pods after the outage (-want +got):\n%s", diff)
	}
}
