package scenario

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/metrics"
)

// mostNames bounds a list of pods in a scaffold; more are counted.
const mostNames = 12

// observed is what a replay showed, as a scaffold states it.
type observed struct {
	up, down, final map[string]int
	pods            []string // without a node at the end, "namespace/name"
	recording       string   // agrees, differs, or empty where nothing was recorded
	first           *scalehist.Decision
	grown           scalehist.ScaleUp
	start           time.Time
	maxWait         time.Duration
	peak            int
	cost            *float64
	currency        string
	perEvent        bool
	workloads       []scalehist.WorkloadResult // that a controller scaled, or that have load
}

func observe(r *scalehist.ReplayReport) observed {
	o := observed{
		up: moved(r.ScaledUpNodeGroups), down: moved(r.ScaledDownNodeGroups), final: map[string]int{}, start: r.StartTime,
		perEvent: r.Playback == scalehist.PlaybackPerEvent,
	}
	for _, g := range r.NodeGroups {
		o.final[g.Name] = g.Final
	}
	for _, w := range r.Workloads {
		if report.Shown(w) {
			o.workloads = append(o.workloads, w)
		}
	}
	for _, p := range r.UnschedulableAtEnd {
		o.pods = append(o.pods, p.Namespace+"/"+p.Name)
	}
	slices.Sort(o.pods)
	if r.Agreement != nil && r.Origin != scalehist.OriginScripted { // that one is nothing to agree with
		o.recording = agrees
		if !r.Agreement.Agreed {
			o.recording = differs
		}
	}
	for i := range r.Decisions {
		if len(r.Decisions[i].ScaleUps) > 0 {
			o.first, o.grown = &r.Decisions[i], r.Decisions[i].ScaleUps[0]
			break
		}
	}
	values := metrics.Of(r)
	if v := values.Get("pending.max").Value; v != nil {
		o.maxWait = time.Duration(math.Ceil(*v)) * time.Second
	}
	if v := values.Get("nodes.peak").Value; v != nil {
		o.peak = int(math.Ceil(*v))
	}
	if c := values.Get("cost"); c.Value != nil {
		up := math.Ceil(*c.Value*1e4) / 1e4
		o.cost, o.currency = &up, c.Unit
	}
	return o
}

func moved(sizes map[string]int) map[string]int {
	out := map[string]int{}
	for name, n := range sizes {
		if n != 0 {
			out[name] = n
		}
	}
	return out
}

