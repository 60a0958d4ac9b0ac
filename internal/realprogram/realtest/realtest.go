// Package realtest has what tests of real programs share.
package realtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
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

// Python is python3 for a test, which is skipped where there is none, and fails in CI.
func Python(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil && os.Getenv("CI") != "" {
		t.Fatal("python3 is not installed: CI tests the Python example")
	}
	if err != nil {
		t.Skip("python3 is not installed: the Python example is not tested")
	}
	return path
}

// PythonServer starts an example that serves until the test ends, and returns its URL.
func PythonServer(t testing.TB, script string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, Python(t), "-B", script, "--listen", "127.0.0.1:0")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if err != nil || !ok {
		t.Fatalf("the example does not start: %v: %s%s", err, line, errs.String())
	}
	return url
}
