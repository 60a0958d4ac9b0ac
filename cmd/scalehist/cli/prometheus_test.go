package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
	"github.com/scalehist/scalehist/recorder/history"
)

// metricsHistory is an hour of `up`, which is 1, and of a rate that is 7 in its first half and 0 then.
func metricsHistory(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "metrics.db")
	start := time.Date(2024, 5, 28, 10, 0, 0, 0, time.UTC)
	w, err := history.Create(t.Context(), path, history.Options{Cluster: "test"})
	if err == nil {
		_, err = w.Begin(t.Context(), start, nil)
	}
	for name, spec := range map[string]v1alpha1.MetricQuerySpec{"up": {Query: `up{container="prometheus"}`, Series: true, StepSeconds: 30}, "requests": {Query: "sum(rate(requests_total[1m]))", StepSeconds: 30}} {
		o := &v1alpha1.MetricQuery{Spec: spec}
		o.Name = name
		if err == nil {
			err = w.Write(t.Context(), []history.Entry{{ObservedAt: start, Change: scalehist.Change{At: start, Op: scalehist.OpAdd, Object: o}}})
		}
	}
	for at := start; !at.After(start.Add(time.Hour)); at = at.Add(30 * time.Second) {
		v := 7.0
		if at.Sub(start) > 30*time.Minute {
			v = 0
		}
		if err == nil {
			err = w.Sample(t.Context(), []history.Sample{{Series: "up", Labels: map[string]string{"__name__": "up", "container": "prometheus"}, At: at, Value: 1}, {Series: "requests", At: at, Value: v}})
		}
	}
	if err == nil {
		err = w.End(t.Context(), start.Add(time.Hour))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// servedPrometheus runs 'prometheus serve' until the test ends, and gives its address.
func servedPrometheus(t *testing.T, args ...string) string {
	t.Helper()
	r, w := io.Pipe()
	ended := make(chan int, 1)
	ctx := t.Context() // ends before the cleanups
	go func() {
		ended <- Execute(ctx, append([]string{"prometheus", "serve", "--listen", "127.0.0.1:0"}, args...), console.IO{In: strings.NewReader(""), Out: io.Discard, Err: w})
		_ = w.Close()
	}()
	said := bufio.NewScanner(r)
	if !said.Scan() {
		t.Fatalf("it says nothing, and ended with %d", <-ended)
	}
	_, address, found := strings.Cut(said.Text(), " on ")
	if !found {
		t.Fatalf("it says %q, and ended with %d", said.Text(), <-ended)
	}
	t.Cleanup(func() {
		go func() { _, _ = io.Copy(io.Discard, r) }()
		if code := <-ended; code != 0 && code != console.ExitInterrupted {
			t.Errorf("exit code %d", code)
		}
	})
	return address
}

// TestScalerAsksARecording: the Prometheus scaler of a real cluster, unmodified, decides by the recorded past as if it were now.
func TestScalerAsksARecording(t *testing.T) {
	path := metricsHistory(t)
	metadata := json.RawMessage(`{"query": "sum(rate(requests_total[1m]))", "threshold": "1"}`)
	type answers struct{ Healthy, ToZero, FromZero bool }
	for at, want := range map[string]answers{"+25m": {true, false, true}, "+50m": {true, true, false}} {
		servers := elasti.Servers{Default: servedPrometheus(t, path, "--at", at), Allowed: []string{"127.0.0.1"}}
		s, err := servers.Factory(clock.RealClock{})(metadata, 10*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var got answers
		var errs [3]error
		got.Healthy, errs[0] = s.IsHealthy(t.Context())
		got.ToZero, errs[1] = s.ShouldScaleToZero(t.Context())
		got.FromZero, errs[2] = s.ShouldScaleFromZero(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || errs != [3]error{} {
			t.Errorf("at %s: %v (-want +got):\n%s", at, errs, diff)
		}
	}
	// A question that was not recorded decides nothing, and says why.
	servers := elasti.Servers{Default: servedPrometheus(t, path, "--at", "+50m"), Allowed: []string{"127.0.0.1"}}
	s, err := servers.Factory(clock.RealClock{})(json.RawMessage(`{"query": "sum(rate(other_total[1m]))", "threshold": "1"}`), 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if zero, err := s.ShouldScaleToZero(t.Context()); zero || err == nil || !strings.Contains(err.Error(), "other_total is not recorded") || elasti.ReasonOf(err, "") != elasti.ReasonFailed {
		t.Errorf("an unrecorded query: %v, %v; want an error that says so", zero, err)
	}
}

func TestPrometheusServeRefuses(t *testing.T) {
	path := metricsHistory(t)
	for want, args := range map[string][]string{
		"is reached by others":          {path, "--listen", "0.0.0.0:0"},
		"choose an instant in it":       {path, "--at", "+2h", "--listen", "127.0.0.1:0"},
		"no metrics are recorded in it": {"../../../fixtures/aws-burst/recording.db", "--listen", "127.0.0.1:0"},
		"--listen: listen tcp":          {path, "--listen", "127.0.0.1:x"},
		"missing argument FILE.db":      nil,
		"does not exist":                {filepath.Join(t.TempDir(), "absent.db")},
	} {
		code, _, errs := run(t, t.Context(), append([]string{"prometheus", "serve"}, args...)...)
		if code != console.ExitFailed || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, %s; want %q", args, code, errs, want)
		}
	}
}

// TestRecordChecksSelectors: a selector that is none is refused at once, with its place, before a file is there or a cluster is asked.
func TestRecordChecksSelectors(t *testing.T) {
	for selector, want := range map[string]string{`up{job=`: "1:8: parse error", "sum(up)": "not a selector of series", "up[5m]": "not a selector of series"} {
		file := filepath.Join(t.TempDir(), "x.db")
		code, _, stderr := run(t, t.Context(), "record", "-o", file, "--kubeconfig", "no/such/file", "--prometheus", "http://127.0.0.1:1", "--series", "up", "--series", selector)
		if code != 2 || !strings.Contains(stderr, "series "+selector) || !strings.Contains(stderr, want) || console.FileExists(file) {
			t.Errorf("%s: exit %d, want 2 and %q:\n%s", selector, code, want, stderr)
		}
	}
}
