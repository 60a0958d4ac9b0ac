package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist/internal/moment"
)

var metricRules = []Rule{
	{Code: "SH701", Title: "gap in usage", Severity: Warning, run: usageGaps,
		Doc: "Usage of pods was recorded at some interval, and for more than three of them there is none. What reads usage (a vertical recommender) " +
			"sees the last values for longer than it should.",
		Advice: "choose a window without the gap; check the metrics server at that time"},
	{Code: "SH702", Title: "gap in a metric series", Severity: Warning, run: seriesGaps,
		Doc: "A series was sampled at some interval, and for more than three of them there is no sample. What scales by it decides on old values or not " +
			"at all.",
		Advice: "choose a window without the gap; check the recorder's query and its server at that time"},
}

// missed intervals make a gap.
const missed = 3

func usageGaps(_ context.Context, in *Input) ([]Finding, error) {
	return metricGaps(in, func(name string) bool { return name == "usage" }), nil
}

func seriesGaps(_ context.Context, in *Input) ([]Finding, error) {
	return metricGaps(in, func(name string) bool { return strings.HasPrefix(name, "series ") }), nil
}

func metricGaps(in *Input, mine func(name string) bool) []Finding {
	var out []Finding
	for _, m := range in.Metrics {
		if !mine(m.name) || len(m.times) < missed {
			continue // too few to know an interval
		}
		var apart []time.Duration
		for i := range m.times[1:] {
			apart = append(apart, m.times[i+1].Sub(m.times[i]))
		}
		slices.Sort(apart)
		interval := apart[len(apart)/2]
		times := append(append([]time.Time{in.From}, m.times...), in.To)
		for i := range times[1:] {
			if d := times[i+1].Sub(times[i]); d > missed*interval {
				out = append(out, Finding{At: times[i], Message: fmt.Sprintf("no %s for %s, until %s; it usually comes every %s", m.name, d, moment.Stamp(times[i+1]), interval)})
			}
		}
	}
	return out
}
