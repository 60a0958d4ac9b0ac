package trace

import (
	"context"
	"fmt"
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/observed"
)

const daemonSet = "DaemonSet"

// staleUsage is how long a sample stands for what a container uses: Prometheus's lookback delta.
const staleUsage = 5 * time.Minute

// Load is the work that the workloads of a window were recorded to do, from the usage of their containers: CPU in total over the pods there were (of a DaemonSet the
// mean of them), memory as the mean of them. Samples of 15 seconds are taken together. Where nothing was measured for five minutes, or not yet, the demand is not known. It comes with
// warnings about workloads that were at their limits: what they would have used without is not known.
func (r *Recording) Load(ctx context.Context, w Window) ([]load.Series, []string, error) {
	u := &usages{from: w.From, of: map[types.NamespacedName]scalehist.WorkloadRef{}, byName: map[containerOf]*usageOf{}}
	if err := u.owned(ctx, r.db, w); err != nil {
		return nil, nil, fmt.Errorf("read pods: %w", err)
	}
	for s, err := range observed.LimitedUsages(ctx, r.db, w.From, w.To) {
		if err != nil {
			return nil, nil, fmt.Errorf("read usage: %w", err)
		}
		u.until(s.At)
		u.take(s)
	}
	u.until(w.To)
	return u.series(w.To)
}

// usages sums up what the containers of workloads used.
type usages struct {
	from    time.Time
	of      map[types.NamespacedName]scalehist.WorkloadRef
	changes []podChange // still to come
	owners  podlife.Owners
	byName  map[containerOf]*usageOf
	list    []*usageOf // in the order in which they were measured first
	window  int64
}

// podChange is a pod that comes or is gone.
type podChange struct {
	at   time.Time
	name types.NamespacedName
	ref  scalehist.WorkloadRef
	gone bool
}

// containerOf names a container of a workload.
type containerOf struct {
	scalehist.WorkloadRef
	container string
}

// usageOf is what one container of a workload used, over all its pods.
type usageOf struct {
	containerOf
	last             map[types.NamespacedName]observed.LimitedUsage
	cpu, memory      []load.Point
	measured         time.Time // last
	changed          bool
	samples, limited int
}

// owned reads which pods belong to which workloads when.
func (u *usages) owned(ctx context.Context, db *history.DB, w Window) error {
	note := func(op scalehist.Op, at time.Time, o scalehist.Object) {
		switch o := o.(type) {
		case *appsv1.ReplicaSet:
			u.owners.Note(o)
		case *corev1.Pod:
			if ref, ok := u.ownerOf(o); ok && op != scalehist.OpUpdate {
				u.changes = append(u.changes, podChange{at, scalehist.NameOf(o), ref, op == scalehist.OpDelete})
			}
		}
	}
	objects, err := db.ObjectsAt(ctx, w.From, "ReplicaSet", "Pod")
	if err != nil {
		return err
	}
	for _, kind := range []string{"*v1.ReplicaSet", "*v1.Pod"} { // owners first
		for _, o := range objects {
			if fmt.Sprintf("%T", o) == kind {
				note(scalehist.OpAdd, w.From, o)
			}
		}
	}
	for ch, err := range db.ChangesOf(ctx, w.From, w.To, "ReplicaSet", "Pod") {
		if err != nil {
			return err
		}
		note(ch.Op, ch.At, ch.Object)
	}
	return nil
}

// ownerOf is the workload of a pod, DaemonSets among them.
func (u *usages) ownerOf(p *corev1.Pod) (scalehist.WorkloadRef, bool) {
	if o := metav1.GetControllerOfNoCopy(p); o != nil && o.Kind == daemonSet {
		return scalehist.WorkloadRef{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: p.Namespace, Name: o.Name}, true
	}
	return u.owners.Of(p)
}

// until lets pods come and go up to an instant, and ends the windows that are over by then.
func (u *usages) until(at time.Time) {
	for len(u.changes) > 0 && !u.changes[0].at.After(at) {
		c := u.changes[0]
		u.changes = u.changes[1:]
		u.turn(c.at)
		if !c.gone {
			u.of[c.name] = c.ref
			continue
		}
		delete(u.of, c.name)
		for _, s := range u.list {
			if _, had := s.last[c.name]; had {
				delete(s.last, c.name)
				s.changed = true
			}
		}
	}
	u.turn(at)
}

