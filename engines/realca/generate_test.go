package realca

import (
	"maps"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist"
)

func TestGeneratedScenariosAreSoundAndRepeatable(t *testing.T) {
	seen := map[string]bool{}
	for seed := range int64(200) {
		s := Generate(seed)
		if again := Generate(seed); !reflect.DeepEqual(s, again) {
			t.Fatalf("seed %d gives two scenarios", seed)
		}
		seen[s.What] = true
		sameLabelsInAllZones(t, s)
		nodes := map[string]bool{}
		for _, o := range s.Initial {
			switch o := o.(type) {
			case *corev1.Node:
				nodes[o.Name] = true
			case *corev1.Pod:
				if !nodes[o.Spec.NodeName] {
					t.Errorf("seed %d: pod %s is on node %q, which is not there", seed, o.Name, o.Spec.NodeName)
				}
			}
		}
		alive := map[string]bool{}
		var last time.Duration
		for _, ch := range s.Changes {
			if ch.After < last || ch.After > s.Duration {
				t.Errorf("seed %d: a change at %s after one at %s, of %s", seed, ch.After, last, s.Duration)
			}
			last = ch.After
			p, ok := ch.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			if ch.Op == scalehist.OpAdd && alive[p.Name] {
				t.Errorf("seed %d: pod %s comes twice", seed, p.Name)
			}
			alive[p.Name] = true
			if cpu := p.Spec.Containers[0].Resources.Requests.Cpu(); !fitsSomewhere(s, cpu) {
				t.Errorf("seed %d: pod %s asks for %s cpu, which no machine has", seed, p.Name, cpu)
			}
		}
		if len(alive) == 0 {
			t.Errorf("seed %d: no pod arrives", seed)
		}
	}
	if len(seen) < 150 {
		t.Errorf("200 seeds give %d different scenarios: the generator varies too little", len(seen))
	}
}

func fitsSomewhere(s *Scenario, cpu *resource.Quantity) bool {
	for _, g := range s.Groups {
		if g.Template.Status.Allocatable.Cpu().Cmp(*cpu) > 0 {
			return true
		}
	}
	return false
}

// sameLabelsInAllZones: groups that differ in their zone alone are similar to the autoscaler, which compares labels.
func sameLabelsInAllZones(t *testing.T, s *Scenario) {
	t.Helper()
	without := func(g Group) map[string]string {
		out := maps.Clone(g.Template.Labels)
		delete(out, corev1.LabelTopologyZone)
		return out
	}
	for _, a := range s.Groups {
		for _, b := range s.Groups {
			if a.MachineType == b.MachineType && !maps.Equal(without(a), without(b)) {
				t.Errorf("%s: groups %s and %s of the machine %s have the labels %v and %v", s.Name, a.Name, b.Name, a.MachineType, a.Template.Labels, b.Template.Labels)
			}
		}
	}
}
