package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/moment"
)

const (
	// firstLoopWithin bounds the time from the start of a program to its first loop, on the wall clock.
	firstLoopWithin = 2 * time.Minute
	// hungAfter is how much longer than three scan intervals a program may go without a loop, on the wall clock. A loop of a large cluster
	// takes seconds, and a busy machine makes it ten times as long.
	hungAfter = time.Minute
)

// freeRun plays a replay with the wall clock, for an engine that nobody steps. Everything happens on the goroutine of play: what the
// program asks for waits for its turn there.
type freeRun struct {
	r      *run
	runner FreeRunner
	clock  clock.WithTicker
	speed  float64

	// Virtual time was origin at wall; it runs once met is set.
	origin, wall time.Time
	met          bool
	turns        chan *turn
	over         chan struct{} // closed when nothing is played any more
	running      bool
	lastMeet     time.Time // on the wall clock
	failed       error     // of what was handed over
	// meets counts loops; befores are the clusters that they began with and that are not decided on yet, where those are kept.
	meets   int
	befores map[int]*scalehist.ClusterState
	// starts counts starts of the program: what an earlier one waits for is void.
	starts int
	ctx    context.Context //nolint:containedctx // of the play under way, for what the program hands over on its turn
}

// turn is something a program wants done between two steps.
type turn struct {
	meet  bool
	loop  int
	start int
	f     func(now time.Time) error
	ctx   context.Context //nolint:containedctx // of the caller, who may have gone
	done  chan error
}

func newFreeRun(r *run) *freeRun {
	f := &freeRun{r: r, clock: clock.RealClock{}, speed: max(1, r.opts.Speed), turns: make(chan *turn), befores: map[int]*scalehist.ClusterState{}, over: make(chan struct{})}
	f.origin, f.wall = r.in.Start, f.clock.Now()
	r.in.Initial, r.in.Changes = nameMachines(r.in.Initial), nameMachines(r.in.Changes)
	r.changes = r.in.Changes
	return f
}

// now is virtual time: that of the start until the program is in its first loop.
func (f *freeRun) now() time.Time {
	if !f.met {
		return f.r.now
	}
	return f.origin.Add(time.Duration(float64(f.clock.Since(f.wall)) * f.speed).Truncate(time.Millisecond))
}

// wallOf is the instant of the wall clock at which it was or will be t.
func (f *freeRun) wallOf(t time.Time) time.Time {
	return f.wall.Add(time.Duration(float64(t.Sub(f.origin)) / f.speed))
}

// configure takes settings, at the start and as they were recorded later; a program that runs is started again with them, as the real one was.
func (f *freeRun) configure(s scalehist.CASettings) error {
	r := f.r
	if f.runner == nil {
		runner, err := r.opts.freeRunner(FreeEnv{Speed: f.speed, Dir: r.opts.files, Warn: r.ledger.Warn})
		if err != nil {
			return fmt.Errorf("build the autoscaler: %w", err)
		}
		f.runner = runner
		r.engine = unstepped{runner.Name()}
		r.ledger.Warn(f.explain())
	}
	if f.running {
		if err := f.runner.Stop(); err != nil {
			return err
		}
		f.running = false
	}
	inForce, scan, err := f.runner.Configure(s)
	if err != nil {
		return fmt.Errorf("build the autoscaler: %w", err)
	}
	r.scan = scan
	if r.scan <= 0 {
		r.scan = defaultScanInterval
	}
	r.batch = max(r.batch, r.opts.BatchInterval)
	r.ledger.Settings(r.now, inForce)
	if f.ctx == nil {
		return nil // it is started when something is played
	}
	return f.start()
}

// explain says in the report what real time means for it.
func (f *freeRun) explain() string {
	text := f.runner.Name() + " is a program of its own and ran in real time: its steps differ from run to run by what a real one's do; " +
		"pods it evicted come back when they have stopped"
	if f.speed > 1 {
		text = lines(text, fmt.Sprintf("virtual time ran %g times as fast: its durations were divided by that, while loops, calls and what is fixed "+
			"in the program took as long as ever, and so count for %[1]g times as much", f.speed))
	}
	return text
}

