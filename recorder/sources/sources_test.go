package sources

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

func node(name string, age int, labels map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels,
		CreationTimestamp: metav1.NewTime(time.Date(2024, 5, 28, 10, age, 0, 0, time.UTC))},
		Status: corev1.NodeStatus{Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}}}
}

// line prints a group: name min..max target zone machine bounds-from.
func lines(groups []*v1alpha1.NodeGroup) []string {
	out := []string{}
	for _, g := range groups {
		s := g.Spec
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %d..%d target %d %s %s by %s", g.Name, s.MinSize, s.MaxSize, s.TargetSize,
			s.Zone, s.MachineType, g.Annotations[BoundsFrom])))
	}
	return out
}

func TestLabels(t *testing.T) {
	eks := func(group, zone string) map[string]string {
		return map[string]string{"eks.amazonaws.com/nodegroup": group, corev1.LabelTopologyZone: zone, corev1.LabelInstanceTypeStable: "m5.large"}
	}
	nodes := []*corev1.Node{node("a", 1, eks("one", "z1")), node("b", 2, eks("one", "z2")), node("c", 3, eks("two", "z1")), node("d", 4, nil)}
	gone := seenGroup("gone", []*corev1.Node{node("x", 0, eks("gone", "z1")), node("y", 0, eks("gone", "z1"))})
	tests := []struct {
		name  string
		state State
		want  []string
	}{
		{"counts nodes", State{Nodes: nodes}, []string{"one 0..2 target 2  m5.large by nodes", "two 0..1 target 1 z1 m5.large by nodes"}},
		{"takes bounds from flags", State{Nodes: nodes, Flags: []string{"--v=4", "--nodes=1:5:one", "--nodes", "0:7:two"}},
			[]string{"one 1..5 target 2  m5.large by cluster-autoscaler", "two 0..7 target 1 z1 m5.large by cluster-autoscaler"}},
		{"knows a group at zero by its flag", State{Flags: []string{"--nodes=0:3:empty"}}, []string{"empty 0..3 target 0   by cluster-autoscaler"}},
		{"matches a flag's short name", State{Nodes: nodes[2:3], Flags: []string{"--nodes=1:4:https://example/instanceGroups/two"}},
			[]string{"two 1..4 target 1 z1 m5.large by cluster-autoscaler"}},
		{"does not choose between two short names", State{Nodes: nodes[2:3], Flags: []string{"--nodes=1:4:x/two", "--nodes=1:9:y/two"}},
			[]string{"two 0..1 target 1 z1 m5.large by nodes"}},
		{"keeps a group whose nodes went", State{Previous: []*v1alpha1.NodeGroup{gone}}, []string{"gone 0..2 target 0 z1 m5.large by nodes"}},
		{"remembers the most nodes", State{Nodes: []*corev1.Node{node("x", 0, eks("gone", "z1"))}, Previous: []*v1alpha1.NodeGroup{gone}},
			[]string{"gone 0..2 target 1 z1 m5.large by nodes"}},
		{"leaves out malformed flags", State{Flags: []string{"--nodes=a:3:x", "--nodes=3:1:x", "--nodes=1:2", "--nodes"}}, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(Labels("eks.amazonaws.com/nodegroup").Groups(tt.state))); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTemplateHasWhatNodesShare(t *testing.T) {
	first := node("a", 1, map[string]string{"pool": "p", corev1.LabelHostname: "a", "own": "1"})
	first.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule},
		{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}, {Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}}
	second := node("b", 2, map[string]string{"pool": "p", corev1.LabelHostname: "b", "own": "2"})
	got := Labels("pool").Groups(State{Nodes: []*corev1.Node{second, first}})[0].Spec.Template
	want := &v1alpha1.NodeTemplate{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"pool": "p"}},
		Spec:   corev1.NodeSpec{Taints: first.Spec.Taints[:1]},
		Status: corev1.NodeStatus{Capacity: first.Status.Capacity}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
}

func TestZonalCloudsHaveAGroupPerZone(t *testing.T) {
	s := Labels("cloud.google.com/gke-nodepool")
	n := node("a", 1, map[string]string{"cloud.google.com/gke-nodepool": "pool", corev1.LabelTopologyZone: "europe-west1-b"})
	if got, want := s.GroupOf(n), "pool-europe-west1-b"; got != want {
		t.Errorf("group %q, want %q", got, want)
	}
}

func TestAutoPicks(t *testing.T) {
	aks := node("a", 1, map[string]string{"kubernetes.azure.com/agentpool": "p", "agentpool": "p"})
	eks := node("b", 1, map[string]string{"eks.amazonaws.com/nodegroup": "q"})
	annotated := node("c", 1, map[string]string{"eks.amazonaws.com/nodegroup": "q"})
	annotated.Annotations = map[string]string{v1alpha1.NodeGroupAnnotation: "mine"}
	tests := []struct {
		name      string
		nodes     []*corev1.Node
		wantName  string
		wantGroup string
	}{
		{"the label on the most nodes", []*corev1.Node{aks, eks, eks}, "labels:eks.amazonaws.com/nodegroup", "q"},
		{"the first known of equally many", []*corev1.Node{aks}, "labels:kubernetes.azure.com/agentpool", ""},
		{"the annotation before any label", []*corev1.Node{annotated, eks}, "annotation", "mine"},
		{"nothing without a known label", []*corev1.Node{node("d", 1, map[string]string{"x": "y"})}, "auto (no node with a known label yet)", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Auto()
			s.Groups(State{Nodes: tt.nodes})
			if s.Name() != tt.wantName {
				t.Errorf("auto picked %q, want %q", s.Name(), tt.wantName)
			}
			if got := s.GroupOf(annotated); tt.wantGroup != "" && got != tt.wantGroup {
				t.Errorf("group of the node %q, want %q", got, tt.wantGroup)
			}
			s.Groups(State{Nodes: []*corev1.Node{aks, aks, aks}})
			if tt.wantGroup != "" && s.Name() != tt.wantName {
				t.Errorf("auto changed its mind to %q", s.Name())
			}
		})
	}
}

