package crosscheck

import (
	"maps"
	"regexp"
	"strings"
)

// Coverage counts what programs made the control planes do, so that a check that checks nothing shows.
type Coverage struct {
	Programs int `json:"programs"`
	Steps    int `json:"steps"`
	// Changes are those that were handed to Apply.
	Changes          int `json:"changes"`
	Bindings         int `json:"bindings"`
	Unschedulable    int `json:"unschedulable"`
	Nominations      int `json:"nominations"`
	Victims          int `json:"victims"`
	Evictions        int `json:"evictions"`
	EvictionsRefused int `json:"evictionsRefused"`
	TaintsSet        int `json:"taintsSet"`
	// Refusals are errors of all kinds, refused evictions apart.
	Refusals int `json:"refusals"`
	// Restarts are pairs of planes that could not be emptied, or differed.
	Restarts int `json:"restarts"`
	// Kinds counts changes by operation and kind: "add Pod".
	Kinds map[string]int `json:"kinds"`
	// Reasons counts why nodes could not take a pod, in the scheduler's words.
	Reasons map[string]int `json:"reasons"`
	// Errors counts errors by their text without names and numbers.
	Errors map[string]int `json:"errors"`
	// Reached counts what the generator put into programs.
	Reached map[string]int `json:"reached"`
}

func newCoverage() *Coverage {
	return &Coverage{Kinds: map[string]int{}, Reasons: map[string]int{}, Errors: map[string]int{}, Reached: map[string]int{}}
}

var (
	nodeCount  = regexp.MustCompile(`\b[0-9]+ (node\(s\) )?`)
	reasonText = regexp.MustCompile(`^0/[0-9]+ nodes are available: (.*?)\.?( no new claims.*| preemption.*)?$`)
	inBraces   = regexp.MustCompile(`\{[^}]*\}`)
)

func (c *Coverage) program(p Program) {
	c.Programs++
	for k, n := range p.Reached {
		c.Reached[k] += n
	}
}

// step counts a step in which both planes agreed.
func (c *Coverage) step(s Step, o outcome) {
	c.Steps++
	switch {
	case s.Apply != nil:
		c.Changes += o.applied
		for _, ch := range s.Apply {
			c.Kinds[string(ch.Op)+" "+kindName(ch.Object)]++
		}
	case s.Taint != nil && o.Error == "":
		c.TaintsSet++
	case s.Evict != nil && o.Error == "":
		c.Evictions++
	}
	switch {
	case strings.HasPrefix(o.Kind, "eviction refused"):
		c.EvictionsRefused++
	case o.Error != "":
		c.Refusals++
	}
	if o.Error != "" {
		c.Errors[gist(normal(o.Error))]++
	}
	c.Bindings += len(o.Settled.Bindings)
	c.Victims += len(o.Settled.Victims)
	c.Unschedulable += len(o.Settled.Unschedulable)
	for _, u := range o.Settled.Unschedulable {
		if u.Nominated != "" {
			c.Nominations++
		}
		text := u.Message
		if m := reasonText.FindStringSubmatch(text); m != nil {
			text = m[1]
		}
		for reason := range strings.SplitSeq(text, ", ") {
			c.Reasons[quoted.ReplaceAllString(inBraces.ReplaceAllString(nodeCount.ReplaceAllString(reason, ""), "{}"), `""`)]++
		}
	}
}

func (c *Coverage) add(o *Coverage) {
	c.Programs += o.Programs
	c.Steps += o.Steps
	c.Changes += o.Changes
	c.Bindings += o.Bindings
	c.Unschedulable += o.Unschedulable
	c.Nominations += o.Nominations
	c.Victims += o.Victims
	c.Evictions += o.Evictions
	c.EvictionsRefused += o.EvictionsRefused
	c.TaintsSet += o.TaintsSet
	c.Refusals += o.Refusals
	c.Restarts += o.Restarts
	for _, m := range []struct{ to, from map[string]int }{{c.Kinds, o.Kinds}, {c.Reasons, o.Reasons}, {c.Errors, o.Errors}, {c.Reached, o.Reached}} {
		for k := range maps.Keys(m.from) {
			m.to[k] += m.from[k]
		}
	}
}
