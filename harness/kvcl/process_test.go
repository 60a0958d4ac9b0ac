package kvcl_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/assets"
	"github.com/scalehist/scalehist/harness/kvcl/contract"
	"github.com/scalehist/scalehist/harness/kvcl/profile"
)

// helperEnv makes this test binary a program that starts a virtual cluster, prints the pids of the children and
// waits to be killed.
const helperEnv = "SCALEHIST_KVCL_TEST_HELPER"

func TestMain(m *testing.M) {
	syscall.Umask(0o022) // programs are not run from folders that others may write to
	if os.Getenv(helperEnv) != "" {
		e, err := kvcl.Start(context.Background(), kvcl.Options{Now: contract.Now})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		pids := e.Stats().PIDs
		fmt.Println(pids["kube-apiserver"], pids["etcd"])
		if os.Getenv(helperEnv) == "panic" {
			panic("on purpose")
		}
		select {}
	}
	os.Exit(m.Run())
}

func start(t *testing.T, o kvcl.Options) *kvcl.EnvTest {
	t.Helper()
	if o.Now.IsZero() {
		o.Now = contract.Now
	}
	e, err := kvcl.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// gone waits until there is no such process.
func gone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
			return !runs(pid), nil
		})
		if err != nil {
			t.Errorf("process %d is still there", pid)
		}
	}
}

// runs says whether the process exists and is no zombie.
func runs(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestTwoAtOnce(t *testing.T) {
	a, b := start(t, kvcl.Options{}), start(t, kvcl.Options{})
	for i, e := range []*kvcl.EnvTest{a, b} {
		p := pendingPod(fmt.Sprintf("only-in-%d", i))
		if err := e.Apply(t.Context(), []scalehist.Change{{Op: scalehist.OpAdd, Object: p}}); err != nil {
			t.Fatal(err)
		}
	}
	for i, e := range []*kvcl.EnvTest{a, b} {
		pods := e.Objects().Pods
		if len(pods) != 1 || pods[0].Name != fmt.Sprintf("only-in-%d", i) {
			t.Errorf("virtual cluster %d has %d pods, want its own one", i, len(pods))
		}
	}
}

// TestParentDies: children end with their parent, however it ends.
func TestParentDies(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc and a kernel that tells children of their parent's death")
	}
	for _, how := range []string{"SIGKILL", "panic"} {
		t.Run(how, func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), helperEnv+"="+how)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			var pids []int
			for _, f := range strings.Fields(line) {
				pid, err := strconv.Atoi(f)
				if err != nil {
					t.Fatalf("helper: %s", line)
				}
				pids = append(pids, pid)
			}
			if how == "SIGKILL" {
				for _, pid := range pids {
					if !runs(pid) {
						t.Fatalf("process %d is not there to begin with", pid)
					}
				}
				if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait()
			gone(t, pids...)
		})
	}
}

func TestCloseEndsTheChildren(t *testing.T) {
	logs := filepath.Join(t.TempDir(), "is", "made")
	e := start(t, kvcl.Options{LogDir: logs})
	if _, err := os.Stat(filepath.Join(logs, "kube-apiserver.log")); err != nil {
		t.Error(err)
	}
	s := e.Stats()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, s.PIDs["kube-apiserver"], s.PIDs["etcd"])
	if s.PIDs["etcd"] == 0 || s.Boot == 0 {
		t.Errorf("stats %+v, want pids and boot time", s)
	}
}

func TestBadFlagShowsWhatTheServerSaid(t *testing.T) {
	_, err := kvcl.Start(t.Context(), kvcl.Options{Now: contract.Now, APIServerFlags: map[string]string{"no-such-flag": "1"}})
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") || !strings.Contains(err.Error(), "kube-apiserver") {
		t.Errorf("error %v, want the server's own words", err)
	}
}

func TestBadBinaryIsNamed(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"kube-apiserver", "etcd"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("not a program"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, err := kvcl.Start(t.Context(), kvcl.Options{Now: contract.Now, Assets: assets.Options{Dir: dir}})
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "etcd")+": exec format error") {
		t.Errorf("error %v, want it to name the file", err)
	}
}

