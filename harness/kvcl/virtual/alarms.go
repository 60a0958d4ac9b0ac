package virtual

import (
	"container/heap"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

// alarms are instants at which something happens to pods: they finish, say. A pod has one at most, which of points at; zero: nothing is to come.
type alarms struct {
	of    func(*pod) *time.Time
	queue queue
}

// set notes the instant of a pod, which replaces an earlier one; zero: nothing is to come.
func (a *alarms) set(key types.NamespacedName, p *pod, at time.Time) {
	*a.of(p) = at
	if !at.IsZero() {
		heap.Push(&a.queue, alarm{at: at, key: key, pod: p})
	}
}

// next is the first instant of a live pod.
func (c *Cluster) next(a *alarms) (alarm, bool) {
	for len(a.queue) > 0 {
		first := a.queue[0]
		if c.pods[first.key] == first.pod && !first.pod.done && a.of(first.pod).Equal(first.at) {
			return first, true
		}
		heap.Pop(&a.queue) // gone since, or started again
	}
	return alarm{}, false
}

// due lets happen what is due by now, and gives the changes in the order of names.
func (c *Cluster) due(a *alarms, now time.Time, happen func(types.NamespacedName, *pod) scalehist.Change) (out []scalehist.Change) {
	for {
		first, ok := c.next(a)
		if !ok || first.at.After(now) {
			break
		}
		*a.of(first.pod) = time.Time{}
		out = append(out, happen(first.key, first.pod))
	}
	slices.SortFunc(out, byName)
	return out
}

// alarm is an instant of a pod, unless that is gone before, or has another.
type alarm struct {
	at  time.Time
	key types.NamespacedName
	pod *pod
}

// queue is a heap: the next one first.
type queue []alarm

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push and Pop implement heap.Interface.
func (q *queue) Push(x any) { *q = append(*q, x.(alarm)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = alarm{}
	*q = (*q)[:last]
	return x
}
