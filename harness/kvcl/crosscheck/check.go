package crosscheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/klog/v2"
)

// Options of Check. Planes are required.
type Options struct {
	Planes [2]Plane
	// First is the first seed, Seeds how many there are.
	First uint64
	Seeds int
	// Jobs is how many pairs of control planes work at once; 0 is 1. The result does not depend on it.
	Jobs int
	// Tries bounds the runs spent on making one program smaller; 0 is DefaultTries, a negative number none.
	Tries int
	// Ignore are sites of differences that are known and not to be reported again.
	Ignore []string
	// Progress is called, one call at a time, after each seed.
	Progress func(done, differ int)
	// Program is called, one call at a time and in any order, with what is about to run.
	Program func(p Program)
	// Shrinking is called, one call at a time, with the seed whose program is about to be made smaller.
	Shrinking func(seed uint64)
}

// DefaultTries is enough for most programs.
const DefaultTries = 500

// Result of Check.
type Result struct {
	Planes [2]string `json:"planes"`
	First  uint64    `json:"firstSeed"`
	// Seeds is how many were asked for, Coverage.Programs how many ran.
	Seeds int `json:"seeds"`
	// Differences has one entry for each thing that differs, by the lowest seed that shows it.
	Differences []Difference `json:"differences"`
	Coverage    *Coverage    `json:"coverage"`
}

// Difference is something the two planes do not do alike.
type Difference struct {
	// Site is what differs, without names: "Pod .Spec.Overhead".
	Site string `json:"site"`
	// Seeds are those that show it first, in order.
	Seeds []uint64 `json:"seeds"`
	// Step is the number of the step, from 1, of Program that shows it.
	Step int `json:"step"`
	// Diff has lines with - for the first plane and + for the second.
	Diff string `json:"diff"`
	// Program is the smallest program found, as text.
	Program string `json:"program"`
	// Steps and Changes are its size, OfSteps and OfChanges that of the program of the seed.
	Steps     int `json:"steps"`
	Changes   int `json:"changes"`
	OfSteps   int `json:"ofSteps"`
	OfChanges int `json:"ofChanges"`
	// Shrunk says that Program was made smaller as far as it goes, or tries allow.
	Shrunk bool `json:"shrunk"`
	// Alone says that new planes that saw nothing else show it, too; Chance that they were asked and did not.
	Alone  bool `json:"alone"`
	Chance bool `json:"chance"`
}

// chances is how often new planes are asked for a difference before it counts as chance.
const chances = 5

// finding is a seed that differed.
type finding struct {
	seed uint64
	m    *mismatch
}

