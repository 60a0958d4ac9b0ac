package recall

import (
	"container/heap"
	"fmt"
	"reflect"
	"strconv"

	"k8s.io/kubernetes/pkg/scheduler"

	"github.com/scalehist/scalehist/harness/kvcl/profile"
)

// winner is the node of the highest score, and of the highest rank among those; false if two have the same rank.
func (c *cycle) winner() (string, bool) {
	if c.opts.TieBreak == profile.TiesUpstream {
		heap.Init((*topFirst)(&c.fit))
		return c.fit[0].name, true
	}
	best, ties := c.fit[0].total, append(c.ties[:0], 0)
	for i := 1; i < len(c.fit); i++ {
		switch total := c.fit[i].total; {
		case total > best:
			best, ties = total, append(ties[:0], i)
		case total == best:
			ties = append(ties, i)
		}
	}
	c.ties = ties
	if len(ties) == 1 {
		return c.fit[ties[0]].name, true
	}
	var order profile.Ties
	if c.opts.TieBreak == profile.TiesByCreation {
		order = profile.NewNamelessTies(c.opts.Ordinal(c.pod.UID))
	} else {
		order = profile.NewTies(c.pod)
	}
	top, host, unique := -1, "", true
	for _, i := range ties {
		part := c.fit[i].name
		if c.opts.TieBreak == profile.TiesByCreation {
			part = place(i) // candidates are in order of names
		}
		switch rank := order.Rank(part); {
		case rank > top:
			top, host, unique = rank, c.fit[i].name, true
		case rank == top:
			unique = false
		}
	}
	return host, unique
}

// topFirst is upstream's heap of scores: which of several equal ones is on top hangs on the order they came in, and on container/heap.
type topFirst []candidate

func (h topFirst) Len() int           { return len(h) }
func (h topFirst) Less(i, j int) bool { return h[i].total > h[j].total }
func (h topFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push and Pop implement heap.Interface; only the top is asked for.
func (h *topFirst) Push(any) { panic("the candidates are complete") }
func (h *topFirst) Pop() any { panic("the candidates are asked for their top only") }

// nextStart reads where upstream's next search through the list of nodes begins. A search through all nodes, as those of the
// memory, ends where it began; one through the nodes that plugins name, as for the pods of DaemonSets, moves it.
func nextStart(s *scheduler.Scheduler) (func() int, error) {
	const name = "nextStartNodeIndex"
	field := reflect.ValueOf(s).Elem().FieldByName(name)
	if field.Kind() != reflect.Int {
		return nil, fmt.Errorf("scheduler.Scheduler has no int %s: find out where its searches begin", name)
	}
	return func() int { return int(field.Int()) }, nil
}

// searchOrder is the order in which upstream would look at the nodes; nil if its place lies behind the last, nodes having left: stock puts
// that right.
func (r *Recall) searchOrder() []*node {
	begin := r.begin()
	switch {
	case begin >= len(r.nodes.listed):
		return nil
	case begin == 0:
		return r.nodes.listed
	}
	r.order = append(append(r.order[:0], r.nodes.listed[begin:]...), r.nodes.listed[:begin]...)
	return r.order
}

// places are the first numbers in decimal.
var places = func() (p [4096]string) {
	for i := range p {
		p[i] = strconv.Itoa(i)
	}
	return p
}()

func place(i int) string {
	if i < len(places) {
		return places[i]
	}
	return strconv.Itoa(i)
}
