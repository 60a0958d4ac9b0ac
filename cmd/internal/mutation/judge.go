package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist/fixtures/conformance"
	conform "github.com/scalehist/scalehist/virtualca/conformance"
)

const (
	// judgeLimit bounds a run of the cases, testLimit one of the unit tests: a broken rule may never come to an end.
	judgeLimit, testLimit = 3 * time.Minute, 15 * time.Minute
	// self is this program, tests the packages whose tests judge what no case reaches.
	self, tests = "./cmd/internal/mutation", "./virtualca ./virtualca/config ./virtualca/estimator ./virtualca/expander ./virtualca/listing ./virtualca/quota ./simulator/backoff ./simulator/drain ./simulator/fit ./simulator/cloudprovider"
)

// verdict is what noticed a mutation.
type verdict struct {
	mutation
	// cases disagree that agree without it, in the corpus's order. all is the size of the corpus.
	cases []conform.Disagreement
	all   int
	// crashed: the run of the cases did not end, or ended in a panic.
	crashed bool
	// tests failed; asked for only where no case disagrees.
	tests []string
}

func (v verdict) survived() bool { return len(v.cases) == 0 && !v.crashed && len(v.tests) == 0 }

// runCases runs all cases in this process, for the process that built it, and writes their summary as JSON.
func runCases(ctx context.Context, out io.Writer) error {
	cases, err := conform.ReadNamed(conformance.Open(), conformance.Name)
	if err != nil {
		return fmt.Errorf("run the cases: %w", err)
	}
	results, err := conform.RunAll(ctx, cases)
	if err != nil {
		return err
	}
	s, err := conform.Summarize(cases, results)
	if err != nil {
		return fmt.Errorf("sum the cases up: %w", err)
	}
	return json.NewEncoder(out).Encode(s)
}

// summary builds this program, with an overlay file if there is one, and runs the cases in it. crashed separates a run that
// failed from a program that could not be built, which is an error.
func summary(ctx context.Context, root, dir, overlay string) (s conform.Summary, crashed bool, err error) {
	program := filepath.Join(dir, "judge")
	args := []string{"build", "-ldflags=-s -w", "-o", program} // without symbols it links twice as fast
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	build := exec.CommandContext(ctx, "go", append(args, self)...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return s, false, fmt.Errorf("go build: %w\n%s", err, out)
	}
	limited, cancel := context.WithTimeout(ctx, judgeLimit)
	defer cancel()
	out, err := exec.CommandContext(limited, program, "-judge").Output()
	if ctx.Err() != nil {
		return s, false, ctx.Err()
	}
	if err != nil {
		return s, true, nil
	}
	if err := json.Unmarshal(out, &s); err != nil {
		return s, false, fmt.Errorf("the summary of the cases: %w", err)
	}
	return s, false, nil
}

// judge finds what notices a mutation: the cases, and where none does the unit tests. known are the names of cases that
// disagree without it.
func judge(ctx context.Context, root string, m mutation, known []string) (verdict, error) {
	v := verdict{mutation: m}
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return v, fmt.Errorf("mutation %s: %w", m.Name, err)
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(root, dir)
	if err != nil {
		return v, err
	}
	s, crashed, err := summary(ctx, root, dir, overlay)
	if err != nil {
		return v, fmt.Errorf("mutation %s: %w", m.Name, err)
	}
	v.all, v.crashed = s.Cases, crashed
	for _, d := range s.Disagreements {
		if !slices.Contains(known, d.Name) {
			v.cases = append(v.cases, d)
		}
	}
	if len(v.cases) > 0 || crashed {
		return v, nil
	}
	v.tests, err = failingTests(ctx, root, overlay)
	if err != nil {
		return v, fmt.Errorf("mutation %s: %w", m.Name, err)
	}
	return v, nil
}

// failingTests names the tests that fail with an overlay file, sorted.
func failingTests(ctx context.Context, root, overlay string) ([]string, error) {
	args := append([]string{"test", "-overlay", overlay, "-count=1", "-timeout=" + testLimit.String()}, strings.Fields(tests)...)
	run := exec.CommandContext(ctx, "go", args...)
	run.Dir = root
	out, err := run.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !errors.As(err, &exit) || bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
		return nil, fmt.Errorf("go test: %w\n%s", err, out)
	}
	var failed []string
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(line, "--- FAIL: "); ok {
			name, _, _ = strings.Cut(name, " ")
			failed = append(failed, name)
		}
	}
	if len(failed) == 0 {
		failed = []string{"a panic or a timeout"}
	}
	slices.Sort(failed)
	return slices.Compact(failed), nil
}
