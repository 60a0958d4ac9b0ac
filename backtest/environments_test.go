package backtest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/env"
	"github.com/scalehist/scalehist/recommender/vertical/trial"
)

// TestEnvironments: usage at equal steps is the highest of the pods; steps without have that of the step before, the first ones that of the
// first; workloads of one step are left out.
func TestEnvironments(t *testing.T) {
	used := func(minute int, cpu, memory int64) trial.Usage {
		return trial.Usage{At: start.Add(time.Duration(minute) * time.Minute).UnixNano(), Amount: vertical.Amount{CPUMilli: cpu, MemoryBytes: memory}}
	}
	requests := vertical.Amount{CPUMilli: 500, MemoryBytes: 1000}
	pod := func(usage ...trial.Usage) trial.Pod {
		return trial.Pod{From: start, Containers: []trial.Container{{Name: "app", Requests: requests, Limits: vertical.None, Usage: usage}}}
	}
	got := Environments([]*trial.Workload{
		{Kind: "Deployment", Namespace: "shop", Name: "web", Pods: []trial.Pod{pod(used(5, 100, 10), used(6, 300, 5), used(20, 50, 7)), pod(used(7, 200, 20), used(99, 9, 9))}},
		{Kind: "Deployment", Namespace: "shop", Name: "once", Pods: []trial.Pod{pod(used(0, 1, 1))}},
	}, start, start.Add(30*time.Minute), 5*time.Minute)
	of := func(cpu, memory int64) vertical.Amount {
		return vertical.Amount{CPUMilli: cpu, MemoryBytes: memory}
	}
	want := []env.Workload{{Name: "Deployment/shop/web", Step: 5 * time.Minute, From: start, Containers: []env.Container{{Name: "app", Requests: requests, Limits: vertical.None,
		Usage: []vertical.Amount{of(300, 20), of(300, 20), of(300, 20), of(300, 20), of(50, 7), of(50, 7)}}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
