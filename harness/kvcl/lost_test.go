package kvcl

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

func TestOnlyLostRequestsAreExplained(t *testing.T) {
	p := &processes{}
	for _, err := range []error{nil, os.ErrNotExist} {
		if got := p.lost(err); !errors.Is(got, err) || got != nil && got.Error() != err.Error() {
			t.Errorf("%v became %v", err, got)
		}
	}
}
