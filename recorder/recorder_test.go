package recorder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/sources"
)

// recording is a recorder that runs.
type recording struct {
	*Recorder
	t    testing.TB
	path string
	stop context.CancelFunc
	done chan error
}

func record(t testing.TB, cfg *rest.Config, o Options) *recording {
	t.Helper()
	r, err := New(cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	rec := &recording{Recorder: r, t: t, path: o.Path, stop: stop, done: make(chan error, 1)}
	go func() { rec.done <- r.Run(ctx) }()
	t.Cleanup(stop)
	if err := r.WaitForStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	return rec
}

func (r *recording) end() {
	r.t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		r.t.Fatalf("the recording ended with: %v", err)
	}
}

func (r *recording) flush() {
	r.t.Helper()
	if err := r.Flush(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func open(t *testing.T, path string) *history.DB {
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

func snapshotAt(t *testing.T, db *history.DB, at time.Time) *scalehist.ClusterSnapshot {
	t.Helper()
	s, err := db.SnapshotAt(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newClient() (kubernetes.Interface, error) { return kubernetes.NewForConfig(cluster) }

// namespaces counts those made.
var namespaces atomic.Int64

// client talks to the API server directly; it makes a namespace that goes with the test, as far as there is no
// controller to remove it.
func client(t *testing.T) (kubernetes.Interface, string) {
	t.Helper()
	c, err := newClient()
	if err != nil {
		t.Fatal(err)
	}
	// A namespace never goes without its controller, and a test may run more than once.
	name := fmt.Sprintf("%s-%d", strings.ReplaceAll(strings.ToLower(t.Name()), "/", "-"), namespaces.Add(1))
	if _, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // t.Context has ended by now
		ctx := context.Background()
		now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
		all := metav1.ListOptions{}
		for _, err := range []error{
			c.CoreV1().Pods(name).DeleteCollection(ctx, now, all),
			c.AppsV1().Deployments(name).DeleteCollection(ctx, now, all),
			c.CoreV1().Nodes().DeleteCollection(ctx, now, all),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return c, name
}

func pod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}}}}}}
}

func node(name, group string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		"eks.amazonaws.com/nodegroup": group, corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelTopologyZone: "z1",
		corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1900m")}}}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func podNames(s *scalehist.ClusterSnapshot, namespace string) []string {
	var out []string
	for _, p := range s.Objects.Pods {
		if p.Namespace == namespace {
			out = append(out, p.Name)
		}
	}
	return out
}

func podUIDs(s *scalehist.ClusterSnapshot, namespace string) map[string]types.UID {
	out := map[string]types.UID{}
	for _, p := range s.Objects.Pods {
		if p.Namespace == namespace {
			out[p.Name] = p.UID
		}
	}
	return out
}

func TestRecordsPodLife(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, cluster, Options{Path: path})
	made := must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, "web"), metav1.CreateOptions{}))
	rec.flush()
	afterAdd := rec.now()
	made.Labels = map[string]string{"app": "web"}
	must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Update(t.Context(), made, metav1.UpdateOptions{}))
	rec.flush()
	afterUpdate := rec.now()
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), "web", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
	rec.flush()
	afterDelete := rec.now()
	rec.end()

	db := open(t, path)
	find := func(at time.Time) *corev1.Pod {
		for _, p := range snapshotAt(t, db, at).Objects.Pods {
			if p.Namespace == ns {
				return p
			}
		}
		return nil
	}
	added := find(afterAdd)
	if added == nil {
		t.Fatal("the pod is not in the history after it was created")
	}
	if added.UID != made.UID || !added.CreationTimestamp.Time.Equal(made.CreationTimestamp.Time) {
		t.Errorf("pod recorded with UID %s created %s, want %s, %s", added.UID, added.CreationTimestamp, made.UID, made.CreationTimestamp)
	}
	if len(added.Labels) != 0 {
		t.Errorf("labels before the update: %v, want none", added.Labels)
	}
	if updated := find(afterUpdate); updated == nil || updated.Labels["app"] != "web" {
		t.Errorf("after the update: %+v, want label app=web", updated)
	}
	if gone := find(afterDelete); gone != nil {
		t.Error("the pod is still in the history after it was deleted")
	}
}

