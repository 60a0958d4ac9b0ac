package observed

import (
	"context"
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// LimitedUsage is a usage and what limited it. What a container would have used without the limit is then not known: it is
// censored, at least that much.
type LimitedUsage struct {
	history.Usage
	// CPULimitMilli and MemoryLimitBytes are the container's limits at that instant, 0 for none or where the pod was not seen.
	CPULimitMilli, MemoryLimitBytes int64
	// CPUCensored: it used 98 % of its limit or more. The kernel throttles within periods of 100 ms, so that an average over
	// seconds stays a little below it.
	CPUCensored bool
	// MemoryCensored: it used 98 % of its limit or more, or this is the last that was measured before the container ran out
	// of memory and was killed.
	MemoryCensored bool
}

// censoredPercent is how much of a limit counts as all of it.
const censoredPercent = 98

func reaches(used, limit int64) bool {
	return limit > 0 && used >= limit-limit*(100-censoredPercent)/100
}

// LimitedUsages are Usages with the limits that held, worked out from the pods as they were recorded. It reads the pods of the
// window first, and keeps their limits.
func LimitedUsages(ctx context.Context, db *history.DB, from, to time.Time) iter.Seq2[LimitedUsage, error] {
	return func(yield func(LimitedUsage, error) bool) {
		l, err := limitsOf(ctx, db, from, to)
		if err != nil {
			yield(LimitedUsage{}, err)
			return
		}
		for u, err := range db.Usages(ctx, from, to) {
			if err != nil {
				yield(LimitedUsage{}, err)
				return
			}
			if !yield(l.judge(u), nil) {
				return
			}
		}
	}
}

// containerName names a container as usages do: by names, which are used again.
type containerName struct {
	pod       types.NamespacedName
	container string
}

// limitsFrom are a container's limits from an instant on.
type limitsFrom struct {
	at          time.Time
	cpu, memory int64
}

// run is a run of a container that ended because it was out of memory.
type run struct{ started, finished, last time.Time }

type limits struct {
	of  map[containerName][]limitsFrom
	out map[containerName][]run
}

func limitsOf(ctx context.Context, db *history.DB, from, to time.Time) (*limits, error) {
	l := &limits{of: map[containerName][]limitsFrom{}, out: map[containerName][]run{}}
	for ch, err := range sightings(ctx, db, from, to, "Pod") {
		if err != nil {
			return nil, err
		}
		l.see(ch.At, ch.Object, ch.Op == scalehist.OpDelete)
	}
	if len(l.out) == 0 {
		return l, nil
	}
	for u, err := range db.Usages(ctx, from, to) { // which is the last before each end
		if err != nil {
			return nil, err
		}
		runs := l.out[containerName{u.Pod, u.Container}]
		for i := range runs {
			if !u.At.Before(runs[i].started) && !u.At.After(runs[i].finished) {
				runs[i].last = u.At
			}
		}
	}
	return l, nil
}

// see notes what a pod says from an instant on. Of a pod that is gone its limits are too.
func (l *limits) see(at time.Time, o scalehist.Object, gone bool) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	statuses := map[string]*corev1.ContainerStatus{}
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range list {
			statuses[list[i].Name] = &list[i]
		}
	}
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			c := containerName{scalehist.NameOf(p), list[i].Name}
			now := limitsFrom{at: at}
			held := list[i].Resources.Limits
			if s := statuses[c.container]; s != nil {
				l.ended(c, s.LastTerminationState.Terminated)
				if s.Resources != nil { // what it has, where a resize is under way
					held = s.Resources.Limits
				}
			}
			if !gone {
				now.cpu, now.memory = held.Cpu().MilliValue(), held.Memory().Value()
			}
			had := l.of[c]
			if n := len(had); n > 0 && had[n-1].cpu == now.cpu && had[n-1].memory == now.memory || n == 0 && now.cpu == 0 && now.memory == 0 {
				continue
			}
			l.of[c] = append(had, now)
		}
	}
}

// oomKilled is the reason that the kubelet gives a container which was out of memory.
const oomKilled = "OOMKilled"

func (l *limits) ended(c containerName, e *corev1.ContainerStateTerminated) {
	if e == nil || e.Reason != oomKilled {
		return
	}
	runs := l.out[c]
	if n := len(runs); n > 0 && runs[n-1].finished.Equal(e.FinishedAt.Time) {
		return
	}
	l.out[c] = append(runs, run{started: e.StartedAt.Time, finished: e.FinishedAt.Time})
}

func (l *limits) judge(u history.Usage) LimitedUsage {
	out := LimitedUsage{Usage: u}
	name := containerName{u.Pod, u.Container}
	for _, s := range l.of[name] {
		if s.at.After(u.At) {
			break
		}
		out.CPULimitMilli, out.MemoryLimitBytes = s.cpu, s.memory
	}
	out.CPUCensored, out.MemoryCensored = reaches(u.CPUMilli, out.CPULimitMilli), reaches(u.MemoryBytes, out.MemoryLimitBytes)
	for _, r := range l.out[name] {
		out.MemoryCensored = out.MemoryCensored || r.last.Equal(u.At)
	}
	return out
}
