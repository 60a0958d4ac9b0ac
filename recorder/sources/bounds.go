package sources

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

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

// stated is what the cluster-autoscaler says of one of its groups, by its own name.
type stated struct {
	name     string
	min, max int32
	from     string // FromFlags or FromStatus
	target   int32
	targeted bool // the target is known
}

type statements []stated

// statedBy joins flags and status: bounds are the flags' where they name the group, target sizes the status's. Sorted by name.
func statedBy(s State) statements {
	all := map[string]stated{}
	for _, g := range s.fresh() {
		all[g.Name] = stated{name: g.Name, min: g.Min, max: g.Max, from: FromStatus, target: g.Target, targeted: true}
	}
	for name, b := range parseBounds(s.Flags) {
		t := all[name]
		t.name, t.min, t.max, t.from = name, b.min, b.max, FromFlags
		all[name] = t
	}
	var out statements
	for _, t := range all {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b stated) int { return strings.Compare(a.name, b.name) })
	return out
}

// apply gives groups the sizes the autoscaler stated of them. members are the groups' nodes; key is the label the names of
// groups come from, "" for none. It returns the statements that no group took: groups at size zero, or of other clusters.
func (all statements) apply(groups map[string]*v1alpha1.NodeGroup, members map[string][]*corev1.Node, key string) statements {
	takers := map[string][]int{} // group -> what may be meant
	var rest statements
	for i, t := range all {
		name := ""
		if groups[t.name] != nil {
			name = t.name
		} else {
			name = t.meant(groups, members, key)
		}
		if name == "" {
			rest = append(rest, t)
			continue
		}
		takers[name] = append(takers[name], i)
	}
	for name, indices := range takers {
		g := groups[name]
		exact := slices.IndexFunc(indices, func(i int) bool { return all[i].name == name })
		switch {
		case exact >= 0:
			all[indices[exact]].give(g)
		case len(indices) == 1:
			all[indices[0]].give(g)
		} // more than one may be meant: not ours to choose
	}
	return rest
}

func (t stated) give(g *v1alpha1.NodeGroup) {
	g.Spec.MinSize, g.Spec.MaxSize = t.min, t.max
	if g.Annotations == nil {
		g.Annotations = map[string]string{}
	}
	g.Annotations[BoundsFrom] = t.from
	if t.name != g.Name {
		g.Annotations[AutoscalerName] = t.name
	}
	if t.targeted {
		g.Spec.TargetSize, g.Annotations[TargetSizeFrom] = t.target, FromStatus
	}
}

// meant is the one group that goes by another name than the autoscaler's, "" if none or several do: the last segment of
// a path, the name a cloud makes of a node group's, or the instance group its nodes are in.
func (t stated) meant(groups map[string]*v1alpha1.NodeGroup, members map[string][]*corev1.Node, key string) string {
	if short := shortName(t.name); groups[short] != nil {
		return short
	}
	if derived := labelValue(key, t.name); derived != "" && groups[derived] != nil {
		return derived
	}
	found := ""
	for name, nodes := range members {
		if slices.ContainsFunc(nodes, t.has) {
			if found != "" {
				return ""
			}
			found = name
		}
	}
	return found
}

// has says whether a node is in the group by what the node alone shows.
func (t stated) has(n *corev1.Node) bool {
	if slices.Contains(instanceGroups(n), shortName(t.name)) || slices.Contains(instanceGroups(n), t.name) {
		return true
	}
	for _, w := range wellKnown {
		if v := n.Labels[w.key]; v != "" && !w.perZone && (v == t.name || v == labelValue(w.key, t.name)) {
			return true
		}
	}
	return false
}

var (
	// A Google managed instance group "NAME-grp" makes instances "NAME-xxxx".
	googleInstance = regexp.MustCompile(`^(gke-.+)-[a-z0-9]{4}$`)
	azureScaleSet  = regexp.MustCompile(`(?i)/virtualMachineScaleSets/([^/]+)/`)
)

// instanceGroups are the names of the cloud's groups that a node's name and provider ID show.
func instanceGroups(n *corev1.Node) []string {
	var out []string
	if m := googleInstance.FindStringSubmatch(n.Name); m != nil {
		out = append(out, m[1]+"-grp", m[1])
	}
	if m := azureScaleSet.FindStringSubmatch(n.Spec.ProviderID); m != nil {
		out = append(out, m[1])
	}
	return out
}

// labelPatterns are how clouds name the group of instances of a node group, by the label that has the node group's name.
var labelPatterns = map[string]*regexp.Regexp{
	"eks.amazonaws.com/nodegroup":    regexp.MustCompile(`^eks-(.+)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`),
	"alpha.eksctl.io/nodegroup-name": regexp.MustCompile(`^eksctl-.+-nodegroup-(.+)-NodeGroup-[^-]+$`),
	"kubernetes.azure.com/agentpool": regexp.MustCompile(`^aks-(.+)-[0-9]+-vmss$`),
	"agentpool":                      regexp.MustCompile(`^aks-(.+)-[0-9]+-vmss$`),
	"kops.k8s.io/instancegroup":      regexp.MustCompile(`^([^.]+)\..+$`),
}

// labelValue is the label's value that the name of a cloud's group is made of, "" if it is not made so.
func labelValue(key, name string) string {
	if p := labelPatterns[key]; p != nil {
		if m := p.FindStringSubmatch(name); m != nil {
			return m[1]
		}
	}
	return ""
}

// shortName is the last path segment: what a GCE instance group URL or an Azure or Gardener "namespace.name" ends in.
func shortName(name string) string {
	if i := strings.LastIndexAny(name, "/."); i >= 0 {
		return cmp.Or(name[i+1:], name)
	}
	return name
}
