package load

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
)

// Resolution is how often a metrics server measures (--metric-resolution of metrics-server).
const Resolution = 15 * time.Second

// Meter keeps the accounts of all series of a replay. Workloads are the same by kind, namespace and name.
type Meter struct {
	accounts []*Account
	of       map[scalehist.WorkloadRef][]*Account
	faults   faults
}

// NewMeter opens an account for each series.
func NewMeter(series []Series) *Meter {
	m := &Meter{of: map[scalehist.WorkloadRef][]*Account{}}
	for i := range series {
		a := NewAccount(&series[i], Resolution)
		key := series[i].Workload.Key()
		m.accounts = append(m.accounts, a)
		m.of[key] = append(m.of[key], a)
	}
	return m
}

// Has says whether there is a series of a workload.
func (m *Meter) Has(w scalehist.WorkloadRef) bool { return len(m.of[w.Key()]) > 0 }

// Pods says which pods do the work of a workload from now on.
func (m *Meter) Pods(now time.Time, w scalehist.WorkloadRef, pods []*corev1.Pod) {
	for _, a := range m.of[w.Key()] {
		list := make([]Replica, 0, len(pods))
		for _, p := range pods {
			list = append(list, a.series.replica(p))
		}
		a.Replicas(now, list)
	}
}

// replica is a pod as the account of a series has it.
func (s *Series) replica(p *corev1.Pod) Replica {
	r := Replica{Pod: p.Name, Ready: Ready(p)}
	if s.Metric == CPU || s.Metric == Memory {
		name := corev1.ResourceName(s.Metric)
		r.Request, _ = amount(p, s.Container, func(c *corev1.Container) corev1.ResourceList { return c.Resources.Requests }, name)
		limit, all := amount(p, s.container(p), func(c *corev1.Container) corev1.ResourceList { return c.Resources.Limits }, name)
		if all {
			r.Limit = limit
		}
	}
	r.Started = started(p, s.container(p))
	return r
}

// container is the container of a pod that the limit of a series is about: CPU of whole pods is limited as a whole, and their memory is that of the
// first container.
func (s *Series) container(p *corev1.Pod) string {
	if s.Container == "" && s.Metric == Memory && len(p.Spec.Containers) > 0 {
		return p.Spec.Containers[0].Name
	}
	return s.Container
}

// started is since when a container of a pod runs, or the first one where none is named; zero: it does not.
func started(p *corev1.Pod, container string) time.Time {
	if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return time.Time{}
	}
	for i := range p.Status.ContainerStatuses {
		if s := &p.Status.ContainerStatuses[i]; container == "" || s.Name == container {
			if s.State.Running == nil {
				return time.Time{}
			}
			return s.State.Running.StartedAt.Time
		}
	}
	if p.Status.StartTime == nil {
		return p.CreationTimestamp.Time
	}
	return p.Status.StartTime.Time
}

// Ready says whether a pod takes part in the work: it is Ready and not on its way out.
func Ready(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// amount is what a container of a pod has of a resource, or all of its containers where none is named; all says whether each of them has some.
func amount(p *corev1.Pod, container string, of func(*corev1.Container) corev1.ResourceList, name corev1.ResourceName) (sum float64, all bool) {
	all = true
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		if container != "" && c.Name != container {
			continue
		}
		q, has := of(c)[name]
		all = all && has
		sum += q.AsApproximateFloat64()
	}
	return sum, all
}

// Over is a container that uses more memory than its limit.
type Over struct {
	At        time.Time
	Workload  scalehist.WorkloadRef
	Pod       string
	Container string
	// Used and Limit are in bytes.
	Used, Limit float64
}

// NextOver is the first container to use more memory than its limit; false if none ever does, as things are.
func (m *Meter) NextOver() (first Over, ok bool) {
	for _, a := range m.accounts {
		at, r, found := a.nextOver()
		if !found || ok && !at.Before(first.At) {
			continue
		}
		used, _ := a.series.of(r, at)
		first, ok = Over{At: at, Workload: a.series.Workload, Pod: r.Pod, Container: a.series.Container, Used: used, Limit: r.Limit}, true
	}
	return first, ok
}

// Usage is what a container of a pod used of a metric over the last window, or all of its containers where container is empty, and when that was
// measured: false where nobody knows. What a series gives to whole pods, the first container has.
func (m *Meter) Usage(now time.Time, w scalehist.WorkloadRef, p *corev1.Pod, container, metric string) (sum float64, at time.Time, ok bool) {
	if i := m.fault(now, metric); i >= 0 {
		return m.failed(i, now, w, p, container, metric, func() (float64, time.Time, bool) { return m.usage(now, w, p, container, metric) })
	}
	return m.usage(now, w, p, container, metric)
}

func (m *Meter) usage(now time.Time, w scalehist.WorkloadRef, p *corev1.Pod, container, metric string) (sum float64, at time.Time, ok bool) {
	for _, a := range m.of[w.Key()] {
		s := a.series
		switch {
		case s.Metric != metric, s.Container != "" && container != "" && s.Container != container:
			continue
		case s.Container == "" && container != "" && len(p.Spec.Containers) > 0 && p.Spec.Containers[0].Name != container:
			return 0, a.scrape(now), true
		}
		value, measured, known := a.Usage(now, p.Name)
		if !known {
			return 0, measured, false // a pod is measured as a whole or not at all
		}
		sum, at, ok = sum+value, measured, true
	}
	return sum, at, ok
}

// Value is a metric of a workload as a whole.
func (m *Meter) Value(now time.Time, w scalehist.WorkloadRef, metric string) (float64, bool) {
	if i := m.fault(now, metric); i >= 0 {
		v, _, ok := m.failed(i, now, w, nil, "", metric, func() (float64, time.Time, bool) {
			v, ok := m.value(now, w, metric)
			return v, now, ok
		})
		return v, ok
	}
	return m.value(now, w, metric)
}

func (m *Meter) value(now time.Time, w scalehist.WorkloadRef, metric string) (float64, bool) {
	for _, a := range m.of[w.Key()] {
		if a.series.Metric == metric {
			return a.Value(now)
		}
	}
	return 0, false
}

// Named lists the workloads of a namespace that have a metric of that name, in the order of the series: what an autoscaler that asks for it
// by name alone may mean.
func (m *Meter) Named(namespace, metric string) []scalehist.WorkloadRef {
	var out []scalehist.WorkloadRef
	for _, a := range m.accounts {
		if a.series.Metric == metric && a.series.Workload.Namespace == namespace {
			out = append(out, a.series.Workload)
		}
	}
	return out
}

// Entry is the balance of one series.
type Entry struct {
	Series  *Series
	Balance Balance
	// Used is what its replicas used together, of cpu and memory (Account.Used).
	Used   []Point
	Delays Delays
}

// Balances are what became of the work of each series by now, in the order of the series.
func (m *Meter) Balances(now time.Time) []Entry {
	out := make([]Entry, 0, len(m.accounts))
	for _, a := range m.accounts {
		out = append(out, Entry{a.series, a.Balance(now), a.Used(now), a.Delays(now)})
	}
	return out
}
