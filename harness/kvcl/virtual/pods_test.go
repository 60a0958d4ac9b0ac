package virtual_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/memory"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
	"github.com/scalehist/scalehist/harness/kvcl/virtual"
)

// TestKeptAboutPods lets anything happen to a cluster; what it keeps about its pods stays what they are.
func TestKeptAboutPods(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
		plane, err := memory.Start(t.Context(), memory.Options{Now: now})
		if err != nil {
			r.Fatal(err)
		}
		defer plane.Close()
		c := virtual.New(plane, virtual.Options{})
		do := func(op scalehist.Op, o scalehist.Object) error {
			return c.Apply(t.Context(), []scalehist.Change{{At: now, Op: op, Object: o}})
		}
		if err := do(scalehist.OpAdd, agentSet()); err != nil {
			r.Fatal(err)
		}
		there := map[string]bool{} // what was added and not deleted, by kind and name
		for range rapid.IntRange(1, 25).Draw(r, "steps") {
			i := rapid.IntRange(0, 3).Draw(r, "which")
			app := fmt.Sprintf("app-%d", rapid.IntRange(0, 1).Draw(r, "app"))
			toggle := func(kind string, o scalehist.Object) error {
				id := kind + o.GetName()
				there[id] = !there[id]
				if there[id] {
					return do(scalehist.OpAdd, o)
				}
				return do(scalehist.OpDelete, o)
			}
			pod := finitePod(fmt.Sprintf("pod-%d", i), app, rapid.SampledFrom([]string{"", "30s", "5m"}).Draw(r, "run for"))
			var err error
			switch rapid.SampledFrom([]string{"node", "pod", "pod", "relabel", "budget", "taint", "evict", "settle"}).Draw(r, "what") {
			case "node":
				err = toggle("node", roomyNode(fmt.Sprintf("node-%d", i)))
			case "pod":
				err = toggle("pod", pod)
			case "relabel":
				err = do(scalehist.OpUpdate, pod)
			case "budget":
				err = toggle("budget", budgetOf(app))
			case "taint":
				if name := fmt.Sprintf("node-%d", i); there["node"+name] {
					err = c.SetTaints(t.Context(), name, []corev1.Taint{{Key: "k", Effect: rapid.SampledFrom([]corev1.TaintEffect{
						corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute,
					}).Draw(r, "effect")}})
				}
			case "evict":
				_ = c.Evict(t.Context(), "default", pod.Name) // it may not be there, or a budget refuses
			case "settle":
				now = now.Add(time.Duration(rapid.IntRange(0, 60).Draw(r, "seconds")) * time.Second)
				_, err = c.Settle(t.Context(), now)
			}
			if err != nil {
				r.Fatal(err)
			}
			if err := c.Recount(); err != nil {
				r.Fatal(err)
			}
		}
	})
}

func roomyNode(name string) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("10"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

func finitePod(name, app, runFor string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": app}, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID(app), Controller: new(true)},
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.k8s.io/pause:3.10", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("700m")},
		}}}},
	}
	if runFor != "" {
		p.Annotations = map[string]string{podlife.RunForAnnotation: runFor}
	}
	return p
}

func budgetOf(app string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
	}
}

func agentSet() *appsv1.DaemonSet {
	labels := map[string]string{"ds": "agent"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "agent", UID: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "c", Image: "registry.k8s.io/pause:3.10", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
			}}}},
		},
	}
}
