package history_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/observed"
)

// Each test of this file is a flaw of the prototypes' store (facts/prior-art.md, sections 1 and 2) that must not return.
// Elsewhere: settings that were the newest at any instant, nine known flags, priorities before the Deployment
// (settings_test.go); repeated events lost (events_test.go); deletions while nobody watched, no word of gaps, no second
// recorder kept out (store_test.go); no indexes (plan_test.go); no schema version (schema_test.go).

func taint(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
}

// The prototypes looked (name, hash) up among all rows, so the second A counted as known and the file said B for ever.
func TestStateThatComesBackIsANewVersion(t *testing.T) {
	db := write(t,
		change(0, scalehist.OpAdd, node("n1", uid(1))),
		change(10*time.Second, scalehist.OpUpdate, node("n1", uid(1), taint("a"))),
		change(20*time.Second, scalehist.OpUpdate, node("n1", uid(1))),
	)
	stats, err := db.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]history.KindStats{{Kind: "Node", Objects: 1, Versions: 3, Contents: 1}}, stats.Kinds); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		at         time.Duration
		wantTaints int
	}{{0, 0}, {10*time.Second - 1, 0}, {10 * time.Second, 1}, {20*time.Second - 1, 1}, {20 * time.Second, 0}, {time.Hour, 0}} {
		if got := len(snapshotAt(t, db, c.at).Nodes[0].Taints); got != c.wantTaints {
			t.Errorf("at %s: got %d taints, want %d", c.at, got, c.wantTaints)
		}
	}
}

