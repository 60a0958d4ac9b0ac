package main

import (
	"math/rand/v2"
	"strings"
)

// attack is one broken input and what it is given to.
type attack struct {
	Seed   uint64 `json:"seed"`
	Source string `json:"source,omitempty"`
	// Mutations say what was done to the source.
	Mutations []string `json:"mutations,omitempty"`
	// Command is the target and, after exit code 0, those that follow it, as target.line writes them.
	Command string `json:"command"`
	// Delivery is how a body is sent to a server, or by one.
	Delivery delivery `json:"delivery,omitempty"`
	target   target
	input    []byte
}

// plan is the attack of a seed: the same for the same sources.
func plan(seed uint64, from sources, only string) attack {
	r := rand.New(rand.NewPCG(seed, 0))
	all := targets()
	if only != "" {
		var some []target
		for _, t := range all {
			if strings.HasPrefix(t.line(), only) {
				some = append(some, t)
			}
		}
		if len(some) > 0 {
			all = some
		}
	}
	t := pick(r, all)
	s := pick(r, from[t.kind])
	a := attack{Seed: seed, Source: s.name, target: t, Command: t.line()}
	a.input, a.Mutations = mutate(r, t.kind, s.data)
	if t.serves != "" {
		a.Delivery = pick(r, deliveries)
	}
	if t.asks != "" {
		a.Delivery = pick(r, answerDeliveries)
	}
	return a
}

// line is how a target is written where it is shown and kept: the commands one after the other.
func (t target) line() string {
	text := t.command + " " + t.args
	if t.serves != "" {
		text += ", sent " + t.serves
	}
	if t.asks != "" {
		text += ", answered to " + t.asks
	}
	for _, next := range t.then {
		text += "; " + next.line()
	}
	return text
}

// find gives the target that is written so.
func find(line string) (target, bool) {
	for _, t := range targets() {
		if t.line() == line {
			return t, true
		}
	}
	return target{}, false
}
