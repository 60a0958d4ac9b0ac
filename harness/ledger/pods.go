package ledger

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
	"github.com/scalehist/scalehist/harness/kvcl/virtual"
)

// podLedger follows one demand: a pod, and itself again after an eviction.
type podLedger struct {
	entry        scalehist.DeployedPod
	waitingSince time.Time
	waited       time.Duration
	waits        bool
	counted      bool              // is among the demands
	fed          bool              // is in the batch that fed it in
	asks         map[string]string // for now: entry has what it asked for when it was fed in
}

// placement is a node that a pod got at an instant.
type placement struct {
	pod *podLedger
	at  *time.Time
	scalehist.Placement
}

// Fed notes the pods and nodes that a batch brought and took.
func (l *Ledger) Fed(changes []scalehist.Change) {
	for _, ch := range changes {
		switch o := ch.Object.(type) {
		case *corev1.Pod:
			l.fedPod(ch, o)
		case *corev1.Node:
			l.FedNode(ch, o)
			l.remeasure = true
		case *appsv1.DaemonSet:
			l.remeasure = true
		}
	}
}

func (l *Ledger) fedPod(ch scalehist.Change, p *corev1.Pod) {
	key := scalehist.NameOf(p)
	switch ch.Op {
	case scalehist.OpAdd:
		known := l.follow(p, ch.At)
		known.waitingSince, known.waits = l.batch.At, p.Spec.NodeName == ""
		l.pods[key] = known
		l.count(known)
		known.fed = true
		l.feeding = append(l.feeding, known)
		l.holdBack(p)
	case scalehist.OpUpdate:
		l.resizedPod(p)
	case scalehist.OpDelete:
		if p.Annotations[podlife.WhenDoneAnnotation] != "" {
			return // it goes when it has run its time
		}
		delete(l.gated, key)
		l.batch.DeletedPods = append(l.batch.DeletedPods, key.String())
		if known := l.pods[key]; known != nil {
			known.stopWaiting(l.batch.At)
			delete(l.pods, key)
		}
	}
}

// FedNode notes nodes outside every group, which come and go on their own.
func (l *Ledger) FedNode(ch scalehist.Change, n *corev1.Node) {
	switch ch.Op {
	case scalehist.OpAdd:
		l.batch.NodesJoined = append(l.batch.NodesJoined, n.Name)
		l.addNode(&nodeLedger{name: n.Name, joined: l.batch.At, standing: true, object: n})
	case scalehist.OpDelete:
		if known := l.byNode[n.Name]; known == nil || !known.gone.IsZero() {
			return // it went here before it did in the recording
		}
		l.batch.NodesGone = append(l.batch.NodesGone, n.Name)
		l.gone(n.Name, l.batch.At)
	}
}

// holdBack notes a pod that has no node and may not have one yet.
func (l *Ledger) holdBack(p *corev1.Pod) {
	if p.Spec.NodeName == "" && len(p.Spec.SchedulingGates) > 0 {
		l.gated[scalehist.NameOf(p)] = true
	}
}

func (l *Ledger) deployed(p *corev1.Pod, at time.Time) scalehist.DeployedPod {
	entry := scalehist.DeployedPod{
		Requests:  l.amounts.of(resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})),
		Namespace: p.Namespace, Name: p.Name, CreatedAt: createdAt(p, at), RecordedNodeName: l.in.RecordedNodes[p.UID],
	}
	if at, ok := l.in.Deletions[p.UID]; ok {
		entry.DeletedAt = &at
	}
	return entry
}

// count takes a pod among the demands, once.
func (l *Ledger) count(p *podLedger) {
	if !p.counted {
		p.counted = true
		l.demands = append(l.demands, p)
	}
}

func createdAt(p *corev1.Pod, at time.Time) time.Time {
	if p.CreationTimestamp.IsZero() {
		return at.UTC()
	}
	return p.CreationTimestamp.UTC()
}

// waitedBy is how long it has waited up to an instant, the present wait included.
func (p *podLedger) waitedBy(t time.Time) time.Duration {
	if p.waits {
		return p.waited + t.Sub(p.waitingSince)
	}
	return p.waited
}

func (p *podLedger) stopWaiting(t time.Time) {
	if p.waits {
		p.waited += t.Sub(p.waitingSince)
		p.waits = false
	}
}

// Settled follows every pod through what happened to it, in order.
func (l *Ledger) Settled(t time.Time, st virtual.Step) {
	for _, e := range st.Events {
		p := l.pods[e.Pod]
		delete(l.gated, e.Pod) // what happens to pods happens to those that had, or have now, their turn
		switch e.Kind {
		case virtual.PodFinished:
			l.batch.Ended = append(l.batch.Ended, e.Pod.String())
			delete(l.pods, e.Pod) // nothing more happens to it but that it is tidied up
		case virtual.PodLost:
			l.batch.Ended = append(l.batch.Ended, e.Pod.String())
			if p != nil {
				p.stopWaiting(t)
				delete(l.pods, e.Pod)
			}
		case virtual.PodBound:
			l.batch.Scheduled++
			if p != nil {
				p.stopWaiting(t)
				p.entry.NodeName = e.Node
				at := t
				p.entry.ScheduledAt = &at
				l.placing = append(l.placing, placement{p, &at, scalehist.Placement{Pod: e.Pod.String(), Node: e.Node}})
			}
		case virtual.PodVictim:
			l.batch.Preempted = append(l.batch.Preempted, e.Pod.String())
			if p != nil { // back below if somebody recreates it
				p.entry.NodeName, p.entry.ScheduledAt = "", nil
			}
		case virtual.PodReturned:
			l.batch.Returned = append(l.batch.Returned, e.Pod.String())
			if p != nil {
				l.count(p)
				p.waits, p.waitingSince = true, t
				p.entry.NodeName, p.entry.ScheduledAt = "", nil
			}
		}
	}
}
