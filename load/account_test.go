package load

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
)

var web = scalehist.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "web"}

var start = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return start.Add(d) }

func replicas(n int, limit float64) []Replica {
	var out []Replica
	for i := range n {
		out = append(out, Replica{Pod: fmt.Sprintf("web-%d", i), Ready: true, Limit: limit})
	}
	return out
}

// TestDivided: three cores over two and then four replicas, with a limit that two of them run into.
func TestDivided(t *testing.T) {
	s := Series{Workload: web, Metric: CPU, Sharing: Divided, Points: []Point{{at(0), 3}}}
	a := NewAccount(&s, 15*time.Second)
	a.Replicas(at(0), replicas(2, 1))
	if _, _, ok := a.Usage(at(14*time.Second), "web-0"); ok {
		t.Error("there is usage before the first window has ended")
	}
	if v, when, ok := a.Usage(at(20*time.Second), "web-0"); !ok || v != 1 || !when.Equal(at(15*time.Second)) {
		t.Errorf("usage of one of two under a limit of 1: %v at %s, %t; want 1 at the end of the first window", v, when, ok)
	}
	a.Replicas(at(30*time.Second), replicas(4, 1))
	if _, _, ok := a.Usage(at(44*time.Second), "web-3"); ok {
		t.Error("a replica has usage of a window before it came")
	}
	if v, _, ok := a.Usage(at(45*time.Second), "web-3"); !ok || v != 0.75 {
		t.Errorf("usage of one of four: %v, %t; want 0.75", v, ok)
	}
	if got, want := a.Balance(at(60*time.Second)), (Balance{In: 180, Served: 150, Lost: 30, Throttled: 30}); got != want {
		t.Errorf("balance: %+v, want %+v", got, want)
	}
}

// TestQueue: what the load of twice the arrivals does to a queue with as many replicas more is nothing.
func TestQueue(t *testing.T) {
	s := Series{Workload: web, Metric: "messages", Sharing: Queued, Serves: 10, Points: []Point{{at(0), 15}, {at(10 * time.Second), 30}, {at(20 * time.Second), 0}}}
	a := NewAccount(&s, 15*time.Second)
	a.Replicas(at(0), replicas(1, 0))
	if v, _ := a.Value(at(10 * time.Second)); v != 50 {
		t.Errorf("after ten seconds of 15 in and 10 out %v wait, want 50", v)
	}
	a.Replicas(at(10*time.Second), replicas(3, 0))
	if v, _ := a.Value(at(20 * time.Second)); math.Abs(v-50) > 1e-9 {
		t.Errorf("with 30 in and 30 out %v wait, want the 50 of before", v)
	}
	if v, _ := a.Value(at(25 * time.Second)); v != 0 {
		t.Errorf("%v wait after five idle seconds of three replicas, want none", v)
	}
	if diff := cmp.Diff(Balance{In: 450, Served: 450}, a.Balance(at(30*time.Second)), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("balance (-want +got):\n%s", diff)
	}
}

// TestNobodyReady: what comes while nobody is ready is lost, or waits in a queue.
func TestNobodyReady(t *testing.T) {
	for sharing, want := range map[Sharing]Balance{Divided: {In: 100, Lost: 100, Unready: 10, LongestUnready: 10}, Queued: {In: 100, Waiting: 100, Unready: 10, LongestUnready: 10}, Each: {}, External: {}} {
		s := Series{Workload: web, Metric: "m", Sharing: sharing, Points: []Point{{at(0), 10}}}
		if sharing == Queued {
			s.Serves = 1
		}
		a := NewAccount(&s, 15*time.Second)
		a.Replicas(at(0), []Replica{{Pod: "web-0"}})
		if got := a.Balance(at(10 * time.Second)); got != want {
			t.Errorf("%s: %+v, want %+v", sharing, got, want)
		}
	}
}

// TestGaps: what is not known is no work, and is counted.
func TestGaps(t *testing.T) {
	s := Series{Workload: web, Metric: CPU, Sharing: Divided, Points: []Point{{at(10 * time.Second), 1}, {at(20 * time.Second), math.NaN()}}}
	a := NewAccount(&s, 5*time.Second)
	a.Replicas(at(0), replicas(1, 0))
	if _, _, ok := a.Usage(at(27*time.Second), "web-0"); ok {
		t.Error("usage is known in a gap")
	}
	if got, want := a.Balance(at(40*time.Second)), (Balance{In: 10, Served: 10, Unknown: 30}); got != want {
		t.Errorf("balance: %+v, want %+v", got, want)
	}
}

// TestConservation: whatever replicas do, all work is accounted for, nobody does more than it can, and when one asks makes no difference.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sharing := rapid.SampledFrom([]Sharing{Divided, Queued}).Draw(t, "sharing")
		s := Series{Workload: web, Metric: CPU, Sharing: sharing}
		if sharing == Queued {
			s.Serves = rapid.Float64Range(0.1, 50).Draw(t, "serves")
		}
		when := start
		for range rapid.IntRange(1, 20).Draw(t, "points") {
			s.Points = append(s.Points, Point{when, rapid.Float64Range(0, 100).Draw(t, "value")})
			when = when.Add(time.Duration(rapid.IntRange(1, 90_000).Draw(t, "ms")) * time.Millisecond)
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		asked, quiet := NewAccount(&s, 15*time.Second), NewAccount(&s, 15*time.Second)
		now, most := start, 0.0
		ready, limit := 0, 0.0
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			list := replicas(rapid.IntRange(0, 6).Draw(t, "replicas"), rapid.Float64Range(0, 20).Draw(t, "limit"))
			ready, limit = 0, 0
			for i := range list {
				if list[i].Ready = rapid.Bool().Draw(t, "ready"); list[i].Ready {
					ready++
				}
				limit = list[i].Limit
			}
			asked.Replicas(now, list)
			quiet.Replicas(now, list)
			before := asked.Balance(now)
			passes := time.Duration(rapid.IntRange(1, 60_000).Draw(t, "passes")) * time.Millisecond
			asked.Balance(now.Add(passes / 3))
			now = now.Add(passes)
			b := asked.Balance(now)
			if err := b.Check(); err != nil {
				t.Fatal(err)
			}
			switch {
			case sharing == Queued:
				most = s.Serves * float64(ready) * passes.Seconds()
			case limit > 0:
				most = limit * float64(ready) * passes.Seconds()
			default:
				most = 100 * passes.Seconds()
			}
			if did := b.Served - before.Served; did > most*(1+1e-9)+1e-9 || ready == 0 && did > 0 {
				t.Fatalf("%d replicas did %g in %s, more than the %g they can", ready, did, passes, most)
			}
		}
		a, b := asked.Balance(now), quiet.Balance(now)
		if math.Abs(a.Served-b.Served) > 1e-6*max(1, a.Served) || math.Abs(a.Lost-b.Lost) > 1e-6*max(1, a.Lost) {
			t.Fatalf("asked in between %+v, not asked %+v", a, b)
		}
	})
}
