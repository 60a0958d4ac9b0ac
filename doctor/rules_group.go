package doctor

import (
	"context"
	"fmt"

	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/sources"
)

var groupRules = []Rule{
	{Code: "SH301", Title: "node without node group", Severity: Info, run: ungrouped,
		Doc: "Some nodes are in a node group and this one is in none. A replay takes it for one that people manage: it stays as recorded. Nodes of the " +
			"control plane are not listed.",
		Advice: "if an autoscaler manages it, record with another node-group source or a mapping file (--node-groups)"},
	{Code: "SH302", Title: "node group without template", Severity: Warning, run: noTemplate,
		Doc: "The node group has no template and no node at the start of the window to learn one from: the autoscaler cannot tell what a new node " +
			"would be like, and leaves the group out.",
		Advice: "start the window when the group has a node, or give a template in a mapping file"},
	{Code: "SH303", Title: "bounds guessed from nodes", Severity: Warning, run: guessedBounds,
		Doc: "Min and max of the group were not known: they are 0 and the most nodes ever seen at once. A replay cannot grow the group beyond that, which " +
			"the real autoscaler perhaps could.",
		Advice: "give the bounds: `scalehist replay --bounds NAME=MIN:MAX`, or record with a mapping file"},
	{Code: "SH304", Title: "target size guessed from nodes", Severity: Info, run: guessedTargets,
		Doc: "The target size of the group was counted from its nodes: it follows a scale-up only when the nodes join. Recorded steps come later than the " +
			"decision that made them, and provision delays cannot be learned from them.",
		Advice: "record with a node-group source that knows sizes; else compare sizes, not times"},
	{Code: "SH305", Title: "target size outside the bounds", Severity: Warning, run: outOfBounds,
		Doc: "The recorded target size is above the group's max or below its min: somebody else sized it, or the bounds are wrong. The autoscaler of a " +
			"replay does not grow a group above its max, and one below its min stays so without --enforce-node-group-min-size.",
		Advice: "check the bounds; override them with `scalehist replay --bounds NAME=MIN:MAX`"},
	{Code: "SH306", Title: "inverted bounds", Severity: Error, run: invertedBounds,
		Doc:    "The node group's min is above its max, or a bound is negative: no cloud provider has such a group.",
		Advice: "correct the node-group source, or override the bounds with `scalehist replay --bounds NAME=MIN:MAX`"},
	{Code: "SH307", Title: "node of an unknown group", Severity: Warning, run: unknownGroup,
		Doc:    "A node names a node group that was never recorded. A replay treats the node as one outside every group.",
		Advice: "record the groups: `scalehist record --node-groups`, or kind NodeGroup in the object log"},
}

// controlPlane are the labels of nodes that no autoscaler manages.
var controlPlane = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}

func ungrouped(_ context.Context, in *Input) ([]Finding, error) {
	var out []Finding
	grouped := false
	for _, n := range in.scene.nodes {
		if n.group() != "" {
			grouped = true
			continue
		}
		isControl := false
		for _, label := range controlPlane {
			_, ok := n.node.Labels[label]
			isControl = isControl || ok
		}
		if !isControl {
			out = append(out, Finding{At: n.seen, Object: "Node " + n.node.Name, Message: "it is in no node group, others are"})
		}
	}
	if !grouped {
		return nil, nil
	}
	return out, nil
}

func noTemplate(_ context.Context, in *Input) ([]Finding, error) {
	initial, later := map[string]bool{}, map[string]bool{}
	for _, n := range in.scene.nodes {
		if n.initial {
			initial[n.group()] = true
		} else {
			later[n.group()] = true
		}
	}
	var out []Finding
	for _, g := range in.Groups {
		if g.Spec.Template != nil || initial[g.Name] {
			continue
		}
		message := "it has no template, and no node in the window"
		if later[g.Name] {
			message = "it has no template, and its first node comes after the start"
		}
		out = append(out, Finding{At: in.From, Object: "NodeGroup " + g.Name, Message: message})
	}
	return out, nil
}

// perGroup writes one finding for the first state of each group that message says something about.
func perGroup(in *Input, message func(*v1alpha1.NodeGroup) string) []Finding {
	var out []Finding
	reported := map[string]bool{}
	for _, g := range in.scene.groups {
		if m := message(g.object); m != "" && !reported[g.object.Name] {
			reported[g.object.Name] = true
			out = append(out, Finding{At: g.at, Object: "NodeGroup " + g.object.Name, Message: m})
		}
	}
	return out
}

func guessedBounds(_ context.Context, in *Input) ([]Finding, error) {
	return perGroup(in, func(g *v1alpha1.NodeGroup) string {
		if !g.GuessedMax() {
			return ""
		}
		return "the bounds are taken from the most nodes seen at once"
	}), nil
}

func guessedTargets(_ context.Context, in *Input) ([]Finding, error) {
	return perGroup(in, func(g *v1alpha1.NodeGroup) string {
		if g.Annotations[sources.TargetSizeFrom] != sources.FromNodes {
			return ""
		}
		return "the target size is counted from its nodes"
	}), nil
}

func outOfBounds(_ context.Context, in *Input) ([]Finding, error) {
	return perGroup(in, func(g *v1alpha1.NodeGroup) string {
		s := g.Spec
		switch {
		case inverted(g):
			return ""
		case s.TargetSize > s.MaxSize:
			return fmt.Sprintf("the target size %d is above the max %d", s.TargetSize, s.MaxSize)
		case s.TargetSize < s.MinSize:
			return fmt.Sprintf("the target size %d is below the min %d", s.TargetSize, s.MinSize)
		}
		return ""
	}), nil
}

func inverted(g *v1alpha1.NodeGroup) bool {
	return g.Spec.MinSize > g.Spec.MaxSize || g.Spec.MinSize < 0
}

func invertedBounds(_ context.Context, in *Input) ([]Finding, error) {
	return perGroup(in, func(g *v1alpha1.NodeGroup) string {
		if !inverted(g) {
			return ""
		}
		return fmt.Sprintf("min %d, max %d", g.Spec.MinSize, g.Spec.MaxSize)
	}), nil
}

func unknownGroup(_ context.Context, in *Input) ([]Finding, error) {
	var out []Finding
	reported := map[string]bool{}
	for _, n := range in.scene.nodes {
		r := ref{kind: "NodeGroup", name: n.group()}
		if r.name == "" || in.scene.seen[r] || reported[r.name] {
			continue
		}
		reported[r.name] = true
		out = append(out, Finding{At: n.seen, Object: "Node " + n.node.Name, Message: fmt.Sprintf("it names %s, which was not recorded", r)})
	}
	return out, nil
}
