package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
)

// runner runs attacks with one binary.
type runner struct {
	root      string // the module's root, absolute
	scalehist string // the binary, absolute
	within    limits
	refused   *atomic.Int64 // how many commands did not take what they were given
	peaks     *peaks        // what they took; nil: it is not of interest
	env       []string      // more of it for the commands, which get nothing of this process's own
}

// stage is where one command runs: folders of its own below base.
//
//	x/in/    its input              out/    what it makes
//	tmp/     its temporary files    home/   its user's
//
// Scenario files name histories and prices by paths that start at examples/scenarios: from x/in they lead to the same.
type stage struct{ base, in, out, tmp string }

func newStage(base, root string) (stage, error) {
	s := stage{base, filepath.Join(base, "x", "in"), filepath.Join(base, "out"), filepath.Join(base, "tmp")}
	for _, dir := range []string{s.in, s.out, s.tmp, filepath.Join(base, "home")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return s, err
		}
	}
	if err := os.Symlink(filepath.Join(root, "fixtures"), filepath.Join(base, "fixtures")); err != nil {
		return s, err
	}
	return s, os.Symlink(filepath.Join(root, "examples", "gate"), filepath.Join(base, "x", "gate"))
}

// env is the environment of a command.
func (s stage) env() []string {
	return []string{"HOME=" + filepath.Join(s.base, "home"), "TMPDIR=" + s.tmp, "SCALEHIST_CONTROL_PLANE=memory"}
}

// run attacks, in an empty folder, and gives what is wrong: nothing if all is as it should be. An error says that the attack itself failed.
func (r runner) run(ctx context.Context, a attack, dir string) ([]string, error) {
	return r.target(ctx, a.target, a.target.kind.name(), a.input, a.Delivery, dir)
}

func (r runner) target(ctx context.Context, t target, name string, input []byte, how delivery, dir string) ([]string, error) {
	s, err := newStage(dir, r.root)
	if err != nil {
		return nil, err
	}
	in := filepath.Join(s.in, name)
	if err := os.MkdirAll(filepath.Dir(in), 0o700); err != nil {
		return nil, err
	}
	if t.serves == "" {
		if err := os.WriteFile(in, input, 0o600); err != nil {
			return nil, err
		}
	}
	before, err := hashes(s.in)
	if err != nil {
		return nil, err
	}
	server := ""
	if t.asks != "" {
		serving, stop := context.WithCancel(ctx)
		defer stop()
		if server, err = (answerer{t.asks, input, how}).listen(serving); err != nil {
			return nil, err
		}
	}
	values := strings.NewReplacer("{server}", server, "{in}", in, "{dir}", s.in, "{out}", s.out, "{root}", r.root)
	args := strings.Fields(t.command)
	for _, arg := range strings.Fields(t.args) {
		args = append(args, values.Replace(arg))
	}
	p, err := start(ctx, r.within, s.out, append(s.env(), r.env...), r.scalehist, args...)
	if err != nil {
		return nil, err
	}
	defer func() { <-p.done }()
	var wrong []string
	if t.serves != "" {
		wrong = r.serve(ctx, t, p, input, how)
	}
	e, err := p.wait()
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if r.peaks != nil {
		r.peaks.add(t, e.peak)
	}
	wrong = append(wrong, r.judge(t, e, s, name, before)...)
	for i := range wrong {
		wrong[i] = "scalehist " + t.command + ": " + wrong[i]
	}
	if len(wrong) > 0 {
		wrong = append(wrong, "  "+tail(e.stderr.String()))
	}
	if e.code == 2 {
		r.refused.Add(1)
	}
	if len(wrong) > 0 || e.code != 0 {
		return wrong, nil
	}
	return r.follow(ctx, t, s, name, input)
}

// judge says what is wrong with a command that has ended.
func (r runner) judge(t target, e ending, s stage, name string, before map[string][32]byte) []string {
	var about []string
	if t.serves == "" {
		about = []string{strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))} // messages of a replay call a history so
		if dir := filepath.Dir(name); dir != "." {
			about = append(about, dir)
		}
	}
	if t.about != "" {
		about = append(about, t.about)
	}
	wrong := judgeEnding(e, r.within, t, about...)
	if e.late || e.code < 0 {
		return wrong // it could not tidy up
	}
	if t.answers && e.code == 2 {
		wrong = append(wrong, "refuses a history that doctor finds nothing wrong with")
	}
	after, err := hashes(s.in)
	switch {
	case err != nil:
		wrong = append(wrong, fmt.Sprintf("inputs: %v", err))
	case !t.changes || e.code != 0:
		wrong = append(wrong, judgeFolder(before, after)...)
	}
	if left, err := hashes(s.tmp); err != nil || len(left) > 0 {
		wrong = append(wrong, fmt.Sprintf("%d temporary files are left %v", len(left), err))
	}
	if t.makes == "" {
		return wrong
	}
	made, err := hashes(s.out)
	if _, there := made[t.makes]; err != nil || there != (e.code == 0) || len(made) > 1 {
		wrong = append(wrong, fmt.Sprintf("exit code %d, and of %s there is %d, of other files %d", e.code, t.makes, btoi(there), len(made)-btoi(there)))
	}
	return wrong
}

// follow gives what came of t, or its input where it makes nothing, to the targets after it.
func (r runner) follow(ctx context.Context, t target, s stage, name string, input []byte) ([]string, error) {
	for i, next := range t.then {
		if t.makes != "" {
			made, err := os.ReadFile(filepath.Join(s.out, t.makes))
			if err != nil {
				return nil, err
			}
			name, input = next.kind.name(), made
		}
		if wrong, err := r.target(ctx, next, name, input, "", filepath.Join(s.base, fmt.Sprintf("then-%d", i))); err != nil || len(wrong) > 0 {
			return wrong, err
		}
	}
	return nil, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// unprintable is what a hostile message could do to the terminal that a finding is shown on.
var unprintable = regexp.MustCompile(`[^[:print:]\n]+`)

// tail is the end of a message, in one printable line.
func tail(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 600 {
		text = text[:300] + " ... " + text[len(text)-300:]
	}
	return strings.ReplaceAll(unprintable.ReplaceAllString(text, "?"), "\n", "\n  ")
}
