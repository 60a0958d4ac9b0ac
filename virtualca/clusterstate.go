package virtualca

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/backoff"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/config"
)

// clusterState remembers between loops what the autoscaler asked for and how the groups answered
// (clusterstate/clusterstate.go).
type clusterState struct {
	settings *config.Settings
	backoff  *backoff.Groups
	requests map[string]*request
	// unregistered is when an instance without a node was first seen, by instance ID.
	unregistered map[string]time.Time
	// failed are the instances with creation errors of the last loop, by instance ID.
	failed map[string]bool
	// incorrect are groups whose size does not fit their nodes, since when.
	incorrect map[string]incorrectSize
	// readiness and the rest are of the present loop.
	readiness map[string]*readiness
	total     readiness
	target    map[string]int
	instances map[string][]cloudprovider.Instance
	nodes     int
}

// request is a scale-up under way.
type request struct {
	increase int
	at       time.Time
	deadline time.Time
}

// readiness counts the nodes of a group by state.
type readiness struct {
	ready, unready, notStarted, deleted, suspended int
	registered                                     int
	unregistered, longUnregistered                 []cloudprovider.Instance
	notStartedNames                                []string
}

type incorrectSize struct {
	current, expected int
	since             time.Time
}

func newClusterState(s *config.Settings) *clusterState {
	return &clusterState{settings: s, backoff: backoff.New(s.InitialBackoff, s.MaxBackoff, s.BackoffReset), requests: map[string]*request{},
		unregistered: map[string]time.Time{}, failed: map[string]bool{}, incorrect: map[string]incorrectSize{}}
}

// provisionTime is how long a group's node may take from request to registration.
func (a *Autoscaler) provisionTime(group string) time.Duration {
	if o, ok := a.provider.GroupOptions(group); ok && o.MaxNodeProvisionTime != nil {
		return *o.MaxNodeProvisionTime
	}
	return a.settings.MaxNodeProvisionTime
}

// startupTime is how long a group's node may take from registration to being ready.
func (a *Autoscaler) startupTime(group string) time.Duration {
	if o, ok := a.provider.GroupOptions(group); ok && o.MaxNodeStartupTime != nil {
		return *o.MaxNodeStartupTime
	}
	return a.settings.MaxNodeStartupTime
}

// updateState takes over this loop's nodes and instances: who is ready, which requests are done or timed out, which
// instances failed.
func (l *loop) updateState(ctx context.Context) {
	cs := l.a.state
	cs.nodes = len(l.nodes)
	cs.target = map[string]int{}
	cs.instances = map[string][]cloudprovider.Instance{}
	for _, g := range l.groups {
		cs.target[g.Name] = g.TargetSize
		cs.instances[g.Name] = l.a.provider.Instances(g.Name)
	}
	l.updateReadiness()
	cs.backoff.Forget(l.now)
	for _, g := range l.groups {
		l.updateRequest(ctx, g.Name)
	}
	for _, g := range l.groups {
		l.updateCreationErrors(g.Name)
	}
	l.updateIncorrectSizes()
}

func (l *loop) updateReadiness() {
	cs := l.a.state
	cs.readiness, cs.total = map[string]*readiness{}, readiness{}
	registered := map[string]bool{}
	of := func(group string) *readiness {
		if cs.readiness[group] == nil {
			cs.readiness[group] = &readiness{}
		}
		return cs.readiness[group]
	}
	for _, n := range l.nodes {
		registered[n.Name] = true
		g, grouped := l.groupOf[n.Name]
		startup := l.a.startupTime(g)
		cs.total.count(n, l.now, startup)
		if grouped {
			of(g).count(n, l.now, startup)
		}
	}
	seen := map[string]bool{}
	for _, g := range l.groups {
		for _, i := range cs.instances[g.Name] {
			if registered[i.NodeName] || i.State == cloudprovider.InstanceDeleting || i.Error != nil {
				continue
			}
			since, ok := cs.unregistered[i.ID]
			if !ok {
				since = l.now
				cs.unregistered[i.ID] = since
			}
			seen[i.ID] = true
			r := of(g.Name)
			if since.Add(l.a.provisionTime(g.Name)).Before(l.now) {
				r.longUnregistered = append(r.longUnregistered, i)
			} else {
				r.unregistered = append(r.unregistered, i)
			}
		}
	}
	for id := range cs.unregistered {
		if !seen[id] {
			delete(cs.unregistered, id)
		}
	}
}

func (r *readiness) count(n *corev1.Node, now time.Time, startup time.Duration) {
	r.registered++
	isReady, _ := ready(n)
	switch {
	case scalehist.HasTaint(n, toBeDeletedTaint):
		r.deleted++
	case suspended(n):
		r.suspended++
	case isReady:
		r.ready++
	case n.CreationTimestamp.Add(startup).After(now):
		r.notStarted++
		r.notStartedNames = append(r.notStartedNames, n.Name)
	default:
		r.unready++
	}
}

