package listing

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// TestListingFollowsChanges: whatever comes, changes and goes, pods are sorted as if they were all looked at.
func TestListingFollowsChanges(t *testing.T) {
	classify := func(p *corev1.Pod) (Class, string) {
		switch {
		case p.Spec.NodeName != "":
			return Bound, p.Spec.NodeName
		case p.Status.Phase == corev1.PodPending:
			return Pending, ""
		}
		return Nowhere, ""
	}
	rapid.Check(t, func(rt *rapid.T) {
		var g Pods
		var pods []*corev1.Pod
		born := 0
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			pods = slices.Clone(pods)
			for range rapid.IntRange(0, 6).Draw(rt, "changes") {
				fresh := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(born), UID: types.UID(fmt.Sprint(born))}}
				if rapid.Bool().Draw(rt, "bound") {
					fresh.Spec.NodeName = rapid.StringMatching("n[0-3]").Draw(rt, "node")
				} else {
					fresh.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodSucceeded}).Draw(rt, "phase")
				}
				born++
				switch at := rapid.IntRange(0, max(0, len(pods)-1)).Draw(rt, "at"); rapid.IntRange(0, 3).Draw(rt, "change") {
				case 0, 1:
					pods = append(pods, fresh)
				case 2:
					if len(pods) > 0 {
						fresh.UID = pods[at].UID
						pods[at] = fresh
					}
				case 3:
					if len(pods) > 0 {
						pods = slices.Delete(pods, at, min(at+rapid.IntRange(1, 80).Draw(rt, "gone"), len(pods)))
					}
				}
			}
			g.Update(pods, classify)
			bound, pending := map[string][]*corev1.Pod{}, []*corev1.Pod(nil)
			for _, p := range pods {
				switch class, node := classify(p); class {
				case Bound:
					bound[node] = append(bound[node], p)
				case Pending:
					pending = append(pending, p)
				}
			}
			if d := cmp.Diff(bound, g.Bound); d != "" {
				rt.Fatalf("bound:\n%s", d)
			}
			if d := cmp.Diff(pending, g.Pending, cmpopts.EquateEmpty()); d != "" {
				rt.Fatalf("pending:\n%s", d)
			}
		}
	})
}

// TestListingLooksAtWhatChanged: of a thousand pods, at the new ones.
func TestListingLooksAtWhatChanged(t *testing.T) {
	var g Pods
	var pods []*corev1.Pod
	looks := 0
	look := func(p *corev1.Pod) (Class, string) { looks++; return Bound, p.Spec.NodeName }
	pod := func(i int) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i))}, Spec: corev1.PodSpec{NodeName: fmt.Sprint("n-", i%20)}}
	}
	for i := range 1000 {
		pods = append(pods, pod(i))
	}
	g.Update(pods, look)
	if looks != 1000 {
		t.Errorf("%d looks, want each pod", looks)
	}
	pods, looks = slices.Clone(pods), 0
	pods[10], pods[500] = pod(10), pod(500)
	pods = append(slices.Delete(pods, 100, 140), pod(1000))
	g.Update(pods, look)
	if looks != 3 || len(g.Bound["n-10"]) != 48 {
		t.Errorf("%d looks and %d pods on a node, want 3 and 48", looks, len(g.Bound["n-10"]))
	}
}
