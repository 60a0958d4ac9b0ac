package recorder

import (
	"fmt"
	"slices"
	"strings"
)

// Refused is a kind that is not recorded, because the account may not or the server does not.
type Refused struct {
	// Kind is "Pod", Resource "pods", Group "" or "apps".
	Kind, Resource, Group string
	// Forbidden: the account may not list it; else the API server does not serve it.
	Forbidden bool
}

// name is what kubectl calls the resource: "nodes", "jobs.batch".
func (r Refused) name() string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}

// Refused are the kinds that are not recorded, in the order of Kinds. Call it after WaitForStart.
func (r *Recorder) Refused() []Refused { return slices.Clone(r.refused) }

// RefusedText says which kinds are missing and what to do: one line for those that are forbidden, one for those
// that are not served.
func RefusedText(list []Refused) []string {
	var forbidden, unserved []string
	for _, r := range list {
		if r.Forbidden {
			forbidden = append(forbidden, r.name())
		} else {
			unserved = append(unserved, r.name())
		}
	}
	var out []string
	if len(forbidden) > 0 {
		out = append(out, fmt.Sprintf("not recorded, the account may not read them: %s; a ClusterRole with the verbs get, list, watch on them allows it",
			strings.Join(forbidden, ", ")))
	}
	if len(unserved) > 0 {
		out = append(out, "not recorded, the API server does not serve them: "+strings.Join(unserved, ", "))
	}
	return out
}