func suspended(n *corev1.Node) bool {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == "Suspended" && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// updateRequest ends a request that is done or timed out. A timeout backs the group off and lowers its target size by
// what is left of the request.
func (l *loop) updateRequest(ctx context.Context, group string) {
	cs := l.a.state
	req := cs.requests[group]
	if req == nil {
		return
	}
	r := cs.of(group)
	if cs.target[group] <= r.registered-r.notStarted {
		delete(cs.requests, group)
		return
	}
	if !req.deadline.Before(l.now) {
		return
	}
	wait := l.a.provisionTime(group)
	l.event("ScaleUpTimedOut", l.statusObject(), fmt.Sprintf("Nodes added to group %s failed to register within %s", group, l.now.Sub(req.at)))
	l.backOff(group, "timeout", fmt.Sprintf("Scale-up timed out for node group %s after %s", group, wait))
	delete(cs.requests, group)
	if err := l.a.provider.DecreaseTargetSize(ctx, l.now, group, req.increase); err != nil {
		l.event("FailedToRevertScaleUp", l.statusObject(), fmt.Sprintf("Failed to revert scale-up of group %s by %d: %v", group, req.increase, err))
		return
	}
	from := cs.target[group]
	l.d.ScaleDowns = append(l.d.ScaleDowns, scalehist.ScaleDown{NodeGroup: group, From: from, To: from - req.increase, Reason: "scale-up timed out"})
	cs.target[group] = from - req.increase
	l.refresh()
}

// updateCreationErrors backs a group off for instances that newly failed and takes them off its request.
func (l *loop) updateCreationErrors(group string) {
	cs := l.a.state
	type code struct {
		class cloudprovider.ErrorClass
		code  string
	}
	unseen := map[code]int{}
	var codes []code
	first := map[code]*cloudprovider.InstanceError{}
	for _, i := range cs.instances[group] {
		if i.State != cloudprovider.InstanceCreating || i.Error == nil || cs.failed[i.ID] {
			continue
		}
		cs.failed[i.ID] = true
		c := code{i.Error.Class, i.Error.Code}
		if unseen[c] == 0 {
			codes = append(codes, c)
			first[c] = i.Error
		}
		unseen[c]++
	}
	for _, c := range codes {
		if cs.requests[group] == nil {
			continue
		}
		e := first[c]
		// Upstream's events write the class OutOfResources as "OutOfResource".
		cs.register(group, -unseen[c], l.now, l.a.provisionTime(group))
		l.event("ScaleUpFailed", l.statusObject(), fmt.Sprintf("Failed adding %d nodes (%d unseen previously) to group %s due to %s.%s; source errors: %s",
			unseen[c], unseen[c], group, strings.TrimSuffix(string(e.Class), "s"), e.Code, e.Message))
		l.backOff(group, e.Code, e.Message)
	}
}

// backOff keeps a group from growing and remembers when a scale-up last failed.
func (l *loop) backOff(group, code, reason string) {
	until := l.a.state.backoff.Fail(group, code, reason, l.now)
	l.a.lastScaleUpFail = l.now
	l.note("%s is backed off until %s: %s", group, until.UTC().Format(time.RFC3339), reason)
}

// register records a change of what was asked of a group. A growth restarts the clock.
func (cs *clusterState) register(group string, delta int, now time.Time, wait time.Duration) {
	req := cs.requests[group]
	if req == nil {
		if delta > 0 {
			cs.requests[group] = &request{increase: delta, at: now, deadline: now.Add(wait)}
		}
		return
	}
	req.increase += delta
	if req.increase <= 0 {
		delete(cs.requests, group)
		return
	}
	if delta > 0 {
		req.at, req.deadline = now, now.Add(wait)
	}
}

func (cs *clusterState) of(group string) *readiness {
	if r := cs.readiness[group]; r != nil {
		return r
	}
	return &readiness{}
}

// minAcceptable is the fewest nodes a group can have with nothing wrong.
func (cs *clusterState) minAcceptable(group string) int {
	n := cs.target[group] - len(cs.of(group).longUnregistered)
	if req := cs.requests[group]; req != nil {
		n -= req.increase
	}
	return n
}

// healthy says whether too many of a group's nodes are missing: more than the ok count and the percentage at once.
func (cs *clusterState) healthy(group string) bool {
	target, known := cs.target[group]
	if !known {
		return false
	}
	least := cs.minAcceptable(group)
	r := cs.readiness[group]
	if r == nil {
		return target == 0 || least == 0
	}
	missing := least - r.ready - r.suspended
	nodes := r.ready + r.unready + r.notStarted + r.suspended
	return !(missing > cs.settings.OkTotalUnreadyCount && float64(missing) > cs.settings.MaxTotalUnreadyPercent/100*float64(nodes))
}

func (cs *clusterState) clusterHealthy() bool {
	n := cs.total.unready
	return !(n > cs.settings.OkTotalUnreadyCount && float64(n) > cs.settings.MaxTotalUnreadyPercent/100*float64(cs.nodes))
}

// upcoming counts the nodes of a group that were asked for and have not come, while its request runs.
func (cs *clusterState) upcoming(group string, now time.Time) int {
	if cs.requests[group] == nil || cs.backoff.Active(group, now) {
		return 0
	}
	r := cs.of(group)
	return max(0, cs.target[group]-(r.ready+r.unready+r.suspended+len(r.longUnregistered)))
}

func (l *loop) updateIncorrectSizes() {
	cs := l.a.state
	next := map[string]incorrectSize{}
	for _, g := range l.groups {
		r := cs.readiness[g.Name]
		if r == nil || (r.registered <= cs.target[g.Name] && r.registered >= cs.minAcceptable(g.Name)) {
			continue
		}
		size := incorrectSize{current: r.registered, expected: cs.target[g.Name], since: l.now}
		if old, ok := cs.incorrect[g.Name]; ok && old.current == size.current && old.expected == size.expected {
			size.since = old.since
		}
		next[g.Name] = size
	}
	cs.incorrect = next
}
