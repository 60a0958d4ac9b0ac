package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/harness/kvcl/assets"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/service"
)

// apiServer starts an API server and gives its kubeconfig file.
func apiServer(t *testing.T) (kubernetes.Interface, string) {
	t.Helper()
	paths, err := assets.Ensure(t.Context(), assets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	env := &envtest.Environment{BinaryAssetsDirectory: filepath.Dir(paths.KubeAPIServer)}
	cfg, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return client, path
}

// serving is a `scalehist serve` that runs.
type serving struct {
	url  string
	stop func() (code int, stdout, stderr string)
}

var servedAt = regexp.MustCompile(`serving (https?://\S+);`)

// serve runs the command until stop is called, or the test ends.
func serve(t *testing.T, args ...string) *serving {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // the test's own ends before its cleanups
	ready := make(chan struct{})
	var out bytes.Buffer
	errs := &waitingBuffer{text: "Ctrl-C stops", found: func() { close(ready) }}
	done := make(chan int, 1)
	go func() {
		done <- Execute(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...), console.IO{Out: &out, Err: errs})
	}()
	select {
	case <-ready:
	case code := <-done:
		cancel()
		t.Fatalf("serve ended with %d: %s", code, errs)
	}
	s := &serving{url: servedAt.FindStringSubmatch(errs.String())[1]}
	stopped := false
	s.stop = func() (int, string, string) {
		stopped = true
		cancel()
		return <-done, out.String(), errs.String()
	}
	t.Cleanup(func() {
		if !stopped {
			s.stop()
		}
	})
	return s
}

// until asks until the answer is right.
func until(t *testing.T, what string, right func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !right() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("%s: it did not come to that", what)
		}
	}
}

// ask gives the JSON of an answer.
func ask(t *testing.T, url string, into any) int {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatalf("%s: %v\n%s", url, err, data)
		}
	}
	return answer.StatusCode
}

type clusterState struct {
	Name    string           `json:"name"`
	State   string           `json:"state"`
	Reason  string           `json:"reason"`
	History *json.RawMessage `json:"history"`
}

// states are the clusters' by name.
func (s *serving) states(t *testing.T) map[string]clusterState {
	t.Helper()
	var list struct {
		Clusters []clusterState `json:"clusters"`
	}
	ask(t, s.url+"/api/clusters", &list)
	out := map[string]clusterState{}
	for _, c := range list.Clusters {
		out[c.Name] = c
	}
	return out
}

// TestServe records an API server, a cluster that is not there and one without a kubeconfig, changes the configuration,
// and ends.
func TestServe(t *testing.T) {
	client, config := apiServer(t)
	createNode(t, client, "n1", "general")
	dir := t.TempDir()
	clusters := filepath.Join(dir, service.ConfigKey)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(clusters, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(fmt.Sprintf("clusters:\n- {name: real, kubeconfig: %s}\n- {name: gone, kubeconfig: %s}\n- {name: bare, kubeconfig: none}\n", config, kubeconfig(t)))
	histories := filepath.Join(dir, "histories")
	s := serve(t, "--config", dir, "--dir", histories)
	until(t, "one records and two have failed", func() bool {
		c := s.states(t)
		return c["real"].State == "recording" && c["gone"].Reason != "" && c["bare"].Reason != ""
	})
	if code := ask(t, s.url+"/readyz", nil); code != http.StatusOK {
		t.Errorf("readyz: %d, want 200 once each was tried", code)
	}
	write("clusters:\n- {name: real, kubeconfi: x}\n")
	var list struct {
		Config struct {
			Problem string `json:"problem"`
		} `json:"config"`
	}
	until(t, "the configuration is refused", func() bool {
		ask(t, s.url+"/api/clusters", &list)
		return strings.Contains(list.Config.Problem, `line 2: unknown key "kubeconfi"`)
	})
	if len(s.states(t)) != 3 {
		t.Errorf("clusters %v, want the three from before", s.states(t))
	}
	write(fmt.Sprintf("clusters:\n- {name: real, kubeconfig: %s}\n- {name: twin, kubeconfig: %s}\n", config, config))
	until(t, "two record", func() bool {
		c := s.states(t)
		return c["real"].State == "recording" && c["twin"].State == "recording" && c["gone"].Name == "" && c["bare"].Name == ""
	})
	code, _, errs := s.stop()
	if code != console.ExitOK || !strings.Contains(errs, "real: recording") {
		t.Errorf("exit %d, printed:\n%s", code, errs)
	}
	for _, name := range []string{"real", "twin"} {
		code, out, errs := run(t, t.Context(), "inspect", filepath.Join(histories, name+".db"), "-o", "json")
		if code != console.ExitOK || !strings.Contains(out, `"kind": "Node"`) {
			t.Errorf("inspect %s: exit %d, %s\n%s", name, code, errs, out)
		}
	}
	until(t, "no goroutine is left behind", func() bool {
		var stacks bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
			t.Fatal(err)
		}
		for stack := range strings.SplitSeq(stacks.String(), "\n\n") {
			// An idle connection to the API server ends by itself, after client-go's 90 seconds.
			if strings.Contains(stack, "scalehist/recorder") && !strings.Contains(stack, "clientConnReadLoop") {
				return false
			}
		}
		return true
	})
	left, err := filepath.Glob(filepath.Join(histories, ".[ud]*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestServeErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, bad, token := file("good.yaml", "clusters: []\n"), file("bad.yaml", "clusters:\n- name: A_b\n"), file("token", "short\n")
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no config", nil, "no configuration: give --config FILE"},
		{"config that is not there", []string{"--config", "none.yaml"}, "none.yaml"},
		{"wrong config", []string{"--config", bad}, `line 2: name "A_b" is no DNS label`},
		{"wrong config checked", []string{"--config", bad, "--check"}, `line 2: name "A_b" is no DNS label`},
		{"open to all", []string{"--config", good, "--listen", "0.0.0.0:0"}, "give --token-file or --client-ca, or --insecure-no-auth"},
		{"open to all by default", []string{"--config", good, "--listen", ":0"}, "give --token-file or --client-ca"},
		{"short token", []string{"--config", good, "--token-file", token}, "at least 16"},
		{"half TLS", []string{"--config", good, "--tls-cert", "x"}, "give both"},
		{"client CA without TLS", []string{"--config", good, "--client-ca", "x"}, "need TLS"},
		{"both", []string{"--config", good, "--insecure-no-auth", "--token-file", token}, "contradicts"},
		{"size", []string{"--config", good, "--max-upload", "much"}, "write a size such as 4Gi"},
		{"address", []string{"--config", good, "--listen", "here"}, "--listen here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, stderr := run(t, t.Context(), append([]string{"serve", "--dir", filepath.Join(dir, "h")}, tt.args...)...)
			if code != console.ExitFailed || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit %d, error %q; want %d and %q", code, stderr, console.ExitFailed, tt.want)
			}
		})
	}
	code, stdout, stderr := run(t, t.Context(), "serve", "--config", good, "--check")
	if code != console.ExitOK || !strings.Contains(stdout, "0 clusters, no error") {
		t.Errorf("--check: exit %d, %q, %q", code, stdout, stderr)
	}
	gone := file("gone.yaml", "clusters:\n- {name: a, kubeconfig: nowhere.yaml}\n")
	code, stdout, stderr = run(t, t.Context(), "serve", "--config", gone, "--check")
	if code != console.ExitDiffered || !strings.Contains(stdout, "1 cluster, 1 problem") || strings.Contains(stdout, "no error") || !strings.Contains(stderr, "nowhere.yaml") {
		t.Errorf("--check of a kubeconfig that is not there: exit %d, %q, %q", code, stdout, stderr)
	}
}

