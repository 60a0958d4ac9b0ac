package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/internal/widetable"
)

// batched says in which batches changes came, where they did not come at their own instants.
func batched(r *scalehist.ReplayReport) string {
	if r.BatchInterval == 0 {
		return ""
	}
	return ", batch " + r.BatchInterval.String()
}

// Text is the report as a page for a terminal.
func Text(r *scalehist.ReplayReport) string {
	r = plaintext.Values(r)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s replay of %s from %s%s\n\n", r.Scenario, r.Autoscaler, r.Playback,
		r.EndTime.Sub(r.StartTime).Round(time.Millisecond), r.StartTime.Format(time.RFC3339), batched(r))
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "fault: %s\n", f)
	}
	if len(r.Faults) > 0 {
		b.WriteString("\n")
	}
	if r.Playback.SingleMoments() {
		b.WriteString(eventTable(r))
	} else {
		b.WriteString(groupTable(r) + workloadTable(r) + requestTable(r))
	}
	writeDecisions(&b, r)
	if !r.Playback.SingleMoments() {
		writePods(&b, r)
	}
	writeCost(&b, r.Cost)
	if v := VerdictPage(r); v != "" {
		b.WriteString("\n" + v)
	}
	if v := TruthText(r); v != "" {
		b.WriteString("\n" + v)
	}
	if len(r.Warnings) > 0 {
		b.WriteString("\nwarnings:\n")
		for _, w := range r.Warnings {
			fmt.Fprintf(&b, "  %s\n", w)
		}
	}
	writeRun(&b, r.Run)
	return b.String()
}

// groupTable shows sizes per node group, replayed beside recorded.
func groupTable(r *scalehist.ReplayReport) string {
	t := newTable()
	header := table.Row{"node group", "machine", "min", "max", "initial", "final", "up", "down"}
	if r.Recorded != nil {
		header = append(header, "recorded final", "up", "down", "")
	}
	t.AppendHeader(header)
	t.SetColumnConfigs([]table.ColumnConfig{{Name: "max", Align: text.AlignRight}}) // a guess has a question mark
	for _, g := range r.NodeGroups {
		row := table.Row{g.Name, g.MachineType, g.MinSize, g.Bounds().MaxText(), g.Initial, g.Final, signed("+", g.ScaledUp), signed("-", g.ScaledDown)}
		if r.Recorded != nil {
			row = append(row, value(g.RecordedFinal), signed("+", value(g.RecordedScaledUp)), signed("-", value(g.RecordedScaledDown)), mark(r, g))
		}
		t.AppendRow(row)
	}
	return t.Render() + "\n"
}

// eventTable shows what was asked for at each recorded scale-up, then and now, and the sums.
func eventTable(r *scalehist.ReplayReport) string {
	t := newTable()
	t.AppendHeader(table.Row{"event", "recorded", "replayed", "pods placed", "pods left", ""})
	agreed := 0
	var recorded, replayed []scalehist.RecordedStep
	for _, e := range r.Events {
		verdict := "="
		if e.Agreed {
			agreed++
		} else {
			verdict = "differs"
		}
		recorded, replayed = append(recorded, e.Recorded...), append(replayed, e.Replayed...)
		row := table.Row{offset(r, e.At), stepList(e.Recorded), stepList(e.Replayed), len(e.Placed), e.Unschedulable, verdict}
		t.AppendRow(row)
	}
	t.AppendRow(table.Row{"all", growth(recorded), growth(replayed), "", "", fmt.Sprintf("%d of %d agree", agreed, len(r.Events))})
	return t.Render() + "\n"
}

