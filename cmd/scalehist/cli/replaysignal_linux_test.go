package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// ending is how long a process may take to end. It takes a fraction of a second; the replay that it leaves would take days.
const ending = 2 * time.Minute

// TestReplaySignalled: SIGTERM and SIGINT end a replay wherever it is, in memory and on a kube-apiserver: exit code and message say so, nothing
// is printed as if it had played to its end, and neither processes nor files are left.
func TestReplaySignalled(t *testing.T) {
	for _, c := range []struct {
		plane    string
		signal   syscall.Signal
		children int
	}{{"memory", syscall.SIGTERM, 0}, {"memory", syscall.SIGINT, 0}, {"envtest", syscall.SIGTERM, 2}} {
		t.Run(fmt.Sprint(c.plane, " ", c.signal), func(t *testing.T) {
			tmp := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), ending)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "replay", fixture("full-day"), "--control-plane", c.plane, "--for", "200000h", "-v")
			cmd.Env = append(os.Environ(), mainVariable+"=1", exitAtOnce, "TMPDIR="+tmp)
			var stdout bytes.Buffer
			cmd.Stdout = &stdout
			said, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(said)
			for lines.Scan() && !strings.Contains(lines.Text(), "offset=") { // the autoscaler has decided something
			}
			children := childrenOf(t, cmd.Process.Pid, tmp)
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			last := lines.Text()
			for lines.Scan() {
				last = lines.Text()
			}
			_ = cmd.Wait() // its exit code is looked at
			if code := cmd.ProcessState.ExitCode(); code != console.ExitInterrupted || last != "scalehist: interrupted" || stdout.Len() > 0 {
				t.Errorf("exit %d, said %q last and printed %q; want %d and that it was interrupted", code, last, stdout.String(), console.ExitInterrupted)
			}
			if len(children) != c.children {
				t.Errorf("%d processes were running with it, want %d: %v", len(children), c.children, children)
			}
			for link, pid := range children {
				if _, err := os.Stat(filepath.Dir(link)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is left: %v", filepath.Dir(link), err)
				}
				if cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && strings.Contains(string(cmdline), filepath.Dir(link)+"/") {
					t.Errorf("process %d is left: %q", pid, cmdline)
				}
			}
			checkTemp(t, tmp)
		})
	}
}

// childrenOf are the processes of a replay's virtual cluster, by the links that they were started through.
func childrenOf(t *testing.T, parent int, tmp string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, root := range []string{tmp, "/dev/shm"} {
		links, err := filepath.Glob(filepath.Join(root, "scalehist-kvcl-*", "*", "*.pid"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range links {
			link := strings.TrimSuffix(file, ".pid")
			var from struct{ Parent int }
			var is struct{ PID int }
			for path, into := range map[string]any{link + ".json": &from, file: &is} {
				// Clusters of other tests come and go.
				if data, err := os.ReadFile(path); err == nil {
					_ = json.Unmarshal(data, into)
				}
			}
			if from.Parent == parent {
				found[link] = is.PID
			}
		}
	}
	return found
}

// checkTemp: the folder for virtual clusters, of which each user has one, may stay with its lock, and nothing else.
func checkTemp(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{"*", "scalehist-kvcl-*/*"} {
		left, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range left {
			if !strings.HasPrefix(filepath.Base(path), "scalehist-kvcl-") && filepath.Base(path) != ".lock" {
				t.Errorf("%s is left", path)
			}
		}
	}
}
