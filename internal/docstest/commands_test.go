package docstest

import (
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write what commands print now into the pages; please look at the diff")

// commandPages are the pages whose commands are run.
func commandPages(t *testing.T) []string {
	t.Helper()
	out := []string{"README.md"}
	for _, pattern := range []string{"docs/*.md", "examples/*/README.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			out = append(out, filepath.ToSlash(strings.TrimPrefix(f, root+"/")))
		}
	}
	return out
}

// counted is how many blocks were run and why others were not.
type counted struct {
	sync.Mutex
	run    int
	exempt map[string]int
}

func (c *counted) add(run bool, why string) {
	c.Lock()
	defer c.Unlock()
	if run {
		c.run++
	} else {
		c.exempt[why]++
	}
}

// TestCommands runs every command of the pages, and compares what it prints with what the page shows.
func TestCommands(t *testing.T) {
	repositories, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(repositories, "scalehist")
	snapshot(t, copied)
	bin := t.TempDir()
	binary(t, filepath.Join(bin, "scalehist"))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "sqlite3")); err != nil {
		t.Fatal(err)
	}

	count := &counted{exempt: map[string]int{}}
	t.Run("pages", func(t *testing.T) {
		for _, name := range commandPages(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				runPage(t, name, bin, repositories, count)
			})
		}
	})
	exempt := 0
	for _, why := range slices.Sorted(maps.Keys(count.exempt)) {
		t.Logf("%4d not run: %s", count.exempt[why], why)
		exempt += count.exempt[why]
	}
	t.Logf("%d blocks were run, %d are exempt", count.run, exempt)
}

// binary puts scalehist there: $SCALEHIST_DOCS_BINARY, else this tree's, built as a release has it.
func binary(t *testing.T, to string) {
	t.Helper()
	if from := os.Getenv("SCALEHIST_DOCS_BINARY"); from != "" {
		if err := os.Symlink(from, to); err != nil {
			t.Fatal(err)
		}
		return
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", to, "./cmd/scalehist")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build ./cmd/scalehist: %v\n%s", err, out)
	}
}

// check is what one step of a session is held against.
type check struct {
	*step
	block *block
	line  int
	shown []string
	at    int    // where in the block's lines
	in    *block // the block the shown lines are in, if another one
	loose bool   // what it prints is not compared
}

// runPage runs the blocks of a page in one shell.
func runPage(t *testing.T, name, bin, repositories string, count *counted) {
	file := filepath.Join(root, name)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := blocks(string(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	checks, wheres, exempt := plan(all)
	for _, why := range exempt {
		count.add(false, why)
	}
	if len(checks) == 0 {
		return
	}
	env := environment(t, bin, filepath.Join(t.TempDir(), "home"), repositories)
	if slices.ContainsFunc(all, func(b block) bool { return b.cluster }) {
		env = append(env, "KUBECONFIG="+cluster(t))
	}
	steps := make([]*step, len(checks))
	for i, c := range checks {
		steps[i] = c.step
	}
	play(t, worktree(t, filepath.Join(repositories, "scalehist")), env, steps, wheres)

	lines := strings.Split(string(text), "\n")
	changed := false
	seen := map[*block]bool{}
	for _, c := range slices.Backward(checks) { // from the end, so that line numbers hold while lines are replaced
		if c.exempt {
			if !seen[c.block] {
				count.add(false, c.block.reason)
			}
			seen[c.block] = true
			continue
		}
		if !seen[c.block] && c.block.lang != "setup" {
			count.add(true, "")
		}
		seen[c.block] = true
		fresh := c.judge(t, name)
		if fresh == nil {
			continue
		}
		in := c.block
		if c.in != nil {
			in = c.in
		}
		for i := range fresh {
			if fresh[i] != "" {
				fresh[i] = in.indent + fresh[i]
			}
		}
		from := in.line - 1 + c.at
		lines = slices.Replace(lines, from, from+len(c.shown), fresh...)
		changed = true
	}
	if changed {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// judge holds a step against the page. With -update it returns the lines to show instead.
func (c *check) judge(t *testing.T, name string) []string {
	t.Helper()
	if !c.ran {
		t.Errorf("%s:%d: the shell ended in or before it: %s\n%s", name, c.line, c.text, indented(c.out))
		return nil
	}
	want := c.block.exits
	if len(want) == 0 {
		want = []int{0}
	}
	if !slices.Contains(want, c.code) {
		t.Errorf("%s:%d: exit code %d, want %v: %s\n%s", name, c.line, c.code, want, c.text, indented(c.out))
		return nil
	}
	if c.loose {
		return nil
	}
	err := shows(c.shown, c.out)
	if err == nil {
		return nil
	}
	if *update {
		if fresh, ok := updated(c.shown, c.out); ok {
			return fresh
		}
		t.Errorf("%s:%d: lines the page shows are not printed any more: choose again which to show: %s\n%s", name, c.line, c.text, indented(c.out))
		return nil
	}
	t.Errorf("%s:%d: %s\n%v(go test ./internal/docstest -update accepts what is printed now)", name, c.line, c.text, err)
	return nil
}

// plan turns blocks into steps: which are run, on which condition, what they are held against, and why others are not run.
func plan(all []block) (checks []*check, wheres map[int]string, exempt []string) {
	wheres = map[int]string{}
	add := func(b *block, c *check) {
		if b.where != "" {
			wheres[len(checks)] = b.where
		}
		c.block = b
		checks = append(checks, c)
	}
	for i := range all {
		b := &all[i]
		if b.notRun != "" {
			exempt = append(exempt, b.notRun)
			continue
		}
		if b.file != "" {
			add(b, &check{step: &step{text: heredocOf("cat >"+quoted(b.file), b.lines)}, line: b.line, loose: true})
		}
		switch {
		case b.printed != "":
			add(b, &check{step: &step{text: b.printed}, line: b.line, shown: b.lines})
		case b.lang == "setup" && len(b.lines) > 0:
			add(b, &check{step: &step{text: "set -e\n" + strings.Join(b.lines, "\n") + "\nset +e"}, line: b.line, loose: true})
		case b.lang == "sql":
			c := &check{step: &step{text: heredocOf(`sqlite3 -readonly -header -column "$HISTORY"`, b.lines)}, line: b.line}
			if b.textNext {
				c.in, c.shown = &all[i+1], all[i+1].lines
			}
			add(b, c)
		case b.lang == "console" || b.lang == "sh":
			cmds := b.commands()
			for n, cmd := range cmds {
				c := &check{step: &step{text: cmd.text}, line: cmd.line, shown: cmd.shown, at: cmd.at, loose: b.lang == "sh"}
				if n == len(cmds)-1 {
					c.until = b.until
				}
				add(b, c)
			}
		}
	}
	return checks, wheres, exempt
}
