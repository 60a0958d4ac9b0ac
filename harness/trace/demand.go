package trace

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/moment"
)

// shortestRun is what a pod ran that was seen bound and finished at one instant; zero would be for ever.
const shortestRun = time.Millisecond

// demands separates causes from effects among pods: an evicted pod and the pod its owner made instead are one demand.
type demands struct {
	// effect marks deletions that the recorded autoscaler, scheduler or node lifecycle did.
	effect map[types.UID]bool
	// replacement marks pods that only exist because another was evicted; origin leads back to the first of a demand.
	replacement map[types.UID]bool
	origin      map[types.UID]*corev1.Pod
	// ran is how long a pod that finished by itself was Running within the window.
	ran map[types.UID]time.Duration
	// stops is how long a pod took to stop whose deletion was asked for, by the pod; negative where its end does not show.
	stops    map[types.UID]time.Duration
	asked    map[types.UID]time.Time
	warnings []string
}

// life is what the recording shows of one pod.
type life struct {
	pod *corev1.Pod // newest version
	// initial: it was there at the start; createdAt is then its own creation time, else when it was first seen.
	initial   bool
	createdAt time.Time
	running   time.Time
	// bound is when it was first seen on a node.
	bound    time.Time
	finished time.Time
	// leaving is when it was first seen to be going: its deletion was asked for, or an event stated it.
	leaving time.Time
	// asked is when its deletion was asked for within the window, as its deletionTimestamp shows.
	asked   time.Time
	deleted time.Time
	evicted bool
}

// ranOut: it finished by itself. A kubelet reports a terminal phase of a pod that it stops, too (Kubernetes 1.27 and later).
func (l *life) ranOut() bool {
	return !l.finished.IsZero() && (l.asked.IsZero() || l.finished.Before(l.asked))
}

// ended is when the pod needed no room any more: its deletion, or the failure a kubelet's eviction leaves behind.
func (l *life) ended() time.Time {
	if l.deleted.IsZero() || !l.finished.IsZero() && l.finished.Before(l.deleted) {
		return l.finished
	}
	return l.deleted
}

// demands reads the lives of all pods and pairs evictions with replacements, once.
func (r *recorded) demands() *demands {
	if r.demanded == nil {
		r.demanded = r.readDemands()
	}
	return r.demanded
}

func (r *recorded) readDemands() *demands {
	lives, order := r.lives()
	d := &demands{
		effect: map[types.UID]bool{}, replacement: map[types.UID]bool{},
		origin: map[types.UID]*corev1.Pod{}, ran: map[types.UID]time.Duration{},
		stops: map[types.UID]time.Duration{}, asked: map[types.UID]time.Time{},
	}
	r.markEvicted(lives, order)
	for _, uid := range order {
		l := lives[uid]
		if l.evicted && !l.ended().IsZero() {
			d.pair(l, lives, order)
		}
		if l.ranOut() && !l.running.IsZero() && !d.effect[uid] {
			// The last pod of a demand ran it to its end: the first would have taken as long.
			d.ran[d.first(l.pod).UID] = max(l.finished.Sub(later(l.running, r.start)), shortestRun)
		}
		if !l.asked.IsZero() && !l.ranOut() && l.pod.Spec.NodeName != "" {
			d.asked[uid], d.stops[uid] = l.asked, -1
			if !l.deleted.IsZero() {
				d.stops[uid] = l.deleted.Sub(l.asked)
			}
		}
	}
	return d
}

// pair finds the pod that the owner of an evicted one made instead: its next new pod within replacementWithin. An
// eviction nobody answered ended the demand, and so is a cause after all.
func (d *demands) pair(l *life, lives map[types.UID]*life, order []types.UID) {
	owner := metav1.GetControllerOf(l.pod)
	if owner == nil {
		return // nobody recreates it: its deletion ends the demand
	}
	if owner.Kind == "DaemonSet" || owner.Kind == "Node" {
		return
	}
	began := evictionStart(l)
	i := slices.IndexFunc(order, func(uid types.UID) bool {
		c := lives[uid]
		o := metav1.GetControllerOf(c.pod)
		if o == nil || o.UID != owner.UID || uid == l.pod.UID || d.replacement[uid] {
			return false
		}
		if owner.Kind == "StatefulSet" && c.pod.Name != l.pod.Name {
			return false // its pods have names of their own: another name is another demand
		}
		return !c.createdAt.Before(began) && c.createdAt.Before(l.ended().Add(replacementWithin))
	})
	if i >= 0 && lives[order[i]].initial {
		return // the replacement was there at the start already: the evicted pod only had to go
	}
	if i < 0 {
		d.warnings = append(d.warnings, fmt.Sprintf("pod %s was evicted at %s and its owner %s/%s made no other: the recording cannot tell whether the demand ended there; taken as ended",
			scalehist.NameOf(l.pod), moment.Stamp(l.ended()), owner.Kind, owner.Name))
		return
	}
	next := lives[order[i]].pod
	d.effect[l.pod.UID] = true
	d.replacement[next.UID] = true
	d.origin[next.UID] = d.first(l.pod)
}

