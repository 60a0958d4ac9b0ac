package realca

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/scalehist/scalehist/engines/program"
	"github.com/scalehist/scalehist/harness/kvcl/assets"
	"github.com/scalehist/scalehist/harness/truth"
	"github.com/scalehist/scalehist/internal/realprogram"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// Options say what runs a scenario, and how often.
type Options struct {
	// Binary is the path of the cluster-autoscaler.
	Binary string
	// Flags are added to the scenario's and win over them; Verbosity is that of the autoscaler's log.
	Flags     []string
	Verbosity int
	// Runs is how often it is run, Parallel how many run at once; both are 1 or more.
	Runs, Parallel int
	// Dir is where everything is written: HistoryName, TruthName, and run-N with the logs of a run.
	Dir string
	// Assets says where kube-apiserver and etcd come from.
	Assets assets.Options
	// Ran is given a line about each run that has ended, from several goroutines one after the other.
	Ran func(string)

	version string // of the binary
}

// Record runs a scenario some times and writes what came of it. Where runs failed, or the context ended, it writes what the others did, and
// returns an error.
func Record(ctx context.Context, s *Scenario, o Options) error {
	if o.Runs < 1 || o.Parallel < 1 {
		return fmt.Errorf("%d runs, %d at once: want 1 or more", o.Runs, o.Parallel)
	}
	var err error
	if o.version, err = realprogram.Version(ctx, o.Binary); err != nil {
		return err
	}
	// The autoscaler is given paths below it, and has a working directory of its own.
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return err
	}
	var one sync.Mutex
	ran := o.Ran
	o.Ran = func(line string) {
		one.Lock()
		defer one.Unlock()
		ran(line)
	}
	done, err := runAll(ctx, s, o)
	if len(done) == 0 {
		return err
	}
	return errors.Join(err, importFirst(ctx, s, o, done[0]), writeTruth(filepath.Join(o.Dir, TruthName), truthOf(s, o, done)))
}

// importFirst makes a history of the log of the first run.
func importFirst(ctx context.Context, s *Scenario, o Options, first *truth.Run) (err error) {
	f, err := os.Open(filepath.Join(o.Dir, fmt.Sprintf("run-%d", first.Run), logName))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	path := filepath.Join(o.Dir, HistoryName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// An interrupt ends the runs; what they did is still written.
	_, err = transfer.Import(context.WithoutCancel(ctx), f, path, transfer.ImportOptions{Name: s.Name})
	return err
}

// The files of a recorded truth: the first run, what all did, and the object log of each.
const (
	HistoryName = "recording.db"
	TruthName   = "truth.json"
	logName     = "recording.jsonl"
)

// runAll runs the scenario some times, in run-1, run-2, ... of the directory. Runs that failed are left out, and an error.
func runAll(ctx context.Context, s *Scenario, o Options) ([]*truth.Run, error) {
	results, errs := make([]*truth.Run, o.Runs), make([]error, o.Runs)
	slots := make(chan struct{}, o.Parallel)
	var wg sync.WaitGroup
	for i := range o.Runs {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() != nil {
				errs[i] = ctx.Err()
				return
			}
			before := loadAverage()
			r, err := runOnce(ctx, s, o, filepath.Join(o.Dir, fmt.Sprintf("run-%d", i+1)))
			if err != nil {
				errs[i] = fmt.Errorf("run %d: %w", i+1, err)
				return
			}
			r.Run = i + 1
			if r.Reasons, err = reasons(filepath.Join(o.Dir, fmt.Sprintf("run-%d", i+1), program.LogFile), r); err != nil {
				errs[i] = fmt.Errorf("run %d: %w", i+1, err)
				return
			}
			results[i] = r
			o.Ran(fmt.Sprintf("run %d: %s; load average %s before, %s after", i+1, summary(r), before, loadAverage()))
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

// reasons are those of a run's log. Nodes are named by their group and a number.
func reasons(log string, r *truth.Run) ([]truth.Reason, error) {
	list, err := program.Reasons(log, r.Start, func(node string) string { return node[:max(0, strings.LastIndexByte(node, '-'))] })
	var out []truth.Reason
	for _, x := range list {
		out = append(out, truth.Reason{At: math.Round(1000*x.At.Sub(r.Start).Seconds()) / 1000, Group: x.NodeGroup, Text: x.Text})
	}
	return out, err
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
