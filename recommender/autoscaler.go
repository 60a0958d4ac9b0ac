package recommender

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/simulator/backoff"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// Provider is what the autoscaler sees of the node groups and how it acts on them. *cloudprovider.Provider is one.
type Provider interface {
	// Refresh brings the provider's view up to date; an error ends the loop.
	Refresh(now time.Time) error
	Groups() []scalehist.NodeGroup
	GroupForNode(*corev1.Node) (string, bool)
	TemplatePods(group string) []*corev1.Pod
	Instances(group string) []cloudprovider.Instance
	IncreaseSize(ctx context.Context, now time.Time, group string, delta int) error
	DeleteNodes(ctx context.Context, now time.Time, group string, nodeNames []string) error
	// Prices is nil when nothing has a price.
	Prices() *prices.Table
}

var _ Provider = (*cloudprovider.Provider)(nil)

// Autoscaler acts on what a Recommender says: one request a loop, scale-ups at once, nodes that could go after they have
// been unneeded for a while. It is not safe for concurrent use.
type Autoscaler struct {
	name        string
	cluster     scalehist.Cluster
	provider    Provider
	recommender Recommender
	o           AutoscalerOptions

	loops       int
	lastScaleUp time.Time
	backoff     *backoff.Groups
	// failed are the instances whose failure was counted, by ID.
	failed map[string]bool
	// unneeded is since when nodes could go.
	unneeded map[string]time.Time
	removals []*removal
	// said is what the events of the pods that are left said last.
	said map[string]string
}

var _ scalehist.Background = (*Autoscaler)(nil)

// NewAutoscaler makes an engine that has not run a loop yet. The name is shown in reports. Impossible options are an error.
func NewAutoscaler(name string, cluster scalehist.Cluster, provider Provider, r Recommender, o AutoscalerOptions) (*Autoscaler, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("recommender: %w", err)
	}
	return &Autoscaler{name: name, cluster: cluster, provider: provider, recommender: r, o: o,
		backoff: backoff.New(o.InitialBackoff, o.MaxBackoff, o.BackoffReset), failed: map[string]bool{}, unneeded: map[string]time.Time{}}, nil
}

// Name implements scalehist.Autoscaler.
func (a *Autoscaler) Name() string { return a.name }

// ScanInterval is the time between two loops when nothing asks for another one at once.
func (a *Autoscaler) ScanInterval() time.Duration { return a.o.ScanInterval }

// MaxNodeProvisionTime is how long a node that was asked for counts as upcoming, in any group.
func (a *Autoscaler) MaxNodeProvisionTime(string) time.Duration { return a.o.MaxNodeProvisionTime }

// loop is one run: what is asked, and the Decision it writes.
type loop struct {
	*Autoscaler
	now time.Time
	d   *scalehist.Decision
	req *Request
}

func (l *loop) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(l.d.Notes, n) {
		l.d.Notes = append(l.d.Notes, n)
	}
}

// RunOnce implements scalehist.Autoscaler. An error of the recommender ends the loop and is returned.
func (a *Autoscaler) RunOnce(ctx context.Context, now time.Time) (scalehist.Decision, error) {
	a.loops++
	d := scalehist.Decision{At: now, Loop: a.loops, Outcome: scalehist.ScaleUpNotTried}
	l := &loop{Autoscaler: a, now: now, d: &d}
	err := l.run(ctx)
	d.Backoff = a.backoff.List(now)
	d.Again = d.Outcome == scalehist.ScaleUpSuccessful
	if err != nil {
		return d, fmt.Errorf("recommender loop %d: %w", a.loops, err)
	}
	return d, nil
}

func (l *loop) run(ctx context.Context) error {
	if err := l.provider.Refresh(l.now); err != nil {
		l.note("nothing is done, refreshing the cloud provider: %v", err)
		return nil
	}
	l.advanceRemovals(ctx)
	l.removeFailed(ctx)
	l.req = l.request()
	r, err := l.recommender.Recommend(ctx, l.req)
	if err != nil {
		return err
	}
	if r == nil {
		return errors.New("the recommender gave no recommendation and no error")
	}
	l.explain(r)
	if l.waitsForMore() {
		return nil
	}
	if err := l.scaleUp(ctx, r); err != nil {
		return err
	}
	if l.o.Consolidate {
		l.scaleDown(ctx, r)
	}
	return nil
}

