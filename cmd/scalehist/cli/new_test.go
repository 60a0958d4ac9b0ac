package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// TestScaffoldsPass: what new scenario writes of any fixture is what test finds, for whole recordings and for parts of them.
//
//scalehist:unraced
func TestScaffoldsPass(t *testing.T) {
	fixtures, err := filepath.Glob(fixture("*"))
	if err != nil || len(fixtures) == 0 {
		t.Fatal(err)
	}
	dir := t.TempDir()
	n := 0
	for i, db := range fixtures {
		name := filepath.Base(filepath.Dir(db))
		variants := [][]string{nil}
		switch i % 4 { // parts cost as much as wholes
		case 0:
			variants = append(variants, []string{"--from", "+25s", "--to", "-15s"})
		case 1:
			variants = append(variants, []string{"--for", "7m", "--autoscaler-flag=--expander=most-pods", "--seed", "5", "--batch-interval", "0s"})
		case 2:
			variants = append(variants, []string{"--autoscaler", "recommender", "--prices", root("examples", "gate", "prices.yaml")})
		case 3:
			variants = append(variants, []string{"--fault", "provider-down@..+1m"})
		}
		for j, args := range variants {
			file := filepath.Join(dir, fmt.Sprintf("%s-%d.yaml", name, j))
			if code, stdout, stderr := run(t, t.Context(), append([]string{"new", "scenario", db, "-f", file}, args...)...); code != console.ExitOK {
				t.Errorf("%s %v: exit %d, %s\n%s", name, args, code, stderr, stdout)
				continue
			}
			n++
		}
	}
	code, stdout, stderr := run(t, t.Context(), "test", dir, "--artifacts", filepath.Join(dir, "gen"))
	if code != console.ExitOK || !strings.Contains(stdout, fmt.Sprintf("%d scenarios: %d passed\n", n, n)) {
		t.Errorf("exit %d, %s\n%s", code, stderr, stdout)
	}
}

// TestScaffoldsPerEvent: the same for a per-event playback.
func TestScaffoldsPerEvent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "events.yaml")
	if code, _, stderr := run(t, t.Context(), "new", "scenario", fixture("two-machine-sizes"), "-f", file, "--playback", "per-event"); code != console.ExitOK {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	if code, stdout, stderr := run(t, t.Context(), "test", file, "--artifacts", t.TempDir()); code != console.ExitOK {
		t.Errorf("exit %d, %s\n%s", code, stderr, stdout)
	}
}

// TestGoScaffolds: examples/scenarios/gospec is what new scenario writes today. It compiles, and runs, with all other tests.
func TestGoScaffolds(t *testing.T) {
	for file, args := range map[string][]string{
		"from_zero_test.go": {"from-zero"},
		"what_if_test.go": {
			"max-size-reached", "--from", "+5s", "--for", "3m", "--autoscaler-flag=--expander=most-pods", "--seed", "3", "--batch-interval", "0s",
			"--fault", "slow:std,delay=20s",
		},
		"per_event_test.go": {"two-machine-sizes", "--playback", "per-event"},
	} {
		path := root("examples", "scenarios", "gospec", file)
		tmp := filepath.Join(filepath.Dir(path), "."+file) // beside it, for the paths in it; removed below
		args := append([]string{"new", "scenario", fixture(args[0]), "-f", tmp, "--package", "gospec", "--name", strings.TrimSuffix(file, "_test.go")}, args[1:]...)
		if os.Getenv("SCALEHIST_UPDATE") != "" {
			args[4] = path
			args = append(args, "--overwrite")
		}
		t.Cleanup(func() { _ = os.Remove(tmp) })
		if code, _, stderr := run(t, t.Context(), args...); code != console.ExitOK {
			t.Errorf("%s: exit %d, %s", file, code, stderr)
			continue
		}
		got, err := os.ReadFile(args[4])
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(path)
		if err != nil || string(want) != string(got) {
			t.Errorf("%s is not what new scenario writes; SCALEHIST_UPDATE=1 writes it: %v\n%s", path, err, got)
		}
	}
}

func TestNewErrors(t *testing.T) {
	there := written(t, "there.yaml", nil)
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"nothing":    {[]string{"new"}, `new: missing subcommand: want "scenario"`},
		"unknown":    {[]string{"new", "policy"}, `there is nothing called "policy"`},
		"no history": {[]string{"new", "scenario"}, "missing argument FILE.db"},
		"not there":  {[]string{"new", "scenario", "no.db"}, "no.db does not exist: give a history (.db)"},
		"there":      {[]string{"new", "scenario", fixture("from-zero"), "-f", there}, "exists already: choose another name, or replace it with --overwrite"},
		"form":       {[]string{"new", "scenario", fixture("from-zero"), "--form", "toml"}, `--form "toml": want yaml or go`},
		"package":    {[]string{"new", "scenario", fixture("from-zero"), "--form", "go", "--package", "a-b"}, "is no name of a Go package"},
		"go file":    {[]string{"new", "scenario", fixture("from-zero"), "-f", "x.go"}, "ends in _test.go"},
		"go prices":  {[]string{"new", "scenario", fixture("two-machine-sizes"), "--form", "go", "--prices", root("examples", "gate", "prices.yaml")}, "the Go form has no prices"},
		"region":     {[]string{"new", "scenario", fixture("from-zero"), "--region", "x"}, "--region goes with --prices"},
		"fault":      {[]string{"new", "scenario", fixture("from-zero"), "--fault", "x"}, `--fault: fault "x": unknown kind`},
		"flag":       {[]string{"new", "scenario", fixture("from-zero"), "--autoscaler-flag=--expandr=x"}, "expandr"},
		"window":     {[]string{"new", "scenario", fixture("from-zero"), "--from", "+9h"}, "window.from: time +9h"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := run(t, t.Context(), tt.args...)
			if code != console.ExitFailed || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit %d, %s, want %q", code, stderr, tt.want)
			}
		})
	}
	code, stdout, stderr := run(t, t.Context(), "new", "scenario", fixture("from-zero"))
	if code != console.ExitOK || !strings.Contains(stdout, "\nname: from-zero\n") || !strings.Contains(stdout, "scaledUp: {batch: 3}") {
		t.Errorf("on standard output: exit %d, %s\n%s", code, stderr, stdout)
	}
}
