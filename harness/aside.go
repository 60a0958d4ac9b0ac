package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
	"github.com/scalehist/scalehist/harness/kvcl/virtual"
	"github.com/scalehist/scalehist/harness/ledger"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// aside puts a cluster that a report keeps on a control plane in memory, as it was before a decision about it: the pods without a
// node have not arrived yet. The autoscaler does not see it, but the state itself; here the scheduler shows what comes of the
// decision.
func (p *snapshotPlayback) aside(ctx context.Context, s *scalehist.ClusterState, provider *cloudprovider.Provider) (_ *run, err error) {
	in := p.inputOf(s)
	o := p.opts
	o.plane, o.ControlPlane = nil, Memory
	r := &run{in: in, opts: o, now: in.Start, watch: p.watch, pending: map[types.NamespacedName]bool{}, changes: in.Changes, provider: provider,
		end: in.End, scan: defaultScanInterval, meter: load.NewMeter(nil)}
	defer r.watch.Time("apply")()
	if r.plane, err = r.bootPlane(ctx); err != nil {
		return nil, err
	}
	r.cluster = virtual.New(r.plane, virtual.Options{Termination: in.Termination})
	if err := r.cluster.Apply(ctx, in.Initial); err != nil {
		return nil, errors.Join(fmt.Errorf("set up the cluster at %s: %w", moment.Stamp(in.Start), err), r.close())
	}
	if _, err := r.settle(ctx, in.Start); err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.ledger = ledger.New(in, provider, r.plane.Objects())
	return r, nil
}

// inputOf is a state as the causes of a replay that begins there. Pods that would run to their end are kept: only the nodes that are
// asked for shall make room.
func (p *snapshotPlayback) inputOf(s *scalehist.ClusterState) *trace.Input {
	in := &trace.Input{
		Name: p.from.Scenario, Start: s.At, End: s.At.Add(time.Nanosecond), StaticPods: map[string][]*corev1.Pod{}, Hashes: p.out.Inputs,
		WorkerPools: p.from.Start.WorkerPools, MachineDeployments: p.from.Start.MachineDeployments,
	}
	for _, g := range s.NodeGroups {
		in.NodeGroups = append(in.NodeGroups, g.NodeGroup)
		in.StaticPods[g.Name] = g.TemplatePods
	}
	in.ProvisionDelays = delaysOf(p.from.NodeGroups, in.NodeGroups)
	put := func(o scalehist.Object) {
		in.Initial = append(in.Initial, scalehist.Change{At: s.At, Op: scalehist.OpAdd, Object: o})
	}
	for _, o := range s.Objects.Workloads() {
		put(o)
	}
	for _, n := range s.Objects.Nodes {
		put(n)
	}
	for _, pod := range s.Objects.Pods {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if _, finite := pod.Annotations[podlife.RunForAnnotation]; finite {
			pod = pod.DeepCopy()
			delete(pod.Annotations, podlife.RunForAnnotation)
		}
		if pod.Spec.NodeName == "" {
			if podlife.FollowsNode(pod) {
				continue // the virtual cluster gives each node its DaemonSet pods
			}
			in.Changes = append(in.Changes, scalehist.Change{At: s.At, Op: scalehist.OpAdd, Object: podlife.AsPending(pod.DeepCopy())})
			continue
		}
		put(pod)
	}
	return in
}

// delaysOf are the provision delays of groups that a report states.
func delaysOf(results []scalehist.NodeGroupResult, groups []scalehist.NodeGroup) map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, g := range results {
		if slices.ContainsFunc(groups, func(o scalehist.NodeGroup) bool { return o.Name == g.Name }) {
			out[g.Name] = time.Duration(g.ProvisionDelay)
		}
	}
	return out
}

// place lets the pods without a node arrive and what was asked for come about, and completes the event by it.
func (p *snapshotPlayback) place(ctx context.Context, r *run, e *scalehist.EventReplay) error {
	r.ledger.Begin(r.now)
	if err := r.feed(ctx, r.now); err != nil {
		return err
	}
	if _, err := r.settleNodes(ctx, r.now); err != nil {
		return err
	}
	r.ledger.Measure(r.plane.Objects())
	r.ledger.Commit(r.pending)
	if err := r.aftermath(ctx); err != nil {
		return err
	}
	r.helped(e)
	if p.opts.eventReport == nil {
		return nil
	}
	out := r.eventReport(*e, scalehist.PlaybackSnapshots, p.out.Recorded.Source)
	for i := range out.NodeGroups {
		g := &out.NodeGroups[i]
		for _, was := range p.from.NodeGroups {
			if was.Name == g.Name {
				g.ProvisionDelayFrom = was.ProvisionDelayFrom
			}
		}
	}
	return p.opts.eventReport(len(p.out.Events)+1, out)
}
