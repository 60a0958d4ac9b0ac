package virtualca

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/scalehist/scalehist/simulator/drain"
)

// nodeFacts is what the pods of a node come to. It holds for one generation of the node in the snapshot, and until time
// alone changes the verdict on one of the pods.
type nodeFacts struct {
	generation int64
	until      time.Time
	// claims counts pods with resource claims.
	claims int
	// timed: a pod terminates, so that any instant may change everything; nothing is remembered then.
	timed bool
	// emptiness is that of loop.emptiness, -1 before it was asked for; utilization is by what is left out of it.
	emptiness   int
	utilization map[[2]bool]utilization
	// standing are the pods that come with the node: mirror pods and those of DaemonSets, but for those that terminate.
	standing []*corev1.Pod
	// overused is why the node is not underutilized, and what says so.
	overused    string
	overusedFor overuse
}

// overuse is a utilization above a limit.
type overuse struct {
	utilization
	limit float64
}

// why says that a node is not underutilized. Most nodes say the same in loop after loop.
func (f *nodeFacts) why(o overuse) string {
	if f.overused == "" || f.overusedFor != o {
		f.overused, f.overusedFor = fmt.Sprintf("%s: %s %.1f%% > %.1f%%", nodeNotUnderutilized, o.resource, 100*o.value, 100*o.limit), o
	}
	return f.overused
}

// factsFor bounds how long facts hold.
const factsFor = 24 * time.Hour

// facts of the node at a position of the snapshot.
func (l *loop) facts(n *framework.NodeInfo) *nodeFacts {
	d := l.a.down
	name := n.Node().Name
	if f := d.facts[name]; f != nil && f.generation == n.Generation && !f.timed && l.now.Before(f.until) {
		return f
	}
	f := &nodeFacts{generation: n.Generation, until: l.now.Add(factsFor), emptiness: -1, utilization: map[[2]bool]utilization{}}
	for _, info := range n.Pods {
		p := info.GetPod()
		if p.DeletionTimestamp != nil {
			f.timed = true
		} else if isMirrorPod(p) || isDaemonSetPod(p) {
			f.standing = append(f.standing, p)
		}
		if len(p.Spec.ResourceClaims) > 0 {
			f.claims++
		}
		if p.Namespace == metav1.NamespaceSystem {
			if at := p.CreationTimestamp.Add(time.Duration(l.a.settings.Down.Rules.SystemPodTimeout)); !at.Before(l.now) && at.Before(f.until) {
				f.until = at
			}
		}
	}
	if len(d.facts) > 2*len(l.nodes)+100 {
		clear(d.facts) // nodes that are gone
	}
	d.facts[name] = f
	return f
}

// emptiness is 0 for a node without pods to move, 1 for one that only waits for pods to complete, 2 for others. The
// drain rules apply without owners and budgets, as upstream asks them here.
func (l *loop) emptiness(name string) int {
	s := l.a.checker.Snapshot()
	at, ok := s.Index(name)
	if !ok {
		return 2
	}
	f := l.facts(s.NodeInfo(at))
	if f.emptiness < 0 {
		f.emptiness = l.emptinessOf(s.NodeInfo(at))
	}
	return f.emptiness
}

func (l *loop) emptinessOf(n *framework.NodeInfo) int {
	judge := drain.Judge{Now: l.now, Options: l.a.settings.Down.Rules}
	waits := 0
	for _, p := range n.Pods {
		switch v := judge.Pod(p.GetPod()); {
		case v.Action == drain.Block, v.Action == drain.Move && !isDaemonSetPod(p.GetPod()):
			return 2
		case v.Action == drain.Wait:
			waits = 1
		}
	}
	return waits
}

// knownUtilization is utilizationOf, asked once for what does not change.
func (l *loop) knownUtilization(n *framework.NodeInfo, f *nodeFacts, ignoreDaemonSets, ignoreMirror bool) (utilization, error) {
	key := [2]bool{ignoreDaemonSets, ignoreMirror}
	if u, ok := f.utilization[key]; ok {
		return u, nil
	}
	u, err := l.utilizationOf(n, ignoreDaemonSets, ignoreMirror)
	if err == nil {
		f.utilization[key] = u
	}
	return u, err
}