func (f *freeRun) start() error {
	plane, ok := f.r.plane.(interface{ Kubeconfig() ([]byte, error) })
	if !ok {
		return fmt.Errorf("%s: the control plane %q has no API server for a program: use %s", f.runner.Name(), f.r.opts.ControlPlane, EnvTest)
	}
	kubeconfig, err := plane.Kubeconfig()
	if err != nil {
		return err
	}
	f.starts++
	start := f.starts
	to := Attachment{
		Kubeconfig: kubeconfig, Provider: f.r.provider,
		Meet: func(ctx context.Context, do func(time.Time) error) error {
			return f.wait(&turn{ctx: ctx, start: start, meet: true, f: do})
		},
		Turn: func(ctx context.Context, loop int, do func(time.Time) error) error {
			return f.wait(&turn{ctx: ctx, start: start, loop: loop, f: do})
		},
		Decided: func(d scalehist.Decision) error {
			before := f.befores[d.Loop]
			delete(f.befores, d.Loop)
			return f.keep(f.r.noted(f.ctx, before, d))
		},
		Worked: func(d scalehist.Decision) error { return f.keep(f.r.worked(f.ctx, d.At, d)) },
	}
	if err := f.runner.Start(f.ctx, to); err != nil {
		return err
	}
	f.running, f.lastMeet = true, f.clock.Now()
	return nil
}

// keep notes the first error of what was handed over: the program that sees it cannot end the replay.
func (f *freeRun) keep(err error) error {
	if f.failed == nil {
		f.failed = err
	}
	return err
}

// wait hands a turn over and waits until it was taken. It is called by goroutines of the program's.
func (f *freeRun) wait(t *turn) error {
	t.done = make(chan error, 1)
	select {
	case f.turns <- t:
	case <-t.ctx.Done():
		return t.ctx.Err()
	case <-f.over:
		return errPlayed
	}
	select {
	case err := <-t.done:
		return err
	case <-t.ctx.Done():
		return t.ctx.Err()
	case <-f.over:
		return errPlayed
	}
}

// unstepped is a FreeRunner where an Autoscaler is asked for its name.
type unstepped struct{ name string }

func (u unstepped) Name() string { return u.name }

func (u unstepped) RunOnce(context.Context, time.Time) (scalehist.Decision, error) {
	return scalehist.Decision{}, errors.New("a program of its own cannot be stepped")
}

// play runs until virtual time is end.
func (f *freeRun) play(ctx context.Context, end time.Time) (err error) {
	f.ctx = ctx
	f.r.nextLoop = end.Add(time.Hour) // nobody's
	defer func() {
		if r := f.stop(); err == nil {
			err = r
		}
	}()
	if err := f.start(); err != nil {
		return err
	}
	touched, ended := f.touched(), f.runner.Ended
	for {
		if err := f.catchUp(ctx, end); err != nil {
			return err
		}
		if f.met && !f.now().Before(end) {
			return f.failed
		}
		timer := f.clock.NewTimer(f.pause(end))
		select {
		case t := <-f.turns:
			err = f.take(ctx, t, end)
		case <-touched:
			err = f.absorb(ctx, end)
		case <-ended():
			err = f.runner.Err()
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-timer.C():
			err = f.alive()
		}
		timer.Stop()
		if err == nil {
			err = f.failed
		}
		if err != nil {
			return err
		}
	}
}

func (f *freeRun) touched() <-chan struct{} {
	if p, ok := f.r.plane.(interface{ Touched() <-chan struct{} }); ok {
		return p.Touched()
	}
	return nil
}

