package replays

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/truth"
	"github.com/scalehist/scalehist/internal/plural"
	reports "github.com/scalehist/scalehist/report"
)

// seedsResult is what replays of one recording with several seeds say together.
type seedsResult struct {
	Scenario string `json:"scenario"`
	// Against is what each replay was judged by: "truth", or "recording".
	Against string  `json:"against"`
	Seeds   int     `json:"seeds"`
	Agreed  int     `json:"agreed"`
	Share   float64 `json:"share"`
	// Real runs are those of the truth, RealAlike how many of them ended as another did: the most that can be expected of seeds.
	RealRuns  int `json:"realRuns,omitempty"`
	RealAlike int `json:"realAlike,omitempty"`
	// Runs are in the order of their seeds.
	Runs []seedRun `json:"runs"`
}

// seedRun is the replay of one seed.
type seedRun struct {
	Seed    int64             `json:"seed"`
	Agreed  bool              `json:"agreed"`
	Outcome scalehist.Outcome `json:"outcome"`
	// Differs is in what it does not agree, empty where it does.
	Differs string `json:"differs,omitempty"`
}

func addSeedsFlags(cmd *cobra.Command, f *ReplayFlags) {
	cmd.Flags().IntVar(&f.seeds, "seeds", 1, "replay with this many seeds, from --seed on, and print the share that agrees instead of a report")
	cmd.Flags().Float64Var(&f.least, "min-agreement", 0.8, "with --seeds, the least share of seeds that must agree, 0 to 1")
}

// checkSeeds refuses what is of one replay.
func (f *ReplayFlags) checkSeeds(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	switch {
	case f.seeds < 1:
		return console.UsageErrorf(cmd, "--seeds %d: want 1 or more", f.seeds)
	case !(f.least >= 0 && f.least <= 1):
		return console.UsageErrorf(cmd, "--min-agreement %v: want 0 to 1", f.least)
	case f.seeds == 1 && given("min-agreement"):
		return console.UsageErrorf(cmd, "--min-agreement is a share of seeds: give --seeds too")
	case f.seeds == 1:
		return nil
	case scalehist.Playback(f.Playback).SingleMoments():
		return console.UsageErrorf(cmd, "--seeds: a %s playback has no outcome; replay continuously", f.Playback)
	}
	for _, name := range []string{"report-dir", "log-dir", "optimal", "full-snapshots", "event-reports"} {
		if given(name) {
			return console.UsageErrorf(cmd, "--%s is of one replay, and --seeds plays several: choose one of them with --seed", name)
		}
	}
	return nil
}

// playSeeds replays with one seed after the other and prints the share that agrees.
func (f *ReplayFlags) playSeeds(ctx context.Context, s console.IO, path string, seen *truth.File, asked []scalehist.Question, opts []harness.Option) error {
	out := seedsResult{Against: "recording", Seeds: f.seeds}
	if seen != nil {
		out.Against = "truth"
		out.RealRuns, out.RealAlike = len(seen.Runs), seen.Alike()
	}
	progress := s.NewProgress("replaying", int64(f.seeds))
	defer progress.Done()
	for i := range f.seeds {
		seed := f.Seed + int64(i)
		r, err := f.play(ctx, path, seen, append(slices.Clone(opts), harness.WithSeed(seed)))
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		run := seedRun{Seed: seed, Outcome: truth.OutcomeOf(r)}
		out.Scenario = r.Scenario
		switch {
		case seen != nil:
			v, err := seen.Compare(r)
			if err != nil {
				return fmt.Errorf("--truth %s: %w", f.truth, err)
			}
			run.Agreed, run.Differs = v.Agreed, truthDiffers(v)
		case r.Agreement == nil:
			return fmt.Errorf("--seeds: %s shows no autoscaler at work, so there is nothing to agree with: judge the replays by what it was seen to do, with --truth", path)
		default:
			r.Agreement.Ask(asked...)
			if run.Agreed = r.Agreement.Agreed; !run.Agreed {
				run.Differs = strings.TrimPrefix(reports.VerdictLine(r), "differs in ")
			}
		}
		if run.Agreed {
			out.Agreed++
		}
		out.Runs = append(out.Runs, run)
		progress.Set(int64(i+1), fmt.Sprintf("seed %d", seed))
	}
	progress.Done()
	out.Share = float64(out.Agreed) / float64(out.Seeds)
	if f.format == console.FormatJSON {
		if err := s.PrintJSON(out); err != nil {
			return err
		}
	} else {
		printSeeds(s, out, f.format)
	}
	if out.Share < f.least {
		return console.Differed()
	}
	return nil
}

func printSeeds(s console.IO, out seedsResult, format console.Format) {
	t := console.Table{Columns: []console.Column{{Name: "Seed", Right: true}, {Name: "Verdict"}, {Name: "Outcome"}, {Name: "Differs in"}}}
	for _, r := range out.Runs {
		verdict := "agrees"
		if !r.Agreed {
			verdict = "differs"
		}
		t.Rows = append(t.Rows, []string{strconv.FormatInt(r.Seed, 10), verdict, reports.OutcomeText(r.Outcome), r.Differs})
	}
	s.PrintTable(t, format)
	s.Printf("\n%s: %d of %s agree with the %s (%.0f %%)\n", out.Scenario, out.Agreed, plural.Of(out.Seeds, "seed"), out.Against, 100*out.Share)
	if out.RealRuns > 1 {
		s.Printf("of the real runs %d of %d ended as another did\n", out.RealAlike, out.RealRuns)
	}
}

// truthDiffers is in what a replay parts from a truth.
func truthDiffers(v *scalehist.TruthVerdict) string {
	var parts []string
	if v.Outcome == 0 && v.Nearest != nil {
		parts = append(parts, "outcome: nearest "+reports.OutcomeText(v.Nearest.Outcome))
	}
	if d := v.FirstDifference; d != nil {
		parts = append(parts, fmt.Sprintf("step %d of %d (%s)", d.Number, v.FirstSteps, d.Kind))
	}
	return strings.Join(parts, "; ")
}
