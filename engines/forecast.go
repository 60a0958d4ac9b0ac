package engines

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/horizontal/forecast"
)

// catchUp is how many seasons before it is asked for the first time a forecast begins to look, at most.
const catchUp = 10

// asker gives the values of metrics of the load by their names. The name of a forecast ("forecast:requests:24h:10m") has what its metric is expected to be,
// from its demand up to now: whatever asks by a name, a trigger or an autoscaler, can ask for that too. The zero value is ready.
type asker struct {
	running map[forecastOf]*running
}

// forecastOf is the forecast of a name for a workload.
type forecastOf struct {
	workload scalehist.WorkloadRef
	name     string
}

// running is a forecast with the instant of the next value that it takes.
type running struct {
	*forecast.Forecast
	next time.Time
}

// ask gives the values of a metric in some namespaces, now. A forecast of which too little is known has none.
func (a *asker) ask(m *load.Meter, namespaces []string, metric string, now time.Time) ([]float64, error) {
	of, predict := metric, strings.HasPrefix(metric, forecast.Prefix)
	var s forecast.Spec
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
			v, err := a.predict(m, w, metric, s, now)
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

// predict lets the forecast of a workload see the demand up to now.
func (a *asker) predict(m *load.Meter, w scalehist.WorkloadRef, name string, s forecast.Spec, now time.Time) (float64, error) {
	key := forecastOf{w.Key(), name}
	r := a.running[key]
	if r == nil {
		f, err := forecast.New(s, forecast.Step)
		if err != nil {
			return 0, err
		}
		r = &running{f, m.DemandFrom(w, s.Metric)}
		if before := now.Sub(r.next); before > catchUp*s.Season {
			r.next = r.next.Add((before - catchUp*s.Season).Truncate(forecast.Step))
		}
		if a.running == nil {
			a.running = map[forecastOf]*running{}
		}
		a.running[key] = r
	}
	for ; !r.next.After(now); r.next = r.next.Add(forecast.Step) {
		v, known := m.Demand(w, s.Metric, r.next)
		if !known {
			v = math.NaN()
		}
		r.Observe(v)
	}
	return r.Predict()
}