// growth sums steps up by group: "large +2, small +3".
func growth(steps []scalehist.RecordedStep) string {
	sums := map[string]int{}
	for _, s := range steps {
		if s.To > s.From {
			sums[s.NodeGroup] += s.To - s.From
		}
	}
	var parts []string
	for _, name := range keys(sums) {
		parts = append(parts, fmt.Sprintf("%s +%d", name, sums[name]))
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

func stepList(steps []scalehist.RecordedStep) string {
	if len(steps) == 0 {
		return "nothing"
	}
	var parts []string
	for _, s := range steps {
		parts = append(parts, fmt.Sprintf("%s %d->%d", s.NodeGroup, s.From, s.To))
	}
	return strings.Join(parts, ", ")
}

func writeCost(b *strings.Builder, c *scalehist.Cost) {
	if c == nil {
		return
	}
	fmt.Fprintf(b, "\ncost: %.4f %s (node time from Ready to gone)\n", c.Total, c.Currency)
	for _, name := range keys(c.NodeGroups) {
		fmt.Fprintf(b, "  %s: %.4f for %.2f node-hours\n", name, c.NodeGroups[name], c.NodeHours[name])
	}
}

// mark says whether a group scaled and ended as recorded, or did so by the end of the recording when the replay went on after it.
func mark(r *scalehist.ReplayReport, g scalehist.NodeGroupResult) string {
	if g.RecordedFinal == nil || r.Agreement != nil && scaledOtherwise(r.Agreement, g.Name) {
		return "differs"
	}
	if *g.RecordedFinal == g.Final {
		return "="
	}
	if a := r.Agreement; a != nil && a.Until != nil && sizeAt(g, a.Until.Sub(r.StartTime)) == *g.RecordedFinal {
		return "= at " + offset(r, *a.Until)
	}
	return "differs"
}

// sizeAt is a group's target size at an offset from the start.
func sizeAt(g scalehist.NodeGroupResult, at time.Duration) int {
	size := g.Initial
	for _, s := range g.Sizes {
		if time.Duration(s.Offset) <= at {
			size = s.Size
		}
	}
	return size
}

func writeDecisions(b *strings.Builder, r *scalehist.ReplayReport) {
	fmt.Fprintf(b, "\ndecisions (%d of %s mattered):\n", len(r.Decisions), plural.Of(r.Loops, "loop"))
	for _, e := range Entries(r) {
		fmt.Fprintf(b, "  %-9s %s\n", offset(r, e.At), e.Summary)
		for _, line := range e.Because() {
			fmt.Fprintf(b, "            %s\n", line)
		}
	}
}

func writePods(b *strings.Builder, r *scalehist.ReplayReport) {
	p := r.Pending
	fmt.Fprintf(b, "\npending: %d of %s waited %.1f pod-seconds in all, %d still waiting at the end; of all, p50 %.1fs, p95 %.1fs, max %.1fs\n",
		p.Pods, plural.Of(p.Of, "pod"), p.PodSeconds, p.StillWaiting, p.P50, p.P95, p.Max)
	if len(r.UnschedulableAtEnd) == 0 {
		b.WriteString("unschedulable at end: none\n")
		return
	}
	fmt.Fprintf(b, "unschedulable at end: %s\n", plural.Of(len(r.UnschedulableAtEnd), "pod"))
	// Pods of one workload have one reason: it is said once.
	names := map[string][]string{}
	for _, p := range r.UnschedulableAtEnd {
		names[p.Message] = append(names[p.Message], p.Namespace+"/"+p.Name)
	}
	for _, message := range keys(names) {
		fmt.Fprintf(b, "  %s: %s\n    %s\n", plural.Of(len(names[message]), "pod"), some(names[message], 5), message)
	}
}

func writeRun(b *strings.Builder, run *scalehist.RunInfo) {
	if run == nil {
		return
	}
	b.WriteString("\nrun: " + run.ControlPlane)
	for _, phase := range []string{"boot", "apply", "schedule", "decide", "total"} {
		if s, ok := run.WallTime[phase]; ok {
			fmt.Fprintf(b, ", %s %.2fs", phase, s)
		}
	}
	var sum int64
	for _, name := range keys(run.PeakMemory) {
		sum += run.PeakMemory[name]
	}
	if sum > 0 {
		fmt.Fprintf(b, "; peak memory %d MB", sum>>20)
		for _, name := range keys(run.PeakMemory) {
			fmt.Fprintf(b, ", %s %d", name, run.PeakMemory[name]>>20)
		}
	}
	b.WriteString("\n")
	if run.Artifacts != "" {
		fmt.Fprintf(b, "artifacts: %s\n", run.Artifacts)
	}
}

// newTable is kubectl's look: no borders, header in capitals, two spaces between columns.
func newTable() table.Writer {
	t := widetable.New()
	t.SetStyle(table.StyleDefault)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Box.PaddingLeft, t.Style().Box.PaddingRight = "", "  "
	t.Style().Format.Header = text.FormatUpper
	return t
}

func signed(sign string, n int) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%s%d", sign, n)
}

func value(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}
