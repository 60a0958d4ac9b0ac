package metrics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalehist/scalehist/internal/near"
)

// Better says which way a metric should go.
type Better string

// The directions.
const (
	Less    Better = "less"
	More    Better = "more"
	Neither Better = "neither"
)

// Total is how the values of several scenarios make one.
type Total string

// The totals. NoTotal: values of different scenarios do not add up to anything, such as percentiles.
const (
	Sum     Total = "sum"
	Largest Total = "largest"
	NoTotal Total = "none"
)

// Currency is the unit of metrics that are in the price table's currency.
const Currency = "currency"

// The other units a limit must know.
const (
	Seconds = "s"
	Percent = "%"
)

// Metric is the definition of one number.
type Metric struct {
	// Name is what policies and JSON call it.
	Name string `json:"name"`
	// Title is what tables call it.
	Title string `json:"title"`
	// Unit is "nodes", "pods", "s", "%", "currency" and the like; Whole numbers have no fraction.
	Unit  string `json:"unit"`
	Whole bool   `json:"whole,omitempty"`
	// Better says which way it should go, Total how scenarios are taken together.
	Better Better `json:"better"`
	Total  Total  `json:"total"`
	// Definition is one sentence, Formula how it is computed, Source where the definition comes from.
	Definition string `json:"definition"`
	Formula    string `json:"formula"`
	Source     string `json:"source"`
	// Pair: it is of two reports; of one alone there is no value.
	Pair bool `json:"pair,omitempty"`

	of func(*measured) (float64, string)
}

// All are the metrics of a report, in the order tables show them.
func All() []Metric { return slices.Clone(catalogue) }

// Names are the names of all metrics of a report, those of workloads last.
func Names() []string { return namesOf(single()) }

// single are the metrics that one report can have.
func single() []Metric { return append(All(), Workloads()...) }

func namesOf(list []Metric) []string {
	out := make([]string, 0, len(list))
	for _, m := range list {
		out = append(out, m.Name)
	}
	return out
}

// Find is the metric of a report of a name; an unknown one is an error that names what may have been meant.
func Find(name string) (Metric, error) {
	for _, m := range changed {
		if m.Name == name {
			return Metric{}, fmt.Errorf("metric %q is of two reports: 'scalehist compare' and 'scalehist gate' have both", name)
		}
	}
	return find(name, single())
}

// FindLimited is Find among the metrics that a candidate can be held to: those of a report, and those of two.
func FindLimited(name string) (Metric, error) {
	return find(name, append(single(), changed...))
}

func find(name string, among []Metric) (Metric, error) {
	for _, m := range among {
		if m.Name == name {
			return m, nil
		}
	}
	if why, known := leftOut[name]; known {
		return Metric{}, fmt.Errorf("metric %q is not there: %s", name, why)
	}
	if hint := near.Suggest(name, namesOf(among)); hint != "" {
		return Metric{}, fmt.Errorf("unknown metric %q%s", name, hint)
	}
	return Metric{}, fmt.Errorf("unknown metric %q: want one of %s", name, strings.Join(namesOf(among), ", "))
}

// leftOut are metrics of the literature that a report does not have, and why; they are explained, and refused in policies.
var leftOut = map[string]string{
	"over.timeshare":        "there is room left on some node nearly all the time, in every replay; slack.relative.cpu says how much",
	"over.capped":           "over-provisioning as a share of the resource cap needs to know how large nodes are of groups that never had one; slack.relative.cpu has what there was for its cap",
	"instability":           "its formula needs the demand in nodes, which nobody knows; churn.reversals counts the swings",
	"autoscaling.deviation": "the Minkowski distance of accuracies, timeshares and instability: two of these are left out, and a limit on the sum would not say which part moved",
	"elastic.speedup":       "the geometric mean of the same ratios against no scaling at all: compare a replay with one whose groups are held at their size (--node-group)",
}

// Explain is the list of all metrics for people: what each means, how it is computed and where it comes from.
func Explain() string {
	var b strings.Builder
	b.WriteString("T is the length of the replay. Values that a report does not have are missing, with the reason; none is guessed.\n")
	titles := map[string]string{changed[0].Name: "Of two reports, for policies of a gate; between equals they are 0"}
	for _, f := range families {
		titles[f.list[0].Name] = f.title
	}
	for _, m := range append(single(), changed...) {
		if title, ok := titles[m.Name]; ok {
			fmt.Fprintf(&b, "\n%s:\n", title)
		}
		unit := m.Unit
		if unit == Currency {
			unit = "the price table's currency"
		}
		fmt.Fprintf(&b, "\n%s: %s (%s", m.Name, m.Title, unit)
		if m.Better != Neither {
			fmt.Fprintf(&b, ", %s is better", m.Better)
		}
		fmt.Fprintf(&b, ")\n  %s\n  formula: %s\n  over scenarios: %s\n  source: %s\n", m.Definition, m.Formula, m.Total, m.Source)
	}
	b.WriteString("\nLeft out, and why:\n")
	names := make([]string, 0, len(leftOut))
	for name := range leftOut {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "  %s: %s\n", name, leftOut[name])
	}
	return b.String()
}
