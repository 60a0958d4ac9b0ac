package expect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/near"
	"github.com/scalehist/scalehist/report/metrics"
)

// Requests are amounts that are wanted, by container and resource. What a container asks for is the most that it does in any pod of the workload.
type Requests map[string]map[corev1.ResourceName]Amount

// SlackLimit reads a limit for the share of a resource that is asked for and not used: "<= 30%".
func SlackLimit(name corev1.ResourceName, text string) error {
	_, _, err := MetricLimit("slack.usage.relative."+string(name), text)
	return err
}

// requestRows are the rows of a workload about requests: what, got, wanted, and whether it is.
func requestRows(w *scalehist.WorkloadResult, want Replicas, row func(what, got, want string, ok bool)) error {
	for _, part := range []struct {
		when string
		want Requests
		of   func([]scalehist.RequestsAt) scalehist.RequestsAt
	}{{"at the end", want.Requests, atEnd}, {"at most", want.PeakRequests, atMost}} {
		for _, container := range slices.Sorted(maps.Keys(part.want)) {
			has, err := containerOf(w, container)
			if err != nil {
				return err
			}
			got := part.of(has)
			for _, name := range slices.Sorted(maps.Keys(part.want[container])) {
				amount := part.want[container][name]
				v, text := got.CPU, resource.NewMilliQuantity(int64(got.CPU*1000+0.5), resource.DecimalSI).String()
				if name == corev1.ResourceMemory {
					v, text = got.Memory, resource.NewQuantity(int64(got.Memory), resource.BinarySI).String()
				}
				row(fmt.Sprintf("%s of %s %s", name, container, part.when), text, amount.String(), amount.Holds(v))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.Slack)) {
		metric, limit, err := MetricLimit("slack.usage.relative."+string(name), want.Slack[name])
		if err != nil {
			return fmt.Errorf("slack: %w", err)
		}
		slack, err := slackOf(w, name)
		if err != nil {
			return err
		}
		row(fmt.Sprintf("%s not used", name), metrics.Text(slack, metric.Unit), want.Slack[name], limit.Holds(0, slack, metric.Better))
	}
	return nil
}

// containerOf are the requests of a container over time.
func containerOf(w *scalehist.WorkloadResult, name string) ([]scalehist.RequestsAt, error) {
	var names []string
	for _, c := range w.Containers {
		if c.Name == name {
			return c.Requests, nil
		}
		names = append(names, c.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("requests of %s are not in the report: no vertical autoscaler set them (vertical), and it has no load", w)
	}
	return nil, fmt.Errorf("%s has no container %q: it has %s%s", w, name, strings.Join(names, ", "), near.Suggest(name, names))
}

// slackOf is the share of a resource that a workload asked for and did not use, in percent.
func slackOf(w *scalehist.WorkloadResult, name corev1.ResourceName) (float64, error) {
	slack, requested := 0.0, 0.0
	for _, x := range w.Work {
		if x.Metric == string(name) {
			slack, requested = slack+x.Slack, requested+x.Requested
		}
	}
	if requested == 0 {
		return 0, fmt.Errorf("slack of %s: nobody knows what it uses of %s, or it asks for none", w, name)
	}
	return 100 * slack / requested, nil
}

func atEnd(list []scalehist.RequestsAt) scalehist.RequestsAt { return list[len(list)-1] }

func atMost(list []scalehist.RequestsAt) scalehist.RequestsAt {
	var out scalehist.RequestsAt
	for _, at := range list {
		out.CPU, out.Memory = max(out.CPU, at.CPU), max(out.Memory, at.Memory)
	}
	return out
}
