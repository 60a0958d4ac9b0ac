package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/harness/kvcl/assets"
	"github.com/scalehist/scalehist/recorder/history"
)

// waitingBuffer is a buffer that calls back once text appears in it.
type waitingBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
	text   string
	found  func()
}

func (b *waitingBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := b.buffer.Write(p)
	if b.found != nil && strings.Contains(b.buffer.String(), b.text) {
		b.found()
		b.found = nil
	}
	return n, err
}

func (b *waitingBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// onClusters are tests of other files that need a real API server: TestRecord runs them on its own, with the kubeconfig of its server.
var onClusters []func(t *testing.T, client kubernetes.Interface, kubeconfig string)

// TestRecord records a real API server until "Ctrl-C", twice into the same file.
func TestRecord(t *testing.T) {
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
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"pool": "workers"}}}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config, db := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "prod.db")
	if err := os.WriteFile(config, env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ctx, stop := context.WithCancel(t.Context())
		var out bytes.Buffer
		errs := &waitingBuffer{text: "node groups from labels:pool; Ctrl-C stops", found: stop}
		code := Execute(ctx, []string{"record", "--kubeconfig", config, "-o", db, "--node-groups", "labels:pool"}, console.IO{Out: &out, Err: errs})
		stop()
		if code != console.ExitOK || !strings.Contains(out.String(), "node groups from labels:pool") {
			t.Fatalf("exit %d, printed %q, error %q; want 0 and a summary", code, out.String(), errs)
		}
	}
	h, err := history.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, to := h.Span()
	s, err := h.SnapshotAt(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.NodeGroups) != 1 || s.NodeGroups[0].Name != "workers" || len(s.Nodes) != 1 || s.Nodes[0].NodeGroup != "workers" {
		t.Errorf("node groups %+v and nodes %+v, want workers with n1", s.NodeGroups, s.Nodes)
	}
	for _, test := range onClusters {
		test(t, client, config)
	}
}
