package trace

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/crank"
)

func devicePod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{
			NodeName: node, ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu"}},
			Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}}},
		},
		Status: corev1.PodStatus{ResourceClaimStatuses: []corev1.PodResourceClaimStatus{{Name: "gpu"}}},
	}
}

func plainPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, UID: types.UID("plain-" + name)}}
}

func groupedPod(name string) *corev1.Pod {
	p := plainPod(name)
	p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To("gang")}
	return p
}

func deviceInput() *Input {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "exporter", UID: "ds"}}
	set.Spec.Template.Spec = devicePod("", "").Spec
	ended := devicePod("ended", "n-0")
	ended.Status.Phase = corev1.PodSucceeded
	add := func(o scalehist.Object) scalehist.Change { return scalehist.Change{Op: scalehist.OpAdd, Object: o} }
	return &Input{
		Initial: []scalehist.Change{add(set), add(plainPod("web")), add(devicePod("old", "n-0")), add(ended)},
		Changes: []scalehist.Change{
			add(devicePod("a", "")), add(devicePod("b", "")), add(plainPod("c")),
			{Op: scalehist.OpUpdate, Object: devicePod("a", "")}, {Op: scalehist.OpDelete, Object: devicePod("a", "")},
			add(plainPod("a")), {Op: scalehist.OpDelete, Object: plainPod("a")},
			add(devicePod("d", "")), add(groupedPod("g")),
			{Op: scalehist.OpUpdate, Object: devicePod("old", "n-0")},
		},
	}
}

func TestUnsupportedWindow(t *testing.T) {
	in := deviceInput()
	err := in.Supported()
	var got *UnsupportedError
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want an UnsupportedError", err)
	}
	name := func(names ...string) (out []types.NamespacedName) {
		for _, n := range names {
			out = append(out, types.NamespacedName{Namespace: "ml", Name: n})
		}
		return out
	}
	want := []UnsupportedUse{
		{Feature: crank.DynamicResources, Standing: name("old"), Arriving: name("a", "b", "d"), DaemonSets: name("exporter")},
		{Feature: crank.PodGroups, Arriving: name("g")},
	}
	if d := cmp.Diff(want, got.Uses); d != "" {
		t.Errorf("uses (-want +got):\n%s", d)
	}
	const text = "the window has pods that no control plane here can schedule as a real one does: " +
		"dynamic resource allocation (spec.resourceClaims): 4 pods (ml/old, ml/a, ml/b and 1 more), 1 DaemonSet (ml/exporter); " +
		"pod groups (spec.schedulingGroup): 1 pod (ml/g); " +
		"replay without them (--skip-unsupported, SkipUnsupported in harness.Settings), or choose a window before they come"
	if err.Error() != text {
		t.Errorf("error\n%s\nwant\n%s", err, text)
	}
}

func TestLeaveOutUnsupported(t *testing.T) {
	in := deviceInput()
	before := deviceInput()
	shared := in.Changes
	in.LeaveOutUnsupported()
	if err := in.Supported(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ch := range append(in.Initial, in.Changes...) {
		got = append(got, string(ch.Op)+" "+ch.Object.GetName())
	}
	want := []string{"add exporter", "add web", "add old", "add ended", "add c", "add a", "delete a", "update old"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
	old := in.Initial[2].Object.(*corev1.Pod)
	if old.Spec.NodeName != "n-0" || old.Spec.Containers[0].Resources.Claims != nil || old.Status.ResourceClaimStatuses != nil {
		t.Errorf("the standing pod is %+v, want it on its node without claims", old)
	}
	if d := cmp.Diff(before.Changes, shared); d != "" {
		t.Errorf("objects that others hold were changed:\n%s", d)
	}
	if d := cmp.Diff([]string{
		"dynamic resource allocation (spec.resourceClaims): left out 3 pods (ml/a, ml/b, ml/d): no node is asked for on their account, and the room they took on nodes is not counted",
		"dynamic resource allocation (spec.resourceClaims): kept on its node, with the room it takes there: 1 pod (ml/old); one that has to leave is placed as any other pod",
		"dynamic resource allocation (spec.resourceClaims): pods of 1 DaemonSet (ml/exporter) run without it",
		"pod groups (spec.schedulingGroup): left out 1 pod (ml/g): no node is asked for on their account, and the room they took on nodes is not counted",
	}, in.Warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	again := len(in.Warnings)
	in.LeaveOutUnsupported()
	if len(in.Warnings) != again {
		t.Error("warned twice")
	}
}
