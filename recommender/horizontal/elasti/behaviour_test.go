package elasti

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
)

// noon is a Wednesday.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// fakeAsker answers queries by their text; uptime queries are true unless health says otherwise.
type fakeAsker struct {
	values map[string][]float64
	errs   map[string]error
	health []float64
	asked  []string
}

func (f *fakeAsker) Ask(_ context.Context, query string, _ time.Time) ([]float64, error) {
	f.asked = append(f.asked, query)
	if query == UptimeQuery("", cooldown) {
		return f.health, nil
	}
	return f.values[query], f.errs[query]
}

const cooldown = 15 * time.Minute

// scalers ask for the queries "a", "b" with threshold 1, and so on.
func scalers(f *fakeAsker, queries ...string) []Scaler {
	if f.health == nil {
		f.health = []float64{1}
	}
	var out []Scaler
	one := Number(1)
	for _, q := range queries {
		out = append(out, NewPrometheus(PrometheusMetadata{Query: q, Threshold: &one}, cooldown, f, clocktesting.NewFakePassiveClock(noon)))
	}
	return out
}

// situation is a row of the tables: what is, and what follows.
type situation struct {
	name    string
	policy  Policy
	target  Target
	asker   fakeAsker
	queries []string
	// wants
	to     int32
	needed bool
	reason string
	failed bool
}

func one(values ...float64) map[string][]float64 { return map[string][]float64{"a": values} }

