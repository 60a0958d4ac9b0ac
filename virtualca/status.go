package virtualca

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/virtualca/status"
)

var _ scalehist.StatusReporter = (*Autoscaler)(nil)

// Status implements scalehist.StatusReporter: upstream's status ConfigMap as of the last loop that saw the cluster's
// state; nil before it, and with --write-status-configmap=false.
func (a *Autoscaler) Status() *corev1.ConfigMap {
	if a.status == nil || !a.settings.WriteStatus {
		return nil
	}
	return a.status.ConfigMap(a.settings.Namespace, a.settings.StatusConfigMap)
}

// updateStatus takes over the state at the end of a loop.
func (l *loop) updateStatus() {
	cs := l.a.state
	candidates := map[string]int{}
	for _, u := range l.a.down.unneeded {
		candidates[u.group]++
	}
	s := &status.Cluster{Time: l.now.UTC().Format(status.TimeFormat), AutoscalerStatus: status.Running}
	total := cs.total
	up := status.NoActivity
	for _, g := range l.groups {
		r := cs.of(g.Name)
		total.unregistered = append(total.unregistered, r.unregistered...)
		total.longUnregistered = append(total.longUnregistered, r.longUnregistered...)
		scaleUp := l.scaleUpStatus(g.Name)
		if scaleUp.Status == status.InProgress {
			up = status.InProgress
		}
		health := healthWord(cs.healthy(g.Name))
		s.NodeGroups = append(s.NodeGroups, status.Group{Name: g.Name,
			Health: status.GroupHealth{Status: health, NodeCounts: r.counts(l.resourceUnready[g.Name]), CloudProviderTarget: g.TargetSize, MinSize: g.MinSize, MaxSize: g.MaxSize,
				Probe: l.probe(g.Name+"/health", health)},
			ScaleUp: scaleUp, ScaleDown: l.scaleDownStatus(g.Name, candidates[g.Name]),
		})
	}
	slices.SortFunc(s.NodeGroups, func(a, b status.Group) int { return cmp.Compare(a.Name, b.Name) })
	unready := 0
	for _, n := range l.resourceUnready {
		unready += n
	}
	health := healthWord(cs.clusterHealthy())
	s.ClusterWide = status.Wide{
		Health:    status.Health{Status: health, NodeCounts: total.counts(unready), Probe: l.probe("health", health)},
		ScaleUp:   status.ScaleUp{Status: up, Probe: l.probe("scaleUp", up)},
		ScaleDown: l.scaleDownStatus("", len(l.a.down.unneeded)),
	}
	l.a.status = s
}

func healthWord(ok bool) string {
	if ok {
		return status.Healthy
	}
	return status.Unhealthy
}

// counts are the numbers of nodes by state; resourceUnready of the unready ones only wait for a resource.
func (r *readiness) counts(resourceUnready int) status.NodeCounts {
	return status.NodeCounts{
		Registered: status.Registered{Total: r.registered, Ready: r.ready, NotStarted: r.notStarted, Suspended: r.suspended, BeingDeleted: r.deleted,
			Unready: status.Unready{Total: r.unready, ResourceUnready: resourceUnready}},
		LongUnregistered: len(r.longUnregistered), Unregistered: len(r.unregistered),
	}
}

// scaleUpStatus of a group: nodes on their way, a reason not to grow, or nothing.
func (l *loop) scaleUpStatus(group string) status.ScaleUp {
	cs := l.a.state
	out := status.ScaleUp{Status: status.NoActivity}
	switch {
	case cs.requests[group] != nil && !cs.backoff.Active(group, l.now):
		out.Status = status.InProgress
	case !cs.healthy(group):
		out.Status = status.Unhealthy
	case cs.backoff.Active(group, l.now):
		out.Status = status.InBackoff
		e := cs.backoff.Of(group)
		out.BackoffInfo = &status.BackoffInfo{ErrorCode: e.Code, ErrorMessage: status.Shorten(e.Reason)}
	}
	out.Probe = l.probe(group+"/scaleUp", out.Status)
	return out
}

func (l *loop) scaleDownStatus(group string, candidates int) status.ScaleDown {
	out := status.ScaleDown{Status: status.NoCandidates, Candidates: candidates}
	if candidates > 0 {
		out.Status = status.CandidatesPresent
	}
	out.Probe = l.probe(group+"/scaleDown", out.Status)
	return out
}

// transition is since when a part of the status says what it says.
type transition struct {
	status string
	at     time.Time
}

func (l *loop) probe(key, word string) status.Probe {
	t, ok := l.a.transitions[key]
	if !ok || t.status != word {
		t = transition{word, l.now}
		l.a.transitions[key] = t
	}
	return status.Probe{LastProbeTime: metav1.NewTime(l.now), LastTransitionTime: metav1.NewTime(t.at)}
}
