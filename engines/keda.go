package engines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
	"github.com/scalehist/scalehist/recommender/horizontal/keda"
)

// kedaName is KEDA with the horizontal pod autoscalers that it makes.
const kedaName = "keda"

// KEDA scales the targets of the ScaledObjects among the objects: to zero and from it by the rules of package keda, between by the HorizontalPodAutoscalers
// that it makes. Queries of triggers are the names of metrics of the load.
func KEDA(options hpa.Options) harness.NewController {
	return func(env harness.ControllerEnv) (scalehist.Controller, error) {
		c := &kedaController{env: env, now: env.Start}
		var err error
		if c.hpas, err = hpa.NewController(options, c); err != nil {
			return nil, err
		}
		for _, o := range env.Objects {
			if err := c.set(env.Start, o, true); err != nil {
				return nil, err
			}
		}
		if len(c.scaled) == 0 {
			return nil, errors.New("keda: there is no ScaledObject at the start, neither recorded nor given (objects): nothing would be scaled")
		}
		return c, nil
	}
}

// kedaController runs the ScaledObjects of a replay.
type kedaController struct {
	asker
	env  harness.ControllerEnv
	hpas *hpa.Controller
	// scaled are in the order of their names.
	scaled []*kedaScaled
	read   []*kedaScaled // those whose autoscalers were synced in a run, in the order of the syncs
	ctx    context.Context
	now    time.Time
}

// kedaScaled is one ScaledObject.
type kedaScaled struct {
	name    string // ScaledObject/shop/web
	scaler  *keda.Scaler
	target  scalehist.WorkloadRef
	hpa     *autoscalingv2.HorizontalPodAutoscaler // nil while it is paused
	due     time.Time
	taken   bool
	message string // the last one: what it says again is not recorded
}

func asScaledObject(o scalehist.Object) (*keda.ScaledObject, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok || u.GroupVersionKind() != schema.FromAPIVersionAndKind(keda.APIVersion, keda.Kind) {
		return nil, nil //nolint:nilnil // it is another kind
	}
	data, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return keda.Parse(data)
}

func scaledObjectName(o scalehist.Object) string {
	return keda.Kind + "/" + o.GetNamespace() + "/" + o.GetName()
}

func (c *kedaController) find(name string) (int, bool) {
	return slices.BinarySearchFunc(c.scaled, name, func(s *kedaScaled, name string) int { return cmp.Compare(s.name, name) })
}

// set takes in a ScaledObject that is there from now on, or its new specification. What was there at the start was active then, as far as anybody knows.
func (c *kedaController) set(now time.Time, o scalehist.Object, atStart bool) error {
	object, err := asScaledObject(o)
	if err != nil { // what is given was refused before: this one was recorded
		c.env.Warn(fmt.Sprintf("keda leaves a workload as it was recorded: %v", err))
	}
	if object == nil {
		return nil
	}
	name, ref := scaledObjectName(o), object.Spec.ScaleTargetRef
	target := scalehist.WorkloadRef{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: object.Namespace, Name: ref.Name}
	for _, other := range c.scaled {
		if other.target == target && other.name != name {
			return fmt.Errorf("%s and %s scale the same workload, %s: KEDA's webhook refuses the second; keep one", other.name, name, target)
		}
	}
	at, known := c.find(name)
	if !known {
		created, active := now, time.Time{}
		if atStart {
			active = now
			if t := object.CreationTimestamp.Time; !t.IsZero() {
				created = t
			}
		}
		c.scaled = slices.Insert(c.scaled, at, &kedaScaled{name: name, scaler: keda.NewScaler(object, c, created, active)})
	}
	s := c.scaled[at]
	s.scaler.Update(object)
	s.taken, s.target, s.due = s.taken && s.target == target, target, now.Add(s.scaler.Interval())
	return c.follow(now, s)
}

// follow makes, changes or removes the autoscaler of a ScaledObject.
func (c *kedaController) follow(now time.Time, s *kedaScaled) error {
	made := s.scaler.Object().HPA()
	if s.hpa != nil && (made == nil || made.Name != s.hpa.Name) {
		c.hpas.Remove(scalehist.NameOf(s.hpa))
	}
	s.hpa = made
	if made == nil {
		return nil
	}
	return c.hpas.Set(now, made)
}

// Configure takes in a recorded change of a ScaledObject.
func (c *kedaController) Configure(ch scalehist.Change) error {
	if ch.Op != scalehist.OpDelete {
		return c.set(ch.At, ch.Object, false)
	}
	if at, known := c.find(scaledObjectName(ch.Object)); known && ch.Object.GetObjectKind().GroupVersionKind().Kind == keda.Kind {
		if s := c.scaled[at]; s.hpa != nil {
			c.hpas.Remove(scalehist.NameOf(s.hpa))
		}
		c.scaled = slices.Delete(c.scaled, at, at+1)
	}
	return nil
}

// Name implements scalehist.Controller.
func (c *kedaController) Name() string { return kedaName }

