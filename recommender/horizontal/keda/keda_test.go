package keda

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

var start = time.Date(2024, 5, 28, 10, 0, 0, 0, time.UTC)

// answers are those of a Prometheus by query; none: it is down.
type answers map[string][]float64

var errDown = errors.New("connection refused")

func (a answers) Ask(_ context.Context, query string, _ time.Time) ([]float64, error) {
	if v, ok := a[query]; ok {
		return v, nil
	}
	return nil, errDown
}

// with is a ScaledObject of one trigger "q", threshold 10, with more of its spec and annotations.
func with(t *testing.T, spec, annotations string) *ScaledObject {
	t.Helper()
	o, err := Parse([]byte(`{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"namespace": "shop", "name": "web", "annotations": {` + annotations + `}},
		"spec": {"scaleTargetRef": {"name": "web"}, ` + spec + `"triggers": [{"type": "prometheus", "metadata": {"query": "q", "threshold": "10"}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestPoll has a row for each rule of the specification.
func TestPoll(t *testing.T) {
	down, idle, busy := answers{}, answers{"q": {0}}, answers{"q": {1}}
	const fallback = `"fallback": {"failureThreshold": 2, "replicas": 5}, `
	for rule, c := range map[string]struct {
		spec, annotations string
		asker             answers
		polls             int           // of them all but the last only count
		active            time.Duration // how long ago a trigger was active; negative: never
		age               time.Duration
		from, to          int32
		says              string
	}{
		"active above the activation threshold, at once to 1": {"", "", busy, 1, -1, time.Hour, 0, 1, "active"},
		"to minReplicaCount":                          {`"minReplicaCount": 3, `, "", busy, 1, -1, time.Hour, 0, 3, "active"},
		"the HPA has what is more":                    {"", "", busy, 1, 0, time.Hour, 4, 4, "active"},
		"at the activation threshold is not above it": {"", "", idle, 1, -1, time.Hour, 0, 0, "no trigger is active"},
		"to zero after the cooldown":                  {"", "", idle, 1, 301 * time.Second, time.Hour, 4, 0, "no trigger is active, since 5m0s"},
		"not within it":                               {"", "", idle, 1, 300 * time.Second, time.Hour, 4, 4, "for 5m0s of 5m0s"},
		"a cooldown of its own":                       {`"cooldownPeriod": 60, `, "", idle, 1, 61 * time.Second, time.Hour, 4, 0, ""},
		"never active: no cooldown":                   {"", "", idle, 1, -1, time.Second, 4, 0, ""},
		"but the initial one":                         {`"initialCooldownPeriod": 120, `, "", idle, 1, -1, 119 * time.Second, 4, 4, "initialCooldownPeriod"},
		"after the initial one":                       {`"initialCooldownPeriod": 120, `, "", idle, 1, -1, 120 * time.Second, 4, 0, ""},
		"never to zero with a minimum":                {`"minReplicaCount": 2, `, "", idle, 1, time.Hour, time.Hour, 4, 4, ""},
		"up to the minimum":                           {`"minReplicaCount": 2, `, "", idle, 1, time.Hour, time.Hour, 1, 2, "fewer than minReplicaCount"},
		"to idleReplicaCount":                         {`"minReplicaCount": 2, "idleReplicaCount": 0, `, "", idle, 1, time.Hour, time.Hour, 4, 0, ""},
		"idle is less than the minimum, and stays":    {`"minReplicaCount": 2, "idleReplicaCount": 1, `, "", idle, 1, time.Hour, time.Hour, 1, 1, ""},
		"from idle to the minimum":                    {`"minReplicaCount": 2, "idleReplicaCount": 1, `, "", busy, 1, time.Hour, time.Hour, 1, 2, ""},
		"an error is no inactivity":                   {"", "", down, 9, time.Hour, time.Hour, 4, 4, "connection refused"},
		"an error is no activity":                     {"", "", down, 9, time.Hour, time.Hour, 0, 0, "connection refused"},
		"fallback not before its threshold is passed": {fallback, "", down, 2, time.Hour, time.Hour, 0, 0, "connection refused"},
		"fallback from zero after it":                 {fallback, "", down, 3, time.Hour, time.Hour, 0, 1, "failureThreshold"},
		"fallback is activity":                        {fallback, "", down, 3, time.Hour, time.Hour, 4, 4, "failureThreshold"},
		"paused":                                      {"", `"autoscaling.keda.sh/paused": "true"`, busy, 1, time.Hour, time.Hour, 0, 0, "paused"},
		"paused is only so with true":                 {"", `"autoscaling.keda.sh/paused": "false"`, busy, 1, time.Hour, time.Hour, 0, 1, ""},
		"paused at replicas":                          {"", `"autoscaling.keda.sh/paused-replicas": "7"`, busy, 1, time.Hour, time.Hour, 0, 7, "paused at 7"},
		"both: at replicas":                           {"", `"autoscaling.keda.sh/paused-replicas": "0", "autoscaling.keda.sh/paused": "true"`, busy, 1, time.Hour, time.Hour, 4, 0, "paused at 0"},
		"paused scaling in":                           {"", `"autoscaling.keda.sh/paused-scale-in": "true"`, idle, 1, time.Hour, time.Hour, 4, 4, "scaling in is paused"},
		"paused scaling in, out is not":               {"", `"autoscaling.keda.sh/paused-scale-in": "true"`, busy, 1, time.Hour, time.Hour, 0, 1, ""},
		"paused scaling out":                          {"", `"autoscaling.keda.sh/paused-scale-out": "true"`, busy, 1, time.Hour, time.Hour, 0, 0, "scaling out is paused"},
		"no series counts as 0":                       {"", "", answers{"q": nil}, 1, time.Hour, time.Hour, 4, 0, ""},
		"NaN counts as 0":                             {"", "", answers{"q": {math.NaN()}}, 1, time.Hour, time.Hour, 4, 0, ""},
		"infinity counts as 0":                        {"", "", answers{"q": {math.Inf(1)}}, 1, time.Hour, time.Hour, 4, 0, ""},
		"several series are an error":                 {"", "", answers{"q": {0, 0}}, 1, time.Hour, time.Hour, 4, 4, "2 series"},
	} {
		var active time.Time
		now := start.Add(24 * time.Hour)
		if c.active >= 0 {
			active = now.Add(-c.active)
		}
		s := NewScaler(with(t, c.spec, c.annotations), c.asker, now.Add(-c.age), active)
		var d Decision
		for range c.polls {
			d = s.Poll(t.Context(), now, c.from)
		}
		if d.To != c.to || !strings.Contains(d.Message, c.says) {
			t.Errorf("%s: %d -> %d (%s), want %d, %q", rule, d.From, d.To, d.Message, c.to, c.says)
		}
	}
}

// TestNullIsAnErrorWhereItIsSaid: ignoreNullValues "false".
func TestNullIsAnErrorWhereItIsSaid(t *testing.T) {
	for _, v := range [][]float64{nil, {math.NaN()}, {math.Inf(-1)}} {
		o := with(t, "", "")
		o.Spec.Triggers[0].Metadata["ignoreNullValues"] = "false"
		if err := o.Spec.Triggers[0].parse(); err != nil {
			t.Fatal(err)
		}
		s := NewScaler(o, answers{"q": v}, start, time.Time{})
		if d := s.Poll(t.Context(), start.Add(time.Hour), 4); d.To != 4 || !strings.Contains(d.Message, "ignoreNullValues is false") {
			t.Errorf("%v: %d, %s", v, d.To, d.Message)
		}
	}
}

// TestFallback: what the HorizontalPodAutoscaler is answered by the behaviors.
func TestFallback(t *testing.T) {
	for behavior, want := range map[string][2]float64{"static": {50, 50}, "": {50, 50}, "currentReplicas": {20, 80}, "currentReplicasIfHigher": {50, 80}, "currentReplicasIfLower": {20, 50}} {
		for i, current := range []int32{2, 8} {
			asker := answers{}
			s := NewScaler(with(t, `"fallback": {"failureThreshold": 1, "replicas": 5, "behavior": "`+behavior+`"}, `, ""), asker, start, start)
			if behavior == "" {
				s.object.Spec.Fallback.Behavior = behaviorStatic
			}
			if _, err := s.Metric(t.Context(), 0, start, current); !errors.Is(err, errDown) {
				t.Errorf("the first failure: %v, want the error", err)
			}
			if v, err := s.Metric(t.Context(), 0, start, current); err != nil || v != want[i] {
				t.Errorf("%s at %d: %v, %v; want %v", behavior, current, v, err, want[i])
			}
			asker["q"] = []float64{3}
			if v, err := s.Metric(t.Context(), 0, start, current); err != nil || v != 3 {
				t.Errorf("it is back: %v, %v", v, err)
			}
			delete(asker, "q")
			if _, err := s.Metric(t.Context(), 0, start, current); err == nil {
				t.Error("a failure after an answer is the first again")
			}
		}
	}
	o := with(t, `"fallback": {"failureThreshold": 0, "replicas": 5}, `, "")
	o.Spec.Triggers[0].MetricType = string(autoscalingv2.ValueMetricType)
	if _, err := NewScaler(o, answers{}, start, start).Metric(t.Context(), 0, start, 1); err == nil {
		t.Error("a metric of Value has no fallback")
	}
}

// TestHPA: what KEDA hands over to the HorizontalPodAutoscaler.
func TestHPA(t *testing.T) {
	o, err := Parse([]byte(`{"metadata": {"namespace": "shop", "name": "web", "annotations": {"autoscaling.keda.sh/paused-scale-in": "true"}}, "spec": {"scaleTargetRef": {"kind": "StatefulSet", "name": "web"},
		"maxReplicaCount": 8, "triggers": [{"type": "cpu", "metadata": {"value": "60"}}, {"type": "memory", "metricType": "AverageValue", "metadata": {"value": "1Gi", "containerName": "app"}},
		{"type": "prometheus", "metricType": "Value", "metadata": {"query": "q", "threshold": "2.5"}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	h := o.HPA()
	var got []string
	for _, m := range h.Spec.Metrics {
		switch {
		case m.Resource != nil:
			got = append(got, string(m.Resource.Name)+" "+string(m.Resource.Target.Type))
		case m.ContainerResource != nil:
			got = append(got, m.ContainerResource.Container+" "+m.ContainerResource.Target.AverageValue.String())
		case m.External != nil:
			got = append(got, m.External.Metric.Name+" "+m.External.Target.Value.String())
		}
	}
	if diff := cmp.Diff([]string{"cpu Utilization", "app 1Gi", "s2-prometheus 2500m"}, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if h.Name != "keda-hpa-web" || *h.Spec.MinReplicas != 1 || h.Spec.MaxReplicas != 8 || h.Spec.ScaleTargetRef.Kind != "StatefulSet" ||
		*h.Spec.Behavior.ScaleDown.SelectPolicy != autoscalingv2.DisabledPolicySelect || h.Spec.Behavior.ScaleUp.SelectPolicy != nil {
		t.Errorf("%+v", h)
	}
	o.Annotations[AnnotationPaused] = "true"
	if o.HPA() != nil {
		t.Error("while it is paused there is none")
	}
}

func TestParseRefuses(t *testing.T) {
	for spec, want := range map[string]string{
		`"triggers": []`: "there are none",
		`"triggers": [{"type": "cron", "metadata": {"start": "0 8 * * *", "end": "0 8 * * *", "timezone": "Etc/UTC", "desiredReplicas": "3"}}]`:    "are the same",
		`"triggers": [{"type": "cron", "metadata": {"start": "0 8 30 2 *", "end": "0 25 * * *", "timezone": "Mars", "desiredReplicas": "-3"}}]`:    "metadata.desiredReplicas",
		`"triggers": [{"type": "cron", "metadata": {"start": "0 8 30 2 *", "end": "0 9 * * *", "timezone": "Etc/UTC", "desiredReplicas": "3"}}]`:   "there is no such time",
		`"triggers": [{"type": "cron", "metadata": {"start": "0 8 * * *", "end": "0 25 * * *", "timezone": "Etc/UTC", "desiredReplicas": "3"}}]`:   `metadata.end "0 25 * * *"`,
		`"triggers": [{"type": "cron", "metadata": {"start": "0 8 * * *", "end": "0 9 * * *", "timezone": "Mars/North", "desiredReplicas": "3"}}]`: "want one such as Europe/Berlin",
		`"triggers": [{"type": "kafka", "metadata": {}}]`:                                                                                                         `type "kafka" is not modelled`,
		`"triggers": [{"type": "cpu", "metadata": {"value": "50"}}]`:                                                                                              "nothing would ever scale it from zero",
		`"triggers": [{"type": "prometheus", "metadata": {"query": "q"}}]`:                                                                                        "metadata.threshold is not set",
		`"triggers": [{"type": "prometheus", "metadata": {"query": "q", "threshold": "x"}}]`:                                                                      "want a number",
		`"triggers": [{"type": "prometheus", "metadata": {"threshold": "1"}}]`:                                                                                    "metadata.query is not set",
		`"idleReplicaCount": 0, "triggers": [{"type": "prometheus", "metadata": {"query": "q", "threshold": "1"}}]`:                                               "must be less than minReplicaCount",
		`"minReplicaCount": 5, "maxReplicaCount": 4, "triggers": [{"type": "prometheus", "metadata": {"query": "q", "threshold": "1"}}]`:                          "want 0 <= min <= max",
		`"fallback": {"failureThreshold": 1, "replicas": 1, "behavior": "x"}, "triggers": [{"type": "prometheus", "metadata": {"query": "q", "threshold": "1"}}]`: "fallback",
		`"advanced": {"scalingModifiers": {"formula": "a"}}, "triggers": [{"type": "prometheus", "metadata": {"query": "q", "threshold": "1"}}]`:                  `scalingModifiers (formula "a") are not modelled`,
	} {
		if _, err := Parse([]byte(`{"metadata": {"name": "web"}, "spec": {"scaleTargetRef": {"name": "web"}, ` + spec + `}}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
}

// FuzzParse: whatever is written, it is read or refused; what is read has an autoscaler or is paused.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"spec": {"scaleTargetRef": {"name": "a"}, "triggers": [{"type": "prometheus", "metadata": {"query": "q", "threshold": "1e300"}}]}}`))
	f.Add([]byte(`{"metadata": {"annotations": {"autoscaling.keda.sh/paused-replicas": "-1"}}, "spec": {"minReplicaCount": 1, "scaleTargetRef": {"name": "a"}, "triggers": [{"type": "cpu", "metadata": {"value": "1"}}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := Parse(data)
		if err != nil {
			return
		}
		if _, paused := o.paused(); (o.HPA() == nil) != paused {
			t.Errorf("paused %v, autoscaler %v", paused, o.HPA())
		}
		NewScaler(o, answers{}, start, start).Poll(t.Context(), start, 1)
	})
}
