package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recorder/history"
)

// emulateOnce plays a load of a server for one worker of that name, in this process, until the load is over.
func emulateOnce(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	listens, played := make(chan struct{}), make(chan int, 1)
	errs := &waitingBuffer{text: "Ctrl-C stops", found: func() { close(listens) }}
	out := &waitingBuffer{}
	go func() {
		played <- Execute(ctx, append([]string{"emulate", "serve", "--listen", "127.0.0.1:0"}, args...), console.IO{Out: out, Err: errs})
	}()
	select {
	case <-listens:
	case code := <-played:
		t.Fatalf("exit %d: %s", code, errs)
	}
	working, end := context.WithCancel(ctx)
	worked := make(chan int, 1)
	said := &waitingBuffer{}
	go func() {
		worked <- Execute(working, []string{"emulate", "worker", "--max-memory", "16Gi", "--name", name, "--server", regexp.MustCompile(`http://\S+[0-9]`).FindString(errs.String())}, console.IO{Out: io.Discard, Err: said})
	}()
	if code := <-played; code != console.ExitOK {
		t.Errorf("exit %d: %s", code, errs)
	}
	end()
	if code := <-worked; code != console.ExitOK || !strings.Contains(said.String(), name+" works for http://") {
		t.Errorf("the worker: exit %d, %s", code, said)
	}
	return out.String()
}

// TestEmulate: a shape is played and measured into a history with a pod of the worker's name, and a plot; that history is played again, and the
// worker gets the curve of its name.
func TestEmulate(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("workers measure by /proc")
	}
	dir := t.TempDir()
	db, plot := filepath.Join(dir, "first.db"), filepath.Join(dir, "first.svg")
	out := emulateOnce(t, "web-0", "constant", "--steps", "3", "--period", "1s", "--cpu", "100m", "--memory", "600Mi", "-o", db, "--plot", plot)
	if !strings.Contains(out, "first.db: ") || !regexp.MustCompile(`web-0 +[1-3] +100m`).MatchString(out) || !strings.Contains(out, "600Mi") {
		t.Errorf("%s", out)
	}
	h, err := history.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for u, err := range h.Usages(t.Context(), time.Time{}, time.Time{}) {
		if err != nil || u.Pod.Name != "web-0" || u.Container != "worker" || u.MemoryBytes < 550<<20 {
			t.Errorf("%+v, %v", u, err)
		}
		n++
	}
	if err := h.Close(); err != nil || n < 1 || n > 3 { // a period in which the worker had no processor is a gap
		t.Errorf("%d samples, %v", n, err)
	}
	if svg, err := os.ReadFile(plot); err != nil || !strings.Contains(string(svg), "asked for") || !strings.Contains(string(svg), "web-0: Memory") {
		t.Errorf("plot %s, %v", svg, err)
	}
	out = emulateOnce(t, "web-0", "--usage-of", db, "--step", "1h", "--period", "3s")
	if !regexp.MustCompile(`web-0 +1 +[0-9]+m .* ([5-9][0-9]{2}|[0-9]{4,})Mi`).MatchString(out) {
		t.Errorf("played again: %s", out)
	}
}

// TestEmulateMistakes: what is wrong is said before anything is played.
func TestEmulateMistakes(t *testing.T) {
	taken := filepath.Join(t.TempDir(), "taken.db")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"serve"}, "SHAPE"},
		{[]string{"serve", "constan"}, `shape "constan" is not known`},
		{[]string{"serve", "constant", "--usage-of", "x.db"}, "unknown command"},
		{[]string{"serve", "--usage-of", "no/such.db"}, "--usage-of"},
		{[]string{"serve", "constant", "-o", "x.csv"}, "want a name that ends in .db"},
		{[]string{"serve", "constant", "--plot", "x.png"}, "the plot is SVG"},
		{[]string{"serve", "constant", "-o", taken}, "exists already"},
		{[]string{"serve", "constant", "--period", "0s"}, "must be more than 0"},
		{[]string{"serve", "constant", "--steps", "0"}, "--steps 0: want 1 or more"},
		{[]string{"serve", "constant", "--cpu", "much"}, "--cpu"},
		{[]string{"serve", "constant", "--address", "http://fixed"}, "want http:// and {host} in it"},
		{[]string{"serve", "constant", "--listen", "256.0.0.1:1"}, "choose another --listen"},
		{[]string{"worker", "--server", "localhost"}, "--server localhost: want http://HOST:PORT"},
		{[]string{"worker", "--measure", "eyes"}, "want proc or cgroup"},
		{[]string{"worker", "--measure", "cgroup", "--cgroup", "no/such"}, "choose another --measure"},
		{[]string{"worker", "--max-cpu", "x"}, "--max-cpu"},
		{[]string{"worker", "--max-memory", "x"}, "--max-memory"},
		{[]string{"worker", "--listen", "256.0.0.1:1"}, "choose another --listen"},
	} {
		code, _, stderr := run(t, t.Context(), append([]string{"emulate"}, c.args...)...)
		if code != console.ExitFailed || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d, %s; want %s", c.args, code, stderr, c.want)
		}
	}
}
