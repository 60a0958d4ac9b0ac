package load

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// TestHeld: ten requests a second come from the start on. Nobody is ready for 100 s, then one replica is, then none for the last 30 s.
func TestHeld(t *testing.T) {
	start := time.Date(2024, 5, 28, 10, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	one := []Replica{{Pod: "a", Ready: true, Started: start}}
	for hold, want := range map[time.Duration]struct {
		balance Balance
		delays  Delays
	}{
		5 * time.Minute:  {Balance{In: 1600, Served: 1300, Waiting: 300, Unready: 130, LongestUnready: 100}, Delays{Work: 1000, P50: 50, P90: 90, P99: 99, Max: 100}},
		time.Minute:      {Balance{In: 1600, Served: 900, Lost: 400, Waiting: 300, Unready: 130, LongestUnready: 100}, Delays{Work: 600, P50: 30, P90: 54, P99: 59.4, Max: 60}},
		10 * time.Second: {Balance{In: 1600, Served: 400, Lost: 1100, Waiting: 100, Unready: 130, LongestUnready: 100}, Delays{Work: 100, P50: 5, P90: 9, P99: 9.9, Max: 10}},
	} {
		a := NewAccount(&Series{Metric: "requests", Sharing: Held, Hold: hold, Points: []Point{{start, 10}}}, Resolution)
		a.Replicas(start, nil)
		a.Replicas(at(100), one)
		a.Replicas(at(130), nil)
		near := cmpopts.EquateApprox(1e-9, 1e-6)
		if diff := cmp.Diff(want.balance, a.Balance(at(160)), near); diff != "" {
			t.Errorf("hold %s: balance (-want +got):\n%s", hold, diff)
		}
		if diff := cmp.Diff(want.delays, a.Delays(at(160)), near); diff != "" {
			t.Errorf("hold %s: delays (-want +got):\n%s", hold, diff)
		}
	}
}

// TestHeldIsConserved: whatever comes and whichever pod is ready when, what came in is served, lost or waits; nothing waits longer than it may, and percentiles are in order.
func TestHeldIsConserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := time.Unix(0, 0).UTC()
		s := &Series{Metric: "requests", Sharing: Held, Hold: time.Duration(rapid.IntRange(1, 100).Draw(t, "hold")) * time.Second}
		for i := range rapid.IntRange(1, 5).Draw(t, "points") {
			s.Points = append(s.Points, Point{start.Add(time.Duration(60*i) * time.Second), float64(rapid.IntRange(0, 50).Draw(t, "rate"))})
		}
		a := NewAccount(s, Resolution)
		now := start
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			var list []Replica
			for i := range rapid.IntRange(0, 2).Draw(t, "replicas") {
				list = append(list, Replica{Pod: string(rune('a' + i)), Ready: rapid.Bool().Draw(t, "ready"), Started: start})
			}
			a.Replicas(now, list)
			now = now.Add(time.Duration(rapid.IntRange(0, 70_000).Draw(t, "ms")) * time.Millisecond)
			b, d := a.Balance(now), a.Delays(now)
			if err := b.Check(); err != nil {
				t.Fatal(err)
			}
			if d.Work > b.Served+1e-6 || d.Max > s.Hold.Seconds()+1e-6 || d.P50 > d.P90+1e-9 || d.P90 > d.P99+1e-9 || d.P99 > d.Max+1e-9 || b.Waiting < -1e-6 {
				t.Fatalf("%+v, %+v, hold %s", b, d, s.Hold)
			}
			if most := 50 * s.Hold.Seconds(); b.Waiting > most+1e-6 || math.IsNaN(d.P50) {
				t.Fatalf("%v waits, and at most %v can", b.Waiting, most)
			}
		}
	})
}
