package engines_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/internal/realprogram/realtest"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/recommender"
	"github.com/scalehist/scalehist/recommender/api"
	"github.com/scalehist/scalehist/report"
)

func fixture(name string) string { return filepath.Join("..", "fixtures", name, "recording.db") }

// through replays a fixture in memory.
func through(t *testing.T, fixture, engine string) *scalehist.ReplayReport {
	t.Helper()
	a, err := engines.Named(engine)
	if err != nil {
		t.Fatal(err)
	}
	r, err := harness.NewReplayer(t.Context(), fixture, harness.WithAutoscaler(a), harness.OnControlPlane(harness.Memory))
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Replay(t.Context(), r.RecordDuration())
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func canonical(t *testing.T, r *scalehist.ReplayReport) string {
	t.Helper()
	b, err := report.Canonical(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRemoteIsTheEngine: a replay through the API gives the report of the engine in process, to the byte.
func TestRemoteIsTheEngine(t *testing.T) {
	s, err := api.NewServer(api.Options{Recommender: recommender.New()})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	for _, name := range []string{"two-machine-sizes", "from-zero", "daemonset-overhead"} {
		for suffix, engine := range map[string]string{"": "recommender", "#optimal": "recommender:optimal"} {
			want, got := canonical(t, through(t, fixture(name), engine)), canonical(t, through(t, fixture(name), h.URL+suffix))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-in process +over HTTP):\n%s", name, engine, diff)
			}
		}
	}
}

func TestRemoteNames(t *testing.T) {
	for name, want := range map[string]string{"http://": "want http://host:port", "https:///x": "want http://host:port", "nothing": "the URL of a recommender"} {
		if _, err := engines.Named(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	for flag, want := range map[string]string{
		"--remote-timeout=soon": "want a duration such as 30s", "--remote-token-file": "the value is missing", "--expander=random": "the recommender has no such flag",
		"--remote-timeout=30s": "", "--scoring=least-waste": "", "--max-nodes-total=9": "",
	} {
		err := engines.CheckFlags("http://127.0.0.1:1", []string{flag})
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(got, want) {
			t.Errorf("%s: got %v, want %q", flag, err, want)
		}
	}
}

// python starts the example and gives its URL.
func python(t *testing.T) string {
	t.Helper()
	return realtest.PythonServer(t, filepath.Join("..", "examples", "recommender-python", "recommender.py"))
}

var pythonNow = time.Date(2026, time.March, 1, 10, 0, 0, 0, time.UTC)

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func groupIn(zone string, target int) recommender.NodeGroup {
	size := resources("2", "8Gi")
	size[corev1.ResourcePods] = resource.MustParse("110")
	return recommender.NodeGroup{Name: "zone-" + zone, MaxSize: 2, TargetSize: target, Zone: zone, MachineType: "m2", Template: &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelTopologyZone: zone, corev1.LabelInstanceTypeStable: "m2"}},
		Status:     corev1.NodeStatus{Capacity: size, Allocatable: size}}}
}

func waiting(count int, name, cpu, zone string) []*corev1.Pod {
	var out []*corev1.Pod
	for i := range count {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%s-%d", name, i), UID: types.UID(fmt.Sprintf("%s-%d", name, i)),
			CreationTimestamp: metav1.NewTime(pythonNow.Add(-time.Minute))},
			Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: resources(cpu, "1Gi")}}}},
			Status: corev1.PodStatus{Phase: corev1.PodPending}}
		if zone != "" {
			p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: zone}
		}
		out = append(out, p)
	}
	return out
}

// references are cases in which first fit is what the reference does, too.
func references() map[string]*recommender.Request {
	prices := &prices.Table{Currency: "EUR", MachineTypes: map[string]float64{"m2": 0.1}}
	one := &recommender.Request{Now: pythonNow, Terms: recommender.Terms{Prices: prices, NodeGroups: []recommender.NodeGroup{groupIn("a", 0)}}, Objects: &scalehist.Objects{Pods: waiting(3, "web", "1", "")}}

	born := metav1.NewTime(pythonNow.Add(-time.Hour))
	two := &recommender.Request{Now: pythonNow, Terms: recommender.Terms{Prices: prices, NodeGroups: []recommender.NodeGroup{groupIn("a", 1), groupIn("b", 0)}}, Objects: &scalehist.Objects{}}
	n := two.NodeGroups[0].Template.DeepCopy()
	n.Name, n.UID, n.CreationTimestamp, n.Annotations = "zone-a-0", "zone-a-0", born, map[string]string{v1alpha1.NodeGroupAnnotation: "zone-a"}
	n.Labels[corev1.LabelHostname] = n.Name
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: born}}
	two.Objects.Nodes = []*corev1.Node{n}
	// One fits on the node that is there, two need a second one; zone b takes four of five; the huge one has no place.
	two.Objects.Pods = append(two.Objects.Pods, waiting(4, "a", "1", "a")...)
	two.Objects.Pods = append(two.Objects.Pods, waiting(5, "b", "1", "b")...)
	two.Objects.Pods = append(two.Objects.Pods, waiting(1, "huge", "64", "")...)
	return map[string]*recommender.Request{"from zero": one, "two zones, a node with room, max size, a pod without a place": two}
}

