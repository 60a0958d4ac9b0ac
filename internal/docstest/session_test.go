package docstest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// step is something for the shell of a session to do, and what came of it.
type step struct {
	text   string // a shell script
	until  string // run until this holds, then interrupt
	out    []string
	code   int
	ran    bool
	exempt bool // its condition did not hold
}

// driver is the shell of a session. Each step is sourced, so that directories, variables and jobs outlive it; a condition that
// does not hold skips the steps of its block.
const driver = `
step() {
  . "$DOCS_STEPS/$1.sh" >"$DOCS_STEPS/$1.out" 2>&1 </dev/null
  echo $? >"$DOCS_STEPS/$1.rc"
}
step_until() {
  bash -c "exec $(cat "$DOCS_STEPS/$1.sh")" >"$DOCS_STEPS/$1.out" 2>&1 </dev/null &
  local pid=$!
  until ( . "$DOCS_STEPS/$1.until" ) >/dev/null 2>&1 || ! kill -0 $pid 2>/dev/null; do sleep 0.1; done
  kill -TERM $pid
  wait $pid
  echo $? >"$DOCS_STEPS/$1.rc"
}
holds() { ( . "$DOCS_STEPS/$1.where" ) >/dev/null 2>&1 </dev/null || { echo no >"$DOCS_STEPS/$1.exempt"; return 1; }; }
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
`

// play runs steps in one shell in a directory. wheres has the conditions of steps by their number.
func play(t *testing.T, dir string, env []string, steps []*step, wheres map[int]string) {
	t.Helper()
	scripts := t.TempDir()
	main := []string{driver}
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(scripts, name), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range steps {
		n := strconv.Itoa(i)
		put(n+".sh", s.text)
		line := "step " + n
		if s.until != "" {
			put(n+".until", s.until)
			line = "step_until " + n
		}
		if w := wheres[i]; w != "" {
			put(n+".where", w)
			line = "if holds " + n + "; then " + line + "; fi"
		}
		main = append(main, line)
	}
	put("main", strings.Join(main, "\n"))
	cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(scripts, "main"))
	cmd.Dir, cmd.Env = dir, append(env, "DOCS_STEPS="+scripts)
	if out, err := cmd.CombinedOutput(); err != nil && len(out) > 0 {
		t.Errorf("the shell of the page: %v\n%s", err, out)
	}
	for i, s := range steps {
		n := strconv.Itoa(i)
		if _, err := os.Stat(filepath.Join(scripts, n+".exempt")); err == nil {
			s.exempt = true
			continue
		}
		out, err := os.ReadFile(filepath.Join(scripts, n+".out"))
		if err == nil && len(out) > 0 {
			s.out = strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		}
		rc, err := os.ReadFile(filepath.Join(scripts, n+".rc"))
		if err != nil {
			continue // the shell ended before it, or in it
		}
		if s.code, err = strconv.Atoi(strings.TrimSpace(string(rc))); err != nil {
			t.Fatal(err)
		}
		s.ran = true
	}
}

// environment is what a session knows: this tree's binary first, the control plane in memory, a home of its own.
func environment(t *testing.T, bin, home, repository string) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "GOROOT", "GOTOOLCHAIN").Output()
	if err != nil {
		t.Fatal(err)
	}
	v := strings.Split(string(out), "\n")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{
		"PATH=" + bin + string(filepath.ListSeparator) + filepath.Join(v[4], "bin") + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"HOME=" + home, "TMPDIR=" + t.TempDir(), "TZ=UTC", "LC_ALL=C.UTF-8", "TERM=dumb", "NO_COLOR=1",
		"GOCACHE=" + v[0], "GOMODCACHE=" + v[1], "GOPROXY=" + v[2], "GOFLAGS=" + v[3], "GOTOOLCHAIN=" + v[5],
		"CGO_ENABLED=0", // what pages build is compiled already, for the control plane and for the binary above
		"HISTORY=fixtures/full-day/recording.db",
		// A clone of the project is a clone of the copy, as it stands.
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + repository + "/.insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/scalehist/",
		sqliteShim + "=1",
	}
}

// snapshot copies the files of the repository, those that are not committed yet too, into a repository of its own under dir.
func snapshot(t *testing.T, dir string) {
	t.Helper()
	out, err := exec.Command("git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for file := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		from, to := filepath.Join(root, file), filepath.Join(dir, file)
		info, err := os.Lstat(from)
		if os.IsNotExist(err) || err == nil && !info.Mode().IsRegular() {
			continue // removed and not committed, or a link
		}
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, text, info.Mode().Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "As it stands"}} {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=docs", "-c", "user.email=docs@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
}

// worktree is a directory of a session: the files of the copy as hard links, so that what a page writes is its own.
func worktree(t *testing.T, copied string) string {
	t.Helper()
	dir := t.TempDir()
	err := filepath.WalkDir(copied, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(copied, file)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, rel)
		switch {
		case d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		}
		return os.Link(file, to)
	})
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "gen"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// quoted is text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// heredocOf is a command that gets lines on its standard input.
func heredocOf(cmd string, lines []string) string {
	return fmt.Sprintf("printf '%%s\\n' %s | %s", quoted(strings.Join(lines, "\n")), cmd)
}
