package liqo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/scalehist/scalehist/internal/realprogram/realtest"
	"github.com/scalehist/scalehist/virtualca/discovery"
	"github.com/scalehist/scalehist/virtualca/nodemanager/multicluster"
)

const canary = "t0ken"

// known are the kubeconfigs of clusters.
type known map[string]string

func (k known) Kubeconfig(_ context.Context, cluster string) (string, error) {
	if text, ok := k[cluster]; ok {
		return text, nil
	}
	return "", discovery.ErrUnknown
}

// fakeLiqoctl notes its arguments, one a line, and the kubeconfig it was given; then it does what body says.
func fakeLiqoctl(t *testing.T, body string) (path, notes string) {
	t.Helper()
	dir := t.TempDir()
	path, notes = filepath.Join(dir, "liqoctl"), filepath.Join(dir, "notes")
	script := `#!/bin/sh
notes="` + notes + `"
for a in "$@"; do
  if [ "$previous" = --remote-kubeconfig ]; then
    echo "kubeconfig $(cat "$a") $(cat "$a")" >> "$notes"
  else
    echo "$a" >> "$notes"
  fi
  previous="$a"
done
` + body + "\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	return path, notes
}

func noted(t *testing.T, notes string) string {
	t.Helper()
	data, err := os.ReadFile(notes)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

func newPeering(t *testing.T, o Options) (*Peering, *dynamicfake.FakeDynamicClient, *fake.Clientset) {
	t.Helper()
	dynamic := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{slices: "ResourceSliceList"})
	client := fake.NewSimpleClientset()
	o.Kubeconfigs, o.Dynamic, o.Client = known{"milan": canary}, dynamic, client
	return New(o), dynamic, client
}

func share(node string, last bool) multicluster.Share {
	return multicluster.Share{Cluster: discovery.Cluster{Name: "milan", HasNAT: true, APIServer: "https://10.0.0.1:6443; touch /tmp/pwned"}, Last: last,
		Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{"hasGPU": "false", corev1.LabelHostname: node}, Annotations: map[string]string{"group": "std"}},
			Spec:   corev1.NodeSpec{ProviderID: "share://" + node, Taints: []corev1.Taint{{Key: "borrowed", Effect: corev1.TaintEffectNoSchedule}}},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{"cpu": resource.MustParse("1500m"), "nvidia.com/gpu": resource.MustParse("1")}}}}
}

// TestPeerAndUnpeer: the peering comes first, then the slice, then Liqo's node; the peering ends with the last share.
func TestPeerAndUnpeer(t *testing.T) {
	program, notes := fakeLiqoctl(t, "")
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	p, dynamic, client := newPeering(t, Options{Liqoctl: program, Kubeconfig: "/home/me/.kube/config"})
	peer := func(name string) bool {
		t.Helper()
		ready, err := p.Peer(t.Context(), share(name, false))
		if err != nil {
			t.Fatal(err)
		}
		return ready
	}
	for _, name := range []string{"std-0", "std-0", "std-1"} {
		if peer(name) {
			t.Errorf("%s is not there, and ready", name)
		}
	}
	want := "peer\n--create-resource-slice=false\n--skip-confirm\n--api-server-url\nhttps://10.0.0.1:6443; touch /tmp/pwned\n--remote-kubeconfig\nkubeconfig t0ken t0ken\n--kubeconfig\n/home/me/.kube/config\n"
	if diff := cmp.Diff(want, noted(t, notes)); diff != "" {
		t.Errorf("liqoctl is run otherwise, or more than once (-want +got):\n%s", diff)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	in := dynamic.Resource(slices).Namespace("liqo-tenant-milan")
	slice, err := in.Get(t.Context(), "std-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spec, _, _ := unstructured.NestedMap(slice.Object, "spec")
	if diff := cmp.Diff(map[string]any{"class": "default", "providerClusterID": "milan", "resources": map[string]any{"cpu": "1500m", "nvidia.com/gpu": "1"}}, spec); diff != "" || slice.GetAnnotations()[virtualNode] != "true" {
		t.Errorf("slice (-want +got):\n%s%v", diff, slice.GetAnnotations())
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "std-0", Labels: map[string]string{"liqo": "yes"}}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "virtual-node.liqo.io/not-allowed", Effect: corev1.TaintEffectNoExecute}}}}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if peer("std-0") {
		t.Error("a node that is not Ready is ready")
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if _, err := client.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !peer("std-0") {
			t.Error("a Ready node is not ready")
		}
	}
	got, err := client.CoreV1().Nodes().Get(t.Context(), "std-0", metav1.GetOptions{})
	if err != nil || got.Spec.ProviderID != "share://std-0" || got.Labels["hasGPU"] != "false" || got.Labels["liqo"] != "yes" || got.Annotations["group"] != "std" || len(got.Spec.Taints) != 2 {
		t.Errorf("node %+v, %v", got, err)
	}
	if err := os.Remove(notes); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Unpeer(t.Context(), share("std-0", false)), p.Unpeer(t.Context(), share("std-0", false))); err != nil || noted(t, notes) != "" {
		t.Errorf("a share that is not the last: %v, %q", err, noted(t, notes))
	}
	if err := p.Unpeer(t.Context(), share("std-1", true)); err != nil || !strings.HasPrefix(noted(t, notes), "unpeer\n--skip-confirm\n--remote-kubeconfig\n") {
		t.Errorf("the last share: %v, %q", err, noted(t, notes))
	}
	if list, err := in.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Errorf("slices %v, %v", list, err)
	}
	gone := share("std-1", true)
	gone.Gone = true
	if err := os.Remove(notes); err != nil {
		t.Fatal(err)
	}
	if err := p.Unpeer(t.Context(), gone); err != nil || noted(t, notes) != "" {
		t.Errorf("a cluster that is gone: %v, %q", err, noted(t, notes))
	}
}