// night is a period from 22:00 for eight hours: noon is outside.
func night(t *testing.T) *Period {
	t.Helper()
	p, err := ParsePeriod(&elastiv1alpha1.EnabledPeriod{Schedule: "0 22 * * *", Duration: "8h"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// idle is a target that nobody has needed for long, with two replicas; asleep is it at zero.
var (
	usual  = Policy{MinReplicas: 3, Cooldown: cooldown}
	idle   = Target{Since: noon.Add(-24 * time.Hour), LastNeeded: noon.Add(-time.Hour), Replicas: 4}
	asleep = Target{Since: noon.Add(-24 * time.Hour), LastNeeded: noon.Add(-time.Hour)}
)

func with[T any](v T, change func(*T)) T {
	change(&v)
	return v
}

func check(t *testing.T, rows []situation) {
	t.Helper()
	for _, s := range rows {
		t.Run(s.name, func(t *testing.T) {
			d := s.policy.Look(t.Context(), noon, s.target, scalers(&s.asker, s.queries...))
			type outcome struct {
				From, To       int32
				Needed, Failed bool
				Reason         string
			}
			want, got := outcome{s.target.Replicas, s.to, s.needed, s.failed, s.reason}, outcome{d.From, d.To, d.Needed, d.Err != nil, d.Reason}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s%s", diff, d.Message)
			}
			if d.Message == "" {
				t.Error("it does not say why")
			}
		})
	}
}

// TestDocumentedBehaviour is what KubeElasti's documentation says of its scaling (docs/src/gs-configure-elastiservice.md, triggers.md) and what
// its operator does where that says nothing.
func TestDocumentedBehaviour(t *testing.T) {
	a := []string{"a"}
	check(t, []situation{
		{name: "below the threshold for the cooldown it is scaled to zero", policy: usual, target: idle, asker: fakeAsker{values: one(0.5)}, queries: a, to: 0, reason: ReasonNotNeeded},
		{name: "the threshold itself is need", policy: usual, target: idle, asker: fakeAsker{values: one(1)}, queries: a, to: 4, needed: true, reason: ReasonNeeded},
		{name: "above the threshold it has its minimum", policy: usual, target: with(idle, func(t *Target) { t.Replicas = 1 }), asker: fakeAsker{values: one(7)}, queries: a, to: 3, needed: true, reason: ReasonNeeded},
		{name: "more replicas than the minimum stay", policy: usual, target: with(idle, func(t *Target) { t.Replicas = 9 }), asker: fakeAsker{values: one(7)}, queries: a, to: 9, needed: true, reason: ReasonNeeded},
		{name: "the cooldown counts from the last need", policy: usual, target: with(idle, func(t *Target) { t.LastNeeded = noon.Add(-cooldown + time.Second) }), asker: fakeAsker{values: one(0)}, queries: a, to: 4, reason: ReasonCooldown},
		{name: "the cooldown is over at its end", policy: usual, target: with(idle, func(t *Target) { t.LastNeeded = noon.Add(-cooldown) }), asker: fakeAsker{values: one(0)}, queries: a, to: 0, reason: ReasonNotNeeded},
		{name: "a new ElastiService waits for a cooldown", policy: usual, target: Target{Since: noon.Add(-time.Minute), Replicas: 2}, asker: fakeAsker{values: one(0)}, queries: a, to: 2, reason: ReasonCooldown},
		{name: "without a cooldown it is scaled at once", policy: Policy{MinReplicas: 1}, target: Target{Since: noon, LastNeeded: noon, Replicas: 2}, asker: fakeAsker{values: one(0)}, queries: a, to: 0, reason: ReasonNotNeeded},
		{name: "all triggers must agree to go to zero", policy: usual, target: idle, asker: fakeAsker{values: map[string][]float64{"a": {0}, "b": {0}}}, queries: []string{"a", "b"}, to: 0, reason: ReasonNotNeeded},
		{name: "one trigger is enough to stay", policy: usual, target: idle, asker: fakeAsker{values: map[string][]float64{"a": {0}, "b": {1}}}, queries: []string{"a", "b"}, to: 4, needed: true, reason: ReasonNeeded},
		{name: "one trigger is enough to come back", policy: usual, target: asleep, asker: fakeAsker{values: map[string][]float64{"a": {0}, "b": {1}}}, queries: []string{"a", "b"}, to: 3, needed: true, reason: ReasonNeeded},
		{name: "at zero without need it stays", policy: usual, target: asleep, asker: fakeAsker{values: one(0)}, queries: a, to: 0, reason: ReasonNotNeeded},
		{name: "without triggers nothing happens", policy: usual, target: idle, to: 4, reason: ReasonNoTriggers, failed: true},
		{name: "without triggers nothing happens at zero", policy: usual, target: asleep, to: 0, reason: ReasonNoTriggers, failed: true},
		{name: "outside the enabled period it has its minimum", policy: with(usual, func(p *Policy) { p.Period = night(t) }), target: asleep, asker: fakeAsker{values: one(0)}, queries: a, to: 3, needed: true, reason: ReasonOutsidePeriod},
		{name: "outside the enabled period it is not scaled to zero", policy: with(usual, func(p *Policy) { p.Period = night(t) }), target: idle, asker: fakeAsker{values: one(0)}, queries: a, to: 4, needed: true, reason: ReasonOutsidePeriod},
		{name: "an enabled period that cannot be read keeps it up", policy: with(usual, func(p *Policy) { p.PeriodErr = errors.New("no such time") }), target: asleep, asker: fakeAsker{values: one(0)}, queries: a, to: 3, needed: true, reason: ReasonInvalidPeriod, failed: true},
		{name: "a Prometheus that was away is not believed", policy: usual, target: idle, asker: fakeAsker{values: one(0), health: []float64{0}}, queries: a, to: 4, reason: ReasonUnhealthy},
		{name: "an error changes nothing", policy: usual, target: idle, asker: fakeAsker{errs: map[string]error{"a": errors.New("no route")}}, queries: a, to: 4, reason: ReasonTriggerFailed, failed: true},
		{name: "an empty answer changes nothing", policy: usual, target: idle, asker: fakeAsker{}, queries: a, to: 4, reason: ReasonEmpty, failed: true},
		{name: "several series change nothing", policy: usual, target: idle, asker: fakeAsker{values: one(0, 0)}, queries: a, to: 4, reason: ReasonSeveral, failed: true},
		{name: "infinity changes nothing", policy: usual, target: idle, asker: fakeAsker{values: one(math.Inf(1))}, queries: a, to: 4, reason: ReasonInfinite, failed: true},
	})
}

// TestDefects has what KubeElasti's operator does wrong in decisions (its pkg/scaling and scalers), with what happens here. What it does wrong
// on an API server is in the tests of the operator.
func TestDefects(t *testing.T) {
	a := []string{"a"}
	nan := math.NaN()
	check(t, []situation{
		{name: "NaN is above no threshold and below none: it was need for ever", policy: usual, target: idle, asker: fakeAsker{values: one(nan)}, queries: a, to: 4, reason: ReasonNaN, failed: true},
		{name: "NaN does not wake", policy: usual, target: asleep, asker: fakeAsker{values: one(nan)}, queries: a, to: 0, reason: ReasonNaN, failed: true},
		{name: "-1 is a value: it was no answer, and never went to zero", policy: usual, target: idle, asker: fakeAsker{values: one(-1)}, queries: a, to: 0, reason: ReasonNotNeeded},
		{name: "-1 does not wake", policy: usual, target: asleep, asker: fakeAsker{values: one(-1)}, queries: a, to: 0, reason: ReasonNotNeeded},
		{name: "need within a cooldown of its creation wakes: nobody was asked", policy: usual, target: Target{Since: noon.Add(-time.Minute)}, asker: fakeAsker{values: one(5)}, queries: a, to: 3, needed: true, reason: ReasonNeeded},
		{name: "a failing trigger does not hide the need of another", policy: usual, target: idle, asker: fakeAsker{values: map[string][]float64{"b": {5}}, errs: map[string]error{"a": errors.New("no route")}}, queries: []string{"a", "b"}, to: 4, needed: true, reason: ReasonNeeded},
		{name: "need wakes while Prometheus is just back: it was not healthy for a cooldown", policy: usual, target: asleep, asker: fakeAsker{values: one(5), health: []float64{0}}, queries: a, to: 3, needed: true, reason: ReasonNeeded},
		{name: "an outage at zero starts nothing", policy: usual, target: asleep, asker: fakeAsker{errs: map[string]error{"a": errors.New("no route")}}, queries: a, to: 0, reason: ReasonTriggerFailed, failed: true},
		{name: "an outage at zero wakes who asks for it", policy: with(usual, func(p *Policy) { p.WakeOnUnknown = true }), target: asleep, asker: fakeAsker{errs: map[string]error{"a": errors.New("no route")}}, queries: a, to: 3, needed: true, reason: ReasonWokenByUnknown, failed: true},
		{name: "a clock that was set back does not end a cooldown", policy: usual, target: with(idle, func(t *Target) { t.LastNeeded = noon.Add(time.Hour) }), asker: fakeAsker{values: one(0)}, queries: a, to: 4, reason: ReasonCooldown},
	})
}

// TestQuestions: at zero replicas triggers are asked whether to leave it, which KubeElasti never does, and nothing is asked whose answer would
// change nothing.
func TestQuestions(t *testing.T) {
	for _, c := range []struct {
		target Target
		policy Policy
		want   []string
	}{
		{idle, usual, []string{UptimeQuery("", cooldown), "a"}},
		{asleep, usual, []string{"a"}},
		{asleep, with(usual, func(p *Policy) { p.Period = night(t) }), nil},
	} {
		f := fakeAsker{values: one(0)}
		c.policy.Look(t.Context(), noon, c.target, scalers(&f, "a"))
		if diff := cmp.Diff(c.want, f.asked); diff != "" {
			t.Errorf("%d replicas: asked (-want +got):\n%s", c.target.Replicas, diff)
		}
	}
}

// TestDefaults: what an ElastiService leaves out.
func TestDefaults(t *testing.T) {
	zero := int32(0)
	for _, c := range []struct {
		spec elastiv1alpha1.ElastiServiceSpec
		want Policy
	}{
		{elastiv1alpha1.ElastiServiceSpec{}, Policy{MinReplicas: 1, Cooldown: 15 * time.Minute}},
		{elastiv1alpha1.ElastiServiceSpec{MinTargetReplicas: 4, CooldownPeriod: &zero}, Policy{MinReplicas: 4}},
	} {
		if got := PolicyOf(&c.spec); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.spec, got, c.want)
		}
	}
	p := PolicyOf(&elastiv1alpha1.ElastiServiceSpec{EnabledPeriod: &elastiv1alpha1.EnabledPeriod{}})
	if p.PeriodErr != nil || !p.Period.Open(noon) || !p.Period.Open(noon.Add(11*time.Hour+59*time.Minute)) {
		t.Errorf("a period of defaults is not always open: %v", p.PeriodErr)
	}
	p = PolicyOf(&elastiv1alpha1.ElastiServiceSpec{EnabledPeriod: &elastiv1alpha1.EnabledPeriod{Schedule: "0 0 30 2 *"}})
	if p.PeriodErr == nil {
		t.Error("a period on February 30 is taken")
	}
}

// TestMessage: what a decision says names the query, its value and the threshold.
func TestMessage(t *testing.T) {
	f := fakeAsker{values: one(0.25)}
	d := usual.Look(t.Context(), noon, idle, scalers(&f, "a"))
	if want := "it is not needed (a is 0.25, threshold 1), for 15m0s"; d.Message != want {
		t.Errorf("%q, want %q", d.Message, want)
	}
	want := []Reading{{Query: "a", Value: 0.25, Threshold: 1, At: noon}}
	if diff := cmp.Diff(want, d.Readings); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
	f = fakeAsker{errs: map[string]error{"a": &AskError{ReasonTimeout, fmt.Errorf("Prometheus at p:9090 did not answer within 5s")}}}
	if d = usual.Look(t.Context(), noon, idle, scalers(&f, "a")); d.Reason != ReasonTimeout || d.Message != "Prometheus at p:9090 did not answer within 5s" {
		t.Errorf("%s: %s", d.Reason, d.Message)
	}
}
