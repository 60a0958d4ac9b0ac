package expect

import (
	"fmt"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
)

// Counts are wanted changes or sizes by node group, in nodes. Others is for the groups that are not named.
type Counts map[string]Count

// Others is the key of Counts for every group that is not named.
const Others = "*"

// HaveChanged succeeds when every node group grew (report.Up) or shrank (report.Down) by a wanted number of nodes, counting each
// granted step. A group that is not named must not have moved, unless Others says else.
func HaveChanged(dir report.Direction, want Counts) Matcher {
	if exact, ok := want.exact(); ok {
		return &sizesMatcher{want: exact, dir: dir}
	}
	return &countsMatcher{want: want, what: string(dir), dir: dir, strict: true, of: func(g scalehist.NodeGroupResult) int {
		if dir == report.Down {
			return g.ScaledDown
		}
		return g.ScaledUp
	}}
}

// HaveFinalSizes succeeds when the named node groups have a wanted target size at the end; Others is for the ones that are not named.
func HaveFinalSizes(want Counts) Matcher {
	return &countsMatcher{want: want, what: "final size", dir: report.Net, of: func(g scalehist.NodeGroupResult) int { return g.Final }}
}

// exact are the wants without ranges; false when there is one.
func (c Counts) exact() (map[string]int, bool) {
	out := map[string]int{}
	for name, count := range c {
		n, ok := count.Exact()
		if !ok || name == Others {
			return nil, false
		}
		out[name] = n
	}
	return out, true
}

type countsMatcher struct {
	want   Counts
	what   string
	dir    report.Direction
	strict bool // groups that are not named must not have moved
	of     func(scalehist.NodeGroupResult) int
	report *scalehist.ReplayReport
	table  string
	// nearest are the changes that would have been wanted and part least from those there were.
	nearest map[string]int
}

func (m *countsMatcher) Match(actual any) (bool, error) {
	r, err := asReport(actual)
	if err != nil {
		return false, err
	}
	m.report, m.nearest = r, map[string]int{}
	named := map[string]bool{}
	for name := range m.want {
		if name != Others {
			named[name] = true
		}
	}
	if err := report.CheckGroups(named, r); err != nil {
		return false, err
	}
	t := report.NewTable()
	t.AppendHeader([]any{"", "node group", "initial", m.what, "want", "delta"})
	equal := true
	for _, g := range r.NodeGroups {
		got := m.of(g)
		want, ok := m.want[g.Name]
		if others, any := m.want[Others]; !ok && any {
			want, ok = others, true
		}
		if !ok && !m.strict {
			want = AnyCount
		}
		near := want.nearest(got)
		m.nearest[g.Name] = g.ScaledUp + near - got
		sign, delta := " ", "="
		if near != got {
			equal = false
			sign, delta = "✗", fmt.Sprintf("%+d", got-near)
		}
		t.AppendRow([]any{sign, g.Name, g.Initial, got, want, delta})
	}
	m.table = report.Indent(t.Render(), "  ")
	return equal, nil
}

func (m *countsMatcher) FailureMessage(any) string {
	lines := []string{fmt.Sprintf("scenario %q: node group sizes differ (%s)", m.report.Scenario, m.what), m.table}
	if d := report.Diverging(m.nearest, m.report); d != nil && m.dir != report.Down {
		lines = append(lines, "  first diverging decision: "+strings.ReplaceAll(report.Explain(m.report, *d), "\n", "\n  "))
	}
	return joinNonEmpty(append(lines, report.Where(m.report)))
}

func (m *countsMatcher) NegatedFailureMessage(any) string {
	return joinNonEmpty([]string{fmt.Sprintf("scenario %q: node group sizes are as they should not be (%s)", m.report.Scenario, m.what), m.table, report.Where(m.report)})
}
