package realprogram_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/internal/realprogram"
	"github.com/scalehist/scalehist/internal/realprogram/realtest"
)

// TestProcessDiesWithItsParent kills a process that started another, and looks for that one.
func TestProcessDiesWithItsParent(t *testing.T) {
	if os.Getenv("SCALEHIST_TEST_PARENT") != "" {
		p, err := realprogram.Start("/bin/sh", []string{"-c", "echo $$ > " + os.Getenv("SCALEHIST_TEST_PARENT") + "; exec sleep 600"}, os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		return
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc")
	}
	pidFile := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	parent := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestProcessDiesWithItsParent$")
	parent.Env = append(os.Environ(), "SCALEHIST_TEST_PARENT="+pidFile)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid string
	realtest.Eventually(t, "the child did not start", func() bool {
		b, err := os.ReadFile(pidFile)
		pid = strings.TrimSpace(string(b))
		return err == nil && pid != ""
	})
	cancel() // SIGKILL
	_ = parent.Wait()
	realtest.Eventually(t, "the child outlives its parent", func() bool {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}
