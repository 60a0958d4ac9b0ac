package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
)

// Loop is one loop of a run, ours or upstream's, as far as both show.
type Loop struct {
	// Number counts from 1.
	Number int `json:"number"`
	// Result is the outcome of the scale-up part, ScaleDown that of the scale-down part, in upstream's words.
	Result    string `json:"result"`
	ScaleDown string `json:"scaleDown,omitempty"`
	// ScaleUps are in upstream's notation, sorted: "{g 1->3 (max: 5)}".
	ScaleUps []string `json:"scaleUps,omitempty"`
	// Options are what the expander chose from.
	Options []LoopOption `json:"options,omitempty"`
	// Removed are the nodes whose removal began, by group.
	Removed map[string][]string `json:"removed,omitempty"`
	// Reasons say why groups did not grow ("skipped g: ...", "rejected g: ...") and nodes stayed ("node n: ..."), sorted;
	// upstream's with the number of pods they were said of.
	Reasons []string `json:"reasons,omitempty"`
	// Notes are what else cut or changed the decision, an error among it.
	Notes []string `json:"notes,omitempty"`
}

// LoopOption is one option of a Loop.
type LoopOption struct {
	NodeGroup string   `json:"nodeGroup"`
	Nodes     int      `json:"nodes"`
	Pods      int      `json:"pods"`
	Similar   []string `json:"similar,omitempty"`
	Chosen    bool     `json:"chosen,omitempty"`
	// Reason is why it won or lost; upstream's says if it was tied.
	Reason string `json:"reason,omitempty"`
}

// Loops are the loops of our run. What the autoscaler does between two of them belongs to the one before.
func (r Result) Loops(c Case) []Loop {
	var out []Loop
	for _, d := range r.Decisions {
		if c.Input.ScaleDown() && d.ScaleDown == "" {
			continue // work between two loops: the removal that began in the one before goes on
		}
		l := Loop{Number: len(out) + 1, Result: string(d.Outcome), ScaleDown: string(d.ScaleDown), Notes: d.Notes}
		for _, s := range d.ScaleUps {
			l.ScaleUps = append(l.ScaleUps, s.String())
		}
		for _, o := range d.Options {
			l.Options = append(l.Options, LoopOption{NodeGroup: o.NodeGroup, Nodes: o.NodeCount, Pods: o.Pods, Similar: o.SimilarNodeGroups, Chosen: o.Chosen, Reason: o.Reason})
		}
		for _, x := range d.Deleting {
			l.remove(x.NodeGroup, x.Node)
		}
		l.Reasons = append(groupReasons("skipped", d.Skipped), groupReasons("rejected", d.Rejected)...)
		for _, n := range d.Unremovable {
			l.Reasons = append(l.Reasons, fmt.Sprintf("node %s: %s", n.Node, n.Reason))
		}
		for _, f := range d.Failed {
			l.Notes = append(l.Notes, fmt.Sprintf("scale-up of %s by %d failed: %s", f.NodeGroup, f.Delta, f.Reason))
		}
		l.sort()
		out = append(out, l)
	}
	return out
}

func groupReasons(what string, reasons []scalehist.GroupReason) []string {
	var out []string
	for _, r := range reasons {
		out = append(out, fmt.Sprintf("%s %s: %s", what, r.NodeGroup, r.Reason))
	}
	return out
}

func (l *Loop) remove(group, node string) {
	if l.Removed == nil {
		l.Removed = map[string][]string{}
	}
	l.Removed[group] = append(l.Removed[group], node)
}

func (l *Loop) sort() {
	slices.Sort(l.ScaleUps)
	slices.Sort(l.Reasons)
	for _, nodes := range l.Removed {
		slices.Sort(nodes)
	}
}

// recordedRun is the part of a sample that Loop shows.
type recordedRun struct {
	Removed []struct {
		Loop        int
		Node, Group string
	}
	Iterations []struct {
		Loop    int
		ScaleUp []struct {
			Result, Error           string
			Infos                   []string
			PodsRemainUnschedulable []struct{ Rejected, Skipped map[string][]string }
		}
		Expander []struct {
			Options []struct {
				Group       string
				Nodes, Pods int
				Similar     []string
			}
			Tied   []string
			Chosen string
		}
		ScaleDown struct {
			Result      string
			Unremovable map[string]string
		}
	}
}

