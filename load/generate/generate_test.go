package generate

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func shape(t interface {
	Helper()
	Fatal(...any)
}, text string) Shape {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFormulas: each formula at a few places, by hand.
func TestFormulas(t *testing.T) {
	for _, c := range []struct {
		spec string
		n    int
		step time.Duration
		want []float64
	}{
		{"constant", 3, time.Minute, []float64{1, 1, 1}},
		{"sinusoidal:peaks=2", 5, time.Minute, []float64{0.5, 1, 0.5, 0, 0.5}}, // two half periods are one period
		{"sinusoidal", 11, time.Minute, []float64{0.5, 1, 0.5, 0, 0.5, 1, 0.5, 0, 0.5, 1, 0.5}},
		{"low_high", 5, time.Minute, []float64{0, 1, 0, 1, 0}}, // an odd number of steps too
		{"diurnal:noise=0", 5, 6 * time.Hour, []float64{0.25, 0.066987298, 0.75, 0.933012702, 0.25}},
		{"diurnal:noise=0,low=0s,sharp=2", 3, 6 * time.Hour, []float64{0, 0.25, 1}},
		{"batch:every=3m,lasting=1m,first=1m", 8, time.Minute, []float64{0, 1, 0, 0, 1, 0, 0, 1}},
		{"leak:over=4m", 6, time.Minute, []float64{0, 0.25, 0.5, 0.75, 0, 0.25}},
		{"step:unit=0", 3, time.Minute, []float64{0.5, 0.5, 0.5}},
		{"bursts:rate=0", 3, time.Minute, []float64{0, 0, 0}},
	} {
		if diff := cmp.Diff(c.want, shape(t, c.spec).Shares(c.n, c.step, 1), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.spec, diff)
		}
	}
}

// TestStep: each step is a whole number of units, at most so many, and within 0 and 1; all of them come.
func TestStep(t *testing.T) {
	got := shape(t, "step:start=0.9,unit=0.02,max-steps=3").Shares(5000, time.Minute, 7)
	if got[0] != 0.9 {
		t.Errorf("starts at %v", got[0])
	}
	seen := map[int]bool{}
	for i, v := range got[1:] {
		by := (v - got[i]) / 0.02
		clipped := v == 0 || v == 1
		if v < 0 || v > 1 || math.Abs(by) > 3+1e-9 || !clipped && got[i] != 0 && got[i] != 1 && math.Abs(by-math.Round(by)) > 1e-6 {
			t.Fatalf("step %d from %v to %v", i, got[i], v)
		}
		seen[int(math.Round(by))] = true
	}
	if len(seen) != 7 {
		t.Errorf("steps %v", seen)
	}
}

// TestBursts: as many as the rate says, within what chance allows, each as long as asked.
func TestBursts(t *testing.T) {
	got := shape(t, "bursts:rate=0.2,lasting=7m").Shares(200*24*60, time.Minute, 3)
	count, length, last, short := 0, 0, 0, 0
	for i, v := range got {
		if v == 1 && (i == 0 || got[i-1] == 0) {
			count++
			if i-last < 150 { // half of the mean
				short++
			}
			last = i
		}
		if v == 1 {
			length++
		}
	}
	if count < 850 || count > 1050 { // 960 arrive on average, some within another
		t.Errorf("%d bursts", count)
	}
	if s := float64(short) / float64(count); s < 0.3 || s > 0.48 { // 39 % of an exponential distribution, none of a regular one
		t.Errorf("%.2f of the bursts come soon after another", s)
	}
	if mean := float64(length) / float64(count); mean < 7 || mean > 7.4 {
		t.Errorf("%.2f minutes on average", mean)
	}
}

// TestNoise: of days, the mean stays and the deviation is as asked.
func TestNoise(t *testing.T) {
	calm, noisy := shape(t, "diurnal:noise=0"), shape(t, "diurnal:noise=0.1")
	a, b := calm.Shares(20*1440, time.Minute, 1), noisy.Shares(20*1440, time.Minute, 1)
	n, sum, squares := 0.0, 0.0, 0.0
	for i := range a {
		if a[i] > 0.1 && a[i] < 0.6 { // what is not clipped
			x := b[i]/a[i] - 1
			n, sum, squares = n+1, sum+x, squares+x*x
		}
	}
	if mean, deviation := sum/n, math.Sqrt(squares/n); math.Abs(mean) > 0.005 || math.Abs(deviation-0.1) > 0.005 {
		t.Errorf("mean %.4f, deviation %.4f", mean, deviation)
	}
}