// Check runs the programs of seeds on both planes. Differences are no error. With an error, also of ctx, the result has
// what was found until then.
func Check(ctx context.Context, o Options) (*Result, error) {
	r := &Result{Planes: [2]string{o.Planes[0].Name, o.Planes[1].Name}, First: o.First, Seeds: o.Seeds, Differences: []Difference{}, Coverage: newCoverage()}
	c := &checker{o: o, coverage: r.Coverage}
	defer noExit()()
	jobs := max(1, min(o.Jobs, o.Seeds))
	err := parallel(jobs, func() error { return c.seeds(ctx) })
	slices.SortFunc(c.found, func(a, b finding) int { return cmp.Compare(a.seed, b.seed) })
	bySite := map[string]int{}
	for _, f := range c.found {
		at, known := bySite[f.m.site]
		if known {
			r.Differences[at].Seeds = append(r.Differences[at].Seeds, f.seed)
			continue
		}
		bySite[f.m.site] = len(r.Differences)
		p := FromSeed(f.seed)
		d := Difference{Site: f.m.site, Seeds: []uint64{f.seed}}
		d.OfSteps, d.OfChanges = p.Size()
		p.Steps = p.Steps[:min(f.m.step+1, len(p.Steps))]
		d.show(p, f.m)
		r.Differences = append(r.Differences, d)
	}
	if err != nil || len(r.Differences) == 0 || o.Tries < 0 {
		return r, err
	}
	next := counter(len(r.Differences))
	err = parallel(min(jobs, len(r.Differences)), func() error {
		for i, ok := next(); ok; i, ok = next() {
			if err := c.shrink(ctx, &r.Differences[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return r, err
}

func (d *Difference) show(p Program, m *mismatch) {
	d.Step, d.Diff, d.Program = m.step+1, m.diff, p.Text()
	d.Steps, d.Changes = p.Size()
}

var exits struct {
	sync.Mutex
	checks int
	before func(int)
}

// noExit makes a panic, which is a finding, of the end of the process, which the scheduler decides when its cache
// contradicts what it is given. It returns how to undo that; checks may overlap.
func noExit() func() {
	exits.Lock()
	defer exits.Unlock()
	if exits.checks++; exits.checks == 1 {
		exits.before = klog.OsExit
		klog.OsExit = func(code int) { panic(fmt.Sprintf("the scheduler ended the process with code %d", code)) }
	}
	return func() {
		exits.Lock()
		defer exits.Unlock()
		if exits.checks--; exits.checks == 0 {
			klog.OsExit = exits.before
		}
	}
}

type checker struct {
	o        Options
	mu       sync.Mutex
	taken    int
	done     int
	found    []finding
	coverage *Coverage
}

// parallel runs n workers and joins their errors. One that fails does not end the others.
func parallel(n int, work func() error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = work() })
	}
	wg.Wait()
	for _, err := range errs {
		// One Ctrl-C is one error.
		if errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}

// counter hands out 0 to n-1.
func counter(n int) func() (int, bool) {
	var mu sync.Mutex
	at := -1
	return func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		at++
		return at, at < n
	}
}

func (c *checker) take() (Program, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken >= c.o.Seeds {
		return Program{}, false
	}
	p := FromSeed(c.o.First + uint64(c.taken))
	c.taken++
	if c.o.Program != nil {
		c.o.Program(p)
	}
	return p, true
}

// seeds is one worker: a pair of planes that runs one program after the other.
func (c *checker) seeds(ctx context.Context) (err error) {
	var p *pair
	defer func() {
		if p != nil {
			err = errors.Join(err, p.close())
		}
	}()
	cov := newCoverage()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.coverage.add(cov)
	}()
	for prog, ok := c.take(); ok; prog, ok = c.take() {
		if p == nil {
			if p, err = startPair(ctx, c.o.Planes, c.o.Ignore); err != nil {
				return err
			}
		}
		m, err := p.run(ctx, prog, cov.step)
		if err != nil {
			return fmt.Errorf("seed %d: %w", prog.Seed, err)
		}
		cov.program(prog)
		clean := m == nil
		if clean {
			if clean, m, err = p.empty(ctx); err != nil {
				return fmt.Errorf("seed %d: %w", prog.Seed, err)
			}
			if m != nil {
				m.step = len(prog.Steps)
			}
		}
		if !clean {
			// Planes that differed once may differ again for that alone.
			cov.Restarts++
			if err := p.close(); err != nil {
				return err
			}
			p = nil
		}
		c.ran(prog.Seed, m)
	}
	return nil
}

func (c *checker) ran(seed uint64, m *mismatch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	if m != nil {
		c.found = append(c.found, finding{seed, m})
	}
	if c.o.Progress != nil {
		c.o.Progress(c.done, len(c.found))
	}
}

// shrink runs the program of a difference on new planes and makes it smaller there.
func (c *checker) shrink(ctx context.Context, d *Difference) (err error) {
	if c.o.Shrinking != nil {
		c.mu.Lock()
		c.o.Shrinking(d.Seeds[0])
		c.mu.Unlock()
	}
	p, err := startPair(ctx, c.o.Planes, c.o.Ignore)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	prog := FromSeed(d.Seeds[0])
	var m *mismatch
	for range chances {
		if m, err = p.attempt(ctx, prog); err != nil {
			return fmt.Errorf("seed %d: %w", d.Seeds[0], err)
		}
		if m != nil && m.site == d.Site {
			break
		}
		m = nil
	}
	d.Alone, d.Chance = m != nil, m == nil
	if m == nil {
		return nil
	}
	tries := c.o.Tries
	if tries == 0 {
		tries = DefaultTries
	}
	small, m, err := p.shrink(ctx, prog, m, tries)
	d.show(small, m)
	d.Shrunk = err == nil
	return err
}
