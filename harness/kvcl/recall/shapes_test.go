package recall

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func TestOldShapesAreForgotten(t *testing.T) {
	defer SetRoom(40, 0, 0)()
	s := shapes{byKey: map[string]*shape{}}
	for i := range 4 {
		s.byKey[fmt.Sprint(i)] = &shape{used: int64(10 - i)}
	}
	s.makeRoom(8)
	if len(s.byKey) != 4 {
		t.Errorf("%d shapes are left although there is room for five of eight nodes", len(s.byKey))
	}
	s.makeRoom(9)
	if d := cmp.Diff([]string{"0"}, slices.Sorted(maps.Keys(s.byKey))); d != "" {
		t.Errorf("shapes left (-want +got):\n%s", d)
	}
}

func TestSlotsAreNeverShared(t *testing.T) {
	info := func(names ...string) (list []fwk.NodeInfo) {
		for _, n := range names {
			i := framework.NewNodeInfo()
			i.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n}})
			list = append(list, i)
		}
		return list
	}
	var n nodes
	slots := func() map[string]int {
		m := map[string]int{}
		for _, x := range n.byName {
			m[x.name] = x.slot
		}
		return m
	}
	n.sync(info("b", "a", "c"))
	if d := cmp.Diff(map[string]int{"b": 0, "a": 1, "c": 2}, slots()); d != "" {
		t.Errorf("slots (-want +got):\n%s", d)
	}
	n.sync(info("c", "d", "b", "e"))
	if d := cmp.Diff(map[string]int{"b": 0, "d": 1, "c": 2, "e": 3}, slots()); d != "" {
		t.Errorf("slots after a left and others joined (-want +got):\n%s", d)
	}
}