// A taint without a value was dropped, labels and taints recorded later leaked into earlier snapshots.
func TestNothingFromTheFuture(t *testing.T) {
	db := write(t,
		change(0, scalehist.OpAdd, node("n1", uid(1), taint("early"))),
		change(time.Minute, scalehist.OpUpdate, node("n1", uid(1), taint("late"), func(n *corev1.Node) { n.Labels["late"] = "yes" })),
	)
	n := snapshotAt(t, db, time.Minute-1).Nodes[0]
	if diff := cmp.Diff([]string{"early:NoSchedule"}, n.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	if _, ok := n.Node.Labels["late"]; ok {
		t.Error("a label of the future is in the snapshot")
	}
}

// The pods' phase was not part of the hash, so Running -> Succeeded was never stored; so were priority and gates.
//
//scalehist:unraced
func TestEveryRelevantFieldMakesAVersion(t *testing.T) {
	for name, mutate := range map[string]func(*corev1.Pod){
		"phase":          ended,
		"node":           bound("n1"),
		"nominated node": func(p *corev1.Pod) { p.Status.NominatedNodeName = "n1" },
		"message": func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes"}}
		},
		"transition": func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, LastTransitionTime: metav1.NewTime(start)}}
		},
		"start":           func(p *corev1.Pod) { p.Status.StartTime = new(metav1.NewTime(start)) },
		"deletion":        terminating,
		"label":           func(p *corev1.Pod) { p.Labels["x"] = "y" },
		"annotation":      func(p *corev1.Pod) { p.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "true" },
		"priority":        func(p *corev1.Pod) { p.Spec.Priority = new(int32(7)) },
		"priority class":  func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" },
		"scheduling gate": func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} },
		"affinity":        func(p *corev1.Pod) { p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}} },
		"node selector":   func(p *corev1.Pod) { p.Spec.NodeSelector["x"] = "y" },
		"toleration time": func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "k", TolerationSeconds: new(int64(3))}}
		},
		"requests":       func(p *corev1.Pod) { delete(p.Spec.Containers[0].Resources.Requests, corev1.ResourceCPU) },
		"init container": func(p *corev1.Pod) { p.Spec.InitContainers = p.Spec.Containers },
		"overhead":       func(p *corev1.Pod) { p.Spec.Overhead = p.Spec.Containers[0].Resources.Requests },
		"host port":      func(p *corev1.Pod) { p.Spec.Containers[0].Ports[1].HostPort = 1 },
		"claim":          func(p *corev1.Pod) { p.Spec.Volumes[4].PersistentVolumeClaim.ClaimName = "other" },
		"topology spread": func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1}}
		},
		"runtime class":  func(p *corev1.Pod) { p.Spec.RuntimeClassName = new("gvisor") },
		"host network":   func(p *corev1.Pod) { p.Spec.HostNetwork = true },
		"grace period":   func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(5)) },
		"preemption":     func(p *corev1.Pod) { p.Spec.PreemptionPolicy = new(corev1.PreemptNever) },
		"scheduler":      func(p *corev1.Pod) { p.Spec.SchedulerName = "other" },
		"resource claim": func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} },
		"restart policy": func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever },
		"owner":          func(p *corev1.Pod) { p.OwnerReferences = nil },
		"image":          func(p *corev1.Pod) { p.Spec.Containers[0].Image = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			db := write(t, change(0, scalehist.OpAdd, pod("a", uid(1))), change(1, scalehist.OpUpdate, pod("a", uid(1), mutate)))
			want := []string{"0s add Pod/a", "1ns update Pod/a"}
			if diff := cmp.Diff(want, changes(t, db, time.Time{}, time.Time{})); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// What changes all the time and means nothing makes no version: a relist, a heartbeat, an address.
func TestNoiseMakesNoVersion(t *testing.T) {
	db := write(t,
		change(0, scalehist.OpAdd, pod("a", uid(1))),
		change(1, scalehist.OpAdd, pod("a", uid(1))),
		change(2, scalehist.OpUpdate, pod("a", uid(1), func(p *corev1.Pod) {
			p.ResourceVersion, p.Status.PodIP = "4712", "10.0.0.8"
			p.Annotations["cni.example.com/ips"] = "10.0.0.8"
		})),
		change(3, scalehist.OpAdd, node("n", uid(2))),
		change(4, scalehist.OpUpdate, node("n", uid(2), func(n *corev1.Node) {
			n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(at(time.Hour))
			n.Status.Images = nil
		})),
	)
	want := []string{"0s add Pod/a", "3ns add Node/n"}
	if diff := cmp.Diff(want, changes(t, db, time.Time{}, time.Time{})); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// Deleting by name overwrote the end of the earlier object of that name.
func TestReusedNameIsANewObject(t *testing.T) {
	db := write(t,
		change(0, scalehist.OpAdd, node("n1", uid(1))),
		change(10*time.Second, scalehist.OpDelete, node("n1", uid(1))),
		change(20*time.Second, scalehist.OpAdd, node("n1", uid(2))),
		change(30*time.Second, scalehist.OpDelete, node("n1", uid(2))),
	)
	for _, c := range []struct {
		at   time.Duration
		want []string
	}{{5 * time.Second, []string{string(uid(1))}}, {10 * time.Second, nil}, {15 * time.Second, nil}, {25 * time.Second, []string{string(uid(2))}}, {30 * time.Second, nil}} {
		var got []string
		for _, n := range snapshotAt(t, db, c.at).Nodes {
			got = append(got, string(n.Node.UID))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", c.at, diff)
		}
	}
}

// A UID that changes under a name without a delete in between means that the delete was missed.
func TestMissedDeleteIsImplied(t *testing.T) {
	path := t.TempDir() + "/h.db"
	w := create(t, path)
	entries := []history.Entry{change(0, scalehist.OpAdd, pod("a", uid(1))), change(time.Second, scalehist.OpAdd, pod("a", uid(2)))}
	if err := w.Write(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	if got := w.Counts().Replaced; got != 1 {
		t.Errorf("replaced: got %d, want 1", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"0s add Pod/a", "1s delete Pod/a", "1s add Pod/a"}
	if diff := cmp.Diff(want, changes(t, reopen(t, path), time.Time{}, time.Time{})); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// Pod deletes without a deletionTimestamp were ignored, deletions of pools and priority classes were never written.
func TestEveryKindCanGo(t *testing.T) {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high", UID: uid(3)}, Value: 5}
	db := write(t,
		change(0, scalehist.OpAdd, pod("a", uid(1))),
		change(0, scalehist.OpAdd, nodeGroup("g", 1)),
		change(0, scalehist.OpAdd, class),
		change(time.Second, scalehist.OpDelete, pod("a", uid(1))),
		change(time.Second, scalehist.OpDelete, nodeGroup("g", 1)),
		change(time.Second, scalehist.OpDelete, class),
	)
	s := snapshotAt(t, db, time.Second)
	if len(s.Objects.Pods)+len(s.NodeGroups)+len(s.Objects.PriorityClasses) != 0 {
		t.Errorf("still there: %d pods, %d node groups, %d priority classes", len(s.Objects.Pods), len(s.NodeGroups), len(s.Objects.PriorityClasses))
	}
	s = snapshotAt(t, db, time.Second-1)
	if len(s.Objects.Pods) != 1 || len(s.NodeGroups) != 1 || len(s.Objects.PriorityClasses) != 1 {
		t.Error("gone too early")
	}
}

// What only the delete shows is kept: the last phase of a pod, when its deletion was asked for.
func TestDeleteKeepsTheLastState(t *testing.T) {
	db := write(t,
		change(0, scalehist.OpAdd, pod("a", uid(1), bound("n"), running)),
		change(time.Minute, scalehist.OpDelete, pod("a", uid(1), bound("n"), running, ended, terminating)),
		change(time.Minute, scalehist.OpAdd, pod("b", uid(2))),
		change(2*time.Minute, scalehist.OpDelete, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b", UID: uid(2)}}),
	)
	var deleted []*corev1.Pod
	for c, err := range db.Changes(t.Context(), time.Time{}, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Op == scalehist.OpDelete {
			deleted = append(deleted, c.Object.(*corev1.Pod))
		}
	}
	if len(deleted) != 2 {
		t.Fatalf("got %d deletes, want 2", len(deleted))
	}
	if p := deleted[0]; p.Status.Phase != corev1.PodSucceeded || !p.DeletionTimestamp.Time.Equal(at(time.Minute)) || p.Spec.NodeName != "n" {
		t.Errorf("last state: phase %s, deletion %v, node %q", p.Status.Phase, p.DeletionTimestamp, p.Spec.NodeName)
	}
	if p := deleted[1]; len(p.Spec.Containers) != 1 || p.UID != uid(2) {
		t.Errorf("a bare delete wiped the last state: %+v", p)
	}
}

// Rows were dated by creation or last transition, so what a restarted recorder listed appeared in the past.
func TestRelistIsNotBackDated(t *testing.T) {
	old := pod("a", uid(1), func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(start.Add(-time.Hour)) })
	db := write(t, change(0, scalehist.OpAdd, nodeGroup("g", 1)),
		history.Entry{ObservedAt: at(time.Minute), Change: scalehist.Change{At: start.Add(-time.Hour), Op: scalehist.OpAdd, Object: old}})
	if n := len(snapshotAt(t, db, time.Minute-1).Objects.Pods); n != 0 {
		t.Errorf("before it was seen: got %d pods, want 0", n)
	}
	s := snapshotAt(t, db, time.Minute)
	if len(s.UnscheduledPods) != 1 || !s.UnscheduledPods[0].CreatedAt.Equal(start.Add(-time.Hour)) {
		t.Errorf("object time is lost: %+v", s.UnscheduledPods)
	}
}

// Handlers changed the informer's objects (label delete, container sort).
func TestWriteDoesNotChangeItsInput(t *testing.T) {
	for _, o := range []scalehist.Object{pod("a", uid(1), bound("n"), running, terminating), node("n", uid(2), taint("a")), nodeGroup("g", 3), autoscaler("--v=4")} {
		before := o.DeepCopyObject()
		write(t, change(0, scalehist.OpAdd, o), change(1, scalehist.OpDelete, o))
		if diff := cmp.Diff(before, o); diff != "" {
			t.Errorf("%T was changed (-before +after):\n%s", o, diff)
		}
	}
}

func TestReplicasShareOneContent(t *testing.T) {
	var entries []history.Entry
	for i := range 1000 {
		name := fmt.Sprintf("web-%d", i)
		entries = append(entries, change(0, scalehist.OpAdd, pod(name, uid(i))), change(time.Second, scalehist.OpUpdate, pod(name, uid(i), bound(fmt.Sprintf("n%d", i%10)), running)))
	}
	path := t.TempDir() + "/h.db"
	w := create(t, path)
	if err := w.Write(t.Context(), entries[:1]); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), sorted(entries[1:])); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	stats, err := reopen(t, path).Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]history.KindStats{{Kind: "Pod", Objects: 1000, Versions: 2000, Contents: 1}}, stats.Kinds); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
	// Secrets of any form never reach the file.
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if i := bytes.Index(b, []byte("secret-")); i >= 0 {
		t.Errorf("the file holds %q", b[i:min(i+40, len(b))])
	}
}

// The re-list after a restart looked PriorityClasses up by name where their UID was due: each one stored a duplicate.
func TestRelistStoresNothing(t *testing.T) {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent", UID: uid(5), CreationTimestamp: metav1.NewTime(start)}, Value: 100}
	everyKind := []scalehist.Object{class, node("n", uid(1)), pod("p", uid(2)), nodeGroup("g", 1), autoscaler("--v=4"), priorities("10: [.*]")}
	var entries []history.Entry
	for i := range 3 {
		for _, o := range everyKind {
			entries = append(entries, change(time.Duration(i)*time.Hour, scalehist.OpAdd, o))
		}
	}
	db := write(t, entries...)
	stats, err := db.Stats(t.Context())
	if err != nil || len(stats.Kinds) != len(everyKind) {
		t.Fatalf("%+v, %v", stats, err)
	}
	for _, k := range stats.Kinds {
		if k.Objects != 1 || k.Versions != 1 {
			t.Errorf("%s: %d objects, %d versions after three lists", k.Kind, k.Objects, k.Versions)
		}
	}
}

// Another PriorityClass of the name is another object, with another value from then on.
func TestPriorityClassMadeAnew(t *testing.T) {
	class := func(n int, value int32) *schedulingv1.PriorityClass {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent", UID: uid(n)}, Value: value}
	}
	db := write(t, change(0, scalehist.OpAdd, class(1, 100)), change(time.Hour, scalehist.OpAdd, class(2, 200)), change(2*time.Hour, scalehist.OpDelete, class(2, 200)))
	var got []string
	for _, d := range []time.Duration{0, time.Hour - 1, time.Hour, 2 * time.Hour} {
		for _, c := range snapshotAt(t, db, d).Objects.PriorityClasses {
			got = append(got, fmt.Sprint(d, " ", c.Value))
		}
	}
	if diff := cmp.Diff([]string{"0s 100", "59m59.999999999s 100", "1h0m0s 200"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Fields were hashed without separators: what moved from one field to its neighbour was no change.
func TestNeighbouringFieldsDoNotRunTogether(t *testing.T) {
	labels := func(l map[string]string) func(*corev1.Node) { return func(n *corev1.Node) { n.Labels = l } }
	taints := func(key, value string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: key, Value: value, Effect: "NoSchedule"}} }
	}
	db := write(t,
		change(0, scalehist.OpAdd, node("n", uid(1), labels(map[string]string{"a": "bc"}))),
		change(1, scalehist.OpUpdate, node("n", uid(1), labels(map[string]string{"ab": "c"}))),
		change(2, scalehist.OpUpdate, node("n", uid(1), taints("ab", "c"))),
		change(3, scalehist.OpUpdate, node("n", uid(1), taints("a", "bc"))),
	)
	if got := len(changes(t, db, time.Time{}, time.Time{})); got != 4 {
		t.Errorf("%d changes, want 4", got)
	}
}

// The bounds of node groups were hashed without their names: two groups that swapped them looked the same.
func TestSwappedBoundsAreTwoChanges(t *testing.T) {
	group := func(name string, most int32) scalehist.Object {
		g := nodeGroup(name, 1)
		g.Spec.MaxSize = most
		return g
	}
	db := write(t, change(0, scalehist.OpAdd, group("a", 3)), change(0, scalehist.OpAdd, group("b", 5)),
		change(time.Minute, scalehist.OpUpdate, group("a", 5)), change(time.Minute, scalehist.OpUpdate, group("b", 3)))
	sizes, err := observed.NodeGroupSizes(t.Context(), db, start, time.Time{})
	if err != nil || len(sizes) != 4 || sizes[2].MaxSize != 5 || sizes[3].MaxSize != 3 {
		t.Errorf("%+v, %v", sizes, err)
	}
}

// The snapshot's hash depended on the order of slices. Here it is the content's: it does not change with the order of
// map keys, with how entries were batched, nor with a restart.
func TestHashIsOfTheContent(t *testing.T) {
	entries := []history.Entry{change(0, scalehist.OpAdd, node("n", uid(1))), change(0, scalehist.OpAdd, pod("p", uid(2))),
		change(time.Second, scalehist.OpUpdate, pod("p", uid(2), bound("n"))), change(time.Minute, scalehist.OpDelete, pod("p", uid(2)))}
	var want string
	for i := range 4 {
		path := filepath.Join(t.TempDir(), "h.db")
		w := create(t, path)
		for part := range slices.Chunk(entries, i+1) {
			if err := w.Write(t.Context(), part); err != nil {
				t.Fatal(err)
			}
			if i == 0 { // each by another process
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				w = create(t, path)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		hash, err := reopen(t, path).Hash(t.Context())
		if err != nil || want != "" && hash != want {
			t.Errorf("in parts of %d: hash %s, want %s (%v)", i+1, hash, want, err)
		}
		want = hash
	}
}

// Deletes of pods without a deletionTimestamp were ignored: zombies lived for ever. So were those of node groups and
// priority classes.
func TestDeletionWithoutTimestamp(t *testing.T) {
	db := write(t, change(0, scalehist.OpAdd, pod("p", uid(1))), change(0, scalehist.OpAdd, nodeGroup("g", 1)),
		change(time.Minute, scalehist.OpDelete, pod("p", uid(1))), change(time.Minute, scalehist.OpDelete, nodeGroup("g", 1)))
	if s := snapshotAt(t, db, time.Minute); len(s.Objects.Pods)+len(s.NodeGroups) != 0 {
		t.Errorf("%d pods and %d node groups live on", len(s.Objects.Pods), len(s.NodeGroups))
	}
	if s := snapshotAt(t, db, time.Minute-1); len(s.Objects.Pods) != 1 || len(s.NodeGroups) != 1 {
		t.Error("they went too soon")
	}
}

// Nodes were stored only when they were ready, without conditions and without spec.unschedulable.
func TestNodesThatAreNotReady(t *testing.T) {
	unready := func(n *corev1.Node) {
		n.Status.Conditions[0].Status = corev1.ConditionFalse
		n.Spec.Unschedulable = true
	}
	db := write(t, change(0, scalehist.OpAdd, node("n", uid(1), unready)), change(time.Minute, scalehist.OpUpdate, node("n", uid(1))))
	for d, want := range map[time.Duration]corev1.ConditionStatus{0: corev1.ConditionFalse, time.Minute: corev1.ConditionTrue} {
		got := snapshotAt(t, db, d).Objects.Nodes
		if len(got) != 1 || got[0].Status.Conditions[0].Status != want || got[0].Spec.Unschedulable != (want == corev1.ConditionFalse) {
			t.Errorf("at %s: %+v", d, got)
		}
	}
}

// PodDisruptionBudgets had a table that nothing filled.
func TestDisruptionBudgetsAreKept(t *testing.T) {
	budget := func(allowed int32) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b", UID: uid(3)},
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(2))}, Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed}}
	}
	db := write(t, change(0, scalehist.OpAdd, budget(1)), change(time.Minute, scalehist.OpUpdate, budget(0)))
	for d, want := range map[time.Duration]int32{0: 1, time.Minute: 0} {
		if got := snapshotAt(t, db, d).Objects.PodDisruptionBudgets; len(got) != 1 || got[0].Status.DisruptionsAllowed != want || got[0].Spec.MinAvailable.IntValue() != 2 {
			t.Errorf("at %s: %+v", d, got)
		}
	}
}

