package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
)

// alike groups decisions about requests that differ in their pod alone, in the order of the first of each group.
func alike(all []scalehist.WorkloadResize) [][]*scalehist.WorkloadResize {
	var out [][]*scalehist.WorkloadResize
	for i := range all {
		s := &all[i]
		j := slices.IndexFunc(out, func(group []*scalehist.WorkloadResize) bool {
			bare := *s
			bare.Pod = group[0].Pod
			return s.Pod != "" && equality.Semantic.DeepEqual(bare, *group[0])
		})
		if j < 0 {
			out = append(out, nil)
			j = len(out) - 1
		}
		out[j] = append(out[j], s)
	}
	return out
}

// resizeSummary is "Deployment/shop/web evicts 3 pods (web-1, web-2, web-3): web cpu 250m, memory 128Mi".
func resizeSummary(same []*scalehist.WorkloadResize) string {
	if len(same) == 1 {
		return same[0].String()
	}
	one := *same[0]
	var names []string
	for _, s := range same {
		names = append(names, s.Pod)
	}
	one.Pod = ""
	return strings.Replace(one.String(), string(one.Action), fmt.Sprintf("%s %s (%s):", one.Action, plural.Of(len(same), "pod"), some(names, 5)), 1)
}

// direction says whether a container is to have more of something, or less.
func direction(s *scalehist.WorkloadResize) (up, down bool) {
	if s.Pod == "" || s.Error != "" {
		return false, false // a recommendation alone changes no pod
	}
	for _, c := range s.Containers {
		for name, to := range c.To {
			switch from := c.From[name]; to.Cmp(from) {
			case 1:
				up = true
			case -1:
				down = true
			}
		}
	}
	return up, down
}

// resizedBecause says why a workload or a pod is to ask for something else.
func resizedBecause(s *scalehist.WorkloadResize) []string {
	var out []string
	if s.Reason != "" {
		out = append(out, s.Reason)
	}
	return append(out, resizeLines(s)...)
}

// resizeLines are the resources of each container that change: what they are to be, were, and within what they are left alone. Where none changes, they
// are all of them.
func resizeLines(s *scalehist.WorkloadResize) []string {
	var changed, all []string
	for _, c := range s.Containers {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			to, ok := c.To[name]
			if !ok {
				continue
			}
			line := fmt.Sprintf("%s %s: %s", c.Name, name, amountText(name, to))
			from, had := c.From[name]
			if had && from.Cmp(to) != 0 {
				line += ", was " + amountText(name, from)
			}
			if lower, ok := c.Lower[name]; ok {
				line += "; left alone " + rangeText(name, lower, c.Upper[name])
			}
			all = append(all, line)
			if !had || from.Cmp(to) != 0 {
				changed = append(changed, line)
			}
		}
	}
	if len(changed) == 0 {
		return all
	}
	return changed
}

// amountText is an amount as one reads it: "163m", "488Mi", "12Gi". The report has the exact one.
func amountText(name corev1.ResourceName, q resource.Quantity) string {
	if name != corev1.ResourceMemory {
		return q.String()
	}
	switch v := float64(q.Value()); {
	case v < 1<<20:
		return q.String()
	case v >= 10<<30 || int64(v)%(1<<30) == 0:
		return fmt.Sprintf("%.0fGi", v/(1<<30))
	default:
		return bytes(v)
	}
}

// rangeText is "from 25m to 3100m"; an upper end that nothing reaches, which the first hours of a recommender have, is left out.
func rangeText(name corev1.ResourceName, lower, upper resource.Quantity) string {
	if upper.AsApproximateFloat64() > 1000*lower.AsApproximateFloat64() {
		return "from " + amountText(name, lower) + " on"
	}
	return "from " + amountText(name, lower) + " to " + amountText(name, upper)
}

// resizeParts are the parts of a decision about requests.
func resizeParts(s *scalehist.WorkloadResize) []Part {
	var out []Part
	add := func(title string, lines ...string) {
		if len(lines) > 0 && lines[0] != "" {
			out = append(out, Part{title, lines})
		}
	}
	add("asked for by", s.By)
	add("reason", s.Reason)
	add("resources", resizeLines(s)...)
	add("not done", s.Error)
	return out
}

// requestsLine is what a vertical autoscaler and limits did to a workload; empty for nothing.
func requestsLine(w *scalehist.WorkloadResult) string {
	var out []string
	if n := len(w.Requests); n > 0 && w.SizedBy != "" {
		first, last := w.Requests[0], w.Requests[n-1]
		out = append(out, fmt.Sprintf("cpu %s->%s, memory %s->%s, evicted %d, resized %d",
			cores(first.CPU), cores(last.CPU), bytes(first.Memory), bytes(last.Memory), w.Evicted, w.Resized))
	}
	if len(w.OOMKills) > 0 {
		out = append(out, fmt.Sprintf("out of memory %d times", len(w.OOMKills)))
	}
	return strings.Join(out, ", ")
}

func cores(v float64) string {
	return resource.NewMilliQuantity(int64(v*1000+0.5), resource.DecimalSI).String()
}

func bytes(v float64) string { return fmt.Sprintf("%.0fMi", v/(1<<20)) }

// requestTable shows the workloads whose requests somebody set, or whose containers ran out of memory, with what they used of what they asked for.
func requestTable(r *scalehist.ReplayReport) string {
	t := newTable()
	t.AppendHeader(table.Row{"workload", "controller", "cpu", "memory", "evicted", "resized", "out of memory", "unused cpu", "unused memory"})
	rows := 0
	for i := range r.Workloads {
		w := &r.Workloads[i]
		if w.SizedBy == "" && len(w.OOMKills) == 0 {
			continue
		}
		rows++
		row := table.Row{w.String(), w.SizedBy, "", "", w.Evicted, w.Resized, len(w.OOMKills), unused(w, "cpu"), unused(w, "memory")}
		if n := len(w.Requests); n > 0 {
			first, last := w.Requests[0], w.Requests[n-1]
			row[2], row[3] = cores(first.CPU)+" -> "+cores(last.CPU), bytes(first.Memory)+" -> "+bytes(last.Memory)
		}
		t.AppendRow(row)
	}
	if rows == 0 {
		return ""
	}
	return "\n" + t.Render() + "\n"
}

// unused is the share of what was requested of a resource that was not used, in percent.
func unused(w *scalehist.WorkloadResult, metric string) string {
	var slack, requested float64
	for _, m := range w.Work {
		if m.Metric == metric {
			slack, requested = slack+m.Slack, requested+m.Requested
		}
	}
	if requested == 0 {
		return ""
	}
	return fmt.Sprintf("%.3g%%", 100*slack/requested)
}
