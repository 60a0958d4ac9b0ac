package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/harness/kvcl/crosscheck"
)

func TestCrosscheckErrors(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no seeds", []string{"--seeds", "0"}, "--seeds 0: must be at least 1"},
		{"no jobs", []string{"--jobs", "0"}, "--jobs 0: must be at least 1"},
		{"one plane", []string{"--planes", "memory"}, "--planes memory: want two"},
		{"unknown plane", []string{"--planes", "memory,cloud"}, `unknown control plane "cloud": want envtest, memory, memory-stock`},
		{"seed and seeds", []string{"--seed", "1", "--seeds", "2"}, "none of the others can be"},
		{"negative tries", []string{"--shrink-tries", "-1"}, "--shrink-tries -1"},
		{"argument", []string{"x"}, `unknown command "x"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := run(t, t.Context(), append([]string{"crosscheck"}, tt.args...)...)
			if code != ExitFailed || !strings.Contains(stderr, tt.want) || stdout != "" {
				t.Errorf("exit %d, printed %q and error %q; want exit %d and an error with %q", code, stdout, stderr, ExitFailed, tt.want)
			}
		})
	}
}

func TestCrosscheckMemory(t *testing.T) {
	code, stdout, stderr := run(t, t.Context(), "crosscheck", "--planes", "memory,memory", "--seeds", "10")
	if code != ExitOK || !strings.Contains(stdout, "10 programs of 10 on memory and memory in ") || !strings.Contains(stdout, ": no difference\n") {
		t.Errorf("exit %d, printed\n%s%s", code, stdout, stderr)
	}
	for _, w := range []string{"bindings", "victims", "evictions refused", "kinds of change"} {
		if !strings.Contains(stdout, w) {
			t.Errorf("the summary does not tell %q:\n%s", w, stdout)
		}
	}
	code, stdout, stderr = run(t, t.Context(), "crosscheck", "--planes", "memory,memory-stock", "--seed", "7", "-v")
	if code != ExitOK || !strings.Contains(stderr, "seed 7\nstep 1: apply") || !strings.Contains(stdout, "add Pod\n") {
		t.Errorf("exit %d, printed\n%s%s", code, stdout, stderr)
	}
}

func TestCrosscheckJSON(t *testing.T) {
	code, stdout, stderr := run(t, t.Context(), "crosscheck", "--planes", "memory,memory", "--seeds", "3", "--first-seed", "40", "-o", "json")
	var r crosscheck.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != ExitOK {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	want := crosscheck.Result{Planes: [2]string{"memory", "memory"}, First: 40, Seeds: 3, Differences: []crosscheck.Difference{}, Coverage: r.Coverage}
	if d := cmp.Diff(want, r); d != "" || r.Coverage.Programs != 3 {
		t.Errorf("%d programs, result (-want +got):\n%s", r.Coverage.Programs, d)
	}
}

func TestCrosscheckInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, stdout, stderr := run(t, ctx, "crosscheck", "--planes", "memory,memory", "--seeds", "10")
	if code != ExitInterrupted || !strings.Contains(stdout, "of 10 on memory and memory") || !strings.Contains(stderr, "interrupted") {
		t.Errorf("exit %d, printed\n%s%s; want what was found so far", code, stdout, stderr)
	}
}

func TestCrosscheckShowsDifferences(t *testing.T) {
	var out strings.Builder
	s := IO{Out: &out}
	r := &crosscheck.Result{Planes: [2]string{"envtest", "memory"}, First: 1, Seeds: 2, Coverage: &crosscheck.Coverage{Programs: 2}, Differences: []crosscheck.Difference{{
		Site: "Pod .Spec.Overhead", Seeds: []uint64{1, 2}, Step: 1, Steps: 1, Changes: 1, OfSteps: 8, OfChanges: 30, Shrunk: true, Alone: true,
		Program: "step 1: apply 1\n  add Pod default/p\n", Diff: "- a\n+ b\n",
	}}}
	s.printCrosscheck(&crosscheckFlags{format: FormatTable}, r, 0)
	want := `Pod .Spec.Overhead
  seeds    1 2
  again    scalehist crosscheck --planes envtest,memory --seed 1
  program  1 step and 1 change, of 8 and 30
    step 1: apply 1
      add Pod default/p
  after step 1, - envtest + memory
    - a
    + b

`
	if got := out.String(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, ": 1 difference\n") {
		t.Errorf("printed\n%s\nwant it to begin with\n%s", got, want)
	}
}

func TestCrosscheckCompletion(t *testing.T) {
	_, stdout, _ := run(t, t.Context(), "__complete", "crosscheck", "--planes", "envtest,")
	if !strings.Contains(stdout, "envtest,memory\n") {
		t.Errorf("completion of --planes: %s", stdout)
	}
}