func TestLiqoctlFails(t *testing.T) {
	program, _ := fakeLiqoctl(t, "echo the foreign cluster does not answer >&2; exit 3")
	p, _, _ := newPeering(t, Options{Liqoctl: program})
	if _, err := p.Peer(t.Context(), share("std-0", false)); !errors.Is(err, errLiqoctl) || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "does not answer") || strings.Contains(err.Error(), canary) {
		t.Errorf("got %v", err)
	}
	s := share("std-0", false)
	s.Cluster.Name = "rome"
	if _, err := p.Peer(t.Context(), s); !errors.Is(err, discovery.ErrUnknown) {
		t.Errorf("a cluster that nobody can reach: %v", err)
	}
	p, _, _ = newPeering(t, Options{Liqoctl: filepath.Join(t.TempDir(), "absent")})
	if _, err := p.Peer(t.Context(), share("std-0", false)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
}

// TestLiqoctlHangs: it is ended, and what it started too.
func TestLiqoctlHangs(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	program, _ := fakeLiqoctl(t, "sleep 600 & echo $! > "+pid+"; wait")
	p, _, _ := newPeering(t, Options{Liqoctl: program, Timeout: 300 * time.Millisecond})
	if _, err := p.Peer(t.Context(), share("std-0", false)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	data, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	realtest.Eventually(t, "what it started lives on", func() bool {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(data)) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

func TestDryRun(t *testing.T) {
	program, notes := fakeLiqoctl(t, "")
	var said []string
	p, dynamic, _ := newPeering(t, Options{Liqoctl: program, DryRun: true, Said: func(text string) { said = append(said, text) }})
	var final *multicluster.PeeringError
	if _, err := p.Peer(t.Context(), share("std-0", false)); !errors.As(err, &final) || final.Code != "DRY_RUN" {
		t.Errorf("got %v", err)
	}
	if err := p.Unpeer(t.Context(), share("std-0", true)); err != nil {
		t.Error(err)
	}
	if len(said) != 4 || !strings.Contains(said[0], "liqoctl peer") || !strings.Contains(said[1], `"1500m"`) || !strings.Contains(said[3], "liqoctl unpeer") || strings.Contains(strings.Join(said, ""), canary) {
		t.Errorf("it says %q", said)
	}
	if noted(t, notes) != "" || len(dynamic.Actions()) != 0 {
		t.Errorf("it did something: %q, %v", noted(t, notes), dynamic.Actions())
	}
}