// The pods of a DaemonSet name their node in an affinity of their own; they share one content all the same.
func TestDaemonSetPodsShareOneContent(t *testing.T) {
	daemon := func(i int, mutate ...func(*corev1.Pod)) *corev1.Pod {
		p := pod(fmt.Sprint("ds-", i), uid(i), mutate...)
		p.OwnerReferences[0].Kind = "DaemonSet"
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
				{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{fmt.Sprint("n", i)}}}}}}}}
		return p
	}
	var entries []history.Entry
	for i := range 3 {
		entries = append(entries, change(0, scalehist.OpAdd, daemon(i)), change(time.Second, scalehist.OpUpdate, daemon(i, bound(fmt.Sprint("n", i)))))
	}
	elsewhere := daemon(7, bound("another")) // no controller does that; it must come back as it was
	db := write(t, append(sorted(entries), change(time.Second, scalehist.OpAdd, elsewhere))...)
	stats, err := db.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]history.KindStats{{Kind: "Pod", Objects: 4, Versions: 7, Contents: 2}}, stats.Kinds); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
	for d, wantNode := range map[time.Duration]string{0: "", time.Second: "n2"} {
		p := snapshotAt(t, db, d).Objects.Pods[2]
		if p.Spec.NodeName != wantNode || asJSON(p.Spec.Affinity) != asJSON(daemon(2).Spec.Affinity) {
			t.Errorf("at %s: node %q, affinity %s", d, p.Spec.NodeName, asJSON(p.Spec.Affinity))
		}
	}
	if p := snapshotAt(t, db, time.Second).Objects.Pods[3]; p.Spec.NodeName != "another" || asJSON(p.Spec.Affinity) != asJSON(elsewhere.Spec.Affinity) {
		t.Errorf("node %q, affinity %s", p.Spec.NodeName, asJSON(p.Spec.Affinity))
	}
}
