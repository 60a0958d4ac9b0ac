package sources

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// StatusConfigMap is the name of the ConfigMap with the cluster-autoscaler's status, whose data key is "status"
// (--status-config-map-name has this default).
const StatusConfigMap = "cluster-autoscaler-status"

// statusAge is how old a status may be. An autoscaler writes it every loop (10 s) and restarts itself when it has not
// looped for 10 minutes (--max-inactivity); an older one is of an autoscaler that is gone.
const statusAge = 15 * time.Minute

// StatusGroup is what a status says of one node group.
type StatusGroup struct {
	Name             string
	Min, Max, Target int32
}

// ParseStatus reads the status of a cluster-autoscaler: YAML since 1.30, text before. at is when it was written, zero if
// it does not say. Groups without bounds are left out.
func ParseStatus(status string) (groups []StatusGroup, at time.Time) {
	var y struct {
		Time       string `json:"time"`
		NodeGroups []struct {
			Name   string `json:"name"`
			Health struct {
				CloudProviderTarget int64 `json:"cloudProviderTarget"`
				MinSize             int64 `json:"minSize"`
				MaxSize             int64 `json:"maxSize"`
			} `json:"health"`
		} `json:"nodeGroups"`
	}
	if err := yaml.Unmarshal([]byte(status), &y); err != nil || len(y.NodeGroups) == 0 {
		return parseTextStatus(status)
	}
	for _, g := range y.NodeGroups {
		if s, ok := statusGroup(g.Name, g.Health.CloudProviderTarget, g.Health.MinSize, g.Health.MaxSize); ok {
			groups = append(groups, s)
		}
	}
	return groups, parseStatusTime(y.Time)
}

var (
	textName  = regexp.MustCompile(`^\s*Name:\s+(\S+)\s*$`)
	textSizes = regexp.MustCompile(`cloudProviderTarget=(\d+) \(minSize=(\d+), maxSize=(\d+)\)`)
)

func parseTextStatus(status string) (groups []StatusGroup, at time.Time) {
	name := ""
	for _, line := range strings.Split(status, "\n") {
		if rest, ok := strings.CutPrefix(line, "Cluster-autoscaler status at "); ok {
			at = parseStatusTime(strings.TrimSuffix(strings.TrimSpace(rest), ":"))
		}
		if m := textName.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		m := textSizes.FindStringSubmatch(line)
		if m == nil || name == "" {
			continue
		}
		number := func(i int) int64 {
			n, err := strconv.ParseInt(m[i], 10, 64)
			if err != nil {
				return -1
			}
			return n
		}
		if s, ok := statusGroup(name, number(1), number(2), number(3)); ok {
			groups = append(groups, s)
		}
		name = ""
	}
	return groups, at
}

func statusGroup(name string, target, low, high int64) (StatusGroup, bool) {
	ok := name != "" && target >= 0 && low >= 0 && high >= low && target <= math.MaxInt32 && high <= math.MaxInt32
	return StatusGroup{Name: name, Min: int32(low), Max: int32(high), Target: int32(target)}, ok
}

// parseStatusTime reads what Go's time.Time.String writes: "2026-09-23 10:11:12.345678901 +0000 UTC".
func parseStatusTime(s string) time.Time {
	s, _, _ = strings.Cut(s, " m=")
	t, err := time.Parse("2006-01-02 15:04:05.999999999 -0700 MST", s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// fresh are the groups of the status ConfigMaps that are not stale, and those of an earlier status are left out when a
// later one has the group.
func (s State) fresh() []StatusGroup {
	var out []StatusGroup
	seen := map[string]time.Time{}
	for _, c := range s.Status {
		groups, at := ParseStatus(c.Data["status"])
		if !at.IsZero() && !s.At.IsZero() && s.At.Sub(at) > statusAge {
			continue
		}
		for _, g := range groups {
			was, again := seen[g.Name]
			if again && !at.After(was) {
				continue
			}
			seen[g.Name] = at
			if again {
				for i := range out {
					if out[i].Name == g.Name {
						out[i] = g
					}
				}
				continue
			}
			out = append(out, g)
		}
	}
	return out
}

// status knows groups by the status ConfigMap alone.
type status struct{ members map[string]string }

// Status takes the groups of the ConfigMap cluster-autoscaler-status with their names, bounds and target sizes. Which
// nodes are in them it knows by names: Azure scale sets and Google instance groups have theirs in the nodes' names and
// provider IDs, EKS node groups and others in a label (see Labels). Nodes it cannot match are in no group.
func Status() Source { return &status{} }

func (s *status) Name() string { return "status" }

func (s *status) GroupOf(n *corev1.Node) string { return s.members[n.Name] }

func (s *status) Groups(state State) []*v1alpha1.NodeGroup {
	s.members = map[string]string{}
	groups := map[string]*v1alpha1.NodeGroup{}
	previous := byName(state.Previous)
	all := statedBy(state)
	for _, t := range all {
		var nodes []*corev1.Node
		for _, n := range state.Nodes {
			if s.members[n.Name] == "" && t.has(n) {
				s.members[n.Name] = t.name
				nodes = append(nodes, n)
			}
		}
		g := seenGroup(t.name, nil)
		if len(nodes) > 0 {
			g = seenGroup(t.name, byGroup(s, nodes)[t.name])
		} else if was := previous[t.name]; was != nil {
			g.Spec.Template, g.Spec.Zone, g.Spec.MachineType = was.Spec.Template.DeepCopy(), was.Spec.Zone, was.Spec.MachineType
		}
		groups[t.name] = g
	}
	all.apply(groups, nil, "")
	return sorted(groups)
}
