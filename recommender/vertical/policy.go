package vertical

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/scalehist/scalehist/internal/spec"
)

var policyKind = Kind{
	Name:  "policy",
	About: "a small policy of past peaks whose numbers a reinforcement learner found by trial in environments",
	Options: []Option{
		{Name: "model", Default: "", About: "file of a policy that 'scalehist train policy' made (default: one trained on generated load)"},
	},
	Make: func(o *spec.Values) Maker {
		m, err := readModel(o.Text("model"), defaultPolicy, ParsePolicyModel)
		if o.Err == nil {
			o.Err = err
		}
		return func(Workload) (Recommender, error) { return NewPolicy(m), nil }
	},
}

//go:embed models/policy.json
var policyModel []byte

var defaultPolicy = sync.OnceValues(func() (*PolicyModel, error) { return ParsePolicyModel(bytes.NewReader(policyModel)) })

// PolicyNumbers is how many numbers a policy has, as many of CPU as of memory.
const PolicyNumbers = 2 * policyEach

// policyEach are the numbers of one resource: weights of five peaks before softmax, and the logarithms of the margin, of how far the request may
// be below the target, and above it.
const (
	policyPeaks = 5
	policyEach  = policyPeaks + 3
)

// PolicyModel is a policy.
type PolicyModel struct {
	Trained
	// Reward is what it was trained for.
	Reward  string    `json:"reward"`
	Numbers []float64 `json:"numbers"`
}

// ParsePolicyModel reads a policy, and checks it.
func ParsePolicyModel(r io.Reader) (*PolicyModel, error) {
	m, err := decodeModel[PolicyModel](r)
	if err != nil {
		return nil, err
	}
	return m, m.Check()
}

// Check says what is wrong with the policy.
func (m *PolicyModel) Check() error {
	if err := m.check("policy"); err != nil {
		return err
	}
	if len(m.Numbers) != PolicyNumbers {
		return fmt.Errorf("it has %d numbers: want %d", len(m.Numbers), PolicyNumbers)
	}
	for i, v := range m.Numbers {
		if !(math.Abs(v) <= 100) {
			return fmt.Errorf("number %d is %g: want -100 to 100", i, v)
		}
	}
	return nil
}

// policy recommends by a PolicyModel.
type policy struct {
	seen[pasts]
	cpu, memory rule
	answers     map[string]*answer
}

// rule is a policy of one resource.
type rule struct {
	weights              [policyPeaks]float64
	margin, below, above float64
}

// NewPolicy is a recommender that follows a policy, which Check has passed.
func NewPolicy(m *PolicyModel) Recommender {
	return &policy{cpu: newRule(m.Numbers[:policyEach]), memory: newRule(m.Numbers[policyEach:])}
}

func newRule(numbers []float64) (r rule) {
	sum := 0.0
	for i := range r.weights {
		r.weights[i] = math.Exp(numbers[i])
		sum += r.weights[i]
	}
	for i := range r.weights {
		r.weights[i] /= sum
	}
	r.margin, r.below, r.above = math.Exp(min(numbers[policyPeaks], 5)), math.Exp(min(numbers[policyPeaks+1], 5)), math.Exp(min(numbers[policyPeaks+2], 5))
	return r
}

// bounds are a weighted mean of the peaks of the last step, the last hour, six hours, the day, and the two hours that come as they were a
// day ago, with the margin. A peak that is not known is that of the day.
func (r *rule) bounds(p *past) (lower, target, upper int64) {
	day, _ := p.window(pastDay, 0)
	if day < 0 {
		return Unset, Unset, Unset
	}
	needed := 0.0
	for i, w := range [policyPeaks][2]int{{1, 0}, {pastHour, 0}, {6 * pastHour, 0}, {pastDay, 0}, {pastDay, pastDay - 2*pastHour}} {
		v, _ := p.window(w[0], w[1])
		if v < 0 || len(p.Values) < w[0] {
			v = day
		}
		needed += r.weights[i] * float64(v)
	}
	target = up(needed * (1 + r.margin))
	return int64(float64(target) / (1 + r.below)), target, up(float64(target) * (1 + r.above))
}

// Observe implements Recommender. Memory that ran out counts as what upstream takes for needed.
func (p *policy) Observe(s Sample) error { return observePast(&p.seen, s) }

// Recommend implements Recommender.
func (p *policy) Recommend(context.Context, time.Time) ([]Recommendation, error) {
	return recommendPast(&p.seen, &p.answers, func(c *pasts, r *Recommendation) {
		r.Lower.CPUMilli, r.Target.CPUMilli, r.Upper.CPUMilli = p.cpu.bounds(&c.CPU)
		r.Lower.MemoryBytes, r.Target.MemoryBytes, r.Upper.MemoryBytes = p.memory.bounds(&c.Memory)
	}), nil
}

// Reset implements Recommender.
func (p *policy) Reset() { p.seen.Reset(); p.answers = nil }

// Load implements Recommender.
func (p *policy) Load(r io.Reader) error {
	p.answers = nil
	return loadPast(&p.seen, r)
}
