package engines

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
)

// faulty replays an hour of web's 16 replicas under a controller and a fault.
func faulty(t *testing.T, c harness.NewController, objects, fault string, series load.Source) *scalehist.ReplayReport {
	t.Helper()
	list, err := ParseObjects([]byte(objects))
	if err != nil {
		t.Fatal(err)
	}
	var from harness.Moment
	if err := from.Set("+8h10m"); err != nil {
		t.Fatal(err)
	}
	options := []harness.Option{harness.WithAutoscaler(ClusterAutoscaler()), harness.OnControlPlane(harness.Memory), harness.WithController(c), harness.WithObjects(list...),
		harness.With(func(s *harness.Settings) { s.Window.From, s.For = from, time.Hour }), harness.WithLoad(series)}
	if fault != "" {
		f, err := trace.ParseFault(fault)
		if err != nil {
			t.Fatal(err)
		}
		options = append(options, harness.WithFaults(f))
	}
	r, err := harness.Play(t.Context(), filepath.Join("..", "fixtures", "full-day", "recording.db"), nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// reasons are those of the decisions about web that say something.
func reasons(r *scalehist.ReplayReport) string {
	var out []string
	for _, d := range r.WorkloadDecisions {
		for _, s := range d.Scales {
			out = append(out, s.Reason)
			for _, m := range s.Metrics {
				out = append(out, m.Error)
			}
		}
	}
	return strings.Join(out, "\n")
}

// TestElastiAndFailingMetrics is the table of docs/horizontal.md. Nobody needs web from the start on (a value of 0, a threshold of 1, a cooldown of 10 minutes), and
// for 20 minutes from the fifth on the source of metrics fails. Only a source that was away begins the cooldown again when it is back: what `up` says is all
// that distinguishes a series that was not there from one that was not needed.
func TestElastiAndFailingMetrics(t *testing.T) {
	for fault, want := range map[string]struct {
		at15, at29, at40 int32
		reason           string
	}{
		"":                                      {0, 0, 0, ""},
		"metrics-down@+5m..+25m":                {16, 16, 0, "is down"},
		"metrics-down:requests@+5m..+25m":       {16, 0, 0, "is down"},
		"metrics-slow@+5m..+25m,delay=10s":      {16, 0, 0, "no answer within 5s"},
		"metrics-slow@+5m..+25m,delay=4s":       {0, 0, 0, ""},
		"metrics-stale@+5m..+25m":               {0, 0, 0, ""},
		"metrics-empty@+5m..+25m":               {16, 0, 0, "has no series"},
		"metrics-nan@+5m..+25m":                 {16, 0, 0, "is NaN"},
		"metrics-wrong@+5m..+25m,value=5":       {16, 16, 0, ""},
		"metrics-wrong:other@+5m..+25m,value=5": {0, 0, 0, ""},
		"metrics-wrong:requests@+5m..+25m":      {0, 0, 0, ""},
	} {
		r := faulty(t, Elasti(), elastiWeb, fault, steps("requests", load.External, 0, map[time.Duration]float64{0: 0}))
		w := workloadOf(t, r, webSet)
		got := [3]int32{wantedAt(w, 15*time.Minute), wantedAt(w, 29*time.Minute), wantedAt(w, 40*time.Minute)}
		if diff := cmp.Diff([3]int32{want.at15, want.at29, want.at40}, got); diff != "" || !strings.Contains(reasons(r), want.reason) {
			t.Errorf("%q: replicas at 15, 29 and 40 minutes (-want +got):\n%s\n%s; want %q in the reasons", fault, diff, reasons(r), want.reason)
		}
		if fault != "" && cmp.Diff([]string{faultText(t, fault)}, r.Faults) != "" {
			t.Errorf("%q: the report has faults %q", fault, r.Faults)
		}
	}
}

func faultText(t *testing.T, text string) string {
	t.Helper()
	f, err := trace.ParseFault(text)
	if err != nil {
		t.Fatal(err)
	}
	return f.String()
}

// TestHPAAndFailingMetrics: at half of its target the HPA takes web from 16 replicas to 8, unless the metrics fail; from 25 minutes on it can.
func TestHPAAndFailingMetrics(t *testing.T) {
	const object = `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {minReplicas: 1, maxReplicas: 30,
		scaleTargetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web}, metrics: [{type: External, external: {metric: {name: requests}, target: {type: AverageValue, averageValue: "10"}}}]}}`
	for fault, want := range map[string]struct {
		at20, at40 int32
		reason     string
	}{
		"":                                 {8, 8, ""},
		"metrics-down@..+25m":              {16, 8, "the source of metric requests is down"},
		"metrics-slow@..+25m,delay=2m":     {16, 8, "gave no answer within 1m0s"},
		"metrics-slow@..+25m,delay=10s":    {8, 8, ""},
		"metrics-stale@..+25m":             {8, 8, ""},
		"metrics-empty@..+25m":             {16, 8, "the load has no metric requests"},
		"metrics-nan@..+25m":               {1, 8, ""}, // adapters make 0 of it: the outage that scales down
		"metrics-wrong@..+25m,value=200":   {20, 8, ""},
		"metrics-wrong@..+25m,value=10000": {30, 8, ""},
	} {
		r := faulty(t, HPA(hpa.Defaults()), object, fault, steps("requests", load.External, 0, map[time.Duration]float64{0: 80}))
		w := workloadOf(t, r, webSet)
		got := [2]int32{wantedAt(w, 20*time.Minute), wantedAt(w, 40*time.Minute)}
		if diff := cmp.Diff([2]int32{want.at20, want.at40}, got); diff != "" || !strings.Contains(reasons(r), want.reason) {
			t.Errorf("%q: replicas at 20 and 40 minutes (-want +got):\n%s\n%s; want %q in the reasons", fault, diff, reasons(r), want.reason)
		}
	}
}

// TestFaultsOfMetricsNeedSomebodyWhoReadsThem: such a fault would do nothing otherwise.
func TestFaultsOfMetricsNeedSomebodyWhoReadsThem(t *testing.T) {
	_, err := harness.Play(t.Context(), filepath.Join("..", "fixtures", "full-day", "recording.db"), nil, harness.WithAutoscaler(ClusterAutoscaler()), harness.OnControlPlane(harness.Memory),
		harness.WithFaults(trace.Fault{Kind: trace.FaultMetricsDown}))
	if err == nil || !strings.Contains(err.Error(), "no autoscaler of workloads that would read them") {
		t.Errorf("%v, want an error that says so", err)
	}
}

// TestForecastsAreAskedByName: a name that is no forecast is an error of the metric, not of the replay.
func TestForecastsAreAskedByName(t *testing.T) {
	r := faulty(t, Elasti(), strings.Replace(elastiWeb, `"requests"`, `"forecast:requests:1h"`, 1), "", steps("requests", load.External, 0, map[time.Duration]float64{0: 0}))
	if text := reasons(r); !strings.Contains(text, "write forecast:METRIC:SEASON:LEAD") {
		t.Errorf("reasons %s, want how it is written", text)
	}
}
