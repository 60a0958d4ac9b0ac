package engines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist"
	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
)

// elastiName is the scaling to zero of ElastiServices.
const elastiName = "elasti"

// Elasti scales the targets of the ElastiServices among the objects to zero and back, by the policy of package elasti. Queries of triggers are
// the names of metrics of the load; Prometheus is there but for faults. Cooldowns count from the start of the replay.
func Elasti() harness.NewController {
	return func(env harness.ControllerEnv) (scalehist.Controller, error) {
		c := &elastiController{env: env, next: env.Start.Add(elasti.DefaultInterval), now: env.Start}
		c.registry = elasti.Registry{elasti.PrometheusType: c.scaler}
		for _, o := range env.Objects {
			if err := c.set(env.Start, o); err != nil {
				return nil, err
			}
		}
		if len(c.services) == 0 {
			return nil, errors.New("elasti: there is no ElastiService at the start, neither recorded nor given (objects): nothing would be scaled")
		}
		return c, nil
	}
}

// elastiController runs the ElastiServices of a replay.
type elastiController struct {
	asker
	env      harness.ControllerEnv
	registry elasti.Registry
	// services are in the order of their names.
	services  []*elastiService
	next, now time.Time
}

// elastiService is one of them.
type elastiService struct {
	name    string // ElastiService/shop/web
	target  scalehist.WorkloadRef
	policy  elasti.Policy
	scalers []elasti.Scaler
	since   time.Time
	needed  time.Time
	taken   bool
	// reason is the last one: what it says again is not recorded.
	reason string
}

// asElastiService reads an object, nil if it is none.
func asElastiService(o scalehist.Object) (*elastiv1alpha1.ElastiService, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok || u.GroupVersionKind() != elastiv1alpha1.GroupVersion.WithKind(elastiv1alpha1.Kind) {
		return nil, nil //nolint:nilnil // it is another kind
	}
	data, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	out := &elastiv1alpha1.ElastiService{}
	return out, json.Unmarshal(data, out)
}

func elastiNameOf(o scalehist.Object) string {
	return elastiv1alpha1.Kind + "/" + o.GetNamespace() + "/" + o.GetName()
}

// set takes in an ElastiService that is there from now on, or its new specification.
func (c *elastiController) set(now time.Time, o scalehist.Object) error {
	es, err := asElastiService(o)
	if es == nil || err != nil {
		return err
	}
	kind, _, err := es.Spec.ScaleTargetRef.GroupKind()
	if err != nil {
		return fmt.Errorf("%s: scaleTargetRef: %w", elastiNameOf(o), err)
	}
	s := &elastiService{name: elastiNameOf(o), policy: elasti.PolicyOf(&es.Spec), since: es.CreationTimestamp.Time, needed: now,
		target: scalehist.WorkloadRef{APIVersion: es.Spec.ScaleTargetRef.APIVersion, Kind: kind.Kind, Namespace: es.Namespace, Name: es.Spec.ScaleTargetRef.Name}}
	if s.scalers, err = c.registry.Scalers(context.Background(), es.Spec.Triggers, s.policy.Cooldown); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	at, known := c.find(s.name)
	for _, other := range c.services {
		if other.target == s.target && other.name != s.name {
			return fmt.Errorf("%s and %s scale the same workload, %s: none of them is acted for in a cluster; keep one", other.name, s.name, s.target)
		}
	}
	if known {
		s.needed, s.taken = c.services[at].needed, c.services[at].taken && c.services[at].target == s.target
		c.services[at] = s
		return nil
	}
	c.services = slices.Insert(c.services, at, s)
	return nil
}

func (c *elastiController) find(name string) (int, bool) {
	return slices.BinarySearchFunc(c.services, name, func(s *elastiService, name string) int { return cmp.Compare(s.name, name) })
}

// Configure takes in a recorded change of an ElastiService.
func (c *elastiController) Configure(ch scalehist.Change) error {
	if ch.Op != scalehist.OpDelete {
		return c.set(ch.At, ch.Object)
	}
	if at, known := c.find(elastiNameOf(ch.Object)); known && ch.Object.GetObjectKind().GroupVersionKind().Kind == elastiv1alpha1.Kind {
		c.services = slices.Delete(c.services, at, at+1)
	}
	return nil
}

