package forecast

import (
	"math"

	"github.com/scalehist/scalehist/internal/holtwinters"
)

// The names of methods.
const (
	Last        = "last"
	Naive       = "seasonal-naive"
	Seasonal    = "seasonal"
	Drift       = "seasonal-drift"
	HoltWinters = "holt-winters"
)

// Method is a way to predict.
type Method struct {
	Name, About string
	make        func(season, lead int) model
}

// model predicts from values a step apart.
type model interface {
	observe(value float64)
	// predict is the most within the lead; false where too little is known.
	predict() (float64, bool)
}

// methods begin with the one that others have to beat.
var methods = []Method{
	{Last, "what it is now", func(int, int) model { return &last{math.NaN()} }},
	{Naive, "what it was in the same stretch of the last season", func(season, lead int) model { return newSeasons(1, season, lead, false) }},
	{Seasonal, "the mean of what it was in the same stretch of the last three seasons", func(season, lead int) model { return newSeasons(3, season, lead, false) }},
	{Drift, "what it was in the last season, and as much more as it became from season to season", func(season, lead int) model { return newSeasons(3, season, lead, true) }},
	{HoltWinters, "exponential smoothing with trend and season", func(season, lead int) model { return &smoothed{season: season, lead: lead} }},
}

// Methods lists them, the one that others have to beat first.
func Methods() []Method { return methods }

// Names lists their names in the same order.
func Names() []string {
	var out []string
	for _, m := range methods {
		out = append(out, m.Name)
	}
	return out
}

// last is what the metric is now. Where that is not known, nothing is.
type last struct{ value float64 }

func (l *last) observe(value float64)    { l.value = value }
func (l *last) predict() (float64, bool) { return l.value, !math.IsNaN(l.value) }

// seasons look at the same stretch of earlier seasons.
type seasons struct {
	season, lead int
	drift        bool
	// past has the values of so many seasons and the present, as a ring, of which next is where the next one comes.
	past []float64
	next int
	sign
}

func newSeasons(n, season, lead int, drift bool) *seasons {
	return &seasons{season: season, lead: lead, drift: drift, past: make([]float64, 0, n*season+1)}
}

func (s *seasons) observe(value float64) {
	s.see(value)
	if len(s.past) < cap(s.past) {
		s.past = append(s.past, value)
		return
	}
	s.past[s.next] = value
	s.next = (s.next + 1) % len(s.past)
}

// most is the most of the lead after the instant k seasons ago; false where nothing of it is known, or it began before the first value.
func (s *seasons) most(k int) (most float64, known bool) {
	n := len(s.past)
	most = math.Inf(-1)
	if n < k*s.season {
		return most, false
	}
	for i := n - k*s.season; i < n-k*s.season+s.lead; i++ {
		if v := s.past[(s.next+i)%n]; !math.IsNaN(v) {
			most, known = max(most, v), true
		}
	}
	return most, known
}

func (s *seasons) predict() (float64, bool) {
	sum, n := 0.0, 0
	var first, latest float64 // of the seasons that are known, and which those are
	var oldest, newest int
	for k := 1; k*s.season < cap(s.past); k++ {
		v, known := s.most(k)
		if !known {
			continue
		}
		if n == 0 {
			latest, newest = v, k
		}
		first, oldest = v, k
		sum, n = sum+v, n+1
	}
	switch {
	case n == 0:
		return 0, false
	case !s.drift:
		return sum / float64(n), true
	case n == 1:
		return latest, true
	}
	return s.bounded(latest + float64(newest)*(latest-first)/float64(oldest-newest)), true
}

// sign knows whether a metric has ever been below zero: one that has not is not predicted to be.
type sign struct{ below bool }

func (s *sign) see(value float64) { s.below = s.below || value < 0 }

func (s *sign) bounded(v float64) float64 {
	if s.below {
		return v
	}
	return max(0, v)
}

// weights of Holt-Winters: those of the vertical recommender of that name, but that single steps are short here, and count less.
var weights = holtwinters.Weights{Level: 0.05, Trend: 0.001, Season: 0.3}

// smoothed is package holtwinters.
type smoothed struct {
	holtwinters.Series
	sign
	season, lead int
}

func (s *smoothed) observe(value float64) {
	s.see(value)
	s.Add(weights, s.season, value)
}

func (s *smoothed) predict() (float64, bool) {
	if !s.Known() {
		return 0, false
	}
	return s.bounded(s.Highest(s.lead)), true
}
