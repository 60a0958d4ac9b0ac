package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// inRepository changes to the top of the repository, where fixtures/ is.
func inRepository(t *testing.T) {
	t.Helper()
	t.Chdir(filepath.Join("..", "..", ".."))
}

// completions is what a shell would offer for the last word.
func completions(t *testing.T, words ...string) []string {
	t.Helper()
	code, stdout, stderr := run(t, t.Context(), append([]string{"__completeNoDesc"}, words...)...)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != console.ExitOK || len(lines) == 0 || !strings.HasPrefix(lines[len(lines)-1], ":") {
		t.Fatalf("complete %q: exit %d, printed %q and %q", words, code, stdout, stderr)
	}
	return lines[:len(lines)-1]
}

func TestCompletions(t *testing.T) {
	report, err := filepath.Abs(explained("idle"))
	if err != nil {
		t.Fatal(err)
	}
	inRepository(t)
	for _, tt := range []struct {
		words []string
		want  []string
	}{
		{[]string{"replay", "idle-a"}, []string{"idle-after-burst"}},
		{[]string{"replay", "idle-after-burst", "--bounds", ""}, []string{"std="}},
		{[]string{"sweep", "fixtures/two-machine-sizes/recording.db", "--provision-delay-of", ""}, []string{"large=", "small="}},
		{[]string{"compare", report, "--bounds", ""}, []string{"large=", "small="}},
		{[]string{"explain", report, "--node-group", ""}, []string{"large", "small"}},
		{[]string{"recommend", "--strategy", ""}, []string{"greedy", "optimal"}},
		{[]string{"inspect", "x.db", "-o", ""}, []string{"table", "json", "wide"}},
		{[]string{"replay", "x.db", "--control-plane", ""}, []string{"memory", "envtest"}},
		{[]string{"replay", "x.db", "--seed", ""}, []string{}},
		{[]string{"config", "show", "recommender", ""}, []string{"serve"}},
		{[]string{"retain", "idle-a"}, []string{"db"}}, // files only: it would change the fixture
	} {
		if got := completions(t, tt.words...); !slices.Equal(got, tt.want) {
			t.Errorf("%q completes %q, want %q", tt.words, got, tt.want)
		}
	}
}

// TestCompletionInBash drives the script as bash does when somebody presses Tab.
func TestCompletionInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash on this machine")
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "scalehist"), []byte("#!/bin/sh\n"+mainVariable+"=1 "+exitAtOnce+" exec '"+self+"' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	inRepository(t)
	// What bash-completion would do for the script: the words, the current one, and the one before.
	const drive = `
_init_completion() { cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD; }
_get_comp_words_by_ref() { _init_completion; }
compopt() { :; }
source <(scalehist completion bash)
tab() {
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_TYPE=9 COMPREPLY=()
	COMP_POINT=${#COMP_LINE}
	__start_scalehist
	echo "${COMPREPLY[*]}"
}
complete -p scalehist
tab scalehist repl
tab scalehist replay idle-a
tab scalehist replay idle-after-burst --control-plane m
tab scalehist replay idle-after-burst --bounds s
tab scalehist recommend --strategy gr
tab scalehist completion b
`
	cmd := exec.CommandContext(t.Context(), bash, "--norc", "-c", drive)
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i := range got {
		got[i] = strings.TrimSpace(got[i])
	}
	if strings.HasPrefix(got[0], "complete ") && strings.HasSuffix(got[0], " -F __start_scalehist scalehist") {
		got = got[1:] // its options differ with the version of bash
	}
	want := []string{"replay", "idle-after-burst", "memory", "std=", "greedy", "bash"}
	if !slices.Equal(got, want) {
		t.Errorf("bash completes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestFixtureNames: a fixture's name stands for its recording where nothing is written to it.
func TestFixtureNames(t *testing.T) {
	inRepository(t)
	if code, stdout, stderr := run(t, t.Context(), "inspect", "idle-after-burst"); code != console.ExitOK || !strings.Contains(stdout, "std") {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
	for _, args := range [][]string{{"inspect", "idle-after-brust"}, {"replay", "idle-after-brust"}} {
		if code, _, stderr := run(t, t.Context(), args...); code != console.ExitFailed || !strings.Contains(stderr, `did you mean "idle-after-burst"`) {
			t.Errorf("%q: exit %d, error %q; want the name that was meant", args, code, stderr)
		}
	}
	if code, _, stderr := run(t, t.Context(), "compact", "idle-after-burst"); code != console.ExitFailed {
		t.Errorf("compact of a fixture's name: exit %d, %q; want an error, it changes files", code, stderr)
	}
}
