package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/scalehist/scalehist"
)

// expendableCutoff is upstream's flag: pods below that priority bring no nodes and keep none, and no loop counts them.
const (
	expendableCutoff        = "expendable-pods-priority-cutoff"
	expendableCutoffDefault = -10 // upstream's FAQ, "How does Cluster Autoscaler work with Pod Priority and Preemption?"
)

// passedOver says of a pod that is pending at the end, and that no loop counted, that its priority is why.
func (e *explainer) passedOver(name string) {
	counted := func(d scalehist.Decision) bool { return slices.Contains(d.UnschedulablePods, name) }
	if slices.ContainsFunc(e.r.Decisions, counted) {
		return
	}
	cutoff := cutoffOf(e.r.Settings)
	if n := len(e.r.SettingsChanges); n > 0 {
		cutoff = cutoffOf(e.r.SettingsChanges[n-1].Settings)
	}
	for _, p := range e.r.End.UnscheduledPods {
		if p.Namespace+"/"+p.Name == name && p.Priority < cutoff {
			e.say(e.r.EndTime, "The autoscaler passed it over: its priority %d is below --%s=%d, and such pods bring no nodes.",
				p.Priority, expendableCutoff, cutoff)
		}
	}
}

// cutoffOf is the flag's last value, else upstream's default.
func cutoffOf(s scalehist.CASettings) int32 {
	for _, flag := range slices.Backward(s.Flags) {
		name, value, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		if n, err := strconv.ParseInt(value, 10, 32); name == expendableCutoff && err == nil {
			return int32(n)
		}
	}
	return expendableCutoffDefault
}
