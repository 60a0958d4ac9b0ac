package virtualca

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
func byPriority(l *loop, options []*option) []*option {
	if len(l.a.priorities) == 0 {
		if l.a.prioritiesErr != nil {
			l.note("priority expander: %v: no filtering", l.a.prioritiesErr)
		} else {
			l.note("priority expander: there are no priorities: no filtering")
		}
		return options
	}
	matched := map[*option]bool{}
	for _, o := range options {
		for prio, list := range l.a.priorities {
			if !slices.ContainsFunc(list, func(r *regexp.Regexp) bool { return r.MatchString(o.group) }) {
				continue
			}
			if v, ok := o.scores["priority"]; !ok || float64(prio) > v {
				o.scores["priority"] = float64(prio)
			}
			matched[o] = true
		}
		if !matched[o] {
			l.event("PriorityConfigMapNotMatchedGroup", "ConfigMap/"+l.a.settings.Namespace+"/cluster-autoscaler-priority-expander",
				fmt.Sprintf("Priority expander: node group %s not found in priority expander configuration. The group won't be used.", o.group))
			o.reason = "priority: no expression matches"
		}
	}
	// Upstream starts its search at priority -1: lower ones never win.
	best := narrow("priority", options, func(o *option) (float64, bool) {
		v := o.scores["priority"]
		return v, matched[o] && v >= -1
	}, higher)
	if len(best) == 0 {
		l.note("priority expander: no option matches: no filtering")
		for _, o := range options {
			o.reason = ""
		}
		return options
	}
	return best
}
