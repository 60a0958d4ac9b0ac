package generate

import (
	"fmt"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/load/cluster"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// Names in a generated cluster.
const namespace, container = "generated", "app"

// Lines is a cluster with the load as an object log, which can be imported and replayed. Replicas belong to a Deployment "load-N", pods
// that come and finish to a Job of that name.
func (l *Load) Lines(yield func(objectlog.Line) error) error {
	if l.Request[0] > cluster.NodeMilli || l.Request[1] > cluster.NodeMemory {
		return fmt.Errorf("requests of %dm and %d bytes: nodes of a generated history have 16 cores and 64Gi", l.Request[0], l.Request[1])
	}
	c := cluster.Cluster{Name: namespace, From: l.From, To: l.From.Add(l.Length), Finish: l.Rate > 0}
	pods := l.Pods()
	for i := range pods {
		p := &pods[i]
		c.Pods = append(c.Pods, cluster.Pod{Namespace: namespace, Workload: name(p.Workload), Name: p.PodName(), From: p.From, To: p.To,
			Containers: []cluster.Container{{Name: container, Request: l.Request, Limit: l.Limit}}})
	}
	lines := c.Lines()
	for i := range pods {
		p := &pods[i]
		at := l.First(*p)
		for n := range p.CPU {
			lines = append(lines, objectlog.Line{At: at.Add(time.Duration(n) * l.Step), Op: scalehist.OpAdd,
				Object: objectlog.NewUsage(namespace, p.PodName(), objectlog.UsageSpec{Container: container, CPUMilli: p.CPU[n], MemoryBytes: p.Memory[n]})})
		}
	}
	slices.SortStableFunc(lines, func(a, b objectlog.Line) int { return a.At.Compare(b.At) })
	for _, line := range lines {
		if err := yield(line); err != nil {
			return err
		}
	}
	return nil
}

// name of a workload: "load-1".
func name(workload int) string { return fmt.Sprintf("load-%d", workload+1) }

// PodName is "load-1-0".
func (p *Pod) PodName() string { return fmt.Sprintf("%s-%d", name(p.Workload), p.Number) }

// Row is a value as CSV has it.
type Row struct {
	At                        time.Time
	Namespace, Pod, Container string
	CPUMilli, MemoryBytes     int64
}

// Rows are all values, in the order of time and pods.
func (l *Load) Rows() []Row {
	var out []Row
	pods := l.Pods()
	for i := range pods {
		at := l.First(pods[i])
		for n := range pods[i].CPU {
			out = append(out, Row{at.Add(time.Duration(n) * l.Step), namespace, pods[i].PodName(), container, pods[i].CPU[n], pods[i].Memory[n]})
		}
	}
	slices.SortStableFunc(out, func(a, b Row) int { return a.At.Compare(b.At) })
	return out
}
