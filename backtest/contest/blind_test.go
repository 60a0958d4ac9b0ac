package contest

import (
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist/backtest"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/env"
	"github.com/scalehist/scalehist/recommender/vertical/learn"
	"github.com/scalehist/scalehist/recommender/vertical/trial"
)

// TestBlindToOOM: a learner whose reward does not know OOMs asks for less than one whose reward does, and wins by that reward; in the report it
// has more OOMs, a worse penalty, and no place on the front.
func TestBlindToOOM(t *testing.T) {
	l := Loads[0]
	w, err := l.Workload(firstTrained, 4*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	workloads := backtest.Environments([]*trial.Workload{w}, Start, Start.Add(4*24*time.Hour), vertical.PastStep)
	cost, err := env.ParseReward("cost")
	if err != nil {
		t.Fatal(err)
	}
	configs := []env.Config{{Containers: workloads[0].Containers, Step: workloads[0].Step, Updater: vertical.UpdaterUpstream, Reward: cost}}
	candidates := []backtest.Candidate{backtest.Recorded}
	var rewards []float64
	for _, reward := range []string{"weighted", "cost"} {
		o := learn.DefaultPolicy
		o.Reward, o.Rounds = reward, 8
		m, _, err := learn.Policy(t.Context(), workloads, o)
		if err != nil {
			t.Fatal(err)
		}
		tried, err := learn.Episodes(t.Context(), configs, func() vertical.Recommender { return vertical.NewPolicy(m) })
		if err != nil {
			t.Fatal(err)
		}
		rewards = append(rewards, tried.Reward)
		candidates = append(candidates, backtest.Candidate{Label: reward, Updater: vertical.UpdaterUpstream, Recommender: vertical.Spec{Name: "policy",
			Maker: func(vertical.Workload) (vertical.Recommender, error) { return vertical.NewPolicy(m), nil }}})
	}
	if rewards[1] <= rewards[0] {
		t.Errorf("by its own reward the blind learner has %g, the careful one %g", rewards[1], rewards[0])
	}
	r, err := l.try(t.Context(), 0, candidates, 2)
	if err != nil {
		t.Fatal(err)
	}
	careful, blind := &r.Candidates[1], &r.Candidates[2]
	if blind.Cluster.OOMs <= 10*careful.Cluster.OOMs || penalty(&blind.Cluster) <= penalty(&careful.Cluster) {
		t.Errorf("OOMs: blind %d, careful %d; penalty: blind %g, careful %g", blind.Cluster.OOMs, careful.Cluster.OOMs, penalty(&blind.Cluster), penalty(&careful.Cluster))
	}
	if blind.Front || !careful.Front || !strings.Contains(strings.Join(r.Notes, "\n"), "cost is not on the front") {
		t.Errorf("front: blind %v, careful %v; notes %q", blind.Front, careful.Front, r.Notes)
	}
}
