// Package realtest has what tests of real programs share.
package realtest

import (
	"errors"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/internal/realprogram"
)

// ClusterAutoscaler is the binary for a test, which is skipped in one line where there is none, and in short mode. root is the directory
// of the repository.
func ClusterAutoscaler(t testing.TB, root string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the real cluster-autoscaler in real time: not in short mode")
	}
	path, err := realprogram.Find(t.Context(), root)
	if errors.Is(err, realprogram.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Eventually waits until ok, for processes that say nothing when they get there. After twenty seconds the test fails with what.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	real := clock.RealClock{}
	for deadline := real.Now().Add(20 * time.Second); !ok(); real.Sleep(5 * time.Millisecond) {
		if real.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}
