package harness_test

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// perEvent replays a fixture event by event in memory, with the report of each event.
func perEvent(t *testing.T, fixture string, opts ...harness.Option) (*scalehist.ReplayReport, []*scalehist.ReplayReport) {
	t.Helper()
	var each []*scalehist.ReplayReport
	opts = append([]harness.Option{harness.WithAutoscaler(engines.ClusterAutoscaler()), harness.OnControlPlane(harness.Memory),
		harness.WithEventReports(func(n int, r *scalehist.ReplayReport) error {
			if each = append(each, r); len(each) != n {
				t.Errorf("report %d came as the %dth", n, len(each))
			}
			return nil
		})}, opts...)
	got, err := harness.ReplayEvents(t.Context(), filepath.Join("..", "fixtures", fixture, "recording.db"), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return got, each
}

// bySnapshots decides again about the clusters of a continuous replay of a fixture.
func bySnapshots(t *testing.T, fixture string) (*scalehist.ReplayReport, []*scalehist.ReplayReport) {
	t.Helper()
	from := playedInParts(t, fixture, []harness.Option{harness.WithMoments()}, lengthOf(t, fixture))[0]
	var each []*scalehist.ReplayReport
	got, err := harness.ReplaySnapshots(t.Context(), from, harness.WithAutoscaler(engines.ClusterAutoscaler()),
		harness.WithEventReports(func(_ int, r *scalehist.ReplayReport) error {
			each = append(each, r)
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	return got, each
}

// TestEventsSayWhoWasHelped: in both playbacks the nodes join and the scheduler has the last word on which pods they help. The
// autoscaler asks again in later events for what it may not ask for at once.
//
//scalehist:unraced
func TestEventsSayWhoWasHelped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fixture string
		play    func(*testing.T, string) (*scalehist.ReplayReport, []*scalehist.ReplayReport)
		left    []int // of each event
		placed  []int
	}{
		{"from-zero", eventsOf, []int{0}, []int{14}},
		{"from-zero", bySnapshots, []int{0}, []int{14}},
		{"max-size-reached", eventsOf, []int{6}, []int{6}},
	} {
		got, each := c.play(t, c.fixture)
		var left, placed []int
		for i, e := range got.Events {
			left, placed = append(left, e.Unschedulable), append(placed, len(e.Placed))
			if e.Until == nil || !e.Until.After(e.At) || len(e.NotJoined) > 0 {
				t.Errorf("%s %s: until %v, not joined %v", c.fixture, got.Playback, e.Until, e.NotJoined)
			}
			one := each[i]
			if one.Playback != got.Playback || !one.EndTime.Equal(*e.Until) || len(one.UnschedulableAtEnd) != e.Unschedulable || len(one.ScaledUpNodes) == 0 {
				t.Errorf("%s %s: report of event %d is of %s to %s, %d pods left, nodes %v", c.fixture, got.Playback, i+1, one.Playback, one.EndTime,
					len(one.UnschedulableAtEnd), one.ScaledUpNodes)
			}
			if diff := cmp.Diff([]scalehist.EventReplay{e}, one.Events); diff != "" {
				t.Errorf("%s: event of the whole and of its own report:\n%s", c.fixture, diff)
			}
			validate(t, canonical(t, one))
		}
		if diff := cmp.Diff(c.left, left) + cmp.Diff(c.placed, placed); diff != "" {
			t.Errorf("%s %s: left and placed (-want +got):\n%s", c.fixture, got.Playback, diff)
		}
		if len(each) != len(got.Events) {
			t.Errorf("%s: %d reports of %d events", c.fixture, len(each), len(got.Events))
		}
		again, _ := c.play(t, c.fixture)
		if a, b := canonical(t, got), canonical(t, again); !bytes.Equal(a, b) {
			t.Errorf("%s: another report at the second time:\n%s", c.fixture, cmp.Diff(string(a), string(b)))
		}
	}
}

func eventsOf(t *testing.T, fixture string) (*scalehist.ReplayReport, []*scalehist.ReplayReport) {
	t.Helper()
	return perEvent(t, fixture)
}

// TestEventsThatGetNoNodes: a node that never comes helps nobody, and the wait for it ends: with its failure, or when the
// autoscaler would give up.
func TestEventsThatGetNoNodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind trace.FaultKind
		wait time.Duration
	}{
		{trace.FaultStockOut, cloudprovider.DefaultStockOutDelay},
		{trace.FaultNeverRegister, 7*time.Minute + 40*time.Second},
	} {
		got, _ := perEvent(t, "from-zero", harness.WithFaults(trace.Fault{Kind: c.kind}),
			harness.WithFlags("--max-node-provision-time=7m"), harness.WithProvisionDelay("batch", 40*time.Second))
		e := got.Events[0]
		if e.Unschedulable != 14 || len(e.Placed) > 0 || len(e.NotJoined) == 0 {
			t.Errorf("%s: %d left, placed %v, not joined %v", c.kind, e.Unschedulable, e.Placed, e.NotJoined)
		}
		if d := e.Until.Sub(e.At.Add(-time.Nanosecond)); d != c.wait {
			t.Errorf("%s: waited for %s, want %s", c.kind, d, c.wait)
		}
	}
}
