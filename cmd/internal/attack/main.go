package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scalehist/scalehist/internal/exit"
)

// errFound is the end of a run with findings.
var errFound = errors.New("see what is wrong above; add what was found to cmd/internal/attack/testdata/corpus, with the fix")

type options struct {
	root, scalehist, keep, only string
	seed                        uint64
	runs                        uint64
	during                      time.Duration
	procs                       int
	within                      limits
	verbose                     bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.StringVar(&o.root, "root", ".", "the module's root `directory`")
	flag.StringVar(&o.scalehist, "scalehist", "", "the `binary` to attack (default: built from the root)")
	flag.StringVar(&o.keep, "keep", "gen/attack", "`directory` for what findings were made with")
	flag.StringVar(&o.only, "only", "", "only targets that begin with this `text`, such as \"import\" (changes what a seed is)")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the first attack; those after it have the seeds after it")
	flag.Uint64Var(&o.runs, "runs", 0, "how many attacks; 0: as many as -for allows")
	flag.DurationVar(&o.during, "for", 10*time.Minute, "how long to go on")
	flag.IntVar(&o.procs, "procs", 1, "attacks at a time; changes nothing but the time it takes")
	flag.DurationVar(&o.within.deadline, "deadline", defaultLimits.deadline, "longest time for a command")
	flag.Int64Var(&o.within.memory, "memory", defaultLimits.memory, "most memory of a command, in bytes")
	flag.BoolVar(&o.verbose, "v", false, "say what every attack is")
	flag.Parse()
	err := run(ctx, o, os.Stdout)
	os.Exit(exit.Code(os.Stderr, "attack", err, errFound)) //nolint:gocritic // stop only frees what the end frees
}

// run attacks until the time or the number of attacks is used up, and says what it finds.
func run(ctx context.Context, o options, out io.Writer) error {
	dir, err := os.MkdirTemp("", "attack")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.root, err = filepath.Abs(o.root); err != nil {
		return err
	}
	if o.scalehist == "" {
		o.scalehist = filepath.Join(dir, "scalehist")
		if err := build(ctx, o.root, o.scalehist); err != nil {
			return err
		}
	}
	if o.scalehist, err = filepath.Abs(o.scalehist); err != nil {
		return err
	}
	tree, err := commands(ctx, o.scalehist, dir)
	if err == nil {
		err = uncovered(tree)
	}
	if err != nil {
		return err
	}
	from, err := load(ctx, o.root, o.scalehist)
	if err != nil {
		return fmt.Errorf("sources: %w", err)
	}
	fixtures, err := hashes(filepath.Join(o.root, "fixtures"))
	if err != nil {
		return err
	}
	r := runner{root: o.root, scalehist: o.scalehist, within: o.within, refused: &atomic.Int64{}, peaks: &peaks{}}
	n, found, err := attacks(ctx, o, r, from, dir, out)
	if err != nil {
		return err
	}
	after, err := hashes(filepath.Join(o.root, "fixtures"))
	if err != nil {
		return err
	}
	for _, wrong := range judgeFolder(fixtures, after) {
		found++
		fmt.Fprintln(out, "fixtures:", wrong)
	}
	r.peaks.print(out, o.within.memory)
	fmt.Fprintf(out, "%d attacks, seeds %d to %d: %d inputs refused, %d findings\n", n, o.seed, o.seed+max(n, 1)-1, r.refused.Load(), found)
	if found > 0 {
		return fmt.Errorf("%d findings: %w", found, errFound)
	}
	return nil
}

// build makes the binary as a release has it: with the packages of the control plane's binaries, which are compiled alike.
func build(ctx context.Context, root, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", to, "./cmd/scalehist")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/scalehist: %w\n%s", err, out)
	}
	return nil
}

// attacks runs one attack after the other, and as many at a time as it may.
func attacks(ctx context.Context, o options, r runner, from sources, dir string, out io.Writer) (n, found uint64, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, o.procs))
	var printing sync.Mutex
	for begun := time.Now(); (o.runs == 0 || n < o.runs) && (o.runs > 0 || time.Since(begun) < o.during) && ctx.Err() == nil; n++ {
		seed := o.seed + n
		g.Go(func() error {
			a := plan(seed, from, o.only)
			base := filepath.Join(dir, fmt.Sprint("seed-", seed))
			defer os.RemoveAll(base)
			wrong, err := r.run(ctx, a, base)
			if err != nil {
				return fmt.Errorf("seed %d: %s: %w", seed, a.Command, err)
			}
			printing.Lock()
			defer printing.Unlock()
			if o.verbose || len(wrong) > 0 {
				fmt.Fprintf(out, "seed %d: %s\n  %s: %s\n", seed, a.Command, a.Source, strings.Join(a.Mutations, ", "))
			}
			if len(wrong) == 0 {
				return nil
			}
			found++
			kept, err := keep(o.keep, a, wrong)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "  %s\n  input: %s; again: go run ./cmd/internal/attack -seed %d -runs 1%s\n", strings.Join(wrong, "\n  "), kept, seed, only(o.only))
			return nil
		})
	}
	err = g.Wait()
	return n, found, err
}

func only(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf(" -only %q", text)
}
