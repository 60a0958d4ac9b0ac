package html

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/metrics"
)

// builder makes the view of one report.
type builder struct {
	r     *scalehist.ReplayReport
	run   run
	texts map[string]int
	pods  map[string]int
	// nodes has the rows of a name, in the order of their lives: a name can come again.
	nodes  map[string][]int
	groups map[string]int
}

// buildRun makes the view of a report; shown are the metrics of the page, the same ones of all its runs.
func buildRun(label string, r *scalehist.ReplayReport, shown []metrics.Metric) run {
	b := &builder{r: r, texts: map[string]int{}, pods: map[string]int{}, nodes: map[string][]int{}, groups: map[string]int{}}
	b.run = run{
		Label: label, Scenario: r.Scenario, Autoscaler: r.Autoscaler, Playback: r.Playback, Start: r.StartTime,
		Length: ms(r.EndTime.Sub(r.StartTime)), Batch: r.BatchInterval.String(), Loops: r.Loops,
		Settings: append([]string{}, r.Settings.Flags...), Inputs: []string{}, Faults: r.Faults, Warnings: r.Warnings,
		AtEnd: []reason{}, Texts: []string{}, Controllers: r.Controllers,
	}
	if r.Settings.Priorities != "" {
		b.run.Settings = append(b.run.Settings, "priorities: "+r.Settings.Priorities)
	}
	for _, c := range r.SettingsChanges {
		b.run.Settings = append(b.run.Settings, fmt.Sprintf("from %s: %s", b.offset(c.At), strings.Join(c.Settings.Flags, " ")))
	}
	for _, in := range r.Inputs {
		b.run.Inputs = append(b.run.Inputs, in.Name+" sha256:"+in.SHA256)
	}
	b.verdict()
	b.metrics(shown)
	b.buildGroups()
	b.buildNodes()
	b.buildPods()
	if r.Playback != scalehist.PlaybackPerEvent { // there no time passes, and each event has a cluster of its own
		b.follow()
		b.draw()
		b.workloads()
	}
	b.decisions()
	for _, p := range r.UnschedulableAtEnd {
		b.run.AtEnd = append(b.run.AtEnd, reason{b.pod(p.Namespace + "/" + p.Name), b.text(p.Message)})
	}
	return b.run
}

func (b *builder) verdict() {
	if t := b.r.Truth; t != nil {
		b.run.Truth, b.run.TruthOK = report.TruthText(b.r), t.Agreed
	}
	a := b.r.Agreement
	if a == nil {
		return
	}
	v := &verdict{Agreed: a.Agreed, Line: report.VerdictLine(b.r), Groups: groupsDiffering(a)}
	if b.r.Recorded != nil {
		v.Source = b.r.Recorded.Source
	}
	if a.Until != nil {
		until := b.at(*a.Until)
		v.Until = &until
	}
	for _, x := range a.Questions {
		v.Questions = append(v.Questions, answer{string(x.Question), string(x.Verdict), x.Recorded, x.Replayed, x.Text, x.Question.Decides() || slices.Contains(a.Asked, x.Question)})
	}
	for _, d := range a.Differences {
		if d.Within {
			v.Within++
			continue
		}
		out := difference{Kind: d.Kind, What: strings.ReplaceAll(report.StepPair(b.r, d), "->", "→"), Reason: d.Reason}
		for _, step := range []*scalehist.RecordedStep{d.Recorded, d.Replayed} {
			if step != nil {
				out.At = b.at(step.At)
			}
		}
		v.Differences = append(v.Differences, out)
	}
	b.run.Verdict = v
	for _, e := range b.r.Events {
		b.run.Events = append(b.run.Events, event{At: b.at(e.At), Recorded: steps(e.Recorded), Replayed: steps(e.Replayed), Agreed: e.Agreed})
	}
}

// groupsDiffering names the groups that scaled otherwise than recorded.
func groupsDiffering(a *scalehist.Agreement) []string {
	var out []string
	for _, q := range []struct {
		question scalehist.Question
		sign     string
	}{{scalehist.QuestionScaledUp, "+"}, {scalehist.QuestionScaledDown, "−"}} {
		x, _ := a.Answer(q.question)
		for _, g := range x.Groups {
			out = append(out, fmt.Sprintf("%s: recorded %s%d, replayed %s%d", g.NodeGroup, q.sign, g.Recorded, q.sign, g.Replayed))
		}
	}
	return out
}