// TestStateEqualsLive: after a flush, the history's state is what the API server lists.
func TestStateEqualsLive(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	// The API server makes these by itself, some time after it is ready.
	for _, name := range []string{"system-cluster-critical", "system-node-critical"} {
		if err := wait.PollUntilContextCancel(t.Context(), 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			_, err := c.SchedulingV1().PriorityClasses().Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return err == nil, err
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"n1", "n2"} {
		must[*corev1.Node](t)(c.CoreV1().Nodes().Create(t.Context(), node(name, "workers"), metav1.CreateOptions{}))
	}
	rec := record(t, cluster, Options{Path: path})
	for _, kind := range everyKind(ns) {
		kind.create(t, c)
	}
	for _, name := range []string{"a", "b", "c"} {
		must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, name), metav1.CreateOptions{}))
	}
	if err := c.CoreV1().Pods(ns).Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"},
		Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	rec.flush()
	at := rec.now()
	rec.end()

	got := snapshotAt(t, open(t, path), at)
	live := liveIDs(t, c)
	if diff := cmp.Diff(live, recordedIDs(got.Objects)); diff != "" {
		t.Errorf("history and API server differ (-live +recorded):\n%s", diff)
	}
	wantGroups := []scalehist.NodeGroup{{Name: "workers", MaxSize: 2, GuessedMax: true, TargetSize: 2, Zone: "z1", MachineType: "m5.large"}}
	if diff := cmp.Diff(wantGroups, got.NodeGroups, cmpopts.IgnoreFields(scalehist.NodeGroup{}, "Template")); diff != "" {
		t.Errorf("node groups (-want +got):\n%s", diff)
	}
	for _, n := range got.Nodes {
		if n.NodeGroup != "workers" {
			t.Errorf("node %s is in group %q, want workers", n.Name, n.NodeGroup)
		}
	}
}

func TestRestartReconcilesWhatWasMissed(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	for _, name := range []string{"stays", "goes", "reborn"} {
		must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, name), metav1.CreateOptions{}))
	}
	first := record(t, cluster, Options{Path: path})
	first.end()
	ended := first.now()
	for _, name := range []string{"goes", "reborn"} {
		if err := c.CoreV1().Pods(ns).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			t.Fatal(err)
		}
	}
	reborn := must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, "reborn"), metav1.CreateOptions{}))
	second := record(t, cluster, Options{Path: path})
	at := second.now()
	second.end()

	db := open(t, path)
	if diff := cmp.Diff([]string{"stays", "reborn"}, podNames(snapshotAt(t, db, at), ns)); diff != "" {
		t.Errorf("pods after the restart (-want +got):\n%s", diff)
	}
	for _, p := range snapshotAt(t, db, at).Objects.Pods {
		if p.Namespace == ns && p.Name == "reborn" && p.UID != reborn.UID {
			t.Errorf("pod reborn has UID %s, want the new one %s", p.UID, reborn.UID)
		}
	}
	gaps, err := db.Gaps(t.Context(), ended, at)
	if err != nil {
		t.Fatal(err)
	}
	if len(gaps) != 1 || len(gaps[0].Kinds) != 0 {
		t.Errorf("gaps between the recordings: %+v, want one of all kinds", gaps)
	}
	recordings, err := db.Recordings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(recordings) != 2 || recordings[0].To.IsZero() || recordings[1].To.IsZero() {
		t.Errorf("recordings: %+v, want two that ended", recordings)
	}
}