// TestShares: all shapes stay within the range, give as many values as asked, and the same from the same seed.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := shape(t, rapid.SampledFrom(Names()).Draw(t, "shape"))
		n, step := rapid.IntRange(1, 3000).Draw(t, "n"), time.Duration(rapid.IntRange(1, 3600).Draw(t, "step"))*time.Second
		seed := rapid.Uint64().Draw(t, "seed")
		got := s.Shares(n, step, seed)
		if len(got) != n || slices.ContainsFunc(got, func(v float64) bool { return !(v >= 0 && v <= 1) }) {
			t.Fatalf("%d values: %v", len(got), got)
		}
		if !slices.Equal(got, s.Shares(n, step, seed)) {
			t.Fatal("the same seed gave other values")
		}
	})
}

// TestParse: what is wrong with a shape.
func TestParse(t *testing.T) {
	if got := shape(t, "step:start=0.2,unit=0.1").String(); got != "step:start=0.2,unit=0.1" {
		t.Error(got)
	}
	for text, want := range map[string]string{
		"sinus": "choose constant", "diurnl": `did you mean "diurnal"`, "step:strat=1": `did you mean "start"`, "step:start=2": "0 to 1",
		"batch:every=1": "want a duration", "leak:over=1h,over=2h": "given twice",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
}

func some(t *testing.T) Load {
	return Load{CPUShape: shape(t, "low_high"), MemoryShape: shape(t, "constant"), CPU: Range{100, 300}, Memory: Range{0, 1000},
		From: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), Length: 4 * time.Minute, Step: time.Minute, Seed: 42, Workloads: 2, Replicas: 2, Usage: true}
}

// TestReplicas: replicas are there all the time with values in the range; noise parts them.
func TestReplicas(t *testing.T) {
	l := some(t)
	pods := l.Pods()
	if len(pods) != 4 {
		t.Fatalf("%d pods", len(pods))
	}
	for _, p := range pods {
		if diff := cmp.Diff([][]int64{{100, 300, 100, 300}, {1000, 1000, 1000, 1000}}, [][]int64{p.CPU, p.Memory}); diff != "" {
			t.Error(diff)
		}
	}
	l.Noise = 0.1
	if pods := l.Pods(); slices.Equal(pods[0].CPU, pods[1].CPU) {
		t.Error("noise is the same for all replicas")
	}
}

// TestArrivals: pods come at the rate that the shape says, live as long as asked on average, and end with the load.
func TestArrivals(t *testing.T) {
	l := some(t)
	l.Workloads, l.Length, l.Rate, l.Lifetime = 1, 100*time.Hour, 60, 10*time.Minute
	pods := l.Pods()
	if n := len(pods); n < 2800 || n > 3200 { // half of the steps have 60 an hour, half have none
		t.Errorf("%d pods", n)
	}
	end, lived, full := l.From.Add(l.Length), 0.0, 0.0
	for _, p := range pods {
		minute := int(p.From.Sub(l.From) / time.Minute)
		if minute%2 == 0 {
			t.Fatalf("a pod comes at minute %d, where there are none", minute)
		}
		if !p.To.After(p.From) || p.To.After(end) {
			t.Fatalf("%+v", p)
		}
		if p.From.Before(end.Add(-2 * time.Hour)) {
			lived, full = lived+p.To.Sub(p.From).Minutes(), full+1
		}
		if first := l.First(p); len(p.CPU) > 0 && (first.Before(p.From) || !first.Before(p.To)) {
			t.Fatalf("values from %s of a pod from %s to %s", first, p.From, p.To)
		}
	}
	if mean := lived / full; mean < 9.3 || mean > 10.7 {
		t.Errorf("lives of %.2f minutes", mean)
	}
	if !slices.IsSortedFunc(pods, func(a, b Pod) int { return a.From.Compare(b.From) }) {
		t.Error("pods are not in order")
	}
}

// TestCheck: loads that cannot be made are refused before anything is.
func TestCheck(t *testing.T) {
	for name, change := range map[string]func(*Load){
		"step": func(l *Load) { l.Step = 0 }, "length": func(l *Load) { l.Length = time.Second }, "pods": func(l *Load) { l.Workloads = 0 },
		"values": func(l *Load) { l.Length, l.Step, l.Replicas = 10000*time.Hour, time.Second, 10000 }, "least before the most": func(l *Load) { l.CPU.Least = 400 },
		"noise": func(l *Load) { l.Noise = math.NaN() }, "an hour": func(l *Load) { l.Rate = 1e9 }, "lifetime": func(l *Load) { l.Rate, l.Lifetime = 1, 0 },
	} {
		l := some(t)
		change(&l)
		if err := l.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	l := some(t)
	if err := l.Check(); err != nil {
		t.Error(err)
	}
}
