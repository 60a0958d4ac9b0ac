package elasti

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
)

// DefaultInterval is how often every ElastiService is looked at; KubeElasti's.
const DefaultInterval = 30 * time.Second

// Policy is what an ElastiService asks for.
type Policy struct {
	// MinReplicas are those that a workload has at least when it is needed: 1 or more.
	MinReplicas int32
	// Cooldown is how long a workload must have been without need before it is scaled to zero. Time of which nobody knows counts: an answer that is unknown scales
	// nothing, and begins nothing again, as with KubeElasti; the answer that scales to zero is always one that is known. That a Prometheus was up for all of the
	// cooldown is what IsHealthy asks.
	Cooldown time.Duration
	// Period is when it may be; PeriodErr is why that cannot be said. Then it may never be.
	Period    *Period
	PeriodErr error
	// WakeOnUnknown scales from zero when no trigger can say whether the workload is needed. It may start everything at once when a
	// Prometheus fails.
	WakeOnUnknown bool
}

// PolicyOf reads the specification of an ElastiService, with its defaults.
func PolicyOf(spec *elastiv1alpha1.ElastiServiceSpec) Policy {
	p := Policy{MinReplicas: max(spec.MinTargetReplicas, 1), Cooldown: elastiv1alpha1.DefaultCooldownSeconds * time.Second}
	if spec.CooldownPeriod != nil {
		p.Cooldown = time.Duration(*spec.CooldownPeriod) * time.Second
	}
	p.Period, p.PeriodErr = ParsePeriod(spec.EnabledPeriod)
	return p
}

// Target is a workload at an instant.
type Target struct {
	// Since is when its ElastiService was created.
	Since time.Time
	// LastNeeded is when it was last found to be needed; zero if never.
	LastNeeded time.Time
	// Replicas are those that are wanted of it (spec.replicas), not those that run: what runs follows later.
	Replicas int32
}

// Question is what scalers are asked.
type Question int

const (
	// AskNothing: the answer would change nothing.
	AskNothing Question = iota
	// AskFromZero is ShouldScaleFromZero.
	AskFromZero
	// AskToZero is IsHealthy and ShouldScaleToZero.
	AskToZero
)

// Answer is what one scaler says to a Question.
type Answer struct {
	// Yes to the question. Healthy belongs to AskToZero.
	Yes, Healthy bool
	// Err is why it does not know.
	Err error
	// Reading is what it read; nil where it does not say.
	Reading *Reading
}

// Reasons of decisions. Reasons of AskError are others.
const (
	ReasonNoTriggers      = "NoTriggers"
	ReasonOutsidePeriod   = "OutsideEnabledPeriod"
	ReasonInvalidPeriod   = "InvalidEnabledPeriod"
	ReasonNeeded          = "Needed"
	ReasonNotNeeded       = "NotNeeded"
	ReasonCooldown        = "Cooldown"
	ReasonUnhealthy       = "PrometheusWasAway"
	ReasonTriggerFailed   = "TriggerFailed"
	ReasonWokenByUnknown  = "WokenByUnknown"
	ReasonInvalidTriggers = "InvalidTriggers"
)

// Decision is what becomes of a workload. It is nothing where To is From.
type Decision struct {
	From, To int32
	// Needed: the workload was found to be needed, or must not be scaled to zero now. The cooldown begins again.
	Needed bool
	// Reason is a word, Message a sentence.
	Reason, Message string
	// Err is why nothing could be decided.
	Err error
	// Readings are what triggers read, in their order.
	Readings []Reading
}

// Ask says which question decides about a workload now. At zero replicas it is whether to leave zero: KubeElasti asks whether to go to zero
// there, too, and nobody while the ElastiService is younger than the cooldown, so that who needs it then waits.
func (p Policy) Ask(now time.Time, t Target) Question {
	switch {
	case p.PeriodErr != nil || !p.Period.Open(now):
		return AskNothing
	case t.Replicas == 0:
		return AskFromZero
	}
	return AskToZero
}

// Decide is what follows from the answers, one for each trigger. It is a pure function, and the order of the answers changes what is said only.
func (p Policy) Decide(now time.Time, t Target, answers []Answer) Decision {
	d := Decision{From: t.Replicas, To: t.Replicas}
	for _, a := range answers {
		if a.Reading != nil {
			d.Readings = append(d.Readings, *a.Reading)
		}
	}
	switch p.Ask(now, t) {
	case AskNothing:
		p.needed(&d)
		d.Reason, d.Message = ReasonOutsidePeriod, fmt.Sprintf("it may be scaled to zero %s only", p.Period)
		if p.PeriodErr != nil {
			d.Reason, d.Message, d.Err = ReasonInvalidPeriod, p.PeriodErr.Error(), p.PeriodErr
		}
	case AskFromZero:
		p.fromZero(&d, answers)
	case AskToZero:
		p.toZero(&d, now, t, answers)
	}
	return d
}

