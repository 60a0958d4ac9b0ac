package engines

import (
	"fmt"
	"time"

	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
)

// noAnswer is why those who wait so long get no answer about a metric, and whether it took too long; nil if they get one.
func noAnswer(m *load.Meter, now time.Time, metric string, patience time.Duration) (err error, slow bool) {
	switch f, hit := m.Fault(now, metric); {
	case !hit:
	case f.Kind == load.FaultDown:
		return fmt.Errorf("the source of metric %s is down: connection refused", metric), false
	case f.Kind == load.FaultSlow && f.Delay >= patience:
		return fmt.Errorf("the source of metric %s gave no answer within %s: it takes %s", metric, patience, f.Delay), true
	}
	return nil, false
}

// failure is why the metrics APIs have no answer.
func (m *hpaMetrics) failure(metric string) error {
	err, _ := noAnswer(m.meter, m.now, metric, load.APITimeout)
	return err
}

// failure is why a Prometheus has no answer for a trigger.
func (c *elastiController) failure(query string) error {
	err, slow := noAnswer(c.env.Meter, c.now, query, elasti.QueryTimeout)
	switch {
	case err == nil:
		return nil
	case slow:
		return &elasti.AskError{Reason: elasti.ReasonTimeout, Err: err}
	}
	return &elasti.AskError{Reason: elasti.ReasonUnreachable, Err: err}
}
