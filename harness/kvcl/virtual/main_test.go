package virtual_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
	"github.com/scalehist/scalehist/harness/kvcl/virtual"
)

// shared is the virtual cluster of all tests of the package; each leaves it empty. virtualTime only moves on.
var (
	shared      kvcl.ControlPlane
	virtualTime = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
)

func TestMain(m *testing.M) {
	plane, err := kvcl.Start(context.Background(), kvcl.Options{Now: virtualTime})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared = plane
	code := m.Run()
	if err := plane.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// world is a virtual cluster in one test.
type world struct {
	*virtual.Cluster
	t     *testing.T
	start time.Time
}

// newWorld is a virtual cluster whose pods stop at once; slowWorld is one whose pods take as long as is assumed.
func newWorld(t *testing.T) *world {
	t.Helper()
	return worldWith(t, virtual.Options{Termination: func(*corev1.Pod) time.Duration { return 0 }})
}

func slowWorld(t *testing.T) *world {
	t.Helper()
	return worldWith(t, virtual.Options{})
}

func worldWith(t *testing.T, opts virtual.Options) *world {
	t.Helper()
	virtualTime = virtualTime.Add(time.Hour)
	w := &world{Cluster: virtual.New(shared, opts), t: t, start: virtualTime}
	t.Cleanup(func() {
		o := shared.Objects()
		var all []scalehist.Change
		for _, list := range [][]scalehist.Object{objects(o.Pods), objects(o.Nodes), objects(o.DaemonSets), objects(o.PodDisruptionBudgets), objects(o.PriorityClasses),
			objects(o.Deployments), objects(o.ReplicaSets), objects(o.StatefulSets), objects(o.Jobs)} {
			for _, obj := range list {
				all = append(all, scalehist.Change{Op: scalehist.OpDelete, Object: obj})
			}
		}
		if err := shared.Apply(context.Background(), all); err != nil {
			t.Error(err)
		}
	})
	return w
}

func objects[T scalehist.Object](in []T) (out []scalehist.Object) {
	for _, o := range in {
		out = append(out, o)
	}
	return out
}

func (w *world) apply(op scalehist.Op, objects ...scalehist.Object) {
	w.t.Helper()
	var changes []scalehist.Change
	for _, o := range objects {
		changes = append(changes, scalehist.Change{At: w.start, Op: op, Object: o})
	}
	if err := w.Apply(w.t.Context(), changes); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) add(objects ...scalehist.Object) { w.t.Helper(); w.apply(scalehist.OpAdd, objects...) }
func (w *world) update(objects ...scalehist.Object) {
	w.t.Helper()
	w.apply(scalehist.OpUpdate, objects...)
}
func (w *world) remove(objects ...scalehist.Object) {
	w.t.Helper()
	w.apply(scalehist.OpDelete, objects...)
}

// settle moves to an offset from the test's start.
func (w *world) settle(at time.Duration) virtual.Step {
	w.t.Helper()
	virtualTime = w.start.Add(at)
	step, err := w.Settle(w.t.Context(), virtualTime)
	if err != nil {
		w.t.Fatal(err)
	}
	return step
}

// pods describes the pods there are: name to "Phase@node".
func (w *world) pods() map[string]string {
	out := map[string]string{}
	for _, p := range w.Cluster.Objects().Pods {
		out[p.Name] = string(p.Status.Phase) + "@" + p.Spec.NodeName
	}
	return out
}

func (w *world) pod(name string) *corev1.Pod {
	w.t.Helper()
	for _, p := range w.Cluster.Objects().Pods {
		if p.Name == name {
			return p
		}
	}
	w.t.Fatalf("no pod %s among %v", name, w.pods())
	return nil
}

func (w *world) evict(name string) error {
	return w.Evict(w.t.Context(), "default", name)
}

func (w *world) mustEvict(name string) {
	w.t.Helper()
	if err := w.evict(name); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) refused(name string) {
	w.t.Helper()
	if err := w.evict(name); !errors.Is(err, kvcl.ErrEvictionRefused) {
		w.t.Errorf("evict %s: %v, want it refused", name, err)
	}
}

func (w *world) allowed(budget string) int32 {
	w.t.Helper()
	for _, b := range w.Cluster.Objects().PodDisruptionBudgets {
		if b.Name == budget {
			return b.Status.DisruptionsAllowed
		}
	}
	w.t.Fatalf("no budget %s", budget)
	return 0
}

func node(name, cpu string) *corev1.Node {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse("110")}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: map[string]string{corev1.LabelHostname: name, "disk": name}},
		Status: corev1.NodeStatus{Capacity: list, Allocatable: list,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

// pod asks for CPU and is labelled app=web.
func pod(name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("pod-" + name), Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
		}}}},
	}
}

func owned(p *corev1.Pod, kind string) *corev1.Pod {
	yes := true
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: "owner", UID: "owner", Controller: &yes}}
	return p
}

func replica(name, cpu string) *corev1.Pod { return owned(pod(name, cpu), "ReplicaSet") }

func on(p *corev1.Pod, node string) *corev1.Pod {
	p.Spec.NodeName = node
	return p
}

func runFor(p *corev1.Pod, d time.Duration) *corev1.Pod {
	p.Annotations = map[string]string{podlife.RunForAnnotation: d.String()}
	return p
}

func priority(p *corev1.Pod, class *schedulingv1.PriorityClass) *corev1.Pod {
	p.Spec.PriorityClassName, p.Spec.Priority = class.Name, &class.Value
	return p
}

func budget(name string, minAvailable int) *policyv1.PodDisruptionBudget {
	n := intstr.FromInt32(int32(minAvailable))
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &n, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}
}

func daemonSet(name, cpu string, selector map[string]string) *appsv1.DaemonSet {
	labels := map[string]string{"ds": name}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("ds-" + name)},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{NodeSelector: selector, Containers: pod("", cpu).Spec.Containers},
			},
		},
	}
}
