package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recommender"
)

// printRecommendation shows a recommendation to people: what to do, why, what is left.
func printRecommendation(s console.IO, q *recommender.Request, r *recommender.Recommendation) {
	s.Printf("%s, strategy %s, scoring %s\n", q.Now.UTC().Format("2006-01-02T15:04:05Z"), r.Strategy, r.Scoring)
	money := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', 6, 64)
	}
	if len(r.ScaleUps) == 0 {
		s.Printf("\nNo node group should grow.\n")
	} else {
		t := console.Table{Title: "\nScale up", Columns: []console.Column{{Name: "node group"}, {Name: "zone"}, {Name: "machine type"}, {Name: "from", Right: true}, {Name: "to", Right: true}, {Name: "price per hour", Right: true}}}
		nodes := console.Table{Title: "\nNew nodes", Columns: []console.Column{{Name: "node"}, {Name: "pods", Right: true}, {Name: "takes"}, {Name: "reason"}}}
		why := map[string]string{}
		for _, step := range r.Steps {
			why[step.Node] = step.Reason
		}
		for _, up := range r.ScaleUps {
			t.Rows = append(t.Rows, []string{up.NodeGroup, up.Zone, up.MachineType, strconv.Itoa(up.From), strconv.Itoa(up.To), money(up.PricePerHour)})
			for _, n := range up.Nodes {
				reason := n.Reason
				if reason == "" {
					reason = why[n.Name]
				}
				nodes.Rows = append(nodes.Rows, []string{n.Name, strconv.Itoa(len(n.Pods)), someOf(n.Pods, 3), reason})
			}
		}
		s.PrintTable(t, console.FormatTable)
		s.PrintTable(nodes, console.FormatTable)
	}
	if len(r.ScaleDowns) > 0 {
		t := console.Table{Title: "\nCould go", Columns: []console.Column{{Name: "node"}, {Name: "node group"}, {Name: "utilization", Right: true}, {Name: "saves per hour", Right: true}, {Name: "pods land on"}}}
		for _, d := range r.ScaleDowns {
			var land []string
			for _, p := range d.Pods {
				land = append(land, p.Pod+" -> "+p.Node)
			}
			if land == nil {
				land = []string{"it is empty"}
			}
			t.Rows = append(t.Rows, []string{d.Node, d.NodeGroup, fmt.Sprintf("%.0f %%", 100*d.Utilization), money(d.PricePerHour), someOf(land, 3)})
		}
		s.PrintTable(t, console.FormatTable)
	}
	printReasons(s, "\nUnremovable", "node", len(r.Unremovable), func(i int) (string, string) { return r.Unremovable[i].Node, r.Unremovable[i].Reason })
	if len(r.Unplaced) > 0 {
		t := console.Table{Title: "\nPods without a place", Columns: []console.Column{{Name: "pod"}, {Name: "node group"}, {Name: "reason"}}}
		for _, u := range r.Unplaced {
			if len(u.Groups) == 0 {
				t.Rows = append(t.Rows, []string{u.Pod, "", u.Message})
			}
			for i, g := range u.Groups {
				name := u.Pod
				if i > 0 {
					name = ""
				}
				t.Rows = append(t.Rows, []string{name, g.NodeGroup, g.Reason})
			}
		}
		s.PrintTable(t, console.FormatTable)
	}
	printReasons(s, "\nCannot grow", "node group", len(r.Skipped), func(i int) (string, string) { return r.Skipped[i].NodeGroup, r.Skipped[i].Reason })
	s.Printf("\n")
	if n := len(r.Fits); n > 0 {
		s.Printf("%d pending pods need no new node.\n", n)
	}
	if c := r.Cost; c != nil {
		s.Printf("Cost per hour: %.6g %s now, %.6g with the new nodes", c.Before, c.Currency, c.AfterScaleUp)
		if len(r.ScaleDowns) > 0 {
			s.Printf(", %.6g without those that could go", c.After)
		}
		s.Printf(".\n")
	}
	if len(r.ScaleUps) > 0 {
		s.Printf("Optimality: %s (%s).\n", r.Optimality, r.Optimality.Method)
		s.Printf("Scoring: %s.\n", r.ScoringRule)
	}
	for _, n := range r.Notes {
		s.Printf("Note: %s.\n", strings.TrimSuffix(n, "."))
	}
}

func printReasons(s console.IO, title, column string, n int, row func(int) (string, string)) {
	if n == 0 {
		return
	}
	t := console.Table{Title: title, Columns: []console.Column{{Name: column}, {Name: "reason"}}}
	for i := range n {
		name, reason := row(i)
		t.Rows = append(t.Rows, []string{name, reason})
	}
	s.PrintTable(t, console.FormatTable)
}

// someOf lists the first few of names.
func someOf(names []string, most int) string {
	out := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}