func createNode(t *testing.T, client kubernetes.Interface, name, group string) {
	t.Helper()
	if _, err := client.CoreV1().Nodes().Create(t.Context(), testNode(name, group), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func testNode(name, group string) *corev1.Node {
	return &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"eks.amazonaws.com/nodegroup": group},
			Annotations: map[string]string{v1alpha1.NodeGroupAnnotation: group}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}}}
}

func testPod(name, node string) *corev1.Pod {
	return &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending}}
}

// formerly writes what a recorder of the cluster saw in the hour before: three scale-ups and a scale-down.
func formerly(t *testing.T, client kubernetes.Interface, path string) {
	t.Helper()
	system := ""
	until(t, "the API server has made its namespace", func() bool {
		ns, err := client.CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
		if err == nil {
			system = string(ns.UID)
		}
		return err == nil
	})
	w, err := history.Create(t.Context(), path, history.Options{Cluster: "prod-eu", Identity: system, Source: "test"})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now().UTC().Add(-time.Hour)
	if _, err := w.Begin(t.Context(), start, nil); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	put := func(at time.Time, o scalehist.Object) {
		op := scalehist.OpAdd
		if seen[o.GetName()] {
			op = scalehist.OpUpdate
		}
		seen[o.GetName()] = true
		if err := w.Write(t.Context(), []history.Entry{{ObservedAt: at, Change: scalehist.Change{Op: op, Object: o}}}); err != nil {
			t.Fatal(err)
		}
	}
	size := map[string]int{}
	scale := func(at time.Time, group string, to int) {
		g := &v1alpha1.NodeGroup{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeGroup"},
			ObjectMeta: metav1.ObjectMeta{Name: group, UID: types.UID("uid-" + group)}}
		g.Spec.MaxSize, g.Spec.TargetSize = 10, int32(to)
		put(at, g)
	}
	join := func(at time.Time, group string, to int) {
		for ; size[group] < to; size[group]++ {
			put(at, testNode(fmt.Sprintf("%s-%d", group, size[group]), group))
			at = at.Add(7 * time.Second)
		}
	}
	scale(start, "general", 3)
	scale(start, "memory", 1)
	join(start, "general", 3)
	join(start.Add(25*time.Second), "memory", 1)
	pods := 0
	burst := func(at time.Time, n int, group string, to int) {
		first := pods
		for ; pods < first+n; pods++ {
			put(at.Add(time.Duration(pods-first)*3*time.Second), testPod(fmt.Sprintf("web-%d", pods), ""))
		}
		at = at.Add(time.Duration(n) * 3 * time.Second)
		scale(at, group, to)
		at = at.Add(80 * time.Second)
		join(at, group, to)
		at = at.Add(50 * time.Second)
		for i := range n {
			put(at.Add(time.Duration(i)*2*time.Second), testPod(fmt.Sprintf("web-%d", first+i), group+"-0"))
		}
	}
	burst(start.Add(5*time.Minute), 12, "general", 5)
	burst(start.Add(19*time.Minute), 25, "general", 8)
	at := start.Add(33 * time.Minute)
	scale(at, "general", 6)
	for _, name := range []string{"general-7", "general-6"} {
		at = at.Add(20 * time.Second)
		if err := w.Write(t.Context(), []history.Entry{{ObservedAt: at, Change: scalehist.Change{Op: scalehist.OpDelete, Object: testNode(name, "general")}}}); err != nil {
			t.Fatal(err)
		}
	}
	burst(start.Add(43*time.Minute), 9, "memory", 4)
	if err := w.End(t.Context(), start.Add(56*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
