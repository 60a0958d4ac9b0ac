package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/internal/leaktest"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/recommender"
	"github.com/scalehist/scalehist/simulator/drain"
)

func TestMain(m *testing.M) {
	os.Exit(leaktest.Main(m, "scalehist/recommender", nil))
}

var testNow = time.Date(2026, time.March, 1, 10, 0, 0, 0, time.UTC)

func size(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourcePods: resource.MustParse("110")}
}

func testTemplate(machine, zone, cpu, memory string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelInstanceTypeStable: machine, corev1.LabelTopologyZone: zone}},
		Status: corev1.NodeStatus{Capacity: size(cpu, memory), Allocatable: size(cpu, memory)}}
}

func testPod(name, cpu, memory, node string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(testNow.Add(-time.Minute)),
		Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending}}
	if node != "" {
		p.Status.Phase = corev1.PodRunning
	}
	return p
}

// testRequest has a full node, an empty one, two groups, and pods for both: something of everything on the wire.
func testRequest() *recommender.Request {
	born := metav1.NewTime(testNow.Add(-time.Hour))
	o := &scalehist.Objects{}
	for _, name := range []string{"small-0", "small-1"} {
		o.Nodes = append(o.Nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: born, Annotations: map[string]string{v1alpha1.NodeGroupAnnotation: "small"},
				Labels: map[string]string{corev1.LabelInstanceTypeStable: "m2", corev1.LabelTopologyZone: "a", corev1.LabelHostname: name}},
			Status: corev1.NodeStatus{Capacity: size("2", "8Gi"), Allocatable: size("2", "8Gi"),
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: born}}}})
	}
	o.Pods = append(o.Pods, testPod("runs", "2", "1Gi", "small-0"))
	for i := range 5 {
		o.Pods = append(o.Pods, testPod(fmt.Sprintf("web-%d", i), "1", "1Gi", ""))
	}
	o.Pods = append(o.Pods, testPod("huge", "64", "1Gi", ""))
	cutoff := int32(-10)
	return &recommender.Request{Now: testNow, Objects: o, Terms: recommender.Terms{
		NodeGroups: []recommender.NodeGroup{
			{Name: "small", MinSize: 0, MaxSize: 4, TargetSize: 2, Zone: "a", MachineType: "m2", Template: testTemplate("m2", "a", "2", "8Gi")},
			{Name: "large", MinSize: 0, MaxSize: 4, TargetSize: 0, Zone: "b", MachineType: "m4", Template: testTemplate("m4", "b", "4", "16Gi")},
		},
		Prices: &prices.Table{Currency: "EUR", MachineTypes: map[string]float64{"m2": 0.1, "m4": 0.19}},
		Constraints: recommender.Constraints{MaxNodesTotal: 9, ExpendablePriorityCutoff: &cutoff, Backoff: map[string]string{},
			ScaleDown: &recommender.ScaleDownConstraints{UtilizationThreshold: 0.5, Rules: drain.Options{SkipSystemPods: true, SystemPodTimeout: scalehist.Duration(time.Hour)}}},
	}}
}

// running is a server under test.
type running struct {
	*Server
	URL string
}

func newTestServer(t *testing.T, o Options) *running {
	t.Helper()
	if o.Recommender == nil {
		o.Recommender = recommender.New()
	}
	s, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return &running{s, h.URL}
}

func newTestClient(t *testing.T, url string, change ...func(*ClientOptions)) *Client {
	t.Helper()
	o := ClientOptions{URL: url}
	for _, f := range change {
		f(&o)
	}
	c, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func post(t *testing.T, url string, body []byte, change ...func(*http.Request)) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for _, f := range change {
		f(r)
	}
	return do(t, r)
}

func get(t *testing.T, url string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, r)
}

func do(t *testing.T, r *http.Request) (*http.Response, []byte) {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, body
}

// answering is a recommender that is a function.
type answering func(context.Context, *recommender.Request) (*recommender.Recommendation, error)

func (f answering) Recommend(ctx context.Context, r *recommender.Request) (*recommender.Recommendation, error) {
	return f(ctx, r)
}