// needed wants as many replicas as a needed workload has at least.
func (p Policy) needed(d *Decision) {
	d.Needed, d.To = true, max(d.From, p.MinReplicas)
}

func (p Policy) fromZero(d *Decision, answers []Answer) {
	var unknown error
	for _, a := range answers {
		if a.Err == nil && a.Yes {
			p.needed(d)
			d.Reason, d.Message = ReasonNeeded, "it is needed"+about(a)
			return
		}
		unknown = cmp.Or(unknown, a.Err)
	}
	switch {
	case len(answers) == 0:
		d.fail(ReasonNoTriggers, errors.New("there are no triggers"))
	case unknown != nil && p.WakeOnUnknown:
		p.needed(d)
		d.Reason, d.Message, d.Err = ReasonWokenByUnknown, "nobody knows whether it is needed: "+unknown.Error(), unknown
	case unknown != nil:
		d.fail(ReasonOf(unknown, ReasonTriggerFailed), unknown)
	default:
		d.Reason, d.Message = ReasonNotNeeded, "it is not needed"+about(answers[0])
	}
}

// toZero: one trigger that needs the workload decides, whatever happens to the others. KubeElasti ends at the first error, so that the cooldown
// runs on while another trigger would have said that there is work.
func (p Policy) toZero(d *Decision, now time.Time, t Target, answers []Answer) {
	var unknown error
	healthy := true
	for _, a := range answers {
		if a.Err == nil && a.Healthy && !a.Yes {
			p.needed(d)
			d.Reason, d.Message = ReasonNeeded, "it is needed"+about(a)
			return
		}
		unknown = cmp.Or(unknown, a.Err)
		healthy = healthy && (a.Err != nil || a.Healthy)
	}
	since := now.Sub(later(t.Since, t.LastNeeded))
	switch {
	case len(answers) == 0:
		d.fail(ReasonNoTriggers, errors.New("there are no triggers"))
	case unknown != nil:
		d.fail(ReasonOf(unknown, ReasonTriggerFailed), unknown)
	case !healthy:
		d.Reason, d.Message = ReasonUnhealthy, fmt.Sprintf("Prometheus was not up for all of the last %s: what it has does not show that nobody needs it", p.Cooldown)
	case since < p.Cooldown:
		d.Reason, d.Message = ReasonCooldown, fmt.Sprintf("it is not needed%s, for %s of %s", about(answers[0]), max(since, 0).Truncate(time.Second), p.Cooldown)
	default:
		d.To = 0
		d.Reason, d.Message = ReasonNotNeeded, fmt.Sprintf("it is not needed%s, for %s", about(answers[0]), p.Cooldown)
	}
}

func (d *Decision) fail(reason string, err error) {
	d.Reason, d.Message, d.Err = reason, err.Error(), err
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// about is what a trigger read, in brackets.
func about(a Answer) string {
	if a.Reading == nil {
		return ""
	}
	return fmt.Sprintf(" (%s is %g, threshold %g)", a.Reading.Query, a.Reading.Value, a.Reading.Threshold)
}

// Answers asks scalers a question, in their order.
func Answers(ctx context.Context, q Question, scalers []Scaler) []Answer {
	out := make([]Answer, 0, len(scalers))
	for _, s := range scalers {
		var a Answer
		switch q {
		case AskNothing:
			return nil
		case AskFromZero:
			a.Yes, a.Err = s.ShouldScaleFromZero(ctx)
		case AskToZero:
			if a.Healthy, a.Err = s.IsHealthy(ctx); a.Err == nil && a.Healthy {
				a.Yes, a.Err = s.ShouldScaleToZero(ctx)
			}
		}
		if r, ok := s.(reader); ok && (q == AskFromZero || a.Healthy) {
			last := r.Last()
			a.Reading = &last
		}
		out = append(out, a)
	}
	return out
}

// Look asks what decides about a workload now, and decides.
func (p Policy) Look(ctx context.Context, now time.Time, t Target, scalers []Scaler) Decision {
	return p.Decide(now, t, Answers(ctx, p.Ask(now, t), scalers))
}
