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

	"github.com/scalehist/scalehist"
)

var someTime = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// TestStoreKeepsCreationOrder: whatever is filed and forgotten, the list is in creation order and complete.
func TestStoreKeepsCreationOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newStore()
		var waiting, filed []*item
		var last, lastWant []*corev1.Pod
		for i := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
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
			case 3:
				if len(filed) > 0 {
					it := filed[rapid.IntRange(0, len(filed)-1).Draw(rt, "which")]
					it.obj = it.obj.DeepCopyObject().(scalehist.Object)
					s.listing.touch(it)
				}
			}
			if !rapid.Bool().Draw(rt, "list") {
				continue // several changes between two lists
			}
			slices.SortFunc(filed, func(a, b *item) int { return int(a.ordinal - b.ordinal) })
			want := []*corev1.Pod{}
			for _, it := range filed {
				want = append(want, it.obj.(*corev1.Pod))
			}
			got := s.listing.list().Pods
			if !slices.Equal(want, got) {
				rt.Fatalf("got %v, want %v", got, want)
			}
			if !slices.Equal(last, lastWant) {
				rt.Fatalf("an earlier list has become %v, it was %v", last, lastWant)
			}
			last, lastWant = got, want
		}
	})
}

// BenchmarkClusterOneChange lists 20,000 pods of which one changed.
func BenchmarkClusterOneChange(b *testing.B) {
	s := newStore()
	var some *item
	for i := range 20000 {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("p-%d", i), UID: types.UID(fmt.Sprint(i))}}
		it := s.newItem(PodKind, p, someTime)
		it.obj = p
		s.add(it, p)
		some = it
	}
	b.ReportAllocs()
	for b.Loop() {
		s.listing.touch(some)
		s.listing.list()
	}
}
