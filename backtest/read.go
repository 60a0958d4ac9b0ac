package backtest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/env"
	"github.com/scalehist/scalehist/recommender/vertical/trial"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/observed"
)

// vpaKind is how a history calls VerticalPodAutoscalers.
const vpaKind = "VerticalPodAutoscaler.autoscaling.k8s.io"

// Read reads the workloads with usage in a window, in order of their names, and what must be known to read the numbers. A
// VerticalPodAutoscaler and limit ranges are taken as they were last in it.
func Read(ctx context.Context, db *history.DB, from, to time.Time) ([]*trial.Workload, []string, error) {
	r := &reader{from: from, byRef: map[string]*trial.Workload{}, byName: map[types.NamespacedName]*life{}, limits: map[string]map[string]*corev1.LimitRange{},
		vpas: map[types.NamespacedName]*vpav1.VerticalPodAutoscaler{}, has: map[types.NamespacedName][]resources{}}
	if err := r.objects(ctx, db, to); err != nil {
		return nil, nil, fmt.Errorf("read pods: %w", err)
	}
	begin := from
	if start, _ := db.Span(); !from.After(start) {
		begin = time.Time{} // with what was measured at the very start
	}
	for u, err := range observed.LimitedUsages(ctx, db, begin, to) {
		if err != nil {
			return nil, nil, fmt.Errorf("read usage: %w", err)
		}
		r.until(u.At)
		r.usage(u)
	}
	out := r.workloads()
	return out, r.notes, nil
}

// reader follows pods through a window.
type reader struct {
	from    time.Time
	changes []change // still to come
	owners  podlife.Owners
	byRef   map[string]*trial.Workload
	lives   []*life
	byName  map[types.NamespacedName]*life
	limits  map[string]map[string]*corev1.LimitRange // by namespace and name
	vpas    map[types.NamespacedName]*vpav1.VerticalPodAutoscaler
	// has are the resources of the containers of pods as they were noted last.
	has     map[types.NamespacedName][]resources
	notes   []string
	orphans int
}

// resources are what a container has.
type resources struct{ requests, limits vertical.Amount }

// resourcesOf are those of a pod's containers: what its node gives them, where that is not what is asked for, because a resize is under way.
func resourcesOf(p *corev1.Pod) []resources {
	out := make([]resources, 0, len(p.Spec.Containers))
	for i := range p.Spec.Containers {
		asked := &p.Spec.Containers[i]
		given := asked.Resources
		for _, s := range p.Status.ContainerStatuses {
			if s.Name == asked.Name && s.Resources != nil {
				given = *s.Resources
			}
		}
		out = append(out, resources{vertical.AmountOf(given.Requests), vertical.AmountOf(given.Limits)})
	}
	return out
}

// change is a pod that comes, has other resources, or is gone.
type change struct {
	at  time.Time
	op  scalehist.Op
	pod *corev1.Pod
	has []resources
}

// life is a pod under the name by which usage knows it.
type life struct {
	workload string
	pod      trial.Pod
	used     bool
}

func (r *reader) objects(ctx context.Context, db *history.DB, to time.Time) error {
	kinds := []string{"ReplicaSet", "Pod", "LimitRange", vpaKind}
	standing, err := db.ObjectsAt(ctx, r.from, kinds...)
	if err != nil {
		return err
	}
	for _, pods := range []bool{false, true} { // owners first
		for _, o := range standing {
			if _, is := o.(*corev1.Pod); is == pods {
				r.note(scalehist.OpAdd, r.from, o)
			}
		}
	}
	for ch, err := range db.ChangesOf(ctx, r.from, to, kinds...) {
		if err != nil {
			return err
		}
		r.note(ch.Op, ch.At, ch.Object)
	}
	return nil
}

func (r *reader) note(op scalehist.Op, at time.Time, o scalehist.Object) {
	switch o := o.(type) {
	case *appsv1.ReplicaSet:
		r.owners.Note(o)
	case *corev1.Pod:
		name, has := scalehist.NameOf(o), resourcesOf(o)
		if op != scalehist.OpUpdate || !slices.Equal(has, r.has[name]) {
			r.has[name] = has
			r.changes = append(r.changes, change{at, op, o, has})
		}
	case *corev1.LimitRange:
		if r.limits[o.Namespace] == nil {
			r.limits[o.Namespace] = map[string]*corev1.LimitRange{}
		}
		r.limits[o.Namespace][o.Name] = o
	case *unstructured.Unstructured:
		var v vpav1.VerticalPodAutoscaler
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &v); err != nil {
			r.notes = append(r.notes, fmt.Sprintf("VerticalPodAutoscaler %s/%s is left out: %v", o.GetNamespace(), o.GetName(), err))
			return
		}
		r.vpas[types.NamespacedName{Namespace: v.Namespace, Name: v.Name}] = &v
	}
}

// until lets pods come and go up to an instant.
func (r *reader) until(at time.Time) {
	for len(r.changes) > 0 && !r.changes[0].at.After(at) {
		c := r.changes[0]
		r.changes = r.changes[1:]
		name := scalehist.NameOf(c.pod)
		was := r.byName[name]
		if c.op == scalehist.OpUpdate {
			if was != nil {
				was.resized(c.at, c.has)
			}
			continue
		}
		if was != nil {
			was.pod.To = c.at
			delete(r.byName, name)
		}
		if c.op == scalehist.OpDelete {
			continue
		}
		l := &life{workload: r.workloadOf(c.pod), pod: trial.Pod{Name: name.Name, From: c.at}}
		for i := range c.pod.Spec.Containers {
			l.pod.Containers = append(l.pod.Containers, trial.Container{Name: c.pod.Spec.Containers[i].Name, Requests: c.has[i].requests, Limits: c.has[i].limits})
		}
		r.byName[name] = l
		r.lives = append(r.lives, l)
	}
}

