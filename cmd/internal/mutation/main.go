package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/scalehist/scalehist/internal/exit"
)

// pageFile is where the table is kept, from the module's root.
const pageFile = "fixtures/conformance/mutations.md"

// parallel is how many mutations are judged at a time: each builds and runs a program that uses all cores for a second.
const parallel = 3

// errSurvived is the end of a run in which a mutation went unnoticed.
var errSurvived = errors.New("mutations survive: add a case or a test for each, or take the rule out")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := flag.String("root", ".", "the module's root `directory`")
	only := flag.String("run", "", "only mutations whose name matches this `expression`; the table is not written then")
	inner := flag.Bool("judge", false, "run the cases in this build and print their summary as JSON; what the program asks of its own mutated builds")
	flag.Parse()
	var err error
	if *inner {
		err = runCases(ctx, os.Stdout)
	} else {
		err = run(ctx, *root, *only, os.Stdout)
	}
	os.Exit(exit.Code(os.Stderr, "mutation", err, errSurvived)) //nolint:gocritic // stop only frees what the end frees
}

// run judges the mutations whose name matches, one line each as they end, and writes the table when that is all of them.
func run(ctx context.Context, root, only string, out io.Writer) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	all, err := load(list)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	base, crashed, err := summary(ctx, root, dir, "")
	switch {
	case err != nil:
		return fmt.Errorf("the tree as it is: %w", err)
	case crashed:
		return errors.New("the tree as it is: the run of the cases does not end well: see go test ./virtualca/conformance")
	}
	known := make([]string, 0, len(base.Disagreements))
	for _, d := range base.Disagreements {
		known = append(known, d.Name)
	}
	fmt.Fprintf(out, "without a mutation: %d of %d cases agree\n", base.Agreed, base.Cases)
	chosen := slices.DeleteFunc(all, func(m mutation) bool { return !match.MatchString(m.Name) })
	if len(chosen) == 0 {
		return fmt.Errorf("-run %s: no mutation has such a name", only)
	}
	verdicts := make([]verdict, len(chosen))
	var printing sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, m := range chosen {
		g.Go(func() error {
			v, err := judge(ctx, root, m, known)
			if err != nil {
				return err
			}
			verdicts[i] = v
			printing.Lock()
			defer printing.Unlock()
			_, err = fmt.Fprintf(out, "%-31s %3d cases  %s; %s\n", m.Name, len(v.cases), v.categories(), v.by())
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	survived := 0
	for _, v := range verdicts {
		if v.survived() {
			survived++
		}
	}
	if only == "" {
		if err := os.WriteFile(filepath.Join(root, pageFile), []byte(page(verdicts, base.Cases)), 0o644); err != nil {
			return fmt.Errorf("the table: %w", err)
		}
	}
	fmt.Fprintf(out, "%d mutations, %d survive\n", len(verdicts), survived)
	if survived > 0 {
		return fmt.Errorf("%d %w", survived, errSurvived)
	}
	return nil
}
