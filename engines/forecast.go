package engines

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/horizontal/forecast"
)

// askLoad gives the values of the metrics of a name in some namespaces, now. The name of a forecast ("forecast:requests:24h:10m") has what its metric is expected to be,
// from its demand up to now: whatever asks by a name, a trigger or an autoscaler, can ask for that too. Before a season has passed there is none.
func askLoad(m *load.Meter, namespaces []string, metric string, now time.Time) ([]float64, error) {
	of, predict := metric, strings.HasPrefix(metric, forecast.Prefix)
	var s forecast.Seasonal
	if predict {
		var err error
		if s, err = forecast.Parse(metric); err != nil {
			return nil, err
		}
		of = s.Metric
	}
	var out []float64
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		for _, w := range m.Named(namespace, of) {
			if !predict {
				if v, ok := m.Value(now, w, metric); ok {
					out = append(out, v)
				}
				continue
			}
			v, err := s.Predict(now, func(at time.Time) (float64, bool) { return m.Demand(w, of, at) })
			switch {
			case err == nil:
				out = append(out, v)
			case !errors.Is(err, forecast.ErrUnknown):
				return nil, err
			}
		}
	}
	return out, nil
}
