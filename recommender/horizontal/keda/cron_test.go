package keda

import (
	"testing"
	"time"
)

func cronObject(t *testing.T, spec, window string) *ScaledObject {
	t.Helper()
	o, err := Parse([]byte(`{"metadata": {"name": "web"}, "spec": {"scaleTargetRef": {"name": "web"}, ` + spec + `"triggers": [{"type": "cron", "metadata": {` + window + `, "desiredReplicas": "6"}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestCron: the window of a trigger, its start in and its end out, over midnight, in its time zone with a change of the clocks.
func TestCron(t *testing.T) {
	const day = `"start": "0 8 * * *", "end": "30 17 * * *", `
	for _, c := range []struct {
		window, at string
		open       bool
	}{
		{day + `"timezone": "Etc/UTC"`, "2024-05-28T07:59:59Z", false},
		{day + `"timezone": "Etc/UTC"`, "2024-05-28T08:00:00Z", true},
		{day + `"timezone": "Etc/UTC"`, "2024-05-28T17:29:59Z", true},
		{day + `"timezone": "Etc/UTC"`, "2024-05-28T17:30:00Z", false},
		{day + `"timezone": "Europe/Berlin"`, "2024-05-28T06:00:00Z", true},
		{day + `"timezone": "Europe/Berlin"`, "2024-01-28T06:59:59Z", false}, // an hour later in winter
		{day + `"timezone": "Asia/Kolkata"`, "2024-05-28T02:30:00Z", true},
		{`"start": "0 22 * * *", "end": "0 6 * * *", "timezone": "Etc/UTC"`, "2024-05-28T23:00:00Z", true},
		{`"start": "0 22 * * *", "end": "0 6 * * *", "timezone": "Etc/UTC"`, "2024-05-28T05:59:00Z", true},
		{`"start": "0 22 * * *", "end": "0 6 * * *", "timezone": "Etc/UTC"`, "2024-05-28T12:00:00Z", false},
		{`"start": "0 8 * * 1-5", "end": "0 18 * * 1-5", "timezone": "Etc/UTC"`, "2024-06-01T12:00:00Z", false}, // a Saturday
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		o := cronObject(t, "", c.window)
		s := NewScaler(o, answers{}, start, time.Time{})
		metric := o.HPA().Spec.Metrics[0].External
		trigger, err := s.TriggerOf(metric.Metric.Name)
		if err != nil || metric.Target.AverageValue.String() != "1" {
			t.Fatalf("%+v, %v", metric, err)
		}
		want := map[bool]float64{true: 6, false: 1}[c.open]
		if v, err := s.Metric(t.Context(), trigger, at, 3); err != nil || v != want {
			t.Errorf("%s at %s: %v, %v; want %v", c.window, c.at, v, err, want)
		}
		d := s.Poll(t.Context(), at, 0)
		if to := map[bool]int32{true: 1, false: 0}[c.open]; d.To != to || d.Active != c.open {
			t.Errorf("%s at %s: to %d, active %v", c.window, c.at, d.To, d.Active)
		}
	}
	// It goes back to zero a cooldown after the end, as any other trigger.
	s := NewScaler(cronObject(t, "", `"start": "0 8 * * *", "end": "0 9 * * *", "timezone": "Etc/UTC"`), answers{}, start.Add(-24*time.Hour), time.Time{})
	nine := time.Date(2024, 5, 28, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		at   time.Duration
		want int32
	}{{-30 * time.Second, 6}, {0, 6}, {270 * time.Second, 6}, {300 * time.Second, 0}} {
		if d := s.Poll(t.Context(), nine.Add(c.at), 6); d.To != c.want {
			t.Errorf("%s after the end: %d (%s), want %d", c.at, d.To, d.Message, c.want)
		}
	}
}