// turn ends the window before an instant.
func (u *usages) turn(at time.Time) {
	now := int64(at.Sub(u.from) / load.Resolution)
	if now == u.window {
		return
	}
	for _, s := range u.list {
		if s.changed {
			s.point(u.from.Add(time.Duration(u.window) * load.Resolution))
		}
	}
	u.window = now
}

// take adds a sample.
func (u *usages) take(sample observed.LimitedUsage) {
	ref, ok := u.of[sample.Pod]
	if !ok {
		return
	}
	key := containerOf{ref, sample.Container}
	s := u.byName[key]
	if s == nil {
		s = &usageOf{containerOf: key, last: map[types.NamespacedName]observed.LimitedUsage{}}
		u.byName[key] = s
		u.list = append(u.list, s)
	}
	s.stale(sample.At)
	s.last[sample.Pod], s.measured, s.changed = sample, sample.At, true
	s.samples++
	if sample.CPUCensored || sample.MemoryCensored {
		s.limited++
	}
}

// stale ends what is known where nothing was measured for too long.
func (s *usageOf) stale(now time.Time) {
	if s.measured.IsZero() || now.Sub(s.measured) <= staleUsage {
		return
	}
	at := s.measured.Add(staleUsage)
	for _, points := range []*[]load.Point{&s.cpu, &s.memory} {
		if n := len(*points); n > 0 && at.After((*points)[n-1].At) {
			*points = append(*points, load.Point{At: at, Value: math.NaN()})
		}
	}
}

// point adds what is used from an instant on.
func (s *usageOf) point(at time.Time) {
	s.changed = false
	if at.Sub(s.measured) > staleUsage {
		s.stale(at) // only pods were deleted since
		return
	}
	var cpu, memory int64
	for _, sample := range s.last {
		cpu += sample.CPUMilli
		memory += sample.MemoryBytes
	}
	n := int64(len(s.last))
	if s.Kind != daemonSet {
		s.cpu = put(s.cpu, load.Point{At: at, Value: float64(cpu) / 1000})
	} else if n > 0 {
		s.cpu = put(s.cpu, load.Point{At: at, Value: float64(cpu) / 1000 / float64(n)})
	}
	if n > 0 {
		s.memory = put(s.memory, load.Point{At: at, Value: float64(memory / n)})
	}
}

// put adds a point, unless it says nothing new.
func put(points []load.Point, p load.Point) []load.Point {
	if n := len(points); n > 0 {
		switch last := &points[n-1]; {
		case !last.At.Before(p.At): // a gap that ends within its window
			last.Value = p.Value
			return points
		case last.Value == p.Value:
			return points
		}
	}
	return append(points, p)
}

// sharing is how its CPU divides over the pods that there are in a replay. Pods of a DaemonSet each do the work of their node.
func (s *usageOf) sharing() load.Sharing {
	if s.Kind == daemonSet {
		return load.Each
	}
	return load.Divided
}

// series are the demands of the window.
func (u *usages) series(to time.Time) ([]load.Series, []string, error) {
	var out []load.Series
	var warnings []string
	for _, s := range u.list {
		if s.changed {
			s.point(u.from.Add(time.Duration(u.window) * load.Resolution))
		}
		s.stale(to)
		if len(s.cpu) > 0 {
			out = append(out, load.Series{Workload: s.WorkloadRef, Container: s.container, Metric: load.CPU, Sharing: s.sharing(), Points: s.cpu})
		}
		if len(s.memory) > 0 {
			out = append(out, load.Series{Workload: s.WorkloadRef, Container: s.container, Metric: load.Memory, Sharing: load.Each, Points: s.memory})
		}
		if s.limited > 0 {
			warnings = append(warnings, fmt.Sprintf("container %s of %s was at its limits in %d of %d samples: it would have used more without them, how much is not known", s.container, s.WorkloadRef, s.limited, s.samples))
		}
	}
	return out, warnings, load.Check(out)
}
