package replays

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/backtest/contest"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/env"
	"github.com/scalehist/scalehist/recommender/vertical/learn"
)

type trainFlags struct {
	from, to      console.TimeFlag
	output        string
	curve, plot   string
	reward        string
	horizon       time.Duration
	trees, rounds int
	seeds         int
	seed          int64
	cpu, memory   float64
}

// trained are the recommenders that can be trained.
var trained = []string{"boosted", "policy"}

func newTrainCommand(s console.IO) *cobra.Command {
	f := &trainFlags{}
	cmd := &cobra.Command{
		Use:   "train NAME [FILE.db]... -o MODEL.json",
		Short: "Train a vertical recommender on the usage of histories, or on generated load",
		Long: `train makes a model for a recommender that learns, which 'scalehist backtest --vertical NAME:model=MODEL.json' then tries:

  boosted  trees that predict the highest usage of the next hours; the last quarter of the usage is held back to say when more trees
           make it worse
  policy   numbers of a small policy, found by trial in the environments of 'scalehist env' for a reward

Without histories it trains on generated load, as the models were that are built in. The same flags and histories make the same file.`,
		Example: `  # Trees of what your own cluster did
  scalehist train boosted prod.db -o prod.json --curve curve.csv --plot curve.svg
  scalehist backtest prod-later.db --vertical vpa --vertical boosted:model=prod.json

  # A policy to which an OOM is worse
  scalehist train policy prod.db -o careful.json --reward weighted:oom=100`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.UsageErrorf(cmd, "train: missing argument NAME: choose %s", plural.Or(trained))
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return trained, cobra.ShellCompDirectiveNoFileComp
			}
			return console.CompleteHistories(cmd, nil, toComplete)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, s, args[0], args[1:]) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "the file to make (.json)")
	flags.StringVar(&f.curve, "curve", "", "write the learning curve into this file (.csv)")
	flags.StringVar(&f.plot, "plot", "", "draw the learning curve into this file (.svg)")
	flags.Int64Var(&f.seed, "seed", 1, "seed of what is random")
	flags.Var(&f.from, "from", "begin here (default: the start of each recording)")
	flags.Var(&f.to, "to", "end here (default: the end of each recording)")
	flags.IntVar(&f.seeds, "loads", 6, "without histories: how many weeks of each generated load")
	flags.DurationVar(&f.horizon, "horizon", learn.DefaultBoosted.Horizon, "boosted: how far is predicted")
	flags.IntVar(&f.trees, "trees", learn.DefaultBoosted.Trees, "boosted: trees of each resource at most")
	flags.Float64Var(&f.cpu, "cpu-quantile", learn.DefaultBoosted.CPU, "boosted: the quantile of CPU that is predicted")
	flags.Float64Var(&f.memory, "memory-quantile", learn.DefaultBoosted.Memory, "boosted: the quantile of memory that is predicted")
	flags.StringVar(&f.reward, "reward", learn.DefaultPolicy.Reward, "policy: the reward of 'scalehist env' to learn for")
	flags.IntVar(&f.rounds, "rounds", learn.DefaultPolicy.Rounds, "policy: rounds of trials")
	return cmd
}

// onlyOf are the flags that only one of the recommenders has.
var onlyOf = map[string][]string{"boosted": {"horizon", "trees", "cpu-quantile", "memory-quantile"}, "policy": {"reward", "rounds"}}

func (f *trainFlags) check(cmd *cobra.Command, name string) error {
	if !slices.Contains(trained, name) {
		return console.UsageErrorf(cmd, "train: %q cannot be trained: choose %s", name, plural.Or(trained))
	}
	for _, other := range trained {
		for _, flag := range onlyOf[other] {
			if other != name && cmd.Flags().Changed(flag) {
				return console.UsageErrorf(cmd, "train: --%s is of %s", flag, other)
			}
		}
	}
	for _, file := range []struct{ flag, path, ending string }{{"output", f.output, ".json"}, {"curve", f.curve, ".csv"}, {"plot", f.plot, ".svg"}} {
		if file.path == "" && file.flag == "output" {
			return console.UsageErrorf(cmd, "train: no file to make: give -o MODEL.json")
		}
		if file.path != "" && !strings.EqualFold(filepath.Ext(file.path), file.ending) {
			return console.UsageErrorf(cmd, "train: --%s %s: give the file the ending %s", file.flag, file.path, file.ending)
		}
	}
	if f.seed < 0 || f.seeds < 1 || f.seeds > 100 {
		return console.UsageErrorf(cmd, "train: --seed must not be negative, and --loads be 1 to 100")
	}
	if _, err := env.ParseReward(f.reward); err != nil {
		return console.UsageErrorf(cmd, "train: --reward: %w", err)
	}
	return nil
}

func (f *trainFlags) run(cmd *cobra.Command, s console.IO, name string, paths []string) error {
	if err := f.check(cmd, name); err != nil {
		return err
	}
	workloads, err := f.workloads(cmd, paths)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	model, curve, err := f.train(cmd, s, name, workloads)
	if err != nil {
		return fmt.Errorf("train %s: %w", name, err)
	}
	var csv bytes.Buffer
	if err := curve.CSV(&csv); err != nil {
		return err
	}
	data, err := json.Marshal(model)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		path string
		data []byte
	}{{f.curve, csv.Bytes()}, {f.plot, []byte(curve.SVG([]int{1, 2}, []int{3, 4}))}, {f.output, append(data, '\n')}} {
		if file.path == "" {
			continue
		}
		if err := os.WriteFile(file.path, file.data, 0o644); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	first, last := curve.Rows[0], curve.Rows[len(curve.Rows)-1]
	t := console.Table{Columns: []console.Column{{Name: "number"}, {Name: "first"}, {Name: "last"}}}
	for i, column := range curve.Columns {
		t.Rows = append(t.Rows, []string{column, fmt.Sprintf("%.4g", first[i]), fmt.Sprintf("%.4g", last[i])})
	}
	s.PrintTable(t, console.FormatTable)
	s.Errf("%s: a model of %s, trained on %s\n", f.output, name, plural.Of(len(workloads), "workload"))
	return nil
}

// workloads are those of histories, or generated.
func (f *trainFlags) workloads(cmd *cobra.Command, paths []string) ([]env.Workload, error) {
	if len(paths) == 0 {
		return contest.Training(f.seeds, 7*24*time.Hour)
	}
	var out []env.Workload
	for _, path := range paths {
		more, err := environments(cmd.Context(), path, &f.from, &f.to, vertical.PastStep)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, more...)
	}
	return out, nil
}

// train gives the model and its curve.
func (f *trainFlags) train(cmd *cobra.Command, s console.IO, name string, workloads []env.Workload) (any, *learn.Curve, error) {
	if name == "policy" {
		o := learn.DefaultPolicy
		o.Seed, o.Reward, o.Rounds = uint64(f.seed), f.reward, f.rounds
		progress := s.NewProgress("trying policies", int64(o.Rounds*o.Population+1))
		defer progress.Done()
		o.Progress = func(done, _ int) { progress.Set(int64(done), "") }
		m, curve, err := learn.Policy(cmd.Context(), workloads, o)
		return m, curve, err
	}
	progress := s.NewProgress("training", 1)
	defer progress.Done()
	o := learn.BoostedOptions{Seed: uint64(f.seed), Trees: f.trees, Horizon: f.horizon, CPU: f.cpu, Memory: f.memory}
	m, curve, err := learn.Boosted(cmd.Context(), workloads, o)
	return m, curve, err
}