// catchUp plays everything that is due by now, each at its own instant.
func (f *freeRun) catchUp(ctx context.Context, end time.Time) error {
	if !f.met {
		return nil
	}
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		now := f.now()
		if now.After(end) {
			now = end
		}
		t := f.r.next(end)
		if t.After(now) {
			return nil
		}
		if err := f.advance(ctx, t); err != nil {
			return err
		}
	}
}

// advance is a step of the replay without a loop of the autoscaler.
func (f *freeRun) advance(ctx context.Context, t time.Time) error {
	f.r.cluster.Absorb(t)
	if _, err := f.r.happen(ctx, t); err != nil {
		return err
	}
	return f.r.stepped(ctx, t)
}

// absorb lets happen what the program wrote since the last step, if it did.
func (f *freeRun) absorb(ctx context.Context, end time.Time) error {
	now := f.latest(end)
	if !f.r.cluster.Absorb(now) {
		return nil
	}
	return f.advance(ctx, now)
}

// latest is now, but not past the end nor before the last step.
func (f *freeRun) latest(end time.Time) time.Time {
	now := f.now()
	if now.After(end) {
		now = end
	}
	if now.Before(f.r.now) {
		now = f.r.now
	}
	return now
}

// take gives a program its turn. An error of what it does there is the program's; one of the replay ends that.
func (f *freeRun) take(ctx context.Context, t *turn, end time.Time) error {
	if gone := t.ctx.Err(); gone != nil {
		t.done <- gone
		return nil //nolint:nilerr // who called has gone, which is no fault of the replay
	}
	if t.meet && !f.met {
		f.met, f.origin, f.wall = true, f.r.in.FirstLoop(f.r.scan), f.clock.Now()
	}
	err := f.catchUp(ctx, end)
	now := f.latest(end)
	if err == nil && t.meet {
		f.lastMeet = f.clock.Now()
		err = f.advance(ctx, now)
	}
	if err != nil {
		t.done <- errPlayed
		return err
	}
	if t.start != f.starts {
		t.done <- errPlayed // the settings have changed, and with them the process
		return nil
	}
	did := t.f(now)
	if t.meet {
		f.meets++
		if before := f.r.state(now); before != nil {
			f.befores[f.meets] = before
		}
	} else {
		f.r.ledger.Asked(t.loop)
	}
	t.done <- did
	return nil
}

// pause is how long nothing is to be done on the wall clock, unless the program wants something.
func (f *freeRun) pause(end time.Time) time.Duration {
	limit := f.lastMeet.Add(f.patience()).Sub(f.clock.Now())
	if !f.met {
		return max(0, limit)
	}
	next := f.r.next(end)
	if next.After(end) {
		next = end
	}
	return max(0, min(limit, f.wallOf(next).Sub(f.clock.Now())))
}

// patience is how long the program may go without a loop.
func (f *freeRun) patience() time.Duration {
	if !f.met {
		return firstLoopWithin
	}
	return time.Duration(3*float64(f.r.scan)/f.speed) + hungAfter
}

// alive is an error when the program has not looped for too long.
func (f *freeRun) alive() error {
	if f.clock.Since(f.lastMeet) < f.patience() {
		return nil
	}
	if !f.met {
		return fmt.Errorf("%s began no loop within %s: can it reach the API server and the provider? %w", f.runner.Name(), firstLoopWithin, f.runner.Err())
	}
	return fmt.Errorf("%s hangs: it has begun no loop for %s, at %s of the recording: %w", f.runner.Name(), f.patience(), moment.Stamp(f.now()), f.runner.Err())
}

// stop ends the program; who waits for a turn is answered.
func (f *freeRun) stop() error {
	if f.runner == nil {
		return nil
	}
	select {
	case <-f.over:
	default:
		close(f.over)
	}
	f.running = false
	err := f.runner.Stop()
	if f.failed != nil {
		return f.failed
	}
	return err
}

// close is stop for a replay that is given up.
func (f *freeRun) close() {
	if f == nil || f.runner == nil {
		return
	}
	_ = f.stop() // play had the error
	_ = f.runner.Close()
}