// quoted is a YAML scalar of a text.
func quoted(s string) string {
	b, err := yaml.Marshal(s)
	if err != nil || strings.Contains(strings.TrimSuffix(string(b), "\n"), "\n") {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(string(b), "\n")
}

var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._/-]*$`)

// inFlow is a YAML scalar of a text within {} or [], where more must be quoted.
func inFlow(s string) string {
	if q := quoted(s); plain.MatchString(q) {
		return q
	}
	return strconv.Quote(s)
}

func flow(sizes map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		parts = append(parts, fmt.Sprintf("%s: %d", inFlow(name), sizes[name]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// YAML is a scenario file that states the settings of s and, as expectations, what its replay showed, with comments that say what to change.
func (s *Scenario) YAML(r *scalehist.ReplayReport) string {
	o := observe(r)
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# yaml-language-server: $schema=%s", schemaURL)
	line("#")
	line("# What a replay of %s showed, as a scenario: run it with 'scalehist test'.", strings.Join(strings.Fields(s.History), " "))
	line("# Change what should be different, and take out what you do not care about; docs/scenarios.md has every key.")
	line("name: %s", quoted(s.Name))
	line("history: %s", quoted(s.History))
	b.WriteString(s.settings(r))
	line("\nexpect:")
	line("  # Nodes each group grew by and lost. A group that is not named must not have moved; a range is \">= 2\", 2..4 or any.")
	line("  scaledUp: %s", flow(o.up))
	if !o.perEvent {
		line("  scaledDown: %s", flow(o.down))
		line("  # Target sizes at the end, of the groups that matter to you.")
		line("  finalSizes: %s", flow(o.final))
		line("  # Pods without a node at the end: none, a count, or exactly these.")
		line("  unschedulable: %s", o.unschedulable())
	}
	if o.recording != "" {
		line("  # Whether groups grew and shrank as recorded and as many pods are left: agrees, or differs; {agrees: [steps, waits]} asks more.")
		line("  recording: %s", o.recording)
	}
	if len(o.workloads) > 0 {
		line("  # Replicas of the workloads that matter to you: final, peak, ready, scaledUp, scaledDown, and the controller.")
		line("  workloads:")
		for _, w := range o.workloads {
			sized := ""
			if w.SizedBy != "" {
				sized = fmt.Sprintf(", evicted: %d, resized: %d, oomKills: %d", w.Evicted, w.Resized, len(w.OOMKills))
			}
			line("    %s: {final: %d, peak: %d, scaledUp: %d, scaledDown: %d%s}", quoted(w.String()), w.Final, w.Peak, w.ScaledUp, w.ScaledDown, sized)
		}
	}
	if o.first != nil {
		line("  # What the autoscaler decided first, and when: loosen it to a range (at: +10s..+30s), or leave it out.")
		line("  decisions:")
		line("  - {first: scale-up, at: %s, nodeGroup: %s, nodes: %d}", o.firstAt(), inFlow(o.grown.NodeGroup), o.grownBy())
	}
	if !o.perEvent {
		line("  # Limits of metrics; 'scalehist gate --explain-metrics' lists them. These are what the replay needed.")
		line("  metrics:")
		line("    pending.max: <= %s", o.maxWait)
		line("    nodes.peak: <= %d", o.peak)
		if o.cost != nil {
			line("  cost: <= %s # %s", strconv.FormatFloat(*o.cost, 'f', -1, 64), o.currency)
		}
	}
	return b.String()
}

// firstAt is when the first scale-up was; of an instant that nobody would write, the millisecond around it.
func (o observed) firstAt() Offset {
	at := o.first.At.Sub(o.start)
	if floor := at.Truncate(time.Millisecond); floor != at {
		return Offset{From: floor, To: floor + time.Millisecond, Set: true}
	}
	return Offset{From: at, To: at, Set: true}
}

// grownBy is by how many nodes the first scale-up changed the group it names.
func (o observed) grownBy() int {
	n := 0
	for _, s := range o.first.ScaleUps {
		if s.NodeGroup == o.grown.NodeGroup {
			n += s.To - s.From
		}
	}
	return n
}

func (o observed) unschedulable() string {
	switch {
	case len(o.pods) == 0:
		return "none"
	case len(o.pods) > mostNames:
		return strconv.Itoa(len(o.pods))
	}
	var parts []string
	for _, p := range o.pods {
		parts = append(parts, inFlow(strings.TrimPrefix(p, "default/")))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// settings are the keys of s that are not the default, in the order of Scenario; those that people change first are there as comments.
func (s *Scenario) settings(r *scalehist.ReplayReport) string {
	var b strings.Builder
	line := func(given bool, format string, args ...any) {
		if given {
			fmt.Fprintf(&b, format+"\n", args...)
		}
	}
	from, to := s.Window.From.String(), s.Window.To.String()
	switch {
	case from != "" && to != "":
		line(true, "window: {from: %s, to: %s}", from, to)
	case from != "" || to != "":
		line(from != "", "window: {from: %s}", from)
		line(to != "", "window: {to: %s}", to)
	default:
		line(true, "# window: {from: +0s, to: +%s}", r.EndTime.Sub(r.StartTime))
	}
	line(s.For != 0, "for: %s", s.For)
	line(s.Playback != "", "playback: %s", s.Playback)
	line(s.Autoscaler != "", "autoscaler: %s", quoted(s.Autoscaler))
	line(len(s.Flags) > 0, "flags:")
	for _, f := range s.Flags {
		line(true, "- %s", quoted(f))
	}
	line(len(s.Flags) == 0, "# flags: [--expander=most-pods]")
	line(s.NoScaleDown, "noScaleDown: true")
	line(s.Seed != 0, "seed: %d", s.Seed)
	line(s.Ties != "", "ties: %s", s.Ties)
	line(s.Scheduler != "", "scheduler: %s", s.Scheduler)
	line(s.BatchInterval != 0, "batchInterval: %s", s.BatchInterval)
	line(s.ProvisionDelay != nil, "provisionDelay: %s", value(s.ProvisionDelay))
	line(s.DeletionDelay != nil, "deletionDelay: %s", value(s.DeletionDelay))
	line(s.Termination != nil, "termination: %s", value(s.Termination))
	line(s.GPULabel != "", "gpuLabel: %s", quoted(s.GPULabel))
	line(s.Signs, "signs: true")
	line(s.SkipUnsupported, "skipUnsupported: true")
	line(s.FullSnapshots, "fullSnapshots: true")
	line(s.ControlPlane != "", "controlPlane: %s", s.ControlPlane)
	line(s.Optimal, "optimal: true")
	line(s.Horizontal != "", "horizontal: %s", quoted(s.Horizontal))
	line(s.Objects != "", "objects: %s", quoted(s.Objects))
	line(s.Load != "", "load: %s", quoted(s.Load))
	line(len(s.NodeGroups) > 0, "nodeGroups:")
	for _, name := range slices.Sorted(maps.Keys(s.NodeGroups)) {
		line(true, "  %s: {%s}", quoted(name), strings.Join(groupParts(s.NodeGroups[name]), ", "))
	}
	line(len(s.Faults) > 0, "faults:")
	for _, f := range s.Faults {
		line(true, "- %s", quoted(f.String()))
	}
	line(s.FaultFile != "", "faultFile: %s", quoted(s.FaultFile))
	line(s.RecordedFaults != nil, "recordedFaults: %t", value(s.RecordedFaults))
	line(len(s.Faults) == 0 && len(r.NodeGroups) > 0, "# faults: [%s]", s.exampleFault(r))
	if p := s.Prices; p != nil {
		line(p.Region == "" && p.Model == "", "prices: %s", quoted(p.Table))
		line(p.Region != "" && p.Model == "", "prices: {table: %s, region: %s}", inFlow(p.Table), inFlow(p.Region))
		line(p.Region == "" && p.Model != "", "prices: {table: %s, model: %s}", inFlow(p.Table), inFlow(p.Model))
		line(p.Region != "" && p.Model != "", "prices: {table: %s, region: %s, model: %s}", inFlow(p.Table), inFlow(p.Region), inFlow(p.Model))
	}
	return b.String()
}

func groupParts(g harness.GroupSettings) []string {
	var out []string
	if g.MinSize != nil {
		out = append(out, fmt.Sprintf("minSize: %d, maxSize: %d", *g.MinSize, value(g.MaxSize)))
	}
	if g.ProvisionDelay != nil {
		out = append(out, "provisionDelay: "+g.ProvisionDelay.String())
	}
	if g.PriceModel != "" {
		out = append(out, "priceModel: "+g.PriceModel)
	}
	return out
}

func (s *Scenario) exampleFault(r *scalehist.ReplayReport) string {
	if len(r.NodeGroups) == 0 {
		return ""
	}
	return inFlow("stock-out:" + r.NodeGroups[0].Name + "@+1m..+5m")
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
