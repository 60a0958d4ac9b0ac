package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/near"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/plural"
)

// Direction is which way node groups are compared.
type Direction string

// The directions.
const (
	Up   Direction = "scaled up"
	Down Direction = "scaled down"
	// Net is up minus down.
	Net Direction = "net change"
)

// DiffTable compares wanted changes per node group, in nodes, with what the report shows, over all its groups: a group
// that is not wanted and moved is a difference too. It returns the table and whether they are equal. A wanted group
// the report does not know is an error that names it.
func DiffTable(want map[string]int, r *scalehist.ReplayReport, dir Direction) (table string, equal bool, err error) {
	if err := CheckGroups(want, r); err != nil {
		return "", false, err
	}
	want, r = plaintext.Values(want), plaintext.Values(r)
	t := newTable()
	t.AppendHeader([]any{"", "node group", "initial", "want", "got", "delta", ""})
	equal = true
	for _, g := range r.NodeGroups {
		w, got := sized(g, want[g.Name], dir), sized(g, moved(g, dir), dir)
		sign, delta, note := " ", "=", ""
		if w != got {
			equal = false
			sign, delta = "✗", fmt.Sprintf("%+d", got-w)
		}
		if dir == Up && g.Peak >= g.MaxSize {
			note = "max reached"
			if g.GuessedMax {
				note += " (a guess: the most nodes seen)"
			}
		}
		t.AppendRow([]any{sign, g.Name, g.Initial, w, got, delta, note})
	}
	return indent(t.Render(), "  "), equal, nil
}

// CheckGroups refuses names, the keys of a map, that are no node group of the report.
func CheckGroups[V any](names map[string]V, r *scalehist.ReplayReport) error {
	known := NodeGroupNames(r)
	for _, name := range keys(names) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown node group %q: scenario %q has %s%s", name, r.Scenario, strings.Join(known, ", "), near.Suggest(name, known))
		}
	}
	return nil
}

// moved is what the report shows of a group, in nodes.
func moved(g scalehist.NodeGroupResult, dir Direction) int {
	switch dir {
	case Up:
		return g.ScaledUp
	case Down:
		return g.ScaledDown
	}
	return g.ScaledUp - g.ScaledDown
}

// sized turns a change into the size a reader compares: what the group would have had with that change alone.
func sized(g scalehist.NodeGroupResult, change int, dir Direction) int {
	if dir == Down {
		return g.Initial + g.ScaledUp - change
	}
	return g.Initial + change
}

// Diverging is the first decision that cannot be part of what was wanted: it took a group past its want, or left a
// wanted group out when it was short. Nil when there is none.
func Diverging(want map[string]int, r *scalehist.ReplayReport) *scalehist.Decision {
	sum := map[string]int{}
	for i := range r.Decisions {
		for _, s := range r.Decisions[i].ScaleUps {
			sum[s.NodeGroup] += s.To - s.From
			if sum[s.NodeGroup] > want[s.NodeGroup] {
				return &r.Decisions[i]
			}
		}
	}
	short := map[string]bool{}
	for name, n := range want {
		short[name] = sum[name] < n
	}
	// Nothing went too far, so something stopped short: the first loop that still had pods and passed the group by.
	var last *scalehist.Decision
	for i := range r.Decisions {
		d := &r.Decisions[i]
		if len(d.UnschedulablePods) == 0 {
			continue
		}
		last = d
		if passedBy(*d, short) {
			return d
		}
	}
	return last
}

func passedBy(d scalehist.Decision, short map[string]bool) bool {
	for _, o := range d.Options {
		if short[o.NodeGroup] && !o.Chosen {
			return true
		}
	}
	for _, list := range [][]scalehist.GroupReason{d.Skipped, d.Rejected} {
		for _, s := range list {
			if short[s.NodeGroup] {
				return true
			}
		}
	}
	return false
}

// Explain is a decision with everything it weighed, for a failure message.
func Explain(r *scalehist.ReplayReport, d scalehist.Decision) string {
	d = plaintext.Values(d)
	var b strings.Builder
	fmt.Fprintf(&b, "%s loop %d: %s\n", offset(r, d.At), d.Loop, d.Summary())
	if n := len(d.UnschedulablePods); n > 0 {
		fmt.Fprintf(&b, "  for %s: %s\n", plural.Of(n, "unschedulable pod"), some(d.UnschedulablePods, 5))
	}
	for _, line := range because(d) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// some lists the first n of names and counts the rest.
func some(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

func indent(s, by string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(by+lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// PageName is what the page for a browser is called in the directory of a report's files.
const PageName = "report.html"

// Moment is what follows the # of the page's address to open it at a decision: "loop=2". Of several decisions under the number
// of one loop only the first is found by it, the others by their time.
func Moment(r *scalehist.ReplayReport, d *scalehist.Decision) string {
	if d == nil {
		return ""
	}
	i := slices.IndexFunc(r.Decisions, func(x scalehist.Decision) bool { return x.Loop == d.Loop })
	if i < 0 || !r.Decisions[i].At.Equal(d.At) {
		return "t=" + offset(r, d.At)
	}
	return fmt.Sprintf("loop=%d", d.Loop)
}

// Where is the tail of a failure message: what is left pending, where the files are, how to run it again.
func Where(r *scalehist.ReplayReport) string { return WhereAt(r, "") }

// WhereAt is Where with the page opened at a moment: "loop=2", "pod=default/web-7".
func WhereAt(r *scalehist.ReplayReport, moment string) string {
	var b strings.Builder
	if n := len(r.UnschedulableAtEnd); n > 0 {
		var names []string
		for _, p := range r.UnschedulableAtEnd {
			names = append(names, p.Namespace+"/"+p.Name)
		}
		fmt.Fprintf(&b, "  unschedulable at end: %s\n", some(names, 5))
	}
	if r.Run != nil && r.Run.Artifacts != "" {
		page := filepath.ToSlash(filepath.Join(r.Run.Artifacts, PageName))
		if moment != "" {
			page += "#" + moment
		}
		fmt.Fprintf(&b, "  artifacts: %s\n  look: %s\n", r.Run.Artifacts, page)
	}
	if r.Run != nil && r.Run.Rerun != "" {
		fmt.Fprintf(&b, "  re-run: %s\n", r.Run.Rerun)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
