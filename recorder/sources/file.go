package sources

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"

	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/internal/decode"
	"github.com/scalehist/scalehist/internal/plural"
)

// Mapping is the content of a mapping file, YAML:
//
//	groups:
//	- name: workers
//	  min: 1
//	  max: 10
//	  zone: eu-west-1a
//	  machineType: m5.large
//	  nodes:
//	    selector: {pool: workers}   # labels a node must have, or
//	    namePattern: ^ip-10-0-      # a regular expression its name must match; both given: both must hold
//	  template:                     # optional; default: what the nodes seen have in common
//	    metadata: {labels: {pool: workers}}
//	    status: {capacity: {cpu: "4", memory: 16Gi}}
type Mapping struct {
	Groups []MappedGroup `json:"groups"`
}

// MappedGroup is one group of a Mapping. A node belongs to the first group that matches it.
type MappedGroup struct {
	Name string `json:"name"`
	// Min and Max are in nodes.
	Min         int32                  `json:"min"`
	Max         int32                  `json:"max"`
	Zone        string                 `json:"zone,omitempty"`
	MachineType string                 `json:"machineType,omitempty"`
	Nodes       NodeMatch              `json:"nodes"`
	Template    *v1alpha1.NodeTemplate `json:"template,omitempty"`
}

// NodeMatch selects nodes.
type NodeMatch struct {
	Selector    map[string]string `json:"selector,omitempty"`
	NamePattern string            `json:"namePattern,omitempty"`
}

type file struct {
	groups  []MappedGroup
	pattern []*regexp.Regexp
}

// ParseFile reads a mapping file. All that is wrong with it is in the error, by group.
func ParseFile(data []byte) (Source, error) {
	var m Mapping
	if err := decode.YAML(data, &m); err != nil {
		return nil, fmt.Errorf("not a list of groups: %w", err)
	}
	if len(m.Groups) == 0 {
		return nil, errors.New("no groups in it: list them under \"groups:\"")
	}
	f := &file{groups: m.Groups}
	seen := map[string]bool{}
	var errs []error
	for i, g := range m.Groups {
		where := fmt.Sprintf("group %d (%s)", i+1, g.Name)
		if g.Name == "" {
			where = fmt.Sprintf("group %d", i+1)
			errs = append(errs, fmt.Errorf("%s: name is missing", where))
		}
		if seen[g.Name] {
			errs = append(errs, fmt.Errorf("%s: the name is taken by a group above", where))
		}
		seen[g.Name] = true
		if g.Min < 0 || g.Max < g.Min || g.Max == 0 {
			errs = append(errs, fmt.Errorf("%s: min %d, max %d: want 0 <= min <= max and max > 0", where, g.Min, g.Max))
		}
		if len(g.Nodes.Selector) == 0 && g.Nodes.NamePattern == "" {
			errs = append(errs, fmt.Errorf("%s: nodes: give a selector, a namePattern or both", where))
		}
		pattern, err := regexp.Compile(g.Nodes.NamePattern)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: nodes.namePattern: %w", where, err))
		}
		f.pattern = append(f.pattern, pattern)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *file) Name() string { return "mapping file with " + plural.Of(len(f.groups), "group") }

func (f *file) GroupOf(n *corev1.Node) string {
	for i, g := range f.groups {
		if klabels.SelectorFromSet(g.Nodes.Selector).Matches(klabels.Set(n.Labels)) && f.pattern[i].MatchString(n.Name) {
			return g.Name
		}
	}
	return ""
}

func (f *file) Groups(s State) []*v1alpha1.NodeGroup {
	nodes := byGroup(f, s.Nodes)
	was := map[string]*v1alpha1.NodeGroup{}
	for _, g := range s.Previous {
		was[g.Name] = g
	}
	out := make([]*v1alpha1.NodeGroup, 0, len(f.groups))
	for _, g := range f.groups {
		ng := &v1alpha1.NodeGroup{
			TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeGroup"},
			ObjectMeta: metav1.ObjectMeta{Name: g.Name, Annotations: map[string]string{
				TargetSizeFrom: FromNodes,
				BoundsFrom:     FromFile,
			}},
			Spec: v1alpha1.NodeGroupSpec{
				MinSize: g.Min, MaxSize: g.Max, TargetSize: int32(len(nodes[g.Name])),
				Zone: g.Zone, MachineType: g.MachineType, Template: g.Template.DeepCopy(),
			},
		}
		if seen := nodes[g.Name]; ng.Spec.Template == nil && len(seen) > 0 {
			ng.Spec.Template = templateOf(seen)
		} else if before := was[g.Name]; ng.Spec.Template == nil && before != nil {
			ng.Spec.Template = before.Spec.Template.DeepCopy()
		}
		out = append(out, ng)
	}
	slices.SortFunc(out, func(a, b *v1alpha1.NodeGroup) int { return strings.Compare(a.Name, b.Name) })
	return out
}
