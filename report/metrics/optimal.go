package metrics

import (
	"fmt"

	"github.com/scalehist/scalehist/internal/plural"
)

// optimalDistance is computed of what the decisions say of themselves: package engines judges them where somebody asks.
var optimalDistance = Metric{Name: "optimal.distance", Title: "above the cheapest scale-ups", Unit: Percent, Better: Less, Total: NoTotal,
	Definition: "What the new nodes of all scale-ups cost above what would have been the least for the same pods. Where the least is not proven it is a lower bound, so the true distance is this or less. " +
		"Each scale-up is judged by itself, as things stood; by prices where there are some, else by the weighted size of nodes.",
	Formula: "100 * (sum of cost / sum of lower bound - 1), over the scale-ups", Source: "Recommendation.optimality (docs/recommender.md); replay --optimal for other autoscalers",
	of: func(m *measured) (float64, string) {
		var cost, bound float64
		grew, judged := 0, 0
		unit := ""
		for _, d := range m.r.Decisions {
			if len(d.ScaleUps) == 0 {
				continue
			}
			grew++
			o := d.Optimality
			if o == nil {
				continue
			}
			if unit != "" && o.Unit != unit {
				return 0, fmt.Sprintf("some scale-ups were judged in %s, others in %s", unit, o.Unit)
			}
			unit = o.Unit
			judged++
			cost, bound = cost+o.Cost, bound+o.LowerBound
		}
		switch {
		case judged < grew:
			return 0, fmt.Sprintf("%d of %s %s not judged: replay with --optimal", grew-judged, plural.Of(grew, "scale-up"), plural.Verb(grew-judged, "was", "were"))
		case cost == bound:
			return 0, ""
		case bound <= 0:
			return 0, "no lower bound is above zero"
		}
		return 100 * (cost/bound - 1), ""
	}}