// resized notes containers that have other resources from an instant on.
func (l *life) resized(at time.Time, has []resources) {
	for i := range l.pod.Containers {
		c := &l.pod.Containers[i]
		now := resources{c.Requests, c.Limits}
		if n := len(c.Resizes); n > 0 {
			now = resources{c.Resizes[n-1].Requests, c.Resizes[n-1].Limits}
		}
		if i < len(has) && has[i] != now {
			c.Resizes = append(c.Resizes, trial.Resize{At: at.UnixNano(), Requests: has[i].requests, Limits: has[i].limits})
		}
	}
}

// workloadOf names the workload of a pod: its own where nobody owns it.
func (r *reader) workloadOf(p *corev1.Pod) string {
	ref, ok := r.owners.Of(p)
	if !ok {
		ref = scalehist.WorkloadRef{Kind: "Pod", Namespace: p.Namespace, Name: p.Name}
		if owner := metav1.GetControllerOfNoCopy(p); owner != nil {
			ref.Kind, ref.Name = owner.Kind, owner.Name
		}
	}
	w := &trial.Workload{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	if r.byRef[w.String()] == nil {
		r.byRef[w.String()] = w
	}
	return w.String()
}

func (r *reader) usage(u observed.LimitedUsage) {
	l := r.byName[u.Pod]
	if l == nil {
		r.orphans++
		return
	}
	i := slices.IndexFunc(l.pod.Containers, func(c trial.Container) bool { return c.Name == u.Container })
	if i < 0 {
		r.orphans++ // an init container, which nobody scales
		return
	}
	l.used = true
	c := &l.pod.Containers[i]
	c.Usage = append(c.Usage, trial.Usage{At: u.At.UnixNano(), Amount: vertical.Amount{CPUMilli: u.CPUMilli, MemoryBytes: u.MemoryBytes}, Censored: u.CPUCensored || u.MemoryCensored})
}

// workloads puts lives with usage together.
func (r *reader) workloads() []*trial.Workload {
	r.until(time.Unix(0, math.MaxInt64)) // what came after the last usage
	unused := 0
	for _, l := range r.lives {
		if !l.used {
			unused++
			continue
		}
		w := r.byRef[l.workload]
		w.Pods = append(w.Pods, l.pod)
	}
	var out []*trial.Workload
	for _, w := range r.byRef {
		if len(w.Pods) == 0 {
			continue
		}
		for _, one := range sorted(r.limits[w.Namespace]) {
			w.LimitRanges = append(w.LimitRanges, r.limits[w.Namespace][one])
		}
		w.VPA = r.vpaOf(w)
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b *trial.Workload) int { return strings.Compare(a.String(), b.String()) })
	if unused > 0 {
		r.notes = append(r.notes, plural.Of(unused, "pod")+" without usage: not in any number")
	}
	if r.orphans > 0 {
		r.notes = append(r.notes, plural.Of(r.orphans, "sample")+" of pods or containers that were not recorded: not in any number")
	}
	return out
}

// vpaOf is the VPA whose target is the workload; of several the first by name.
func (r *reader) vpaOf(w *trial.Workload) *vpav1.VerticalPodAutoscaler {
	var found *vpav1.VerticalPodAutoscaler
	for id, v := range r.vpas {
		if t := v.Spec.TargetRef; id.Namespace == w.Namespace && t != nil && t.Kind == w.Kind && t.Name == w.Name && (found == nil || id.Name < found.Name) {
			found = v
		}
	}
	return found
}

// Environments are workloads as environments of learners: usage at equal steps, of each container the highest of its pods then. A step
// without usage has that of the step before, and the first ones that of the first that has; workloads with less than two steps of usage
// are left out.
func Environments(workloads []*trial.Workload, from, to time.Time, step time.Duration) []env.Workload {
	n := int(to.Sub(from) / step)
	var out []env.Workload
	for _, w := range workloads {
		one := env.Workload{Name: w.String(), Step: step, From: from}
		known := 0
		for _, p := range w.Pods {
			for i := range p.Containers {
				c := &p.Containers[i]
				at := slices.IndexFunc(one.Containers, func(e env.Container) bool { return e.Name == c.Name })
				if at < 0 {
					at = len(one.Containers)
					one.Containers = append(one.Containers, env.Container{Name: c.Name, Requests: c.Requests, Limits: c.Limits, Usage: slices.Repeat([]vertical.Amount{vertical.None}, n)})
				}
				for _, u := range c.Usage {
					k := int(time.Unix(0, u.At).Sub(from) / step)
					if k < 0 || k >= n {
						continue
					}
					known = max(known, k+1)
					has := &one.Containers[at].Usage[k]
					has.CPUMilli, has.MemoryBytes = max(has.CPUMilli, u.CPUMilli), max(has.MemoryBytes, u.MemoryBytes)
				}
			}
		}
		if known < 2 {
			continue
		}
		for i := range one.Containers {
			fill(one.Containers[i].Usage)
		}
		out = append(out, one)
	}
	return out
}

// fill gives steps without usage that of the one before, or of the first that has some.
func fill(usage []vertical.Amount) {
	last := vertical.Amount{}
	for _, u := range slices.Backward(usage) {
		last = u.Or(last)
	}
	for i := range usage {
		usage[i] = usage[i].Or(last)
		last = usage[i]
	}
}
