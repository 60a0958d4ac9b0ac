package learn

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/env"
)

// days is a workload of days with a peak of two hours.
func days(n int) []env.Workload {
	requests := vertical.Amount{CPUMilli: 1100, MemoryBytes: 1100e6}
	c := env.Container{Name: "app", Requests: requests, Limits: requests}
	for i := range n * 288 {
		u := vertical.Amount{CPUMilli: int64(200 + i*7919%50), MemoryBytes: int64(300+i*104729%50) * 1e6}
		if at := i % 288; at >= 120 && at < 144 {
			u = vertical.Amount{CPUMilli: 1000, MemoryBytes: 1000e6}
		}
		c.Usage = append(c.Usage, u)
	}
	return []env.Workload{{Name: "Deployment/shop/web", Step: vertical.PastStep, From: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), Containers: []env.Container{c}}}
}

func written(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestBoosted: the loss of what was held back falls, the same seed gives the same bytes, another others, and the model can be read.
func TestBoosted(t *testing.T) {
	o := DefaultBoosted
	o.Trees = 100
	m, c, err := Boosted(t.Context(), days(12), o)
	if err != nil {
		t.Fatal(err)
	}
	if first, last := c.Rows[0], c.Rows[len(c.Rows)-1]; last[2] >= first[2]/2 || last[4] >= first[4] {
		t.Errorf("loss %v at first, %v at last", first, last)
	}
	again, _, err := Boosted(t.Context(), days(12), o)
	if err != nil || written(t, m) != written(t, again) {
		t.Errorf("another time it is another model: %v", err)
	}
	o.Seed = 2
	if other, _, err := Boosted(t.Context(), days(12), o); err != nil || written(t, m.CPU) == written(t, other.CPU) {
		t.Errorf("another seed gives the same: %v", err)
	}
	if _, err := vertical.ParseBoostedModel(strings.NewReader(written(t, m))); err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	if err := c.CSV(&b); err != nil || !strings.HasPrefix(b.String(), "trees,CPU trained,") || strings.Count(b.String(), "\n") != 102 {
		t.Errorf("%v\n%s", err, b.String())
	}
	if svg := c.SVG([]int{1, 2}, []int{3, 4}); !strings.Contains(svg, ">CPU held back<") || !strings.Contains(svg, ">20<") {
		t.Error(svg)
	}
	if _, _, err := Boosted(t.Context(), days(1)[:0], o); err == nil || !strings.Contains(err.Error(), "give more load") {
		t.Error(err)
	}
}

// TestPolicy: the policy becomes better than where it began and than requests that stay, twice the same, whatever the processors.
//
//scalehist:unraced
func TestPolicy(t *testing.T) {
	o := DefaultPolicy
	o.Rounds = 6
	var progress []int
	o.Progress = func(done, all int) { progress = append(progress, done, all) }
	m, c, err := Policy(t.Context(), days(3), o)
	if err != nil {
		t.Fatal(err)
	}
	if first, last := c.Rows[0][1], c.Rows[len(c.Rows)-1][1]; last >= first*0.9 {
		t.Errorf("penalty %g at first, %g at last", first, last)
	}
	// Each policy of each round, and the one that is left.
	if n := 6*o.Population + 1; len(progress) != 2*n || progress[0] != 1 || progress[1] != n || progress[2*n-2] != n {
		t.Errorf("progress: %d calls, from %d of %d to %d", len(progress)/2, progress[0], progress[1], progress[len(progress)-2])
	}
	again, _, err := Policy(t.Context(), days(3), o)
	if err != nil || written(t, m) != written(t, again) {
		t.Errorf("another time it is another policy: %v", err)
	}
	if _, err := vertical.ParsePolicyModel(strings.NewReader(written(t, m))); err != nil {
		t.Error(err)
	}
	o.Elite = 1
	if _, _, err := Policy(t.Context(), days(3), o); err == nil {
		t.Error("an elite of one is taken")
	}
}