// decided is what two recommenders can agree on; reasons and bounds are each one's own.
func decided(r *recommender.Recommendation) any {
	type up struct {
		Group    string
		From, To int
		Nodes    []recommender.NewNode
	}
	out := struct {
		Ups      []up
		Fits     []recommender.Placement
		Unplaced []string
	}{Fits: append([]recommender.Placement(nil), r.Fits...)}
	for _, u := range r.ScaleUps {
		nodes := make([]recommender.NewNode, 0, len(u.Nodes))
		for _, n := range u.Nodes {
			nodes = append(nodes, recommender.NewNode{Name: n.Name, Pods: n.Pods})
		}
		out.Ups = append(out.Ups, up{u.NodeGroup, u.From, u.To, nodes})
	}
	for _, u := range r.Unplaced {
		out.Unplaced = append(out.Unplaced, u.Pod)
	}
	return out
}

// TestPythonAgreesWithTheReference on simple cases: the same snapshot gives the same answer in process, over HTTP and in Python,
// 20 times.
func TestPythonAgreesWithTheReference(t *testing.T) {
	client, err := api.NewClient(api.ClientOptions{URL: python(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	server, err := api.NewServer(api.Options{Recommender: recommender.New()})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	over, err := api.NewClient(api.ClientOptions{URL: h.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(over.Close)
	for name, q := range references() {
		want, err := recommender.New().Recommend(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(want.ScaleUps) == 0 {
			t.Fatalf("%s: nothing is asked for: this compares nothing", name)
		}
		for range 20 {
			got, err := over.Recommend(t.Context(), q)
			if err != nil {
				t.Fatalf("%s, over HTTP: %v", name, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-in process +over HTTP):\n%s", name, diff)
			}
		}
		first := ""
		for range 20 {
			got, err := client.Recommend(t.Context(), q)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			b, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = string(b)
				if diff := cmp.Diff(decided(want), decided(got)); diff != "" {
					t.Errorf("%s (-reference +Python):\n%s", name, diff)
				}
			}
			if first != string(b) {
				t.Fatalf("%s: another answer:\n%s\n%s", name, first, b)
			}
		}
	}
}

// TestPythonReplays a fixture as an engine, twice to the same report, and its errors are quoted.
func TestPythonReplays(t *testing.T) {
	url := python(t)
	r := through(t, fixture("from-zero"), url)
	if diff := cmp.Diff(map[string]int{"batch": 3}, r.ScaledUpNodeGroups); diff != "" {
		t.Errorf("scaled up (-want +got):\n%s", diff)
	}
	if len(r.UnschedulableAtEnd) > 0 || r.Autoscaler != "recommender-python" {
		t.Errorf("autoscaler %q, without a place: %v", r.Autoscaler, r.UnschedulableAtEnd)
	}
	if diff := cmp.Diff(canonical(t, r), canonical(t, through(t, fixture("from-zero"), url))); diff != "" {
		t.Errorf("second time (-first +second):\n%s", diff)
	}
	client, err := api.NewClient(api.ClientOptions{URL: url + "#optimal"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	q := references()["from zero"]
	if _, err := client.Recommend(t.Context(), q); err == nil || !strings.Contains(err.Error(), "400 Bad Request: strategy: 'optimal' is not known: choose first-fit") {
		t.Errorf("a strategy that it does not have: %v", err)
	}
	q.Prices = &prices.Table{Currency: "EUR"}
	q.Strategy = "first-fit"
	if _, err := client.Recommend(t.Context(), q); err == nil || !strings.Contains(err.Error(), "machine type 'm2' has no price") {
		t.Errorf("a price that is missing: %v", err)
	}
}
