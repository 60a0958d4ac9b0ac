package recorder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/recorder/history"
)

// fill makes pods whose content is large and differs.
func fill(t *testing.T, l *lab, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		p := pod(l.ns, fmt.Sprintf("big-%d", i))
		p.Labels = map[string]string{}
		for j := range 40 {
			p.Labels[fmt.Sprintf("l%d-%d", i, j)] = strings.Repeat(fmt.Sprint(i%10), 60)
		}
		must[*corev1.Pod](t)(l.c.CoreV1().Pods(l.ns).Create(t.Context(), p, metav1.CreateOptions{}))
	}
}

// TestFileLimit: a history that cannot grow any more, as on a full disk, holds the recording: it says so, tries again,
// and goes on when there is room. Nothing that it took is lost.
func TestFileLimit(t *testing.T) {
	l := newLab(t)
	l.quiet()
	info, err := os.Stat(l.path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	l.rec.ask(fmt.Sprint("limit ", info.Size()+16<<10))
	fill(t, l, 0, 60)
	l.waitFor(func() bool {
		return strings.Contains(l.rec.ask("stats").Stats.Trouble, "the history cannot be written")
	})
	fill(t, l, 60, 80)
	l.rec.ask(fmt.Sprint("limit ", uint64(1)<<40))
	l.quiet()
	if trouble := l.rec.ask("stats").Stats.Trouble; trouble != "" {
		t.Errorf("trouble %q after there was room again", trouble)
	}
	l.check()
}

// TestKilledWhileFull: what a recorder held when it was killed on a full disk is missing, within a gap.
func TestKilledWhileFull(t *testing.T) {
	l := newLab(t)
	l.quiet()
	l.rec.ask(fmt.Sprint("limit ", 64<<10))
	fill(t, l, 0, 60)
	l.waitFor(func() bool {
		return strings.Contains(l.rec.ask("stats").Stats.Trouble, "the history cannot be written")
	})
	l.rec.kill()
	l.start()
	l.quiet()
	l.check()
}

// TestDiskFull is TestFileLimit on a real full disk, where this machine lets us make one.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Logf("no file system of our own here (%v): TestFileLimit tells the same", err)
		return
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	c, ns := client(t)
	path := filepath.Join(dir, "h.db")
	rec := record(t, cluster, Options{Path: path, QueueSize: 8, BatchSize: 4})
	ballast := filepath.Join(dir, "ballast")
	_ = os.WriteFile(ballast, make([]byte, 4<<20), 0o600) // as much as fits
	l := &lab{world: &world{c: c, ns: ns}, t: t}
	fill(t, l, 0, 100)
	l.waitFor(func() bool { return strings.Contains(rec.Stats().Trouble, "disk is full") })
	if n := len(rec.queue); n > 8 {
		t.Errorf("%d in the queue, want at most 8", n)
	}
	l.waitFor(func() bool { return len(rec.queue) == 8 })
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	rec.flush()
	at := rec.now()
	if trouble := rec.Stats().Trouble; trouble != "" {
		t.Errorf("trouble %q after there was room again", trouble)
	}
	rec.end()
	if got := len(podNames(snapshotAt(t, open(t, path), at), ns)); got != 100 {
		t.Errorf("%d pods in the history, want all 100", got)
	}
	if err := open(t, path).Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestStopOnAFullDisk: what cannot be written at the end is reported.
func TestStopOnAFullDisk(t *testing.T) {
	l := newLab(t)
	l.quiet()
	l.rec.ask("limit 65536")
	fill(t, l, 0, 60)
	l.waitFor(func() bool {
		return strings.Contains(l.rec.ask("stats").Stats.Trouble, "the history cannot be written")
	})
	if err := l.rec.in.Close(); err != nil {
		t.Fatal(err)
	}
	err := l.rec.cmd.Wait()
	if said := fmt.Sprint(l.rec.cmd.Stderr); err == nil || !strings.Contains(said, "what was seen since is lost") {
		t.Errorf("the process ended with %v and said %q, want what is lost", err, said)
	}
	l.start()
	l.quiet()
	l.check()
}

// TestFileGone: nobody writes into a file without a name, and what was written is complete where it went.
func TestFileGone(t *testing.T) {
	for what, take := range map[string]func(path string) error{
		"removed": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, []byte("not ours"), 0o600))
		},
	} {
		t.Run(what, func(t *testing.T) {
			c, ns := client(t)
			path := filepath.Join(t.TempDir(), "h.db")
			rec := record(t, cluster, Options{Path: path})
			must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, "before"), metav1.CreateOptions{}))
			rec.flush()
			at := rec.now()
			if err := take(path); err != nil {
				t.Fatal(err)
			}
			err := <-rec.done
			var gone *GoneError
			if !errors.As(err, &gone) || gone.Replaced != (what == "replaced") {
				t.Fatalf("the recording ended with %v, want a GoneError", err)
			}
			if err := rec.Flush(t.Context()); !errors.As(err, &gone) {
				t.Errorf("Flush: %v, want the same", err)
			}
			if what == "replaced" {
				if b, err := os.ReadFile(path); err != nil || string(b) != "not ours" {
					t.Errorf("what took its place was changed: %q %v", b, err)
				}
			}
			if what != "removed" {
				if diff := cmp.Diff([]string{"before"}, podNames(snapshotAt(t, open(t, path+".old"), at), ns)); diff != "" {
					t.Errorf("pods in the moved history (-want +got):\n%s", diff)
				}
			}
			for _, left := range []string{"-wal", "-shm", ".lock"} {
				if _, err := os.Stat(path + left); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s%s is still there: %v", filepath.Base(path), left, err)
				}
			}
			if what == "replaced" {
				return
			}
			again := record(t, cluster, Options{Path: path})
			again.end()
			if _, err := history.Open(t.Context(), path); err != nil {
				t.Errorf("a new history at the path: %v", err)
			}
		})
	}
}
