package backtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"

	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/internal/spec"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/trial"
	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

// Candidate is what is tried: a recommender, advice, or with neither the requests as they were recorded.
type Candidate struct {
	Label       string
	Recommender vertical.Spec
	Advice      Advice
	Updater     string
}

// Recorded is the candidate that changes nothing.
var Recorded = Candidate{Label: "recorded"}

// Options say how all candidates are tried.
type Options struct {
	// Name is of the history.
	Name     string
	From, To time.Time
	// Learn is how long from From on nothing counts.
	Learn    time.Duration
	Interval time.Duration
	Limits   trial.Limits
	// UpdateMode of all workloads; empty: that of their VPA, and Recreate where there is none or it is Off.
	UpdateMode vpav1.UpdateMode
	// Points of each curve; 0: none.
	Points int
	// Jobs is how many trials run at once.
	Jobs int
	// Progress, where set, is called after each trial, one at a time.
	Progress func(done, all int)
}

// Run tries all candidates on all workloads.
func Run(ctx context.Context, workloads []*trial.Workload, candidates []Candidate, o Options) (*Report, error) {
	if len(workloads) == 0 {
		return nil, errors.New("the history has no usage of pods in this window: record it with the metrics API, import it, or make some with 'scalehist generate'")
	}
	if len(candidates) == 0 {
		return nil, errors.New("there is no candidate to try")
	}
	prepared := make([]*trial.Workload, len(workloads))
	for i, w := range workloads {
		prepared[i] = withMode(w, o.UpdateMode)
	}
	results := make([][]*trial.Result, len(candidates))
	errs := make([]error, len(candidates)*len(workloads))
	for i := range results {
		results[i] = make([]*trial.Result, len(workloads))
	}
	var wait sync.WaitGroup
	var lock sync.Mutex
	next, done := 0, 0
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range max(1, o.Jobs) {
		wait.Go(func() {
			for {
				lock.Lock()
				n := next
				next++
				lock.Unlock()
				if n >= len(errs) || ctx.Err() != nil {
					return
				}
				c, w := n/len(workloads), n%len(workloads)
				if results[c][w], errs[n] = candidates[c].try(ctx, prepared[w], o); errs[n] != nil {
					cancel()
				}
				lock.Lock()
				done++
				if o.Progress != nil {
					o.Progress(done, len(errs))
				}
				lock.Unlock()
			}
		})
	}
	wait.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil && !errors.Is(err, context.Canceled) }); i >= 0 {
		return nil, fmt.Errorf("%s: %w", candidates[i/len(workloads)].Label, errs[i])
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return conclude(workloads, candidates, results, o), nil
}

// withMode is the workload with the update mode that is asked for.
func withMode(w *trial.Workload, mode vpav1.UpdateMode) *trial.Workload {
	if w.VPA == nil && mode == "" {
		return w
	}
	out := *w
	v := &vpav1.VerticalPodAutoscaler{}
	if w.VPA != nil {
		v = w.VPA.DeepCopy()
	}
	if mode == "" {
		if mode = vpautil.GetUpdateMode(v); mode == vpav1.UpdateModeOff {
			mode = vpav1.UpdateModeRecreate
		}
	}
	if v.Spec.UpdatePolicy == nil {
		v.Spec.UpdatePolicy = &vpav1.PodUpdatePolicy{}
	}
	v.Spec.UpdatePolicy.UpdateMode = &mode
	out.VPA = v
	return &out
}

func (c *Candidate) try(ctx context.Context, w *trial.Workload, o Options) (*trial.Result, error) {
	t := trial.Options{From: o.From, To: o.To, JudgeFrom: o.From.Add(o.Learn), Updater: c.Updater, Flags: vpa.DefaultFlags(), Interval: o.Interval, Limits: o.Limits, Points: o.Points}
	switch {
	case c.Advice != nil:
		t.Recommender, t.Caps, t.AtStart, t.Updater = c.Advice.maker(w.Kind), true, true, vertical.UpdaterNone
	case c.Recommender.Name != "":
		t.Recommender, t.Caps = c.Recommender.Maker, c.Recommender.Name != "vpa"
		if !t.Caps {
			var err error
			if t.Flags, err = vertical.VPAFlags(c.Recommender.Options); err != nil {
				return nil, err
			}
		}
	}
	return trial.Run(ctx, w, t)
}

// Candidates are all combinations of the values of options for a recommender, the last option changing first; options that it does not
// have are left out.
func Candidates(name string, settings []spec.Setting, updater string, grid []Parameter) ([]Candidate, error) {
	combinations := [][]spec.Setting{settings}
	for _, p := range grid {
		if !vertical.Takes(name, p.Name) {
			continue
		}
		var more [][]spec.Setting
		for _, c := range combinations {
			for _, v := range p.Values {
				more = append(more, append(slices.Clone(c), spec.Setting{Name: p.Name, Value: v}))
			}
		}
		combinations = more
		if len(combinations) > maxCandidates {
			return nil, fmt.Errorf("this makes more than %s of %s: give fewer values", plural.Of(maxCandidates, "candidate"), name)
		}
	}
	var out []Candidate
	for _, c := range combinations {
		s, err := vertical.With(name, c)
		if err != nil {
			return nil, err
		}
		label := s.String()
		if updater != vertical.UpdaterUpstream {
			label += " (" + updater + ")"
		}
		out = append(out, Candidate{Label: label, Recommender: s, Updater: updater})
	}
	return out, nil
}

// maxCandidates bounds a grid.
const maxCandidates = 1000

// Parameter is an option with the values to try.
type Parameter struct {
	Name   string
	Values []string
}