const mapping = `
groups:
- name: big
  min: 1
  max: 5
  machineType: m5.4xlarge
  nodes: {selector: {pool: big}, namePattern: "^ip-"}
- name: rest
  min: 0
  max: 9
  nodes: {namePattern: ".*"}
  template:
    metadata: {labels: {pool: rest}}
    status: {capacity: {cpu: "2"}}
`

func TestMappingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "groups.yaml")
	if err := os.WriteFile(path, []byte(mapping), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	nodes := []*corev1.Node{node("ip-1", 1, map[string]string{"pool": "big"}), node("x", 1, map[string]string{"pool": "big"})}
	groups := s.Groups(State{Nodes: nodes})
	want := []string{"big 1..5 target 1  m5.4xlarge by file", "rest 0..9 target 1   by file"}
	if diff := cmp.Diff(want, lines(groups)); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if got := groups[1].Spec.Template.Labels["pool"]; got != "rest" {
		t.Errorf("template of rest has pool %q, want the file's", got)
	}
	if got := groups[0].Spec.Template.Labels["pool"]; got != "big" {
		t.Errorf("template of big has pool %q, want its node's", got)
	}
}

func TestMappingFileErrors(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"empty", "", "no groups in it"},
		{"unknown field", "groups: [{name: a, maximum: 1}]", `groups[0]: unknown key "maximum"`},
		{"no name", "groups: [{max: 1, nodes: {namePattern: x}}]", "group 1: name is missing"},
		{"twice", "groups: [{name: a, max: 1, nodes: {namePattern: x}}, {name: a, max: 1, nodes: {namePattern: y}}]", "group 2 (a): the name is taken"},
		{"bounds", "groups: [{name: a, min: 3, max: 1, nodes: {namePattern: x}}]", "group 1 (a): min 3, max 1"},
		{"no nodes", "groups: [{name: a, max: 1}]", "group 1 (a): nodes: give a selector"},
		{"pattern", "groups: [{name: a, max: 1, nodes: {namePattern: \"(\"}}]", "group 1 (a): nodes.namePattern"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseFile([]byte(tt.file))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for spec, want := range map[string]string{"labels:": "label key is missing", "no-such.yaml": "give auto, annotation, labels:KEY or a mapping file"} {
		if _, err := Parse(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want %q", spec, err, want)
		}
	}
}

// TestGroupsCoverNodes: whatever the nodes, in any order, each is counted in exactly the group it is in, and the
// result is the same.
func TestGroupsCoverNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 0, 20).Draw(t, "groups")
		var nodes []*corev1.Node
		want := map[string]int32{}
		for i, g := range names {
			labels := map[string]string{}
			if g != "" {
				labels["pool"] = g
				want[g]++
			}
			nodes = append(nodes, node(fmt.Sprintf("n%d", i), rapid.IntRange(0, 3).Draw(t, "age"), labels))
		}
		s := Labels("pool")
		groups := s.Groups(State{Nodes: nodes})
		got := map[string]int32{}
		for _, g := range groups {
			got[g.Name] = g.Spec.TargetSize
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("target sizes (-want +got):\n%s", diff)
		}
		shuffled := rapid.Permutation(nodes).Draw(t, "shuffled")
		if diff := cmp.Diff(groups, s.Groups(State{Nodes: shuffled})); diff != "" {
			t.Fatalf("the order of nodes matters:\n%s", diff)
		}
	})
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte(mapping))
	f.Add([]byte("groups: [{name: a, max: 1, nodes: {namePattern: \"[\"}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseFile(data)
		if err != nil {
			return
		}
		n := node("n", 1, map[string]string{"pool": "big"})
		sum := int32(0)
		for _, g := range s.Groups(State{Nodes: []*corev1.Node{n}}) {
			if g.Spec.MinSize < 0 || g.Spec.MaxSize < g.Spec.MinSize {
				t.Errorf("group %s has bounds %d..%d", g.Name, g.Spec.MinSize, g.Spec.MaxSize)
			}
			sum += g.Spec.TargetSize
		}
		if in := s.GroupOf(n) != ""; in != (sum == 1) {
			t.Errorf("the node is in a group: %v, but target sizes add up to %d", in, sum)
		}
	})
}

func FuzzParseBounds(f *testing.F) {
	f.Add("--nodes=1:3:name", "x")
	f.Add("--nodes", "0:1:https://x/y:z")
	f.Fuzz(func(t *testing.T, a, b string) {
		for name, bound := range parseBounds([]string{a, b}) {
			if name == "" || bound.min < 0 || bound.max < bound.min {
				t.Errorf("parsed %q %d..%d", name, bound.min, bound.max)
			}
		}
	})
}
