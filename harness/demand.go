package harness

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

// demands tells causes from effects among pods: an evicted pod and the pod its owner made instead are one demand.
type demands struct {
	// effect marks deletions that the recorded autoscaler, scheduler or node lifecycle did.
	effect map[types.UID]bool
	// replacement marks pods that only exist because another was evicted; origin leads back to the first of a demand.
	replacement map[types.UID]bool
	origin      map[types.UID]*corev1.Pod
	// ran is how long a pod that finished by itself was Running within the window.
	ran      map[types.UID]time.Duration
	warnings []string
}

// life is what the recording shows of one pod.
type life struct {
	pod       *corev1.Pod // newest version
	createdAt time.Time
	running   time.Time
	finished  time.Time
	deleted   time.Time
	evicted   bool
}

// demands reads the lives of all pods and pairs evictions with replacements.
func (r *recorded) demands() *demands {
	lives, order := r.lives()
	d := &demands{
		effect: map[types.UID]bool{}, replacement: map[types.UID]bool{},
		origin: map[types.UID]*corev1.Pod{}, ran: map[types.UID]time.Duration{},
	}
	r.markEvicted(lives)
	for _, uid := range order {
		l := lives[uid]
		if l.evicted && !l.deleted.IsZero() {
			d.pair(l, lives, order)
		}
		if !l.finished.IsZero() && !l.running.IsZero() && !l.evicted {
			d.ran[uid] = l.finished.Sub(later(l.running, r.start))
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
	i := slices.IndexFunc(order, func(uid types.UID) bool {
		c := lives[uid]
		o := metav1.GetControllerOf(c.pod)
		return o != nil && o.UID == owner.UID && uid != l.pod.UID && !d.replacement[uid] &&
			!c.createdAt.Before(evictionStart(l)) && c.createdAt.Before(l.deleted.Add(replacementWithin))
	})
	if i < 0 {
		d.warnings = append(d.warnings, fmt.Sprintf("pod %s was evicted at %s and its owner %s/%s made no other: the recording cannot tell whether the demand ended there; taken as ended",
			keyOf(l.pod), stamp(l.deleted), owner.Kind, owner.Name))
		return
	}
	next := lives[order[i]].pod
	d.effect[l.pod.UID] = true
	d.replacement[next.UID] = true
	d.origin[next.UID] = d.first(l.pod)
}

// evictionStart is when the pod began to go: its deletionTimestamp less the grace, or the deletion itself.
func evictionStart(l *life) time.Time {
	start := l.deleted
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
	if ran, ok := d.ran[p.UID]; ok && ran > 0 {
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
		if (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed) && l.finished.IsZero() {
			l.finished = at
		}
		if disruption(p) != nil {
			l.evicted = true
		}
		return l
	}
	for _, p := range r.initial.Objects.Pods {
		see(p, r.start)
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
		see(p, ch.At)
	}
	return lives, order
}

// markEvicted finds evictions that no condition tells: events, and deletions on a node that was being removed.
func (r *recorded) markEvicted(lives map[types.UID]*life) {
	for _, e := range r.events {
		if l := lives[e.Regarding.UID]; l != nil && e.Regarding.Kind == "Pod" &&
			(e.Reason == "Preempted" || e.Reason == "ScaleDown" || e.Reason == "TaintManagerEviction") {
			l.evicted = true
		}
	}
	leaving := r.leavingNodes()
	for _, l := range lives {
		if l.deleted.IsZero() || l.pod.Spec.NodeName == "" || !l.finished.IsZero() {
			continue // a finished pod is tidied up, wherever its node goes
		}
		if from, ok := leaving[l.pod.Spec.NodeName]; ok && !l.deleted.Before(from) {
			l.evicted = true
		}
	}
}

// leavingNodes maps each node of a group that was removed in the window to the instant its removal began: the
// autoscaler's taint, else the deletion of the node.
func (r *recorded) leavingNodes() map[string]time.Time {
	tainted := map[string]time.Time{}
	out := map[string]time.Time{}
	for _, ch := range r.changes {
		n, ok := ch.Object.(*corev1.Node)
		if !ok {
			continue
		}
		marked := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "ToBeDeletedByClusterAutoscaler" })
		switch {
		case ch.Op == scalehist.OpDelete:
			out[n.Name] = ch.At
			if from, ok := tainted[n.Name]; ok {
				out[n.Name] = from
			}
		case !marked:
			delete(tainted, n.Name)
		default:
			if _, ok := tainted[n.Name]; !ok {
				tainted[n.Name] = ch.At
			}
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