// TestKilledDuringBootIsReported: the error names the process and the signal, and the other one's words do not hide them.
func TestKilledDuringBootIsReported(t *testing.T) {
	paths, err := assets.Ensure(t.Context(), assets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(paths.Etcd, filepath.Join(dir, "etcd")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kube-apiserver"), []byte("#!/bin/sh\necho last word\nsleep 1\nkill -KILL $$\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = kvcl.Start(t.Context(), kvcl.Options{Now: contract.Now, Assets: assets.Options{Dir: dir}})
	if err == nil || !strings.Contains(err.Error(), "kube-apiserver ended before it was ready") || !strings.Contains(err.Error(), "last word") ||
		strings.Contains(err.Error(), "last lines of etcd") {
		t.Errorf("error %v, want kube-apiserver and its last words only", err)
	}
	t.Log(err)
}

func TestStartNeedsATimeAndALogDirectory(t *testing.T) {
	if _, err := kvcl.Start(t.Context(), kvcl.Options{}); err == nil || !strings.Contains(err.Error(), "Options.Now") {
		t.Errorf("error %v, want one that names Options.Now", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := kvcl.Start(t.Context(), kvcl.Options{Now: contract.Now, LogDir: filepath.Join(file, "logs")})
	if err == nil || !strings.Contains(err.Error(), "log directory") {
		t.Errorf("error %v, want one about the log directory", err)
	}
}

// TestCancelDuringBoot: Ctrl-C leaves neither processes nor files.
func TestCancelDuringBoot(t *testing.T) {
	before := homes(t)
	for _, after := range []time.Duration{time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		e, err := kvcl.Start(ctx, kvcl.Options{Now: contract.Now})
		cancel()
		if err == nil {
			_ = e.Close()
			continue // a fast machine
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled after %s: error %v, want the context's", after, err)
		}
	}
	for dir := range homes(t) {
		if !before[dir] && mentioned(t, dir) {
			t.Errorf("processes of %s are left", dir)
		}
	}
}

// homes are the directories of virtual clusters that exist now, of this and other test processes.
func homes(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, root := range []string{os.TempDir(), "/dev/shm"} {
		dirs, err := filepath.Glob(filepath.Join(root, "scalehist-kvcl-*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range dirs {
			found[d] = true
		}
	}
	return found
}

// mentioned says whether a child of this process has dir in its command line.
func mentioned(t *testing.T, dir string) bool {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stats {
		cmdline, _ := os.ReadFile(file)
		if !strings.Contains(string(cmdline), dir+"/") {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "stat"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[0] != "Z" && f[1] == strconv.Itoa(os.Getpid()) {
			return true
		}
	}
	return false
}

func TestPool(t *testing.T) {
	p := kvcl.NewPool(kvcl.Options{LogDir: t.TempDir()}, 1)
	for range 2 {
		e, err := p.Get(t.Context(), kvcl.Options{Now: contract.Now, Scoring: profile.ScoringBinPacking})
		if err != nil {
			t.Fatal(err)
		}
		if n := nodesUsed(t, e); n != 1 {
			t.Errorf("bin packing spread 2 pods over %d nodes, want 1", n)
		}
		if _, err := e.Settle(t.Context(), contract.Now); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := p.Get(t.Context(), kvcl.Options{Now: contract.Now}); err == nil {
		t.Error("a closed pool gave a virtual cluster")
	}
}

// nodesUsed counts the nodes that two small pods get of two.
func nodesUsed(t *testing.T, e *kvcl.EnvTest) int {
	t.Helper()
	var changes []scalehist.Change
	for i := range 2 {
		n := smallNode(fmt.Sprintf("n-%d", i))
		n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("4")
		n.Status.Capacity = n.Status.Allocatable
		changes = append(changes, scalehist.Change{Op: scalehist.OpAdd, Object: n})
	}
	for i := range 2 {
		changes = append(changes, scalehist.Change{Op: scalehist.OpAdd, Object: pendingPod(fmt.Sprintf("p-%d", i))})
	}
	if err := e.Apply(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	s, err := e.Settle(t.Context(), contract.Now)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, b := range s.Bindings {
		used[b.Node] = true
	}
	return len(used)
}

// TestPortInUseIsReported: somebody else has the port, and the error says so in the server's own words.
func TestPortInUseIsReported(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, err = kvcl.Start(t.Context(), kvcl.Options{Now: contract.Now, APIServerFlags: map[string]string{"secure-port": port}})
	if err == nil || !strings.Contains(err.Error(), "address already in use") || !strings.Contains(err.Error(), "kube-apiserver") {
		t.Errorf("error %v, want the port trouble named", err)
	}
}
