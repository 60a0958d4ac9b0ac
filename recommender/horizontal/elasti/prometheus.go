package elasti

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/internal/decode"
)

// PrometheusType is the type of triggers that ask a Prometheus.
const PrometheusType = "prometheus"

// DefaultUptimeFilter selects the series of `up` that say whether Prometheus itself was there.
const DefaultUptimeFilter = `container="prometheus"`

// PrometheusMetadata are the settings of a trigger of PrometheusType.
type PrometheusMetadata struct {
	// ServerAddress is the address of the API without /api/v1; where it is empty, the default of those who ask.
	ServerAddress string `json:"serverAddress,omitempty"`
	// Query has one series.
	Query string `json:"query"`
	// Threshold: with a value below it the workload is not needed.
	Threshold *Number `json:"threshold"`
	// UptimeFilter are label matchers for `up`; DefaultUptimeFilter where it is empty.
	UptimeFilter string `json:"uptimeFilter,omitempty"`
	// Headers are sent with each query, and win over defaults.
	Headers map[string]string `json:"headers,omitempty"`
}

// Number is a finite number that is written as one, or as a text, as KubeElasti wants it.
type Number float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(data []byte) error {
	text := string(data)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("want a number, not %s", data)
	}
	*n = Number(v)
	return nil
}

// ParsePrometheusMetadata reads the metadata of a trigger. A key that it does not know is an error: a misspelt threshold would be none.
func ParsePrometheusMetadata(data json.RawMessage) (PrometheusMetadata, error) {
	var m PrometheusMetadata
	if err := decode.StrictJSON([]byte(cmp.Or(string(data), "{}")), &m); err != nil {
		return m, fmt.Errorf("metadata: %w", err)
	}
	switch {
	case m.Query == "":
		return m, errors.New("metadata: query is not set")
	case m.Threshold == nil:
		return m, errors.New("metadata: threshold is not set")
	}
	return m, nil
}

// Prometheus scales by the value of a query: a workload is not needed while it is below a threshold.
type Prometheus struct {
	asker    Asker
	clock    clock.PassiveClock
	cooldown time.Duration
	metadata PrometheusMetadata

	mu   sync.Mutex
	last Reading
}

var _ Scaler = (*Prometheus)(nil)

// NewPrometheus makes a scaler that asks at the instants of a clock.
func NewPrometheus(m PrometheusMetadata, cooldown time.Duration, asker Asker, c clock.PassiveClock) *Prometheus {
	return &Prometheus{asker: asker, clock: c, cooldown: cooldown, metadata: m}
}

// Last is what was last read of the query.
func (p *Prometheus) Last() Reading {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// value asks the query now.
func (p *Prometheus) value(ctx context.Context) (float64, error) {
	now := p.clock.Now()
	v, err := p.ask(ctx, p.metadata.Query, now)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = Reading{Query: p.metadata.Query, Value: v, Threshold: float64(*p.metadata.Threshold), At: now, Err: err}
	return v, err
}

func (p *Prometheus) ask(ctx context.Context, query string, at time.Time) (float64, error) {
	values, err := p.asker.Ask(ctx, query, at)
	if err != nil {
		return 0, err
	}
	return oneNumber(query, values)
}

// ShouldScaleToZero implements Scaler: the value is below the threshold.
func (p *Prometheus) ShouldScaleToZero(ctx context.Context) (bool, error) {
	v, err := p.value(ctx)
	return err == nil && v < float64(*p.metadata.Threshold), err
}

// ShouldScaleFromZero implements Scaler: the value is at the threshold or above, or is not known.
func (p *Prometheus) ShouldScaleFromZero(ctx context.Context) (bool, error) {
	v, err := p.value(ctx)
	return err != nil || v >= float64(*p.metadata.Threshold), err
}

// IsHealthy implements Scaler: Prometheus was up for the whole cooldown. A rate over a time in which it was away reads as no traffic.
func (p *Prometheus) IsHealthy(ctx context.Context) (bool, error) {
	v, err := p.ask(ctx, UptimeQuery(p.metadata.UptimeFilter, p.cooldown), p.clock.Now())
	return err == nil && v == 1, err
}

// Close implements Scaler: connections belong to the Asker, which scalers share.
func (*Prometheus) Close(context.Context) error { return nil }

// maxUptimeStep is how far apart the instants of an uptime query are at most; minUptimeLooks how many there are at least.
const (
	maxUptimeStep  = time.Minute
	minUptimeLooks = 4
)

// UptimeQuery is 1 if a series of `up` that a filter selects was 1 all through the last cooldown. KubeElasti leaves the step of the subquery to
// the server, whose default of a minute gives a range below a minute no instant at all at about half of the times; and a cooldown of 0 is no
// range of PromQL. Here the step is stated, at least four times in the range and a second at least, and without a cooldown there is no range.
func UptimeQuery(filter string, cooldown time.Duration) string {
	up := fmt.Sprintf("max(up{%s}) or vector(0)", cmp.Or(filter, DefaultUptimeFilter))
	seconds := int64(math.Ceil(cooldown.Seconds()))
	if seconds <= 0 {
		return up
	}
	step := min(max(seconds/minUptimeLooks, 1), int64(maxUptimeStep.Seconds()))
	return fmt.Sprintf("min_over_time((%s)[%ds:%ds])", up, seconds, step)
}
