package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// shortSeed and shortRuns are the attack that CI makes: some twenty seconds of one core, always the same. `make attack` and the nightly
// workflow go on for longer, the latter with other seeds each time.
const (
	shortSeed = 1
	shortRuns = 60
)

// built is the folder of the binary, for TestMain to remove.
var built string

// binary is scalehist, built once for all tests, without the race detector. SCALEHIST_ATTACK_BINARY names one to attack instead.
var binary = sync.OnceValues(func() (string, error) {
	if from := os.Getenv("SCALEHIST_ATTACK_BINARY"); from != "" {
		return filepath.Abs(from)
	}
	dir, err := os.MkdirTemp("", "attack-test")
	if err != nil {
		return "", err
	}
	built = dir
	to := filepath.Join(dir, "scalehist")
	return to, build(context.Background(), "../../..", to)
})

// attacker runs attacks with the binary of this tree.
func attacker(t *testing.T) runner {
	t.Helper()
	scalehist, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return attackerOf(t, scalehist)
}

// attackerOf runs attacks with a program.
func attackerOf(t *testing.T, scalehist string) runner {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	within := defaultLimits
	within.deadline *= 3 // beside the race detector and other tests
	return runner{root: root, scalehist: scalehist, within: within, refused: &atomic.Int64{}}
}

// TestShortAttack is the standing attack for some seconds.
func TestShortAttack(t *testing.T) {
	if testing.Short() {
		t.Skip("runs scalehist some hundred times")
	}
	r := attacker(t)
	var out strings.Builder
	o := options{root: r.root, scalehist: r.scalehist, keep: filepath.Join(t.TempDir(), "kept"), seed: shortSeed, runs: shortRuns, procs: 2, within: r.within}
	if err := run(t.Context(), o, &out); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestCorpus attacks with what was found once.
func TestCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("runs scalehist for each entry")
	}
	entries, err := filepath.Glob(filepath.Join("testdata", "corpus", "*", "attack.json"))
	if err != nil || len(entries) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	r := attacker(t)
	for _, e := range entries {
		dir := filepath.Dir(e)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			a, err := recall(dir)
			if err != nil {
				t.Fatal(err)
			}
			wrong, err := r.run(t.Context(), a, t.TempDir())
			if err != nil || len(wrong) > 0 {
				t.Errorf("%v\n%s", err, strings.Join(wrong, "\n"))
			}
		})
	}
}

// TestSourcesAreTaken: every target takes one of its sources as it is. An attack on a command that refuses everything says nothing.
func TestSourcesAreTaken(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every target")
	}
	r := attacker(t)
	from, err := load(t.Context(), r.root, r.scalehist)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range targets() {
		t.Run(x.line(), func(t *testing.T) {
			t.Parallel()
			for i := len(from[x.kind]) - 1; i >= 0; i-- { // what scalehist made now comes last, and has everything
				s := from[x.kind][i]
				mine := r
				mine.refused = &atomic.Int64{}
				a := attack{target: x, input: s.data, Delivery: plain}
				wrong, err := mine.run(t.Context(), a, t.TempDir())
				if err != nil || len(wrong) > 0 {
					t.Fatalf("%s: %v\n%s", s.name, err, strings.Join(wrong, "\n"))
				}
				if mine.refused.Load() == 0 {
					return
				}
			}
			t.Error("every source is refused")
		})
	}
}

// TestUncovered: a command that is new is attacked, or there is a reason.
func TestUncovered(t *testing.T) {
	var known []string
	for _, x := range targets() {
		known = append(known, strings.ReplaceAll(x.command, " ", "-"))
	}
	for c := range excused {
		known = append(known, strings.ReplaceAll(c, " ", "-"))
	}
	if err := uncovered(append(known, "new-thing")); err == nil || !strings.Contains(err.Error(), "scalehist new thing is not attacked") {
		t.Errorf("a command that is new: %v", err)
	}
	if err := uncovered([]string{"replay"}); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a command that is gone: %v", err)
	}
}

// TestKept: a finding is the corpus's own form.
func TestKept(t *testing.T) {
	want := attack{Seed: 7, Source: "a", Mutations: []string{"empty"}, Command: targets()[0].line(), Delivery: cut, target: targets()[0], input: []byte("x\x00y")}
	dir, err := keep(t.TempDir(), want, []string{"hangs"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := recall(dir)
	if err != nil || got.Seed != 7 || got.target.line() != want.target.line() || string(got.input) != string(want.input) || got.Delivery != cut {
		t.Errorf("%v: %+v", err, got)
	}
}
