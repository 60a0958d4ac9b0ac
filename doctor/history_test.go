package doctor_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	_ "modernc.org/sqlite"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
)

// start is where the tests' histories begin; they are two minutes long.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

// story is a history to be.
type story struct {
	entries []history.Entry
	kinds   []string
	gaps    []history.Gap
	usages  []history.Usage
	samples []history.Sample
	// begins and ends bound the recording; a zero ends leaves it open.
	begins, ends time.Time
	// sql is run on the finished file.
	sql []string
}

// healthy has one of everything that a replay needs, and nothing to find: a group grows from one node to two for web-1.
func healthy() *story {
	s := &story{begins: start, ends: at(120)}
	s.add(0, namespace("default"), replicaSet("web"), autoscaler("--scan-interval=10s", "--scale-down-enabled=false"), group("g", 1), node("n1", "g"), daemonSet("agent"))
	s.add(0, pod("web-0", bound("n1"), owned("ReplicaSet", "web")), pod("agent-n1", bound("n1"), owned("DaemonSet", "agent")))
	s.add(15, pod("web-1", owned("ReplicaSet", "web")))
	s.update(15.1, pod("web-1", owned("ReplicaSet", "web"), unschedulable))
	s.add(20, scaleUp("web-1", "g", "1->2", 20))
	s.update(20.2, group("g", 2))
	s.add(50, node("n2", "g"))
	s.update(50.5, pod("web-1", owned("ReplicaSet", "web"), bound("n2")))
	return s
}

// add appends objects seen at an offset, created just then unless they say otherwise. Before the recording they are old.
func (s *story) add(seconds float64, objects ...scalehist.Object) *story {
	for _, o := range objects {
		if o.GetUID() == "" {
			o.SetUID(types.UID("uid-" + o.GetNamespace() + "-" + o.GetName()))
		}
		if created := o.GetCreationTimestamp(); created.IsZero() {
			o.SetCreationTimestamp(metav1.NewTime(at(seconds).Truncate(time.Second)))
		}
		s.entries = append(s.entries, history.Entry{ObservedAt: at(seconds), Change: scalehist.Change{Op: scalehist.OpAdd, Object: o}})
	}
	return s
}

func (s *story) update(seconds float64, objects ...scalehist.Object) *story {
	s.add(seconds, objects...)
	for i := range objects {
		s.entries[len(s.entries)-1-i].Change.Op = scalehist.OpUpdate
	}
	return s
}

func (s *story) remove(seconds float64, o scalehist.Object) *story {
	s.add(seconds, o)
	s.entries[len(s.entries)-1].Change.Op = scalehist.OpDelete
	return s
}

// change edits the objects of a story that match.
func change[T scalehist.Object](s *story, name string, edit func(T)) *story {
	for _, e := range s.entries {
		if o, ok := e.Change.Object.(T); ok && (name == "" || o.GetName() == name) {
			edit(o)
		}
	}
	return s
}

// without drops the objects of a story that match.
func without[T scalehist.Object](s *story, name string) *story {
	s.entries = slices.DeleteFunc(s.entries, func(e history.Entry) bool {
		o, ok := e.Change.Object.(T)
		return ok && (name == "" || o.GetName() == name)
	})
	return s
}

// write makes the file.
func (s *story) write(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h.db")
	w, err := history.Create(t.Context(), path, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	try := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = w.Begin(t.Context(), s.begins, s.kinds)
	try(err)
	entries := slices.Clone(s.entries)
	slices.SortStableFunc(entries, func(a, b history.Entry) int { return a.ObservedAt.Compare(b.ObservedAt) })
	try(w.Write(t.Context(), entries))
	if len(s.usages) > 0 {
		try(w.Usage(t.Context(), s.usages))
	}
	if len(s.samples) > 0 {
		try(w.Sample(t.Context(), s.samples))
	}
	for _, g := range s.gaps {
		try(w.Gap(t.Context(), g))
	}
	if s.ends.IsZero() {
		try(w.Alive(t.Context(), at(120)))
	} else {
		try(w.End(t.Context(), s.ends))
	}
	try(w.Close())
	if len(s.sql) > 0 {
		edit(t, path, s.sql...)
	}
	return path
}

// edit does to a file what no writer does.
func edit(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1) // pragmas are of a connection
	for _, q := range statements {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func replicaSet(name string) *appsv1.ReplicaSet {
	selector, template := running(name)
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template}}
}

func daemonSet(name string) *appsv1.DaemonSet {
	selector, template := running(name)
	return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}
}

// running is what owners of pods need to be valid.
func running(app string) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	labels := map[string]string{"app": app}
	return &metav1.LabelSelector{MatchLabels: labels}, corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
}

func autoscaler(flags ...string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler"}}
	d.Spec.Selector, d.Spec.Template = running("cluster-autoscaler")
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "cluster-autoscaler", Image: "cluster-autoscaler",
		Command: append([]string{"./cluster-autoscaler", "--expander=least-waste"}, flags...)}}
	return d
}

func shape() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110")}
}

func group(name string, target int32) *v1alpha1.NodeGroup {
	return &v1alpha1.NodeGroup{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.NodeGroupSpec{MinSize: 1, MaxSize: 5, TargetSize: target,
		Template: &v1alpha1.NodeTemplate{Status: corev1.NodeStatus{Allocatable: shape(), Capacity: shape()}}}}
}

func node(name, group string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: shape(), Capacity: shape(),
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	if group != "" {
		n.Annotations = map[string]string{v1alpha1.NodeGroupAnnotation: group}
	}
	return n
}

func pod(name string, edits ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending}}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func bound(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName = node
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}}
	}
}

func owned(kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: kind, Name: name, UID: types.UID("uid-default-" + name), Controller: new(true)}}
	}
}

func unschedulable(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available"}}
}

func claimed(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	}
}

func claim(name, class, volume string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
	if class != "" {
		c.Spec.StorageClassName = &class
	}
	return c
}

func storageClass(name string) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "p"}
}

// scaleUp is the event that a cluster-autoscaler writes on a pod.
func scaleUp(pod, group, step string, seconds float64) *corev1.Event {
	when := metav1.NewTime(at(seconds))
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: pod + "." + step, UID: types.UID("event-" + pod + step), CreationTimestamp: when},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: pod, UID: types.UID("uid-" + pod)},
		Reason:         "TriggeredScaleUp", Message: "pod triggered scale-up: [{" + group + " " + step + " (max: 5)}]", Type: "Normal",
		Source: corev1.EventSource{Component: "cluster-autoscaler"}, FirstTimestamp: when, LastTimestamp: when, Count: 1}
}
