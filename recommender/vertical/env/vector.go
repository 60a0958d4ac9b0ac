package env

import "fmt"

// Vector is many environments that step at once. One that is done is reset at its next step, whose action is then not looked at, as
// Gymnasium's vector environments do it (AutoresetMode.NEXT_STEP).
type Vector struct {
	envs  []*Env
	seeds []uint64
}

// NewVector makes n environments of configurations, in turns.
func NewVector(configs []Config, n int) (*Vector, error) {
	if len(configs) == 0 || n < 1 {
		return nil, fmt.Errorf("%d environments of %d configurations: want one or more of both", n, len(configs))
	}
	v := &Vector{seeds: make([]uint64, n)}
	for i := range n {
		e, err := New(configs[i%len(configs)])
		if err != nil {
			return nil, err
		}
		v.envs = append(v.envs, e)
	}
	return v, nil
}

// Reset resets all; each has a seed of its own, from that one on.
func (v *Vector) Reset(seed uint64) [][]float64 {
	out := make([][]float64, len(v.envs))
	for i, e := range v.envs {
		v.seeds[i] = seed + uint64(i)
		out[i] = e.Reset(v.seeds[i])
	}
	return out
}

// Result is that of a step of one environment.
type Result struct {
	Observation []float64 `json:"observation"`
	Reward      float64   `json:"reward"`
	Done        bool      `json:"done"`
	Info        Info      `json:"info"`
}

// Step steps all of them. An error names the environment whose action is wrong; then none has stepped.
func (v *Vector) Step(actions [][]float64) ([]Result, error) {
	if len(actions) != len(v.envs) {
		return nil, fmt.Errorf("%d actions for %d environments", len(actions), len(v.envs))
	}
	for i, e := range v.envs {
		if e.done {
			continue
		}
		if _, err := e.read(actions[i]); err != nil {
			return nil, fmt.Errorf("environment %d: %w", i, err)
		}
	}
	out := make([]Result, len(v.envs))
	for i, e := range v.envs {
		r := &out[i]
		if e.done {
			v.seeds[i] += uint64(len(v.envs))
			r.Observation = e.Reset(v.seeds[i])
			r.Info.Containers = []Fate{}
			continue
		}
		var err error
		if r.Observation, r.Reward, r.Done, r.Info, err = e.Step(actions[i]); err != nil {
			return nil, fmt.Errorf("environment %d: %w", i, err)
		}
	}
	return out, nil
}
