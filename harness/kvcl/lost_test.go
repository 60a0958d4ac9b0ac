package kvcl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist"
)

// TestServerThatEndedIsNamed: who loses the API server in the middle of a replay learns which process ended, and how.
func TestServerThatEndedIsNamed(t *testing.T) {
	e, err := Start(t.Context(), Options{Now: someTime})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	checkHealthy(t, e.procs)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	if err := e.Apply(t.Context(), []scalehist.Change{{Op: scalehist.OpAdd, Object: node}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(e.procs.home.PID(e.procs.links["kube-apiserver"]), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second asks as well
		err := e.Apply(t.Context(), []scalehist.Change{{Op: scalehist.OpDelete, Object: node}})
		if err == nil {
			t.Fatal("a request to a server that was killed is no error")
		}
		// How it ended, envtest may get to know alone.
		if text := err.Error(); !strings.Contains(text, "kube-apiserver was killed by SIGKILL") && !strings.Contains(text, "kube-apiserver has ended") {
			t.Errorf("the error does not say what became of kube-apiserver: %v", err)
		}
	}
}

// checkHealthy: envtest learns that the server is healthy, and nobody else anything without a token. It once ended each server after ten
// minutes, because it was refused.
func checkHealthy(t *testing.T, p *processes) {
	t.Helper()
	select {
	case err := <-p.started:
		p.started <- err
		if err != nil {
			t.Errorf("the start of both processes: %v", err)
		}
	case <-time.After(bootTimeout):
		t.Errorf("envtest still waits for /healthz, and would end the server")
	}
	anybody, err := rest.HTTPClientFor(rest.AnonymousClientConfig(p.config))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/healthz/etcd": http.StatusUnauthorized, "/version": http.StatusUnauthorized,
		"/api/v1/pods": http.StatusUnauthorized} {
		r, err := anybody.Get(p.config.Host + path)
		if err != nil {
			t.Fatal(err)
		}
		if r.Body.Close(); r.StatusCode != want {
			t.Errorf("%s without a token: %s, want %d", path, r.Status, want)
		}
	}
}

// TestUnanswered: the transport has many words for a server that is no more there, and the end of the caller is not one of them.
func TestUnanswered(t *testing.T) {
	closed := errors.New("http2: client connection force closed via ClientConn.Close")
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&url.Error{Op: "Delete", URL: "https://127.0.0.1:1/api/v1/nodes/n", Err: closed}, true},
		{&url.Error{Op: "Get", URL: "https://127.0.0.1:1/", Err: context.Canceled}, false},
		{fmt.Errorf("read the list: %w", io.ErrUnexpectedEOF), true},
		{apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, "n"), false},
	} {
		if got := unanswered(c.err); got != c.want {
			t.Errorf("%v: unanswered %t, want %t", c.err, got, c.want)
		}
	}
}

func TestOnlyLostRequestsAreExplained(t *testing.T) {
	p := &processes{}
	for _, err := range []error{nil, os.ErrNotExist} {
		if got := p.lost(err); !errors.Is(got, err) || got != nil && got.Error() != err.Error() {
			t.Errorf("%v became %v", err, got)
		}
	}
}
