package conformance

import (
	"cmp"
	"slices"
)

// Tally counts cases.
type Tally struct {
	Cases  int `json:"cases"`
	Agreed int `json:"agreed"`
}

// Summary is what a set of cases came to. Everything in it but Seconds is the same in every run.
type Summary struct {
	// Cases counts those that have outcomes to agree with; Agreed of them do. Agreement is the share, 1 if there are none.
	Cases     int     `json:"cases"`
	Agreed    int     `json:"agreed"`
	Agreement float64 `json:"agreement"`
	// Categories has the same by category.
	Categories map[string]Tally `json:"categories"`
	// Disagreements are in the order of the cases.
	Disagreements []Disagreement `json:"disagreements"`
	// Seconds is the wall-clock time of all cases together.
	Seconds float64 `json:"seconds"`
}

// Disagreement is a case that came to none of the recorded outcomes, or could not be run.
type Disagreement struct {
	Name     string `json:"name"`
	Category string `json:"category"`
	// Got is ours, nil if the case could not be run; Want are upstream's.
	Got  *Outcome  `json:"got"`
	Want []Outcome `json:"want"`
	// Error is why the case could not be run.
	Error string `json:"error,omitempty"`
	// Loop is the first that differs from the recorded sample; nil if there is no sample, or it takes our way.
	Loop *Divergence `json:"loop,omitempty"`
}

// Summarize judges results, which are in the order of the cases. Cases without outcomes are not counted.
func Summarize(cases []Case, results []Result) (Summary, error) {
	s := Summary{Categories: map[string]Tally{}, Disagreements: []Disagreement{}}
	for i, r := range results {
		c := cases[i]
		if len(c.Outcomes) == 0 {
			continue
		}
		t := s.Categories[c.Category]
		t.Cases++
		s.Cases++
		if r.Err == nil && r.Agrees {
			t.Agreed++
			s.Agreed++
		} else {
			d, err := disagreement(c, r)
			if err != nil {
				return s, err
			}
			s.Disagreements = append(s.Disagreements, d)
		}
		s.Categories[c.Category] = t
	}
	s.Agreement = 1
	if s.Cases > 0 {
		s.Agreement = float64(s.Agreed) / float64(s.Cases)
	}
	return s, nil
}

func disagreement(c Case, r Result) (d Disagreement, err error) {
	d = Disagreement{Name: c.Name, Category: c.Category, Want: c.Outcomes}
	if r.Err == nil {
		d.Got = &r.Got
		d.Loop, err = Diverges(c, r)
	} else {
		d.Error = r.Err.Error()
	}
	return d, err
}

// Distance is by how many nodes an outcome is off another, over asked for, removed and final sizes.
func (o Outcome) Distance(p Outcome) int {
	sum := 0
	for _, pair := range [][2]map[string]int{{o.Deltas, p.Deltas}, {o.Removed, p.Removed}, {o.FinalSizes, p.FinalSizes}} {
		for g, n := range pair[0] {
			sum += abs(n - pair[1][g])
		}
		for g, n := range pair[1] {
			if _, both := pair[0][g]; !both {
				sum += abs(n)
			}
		}
	}
	return sum
}

func abs(n int) int { return max(n, -n) }

// Nearest are the outcomes of a case by their distance from one, the order of the case among equals.
func Nearest(to Outcome, outcomes []Outcome) []Outcome {
	out := slices.Clone(outcomes)
	slices.SortStableFunc(out, func(a, b Outcome) int { return cmp.Compare(to.Distance(a), to.Distance(b)) })
	return out
}
