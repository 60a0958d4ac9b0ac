package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/internal/realprogram/realtest"
	"github.com/scalehist/scalehist/virtualca/externalgrpc/conformance"
)

// served runs 'provider serve' until the test ends, and returns its address and the lines that follow.
func served(t *testing.T, args ...string) (address string, said *bufio.Scanner) {
	t.Helper()
	address, said, _ = listening(t, append([]string{"provider", "serve", "--listen", "127.0.0.1:0"}, args...)...)
	return address, said
}

// listening runs a command that serves until stop, or until the test ends.
func listening(t *testing.T, args ...string) (address string, said *bufio.Scanner, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		s := console.IO{In: strings.NewReader(""), Out: io.Discard, Err: w}
		ended <- Execute(ctx, args, s)
		_ = w.Close()
	}()
	said = bufio.NewScanner(r)
	if !said.Scan() {
		t.Fatalf("it says nothing, and ended with %d", <-ended)
	}
	_, address, _ = strings.Cut(said.Text(), " on ")
	address, _, _ = strings.Cut(address, " ")
	stop = sync.OnceFunc(func() {
		cancel()
		go func() { _, _ = io.Copy(io.Discard, r) }()
		if code := <-ended; code != 0 && code != console.ExitInterrupted {
			t.Errorf("exit code %d", code)
		}
	})
	t.Cleanup(stop)
	return address, said, stop
}

func groupFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "groups.yaml")
	const text = `- {kind: NodeGroup, metadata: {name: std}, spec: {minSize: 0, maxSize: 5, targetSize: 1, template: {status: {allocatable: {cpu: "4", memory: 8Gi}}}}}`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestProviderServeConforms(t *testing.T) {
	address, _ := served(t, fixture("two-machine-sizes"))
	code, out, errs := run(t, t.Context(), "provider", "conformance", address, "-o", "json")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var results []conformance.Result
	if err := json.Unmarshal([]byte(out), &results); err != nil || len(results) < 30 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	address, said := served(t, "--node-groups", groupFile(t), "--provision-delay", "0s")
	if !said.Scan() || said.Text() != "node std-0 of std joined" {
		t.Errorf("it says %q", said.Text())
	}
	code, out, errs = run(t, t.Context(), "provider", "conformance", address, "--change", "std")
	if code != 0 || !strings.Contains(out, "0 broken") || !strings.Contains(out, "increase/kept-next-loop     honoured") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// TestProviderRecordStandsBetween holds the proxy to changing nothing: through it a provider honours what it honours without, 64 callers at once
// and both wires among it. Two such recordings compare as the calls that differ.
func TestProviderRecordStandsBetween(t *testing.T) {
	dir := t.TempDir()
	recordings := []string{filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")}
	for i, change := range []string{"", "std"} {
		var answers []string
		for _, through := range []bool{false, true} {
			address, said := served(t, "--node-groups", groupFile(t), "--provision-delay", "0s")
			if !said.Scan() {
				t.Fatal("no node joined")
			}
			stop := func() {}
			if through {
				address, _, stop = listening(t, "provider", "record", address, "--listen", "127.0.0.1:0", "-o", recordings[i])
			}
			args := []string{"provider", "conformance", address, "-o", "json"}
			if change != "" {
				args = append(args, "--change", change)
			}
			code, out, errs := run(t, t.Context(), args...)
			if code != 0 {
				t.Fatalf("%v: exit code %d: %s%s", args, code, out, errs)
			}
			answers = append(answers, out)
			stop()
		}
		if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
			t.Errorf("conformance (-direct +through the recorder):\n%s", diff)
		}
	}
	code, out, errs := run(t, t.Context(), "provider", "calls", recordings[1], "--changes")
	if code != 0 || !strings.Contains(out, "delta=1 id=std ") || strings.Contains(out, "NodeGroupNodes ") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if code, out, errs = run(t, t.Context(), "provider", "calls", recordings[0], recordings[0], "--exit-code"); code != 0 || !strings.Contains(out, "the same changes") {
		t.Errorf("beside itself: exit code %d: %s%s", code, out, errs)
	}
	code, out, errs = run(t, t.Context(), "provider", "calls", recordings[0], recordings[1], "--exit-code")
	if code != 1 || !strings.Contains(out, "NodeGroupDeleteNodes") || !strings.Contains(out, "Answers") {
		t.Errorf("beside the other: exit code %d: %s%s", code, out, errs)
	}
	if code, _, errs = run(t, t.Context(), "provider", "record", "127.0.0.1:1", "-o", recordings[0]); code != 2 || !strings.Contains(errs, "is there already") {
		t.Errorf("over a recording: exit code %d: %s", code, errs)
	}
}

func TestProviderServeBesideAnAPIServer(t *testing.T) {
	server, err := kvcl.StartAPIServer(t.Context(), kvcl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	kubeconfig, err := server.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	_, said := served(t, "--node-groups", groupFile(t), "--provision-delay", "0s", "--kubeconfig", path)
	for said.Scan() && said.Text() != "node std-0 of std joined" {
	}
	client, err := kubernetes.NewForConfig(server.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	realtest.Eventually(t, "the node is not there", func() bool {
		n, err := client.CoreV1().Nodes().Get(t.Context(), "std-0", metav1.GetOptions{})
		return err == nil && n.Spec.ProviderID == "virtual://std-0" && n.Annotations[v1alpha1.NodeGroupAnnotation] == "std" && n.Status.Allocatable.Cpu().Value() == 4
	})
	// Another one takes the node over, and asks for no other.
	address, _ := served(t, "--node-groups", groupFile(t), "--provision-delay", time.Hour.String(), "--kubeconfig", path)
	code, out, errs := run(t, t.Context(), "provider", "conformance", address)
	if code != 0 || !strings.Contains(out, "nodegroup-for-node/own      honoured") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

func TestProviderMistakes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"give either a history": {"provider", "serve"},
		"give all three":        {"provider", "serve", "x.db", "--tls-cert", "x"},
		"is reached by others":  {"provider", "serve", "--node-groups", groupFile(t), "--listen", "0.0.0.0:0"},
		"no such file":          {"provider", "serve", "--node-groups", "absent.yaml"},
		"want an address":       {"provider", "serve", "--node-manager", "nowhere"},
		"give no history":       {"provider", "serve", "x.db", "--node-manager", "http://127.0.0.1:1"},
		"give --prices to it":   {"provider", "serve", "--prices", "public", "--node-manager", "http://127.0.0.1:1"},
		"TLS needs":             {"provider", "serve", "--node-manager", "https://127.0.0.1:1"},
		"must be positive":      {"provider", "conformance", nobody, "--callers", "0"},
		"no provider answers":   {"provider", "conformance", nobody, "--timeout", "1s"},
		"give -o FILE.db":       {"provider", "record", nobody},
		"others: give":          {"provider", "record", nobody, "--listen", "0.0.0.0:0", "-o", "x.db"},
		"give two histories":    {"provider", "calls", "x.db", "--exit-code"},
		"no calls of":           {"provider", "calls", fixture("two-machine-sizes")},
	} {
		if code, _, errs := run(t, t.Context(), args...); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d, %q: want 2 and %q", args, code, errs, want)
		}
	}
}