// waitsForMore says whether all pods that no node that is there or coming could take are new. Then nothing is done: more of the burst
// may be on their way (upstream: unschedulablePodTimeBuffer).
func (l *loop) waitsForMore() bool {
	if len(l.d.UnschedulablePods) == 0 {
		return false
	}
	asks := map[string]bool{}
	for _, name := range l.d.UnschedulablePods {
		asks[name] = true
	}
	for _, p := range l.req.Objects.Pods {
		if asks[podName(p)] && !p.CreationTimestamp.Add(l.o.NewPods).After(l.now) {
			return false
		}
	}
	l.d.Outcome, l.d.Options, l.d.Optimality, l.d.PodsTriggered = scalehist.ScaleUpInCooldown, nil, nil, 0
	l.d.PodsRemaining = len(l.d.UnschedulablePods)
	l.d.Notes = nil
	l.note("%s, all of them new: waiting for more", plural.Of(l.d.PodsRemaining, "pod"))
	return true
}

// request is the cluster as it is now.
func (l *loop) request() *Request {
	objects := l.cluster.Objects()
	o := &l.o
	r := &Request{Now: l.now, Objects: objects, Parallelism: o.Parallelism, Terms: Terms{NodeGroupOf: map[string]string{}, Prices: l.provider.Prices(),
		Strategy: o.Strategy, Scoring: o.Scoring, Weights: o.Weights,
		Constraints: Constraints{Backoff: map[string]string{}, MaxNodesTotal: o.MaxNodesTotal, Cores: o.Cores, MemoryGiB: o.MemoryGiB,
			ExpendablePriorityCutoff: &o.ExpendablePriorityCutoff, IgnoreMinSize: o.IgnoreMinSize}}}
	if o.Consolidate {
		r.Constraints.ScaleDown = &ScaleDownConstraints{UtilizationThreshold: o.UtilizationThreshold, IgnoreDaemonSets: o.IgnoreDaemonSets, Rules: o.Rules}
	}
	registered := map[string]bool{}
	for _, n := range objects.Nodes {
		registered[n.Name] = true
		if g, ok := l.provider.GroupForNode(n); ok {
			r.NodeGroupOf[n.Name] = g
		}
	}
	for _, g := range l.provider.Groups() {
		ng := GroupOf(g)
		ng.TemplatePods = l.provider.TemplatePods(g.Name)
		for _, i := range l.provider.Instances(g.Name) {
			if i.State != cloudprovider.InstanceDeleting && i.Error == nil && !registered[i.NodeName] {
				ng.Upcoming = append(ng.Upcoming, i.NodeName)
			}
		}
		if len(ng.Upcoming) > 0 {
			if l.d.Upcoming == nil {
				l.d.Upcoming = map[string]int{}
			}
			l.d.Upcoming[g.Name] = len(ng.Upcoming)
		}
		if b := l.backoff.Of(g.Name); b.Until.After(l.now) {
			r.Constraints.Backoff[g.Name] = fmt.Sprintf("until %s: %s", b.Until.UTC().Format(time.RFC3339), b.Reason)
		}
		r.NodeGroups = append(r.NodeGroups, ng)
	}
	return r
}

// scaleUp asks the provider for what is recommended.
func (l *loop) scaleUp(ctx context.Context, r *Recommendation) error {
	granted := map[string]scalehist.ScaleUp{}
	for _, up := range r.ScaleUps {
		at := slices.IndexFunc(l.req.NodeGroups, func(g NodeGroup) bool { return g.Name == up.NodeGroup })
		if at < 0 {
			return fmt.Errorf("the recommender wants to grow node group %q, which does not exist", up.NodeGroup)
		}
		if up.Count <= 0 {
			return fmt.Errorf("the recommender wants to grow node group %s by %d", up.NodeGroup, up.Count)
		}
		if err := l.provider.IncreaseSize(ctx, l.now, up.NodeGroup, up.Count); err != nil {
			l.d.Failed = append(l.d.Failed, scalehist.FailedScaleUp{NodeGroup: up.NodeGroup, Delta: up.Count, Reason: err.Error()})
			l.fail(up.NodeGroup, err.Error())
			continue
		}
		g := l.req.NodeGroups[at]
		s := scalehist.ScaleUp{NodeGroup: g.Name, From: g.TargetSize, To: g.TargetSize + up.Count, Max: g.MaxSize}
		granted[g.Name] = s
		l.d.ScaleUps = append(l.d.ScaleUps, s)
		l.lastScaleUp = l.now
	}
	switch {
	case len(l.d.ScaleUps) > 0:
		l.d.Outcome = scalehist.ScaleUpSuccessful
	case len(l.d.Failed) > 0:
		l.d.Outcome = scalehist.ScaleUpError
	case len(r.Unplaced) > 0:
		l.d.Outcome = scalehist.ScaleUpNoOptionsAvailable
	default:
		l.d.Outcome = scalehist.ScaleUpNotNeeded
	}
	l.events(r, granted)
	return nil
}