// Next implements scalehist.Controller.
func (c *kedaController) Next() (time.Time, bool) {
	next, ok := c.hpas.Next()
	for _, s := range c.scaled {
		if !ok || s.due.Before(next) {
			next, ok = s.due, true
		}
	}
	return next, ok
}

// Run implements scalehist.Controller: first what is at zero or goes there, then the autoscalers.
func (c *kedaController) Run(ctx context.Context, now time.Time) (scalehist.WorkloadDecision, error) {
	c.ctx, c.now, c.read = ctx, now, nil
	out := scalehist.WorkloadDecision{At: now.UTC(), Controller: kedaName}
	for _, s := range c.scaled {
		if s.due.After(now) {
			continue
		}
		s.due = now.Add(s.scaler.Interval())
		scaled, err := c.poll(ctx, s)
		if err != nil {
			return out, err
		}
		if scaled != nil {
			out.Scales = append(out.Scales, *scaled)
		}
	}
	if next, ok := c.hpas.Next(); ok && !next.After(now) {
		decisions := c.hpas.Run(now)
		for i := range decisions {
			out.Scales = append(out.Scales, scaled(c.read[i].hpa, &decisions[i]))
		}
	}
	return out, nil
}

// poll looks at one ScaledObject; nil where it is not there, or nothing is new.
func (c *kedaController) poll(ctx context.Context, s *kedaScaled) (*scalehist.WorkloadScale, error) {
	w, err := c.take(s)
	if errors.Is(err, scalehist.ErrNoWorkload) {
		return nil, nil //nolint:nilnil // it may come
	}
	if err != nil {
		return nil, err
	}
	d := s.scaler.Poll(ctx, c.now, w.Replicas)
	if d.To == d.From && d.Message == s.message {
		return nil, nil //nolint:nilnil // nothing new
	}
	s.message = d.Message
	out := &scalehist.WorkloadScale{Workload: s.target, By: s.name, From: d.From, To: d.To, Reason: d.Message}
	for _, r := range d.Readings {
		m := scalehist.MetricReading{Metric: r.Query, Target: fmt.Sprintf("active above %v", r.Activation)}
		if r.Err != nil {
			m.Error = r.Err.Error()
		} else {
			m.Value = fmt.Sprint(r.Value)
		}
		out.Metrics = append(out.Metrics, m)
	}
	if d.To != d.From {
		err = c.env.Workloads.Scale(ctx, s.target, d.To)
	}
	return out, err
}

// take is the target, whose replicas are KEDA's from then on.
func (c *kedaController) take(s *kedaScaled) (scalehist.Workload, error) {
	if !s.taken {
		if err := c.env.Workloads.TakeOver(kedaName, s.target); err != nil {
			return scalehist.Workload{}, err
		}
		s.taken = true
	}
	return c.env.Workloads.Target(s.target)
}

// Read implements hpa.Cluster.
func (c *kedaController) Read(object *autoscalingv2.HorizontalPodAutoscaler) (hpa.Target, hpa.Metrics) {
	at := slices.IndexFunc(c.scaled, func(s *kedaScaled) bool {
		return s.hpa != nil && scalehist.NameOf(s.hpa) == (types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
	})
	s := c.scaled[at] // its autoscaler is removed with it
	c.read = append(c.read, s)
	w, err := c.take(s)
	return hpa.Target{
		SpecReplicas: w.Replicas, StatusReplicas: w.Current, Selector: selectorOf(w), Pods: w.Pods, Err: err,
		Update: func(replicas int32) error { return c.env.Workloads.Scale(c.ctx, s.target, replicas) },
	}, &kedaMetrics{hpaMetrics{&c.asker, c.env.Meter, c.now, w}, c, s}
}

// kedaMetrics are the metrics APIs of a replay, of which KEDA serves the external one.
type kedaMetrics struct {
	hpaMetrics
	c *kedaController
	s *kedaScaled
}

// External implements hpa.Metrics.
func (m *kedaMetrics) External(metric autoscalingv2.MetricIdentifier) ([]int64, error) {
	trigger, err := m.s.scaler.TriggerOf(metric.Name)
	if err != nil {
		return nil, err
	}
	if f, hit := m.meter.Fault(m.now, metric.Name); hit && f.Metric == metric.Name { // KEDA's own metrics server, for which there is no fallback
		if err, _ := noAnswer(m.meter, m.now, metric.Name, load.APITimeout); err != nil {
			return nil, err
		}
	}
	v, err := m.s.scaler.Metric(m.c.ctx, trigger, m.now, m.w.Replicas)
	if err != nil {
		return nil, err
	}
	return []int64{milli(v)}, nil
}

// Ask implements elasti.Asker: the query is the name of a metric of the load, in whatever namespace of a ScaledObject.
func (c *kedaController) Ask(_ context.Context, query string, at time.Time) ([]float64, error) {
	if err, _ := noAnswer(c.env.Meter, at, query, keda.QueryTimeout); err != nil {
		return nil, err
	}
	var namespaces []string
	for _, s := range c.scaled {
		namespaces = append(namespaces, s.target.Namespace)
	}
	return c.ask(c.env.Meter, namespaces, query, at)
}