// Name implements scalehist.Controller.
func (c *elastiController) Name() string { return elastiName }

// Next implements scalehist.Controller.
func (c *elastiController) Next() (time.Time, bool) { return c.next, true }

// Run implements scalehist.Controller.
func (c *elastiController) Run(ctx context.Context, now time.Time) (scalehist.WorkloadDecision, error) {
	c.now, c.next = now, now.Add(elasti.DefaultInterval)
	out := scalehist.WorkloadDecision{At: now.UTC(), Controller: elastiName}
	for _, s := range c.services {
		d, there, err := c.look(ctx, s)
		if err != nil {
			return out, err
		}
		if !there || d.To == d.From && d.Reason == s.reason {
			continue
		}
		s.reason = d.Reason
		scaled := scalehist.WorkloadScale{Workload: s.target, By: s.name, From: d.From, To: d.To, Reason: d.Message}
		for _, r := range d.Readings {
			m := scalehist.MetricReading{Metric: r.Query, Target: fmt.Sprint(r.Threshold)}
			if r.Err != nil {
				m.Error = r.Err.Error()
			} else {
				m.Value = fmt.Sprint(r.Value)
			}
			scaled.Metrics = append(scaled.Metrics, m)
		}
		out.Scales = append(out.Scales, scaled)
	}
	return out, nil
}

// look decides about one target and scales it; false while it is not there.
func (c *elastiController) look(ctx context.Context, s *elastiService) (d elasti.Decision, there bool, err error) {
	if !s.taken {
		err := c.env.Workloads.TakeOver(elastiName, s.target)
		if errors.Is(err, scalehist.ErrNoWorkload) {
			return d, false, nil
		}
		if err != nil {
			return d, false, err
		}
		s.taken = true
	}
	w, err := c.env.Workloads.Target(s.target)
	if errors.Is(err, scalehist.ErrNoWorkload) {
		return d, false, nil
	}
	if err != nil {
		return d, false, err
	}
	d = s.policy.Look(ctx, c.now, elasti.Target{Since: s.since, LastNeeded: s.needed, Replicas: w.Replicas}, s.scalers)
	if d.Needed {
		s.needed = c.now
	}
	if d.To != d.From {
		err = c.env.Workloads.Scale(ctx, s.target, d.To)
	}
	return d, true, err
}

// scaler is the factory of Prometheus triggers in a replay.
func (c *elastiController) scaler(metadata json.RawMessage, cooldown time.Duration) (elasti.Scaler, error) {
	m, err := elasti.ParsePrometheusMetadata(metadata)
	if err != nil {
		return nil, err
	}
	return replayedTrigger{elasti.NewPrometheus(m, cooldown, c, replayClock{c}), c, m.Query, cooldown}, nil
}

// replayedTrigger asks a Prometheus that is there but for the faults of the scenario.
type replayedTrigger struct {
	*elasti.Prometheus
	c        *elastiController
	query    string
	cooldown time.Duration
}

// IsHealthy implements elasti.Scaler.
func (t replayedTrigger) IsHealthy(context.Context) (bool, error) {
	if err := t.c.failure(t.query); err != nil {
		return false, err
	}
	return !t.c.env.Meter.WasAway(t.c.now.Add(-t.cooldown), t.c.now), nil
}

// replayClock is the instant of the run.
type replayClock struct{ c *elastiController }

// Now implements clock.PassiveClock.
func (r replayClock) Now() time.Time { return r.c.now }

// Since implements clock.PassiveClock.
func (r replayClock) Since(t time.Time) time.Duration { return r.c.now.Sub(t) }

var _ clock.PassiveClock = replayClock{}

// Ask implements elasti.Asker: the query is the name of a metric of the load, in whatever namespace.
func (c *elastiController) Ask(_ context.Context, query string, at time.Time) ([]float64, error) {
	if err := c.failure(query); err != nil {
		return nil, err
	}
	var namespaces []string
	for _, s := range c.services {
		namespaces = append(namespaces, s.target.Namespace)
	}
	return c.ask(c.env.Meter, namespaces, query, at)
}
