package env

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist/recommender/vertical"
)

// one is an environment of one container that uses so much, in MB and millicores.
func one(usage ...[2]int64) Config {
	c := Container{Name: "app", Requests: vertical.Amount{CPUMilli: 500, MemoryBytes: 400e6}, Limits: vertical.Amount{CPUMilli: 1000, MemoryBytes: 600e6}}
	for _, u := range usage {
		c.Usage = append(c.Usage, vertical.Amount{CPUMilli: u[1], MemoryBytes: u[0] * 1e6})
	}
	return Config{Containers: []Container{c}, Step: time.Minute, Updater: vertical.UpdaterUpstream}
}

func made(t *testing.T, c Config) *Env {
	t.Helper()
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func step(t *testing.T, e *Env, action ...float64) ([]float64, float64, bool, Info) {
	t.Helper()
	o, r, d, i, err := e.Step(action)
	if err != nil {
		t.Fatal(err)
	}
	return o, r, d, i
}

// TestOrder: observations are usage and requests, memory before CPU, in MB and millicores; targets come into force in the step itself,
// limits in their proportion; and the last step ends it.
func TestOrder(t *testing.T) {
	e := made(t, one([2]int64{100, 200}, [2]int64{110, 210}, [2]int64{120, 220}))
	if diff := cmp.Diff([]float64{100, 200, 400, 500}, e.Reset(0)); diff != "" {
		t.Error(diff)
	}
	o, reward, done, info := step(t, e, 0, 0, 300, 400, 1000, 1000) // the requests are within
	if diff := cmp.Diff([]float64{110, 210, 400, 500}, o); diff != "" || reward != 1 || done || info.Recreated {
		t.Errorf("%s, reward %v, done %v, %+v", diff, reward, done, info)
	}
	o, _, done, info = step(t, e, 0, 0, 200, 300, 300, 1000) // 400 MB are above the bound
	if diff := cmp.Diff([]float64{120, 220, 200, 300}, o); diff != "" || !done || !info.Recreated {
		t.Errorf("%s, done %v, %+v", diff, done, info)
	}
	want := Fate{Name: "app", Usage: [2]float64{110, 210}, Request: [2]float64{200, 300}, Limit: [2]float64{300, 600}, Slack: [2]float64{90, 90}}
	if diff := cmp.Diff([]Fate{want}, info.Containers); diff != "" {
		t.Error(diff)
	}
	if _, _, _, _, err := e.Step(make([]float64, 6)); err == nil {
		t.Error("a step after the end")
	}
}

// TestUpdaters: the three rules on the same step: upstream's of the request, smart-kube's of the usage, as its code and as its README say.
func TestUpdaters(t *testing.T) {
	for _, c := range []struct {
		action []float64
		want   map[string]bool
	}{
		{[]float64{50, 100, 300, 300, 900, 900}, map[string]bool{vertical.UpdaterSmartKubeReadme: true}},                                 // both within
		{[]float64{50, 100, 150, 150, 300, 300}, map[string]bool{vertical.UpdaterUpstream: true, vertical.UpdaterSmartKubeReadme: true}}, // usage within, request above
		{[]float64{200, 300, 300, 400, 900, 900}, map[string]bool{vertical.UpdaterSmartKubeCode: true}},                                  // usage below, request within
	} {
		for name := range rules {
			config := one([2]int64{100, 200}, [2]int64{100, 200})
			config.Updater = name
			if _, _, _, info := step(t, made(t, config), c.action...); info.Recreated != c.want[name] {
				t.Errorf("%s of %v: recreated %v", name, c.action, info.Recreated)
			}
		}
	}
}

// TestFates: a limit of CPU throttles, a limit of memory kills, and the pod waits until its back-off is over.
func TestFates(t *testing.T) {
	config := one([2]int64{100, 1500}, [2]int64{700, 200}, [2]int64{100, 200}, [2]int64{100, 200})
	config.Step = 5 * time.Second // within the first back-off of 10 s
	config.Reward = parts["oom"]
	e := made(t, config)
	keep := []float64{0, 0, 400, 500, 9000, 9000}
	if _, r, _, info := step(t, e, keep...); info.Containers[0].Throttled != 500 || info.Containers[0].Usage[1] != 1000 || r != 0 {
		t.Errorf("%+v", info)
	}
	if _, r, _, info := step(t, e, keep...); !info.Containers[0].OOM || r != -1 {
		t.Errorf("%+v", info)
	}
	if _, r, done, info := step(t, e, keep...); !info.Containers[0].Down || info.Containers[0].OOM || r != -1 || !done {
		t.Errorf("%+v", info)
	}
}

// TestBounds: targets are cut to the limit range, and limits to the ratio.
func TestBounds(t *testing.T) {
	config := one([2]int64{100, 200}, [2]int64{100, 200})
	config.Bounds = Bounds{LeastMemory: 50, MostMemory: 900, LeastCPU: 10, MostCPU: 700, Ratio: 1.2}
	_, _, _, info := step(t, made(t, config), 500, 600, 500, 650, 800, 900)
	if f := info.Containers[0]; !info.Capped || f.Request != [2]float64{500, 650} || f.Limit != [2]float64{600, 700} {
		t.Errorf("%+v", info)
	}
}

// TestRoundRobin: after the last value of usage comes the first, and there is no end.
func TestRoundRobin(t *testing.T) {
	config := one([2]int64{100, 200}, [2]int64{110, 210})
	config.RoundRobin = true
	e := made(t, config)
	for i, want := range []float64{110, 100, 110} {
		if o, _, done, _ := step(t, e, 0, 0, 1, 1, 1e6, 1e6); o[0] != want || done {
			t.Errorf("step %d: %v, done %v", i, o, done)
		}
	}
}

// TestWrong: actions and configurations that are refused, which change nothing.
func TestWrong(t *testing.T) {
	e := made(t, one([2]int64{100, 200}, [2]int64{110, 210}))
	for _, action := range [][]float64{nil, {1, 1, 1}, {1, 1, 0, 1, 1, 1}, {1, 1, 1, 1, 1, 0}, {-1, 1, 1, 1, 1, 1}, {1, 1, math.NaN(), 1, 1, 1}, {1, 1, 1, 1, math.Inf(1), 1}} {
		if _, _, _, _, err := e.Step(action); err == nil {
			t.Errorf("%v was taken", action)
		}
	}
	if e.at != 0 {
		t.Error("a refused action was a step")
	}
	for name, change := range map[string]func(*Config){
		"containers": func(c *Config) { c.Containers = nil }, "two or more": func(c *Config) { c.Containers[0].Usage = c.Containers[0].Usage[:1] },
		"no time": func(c *Config) { c.Step = 0 }, "updater": func(c *Config) { c.Updater = vertical.UpdaterNone },
	} {
		c := one([2]int64{1, 1}, [2]int64{1, 1})
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRewards: each part by hand, and weighted is their sum.
func TestRewards(t *testing.T) {
	i := &Info{Recreated: true, Containers: []Fate{{Request: [2]float64{200, 1000}, Usage: [2]float64{100, 500}, Slack: [2]float64{100, 500}, Throttled: 500, OOM: true},
		{Request: [2]float64{100, 100}, Usage: [2]float64{200, 100}, Overrun: [2]float64{100, 0}}}}
	for name, want := range map[string]float64{"constant": 1, "slack": -0.25, "overrun": -0.125, "oom": -0.5, "throttling": -0.25, "restarts": -1,
		"cost": -(1 + 0.2/7 + 0.1 + 0.1/7) / 2, "weighted": -0.25 - 5 - 1.25 - 1, "weighted:slack=4,oom=0,throttling=0,restarts=0": -1} {
		r, err := ParseReward(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := r(i); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"", "slak", "slack:x=1", "weighted:slak=1", "weighted:slack=-1"} {
		if _, err := ParseReward(name); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}

// TestVector: many at once are the same as each alone, each with a seed of its own; one that is done begins again.
func TestVector(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var usage [][2]int64
		for range rapid.IntRange(3, 8).Draw(t, "steps") {
			usage = append(usage, [2]int64{rapid.Int64Range(1, 900).Draw(t, "memory"), rapid.Int64Range(1, 2000).Draw(t, "cpu")})
		}
		config := one(usage...)
		config.RandomStart, config.Reward = true, parts["slack"]
		n, seed := rapid.IntRange(1, 3).Draw(t, "n"), rapid.Uint64().Draw(t, "seed")
		v, err := NewVector([]Config{config}, n)
		if err != nil {
			t.Fatal(err)
		}
		first := v.Reset(seed)
		alone := make([]*Env, n)
		seeds := make([]uint64, n)
		for i := range alone {
			if alone[i], err = New(config); err != nil {
				t.Fatal(err)
			}
			seeds[i] = seed + uint64(i)
			if diff := cmp.Diff(alone[i].Reset(seeds[i]), first[i]); diff != "" {
				t.Fatal(diff)
			}
		}
		for range 12 {
			low := float64(rapid.IntRange(0, 1000).Draw(t, "low"))
			action := []float64{low, low, low + 10, low + 10, low + 400, low + 400}
			actions := make([][]float64, n)
			for i := range actions {
				actions[i] = action
			}
			got, err := v.Step(actions)
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range alone {
				if e.done {
					seeds[i] += uint64(n)
					if diff := cmp.Diff(e.Reset(seeds[i]), got[i].Observation); diff != "" || got[i].Done {
						t.Fatal("after the end:", diff)
					}
					continue
				}
				o, r, d, info, err := e.Step(action)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(Result{o, r, d, info}, got[i]); diff != "" {
					t.Fatal(diff)
				}
			}
		}
		if _, err := v.Step(nil); err == nil {
			t.Fatal("no actions were taken")
		}
	})
}

// BenchmarkStep is steps of one container.
func BenchmarkStep(b *testing.B) {
	config := one([2]int64{100, 200}, [2]int64{300, 900}, [2]int64{200, 100})
	config.RoundRobin = true
	e, err := New(config)
	if err != nil {
		b.Fatal(err)
	}
	action := []float64{100, 100, 200, 300, 400, 1000}
	for b.Loop() {
		if _, _, _, _, err := e.Step(action); err != nil {
			b.Fatal(err)
		}
	}
}
