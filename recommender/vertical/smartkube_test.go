package vertical

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// faithful takes all deviations away.
var faithful = []string{"scale-1e7=false", "samples-per-second=false", "memory-bounds-of-cpu=false", "upper-exponent=1", "min-per-container=false",
	"memory-every-sample=false", "cpu-weight=0.1", "confidence=true", "minimum=true"}

// port is smart-kube's recommender without deviations but for those that are given.
func port(deviations ...string) string {
	options := append([]string{}, faithful...)
	for _, d := range deviations {
		name, _, _ := strings.Cut(d, "=")
		for i, o := range options {
			if strings.HasPrefix(o, name+"=") {
				options[i] = d
			}
		}
	}
	return "smart-kube:" + strings.Join(options, ",")
}

// TestSmartKubeWithoutDeviationsIsUpstream: with every deviation taken away, the port recommends what upstream's recommender does.
func TestSmartKubeWithoutDeviationsIsUpstream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ours, upstreams := made(t, port(), shop), made(t, "vpa", shop)
		var now time.Time
		both := map[string]bool{}
		for _, s := range drawSamples(t) {
			for _, r := range []Recommender{ours, upstreams} {
				if err := r.Observe(s); err != nil {
					t.Fatal(err)
				}
			}
			now = s.At
			both[s.Container] = true
		}
		var want []Recommendation
		for _, r := range ask(t, upstreams, now) {
			if both[r.Container] { // upstream also recommends the least for a container without usage
				want = append(want, r)
			}
		}
		if diff := cmp.Diff(want, ask(t, ours, now)); diff != "" {
			t.Fatalf("(-upstream +port without deviations):\n%s", diff)
		}
	})
}

// deviation compares upstream's rule with one deviation of the port on the same load of one container.
func deviation(t *testing.T, set string, minutes int, usage func(int) Amount) (upstream, ported Recommendation) {
	t.Helper()
	one := Workload{Namespace: "shop", Name: "web", Containers: []string{"app"}}
	both := [2]Recommendation{}
	for i, spec := range []string{"vpa", port(set)} {
		r := made(t, spec, one)
		now := feed(t, r, minutes, usage)
		both[i] = ask(t, r, now)[0]
	}
	return both[0], both[1]
}

const day = 1440

// TestDeviationScale: a megabyte is 1e7 bytes to the port, so that its buckets of memory begin at 1 MB, where upstream's first one is of 10 MB.
func TestDeviationScale(t *testing.T) {
	var got [2]int64
	for i, spec := range []string{port("minimum=false"), strings.Replace(port("minimum=false"), "scale-1e7=false", "scale-1e7=true", 1)} {
		r := made(t, spec, shop)
		now := feed(t, r, 10, steady(100, 4e6))
		got[i] = ask(t, r, now)[0].Target.MemoryBytes
	}
	if got[0] != 11.5e6 { // the end of the first bucket, and the margin
		t.Errorf("upstream: %d", got[0])
	}
	if got[1] < 4e6*1.15 || got[1] > 4.4e6*1.15 {
		t.Errorf("the port: %d, want the end of a bucket around 4 MB, and the margin", got[1])
	}
}

// TestDeviationSamples: confidence 1 takes a sample a second for a day, so that a sample a minute is 60 times less sure.
func TestDeviationSamples(t *testing.T) {
	upstream, ported := deviation(t, "samples-per-second=true", 7*day, steady(1000, 1<<30))
	if ratio := float64(upstream.Upper.CPUMilli) / float64(upstream.Target.CPUMilli); ratio < 1.13 || ratio > 1.15 {
		t.Errorf("upstream after a week: upper is %.2f of the target", ratio)
	}
	if ratio := float64(ported.Upper.CPUMilli) / float64(ported.Target.CPUMilli); ratio < 9 || ratio > 10 { // 1 + 1440*60/(7*1440)
		t.Errorf("the port after a week: upper is %.2f of the target, want 9.57", ratio)
	}
}

