package profile

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

// TestNobodyToPreempt: the answer without looking at each pod is upstream's, to the letter.
func TestNobodyToPreempt(t *testing.T) {
	metrics.Register()
	priority := rapid.SampledFrom([]*int32{nil, ptr.To[int32](0), ptr.To[int32](5), ptr.To[int32](10)})
	shortcuts := 0
	rapid.Check(t, func(rt *rapid.T) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"}, Spec: corev1.PodSpec{Priority: priority.Draw(rt, "priority")}}
		if rapid.IntRange(0, 5).Draw(rt, "policy") == 0 {
			pod.Spec.PreemptionPolicy = ptr.To(corev1.PreemptNever)
		}
		pod.Status.NominatedNodeName = rapid.SampledFrom([]string{"", "n-0", "gone"}).Draw(rt, "nominated")
		var nodes []*corev1.Node
		var pods []*corev1.Pod
		statuses := framework.NewDefaultNodeToStatus()
		for i := range rapid.IntRange(0, 4).Draw(rt, "nodes") {
			name := fmt.Sprintf("n-%d", i)
			nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
			for j := range rapid.IntRange(0, 3).Draw(rt, "pods") {
				on := fmt.Sprintf("%s-%d", name, j)
				pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: on, UID: types.UID(on)},
					Spec: corev1.PodSpec{NodeName: name, Priority: priority.Draw(rt, "their priority")}})
			}
			switch rapid.IntRange(0, 2).Draw(rt, "status") {
			case 0:
				statuses.Set(name, fwk.NewStatus(fwk.Unschedulable, "Insufficient cpu"))
			case 1:
				statuses.Set(name, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) had untolerated taint"))
			}
		}
		factory := informers.NewSharedInformerFactory(fake.NewSimpleClientset(), 0)
		if err := factory.Core().V1().Pods().Informer().GetIndexer().Add(pod); err != nil {
			rt.Fatal(err)
		}
		fw, err := frameworkruntime.NewFramework(t.Context(), frameworkruntime.Registry{}, nil, frameworkruntime.WithInformerFactory(factory),
			frameworkruntime.WithSnapshotSharedLister(schedulercache.NewSnapshot(pods, nodes)), frameworkruntime.WithParallelism(1))
		if err != nil {
			rt.Fatal(err)
		}
		args, err := PluginArgs(ScoringDefault)
		if err != nil {
			rt.Fatal(err)
		}
		plugin, err := newPreemption(func(types.UID) int64 { return 0 }, false)(t.Context(), args[Preemption], fw)
		if err != nil {
			rt.Fatal(err)
		}
		own := plugin.(*preemption)
		infos, err := fw.SnapshotSharedLister().NodeInfos().List()
		if err != nil {
			rt.Fatal(err)
		}
		below := false
		for _, on := range pods {
			below = below || ptr.Deref(on.Spec.Priority, 0) < ptr.Deref(pod.Spec.Priority, 0)
		}
		for range 2 { // from nothing and from memory
			if got := own.anyBelow(ptr.Deref(pod.Spec.Priority, 0), infos); got != below {
				rt.Fatalf("anyBelow is %t, want %t", got, below)
			}
		}
		if below {
			return
		}
		shortcuts++
		want, wantStatus := own.DefaultPreemption.PostFilter(t.Context(), framework.NewCycleState(), pod, statuses)
		got, gotStatus := own.PostFilter(t.Context(), framework.NewCycleState(), pod, statuses)
		if d := cmp.Diff(want, got); d != "" || wantStatus.Code() != gotStatus.Code() || wantStatus.Message() != gotStatus.Message() {
			rt.Fatalf("result (-upstream +own): %s\nstatus %v, want %v", d, gotStatus, wantStatus)
		}
	})
	if shortcuts < 10 {
		t.Errorf("only %d of the clusters had nobody to preempt", shortcuts)
	}
}