// evictionStart is when the pod began to go, which is when its owner makes another: what the condition says, when it
// was first seen to be going, or its end.
func evictionStart(l *life) time.Time {
	start := l.ended()
	if !l.leaving.IsZero() && l.leaving.Before(start) {
		start = l.leaving
	}
	if c := disruption(l.pod); c != nil && c.LastTransitionTime.Time.Before(start) {
		start = c.LastTransitionTime.Time
	}
	return start
}

// first is the pod a demand began with.
func (d *demands) first(p *corev1.Pod) *corev1.Pod {
	if o := d.origin[p.UID]; o != nil {
		return o
	}
	return p
}

// finite marks a pod that ran to its end with how long it ran: it will run as long here, whenever it gets a node.
func (d *demands) finite(p *corev1.Pod) *corev1.Pod {
	if ran, ok := d.ran[p.UID]; ok {
		return withRunFor(p, ran)
	}
	return p
}

// lives collects what the window shows of each pod, in order of first sight.
func (r *recorded) lives() (map[types.UID]*life, []types.UID) {
	lives := map[types.UID]*life{}
	var order []types.UID
	see := func(p *corev1.Pod, at time.Time) *life {
		l := lives[p.UID]
		if l == nil {
			l = &life{createdAt: at}
			lives[p.UID] = l
			order = append(order, p.UID)
		}
		if l.pod == nil || p.Spec.NodeName != "" || l.pod.Spec.NodeName == "" {
			l.pod = p
		}
		if (p.Status.Phase == corev1.PodRunning || p.Spec.NodeName != "") && l.running.IsZero() {
			l.running = at
			if s := p.Status.StartTime; s != nil && s.Time.Before(at) {
				l.running = s.Time
			}
		}
		if p.Spec.NodeName != "" && l.bound.IsZero() {
			l.bound = at
		}
		if (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed) && l.finished.IsZero() {
			l.finished = at
		}
		if disruption(p) != nil {
			l.evicted = true
		}
		if p.DeletionTimestamp != nil {
			l.leave(at)
		}
		return l
	}
	for _, p := range r.initial.Objects.Pods {
		l := see(p, r.start)
		l.initial = true
		if !p.CreationTimestamp.IsZero() {
			l.createdAt = p.CreationTimestamp.Time
		}
	}
	for _, ch := range r.changes {
		p, ok := ch.Object.(*corev1.Pod)
		if !ok {
			continue
		}
		if ch.Op == scalehist.OpDelete {
			if l := lives[p.UID]; l != nil {
				l.deleted = ch.At
			}
			continue
		}
		was := lives[p.UID]
		going := was != nil && was.pod.DeletionTimestamp != nil
		if l := see(p, ch.At); p.DeletionTimestamp != nil && !going && was != nil && l.asked.IsZero() {
			l.asked = ch.At
		}
	}
	return lives, order
}

// leave notes that the pod was seen to be going.
func (l *life) leave(at time.Time) {
	if l.leaving.IsZero() || at.Before(l.leaving) {
		l.leaving = at
	}
}

// markEvicted finds evictions that no condition states: events, and deletions on a node that was being removed.
func (r *recorded) markEvicted(lives map[types.UID]*life, order []types.UID) {
	pods := newPodsOfEvents(lives, order)
	for _, e := range r.events {
		if e.Regarding.Kind != "Pod" || e.Reason != "Preempted" && e.Reason != "ScaleDown" && e.Reason != "TaintManagerEviction" {
			continue
		}
		if l := pods.of(e); l != nil {
			l.evicted = true
			l.leave(e.ObservedAt)
		}
	}
	leaving := r.leavingNodes()
	for _, l := range lives {
		tidied := !l.finished.IsZero() && (l.leaving.IsZero() || l.finished.Before(l.leaving))
		if l.deleted.IsZero() || l.pod.Spec.NodeName == "" || tidied {
			continue // a finished pod is tidied up, whatever becomes of its node
		}
		l.evicted = l.evicted || slices.ContainsFunc(leaving[l.pod.Spec.NodeName], func(s stretch) bool { return s.holds(l.deleted) })
	}
}

// stretch is [from, to); a zero to is open.
type stretch struct{ from, to time.Time }

func (s stretch) holds(t time.Time) bool {
	return !t.Before(s.from) && (s.to.IsZero() || t.Before(s.to))
}

// leavingNodes maps each node to the stretches in which it was being removed or was gone: from the autoscaler's taint,
// else the deletion, until the taint was taken back or another node took the name.
func (r *recorded) leavingNodes() map[string][]stretch {
	out := map[string][]stretch{}
	see := func(n *corev1.Node, at time.Time, leaving bool) {
		of := out[n.Name]
		open := len(of) > 0 && of[len(of)-1].to.IsZero()
		switch {
		case leaving && !open:
			out[n.Name] = append(of, stretch{from: at})
		case !leaving && open:
			of[len(of)-1].to = at
		}
	}
	for _, n := range r.initial.Objects.Nodes {
		see(n, r.start, scalehist.BeingRemoved(n))
	}
	for _, ch := range r.changes {
		if n, ok := ch.Object.(*corev1.Node); ok {
			see(n, ch.At, ch.Op == scalehist.OpDelete || scalehist.BeingRemoved(n))
		}
	}
	return out
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func disruption(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}
