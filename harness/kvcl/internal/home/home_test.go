package home

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/scalehist/scalehist/harness/kvcl/internal/shim"
)

func sleepPath(t *testing.T) string {
	t.Helper()
	p, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("needs the program sleep")
	}
	return p
}

// startChild runs a shell through a link of h, as a kvcl runs etcd: with the directory in its command line.
func startChild(t *testing.T, h *Home) (*exec.Cmd, string) {
	t.Helper()
	script := filepath.Join(h.Dir, "child.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho up\n"+sleepPath(t)+" 600 & wait\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	link, err := h.Link("child", "/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(link, script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 3)
	if _, err := out.Read(buf); err != nil {
		t.Fatalf("child did not come up: %v", err)
	}
	return cmd, link
}

func newHome(t *testing.T) *Home {
	t.Helper()
	h, err := New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Kill()
		_ = h.Remove()
	})
	return h
}

func TestKillEndsTheChildAndNoOther(t *testing.T) {
	h := newHome(t)
	cmd, link := startChild(t, h)
	if h.PID(link) != cmd.Process.Pid {
		t.Errorf("pid %d, want %d: the link became the process", h.PID(link), cmd.Process.Pid)
	}
	if h.Died(link) {
		t.Error("a running child counts as dead")
	}
	h.Kill()
	if err := cmd.Wait(); err == nil {
		t.Error("the child ended well, want it killed")
	}
	if !h.Died(link) {
		t.Error("a killed child does not count as dead")
	}
	if err := exec.Command(link, "x").Run(); err == nil {
		t.Error("the link still starts something after Kill")
	}
}

// TestReapsOnlyOrphans: a directory whose owner lives stays; one whose owner is gone goes, with its child.
func TestReapsOnlyOrphans(t *testing.T) {
	alive, orphan := newHome(t), newHome(t)
	cmd, _ := startChild(t, orphan)
	// What the death of the owner does: the lock is free.
	if err := orphan.owner.Close(); err != nil {
		t.Fatal(err)
	}
	newHome(t)
	if err := cmd.Wait(); err == nil {
		t.Error("the orphan's child ended well, want it killed")
	}
	if _, err := os.Stat(orphan.Dir); !os.IsNotExist(err) {
		t.Errorf("the orphan's directory: %v, want it gone", err)
	}
	if _, err := os.Stat(alive.Dir); err != nil {
		t.Errorf("the directory of a living owner: %v", err)
	}
}

// TestNoDirectoryIsLeftByAFailure: the first root has a directory already when the second turns out to be unusable.
func TestNoDirectoryIsLeftByAFailure(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	if err := os.MkdirAll(filepath.Join(second, ".lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := newIn(t.Context(), []string{first, second}); err == nil {
		t.Fatal("a directory served as a lock")
	}
	dirs, err := filepath.Glob(filepath.Join(first, "[0-9]*"))
	if err != nil || len(dirs) != 0 {
		t.Errorf("left %v, %v", dirs, err)
	}
}

func TestAnotherProcessWithThePIDIsLeftAlone(t *testing.T) {
	h := newHome(t)
	self := shim.Process{PID: os.Getpid(), StartTime: shim.StartTime(os.Getpid())}
	if self.StartTime == "" {
		t.Skip("needs /proc")
	}
	if isOurs(self, h.Dir) {
		t.Error("a process that does not name the directory counts as ours")
	}
	if isOurs(shim.Process{PID: os.Getpid(), StartTime: "1"}, h.Dir) {
		t.Error("a process that started at another time counts as ours")
	}
	if isOurs(shim.Process{PID: os.Getpid()}, h.Dir) {
		t.Error("a process without a start time counts as ours")
	}
}
