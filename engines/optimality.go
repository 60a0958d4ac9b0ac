package engines

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/moments"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/recommender"
)

// JudgeScaleUps writes into the decisions of a report that grew node groups how far that is from the cheapest way to help the
// same pods, by any autoscaler: Decision.Optimality, and a note that says it. The report must keep the clusters they were made
// about (harness.WithMoments), as every playback but one of saved reports can. prices are per hour; nil: by the
// weighted size of nodes. A machine type without a price is an error.
func JudgeScaleUps(ctx context.Context, r *scalehist.ReplayReport, prices *prices.Table) error {
	judge := recommender.New()
	for i := range r.Decisions {
		d := &r.Decisions[i]
		if len(d.ScaleUps) == 0 {
			continue
		}
		state, err := stateOf(r, d)
		if err != nil {
			return err
		}
		sizes := map[string]int{}
		for _, up := range d.ScaleUps {
			sizes[up.NodeGroup] += up.To - up.From
		}
		o, err := judge.Judge(ctx, RequestOf(&state, prices), sizes, d.UnschedulablePods)
		if err != nil {
			return fmt.Errorf("judge the scale-up at %s: %w", d.At.UTC().Format("2006-01-02T15:04:05Z"), err)
		}
		if judged := d.Optimality; judged != nil { // an engine that judges itself may use other prices, or none
			d.Notes = without(d.Notes, judged.String())
		}
		d.Optimality = &o
		d.Notes = append(d.Notes, o.String())
	}
	return nil
}

func without(notes []string, note string) []string {
	var out []string
	for _, n := range notes {
		if n != note {
			out = append(out, n)
		}
	}
	return out
}

// stateOf is the cluster that a decision was made about.
func stateOf(r *scalehist.ReplayReport, d *scalehist.Decision) (scalehist.ClusterState, error) {
	if r.Moments != nil {
		for n := range r.Moments.Moments {
			if m := &r.Moments.Moments[n]; m.Loop == d.Loop && m.At.Equal(d.At) {
				return moments.State(r.Moments, n)
			}
		}
	}
	return scalehist.ClusterState{}, errors.New("the report does not keep the cluster of the decision at " + d.At.UTC().Format("2006-01-02T15:04:05Z") +
		": make it with 'scalehist replay --optimal', or --full-snapshots (harness.WithMoments in Go)")
}

// RequestOf asks a recommender about a cluster as an autoscaler saw it, with the defaults for all that is not in it.
func RequestOf(s *scalehist.ClusterState, prices *prices.Table) *recommender.Request {
	r := &recommender.Request{Now: s.At, Objects: s.Objects, Terms: recommender.Terms{Prices: prices, Constraints: recommender.Constraints{Backoff: map[string]string{}}}}
	leaving := map[string]bool{}
	for _, g := range s.NodeGroups {
		group := recommender.GroupOf(g.NodeGroup)
		group.TemplatePods = g.TemplatePods
		group.TargetSize = max(0, group.TargetSize-len(g.Failed))
		for _, u := range g.Upcoming {
			group.Upcoming = append(group.Upcoming, u.Name)
		}
		for _, name := range g.Deleting {
			leaving[name] = true
		}
		r.NodeGroups = append(r.NodeGroups, group)
	}
	if len(leaving) > 0 { // nothing new goes to a node that is being deleted
		objects := *s.Objects
		objects.Nodes = nil
		for _, n := range s.Objects.Nodes {
			if leaving[n.Name] && !n.Spec.Unschedulable {
				n = n.DeepCopy()
				n.Spec.Unschedulable = true
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
			}
			objects.Nodes = append(objects.Nodes, n)
		}
		r.Objects = &objects
	}
	for _, b := range s.Backoff {
		r.Constraints.Backoff[b.NodeGroup] = b.Reason
	}
	return r
}
