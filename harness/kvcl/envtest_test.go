package kvcl_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/contract"
)

func pendingPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "image",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		}}},
	}
}

func smallNode(name string) *corev1.Node {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourcePods: resource.MustParse("110")}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Capacity: list, Allocatable: list}}
}

// TestEmitsEvents: a virtual cluster that plays the live one shows the scheduler's events and conditions to others.
func TestEmitsEvents(t *testing.T) {
	e := start(t, kvcl.Options{EmitEvents: true})
	err := e.Apply(t.Context(), []scalehist.Change{
		{Op: scalehist.OpAdd, Object: smallNode("n-0")},
		{Op: scalehist.OpAdd, Object: pendingPod("a")},
		{Op: scalehist.OpAdd, Object: pendingPod("b")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Settle(t.Context(), contract.Now); err != nil {
		t.Fatal(err)
	}
	data, err := e.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := clientcmd.RESTConfigFromKubeConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, ev := range list.Items {
		got[ev.Regarding.Name] = ev.Reason
		if !ev.EventTime.Time.Equal(contract.Now) {
			t.Errorf("event %s at %s, want virtual time", ev.Name, ev.EventTime)
		}
	}
	if got["a"] != "Scheduled" || got["b"] != "FailedScheduling" {
		t.Errorf("events %v, want a Scheduled and b FailedScheduling", got)
	}
	b, err := c.CoreV1().Pods("default").Get(t.Context(), "b", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Status.Conditions) != 1 || b.Status.Conditions[0].Reason != corev1.PodReasonUnschedulable {
		t.Errorf("conditions %v, want Unschedulable for everybody to see", b.Status.Conditions)
	}
}

// TestPodsOfOtherSchedulers are scheduled by the one there is, and keep their scheduler's name for everybody.
func TestPodsOfOtherSchedulers(t *testing.T) {
	e := start(t, kvcl.Options{})
	p, waits := pendingPod("a"), pendingPod("b")
	p.Spec.SchedulerName, waits.Spec.SchedulerName = "volcano", "volcano"
	err := e.Apply(t.Context(), []scalehist.Change{
		{Op: scalehist.OpAdd, Object: smallNode("n-0")}, {Op: scalehist.OpAdd, Object: p}, {Op: scalehist.OpAdd, Object: waits},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Settle(t.Context(), contract.Now)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Bindings) != 1 || len(s.Unschedulable) != 1 {
		t.Errorf("settled %+v, want a bound and b with a reason", s)
	}
	for _, p := range e.Objects().Pods {
		if p.Spec.SchedulerName != "volcano" {
			t.Errorf("pod %s: scheduler %q, want the recorded one", p.Name, p.Spec.SchedulerName)
		}
	}
}

// TestSeesWhatOthersWrite: a real autoscaler or a person may write through Client.
func TestSeesWhatOthersWrite(t *testing.T) {
	e := start(t, kvcl.Options{})
	c, ok := e.Client()
	if !ok {
		t.Fatal("no client")
	}
	if _, err := c.CoreV1().Nodes().Create(t.Context(), smallNode("n-0"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().Pods("default").Create(t.Context(), pendingPod("a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := e.Observe(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := e.Settle(t.Context(), contract.Now)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Bindings) != 1 || s.Bindings[0].Node != "n-0" {
		t.Errorf("settled %+v, want a on n-0", s)
	}
	p := e.Objects().Pods[0]
	if p.UID != "Pod/default/a#1" || !p.CreationTimestamp.Time.Equal(contract.Now) {
		t.Errorf("pod %s of %s, want a virtual identity", p.UID, p.CreationTimestamp)
	}
	if err := c.CoreV1().Pods("default").Delete(t.Context(), "a", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
	if err := e.Observe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(e.Objects().Pods); n != 0 {
		t.Errorf("%d pods, want none", n)
	}
}

// TestBecomesHealthy: Start does not wait for /healthz, but a server that never gets there is ended by envtest.
func TestBecomesHealthy(t *testing.T) {
	e := start(t, kvcl.Options{})
	c, _ := e.Client()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		text, err := c.Discovery().RESTClient().Get().AbsPath("/healthz").DoRaw(ctx)
		return err == nil && string(text) == "ok", nil
	})
	if err != nil {
		text, _ := c.Discovery().RESTClient().Get().AbsPath("/healthz").Param("verbose", "true").DoRaw(t.Context())
		t.Errorf("%v; /healthz says:\n%s", err, text)
	}
}
