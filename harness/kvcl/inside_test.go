package kvcl

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/scalehist/scalehist/harness/kvcl/internal/home"
	"github.com/scalehist/scalehist/harness/kvcl/internal/klogs"
	"github.com/scalehist/scalehist/harness/kvcl/internal/plane"
	"github.com/scalehist/scalehist/harness/kvcl/internal/shim"
)

var someTime = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// TestPoolTriesABootTwice: what fails once is not seen; what fails twice is, and names the reason.
func TestPoolTriesABootTwice(t *testing.T) {
	var boots atomic.Int64
	p := newPool(Options{}, 1, func(context.Context, Options) (*EnvTest, error) {
		if boots.Add(1)%2 == 1 {
			return nil, errors.New("first try")
		}
		return &EnvTest{plane: plane.New(&httpServer{}, plane.Options{}), inbox: newInbox(), stopWatch: func() {}, closeLog: func() {}, procs: stopped(t, nil)}, nil
	})
	e, err := p.Get(t.Context(), Options{Now: someTime})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Close(), p.Close()); err != nil {
		t.Error(err)
	}

	p = newPool(Options{}, 1, func(context.Context, Options) (*EnvTest, error) { return nil, errors.New("no such binary") })
	if _, err := p.Get(t.Context(), Options{Now: someTime}); err == nil || !strings.Contains(err.Error(), "no such binary") {
		t.Errorf("error %v, want that of the boot", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestPoolClosesWhileInUse is for the race detector: Get asks for a refill while Close waits for the last one.
func TestPoolClosesWhileInUse(t *testing.T) {
	for range 50 {
		p := newPool(Options{}, 2, func(context.Context, Options) (*EnvTest, error) { return nil, errors.New("none") })
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 5 {
				_, _ = p.Get(context.Background(), Options{Now: someTime})
			}
		}()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		<-done
	}
}

// stopped are processes that never ran, with an envtest that answers err to Stop.
func stopped(t *testing.T, err error) *processes {
	t.Helper()
	h, herr := home.New(t.Context())
	if herr != nil {
		t.Fatal(herr)
	}
	p := &processes{
		home: h, links: map[string]string{}, started: make(chan error, 1), release: make(chan struct{}),
		stopEnv: func() error { return err }, requestTimeout: requestTimeout, pids: map[string]int{}, fates: map[string]chan string{},
	}
	for _, name := range childNames {
		p.links[name] = filepath.Join(h.Dir, name)
	}
	p.started <- nil
	return p
}

// TestStopOfProcessesThatAreGone: envtest's signal to a process that was reaped before is no error.
func TestStopOfProcessesThatAreGone(t *testing.T) {
	if err := stopped(t, errors.New("no such process")).stop(); err != nil {
		t.Errorf("stop: %v, want nothing: both are gone", err)
	}
	if shim.StartTime(os.Getpid()) == "" {
		t.Skip("needs /proc")
	}
	p := stopped(t, errors.New("does not end"))
	// This process stands for a child that still runs.
	data, err := json.Marshal(shim.Process{PID: os.Getpid(), StartTime: shim.StartTime(os.Getpid())})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.links["etcd"]+".pid", data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.stop(); err == nil || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("stop: %v, want envtest's error: etcd still runs", err)
	}
}

// TestReadyAfterARequestThatHangs: the first question is never answered.
func TestReadyAfterARequestThatHangs(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			<-r.Context().Done()
		}
	}))
	defer s.Close()
	p := stopped(t, nil)
	p.config, p.requestTimeout = &rest.Config{Host: s.URL}, 20*time.Millisecond
	if err := p.waitReady(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

// TestLostEventIsAnError: a watch that shows nothing any more ends the wait, and the error says what is missing.
func TestLostEventIsAnError(t *testing.T) {
	pod := func(rv string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "a", ResourceVersion: rv}}
	}
	in := newInbox()
	in.quiet = 10 * time.Millisecond
	if err := in.waitListed(t.Context()); err == nil || !strings.Contains(err.Error(), "Pod: the first list") {
		t.Errorf("no list: %v", err)
	}
	for _, w := range in.watch {
		if err := w.Replace(nil, "7"); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.waitListed(t.Context()); err != nil {
		t.Error(err)
	}
	in.wrote(plane.PodKind, pod("12"))
	if err := in.barrier(t.Context()); err == nil || !strings.Contains(err.Error(), "Pod: wanted version 12, seen 7") {
		t.Errorf("no event: %v", err)
	}
	if err := in.watch[plane.PodKind.Order].Add(pod("12")); err != nil {
		t.Fatal(err)
	}
	if err := in.barrier(t.Context()); err != nil {
		t.Error(err)
	}
	in.boundTo("a")
	if err := in.barrier(t.Context()); err == nil || !strings.Contains(err.Error(), "Pod: 1 bindings, seen version 12") {
		t.Errorf("no binding: %v", err)
	}
	in.deleted(plane.PodKind, "a")
	if err := in.barrier(t.Context()); err == nil || !strings.Contains(err.Error(), "Pod: 1 deletions, seen version 12") {
		t.Errorf("no deletion: %v", err)
	}
}

// TestEnvtestIsSilent: what envtest logs while children are ended is not the user's concern, however verbose klog is.
func TestEnvtestIsSilent(t *testing.T) {
	if _, err := klogs.Open(""); err != nil {
		t.Fatal(err)
	}
	var lines []string
	klog.SetLogger(funcr.New(func(prefix, args string) { lines = append(lines, prefix+args) }, funcr.Options{Verbosity: 9}))
	defer klog.ClearLogger()
	ctrllog.Log.WithName("test-env").Error(errors.New("gone"), "unable to start the controlplane")
	if len(lines) != 0 {
		t.Errorf("got %q, want nothing", lines)
	}
}

// TestKeptPort: while a server is away its clients are refused, its port is nobody else's, and it gets it again.
func TestKeptPort(t *testing.T) {
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := first.Addr().String()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	free, err := keepPort(port)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dialed %v, %v, want to be refused", c, err)
	}
	again, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	free()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Close(), again.Close()); err != nil {
		t.Error(err)
	}
}