// TestDeviationMemoryBounds: the bounds of memory come of those of CPU, as so many megabytes as CPU has millicores.
func TestDeviationMemoryBounds(t *testing.T) {
	upstream, ported := deviation(t, "memory-bounds-of-cpu=true", 7*day, steady(1000, 4<<30))
	if upstream.Lower.MemoryBytes < 4<<30 {
		t.Errorf("upstream: %+v", upstream)
	}
	if ported.Upper.MemoryBytes >= ported.Target.MemoryBytes {
		t.Errorf("the port, whose upper bound is below its target: %+v", ported)
	}
	if want := ported.Upper.CPUMilli * 1e6; ported.Upper.MemoryBytes < want*95/100 || ported.Upper.MemoryBytes > want*105/100 {
		t.Errorf("upper bound %d MB for %d millicores", ported.Upper.MemoryBytes/1e6, ported.Upper.CPUMilli)
	}
}

// TestDeviationExponent: the upper bound is scaled by the square of what upstream scales it by.
func TestDeviationExponent(t *testing.T) {
	upstream, ported := deviation(t, "upper-exponent=2", day, steady(1000, 1<<30))
	ratio := func(r Recommendation) float64 { return float64(r.Upper.CPUMilli) / float64(r.Target.CPUMilli) }
	if r := ratio(upstream); r < 1.99 || r > 2.01 {
		t.Errorf("upstream after a day: %.2f", r)
	}
	if r := ratio(ported); r < 3.98 || r > 4.02 {
		t.Errorf("the port after a day: %.2f, want 4", r)
	}
}

// TestDeviationMinimum: upstream splits the least of a pod over its containers, the port gives all of it to each, and in other megabytes.
func TestDeviationMinimum(t *testing.T) {
	for spec, want := range map[string]Amount{
		port():                         {12, 131072000}, // 25m and 250 MiB by two
		port("min-per-container=true"): {25, 250e6},
	} {
		r := made(t, spec, shop)
		now := feed(t, r, day, steady(1, 1<<20))
		if got := ask(t, r, now)[0].Target; got != want {
			t.Errorf("%s: %+v, want %+v", spec, got, want)
		}
	}
}

// TestDeviationMemoryPeaks: upstream counts the peak of a day, so that a short spike is the target; the port counts every sample, so
// that it is lost among them.
func TestDeviationMemoryPeaks(t *testing.T) {
	upstream, ported := deviation(t, "memory-every-sample=true", day, func(m int) Amount {
		if m == 700 {
			return Amount{100, 4 << 30}
		}
		return Amount{100, 512 << 20}
	})
	if upstream.Target.MemoryBytes < 4<<30 {
		t.Errorf("upstream: %+v", upstream)
	}
	if ported.Target.MemoryBytes > 1<<30 {
		t.Errorf("the port: %+v", ported)
	}
}

// TestDeviationWeight: samples of CPU weigh ten times as much. As all of a histogram do, no percentile is another.
func TestDeviationWeight(t *testing.T) {
	weighed := func(spec string) string {
		r := made(t, spec, shop).(*smartKube)
		feed(t, r, 1, steady(1000, 1<<30))
		return r.state("app").cpu.String()
	}
	if one, ten := weighed(port()), weighed(port("cpu-weight=1")); one == ten {
		t.Errorf("both have the weights of\n%s", one)
	}
	rapid.Check(t, func(t *rapid.T) {
		upstream, ported := made(t, port(), shop), made(t, port("cpu-weight=1"), shop)
		now := start
		for _, s := range drawSamples(t) {
			now = s.At
			for _, r := range []Recommender{upstream, ported} {
				if err := r.Observe(s); err != nil {
					t.Fatal(err)
				}
			}
		}
		if diff := cmp.Diff(ask(t, upstream, now), ask(t, ported, now)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestDeviationDefaults: in smart-kube's configuration there is neither confidence nor a least recommendation.
func TestDeviationDefaults(t *testing.T) {
	r := made(t, "smart-kube", Workload{Namespace: "shop", Name: "web", Containers: []string{"app"}})
	now := feed(t, r, 10, steady(1, 5e6))
	got := ask(t, r, now)[0]
	if got.Target.MemoryBytes > 10e6 || got.Upper.CPUMilli != got.Target.CPUMilli {
		t.Errorf("%+v: want no least and no wider bounds", got)
	}
	u := made(t, "vpa", Workload{Namespace: "shop", Name: "web", Containers: []string{"app"}})
	feed(t, u, 10, steady(1, 5e6))
	if up := ask(t, u, now)[0]; up.Target != (Amount{25, 250 << 20}) || up.Upper.CPUMilli < 50*up.Target.CPUMilli {
		t.Errorf("upstream: %+v", up)
	}
}
