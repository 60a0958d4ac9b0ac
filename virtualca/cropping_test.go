package virtualca

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/config"
)

// unneededIn makes n unneeded nodes of a group.
func unneededIn(group string, n int) []*unneededNode {
	var out []*unneededNode
	for _, node := range nodesOf(group, n) {
		out = append(out, &unneededNode{since: testStart, removal: &removal{node: node, group: group}})
	}
	return out
}

func nodeNames(nodes []*unneededNode) []string {
	var out []string
	for _, u := range nodes {
		out = append(out, u.node.Name)
	}
	return out
}

// cropLoop has groups a and b, and z and y that have all of their nodes or none.
func cropLoop(t *testing.T, total, drains int) *loop {
	whole := true
	s := config.DefaultSettings()
	s.Down.MaxParallelism, s.Down.MaxDrain = total, drains
	groups := []scalehist.NodeGroup{smallGroup("a", 9, 9), smallGroup("b", 9, 9), smallGroup("z", 3, 9), smallGroup("y", 2, 9)}
	return newLoop(t, &testCluster{}, groups, s, cloudprovider.Options{GroupOptions: map[string]cloudprovider.GroupOptions{
		"z": {ZeroOrMaxNodeScaling: &whole}, "y": {ZeroOrMaxNodeScaling: &whole}}})
}

func TestCrop(t *testing.T) {
	for name, tc := range map[string]struct {
		total, drains         int
		under                 int
		empty, drained        []*unneededNode
		wantEmpty, wantDrains []string
	}{
		"empties first":                     {total: 3, drains: 2, empty: unneededIn("a", 2), drained: unneededIn("b", 3), wantEmpty: []string{"a-0", "a-1"}, wantDrains: []string{"b-0"}},
		"drains bounded":                    {total: 10, drains: 2, drained: unneededIn("b", 3), wantDrains: []string{"b-0", "b-1"}},
		"under way":                         {total: 3, drains: 1, under: 2, empty: unneededIn("a", 2), drained: unneededIn("b", 1), wantEmpty: []string{"a-0"}},
		"nothing left":                      {total: 2, drains: 1, under: 2, empty: unneededIn("a", 2)},
		"group by group":                    {total: 3, drains: 1, empty: append(append(unneededIn("b", 1), unneededIn("a", 2)...), unneededIn("b", 2)[1]), wantEmpty: []string{"b-0", "b-1", "a-0"}},
		"whole groups first":                {total: 4, drains: 1, empty: append(unneededIn("a", 3), unneededIn("z", 3)...), wantEmpty: []string{"z-0", "z-1", "z-2", "a-0"}},
		"one whole group overshoots":        {total: 2, drains: 1, empty: append(unneededIn("a", 1), unneededIn("z", 3)...), wantEmpty: []string{"z-0", "z-1", "z-2"}},
		"only one overshoots":               {total: 2, drains: 1, empty: append(unneededIn("z", 3), unneededIn("y", 2)...), wantEmpty: []string{"z-0", "z-1", "z-2"}},
		"a whole group with pods":           {total: 10, drains: 1, drained: unneededIn("z", 3), wantDrains: []string{"z-0", "z-1", "z-2"}},
		"a whole group, some of it drained": {total: 10, drains: 2, empty: unneededIn("z", 1), drained: unneededIn("z", 3)[1:], wantEmpty: []string{"z-0"}, wantDrains: []string{"z-1", "z-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := cropLoop(t, tc.total, tc.drains)
			for _, u := range unneededIn("gone", tc.under) {
				l.a.down.deletions.add(&deletion{node: u.node.Name, group: u.group})
			}
			empty, drained := l.crop(tc.empty, tc.drained)
			if diff := cmp.Diff(tc.wantEmpty, nodeNames(empty)); diff != "" {
				t.Errorf("empty (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantDrains, nodeNames(drained)); diff != "" {
				t.Errorf("to drain (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCropNeverExceeds: without zero-or-max groups neither bound is ever passed, and no node is listed twice.
func TestCropNeverExceeds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		total, drains := rapid.IntRange(0, 6).Draw(rt, "total"), rapid.IntRange(0, 6).Draw(rt, "drains")
		l := cropLoop(t, total, drains)
		empty, drained := l.crop(unneededIn("a", rapid.IntRange(0, 8).Draw(rt, "empty")), unneededIn("b", rapid.IntRange(0, 8).Draw(rt, "drained")))
		if len(empty)+len(drained) > total || len(drained) > drains {
			rt.Fatalf("%d empty and %d to drain, bounds %d and %d", len(empty), len(drained), total, drains)
		}
	})
}
