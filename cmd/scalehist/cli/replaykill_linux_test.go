package cli

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist/internal/realprogram"
	"github.com/scalehist/scalehist/internal/realprogram/realtest"
)

// markVariable is inherited by all that a replay starts.
const markVariable = "SCALEHIST_TEST_MARK"

// marked are the processes with a mark that live, by their command.
func marked(t *testing.T, mark string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		environ, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil || e.Name() == fmt.Sprint(os.Getpid()) || !bytes.Contains(environ, []byte(markVariable+"="+mark)) {
			continue // it is no process, or one of somebody else
		}
		command, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "comm"))
		out = append(out, strings.TrimSpace(string(command)))
	}
	return out
}

// TestNothingOutlivesAKilledReplay kills replays by the real autoscaler at ten seeded moments: while processes start, and while they run. Nothing is left.
func TestNothingOutlivesAKilledReplay(t *testing.T) {
	binary := realtest.ClusterAutoscaler(t, filepath.Join("..", "..", ".."))
	mark := filepath.Base(t.TempDir()) + fmt.Sprint(os.Getpid())
	t.Setenv(mainVariable, "1")
	t.Setenv(markVariable, mark)
	chance := rand.New(rand.NewPCG(15, 10)) //nolint:gosec // moments of a test
	most := map[string]bool{}
	for n := range 10 {
		dir := t.TempDir()
		p, err := realprogram.Start(os.Args[0], []string{"replay", fixture("two-machine-sizes"), "--autoscaler", "exec:" + binary, "--report-dir", filepath.Join(dir, "report")}, filepath.Join(dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		if n%2 == 1 { // every other one is killed when all run, else anywhere on the way there
			eventually(t, "the autoscaler does not start", func() bool {
				_, err := os.Stat(filepath.Join(dir, "report", "cluster-autoscaler.log"))
				return err == nil
			})
		}
		time.Sleep(time.Duration(chance.IntN(1500)) * time.Millisecond)
		for _, name := range marked(t, mark) {
			most[name] = true
		}
		kill(t, p)
		realtest.Eventually(t, fmt.Sprintf("after the kill of replay %d there are %v", n, marked(t, mark)), func() bool { return len(marked(t, mark)) == 0 })
	}
	for _, want := range []string{"etcd", "kube-apiserver", "cluster-autosca"} {
		if !most[want] {
			t.Errorf("%s never ran: nothing was shown of it (%v ran)", want, most)
		}
	}
}