// TestStopWritesWhatIsQueued stops at once after many changes were delivered: all that the queue took is in the file.
func TestStopWritesWhatIsQueued(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, cluster, Options{Path: path, QueueSize: 4, BatchSize: 7, BatchInterval: time.Hour})
	version := ""
	for i := range 40 {
		p := must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, "p"+string(rune('a'+i/26))+string(rune('a'+i%26))), metav1.CreateOptions{}))
		version = p.ResourceVersion
	}
	// Wait until the watch delivered all of them, not until they are written.
	for _, w := range rec.watches {
		if w.kind == "Pod" {
			if err := rec.waitUntil(t.Context(), w, func() bool { return !newer(version, w.highest) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	rec.end()
	_, to := open(t, path).Span()
	if got := len(podNames(snapshotAt(t, open(t, path), to), ns)); got != 40 {
		t.Errorf("%d pods in the history, want all 40 that were delivered", got)
	}
	if st := rec.Stats(); st.Queued != 0 {
		t.Errorf("%d changes queued after the end, want 0", st.Queued)
	}
}

func TestSecretsStayOut(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	const canary = "c4n4ry-s3cr3t"
	p := pod(ns, "web")
	p.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: canary, "example.com/note": canary}
	main := &p.Spec.Containers[0]
	main.Env = []corev1.EnvVar{{Name: "TOKEN", Value: canary}}
	main.Args, main.Command = []string{"--token=" + canary}, []string{"/bin/" + canary}
	main.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{canary}}}}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "cluster-autoscaler"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "ca"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "ca"}}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "cluster-autoscaler", Image: "ca:1", Command: []string{"./cluster-autoscaler", "--expander=least-waste"},
				Env: []corev1.EnvVar{{Name: "AWS_SECRET", Value: canary}}}}}}}}
	must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), p, metav1.CreateOptions{}))
	must[*appsv1.Deployment](t)(c.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{}))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s"}, StringData: map[string]string{"k": canary}}
	must[*corev1.Secret](t)(c.CoreV1().Secrets(ns).Create(t.Context(), secret, metav1.CreateOptions{}))
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "app"}, Data: map[string]string{"k": canary}}
	must[*corev1.ConfigMap](t)(c.CoreV1().ConfigMaps(ns).Create(t.Context(), other, metav1.CreateOptions{}))
	unhealthy := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web.1"}, Reason: "Unhealthy", Message: canary, Type: "Warning",
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: ns, Name: "web"}, Source: corev1.EventSource{Component: "kubelet"}}
	rec := record(t, cluster, Options{Path: path})
	must[*corev1.Event](t)(c.CoreV1().Events(ns).Create(t.Context(), unhealthy, metav1.CreateOptions{}))
	rec.flush()
	at := rec.now()
	rec.end()

	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), canary) {
		t.Error("a secret value reached the file")
	}
	snapshot, err := open(t, path).SnapshotAt(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"--expander=least-waste"}, snapshot.CASettings.Flags); diff != "" {
		t.Errorf("autoscaler flags (-want +got):\n%s", diff)
	}
}

// TestEventsOnce: an event of either API is recorded once, with its repetitions.
func TestEventsOnce(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, cluster, Options{Path: path})
	about := corev1.ObjectReference{Kind: "Pod", Namespace: ns, Name: "web"}
	old := must[*corev1.Event](t)(c.CoreV1().Events(ns).Create(t.Context(), &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web.1"},
		Reason: "TriggeredScaleUp", Message: "pod triggered scale-up: [{p3 1->3 (max: 3)}]", Type: "Normal", Count: 1,
		InvolvedObject: about, Source: corev1.EventSource{Component: "cluster-autoscaler"}}, metav1.CreateOptions{}))
	must[any](t)(createNewEvent(t, c, ns, about))
	rec.flush()
	old.Count = 2
	must[*corev1.Event](t)(c.CoreV1().Events(ns).Update(t.Context(), old, metav1.UpdateOptions{}))
	rec.flush()
	rec.end()

	events, err := open(t, path).Events(t.Context(), history.EventFilter{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int32{}
	for _, e := range events {
		if e.Namespace == ns {
			got[e.Reason+" by "+e.Component] += e.Count
		}
	}
	want := map[string]int32{"TriggeredScaleUp by cluster-autoscaler": 2, "FailedScheduling by default-scheduler": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestNodeGroupsFollowNodes(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, cluster, Options{Path: path})
	sizes := func() []int {
		rec.flush()
		out := []int{}
		for _, g := range rec.nodeGroupsNow(t) {
			out = append(out, g.TargetSize, g.MaxSize)
		}
		return out
	}
	var got [][]int
	got = append(got, sizes())
	must[*corev1.Node](t)(c.CoreV1().Nodes().Create(t.Context(), node(ns+"-1", "workers"), metav1.CreateOptions{}))
	got = append(got, sizes())
	must[*corev1.Node](t)(c.CoreV1().Nodes().Create(t.Context(), node(ns+"-2", "workers"), metav1.CreateOptions{}))
	got = append(got, sizes())
	for _, name := range []string{ns + "-1", ns + "-2"} {
		if err := c.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	got = append(got, sizes())
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "cluster-autoscaler"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "ca"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "ca"}}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "ca", Image: "cluster-autoscaler:1", Args: []string{"--nodes=0:9:workers"}}}}}}}
	must[*appsv1.Deployment](t)(c.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{}))
	got = append(got, sizes())
	rec.end()
	want := [][]int{{}, {1, 1}, {2, 2}, {0, 2}, {0, 9}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("target and max size over time (-want +got):\n%s", diff)
	}
}

