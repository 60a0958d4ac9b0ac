package sources

import (
	"strconv"
	"strings"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// bound is one --nodes=min:max:name of the cluster-autoscaler.
type bound struct{ min, max int32 }

type bounds map[string]bound

// parseBounds reads the --nodes flags. Names may hold colons and slashes (GCE instance group URLs). A malformed flag
// is left out: the cluster-autoscaler it belongs to would not have started.
func parseBounds(flags []string) bounds {
	out := bounds{}
	for i, f := range flags {
		name, value, ok := strings.Cut(strings.TrimLeft(f, "-"), "=")
		if name != "nodes" {
			continue
		}
		if !ok && i+1 < len(flags) { // "--nodes", "1:3:name"
			value = flags[i+1]
		}
		parts := strings.SplitN(value, ":", 3)
		if len(parts) != 3 || parts[2] == "" {
			continue
		}
		low, err1 := strconv.ParseInt(parts[0], 10, 32)
		high, err2 := strconv.ParseInt(parts[1], 10, 32)
		if err1 != nil || err2 != nil || low < 0 || high < low {
			continue
		}
		out[parts[2]] = bound{min: int32(low), max: int32(high)}
	}
	return out
}

// shortName is the last path segment: what a GCE instance group URL or an Azure or Gardener "namespace.name" ends in.
func shortName(name string) string {
	if i := strings.LastIndexAny(name, "/."); i >= 0 {
		return name[i+1:]
	}
	return name
}

// alias says whether one of the groups goes by the short form of name.
func (b bounds) alias(name string, groups map[string]*v1alpha1.NodeGroup) bool {
	return groups[shortName(name)] != nil
}

// apply sets the bounds of a group that a flag names, in full or by its short form.
func (b bounds) apply(g *v1alpha1.NodeGroup) {
	found, ok := b[g.Name]
	if !ok {
		matches := 0
		for name, candidate := range b {
			if shortName(name) == g.Name {
				found = candidate
				matches++
			}
		}
		if matches != 1 { // none, or more than one: not this source's to choose
			return
		}
	}
	g.Spec.MinSize, g.Spec.MaxSize = found.min, found.max
	if g.Annotations == nil {
		g.Annotations = map[string]string{}
	}
	g.Annotations[BoundsFrom] = FromFlags
}
