package harness

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/virtual"
	"github.com/scalehist/scalehist/load"
)

// ControllerEnv is what a controller of workloads is built with.
type ControllerEnv struct {
	// Workloads are what it sees and acts through.
	Workloads scalehist.Workloads
	// Meter is what workloads use, measured as by a metrics server, and their other metrics.
	Meter *load.Meter
	// Objects configure controllers: HorizontalPodAutoscalers and the like, those in force at Start.
	Objects []scalehist.Object
	Start   time.Time
	// Warn puts a line into the report.
	Warn func(string)
}

// NewController builds a controller at the start of a replay.
type NewController func(ControllerEnv) (scalehist.Controller, error)

// Recorded is the name of the controllers that give every workload the pods, and every pod the requests, that were recorded: nobody else can take one
// over, and the report is that of a replay without them.
const Recorded = "recorded"

// newControllers builds the controllers, in the order in which they act when several are due.
func (r *run) newControllers() error {
	if r.opts.load != nil {
		series, err := r.opts.load(r.in.Start)
		if err != nil {
			return fmt.Errorf("load: %w", err)
		}
		r.load = series
	}
	r.meter = load.NewMeter(r.load)
	if r.meter.SetFaults(r.in.MetricFaults); len(r.in.MetricFaults) > 0 && len(r.opts.controllers) == 0 {
		return errors.New("faults of metrics: there is no autoscaler of workloads that would read them: choose one (vertical, horizontal)")
	}
	for _, ch := range r.in.Changes {
		if p, ok := ch.Object.(*corev1.Pod); ok && ch.Op == scalehist.OpAdd && ch.At.Equal(r.in.Start) {
			r.cluster.Coming(p)
		}
	}
	objects := slices.Clone(r.opts.objects)
	given := func(o scalehist.Object) bool {
		return slices.ContainsFunc(r.opts.objects, func(g scalehist.Object) bool { return reflect.TypeOf(g) == reflect.TypeOf(o) })
	}
	for _, o := range r.in.Autoscalers {
		if !given(o) {
			objects = append(objects, o)
		}
	}
	r.configured = slices.DeleteFunc(slices.Clone(r.in.AutoscalerChanges), func(ch scalehist.Change) bool { return given(ch.Object) })
	for _, build := range r.opts.controllers {
		c, err := build(ControllerEnv{
			Workloads: r.cluster, Meter: r.meter, Objects: objects, Start: r.in.Start, Warn: r.ledger.Warn,
		})
		if err != nil {
			return err
		}
		r.controllers = append(r.controllers, c)
		r.ledger.Controller(c.Name())
		if a, ok := c.(scalehist.Admitter); ok {
			r.cluster.Admit(a)
		}
	}
	for i := range r.load {
		if _, err := r.cluster.Target(r.load[i].Workload); err != nil {
			r.ledger.Warn(fmt.Sprintf("load: %s is not in the recording at the start: it has no pods to do the work of %s", r.load[i].Workload, r.load[i].Metric))
		}
	}
	r.follow(r.in.Start)
	return nil
}

// lives are how long pods take to start and to stop.
func (r *run) lives() virtual.Options {
	o := virtual.Options{Termination: r.in.Termination, Recorded: r.opts.Horizontal == Recorded, RecordedRequests: r.opts.Vertical == Recorded}
	if r.in.StartUps != nil {
		o.StartUp = r.in.StartUps.Of
	}
	return o
}

// outOfMemory ends the containers that use more memory than their limit by now, and settles. It says whether a pod became unschedulable.
func (r *run) outOfMemory(ctx context.Context, t time.Time) (fresh bool, err error) {
	for range maxLoopsAtOnce {
		over, ok := r.meter.NextOver()
		if !ok || over.At.After(t) {
			return fresh, nil
		}
		status, err := r.cluster.KillContainer(ctx, types.NamespacedName{Namespace: over.Workload.Namespace, Name: over.Pod}, over.Container)
		if err != nil {
			return fresh, err
		}
		r.ledger.Killed(t, over, status)
		r.follow(t)
		f, err := r.settleNodes(ctx, t)
		if err != nil {
			return fresh, err
		}
		fresh = fresh || f
	}
	return fresh, fmt.Errorf("containers ran out of memory %d times at one instant", maxLoopsAtOnce)
}

// configurable is a controller whose configuration may change while it runs.
type configurable interface {
	Configure(change scalehist.Change) error
}

// configure lets controllers see recorded changes of what they are configured with.
func (r *run) configure(t time.Time) error {
	for len(r.configured) > 0 && !r.configured[0].At.After(t) {
		for _, c := range r.controllers {
			o, ok := c.(configurable)
			if !ok {
				continue
			}
			if err := o.Configure(r.configured[0]); err != nil {
				return fmt.Errorf("%s: %w", c.Name(), err)
			}
		}
		r.configured = r.configured[1:]
	}
	return nil
}

func (r *run) controllerNames() []string {
	var out []string
	for _, c := range r.controllers {
		out = append(out, c.Name())
	}
	return out
}

// follow lets load and report see the workloads that have changed.
func (r *run) follow(t time.Time) {
	if len(r.controllers) == 0 && len(r.load) == 0 {
		return
	}
	for _, w := range r.cluster.Changed() {
		r.meter.Pods(t, w.WorkloadRef, w.Pods)
		r.ledger.Workload(t, w, r.meter.Has(w.WorkloadRef))
	}
}

// control lets the controllers do what is due at t, in their order, and settles after each, so that the next sees what the last one did. It says
// whether a pod became unschedulable.
func (r *run) control(ctx context.Context, t time.Time) (fresh bool, err error) {
	if err := r.configure(t); err != nil {
		return false, err
	}
	for _, c := range r.controllers {
		for n := 0; ; n++ {
			if ctx.Err() != nil {
				return fresh, context.Cause(ctx)
			}
			if at, ok := c.Next(); !ok || at.After(t) {
				break
			}
			if n == maxLoopsAtOnce {
				return fresh, fmt.Errorf("%s had something to do %d times at one instant: it undoes its own work", c.Name(), maxLoopsAtOnce)
			}
			f, err := r.controlled(ctx, t, c)
			if err != nil {
				return fresh, err
			}
			fresh = fresh || f
		}
	}
	return fresh, nil
}

func (r *run) controlled(ctx context.Context, t time.Time, c scalehist.Controller) (fresh bool, err error) {
	done := r.watch.Time("control")
	d, err := c.Run(ctx, t)
	done()
	if err != nil {
		return false, fmt.Errorf("%s: %w", c.Name(), err)
	}
	r.ledger.Controlled(d)
	if !d.Acted() {
		return false, nil
	}
	klog.FromContext(ctx).Info("Scaled", "offset", t.Sub(r.in.Start), "controller", c.Name(), "decision", d.Summary())
	return r.settleNodes(ctx, t)
}

// balanced is an error if work was lost sight of: what came in must be served, lost or waiting.
func (r *run) balanced(t time.Time) error {
	for _, e := range r.meter.Balances(t) {
		if err := e.Balance.Check(); err != nil {
			return fmt.Errorf("the work of %s (%s) is not conserved, which is a fault of the replay: %w", e.Series.Workload, e.Series.Metric, err)
		}
	}
	return nil
}

// nextControl is the next instant at which a controller wants to run.
func (r *run) nextControl() (next time.Time, ok bool) {
	for _, c := range r.controllers {
		if at, wants := c.Next(); wants && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	return next, ok
}
