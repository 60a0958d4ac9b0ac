package expander

import (
	"fmt"
	"regexp"
	"slices"

	"sigs.k8s.io/yaml"
)

// parsePriorities reads the priority expander's map from priority to regular expressions.
func parsePriorities(text string) (map[int][]*regexp.Regexp, error) {
	var raw map[int][]string
	if err := yaml.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("priorities: %w", err)
	}
	out := map[int][]*regexp.Regexp{}
	for prio, list := range raw {
		for _, e := range list {
			r, err := regexp.Compile(e)
			if err != nil {
				return nil, fmt.Errorf("priorities: %d: %w", prio, err)
			}
			out[prio] = append(out[prio], r)
		}
	}
	return out, nil
}

// byPriority keeps the groups of the highest priority whose expression is found in their name. Groups without one are
// left out; without any match, or without a usable map, nothing is (expander/priority/priority.go).
func byPriority(w *weighing, options []*Option) []*Option {
	if len(w.priorities) == 0 {
		if w.prioritiesErr != nil {
			w.Note("priority expander: %v: no filtering", w.prioritiesErr)
		} else {
			w.Note("priority expander: there are no priorities: no filtering")
		}
		return options
	}
	matched := map[*Option]bool{}
	for _, o := range options {
		for prio, list := range w.priorities {
			if !slices.ContainsFunc(list, func(r *regexp.Regexp) bool { return r.MatchString(o.Group) }) {
				continue
			}
			if v, ok := o.Scores["priority"]; !ok || float64(prio) > v {
				o.Scores["priority"] = float64(prio)
			}
			matched[o] = true
		}
		if !matched[o] {
			w.Unmatched(o.Group)
			o.Reason = "priority: no expression matches"
		}
	}
	// Upstream starts its search at priority -1: lower ones never win.
	best := narrow("priority", options, func(o *Option) (float64, bool) {
		v := o.Scores["priority"]
		return v, matched[o] && v >= -1
	}, higher)
	if len(best) == 0 {
		w.Note("priority expander: no option matches: no filtering")
		for _, o := range options {
			o.Reason = ""
		}
		return options
	}
	return best
}
