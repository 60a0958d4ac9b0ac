package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

// pretender attacks one of the programs of this test binary.
func pretender(t *testing.T, program string) runner {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := attackerOf(t, self)
	r.env = []string{asProgram + "=" + program}
	return r
}

// TestJudge: a program that does well is not blamed, and one that does not is, for what it does.
func TestJudge(t *testing.T) {
	for program, want := range map[string]string{
		"well":                           "",
		"refuses":                        "",
		"panics":                         `standard error has "panic:"`,
		"overflows":                      `standard error has "goroutine "`,
		"hangs":                          "hangs: runs longer than 1s",
		"exits 3":                        "exit code 3",
		"differs":                        "exit code 1",
		"is silent":                      "exit code 2 without a message",
		"names none":                     `the message names none of ["input"]`,
		"is verbose":                     "the message has ",
		"speaks Go":                      `the message speaks of "Go value"`,
		"shows its stack":                `standard error has "goroutine "`,
		"eats memory":                    "more than the bound of 128 MB",
		"changes its input":              "input input.db is changed",
		"removes its input":              "input input.db is gone",
		"leaves a file beside its input": "input.db-wal is left behind",
		"leaves a temporary file":        "1 temporary files are left",
		"kills itself":                   "ended by a signal",
		"prints without end":             "the output has 71 MB",
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			within := limits{deadline: time.Minute, memory: 128 << 20}
			if program == "hangs" {
				within.deadline = time.Second
			}
			if program == "prints without end" || program == "overflows" {
				within.memory = 1 << 30
			}
			a := attack{target: target{command: "inspect", kind: historyKind, args: "{in}"}, input: []byte("a history")}
			r := pretender(t, program)
			r.within = within
			wrong, err := r.run(t.Context(), a, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(wrong, "\n")
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			if want == "" {
				return
			}
			first, _, _ := strings.Cut(got, "\n")
			if !strings.Contains(first, want) {
				t.Errorf("the first of what is wrong is not %q:\n%s", want, got)
			}
		})
	}
}

// TestJudgeOfFollowers: what doctor finds nothing wrong with may not be refused.
func TestJudgeOfFollowers(t *testing.T) {
	r := pretender(t, "refuses")
	a := attack{target: replayed[0], input: []byte("a history")}
	a.target.kind = historyKind
	wrong, err := r.run(t.Context(), a, t.TempDir())
	if err != nil || !strings.Contains(strings.Join(wrong, "\n"), "refuses a history that doctor finds nothing wrong with") {
		t.Errorf("%v %q", err, wrong)
	}
	r.env = []string{asProgram + "=well"}
	a.target = target{command: "export", kind: historyKind, args: "{in} -o {out}/x", makes: "x"}
	wrong, err = r.run(t.Context(), a, t.TempDir())
	if err != nil || !strings.Contains(strings.Join(wrong, "\n"), "exit code 0, and of x there is 0") {
		t.Errorf("%v %q", err, wrong)
	}
}
