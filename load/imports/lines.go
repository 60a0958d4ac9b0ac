package imports

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/load/cluster"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// clusterName is that of the made-up cluster.
const clusterName = "imported"

// kinds are what the input says something of. Of other kinds nothing is known.
var kinds = []string{"Deployment", "Node", "NodeGroup", "Pod", "ReplicaSet"}

// Lines is what was read as an object log, in order of time: a cluster with the pods, their usage, and series. Where nothing was
// measured there is none.
func (l *Load) Lines(yield func(objectlog.Line) error) error {
	c := l.cluster()
	rest := c.Lines()
	until := func(at int64) error {
		for len(rest) > 0 && rest[0].At.UnixNano() <= at {
			if err := yield(rest[0]); err != nil {
				return err
			}
			rest = rest[1:]
		}
		return nil
	}
	p := pairs{load: l, yield: yield, at: c.From.UnixNano(), of: make([]pair, len(l.containers))}
	silence := int64(l.silence())
	for i := range p.of {
		p.of[i].assume(l, i)
	}
	if err := until(p.at); err != nil {
		return err
	}
	for r, err := range l.sorted.all() {
		if err == nil && r.At > p.at {
			if err = p.flush(); err == nil {
				err = until(r.At) // pods come before their usage
			}
			if silent := r.At - p.at; silent > silence {
				l.silent(p.at, silent)
			}
			p.at = r.At
		}
		if err == nil {
			err = p.take(r)
		}
		if err != nil {
			return err
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	return until(math.MaxInt64)
}

// cluster is what is there to have the usage.
func (l *Load) cluster() cluster.Cluster {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	byPod := map[[2]string]*cluster.Pod{}
	var order []*cluster.Pod
	for _, c := range l.containers {
		if !c.measured() {
			continue
		}
		first, last = min(first, c.first), max(last, c.last)
		id := [2]string{c.namespace, c.pod}
		p := byPod[id]
		if p == nil {
			p = &cluster.Pod{Namespace: c.namespace, Name: c.pod, Workload: c.workload, From: instant(c.first), To: instant(c.last)}
			if p.Workload == "" {
				p.Workload = l.workload(id)
			}
			byPod[id] = p
			order = append(order, p)
		}
		if p.From.UnixNano() > c.first {
			p.From = instant(c.first)
		}
		if p.To.UnixNano() < c.last {
			p.To = instant(c.last)
		}
		one := cluster.Container{Name: c.name, Request: c.request, Limit: c.limit}
		if one.Request == [2]int64{} {
			one.Request = l.Request
		}
		p.Containers = append(p.Containers, one)
	}
	out := cluster.Cluster{Name: clusterName, From: instant(first), To: instant(last), Kinds: kinds}
	for _, p := range order {
		if l.GoneAfter > 0 && out.To.Sub(p.To) > l.GoneAfter {
			p.To = p.To.Add(time.Nanosecond) // its last value is still its own
		} else {
			p.To = out.To
		}
		slices.SortFunc(p.Containers, func(a, b cluster.Container) int { return strings.Compare(a.Name, b.Name) })
		out.Pods = append(out.Pods, *p)
	}
	slices.SortStableFunc(out.Pods, func(a, b cluster.Pod) int { return a.From.Compare(b.From) })
	return out
}

func instant(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// pairs puts CPU and memory of an instant together.
type pairs struct {
	load  *Load
	yield func(objectlog.Line) error
	at    int64    // now
	now   []uint32 // containers with a value of now
	of    []pair
}

// pair are a container's last values, and of which rank.
type pair struct {
	value [2]uint64
	at    [2]int64
	rank  [2]uint8
	known [2]bool
	now   bool // one of them is of this instant
}

// assume makes it what is assumed of resources that are never measured.
func (p *pair) assume(l *Load, i int) {
	for what, has := range l.containers[i].has {
		if !has {
			p.value[what], p.at[what], p.known[what] = uint64(max(0, l.Assume[what])), math.MaxInt64, true
		}
	}
}

func (p *pairs) take(r record) error {
	if r.What == series {
		s := p.load.series[r.ID]
		return p.yield(objectlog.Line{At: instant(r.At), Op: scalehist.OpAdd,
			Object: objectlog.NewSample(s.name, objectlog.SampleSpec{Labels: s.labels, Value: objectlog.Value(math.Float64frombits(r.Value))})})
	}
	c, what := &p.of[r.ID], r.What
	if c.known[what] && c.rank[what] < r.Rank && r.At-c.at[what] <= int64(lasts) {
		p.load.note("that a second endpoint measured of the same container are left out")
		return nil
	}
	if c.known[what] && c.at[what] == r.At {
		p.load.note("of the same container and instant as another: the highest is kept")
		c.value[what] = max(c.value[what], r.Value)
		return nil
	}
	c.value[what], c.at[what], c.rank[what], c.known[what] = r.Value, r.At, r.Rank, true
	if !c.now {
		c.now = true
		p.now = append(p.now, r.ID)
	}
	return nil
}

// flush writes the usage of an instant.
func (p *pairs) flush() error {
	for _, id := range p.now {
		c, named := &p.of[id], p.load.containers[id]
		c.now = false
		old := min(c.at[cpu], c.at[memory])
		if !c.known[cpu] || !c.known[memory] || p.at-old > int64(lasts) {
			p.load.note("of one resource without one of the other in the five minutes before are left out")
			continue
		}
		err := p.yield(objectlog.Line{At: instant(p.at), Op: scalehist.OpAdd, Object: objectlog.NewUsage(named.namespace, named.pod,
			objectlog.UsageSpec{Container: named.name, CPUMilli: int64(c.value[cpu]), MemoryBytes: int64(c.value[memory])})})
		if err != nil {
			return err
		}
	}
	p.now = p.now[:0]
	return nil
}