// SampleLoops are the loops of upstream's recorded sample, nil if the case has none.
func (c Case) SampleLoops() ([]Loop, error) {
	if len(c.Sample) == 0 {
		return nil, nil
	}
	var run recordedRun
	if err := json.Unmarshal(c.Sample, &run); err != nil {
		return nil, fmt.Errorf("case %s: sample: %w", c.Name, err)
	}
	var out []Loop
	for _, it := range run.Iterations {
		l := Loop{Number: it.Loop + 1, ScaleDown: it.ScaleDown.Result}
		pods := map[string]int{}
		for _, s := range it.ScaleUp {
			if l.Result == "" || len(s.Infos) > 0 {
				l.Result = s.Result
			}
			l.ScaleUps = append(l.ScaleUps, s.Infos...)
			if s.Error != "" {
				l.Notes = append(l.Notes, s.Error)
			}
			for _, p := range s.PodsRemainUnschedulable {
				for what, groups := range map[string]map[string][]string{"skipped": p.Skipped, "rejected": p.Rejected} {
					for group, reasons := range groups {
						for _, reason := range reasons {
							pods[fmt.Sprintf("%s %s: %s", what, group, reason)]++
						}
					}
				}
			}
		}
		for _, reason := range slices.Sorted(maps.Keys(pods)) {
			l.Reasons = append(l.Reasons, fmt.Sprintf("%s (%s)", reason, plural.Of(pods[reason], "pod")))
		}
		for node, reason := range it.ScaleDown.Unremovable {
			l.Reasons = append(l.Reasons, fmt.Sprintf("node %s: %s", node, reason))
		}
		for _, e := range it.Expander {
			for _, o := range e.Options {
				option := LoopOption{NodeGroup: o.Group, Nodes: o.Nodes, Pods: o.Pods, Similar: o.Similar, Chosen: o.Group == e.Chosen}
				if len(e.Tied) > 1 && slices.Contains(e.Tied, o.Group) {
					option.Reason = "tied"
				}
				l.Options = append(l.Options, option)
			}
		}
		for _, x := range run.Removed {
			if x.Loop == it.Loop {
				l.remove(x.Group, x.Node)
			}
		}
		l.sort()
		out = append(out, l)
	}
	return out, nil
}

// Divergence is a loop in which we do something else than upstream's sample.
type Divergence struct {
	// What differs: "scale-up", "scale-down", or both; "length" when one run goes on and does something after the other ended.
	What string `json:"what"`
	Ours *Loop  `json:"ours"`
	// Upstream is nil when its run had ended, Ours when ours had.
	Upstream *Loop `json:"upstream"`
}

// Diverges is the first loop in which what was asked of the cloud provider differs from the sample, nil if none does or
// there is no sample. Which of several equal nodes of a group is removed is chance: numbers are compared.
func Diverges(c Case, r Result) (*Divergence, error) {
	theirs, err := c.SampleLoops()
	if err != nil || len(theirs) == 0 {
		return nil, err
	}
	ours := r.Loops(c)
	for i := range max(len(ours), len(theirs)) {
		switch {
		case i >= len(ours):
			if theirs[i].acts() {
				return &Divergence{What: "length", Upstream: &theirs[i]}, nil
			}
		case i >= len(theirs):
			if ours[i].acts() {
				return &Divergence{What: "length", Ours: &ours[i]}, nil
			}
		default:
			if what := differ(ours[i], theirs[i]); what != "" {
				return &Divergence{What: what, Ours: &ours[i], Upstream: &theirs[i]}, nil
			}
		}
	}
	return nil, nil
}

func (l Loop) acts() bool { return len(l.ScaleUps) > 0 || len(l.Removed) > 0 }

func differ(a, b Loop) string {
	up := !slices.Equal(a.ScaleUps, b.ScaleUps)
	down := !maps.EqualFunc(a.Removed, b.Removed, func(x, y []string) bool { return len(x) == len(y) })
	switch {
	case up && down:
		return "scale-up and scale-down"
	case up:
		return "scale-up"
	case down:
		return "scale-down"
	}
	return ""
}
