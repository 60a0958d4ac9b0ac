package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/scalehist/scalehist/harness/truth"
	"github.com/scalehist/scalehist/internal/realprogram"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// What the scheduler and the control plane's launcher say is of no use here: what they did is in the log of the run.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if err := run(watchGoRun(ctx), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "realca:", err)
		stop()
		os.Exit(2) //nolint:gocritic // stop has run
	}
}

// list is a flag that may come several times.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(v string) error {
	*l = append(*l, v)
	return nil
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("realca", flag.ContinueOnError)
	recording := fs.String("recording", "", "play the causes of this history (.db) or object log (.jsonl, .gz); a truth file beside it is used")
	seed := fs.Int64("generate", -1, "play a scenario made from this seed")
	script := fs.String("script", "", "play one of the scripted scenarios: "+strings.Join(scriptNames(), ", "))
	runs := fs.Int("runs", 3, "how often")
	parallel := fs.Int("parallel", 2, "how many runs at once")
	length := fs.Duration("for", 0, "end each run this long after the workload began; 0 is as long as the scenario says")
	out := fs.String("out", "", "directory to write")
	describe := fs.Bool("describe", false, "say what the scenario is, and run nothing")
	verbosity := fs.Int("v", 4, "verbosity of the autoscaler's log")
	var flags list
	fs.Var(&flags, "flag", "flag of the autoscaler, over those of the scenario; may come several times")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *describe {
		s, err := scenarioOf(ctx, *recording, *seed, *script)
		if err == nil {
			fmt.Printf("%s: %s; %d changes in %s\n", s.Name, s.What, len(s.Changes), s.Duration)
		}
		return err
	}
	if *out == "" || *runs < 1 || *parallel < 1 || fs.NArg() > 0 {
		return errors.New("give -out DIR, and -recording FILE, -generate SEED or -script NAME; -runs and -parallel are at least 1")
	}
	s, err := scenarioOf(ctx, *recording, *seed, *script)
	if err != nil {
		return err
	}
	if *length > 0 {
		s.Duration = *length
		s.Changes = slices.DeleteFunc(s.Changes, func(c Change) bool { return c.After > *length })
	}
	binary, err := realprogram.Find(ctx, ".")
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(*out)
	if err != nil {
		return err
	}
	o := runOptions{binary: binary, flags: flags, verbosity: *verbosity, dir: dir}
	done, err := runAll(ctx, s, o, *runs, *parallel)
	if len(done) == 0 {
		return err
	}
	// The log of the first run is the recording.
	first := filepath.Join(dir, fmt.Sprintf("run-%d", done[0].Run), "recording.jsonl")
	data, readErr := os.ReadFile(first)
	if readErr == nil {
		readErr = os.WriteFile(filepath.Join(dir, "recording.jsonl"), data, 0o644)
	}
	return errors.Join(err, readErr, writeTruth(filepath.Join(dir, "truth.json"), truthOf(s, o, done)))
}

func scenarioOf(ctx context.Context, recording string, seed int64, script string) (*Scenario, error) {
	switch {
	case recording != "":
		return fromRecording(ctx, recording)
	case seed >= 0:
		return generate(seed), nil
	case script != "":
		return scripted(script)
	}
	return nil, errors.New("no scenario: give -recording FILE, -generate SEED or -script NAME")
}

// runAll runs the scenario some times, in run-1, run-2, ... of the directory. Runs that failed are left out, and an error.
func runAll(ctx context.Context, s *Scenario, o runOptions, runs, parallel int) ([]*truth.Run, error) {
	results, errs := make([]*truth.Run, runs), make([]error, runs)
	slots := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() != nil {
				errs[i] = ctx.Err()
				return
			}
			mine := o
			mine.dir = filepath.Join(o.dir, fmt.Sprintf("run-%d", i+1))
			before := loadAverage()
			r, err := runOnce(ctx, s, mine)
			if err != nil {
				errs[i] = fmt.Errorf("%s, run %d: %w", s.Name, i+1, err)
				fmt.Fprintln(os.Stderr, "realca:", errs[i])
				return
			}
			r.Run = i + 1
			results[i] = r
			fmt.Printf("%s run %d: %s; load %s before, %s after\n", s.Name, i+1, summary(r), before, loadAverage())
		})
	}
	wg.Wait()
	var done []*truth.Run
	for _, r := range results {
		if r != nil {
			done = append(done, r)
		}
	}
	return done, errors.Join(errs...)
}

// summary shows each step of a run.
func summary(r *truth.Run) string {
	var out []string
	for _, s := range steps(r) {
		for g, sizes := range s.Sizes {
			out = append(out, fmt.Sprintf("+%.1fs %s %d->%d", s.At-r.WorkloadStartSeconds, g, sizes[0], sizes[1]))
		}
	}
	return fmt.Sprintf("%s; %d unschedulable", strings.Join(out, ", "), len(r.UnschedulableAtEnd))
}

func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(b), " ")
	return one
}

// watchGoRun ends the context when a `go run` that started this process is gone: killed, it would leave us behind.
func watchGoRun(ctx context.Context) context.Context {
	parent := os.Getppid()
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", parent))
	if err != nil || strings.TrimSpace(string(comm)) != "go" {
		return ctx
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for os.Getppid() == parent {
			time.Sleep(time.Second)
		}
		cancel(errors.New("the go command that ran this program is gone"))
	}()
	return ctx
}
