package plane

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

var someTime = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// TestStoreKeepsCreationOrder: whatever is filed and forgotten, the list is in creation order and complete.
func TestStoreKeepsCreationOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newStore()
		var waiting, filed []*item
		for i := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 2).Draw(rt, "step") {
			case 0: // made, and filed later: parallel writes come back in any order
				p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("p-%d", i), UID: types.UID(fmt.Sprint(i))}}
				it := s.newItem(PodKind, p, someTime)
				it.obj = p
				waiting = append(waiting, it)
			case 1:
				if len(waiting) > 0 {
					i := rapid.IntRange(0, len(waiting)-1).Draw(rt, "which")
					s.add(waiting[i], waiting[i].obj)
					filed = append(filed, waiting[i])
					waiting = slices.Delete(waiting, i, i+1)
				}
			case 2:
				if len(filed) > 0 {
					i := rapid.IntRange(0, len(filed)-1).Draw(rt, "which")
					s.forget(filed[i], Name(filed[i].obj))
					filed = slices.Delete(filed, i, i+1)
				}
			}
			s.dirty[PodKind.Order] = true
			slices.SortFunc(filed, func(a, b *item) int { return int(a.ordinal - b.ordinal) })
			var want, got []string
			for _, it := range filed {
				want = append(want, it.obj.GetName())
			}
			for _, p := range s.list().Pods {
				got = append(got, p.Name)
			}
			if !slices.Equal(want, got) {
				rt.Fatalf("got %v, want %v", got, want)
			}
		}
	})
}

// BenchmarkClusterOneChange lists 20,000 pods of which one changed.
func BenchmarkClusterOneChange(b *testing.B) {
	s := newStore()
	for i := range 20000 {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("p-%d", i), UID: types.UID(fmt.Sprint(i))}}
		it := s.newItem(PodKind, p, someTime)
		it.obj = p
		s.add(it, p)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.dirty[PodKind.Order] = true
		s.list()
	}
}
