package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/plural"
)

// Explanation says in sentences what a replay did with one thing, and why, in the order of time.
type Explanation struct {
	// Subject is "pod default/web-1", "node group workers" or "node workers-3".
	Subject   string     `json:"subject"`
	Scenario  string     `json:"scenario"`
	Sentences []Sentence `json:"sentences"`
}

// Sentence is one thing that is known.
type Sentence struct {
	At time.Time `json:"at"`
	// Offset is At as time since the start of the replay.
	Offset scalehist.Duration `json:"offset"`
	Text   string             `json:"text"`
}

// String is the explanation as text for a terminal.
func (e *Explanation) String() string {
	e = plaintext.Values(e)
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s:\n", e.Subject, e.Scenario)
	for _, s := range e.Sentences {
		fmt.Fprintf(&b, "  %-11s %s\n", "+"+s.Offset.String(), s.Text)
	}
	return b.String()
}

// explainer collects the sentences of one subject.
type explainer struct {
	r   *scalehist.ReplayReport
	out Explanation
}

func explaining(r *scalehist.ReplayReport, subject string) *explainer {
	return &explainer{r, Explanation{Subject: subject, Scenario: r.Scenario, Sentences: []Sentence{}}}
}

func (e *explainer) say(at time.Time, format string, args ...any) {
	e.out.Sentences = append(e.out.Sentences, Sentence{
		At: at.UTC(), Offset: scalehist.Duration(at.Sub(e.r.StartTime).Round(time.Millisecond)), Text: fmt.Sprintf(format, args...),
	})
}

// done puts the sentences in the order of time; those of one instant stay as they were said.
func (e *explainer) done() *Explanation {
	slices.SortStableFunc(e.out.Sentences, func(a, b Sentence) int { return a.At.Compare(b.At) })
	return &e.out
}

// unknown is the error for a subject the report does not hold.
func unknown(r *scalehist.ReplayReport, what, name string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("unknown %s %q: %s has none", what, name, r.Scenario)
	}
	var near []string
	for _, k := range known {
		if strings.Contains(k, name) {
			near = append(near, k)
		}
	}
	if len(near) == 0 {
		near = known
	}
	return fmt.Errorf("unknown %s %q: %s has %s", what, name, r.Scenario, some(near, 10))
}

// PodNames lists the pods a report knows ("namespace/name"), sorted; DaemonSet pods are left out.
func PodNames(r *scalehist.ReplayReport) []string {
	seen := map[string]bool{}
	for _, s := range []scalehist.ClusterSnapshot{r.Start, r.End} {
		for _, list := range [][]scalehist.PodInfo{s.ScheduledPods, s.UnscheduledPods} {
			for _, p := range list {
				if !strings.HasPrefix(p.Owner, "DaemonSet/") && !strings.HasPrefix(p.Owner, "Node/") {
					seen[p.Namespace+"/"+p.Name] = true
				}
			}
		}
	}
	for _, b := range r.Batches {
		for _, p := range b.DeployedPods {
			seen[p.Namespace+"/"+p.Name] = true
		}
	}
	return keys(seen)
}

// NodeGroupNames lists the node groups of a report, sorted.
func NodeGroupNames(r *scalehist.ReplayReport) []string {
	seen := map[string]bool{}
	for _, g := range r.NodeGroups {
		seen[g.Name] = true
	}
	return keys(seen)
}

// NodeNames lists the nodes a report knows, sorted.
func NodeNames(r *scalehist.ReplayReport) []string {
	seen := map[string]bool{}
	for _, s := range []scalehist.ClusterSnapshot{r.Start, r.End} {
		for _, n := range s.Nodes {
			seen[n.Name] = true
		}
	}
	for _, n := range r.ScaledUpNodes {
		seen[n.Name] = true
	}
	for _, b := range r.Batches {
		for _, n := range b.NodesJoined {
			seen[n] = true
		}
	}
	return keys(seen)
}

// optionText is an option as one reads it: "small: 2 nodes for 11 pods, least-waste 0.3500".
func optionText(o scalehist.Option) string {
	line := fmt.Sprintf("%s for %s", plural.Of(o.NodeCount, "node"), plural.Of(o.Pods, "pod"))
	for _, name := range keys(o.Scores) {
		line += fmt.Sprintf(", %s %.4f", name, o.Scores[name])
	}
	return line
}

// others says of each group but one why it was not the choice.
func others(d scalehist.Decision, group string) []string {
	var out []string
	for _, o := range d.Options {
		if o.NodeGroup == group || slices.Contains(o.SimilarNodeGroups, group) && o.Chosen {
			continue
		}
		line := fmt.Sprintf("%s would have been %s", o.NodeGroup, optionText(o))
		if o.Reason != "" {
			line += " (" + o.Reason + ")"
		}
		out = append(out, line)
	}
	for _, s := range d.Skipped {
		if s.NodeGroup != group {
			out = append(out, fmt.Sprintf("%s could not grow: %s", s.NodeGroup, s.Reason))
		}
	}
	for _, s := range d.Rejected {
		if s.NodeGroup != group {
			out = append(out, fmt.Sprintf("%s would have helped none: %s", s.NodeGroup, s.Reason))
		}
	}
	return out
}

// chosen is the option a decision took.
func chosen(d scalehist.Decision) (scalehist.Option, bool) {
	i := slices.IndexFunc(d.Options, func(o scalehist.Option) bool { return o.Chosen })
	if i < 0 {
		return scalehist.Option{}, false
	}
	return d.Options[i], true
}

// grown writes what a decision was granted: "small 1->3, large 0->2".
func grown(d scalehist.Decision) string {
	var parts []string
	for _, s := range d.ScaleUps {
		parts = append(parts, fmt.Sprintf("%s %d->%d", s.NodeGroup, s.From, s.To))
	}
	return strings.Join(parts, ", ")
}

// sentence joins a statement and what goes with it.
func sentence(head string, rest []string) string {
	if len(rest) == 0 {
		return head + "."
	}
	return head + "; " + strings.Join(rest, "; ") + "."
}
