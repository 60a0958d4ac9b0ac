package projection

import (
	"math"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The bounds of a vertical recommendation are kept to three significant digits. The recommender scales
// them by a confidence that changes with every minute (pkg/recommender/logic/estimator.go: 1 + 1/confidence), so that each
// of its loops would be a version; the histograms that they come from have buckets of 5 %. Targets are kept as they are.
const boundsBelow = 1000

// keptRecommendations keeps what a VerticalPodAutoscaler recommends for each container.
func keptRecommendations(v any) (any, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := []any{}
	for _, e := range list {
		kept := map[string]any{}
		m, _ := e.(map[string]any)
		for _, f := range []string{"containerName", "target", "uncappedTarget"} {
			if v, ok := m[f]; ok && v != nil {
				kept[f] = copyJSON(v)
			}
		}
		for _, f := range []string{"lowerBound", "upperBound"} {
			bounds, ok := m[f].(map[string]any)
			if !ok {
				continue
			}
			rounded := make(map[string]any, len(bounds))
			for name, v := range bounds {
				rounded[name] = roundedQuantity(v)
			}
			kept[f] = rounded
		}
		out = append(out, kept)
	}
	return out, true
}

// roundedQuantity is a quantity to three digits; what is none stays as it is.
func roundedQuantity(v any) any {
	s, ok := v.(string)
	if !ok {
		return copyJSON(v)
	}
	q, err := resource.ParseQuantity(s)
	if err != nil {
		return s
	}
	milli := q.MilliValue()
	if milli < 0 || milli > math.MaxInt64/2 { // none that was recommended, and rounding it up might not fit
		return s
	}
	unit := int64(1)
	for n := milli; n >= boundsBelow; n /= 10 {
		unit *= 10
	}
	// In plain decimals: the quantity is to be the same text again when it is rounded again.
	return resource.NewMilliQuantity((milli+unit/2)/unit*unit, resource.DecimalSI).String()
}
