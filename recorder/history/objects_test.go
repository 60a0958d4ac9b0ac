package history_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// start is where the tests' histories begin.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return start.Add(d) }

// uid gives the n-th UUID.
func uid(n int) types.UID { return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", n)) }

// pod is a replica of web with everything a real one has, the part that must not be kept included.
func pod(name string, id types.UID, mutate ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: id, CreationTimestamp: metav1.NewTime(start),
			ResourceVersion: "4711", GenerateName: "web-",
			Labels: map[string]string{"app": "web"},
			Annotations: map[string]string{
				"cluster-autoscaler.kubernetes.io/safe-to-evict":   "false",
				"kubectl.kubernetes.io/last-applied-configuration": "secret-annotation",
				"cni.example.com/ips":                              "10.0.0.7",
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs", Controller: new(true)}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "secret-manager"}},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: "registry.example.com/web:1",
				Command: []string{"secret-command"}, Args: []string{"secret-args"},
				Env:           []corev1.EnvVar{{Name: "TOKEN", Value: "secret-env"}},
				Resources:     corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("1Gi")}},
				Ports:         []corev1.ContainerPort{{ContainerPort: 8080}, {ContainerPort: 9090, HostPort: 9090}},
				LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/secret-probe"}}},
			}},
			Volumes: []corev1.Volume{
				{Name: "kube-api-access-" + name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}},
				{Name: "creds", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "secret-volume"}}},
				{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
				{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/secret-path"}}},
				{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
			},
			NodeSelector: map[string]string{"disk": "ssd"},
			Priority:     new(int32(100)),
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, PodIP: "10.0.0.7"},
	}
	for _, m := range mutate {
		m(p)
	}
	return p
}

func bound(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName = node
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(start.Add(time.Second))})
	}
}

func running(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.StartTime = new(metav1.NewTime(start.Add(2 * time.Second)))
	for _, c := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start.Add(3 * time.Second))})
	}
}

func ended(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }

func terminating(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(start.Add(time.Minute))) }

func node(name string, id types.UID, mutate ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: id, CreationTimestamp: metav1.NewTime(start),
			Labels:      map[string]string{corev1.LabelTopologyZone: "z1", corev1.LabelInstanceTypeStable: "m5.large"},
			Annotations: map[string]string{v1alpha1.NodeGroupAnnotation: "g1", "node.alpha.kubernetes.io/ttl": "0"}},
		Spec: corev1.NodeSpec{ProviderID: "virtual://" + name},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)}},
			Images:     []corev1.ContainerImage{{Names: []string{"secret-image"}}},
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.1.1.1"}}},
	}
	for _, m := range mutate {
		m(n)
	}
	return n
}

func nodeGroup(name string, target int32) *v1alpha1.NodeGroup {
	g := &v1alpha1.NodeGroup{Spec: v1alpha1.NodeGroupSpec{MinSize: 0, MaxSize: 9, TargetSize: target, MachineType: "m5.large"}}
	g.Name = name
	return g
}

// change is one entry, seen at start plus d.
func change(d time.Duration, op scalehist.Op, o scalehist.Object) history.Entry {
	return history.Entry{ObservedAt: at(d), Change: scalehist.Change{Op: op, Object: o}}
}

// write makes a history of one recording with the entries, each in a transaction of its own, and opens it.
func write(t testing.TB, entries ...history.Entry) *history.DB {
	t.Helper()
	return reopen(t, writeFile(t, entries...))
}

func writeFile(t testing.TB, entries ...history.Entry) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h.db")
	w := create(t, path)
	if _, err := w.Begin(t.Context(), start, nil); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := w.Write(t.Context(), []history.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(t.Context(), at(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func create(t testing.TB, path string) *history.Writer {
	t.Helper()
	w, err := history.Create(t.Context(), path, history.Options{Cluster: "test", Source: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func reopen(t testing.TB, path string) *history.DB {
	t.Helper()
	db, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// snapshotAt is the snapshot at start plus d.
func snapshotAt(t testing.TB, db *history.DB, d time.Duration) *scalehist.ClusterSnapshot {
	t.Helper()
	s, err := db.SnapshotAt(t.Context(), at(d))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// changes lists "op kind/name" of the window in recorded order.
func changes(t testing.TB, db *history.DB, from, to time.Time) []string {
	t.Helper()
	var out []string
	for c, err := range db.Changes(t.Context(), from, to) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s %s/%s", c.At.Sub(start), c.Op, c.Object.GetObjectKind().GroupVersionKind().Kind, c.Object.GetName()))
	}
	return out
}

// copyOf copies a checked-in history to a folder of the test.
func copyOf(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "h.db")
	if err := os.WriteFile(out, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return out
}

func exported(t testing.TB, db *history.DB) string {
	t.Helper()
	var out bytes.Buffer
	if err := transfer.Export(t.Context(), db, &out, time.Time{}, time.Time{}, transfer.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func readText(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
