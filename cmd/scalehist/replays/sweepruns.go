package replays

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/report/sweep"
)

// maxPoints bounds a grid: more is a slip of the hand rather than a question.
const maxPoints = 10_000

// GridFlags say what compare and sweep replay: a recording on engines, with combinations of autoscaler flags and of fields of objects. All else is
// the same for each replay, as 'scalehist replay' takes it.
type GridFlags struct {
	engines []string
	sets    []string
	varies  []string
	Jobs    int
	from    scenarioFlags
	Replay  ReplayFlags
}

// gridFlagNames are the flags add adds: what goes with a recording and not with reports.
var gridFlagNames = append([]string{"scenario", "fixtures", "engine", "set", "vary", "jobs", "control-plane"}, settingsFlagNames()...)

func (f *GridFlags) add(cmd *cobra.Command) {
	f.from.add(cmd)
	r := &f.Replay
	r.noEngine, r.noPlayback, r.NoSnapshot = true, true, true
	flags := cmd.Flags()
	flags.StringArrayVar(&f.engines, "engine", nil, "an engine to replay with (repeatable): "+strings.Join(engines.Names(), ", ")+", or the URL of a recommender (default "+engines.Names()[0]+")")
	flags.StringArrayVar(&f.sets, "set", nil, `values of an autoscaler flag to try (repeatable; all combinations are replayed): expander=least-waste,most-pods; quote a value with a comma: 'expander=price,"priority,least-waste"'`)
	flags.StringArrayVar(&f.varies, "vary", nil, "values of a field of an object of --objects to try (repeatable; all combinations are replayed): HorizontalPodAutoscaler/web:spec.metrics[0].resource.target.averageUtilization=50,60,70")
	flags.IntVar(&f.Jobs, "jobs", 0, "replays at once; changes no result (default: the processors, half of them with --control-plane "+harness.EnvTest+")")
	r.SettingsFlags.Add(cmd)
	addControlPlaneFlag(cmd, &r.Plane)
	if err := cmd.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions(engines.Names(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("completion of --engine: %v", err)) // only a second registration of the same flag fails
	}
}

// points are the grid. An engine is replayed with those parameters it takes; one that no engine takes is an error.
func (f *GridFlags) points(cmd *cobra.Command) ([]sweep.Point, error) {
	params, err := sweep.ParseParameters(f.sets)
	if err != nil {
		return nil, console.UsageErrorf(cmd, "--set %v", err)
	}
	fields, err := f.fields(cmd)
	if err != nil {
		return nil, err
	}
	names := f.engines
	if len(names) == 0 {
		names = engines.Names()[:1]
	}
	taken := map[string]bool{}
	refused := map[string]error{}
	var out []sweep.Point
	for i, engine := range names {
		if slices.Contains(names[:i], engine) {
			return nil, console.UsageErrorf(cmd, "--engine %s is there twice", engine)
		}
		if _, err := engines.Named(engine); err != nil {
			return nil, console.UsageErrorf(cmd, "--engine: %v", err)
		}
		var own []sweep.Parameter
		for _, p := range params {
			switch n, err := accepted(engine, p); {
			case err == nil:
				own, taken[p.Name] = append(own, p), true
			case n > 0: // it knows the flag, and not this value
				return nil, console.UsageErrorf(cmd, "--set: %v", err)
			case refused[p.Name] == nil:
				refused[p.Name] = err
			}
		}
		own = append(own, fields...)
		if sweep.Size(own, maxPoints)+len(out) > maxPoints {
			return nil, console.UsageErrorf(cmd, "--set: the grid has more than %d replays; try fewer values", maxPoints)
		}
		out = append(out, sweep.Points(engine, own)...)
	}
	for _, p := range params {
		if !taken[p.Name] {
			return nil, console.UsageErrorf(cmd, "--set: %v", refused[p.Name])
		}
	}
	return out, nil
}

// fields are the fields of objects that are tried.
func (f *GridFlags) fields(cmd *cobra.Command) ([]sweep.Parameter, error) {
	out, err := sweep.ParseFields(f.varies)
	if err != nil {
		return nil, console.UsageErrorf(cmd, "--vary %v", err)
	}
	for _, p := range out {
		if _, err := engines.ParseObjectField(p.Name); err != nil {
			return nil, console.UsageErrorf(cmd, "--vary %v", err)
		}
	}
	if len(out) > 0 && f.Replay.Objects == "" {
		return nil, console.UsageErrorf(cmd, "--vary %s: there are no objects to change: give them with --objects", out[0].Name)
	}
	return out, nil
}

