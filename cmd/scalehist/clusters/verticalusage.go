package clusters

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/cmd/scalehist/histories"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/operator"
	"github.com/scalehist/scalehist/recorder/usage"
)

// prometheusFlags are the flags of usage from a Prometheus.
type prometheusFlags struct {
	usage.Prometheus
	since time.Duration
}

func (f *prometheusFlags) add(flags *pflag.FlagSet) {
	histories.PrometheusFlags(flags, &f.Prometheus, "address of a Prometheus that scrapes kubelets, to have usage from (default: the metrics API has it)")
	flags.DurationVar(&f.since, "since", time.Hour, "how far back usage of --prometheus is asked for at the start")
}

func (f *prometheusFlags) check(cmd *cobra.Command) error {
	if f.URL == "" && cmd.Flags().Changed("since") {
		return console.UsageErrorf(cmd, "--since goes with --prometheus: the metrics API has no past")
	}
	if f.since < 0 {
		return console.UsageErrorf(cmd, "--since %s: must not be negative", f.since)
	}
	return nil
}

// source is where usage of a namespace comes from, of all where it is empty.
func (f *prometheusFlags) source(config *rest.Config, namespace string, now time.Time) (operator.Source, error) {
	if f.URL == "" {
		pods, err := usage.NewPods(config)
		if err != nil {
			return nil, err
		}
		pods.Namespace = namespace
		return (*metricsAPI)(pods), nil
	}
	p := f.Prometheus
	p.Queries = kubeletQueries(namespace)
	client, err := usage.NewClient(p)
	if err != nil {
		return nil, err
	}
	return &prometheusUsage{client: client, queries: p.Queries, next: usage.First(now.Add(-f.since), prometheusStep)}, nil
}

// metricsAPI gives what containers use now.
type metricsAPI usage.Pods

// Usage implements operator.Source.
func (m *metricsAPI) Usage(ctx context.Context, now time.Time) ([]operator.Usage, bool, error) {
	list, err := (*usage.Pods)(m).List(ctx, now)
	if err != nil {
		return nil, false, err
	}
	out := make([]operator.Usage, 0, len(list))
	for _, u := range list {
		out = append(out, operator.Usage{Namespace: u.Pod.Namespace, Sample: vertical.Sample{At: u.At, Pod: u.Pod.Name, Container: u.Container,
			Usage: vertical.Amount{CPUMilli: u.CPUMilli, MemoryBytes: u.MemoryBytes}}})
	}
	inOrder(out)
	return out, false, nil
}

func inOrder(list []operator.Usage) {
	slices.SortStableFunc(list, func(a, b operator.Usage) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Container, b.Container))
	})
}

// prometheusStep is that of usage: what the metrics API is asked for by upstream's recommender.
const prometheusStep = time.Minute

// kubeletQueries are what cAdvisor in the kubelet says of containers: CPU in cores over two minutes, and the working set. The same container is
// there several times where it was restarted, or is scraped twice.
func kubeletQueries(namespace string) []usage.Query {
	selector := `container!="",container!="POD"`
	if namespace != "" {
		selector += fmt.Sprintf(`,namespace=%q`, namespace)
	}
	by := "max by (namespace, pod, container) (%s)"
	return []usage.Query{
		{Name: "cpu", Query: fmt.Sprintf(by, "rate(container_cpu_usage_seconds_total{"+selector+"}[2m])"), Step: prometheusStep},
		{Name: "memory", Query: fmt.Sprintf(by, "container_memory_working_set_bytes{"+selector+"}"), Step: prometheusStep},
	}
}

// prometheusUsage gives usage from an instant on, window by window.
type prometheusUsage struct {
	client  *usage.Client
	queries []usage.Query
	next    time.Time
}

// Usage implements operator.Source. A window that fails is asked for again.
func (p *prometheusUsage) Usage(ctx context.Context, now time.Time) ([]operator.Usage, bool, error) {
	w, ok := usage.Next(p.next, now, prometheusStep)
	if !ok {
		return nil, false, nil
	}
	type key struct {
		at                        time.Time
		namespace, pod, container string
	}
	found := map[key]vertical.Amount{}
	for _, q := range p.queries {
		list, err := p.client.Range(ctx, q, w)
		if err != nil {
			return nil, false, err
		}
		for _, v := range list {
			if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.Value < 0 || v.Value > 1e15 {
				continue // nothing that a container can use
			}
			k := key{v.At, v.Labels["namespace"], v.Labels["pod"], v.Labels["container"]}
			a, there := found[k]
			if !there {
				a = vertical.None
			}
			if q.Name == "cpu" {
				a.CPUMilli = int64(math.Ceil(v.Value * 1000))
			} else {
				a.MemoryBytes = int64(v.Value)
			}
			found[k] = a
		}
	}
	out := make([]operator.Usage, 0, len(found))
	for k, a := range found {
		out = append(out, operator.Usage{Namespace: k.namespace, Sample: vertical.Sample{At: k.at, Pod: k.pod, Container: k.container, Usage: a}})
	}
	inOrder(out)
	p.next = w.Last.Add(prometheusStep)
	_, more := usage.Next(p.next, now, prometheusStep)
	return out, more, nil
}