// nodeGroupsNow reads the file while it is being written.
func (r *recording) nodeGroupsNow(t *testing.T) []scalehist.NodeGroup {
	t.Helper()
	db, err := history.Open(t.Context(), r.path)
	if err != nil {
		t.Fatal(err)
	}
	s := snapshotAt(t, db, r.now())
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return s.NodeGroups
}

func TestRecordedNodeGroupsWin(t *testing.T) {
	_, _ = client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, cluster, Options{Path: path, NodeGroups: sources.None()})
	g := &v1alpha1.NodeGroup{TypeMeta: metav1.TypeMeta{APIVersion: "scalehist.io/v1alpha1", Kind: "NodeGroup"},
		ObjectMeta: metav1.ObjectMeta{Name: "cloud"}, Spec: v1alpha1.NodeGroupSpec{MaxSize: 5, TargetSize: 3}}
	if err := rec.Record(t.Context(), scalehist.Change{Op: scalehist.OpAdd, Object: g}); err != nil {
		t.Fatal(err)
	}
	rec.flush()
	want := []scalehist.NodeGroup{{Name: "cloud", MaxSize: 5, TargetSize: 3}}
	if diff := cmp.Diff(want, rec.nodeGroupsNow(t)); diff != "" {
		t.Errorf("node groups (-want +got):\n%s", diff)
	}
	rec.end()
}

func TestRefusesASecondRecorder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	first := record(t, cluster, Options{Path: path})
	second, err := New(cluster, Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	err = second.Run(t.Context())
	var locked *dbfile.LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("second recorder: %v, want a LockedError with PID %d", err, os.Getpid())
	}
	if err := second.WaitForStart(t.Context()); !errors.As(err, &locked) {
		t.Errorf("WaitForStart of it: %v, want the same", err)
	}
	first.end()
}

func TestUnknownKind(t *testing.T) {
	_, err := New(cluster, Options{Path: "x.db", Kinds: []string{"Pods"}})
	if err == nil || !strings.Contains(err.Error(), `unknown kind "Pods"`) {
		t.Errorf("error %v, want one that names the kind", err)
	}
}

func TestWaitForVersion(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, cluster, Options{Path: path, BatchInterval: time.Hour})
	p := must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, "web"), metav1.CreateOptions{}))
	if err := rec.WaitFor(t.Context(), "Pod", p.ResourceVersion); err != nil {
		t.Fatal(err)
	}
	db, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"web"}, podNames(snapshotAt(t, db, rec.now()), ns)); diff != "" {
		t.Errorf("pods in the file (-want +got):\n%s", diff)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := rec.WaitFor(t.Context(), "Widget", "1"); err == nil {
		t.Error("WaitFor an unknown kind: no error")
	}
	rec.end()
	if err := rec.Flush(t.Context()); err == nil {
		t.Error("Flush after the end: no error")
	}
}
