package foresight

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recommender/horizontal/forecast"
)

// Series are the values of a metric at equal steps.
type Series struct {
	// Name is of the metric and whose it is.
	Name string
	// Bytes: values are bytes.
	Bytes bool
	// Values are those at Options.From and each step after it; NaN where they are not known.
	Values []float64
}

// Options say how all series are forecast.
type Options struct {
	// Name is of where the series are from.
	Name               string
	From               time.Time
	Step, Season, Lead time.Duration
	// Learn is how long from From on nothing counts.
	Learn time.Duration
	// Methods are tried beside forecast.Last, which others have to beat.
	Methods []string
	// Curves keeps what was predicted at each step, for pages and CSV.
	Curves bool
	// Progress, where set, is called after each series.
	Progress func(done int)
}

// Run judges the forecasts of all series.
func Run(ctx context.Context, all []Series, o Options) (*Report, error) {
	r := &Report{Source: o.Name, From: o.From.UTC(), Step: o.Step.String(), Season: o.Season.String(), Lead: o.Lead.String(), step: o.Step}
	for n := range all {
		s, err := judge(ctx, &all[n], &o)
		if err != nil {
			return nil, err
		}
		r.To = later(r.To, o.From.Add(time.Duration(len(all[n].Values)-1)*o.Step).UTC())
		if s.Judged == 0 {
			r.Notes = append(r.Notes, all[n].Name+" is not judged: "+why(&all[n], &o))
		} else {
			r.Series = append(r.Series, *s)
		}
		if o.Progress != nil {
			o.Progress(n + 1)
		}
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("there is no series to forecast")
	case len(r.Series) == 0:
		return nil, fmt.Errorf("nothing can be judged: %s", r.Notes[0])
	}
	return r, nil
}

// why says what a series lacks.
func why(s *Series, o *Options) string {
	known := 0
	for _, v := range s.Values {
		if !math.IsNaN(v) {
			known++
		}
	}
	return fmt.Sprintf("%s of it %s known, in %s; forecasts need a season (%s) to learn from and the lead (%s) to be judged by, without gaps in that (where values are measured seldom, take a longer step)", plural.Of(known, "value"),
		map[bool]string{true: "is", false: "are"}[known == 1], time.Duration(max(0, len(s.Values)-1))*o.Step, o.Season, o.Lead)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// judge lets all methods predict one series.
func judge(ctx context.Context, s *Series, o *Options) (*SeriesResult, error) {
	out := &SeriesResult{Series: s.Name, bytes: s.Bytes}
	var forecasts []*forecast.Forecast
	var sums []*sum
	for i, name := range append([]string{forecast.Last}, o.Methods...) {
		if i > 0 && name == forecast.Last {
			continue
		}
		f, err := forecast.New(forecast.Spec{Metric: s.Name, Method: name, Season: o.Season, Lead: o.Lead}, o.Step)
		if err != nil {
			return nil, err
		}
		forecasts, sums = append(forecasts, f), append(sums, &sum{season: o.Season})
		out.Forecasts = append(out.Forecasts, Result{Method: name})
	}
	predicted := make([]float64, len(forecasts))
	came := ahead(s.Values, int(o.Lead/o.Step))
	for i, v := range s.Values {
		if i%10_000 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		at := o.From.Add(time.Duration(i) * o.Step)
		judged := !math.IsNaN(came[i]) && at.Sub(o.From) >= o.Learn
		for k, f := range forecasts {
			f.Observe(v)
			p, err := f.Predict()
			if err != nil {
				p, judged = math.NaN(), false
			}
			predicted[k] = p
		}
		if o.Curves {
			out.keep(v, came[i], predicted, judged)
		}
		if !judged {
			continue
		}
		if out.Judged++; out.Judged == 1 {
			out.JudgedFrom = at.UTC()
		}
		out.Mean += (came[i] - out.Mean) / float64(out.Judged)
		for k, p := range predicted {
			sums[k].add(at.UTC(), o.From, p, came[i])
		}
	}
	if out.Judged == 0 {
		return out, nil
	}
	for k := range sums {
		out.Forecasts[k].Errors, out.Forecasts[k].Seasons = sums[k].all.errors(), sums[k].parts()
	}
	out.conclude()
	return out, nil
}

// ahead is at each value the most of so many that come after it; NaN where one of them is not known.
func ahead(values []float64, lead int) []float64 {
	out := make([]float64, len(values))
	var falling []int // indices of values from the highest down to the last, those behind i
	unknown := 0
	for i := len(values) - 1; i >= 0; i-- {
		out[i] = math.NaN()
		for len(falling) > 0 && falling[0] > i+lead {
			falling = falling[1:]
		}
		if i+lead+1 < len(values) && math.IsNaN(values[i+lead+1]) {
			unknown--
		}
		if i+lead < len(values) && unknown == 0 {
			out[i] = values[falling[0]]
		}
		if math.IsNaN(values[i]) {
			unknown++
			continue
		}
		for len(falling) > 0 && values[falling[len(falling)-1]] <= values[i] {
			falling = falling[:len(falling)-1]
		}
		falling = append(falling, i)
	}
	return out
}
