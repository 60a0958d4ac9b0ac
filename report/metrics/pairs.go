package metrics

// changed are the metrics of two reports: how far one decides otherwise than another. They are 0 between equals, so a limit
// of them bounds the value, and no table of a single report has them.
var changed = []Metric{
	{Name: "decisions.changed", Title: "decisions that differ", Unit: "decisions", Whole: true, Better: Less, Total: Sum, Pair: true,
		Definition: "Decisions that only one side took: when it asked for nodes or began to take some away, of which groups, and how many; of controllers, which workloads they scaled, and to what.",
		Formula:    "the larger of |A - B| and |B - A|; A, B: the acting decisions of both sides as (instant, groups or workloads, sizes)", Source: "decision-log equality"},
	{Name: "node-groups.changed", Title: "node groups that scale otherwise", Unit: "groups", Whole: true, Better: Less, Total: Sum, Pair: true,
		Definition: "Node groups that grew or shrank by other numbers of nodes than on the other side, or are on one side only.",
		Formula:    "count of groups with other (nodes scaled up, nodes scaled down)", Source: "the verdict a replay gives against its recording"},
}

// Pairs are the metrics of two reports, in the order tables show them.
func Pairs() []Metric { return append([]Metric(nil), changed...) }