func steps(list []scalehist.RecordedStep) string {
	var parts []string
	for _, s := range list {
		parts = append(parts, fmt.Sprintf("%s %d→%d", s.NodeGroup, s.From, s.To))
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

func (b *builder) metrics(shown []metrics.Metric) {
	set := metrics.Of(b.r)
	for _, m := range shown {
		v := set.Get(m.Name)
		out := metric{Name: m.Name, Title: m.Title, Unit: v.Unit, Better: string(m.Better), Definition: m.Definition, Value: v.Value, Missing: v.Missing}
		if v.Value != nil {
			out.Text = metrics.Text(*v.Value, v.Unit)
		}
		b.run.Metrics = append(b.run.Metrics, out)
	}
}

func (b *builder) buildGroups() {
	b.run.Groups = []group{}
	if b.r.Cost != nil {
		b.run.Currency = b.r.Cost.Currency
	}
	for i, g := range b.r.NodeGroups {
		b.groups[g.Name] = i
		out := group{Name: g.Name, Machine: g.MachineType, Zone: g.Zone, Min: g.MinSize, Max: g.MaxSize, Guessed: g.GuessedMax, Initial: g.Initial, Final: g.Final,
			Up: g.ScaledUp, Down: g.ScaledDown, Delay: fmt.Sprintf("%s (%s)", g.ProvisionDelay, g.ProvisionDelayFrom)}
		for _, s := range g.Sizes {
			out.Sizes.add(ms(time.Duration(s.Offset)), float64(s.Size))
		}
		out.Recorded = b.recorded(g)
		if c := b.r.Cost; c != nil {
			cost, hours := c.NodeGroups[g.Name], c.NodeHours[g.Name]
			out.Cost, out.Hours = &cost, &hours
		}
		b.run.Groups = append(b.run.Groups, out)
	}
}

// recorded is the recorded target size of a group over time. The recording shows its steps and where it ended; where it
// began follows from the first step, or from the end when there was none.
func (b *builder) recorded(g scalehist.NodeGroupResult) *curve {
	if b.r.Recorded == nil || g.RecordedFinal == nil {
		return nil
	}
	c := &curve{}
	for _, s := range b.r.Recorded.Steps {
		if s.NodeGroup != g.Name {
			continue
		}
		if len(c.T) == 0 {
			c.add(0, float64(s.From))
		}
		c.add(b.at(s.At), float64(s.To))
	}
	if len(c.T) == 0 {
		c.add(0, float64(*g.RecordedFinal))
	}
	return c
}

// add sets the value from t on. Of several values at one instant the last stays.
func (c *curve) add(t int64, v float64) {
	if n := len(c.T); n > 0 && c.T[n-1] == t {
		c.V[n-1] = v
		return
	}
	c.T, c.V = append(c.T, t), append(c.V, v)
}

// text is the number of a text that may repeat.
func (b *builder) text(s string) int {
	n, ok := b.texts[s]
	if !ok {
		n = len(b.run.Texts)
		b.texts[s] = n
		b.run.Texts = append(b.run.Texts, s)
	}
	return n
}

// pod is the row of a pod; one that no snapshot and no batch has is added without anything known of it.
func (b *builder) pod(name string) int {
	n, ok := b.pods[name]
	if !ok {
		n = len(b.run.Pods.Name)
		b.pods[name] = n
		p := &b.run.Pods
		p.Name, p.Owner, p.CPU, p.Memory, p.Follows = append(p.Name, name), append(p.Owner, -1), append(p.CPU, -1), append(p.Memory, -1), append(p.Follows, 0)
	}
	return n
}

// node is the row of the node that has a name at an offset: the last that came by then, else the first. One that is in none of
// the lives is added as a name without a life.
func (b *builder) node(name string, at int64) int {
	rows := b.nodes[name]
	if len(rows) == 0 {
		return b.addNode(name, -1, -1, 0, 0)
	}
	found := rows[0]
	for _, row := range rows {
		if b.run.Nodes.From[row] <= at {
			found = row
		}
	}
	return found
}

func (b *builder) at(t time.Time) int64 { return ms(t.Sub(b.r.StartTime)) }

func (b *builder) offset(t time.Time) string {
	return "+" + t.Sub(b.r.StartTime).Round(time.Millisecond).String()
}

// ms is a duration in whole milliseconds, the nearest.
func ms(d time.Duration) int64 { return int64(math.Round(float64(d) / float64(time.Millisecond))) }