// accepted counts the values of a parameter that an engine takes, with the error of the first it does not.
func accepted(engine string, p sweep.Parameter) (n int, first error) {
	for _, v := range p.Values {
		err := engines.CheckFlags(engine, []string{"--" + p.Name + "=" + v})
		if err == nil {
			n++
		} else if first == nil {
			first = err
		}
	}
	return n, first
}

// run replays the points, as many at once as --jobs says, and calls done for each, one at a time, in any order.
// It ends early when the context does, and then says so.
func (f *GridFlags) run(cmd *cobra.Command, s console.IO, path string, points []sweep.Point, done func(i int, r *scalehist.ReplayReport, err error)) error {
	if f.Jobs < 0 {
		return console.UsageErrorf(cmd, "--jobs must not be negative")
	}
	prepared := make([][]harness.Option, len(points))
	for i, p := range points { // what is wrong with the flags is said before anything is played
		var err error
		if prepared[i], err = f.pointOptions(cmd, s, path, p); err != nil {
			return err
		}
	}
	ctx := cmd.Context()
	progress := s.NewProgress("replaying", int64(len(points)))
	defer progress.Done()
	var mu sync.Mutex
	finished := int64(0)
	group := errgroup.Group{}
	group.SetLimit(f.JobCount())
	for i, p := range points {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil // not run
			}
			one := f.Replay
			r, err := one.play(ctx, path, nil, prepared[i])
			if err == nil && one.Optimal {
				err = one.judge(ctx, cmd, r)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil && ctx.Err() != nil {
				return nil // stopped in the middle of it: as if not run
			}
			done(i, r, err)
			finished++
			progress.Set(finished, "replayed "+p.Label())
			return nil
		})
	}
	return errors.Join(group.Wait(), ctx.Err())
}

// JobCount is how many replays run at once.
func (f *GridFlags) JobCount() int {
	switch n := runtime.GOMAXPROCS(0); {
	case f.Jobs > 0:
		return f.Jobs
	case f.Replay.Plane == harness.EnvTest:
		return max(1, n/2)
	default:
		return n
	}
}

func (f *GridFlags) pointOptions(cmd *cobra.Command, s console.IO, path string, p sweep.Point) ([]harness.Option, error) {
	one := f.Replay
	one.Autoscaler = p.Engine
	var shared []string
	for _, flag := range one.Flags { // those that this engine takes; points has checked that one does
		if engines.CheckFlags(p.Engine, []string{flag}) == nil {
			shared = append(shared, flag)
		}
	}
	one.Flags = append(shared, p.Flags()...)
	for _, set := range p.Fields() {
		field, err := engines.ParseObjectField(set.Name)
		if err != nil {
			return nil, console.UsageErrorf(cmd, "--vary %v", err)
		}
		one.vary = append(one.vary, engines.FieldValue{Field: field, Value: set.Value})
	}
	return one.options(cmd, s, path)
}

// checkShared refuses an --autoscaler-flag that no engine takes.
func (f *GridFlags) checkShared(cmd *cobra.Command, points []sweep.Point) error {
	for _, flag := range f.Replay.Flags {
		var first error
		if !slices.ContainsFunc(points, func(p sweep.Point) bool {
			err := engines.CheckFlags(p.Engine, []string{flag})
			if first == nil {
				first = err
			}
			return err == nil
		}) {
			return console.UsageErrorf(cmd, "--autoscaler-flag: %v", first)
		}
	}
	return nil
}

// replayAll replays every point and wants a report of each.
func (f *GridFlags) replayAll(cmd *cobra.Command, s console.IO, path string, points []sweep.Point) ([]*scalehist.ReplayReport, error) {
	out := make([]*scalehist.ReplayReport, len(points))
	failed := make([]error, len(points))
	err := f.run(cmd, s, path, points, func(i int, r *scalehist.ReplayReport, err error) {
		if out[i] = r; err != nil {
			failed[i] = fmt.Errorf("%s: %w", points[i].Label(), err)
		}
	})
	if err != nil {
		return nil, err
	}
	return out, errors.Join(failed...)
}
