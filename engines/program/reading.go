package program

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
)

// reading turns the log of one loop into its reasons. Its sources are the log lines of cluster-autoscaler 1.36.1, named by file.
type reading struct {
	d       *scalehist.Decision
	groupOf func(node string) string
	wall    time.Time // when the loop began, on the autoscaler's clock
	speed   float64

	unfit    map[string]map[string]int // by group, the reasons of pods
	since    map[string]time.Time
	waste    map[string]float64
	backoff  []scalehist.GroupBackoff
	asked    map[string]bool
	cooling  bool
	tried    bool
	none     bool
	estimate map[string]int
	pods     map[string]string // namespace/name by name
}

// rule is what one kind of line says.
type rule struct {
	line *regexp.Regexp
	take func(r *reading, m []string)
}

func on(pattern string, take func(r *reading, m []string)) rule {
	return rule{regexp.MustCompile("^" + pattern), take}
}

var rules = []rule{
	// core/podlistprocessor/filter_out_schedulable.go, simulator/scheduling/hinting_simulator.go
	on(`(\d+) pods marked as unschedulable can be scheduled\.`, func(r *reading, m []string) { r.d.FilteredSchedulable, _ = strconv.Atoi(m[1]) }),
	on(`failed to find place for (\S+?/\S+?):? (?:based|can't)`, func(r *reading, m []string) { r.asked[m[1]] = true }),
	on(`Pod ([^/\s]+)/(\S+) can be moved to`, func(r *reading, m []string) { r.pods[m[2]] = m[1] + "/" + m[2] }),
	on(`There were also (\d+) other logs from HintingSimulator`, func(r *reading, m []string) {
		r.d.Notes = append(r.d.Notes, m[1]+" more pods asked for room than the autoscaler named")
	}),
	// core/static_autoscaler.go
	on(`Pod (\S+/\S+) is unschedulable`, func(r *reading, m []string) { r.asked[m[1]] = true }),
	on(`No unschedulable pods`, func(r *reading, _ []string) { r.outcome(scalehist.ScaleUpNotNeeded) }),
	on(`Unschedulable pods are very new`, func(r *reading, _ []string) { r.outcome(scalehist.ScaleUpInCooldown) }),
	on(`(Max total nodes in cluster reached: .*)`, func(r *reading, m []string) {
		r.outcome(scalehist.ScaleUpLimitedByMaxNodesTotal)
		r.d.Notes = append(r.d.Notes, m[1])
	}),
	on(`Deleting (\d+) from (\S+) node group because of create errors`, func(r *reading, m []string) {
		r.d.Notes = append(r.d.Notes, fmt.Sprintf("%s of %s could not be created, and are deleted", plural.Of(number(m[1]), "instance"), m[2]))
	}),
	on(`Scale down status: .*scaleDownForbidden=(\w+)(?:.*scaleDownInCooldown=(\w+))?`, func(r *reading, m []string) {
		r.cooling = m[1] == "true" || m[2] == "true"
		r.tried = true
	}),
	on(`Starting scale down: no scale down candidates`, func(r *reading, _ []string) { r.none = true }),
	on(`Starting scale down`, func(r *reading, _ []string) { r.cooling = false }),
	// core/scaleup/orchestrator/orchestrator.go
	on(`Skipping node group (\S+) - max size reached`, skipped("max node group size reached")),
	on(`Skipping node group (\S+) - atomic scale-up exceeds`, skipped("atomic scale-up exceeds cluster node count limit")),
	on(`Skipping node group (\S+); (.*quota exceeded.*)`, func(r *reading, m []string) { skipped(m[2])(r, m) }),
	on(`Node group (\S+) is not ready for scaleup - backoff`, skipped("in backoff after failed scale-up")),
	on(`Node group (\S+) is not ready for scaleup - unhealthy`, skipped("not ready for scale-up")),
	on(`Pod \S+ can't be scheduled on (\S+), predicate checking error: (.*)`, func(r *reading, m []string) { r.reject(m[1], shortReason(m[2])) }),
	on(`No pod can fit to (\S+)`, func(r *reading, m []string) { r.reject(m[1], "") }),
	on(`No expansion options`, func(r *reading, _ []string) { r.outcome(scalehist.ScaleUpNoOptionsAvailable) }),
	on(`Estimated (\d+) nodes needed in (\S+)`, func(r *reading, m []string) { r.estimate[m[2]] = number(m[1]) }),
	on(`Failed to scale up: (.*)`, func(r *reading, m []string) {
		r.outcome(scalehist.ScaleUpError)
		r.d.Notes = append(r.d.Notes, "failed to scale up: "+m[1])
	}),
	// expander/waste/waste.go
	on(`Expanding Node Group (\S+) would waste ([\d.]+)% CPU, ([\d.]+)% Memory`, func(r *reading, m []string) {
		r.waste[m[1]] = (fraction(m[2]) + fraction(m[3])) / 100
	}),
	// clusterstate/clusterstate.go
	on(`Disabling scale-up for node group (\S+) until (\S+ \S+ \S+)(?: .*)?; errorClass=(\w*); errorCode=(\S*)`, func(r *reading, m []string) {
		until, err := time.Parse("2006-01-02 15:04:05.999999999 -0700", m[2])
		if err != nil {
			return
		}
		wait := time.Duration(float64(until.Sub(r.wall)) * r.speed)
		r.backoff = append(r.backoff, scalehist.GroupBackoff{NodeGroup: m[1], Until: r.d.At.Add(wait).Round(time.Second), Reason: m[3] + "." + m[4]})
	}),
	// core/scaledown/eligibility/eligibility.go, simulator/cluster.go, processors/nodes
	on(`Node (\S+) unremovable: (.*)`, unremovable),
	on(`Node (\S+) cannot be removed: (.*)`, unremovable),
	on(`Node (\S+) is not suitable for removal: (.*)`, unremovable),
	on(`Skipping (\S+) - (node group min size reached)`, unremovable),
	// core/scaledown/unneeded/nodes.go
	on(`(\S+) is unneeded since .* duration (\S+)`, func(r *reading, m []string) {
		if d, err := time.ParseDuration(m[2]); err == nil {
			r.since[m[1]] = r.d.At.Add(-time.Duration(float64(d) * r.speed)).Round(time.Millisecond)
		}
	}),
	// core/scaledown/actuation/actuator.go
	on(`Scale-down: removing empty node "?([^" ]+)"?`, func(r *reading, m []string) { r.deletes(m[1], 0, nil) }),
	on(`Scale-down: removing node ([^, ]+), utilization: \{(.*)\}, pods to reschedule: (.*)`, func(r *reading, m []string) {
		used := m[2][strings.LastIndexByte(m[2], ' ')+1:]
		r.deletes(m[1], fraction(used), strings.Split(m[3], ","))
	}),
	// utils/kubernetes: events as they are sent
	on(`Event\(v1\.ObjectReference\{Kind:"(\w+)", Namespace:"([^"]*)", Name:"([^"]*)".*?\}\): type: '\w+' reason: '(\w+)' (.*)`, func(r *reading, m []string) {
		object := m[1] + "/" + m[3]
		if m[2] != "" && m[1] != "Node" {
			object = m[1] + "/" + m[2] + "/" + m[3]
		}
		r.d.Events = append(r.d.Events, scalehist.Event{Reason: m[4], Object: object, Message: m[5]})
	}),
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func fraction(s string) float64 {
	f, _ := strconv.ParseFloat(s, 64)
	return f
}

func skipped(reason string) func(*reading, []string) {
	return func(r *reading, m []string) {
		r.d.Skipped = append(r.d.Skipped, scalehist.GroupReason{NodeGroup: m[1], Reason: reason})
	}
}

func unremovable(r *reading, m []string) {
	r.d.Unremovable = append(r.d.Unremovable, scalehist.NodeReason{Node: m[1], Reason: m[2]})
}

// shortReason takes the reasons out of a predicate error (simulator/clustersnapshot/scheduling_error.go).
var reasons = regexp.MustCompile(`reasons: (.*?)(?:, debugInfo=|; debugInfo=|$)`)

func shortReason(text string) string {
	if m := reasons.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return text
}

func (r *reading) reject(group, reason string) {
	if r.unfit[group] == nil {
		r.unfit[group] = map[string]int{}
	}
	if reason != "" {
		r.unfit[group][reason]++
	}
}

// outcome keeps the first that is said.
func (r *reading) outcome(o scalehist.ScaleUpOutcome) {
	if r.d.Outcome == scalehist.ScaleUpNotTried {
		r.d.Outcome = o
	}
}

func (r *reading) deletes(node string, used float64, pods []string) {
	if slices.ContainsFunc(r.d.Deleting, func(n scalehist.NodeDeletion) bool { return n.Node == node }) {
		return // the line and the event say the same
	}
	pods = slices.DeleteFunc(pods, func(p string) bool { return p == "" })
	for i, p := range pods {
		pods[i] = cmp.Or(r.pods[p], p) // the line has names alone
	}
	slices.Sort(pods)
	r.d.Deleting = append(r.d.Deleting, scalehist.NodeDeletion{NodeGroup: r.groupOf(node), Node: node, Utilization: used, Pods: pods})
}

// read takes the lines of a loop.
func (r *reading) read(lines []string) {
	r.unfit, r.since, r.waste = map[string]map[string]int{}, map[string]time.Time{}, map[string]float64{}
	r.asked, r.estimate, r.pods = map[string]bool{}, map[string]int{}, map[string]string{}
	for _, line := range lines {
		for _, x := range rules {
			if m := x.line.FindStringSubmatch(line); m != nil {
				x.take(r, m)
				break
			}
		}
	}
	d := r.d
	d.UnschedulablePods = slices.Sorted(maps.Keys(r.asked))
	r.scaleUp()
	r.scaleDown()
}

// scaleUp completes what is said of the scale-up part.
func (r *reading) scaleUp() {
	d := r.d
	switch {
	case len(d.ScaleUps) > 0:
		d.Outcome = scalehist.ScaleUpSuccessful
	case len(d.Failed) > 0:
		d.Outcome = scalehist.ScaleUpError
	}
	for _, group := range slices.Sorted(maps.Keys(r.waste)) {
		if _, best := r.estimate[group]; !best { // the log does not say for how many nodes and pods
			d.Notes = append(d.Notes, fmt.Sprintf("another option was %s, least-waste %.4g", group, r.waste[group]))
		}
	}
	for group, n := range r.estimate {
		d.Options = append(d.Options, scalehist.Option{NodeGroup: group, NodeCount: n, Chosen: true, Reason: "best option to resize"})
	}
	for i := range d.Options {
		if w, ok := r.waste[d.Options[i].NodeGroup]; ok {
			d.Options[i].Scores = map[string]float64{"least-waste": w}
		}
	}
	slices.SortFunc(d.Options, func(a, b scalehist.Option) int { return strings.Compare(a.NodeGroup, b.NodeGroup) })
	for _, group := range slices.Sorted(maps.Keys(r.unfit)) {
		if slices.ContainsFunc(d.Options, func(o scalehist.Option) bool { return o.NodeGroup == group }) {
			continue // some pods fit
		}
		var parts []string
		for _, reason := range slices.Sorted(maps.Keys(r.unfit[group])) {
			parts = append(parts, plural.Of(r.unfit[group][reason], "pod")+": "+reason)
		}
		if len(parts) == 0 {
			parts = []string{"no pod can fit"}
		}
		d.Rejected = append(d.Rejected, scalehist.GroupReason{NodeGroup: group, Reason: strings.Join(parts, "; ")})
	}
	slices.SortStableFunc(d.Skipped, func(a, b scalehist.GroupReason) int { return strings.Compare(a.NodeGroup, b.NodeGroup) })
	triggered(d)
}

// maxNames is how many pods an option names.
const maxNames = 20

// triggered names the pods of the chosen option: those that have an event that they triggered it.
func triggered(d *scalehist.Decision) {
	var names []string
	for _, e := range d.Events {
		if pod, ok := strings.CutPrefix(e.Object, "Pod/"); ok && e.Reason == "TriggeredScaleUp" && !slices.Contains(names, pod) {
			names = append(names, pod)
		}
	}
	slices.Sort(names)
	d.PodsTriggered = len(names)
	for i := range d.Options {
		if d.Options[i].Chosen {
			d.Options[i].Pods, d.Options[i].PodNames = len(names), names[:min(len(names), maxNames)]
		}
	}
}

// scaleDown completes what is said of the scale-down part.
func (r *reading) scaleDown() {
	d := r.d
	d.Unneeded = slices.Sorted(maps.Keys(r.since))
	for i := range d.Deleting {
		d.Deleting[i].UnneededSince = d.At
		if since, ok := r.since[d.Deleting[i].Node]; ok {
			d.Deleting[i].UnneededSince = since
		}
	}
	slices.SortFunc(d.Unremovable, func(a, b scalehist.NodeReason) int { return strings.Compare(a.Node, b.Node) })
	switch {
	case len(d.Deleting) > 0:
		d.ScaleDown = scalehist.ScaleDownNodeDeleteStarted
	case !r.tried:
	case r.none:
		d.ScaleDown = scalehist.ScaleDownNoCandidates
	case r.cooling:
		d.ScaleDown = scalehist.ScaleDownInCooldown
	case len(d.Unneeded) == 0:
		d.ScaleDown = scalehist.ScaleDownNoUnneeded
	default:
		d.ScaleDown = scalehist.ScaleDownNoNodeDeleted
	}
}
