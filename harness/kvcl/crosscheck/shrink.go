package crosscheck

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
)

// shrinker makes a program smaller as long as it shows the same difference.
//
// It works on the program, not on the draws behind it as rapid does: what stays of a program then stays as it was, and a
// program that differs in its 30th change is small after as many tries as it has changes.
type shrinker struct {
	pair  *pair
	site  string
	left  int
	best  Program
	found *mismatch
	err   error
}

// shrink returns the smallest program found with at most tries runs, and its mismatch. prog must show m on the pair.
func (p *pair) shrink(ctx context.Context, prog Program, m *mismatch, tries int) (Program, *mismatch, error) {
	s := &shrinker{pair: p, site: m.site, left: tries, best: prog, found: m}
	s.best.Steps = slices.Clone(prog.Steps[:m.step+1])
	// What differed once stays counted: only a difference in UIDs needs planes that saw the same.
	p.anyUID = !strings.Contains(m.site, "UID")
	defer func() { p.anyUID = false }()
	for before := -1; s.left > 0 && s.left != before && s.err == nil; {
		before = s.left
		size := weight(s.best)
		s.steps(ctx)
		s.changes(ctx)
		s.merge(ctx)
		s.objects(ctx)
		s.settles(ctx)
		if weight(s.best) == size {
			break
		}
	}
	return s.best, s.found, s.err
}

func weight(p Program) int { return len(p.Text()) }

// try keeps a program if it shows the difference.
func (s *shrinker) try(ctx context.Context, p Program) bool {
	if s.left <= 0 || s.err != nil || len(p.Steps) == 0 {
		return false
	}
	s.left--
	m, err := s.pair.attempt(ctx, p)
	if err != nil {
		s.err = err
		return false
	}
	if m == nil || !slices.Contains(m.sites, s.site) {
		return false
	}
	p.Steps = p.Steps[:min(m.step+1, len(p.Steps))]
	s.best, s.found = p, m
	return true
}

// attempt runs a program and empties the planes, again if need be.
func (p *pair) attempt(ctx context.Context, prog Program) (*mismatch, error) {
	m, err := p.run(ctx, prog, nil)
	if err != nil {
		return nil, err
	}
	ok, emptied, err := p.empty(ctx)
	if err != nil {
		return nil, err
	}
	if m == nil && emptied != nil {
		emptied.step = len(prog.Steps)
		m = emptied
	}
	if !ok {
		err = p.restart(ctx)
	}
	return m, err
}

// without removes pieces of a list of n, large pieces first, as long as keep likes what is left.
func without(n int, keep func(left []int) bool) {
	left := make([]int, n)
	for i := range left {
		left[i] = i
	}
	for size := max(len(left)/2, 1); size >= 1; size /= 2 {
		for at := 0; at < len(left); {
			next := append(slices.Clone(left[:at]), left[min(at+size, len(left)):]...)
			if keep(next) {
				left = next
			} else {
				at += size
			}
		}
	}
}

func (s *shrinker) steps(ctx context.Context) {
	from := s.best
	without(len(from.Steps), func(left []int) bool {
		p := from
		p.Steps = nil
		for _, i := range left {
			p.Steps = append(p.Steps, from.Steps[i])
		}
		return s.try(ctx, p)
	})
}

func (s *shrinker) changes(ctx context.Context) {
	from := s.best
	type place struct{ step, change int }
	var places []place
	for i, step := range from.Steps {
		for j := range step.Apply {
			places = append(places, place{i, j})
		}
	}
	without(len(places), func(left []int) bool {
		p := from
		p.Steps = slices.Clone(from.Steps)
		for i := range p.Steps {
			if p.Steps[i].Apply != nil {
				p.Steps[i].Apply = []Change{}
			}
		}
		for _, i := range left {
			at := places[i]
			p.Steps[at.step].Apply = append(p.Steps[at.step].Apply, from.Steps[at.step].Apply[at.change])
		}
		return s.try(ctx, p)
	})
}

// merge makes one Apply of two that follow one another.
func (s *shrinker) merge(ctx context.Context) {
	for i := 0; i+1 < len(s.best.Steps); {
		a, b := s.best.Steps[i], s.best.Steps[i+1]
		if a.Apply == nil || b.Apply == nil {
			i++
			continue
		}
		p := s.best
		p.Steps = slices.Concat(p.Steps[:i], []Step{{Apply: slices.Concat(a.Apply, b.Apply)}}, p.Steps[i+2:])
		if !s.try(ctx, p) {
			i++
		}
	}
}

// with is the program with one change replaced.
func with(p Program, step, change int, c Change) Program {
	p.Steps = slices.Clone(p.Steps)
	p.Steps[step].Apply = slices.Clone(p.Steps[step].Apply)
	p.Steps[step].Apply[change] = c
	return p
}

// objects leaves out fields of objects.
func (s *shrinker) objects(ctx context.Context) {
	for i := 0; i < len(s.best.Steps); i++ {
		for j := 0; i < len(s.best.Steps) && j < len(s.best.Steps[i].Apply); j++ {
			c := s.best.Steps[i].Apply[j]
			if c.Ago != 0 {
				c.Ago = 0
				s.try(ctx, with(s.best, i, j, c))
			}
			if c.Object == nil || c.Edit != nil || c.Op == scalehist.OpDelete {
				continue
			}
			s.fields(ctx, i, j)
		}
	}
}

func (s *shrinker) fields(ctx context.Context, step, change int) {
	c := s.best.Steps[step].Apply[change]
	data, err := json.Marshal(c.Object)
	if err != nil {
		return
	}
	var tree any
	if json.Unmarshal(data, &tree) != nil {
		return
	}
	put := func() bool {
		data, err := json.Marshal(tree)
		if err != nil {
			return false
		}
		obj := reflect.New(reflect.TypeOf(c.Object).Elem()).Interface().(scalehist.Object)
		if json.Unmarshal(data, obj) != nil || sameText(obj, s.best.Steps[step].Apply[change].Object) {
			return false
		}
		next := c
		next.Object = obj
		return s.try(ctx, with(s.best, step, change, next)) && step < len(s.best.Steps)
	}
	prune(tree, func(any) {}, put)
}

func sameText(a, b scalehist.Object) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// prune removes what it can from a tree of JSON, from the outside in. set replaces node in its parent; put says whether
// the tree as it is now still does it.
func prune(node any, set func(any), put func() bool) {
	switch n := node.(type) {
	case map[string]any:
		keys := make([]string, 0, len(n))
		for k := range n {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			old := n[k]
			delete(n, k)
			if put() {
				continue
			}
			n[k] = old
			prune(old, func(v any) { n[k] = v }, put)
		}
	case []any:
		for i := 0; i < len(n); {
			less := append(slices.Clone(n[:i]), n[i+1:]...)
			set(less)
			if put() {
				n = less
				continue
			}
			set(n)
			prune(n[i], func(v any) { n[i] = v }, put)
			i++
		}
	}
}

// settles makes all waits a second.
func (s *shrinker) settles(ctx context.Context) {
	for i := range s.best.Steps {
		if i >= len(s.best.Steps) {
			return
		}
		if st := s.best.Steps[i]; st.Apply == nil && st.Taint == nil && st.Evict == nil && st.Settle > 0 && st.Settle != time.Second {
			p := s.best
			p.Steps = slices.Clone(p.Steps)
			p.Steps[i].Settle = time.Second
			s.try(ctx, p)
		}
	}
}
