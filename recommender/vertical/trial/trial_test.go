package trial

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

var start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

const mi = 1 << 20

// workload has pods of one container "app", a sample a minute.
func workload(pods, minutes int, requests, limits vertical.Amount, usage func(pod, minute int) vertical.Amount) *Workload {
	w := &Workload{Kind: "Deployment", Namespace: "shop", Name: "web"}
	for p := range pods {
		c := Container{Name: "app", Requests: requests, Limits: limits}
		for m := range minutes {
			if a := usage(p, m); a != vertical.None {
				c.Usage = append(c.Usage, Usage{At: start.Add(time.Duration(m) * time.Minute).UnixNano(), Amount: a})
			}
		}
		w.Pods = append(w.Pods, Pod{Name: fmt.Sprintf("web-%d", p), From: start, Containers: []Container{c}})
	}
	return w
}

func options(minutes int) Options {
	return Options{From: start, To: start.Add(time.Duration(minutes) * time.Minute), Updater: vertical.UpdaterUpstream, Flags: vpa.DefaultFlags(),
		Interval: time.Minute, Limits: LimitsRecorded}
}

func maker(t *testing.T, spec string) vertical.Maker {
	t.Helper()
	s, err := vertical.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s.Maker
}

func try(t *testing.T, w *Workload, o Options) ContainerResult {
	t.Helper()
	r, err := Run(t.Context(), w, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Errors > 0 {
		t.Fatalf("%d samples were refused, the first: %s", r.Errors, r.First)
	}
	return r.Containers[0]
}

var nearly = cmpopts.EquateApprox(1e-9, 1e-6)

// TestAreas: slack and overrun as they are by hand, with a gap that counts for nothing after five minutes.
func TestAreas(t *testing.T) {
	w := workload(1, 30, vertical.Amount{CPUMilli: 500, MemoryBytes: 100}, vertical.None, func(_, m int) vertical.Amount {
		switch {
		case m < 10:
			return vertical.Amount{CPUMilli: 200, MemoryBytes: 150}
		case m < 20:
			return vertical.None // not known
		}
		return vertical.Amount{CPUMilli: 700, MemoryBytes: 60}
	})
	got := try(t, w, options(30)).Account
	low, high := 14*60.0, 10*60.0 // the last sample before the gap holds for five minutes
	want := Account{Seconds: low + high, Samples: 20,
		CPU:    Area{Wanted: 0.2*low + 0.7*high, Used: 0.2*low + 0.7*high, Requested: 0.5 * (low + high), Slack: 0.3 * low, Overrun: 0.2 * high},
		Memory: Area{Wanted: 150*low + 60*high, Used: 150*low + 60*high, Requested: 100 * (low + high), Slack: 40 * high, Overrun: 50 * low}}
	if diff := cmp.Diff(want, got, nearly, cmpopts.IgnoreFields(Account{}, "Days")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestThrottling: CPU above the limit is held back, and the recommender sees what was used.
func TestThrottling(t *testing.T) {
	w := workload(1, 10, vertical.Amount{CPUMilli: 500, MemoryBytes: mi}, vertical.Amount{CPUMilli: 600, MemoryBytes: mi}, func(_, m int) vertical.Amount {
		return vertical.Amount{CPUMilli: int64(400 + 100*(m%5)), MemoryBytes: mi} // 400m to 800m
	})
	o := options(10)
	o.Recommender, o.Updater = maker(t, "max-usage:margin=0"), vertical.UpdaterNone
	got := try(t, w, o)
	if got.Throttled != 4*60 || math.Abs(got.ThrottledCores-2*(0.1+0.2)*60) > 1e-9 || got.Limited != 600 {
		t.Errorf("throttled %v s, %v core-seconds of %v s", got.Throttled, got.ThrottledCores, got.Limited)
	}
	if got.Last.Target.CPUMilli != 600 {
		t.Errorf("the recommender saw %d, want what the limit let through", got.Last.Target.CPUMilli)
	}
	o.Limits = LimitsRequests
	if got := try(t, w, o); got.Throttled != 6*60 {
		t.Errorf("with limits as requests: throttled %v s", got.Throttled)
	}
	o.Limits = LimitsNone
	if got := try(t, w, o); got.Throttled != 0 || got.Limited != 0 || got.CPU.Overrun <= 0 {
		t.Errorf("without limits: %+v", got.Account)
	}
}

// TestOOM: a container that wants more than its limit is killed, waits 10 s, 20 s, 40 s, 80 s and so on, and runs again once the
// limit has grown.
func TestOOM(t *testing.T) {
	w := workload(2, 60, vertical.Amount{CPUMilli: 100, MemoryBytes: 512 * mi}, vertical.Amount{CPUMilli: 100, MemoryBytes: 512 * mi}, func(_, m int) vertical.Amount {
		return vertical.Amount{CPUMilli: 50, MemoryBytes: 600 * mi}
	})
	recorded := try(t, w, options(60))
	// Kills at 0, 1, 2, 3 (10 to 80 s of waiting), 5 (160 s), 8 (300 s), and every 5 minutes from 13 on: 16 of each pod.
	if recorded.OOMs != 2*(6+10) {
		t.Errorf("%d OOMs as recorded", recorded.OOMs)
	}
	if recorded.Memory.Used != 0 || recorded.Down != 2*3600 {
		t.Errorf("as recorded: used %v, down %v", recorded.Memory.Used, recorded.Down)
	}
	o := options(60)
	o.Recommender, o.Points = maker(t, "vpa"), 60
	got := try(t, w, o)
	if got.OOMs == 0 || got.OOMs > 8 || got.Evictions == 0 {
		t.Errorf("with the VPA: %d OOMs, %d evictions", got.OOMs, got.Evictions)
	}
	if got.Last.Target.MemoryBytes < 600*mi {
		t.Errorf("recommends %d", got.Last.Target.MemoryBytes)
	}
	if i := slices.IndexFunc(got.Events, func(e Event) bool { return e.Kind == EventEvict }); i < 0 || !strings.Contains(got.Events[i].Why, "range") && !strings.Contains(got.Events[i].Why, "OOM") {
		t.Errorf("events: %+v", got.Events)
	}
}

// TestBackOff: the waits of the kubelet, which begin again after ten minutes without a failure.
func TestBackOff(t *testing.T) {
	var c Running
	none := vertical.Amount{CPUMilli: vertical.Unset, MemoryBytes: 100}
	c.Start(start, none, none)
	now := start
	var waits []time.Duration
	for range 7 {
		if f := c.Want(now, vertical.Amount{MemoryBytes: 101}); !f.Killed {
			t.Fatalf("at %s: %+v", now.Sub(start), f)
		}
		killed := now
		for c.Want(now, vertical.Amount{MemoryBytes: 1}).Down {
			now = now.Add(time.Second)
		}
		waits = append(waits, now.Sub(killed))
	}
	want := []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute, 5 * time.Minute}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Error(diff)
	}
	now = now.Add(11 * time.Minute)
	c.Want(now, vertical.Amount{MemoryBytes: 101})
	if !c.Want(now.Add(9*time.Second), none).Down || c.Want(now.Add(10*time.Second), vertical.Amount{MemoryBytes: 1}).Down {
		t.Error("ten minutes without a failure begin again")
	}
}

// TestAutopilotDay: relative slack takes the 95th percentile of five-minute averages, absolute slack the average, and the OOM rate the
// average number of pods.
func TestAutopilotDay(t *testing.T) {
	const minutes = 2 * 1440
	w := workload(2, minutes, vertical.Amount{CPUMilli: 1000, MemoryBytes: 1000}, vertical.None, func(_, m int) vertical.Amount {
		cpu := int64(100)
		if m%100 >= 90 { // 10 % of the time, in whole five minutes
			cpu = 800
		}
		return vertical.Amount{CPUMilli: cpu, MemoryBytes: 250}
	})
	got := try(t, w, options(minutes)).Days
	if len(got) != 2 {
		t.Fatalf("%d days", len(got))
	}
	for _, d := range got {
		cpu, _ := d.RelativeSlack(0)
		memory, _ := d.RelativeSlack(1)
		if d.Tasks != 2 || math.Abs(cpu-0.2) > 1e-9 || math.Abs(memory-0.75) > 1e-9 {
			t.Errorf("%+v: slack %v and %v", d, cpu, memory)
		}
		if want := 2 * (1 - 0.17); math.Abs(d.Absolute[0]-want) > 0.01 {
			t.Errorf("absolute slack %v, want %v cores", d.Absolute[0], want)
		}
		if d.Limit != [2]float64{1, 1000} {
			t.Errorf("limit %v", d.Limit)
		}
	}
	day := Day{Tasks: 2, OOMs: 3}
	if day.OOMRate() != 1.5 {
		t.Errorf("OOM rate %v", day.OOMRate())
	}
}

// TestQuality: upstream's metrics of quality, whose sign is (usage-recommendation)/recommendation.
func TestQuality(t *testing.T) {
	var q Quality
	for _, used := range []int64{50, 100, 150, 20000} {
		q.observe(used, 100, 1000)
	}
	q.observe(1, 0, 1000)
	q.observe(1, vertical.Unset, 1000)
	q.changed(100, 150)
	q.changed(150, 150)
	q.changed(vertical.Unset, 150)
	want := Quality{Samples: 4, Missing: 2, RelativeSum: -0.5 + 0 + 0.5 + 199, OverSamples: 1, Over: 0.05, LowerSamples: 3, Lower: 0.05 + 19.9, Changes: 1, ChangeSum: 0.5}
	want.Relative[slices.Index(RelativeBuckets, -0.5)]++
	want.Relative[slices.Index(RelativeBuckets, 0)]++
	want.Relative[slices.Index(RelativeBuckets, 0.5)]++
	want.Relative[len(RelativeBuckets)]++
	if diff := cmp.Diff(want, q, nearly); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(q.Relative) != len(RelativeBuckets)+1 {
		t.Error("buckets and counts do not fit")
	}
}

// TestConservation: what was wanted was used, throttled, or wanted of a container that was down; slack and overrun are what parts
// requests from usage; accounts do not depend on how workloads are merged; and the same trial gives the same.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Int64Range(1, 1<<40).Draw(t, "seed")
		w := workload(rapid.IntRange(1, 3).Draw(t, "pods"), 60, vertical.Amount{CPUMilli: 300, MemoryBytes: 300 * mi}, vertical.Amount{CPUMilli: 600, MemoryBytes: 600 * mi},
			func(p, m int) vertical.Amount {
				x := (seed*int64(m+7) + int64(p)*977) % 1000
				return vertical.Amount{CPUMilli: x, MemoryBytes: x * mi * 7 / 10}
			})
		o := options(60)
		spec, err := vertical.Parse(rapid.SampledFrom([]string{"vpa", "max-usage", "random", "threshold", "holt-winters:season=30m"}).Draw(t, "spec"))
		if err != nil {
			t.Fatal(err)
		}
		o.Recommender, o.Caps = spec.Maker, true
		o.Updater = rapid.SampledFrom(vertical.Updaters).Draw(t, "updater")
		o.Limits = rapid.SampledFrom(AllLimits).Draw(t, "limits")
		o.AtStart = rapid.Bool().Draw(t, "at start")
		r, err := Run(t.Context(), w, o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Run(t.Context(), w, o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Fatalf("another time:\n%s", diff)
		}
		a := r.Containers[0].Account
		if lost := a.CPU.Wanted - a.CPU.Used - a.ThrottledCores; lost < -1e-6 || a.Down == 0 && lost > 1e-6 {
			t.Errorf("%g core-seconds are not accounted for, down %g s", lost, a.Down)
		}
		for _, x := range []Area{a.CPU, a.Memory} {
			if d := x.Requested - x.Used - x.Slack + x.Overrun; math.Abs(d) > 1e-6*x.Requested+1e-6 {
				t.Errorf("requested %g, used %g, slack %g, overrun %g", x.Requested, x.Used, x.Slack, x.Overrun)
			}
		}
		if a.OOMs > 0 && o.Limits == LimitsNone {
			t.Error("an OOM without a limit")
		}
		if o.Updater == vertical.UpdaterNone && a.Evictions+a.Resizes > 0 {
			t.Error("updated without an updater")
		}
	})
}

// TestJudgeFrom: what happens while a recommender learns counts for nothing.
func TestJudgeFrom(t *testing.T) {
	w := workload(2, 120, vertical.Amount{CPUMilli: 1000, MemoryBytes: 1 << 30}, vertical.None, func(_, m int) vertical.Amount {
		return vertical.Amount{CPUMilli: 100, MemoryBytes: 100 * mi}
	})
	o := options(120)
	o.Recommender = maker(t, "max-usage")
	if got := try(t, w, o); got.Evictions == 0 || got.Seconds != 2*7200 {
		t.Errorf("%d evictions in %v s", got.Evictions, got.Seconds)
	}
	o.JudgeFrom = start.Add(time.Hour)
	if got := try(t, w, o); got.Evictions != 0 || got.Seconds != 2*3600 || got.CPU.Slack > 0.02*2*3600 {
		t.Errorf("after an hour: %+v", got.Account)
	}
}

// TestPodsComeAndGo: a pod counts while it is there, and a new one is admitted with what is recommended.
func TestPodsComeAndGo(t *testing.T) {
	w := workload(2, 120, vertical.Amount{CPUMilli: 1000, MemoryBytes: 1 << 30}, vertical.None, func(p, m int) vertical.Amount {
		if p == 0 && m >= 60 {
			return vertical.Amount{CPUMilli: 4000, MemoryBytes: mi} // of a pod that is gone
		}
		return vertical.Amount{CPUMilli: 100, MemoryBytes: 100 * mi}
	})
	w.Pods[0].To = start.Add(time.Hour)
	w.Pods[1].From = start.Add(time.Hour)
	o := options(120)
	o.Recommender, o.Updater = maker(t, "max-usage:margin=0"), vertical.UpdaterNone
	got := try(t, w, o)
	if want := (0.9*3600 + 0); got.Seconds != 7200 || math.Abs(got.CPU.Slack-want) > 1e-6 {
		t.Errorf("%v s, slack %v, want %v", got.Seconds, got.CPU.Slack, want)
	}
	if got.Last.Target.CPUMilli != 100 {
		t.Errorf("recommends %+v", got.Last)
	}
}

// TestRecordedResizes: without a recommender, a container that was resized in place has what it was recorded with at each instant; with one, what that
// recommends.
func TestRecordedResizes(t *testing.T) {
	was, then := vertical.Amount{CPUMilli: 1000, MemoryBytes: 512 * mi}, vertical.Amount{CPUMilli: 400, MemoryBytes: 256 * mi}
	w := workload(1, 60, was, vertical.Amount{CPUMilli: 2000, MemoryBytes: 1024 * mi}, func(_, m int) vertical.Amount {
		return vertical.Amount{CPUMilli: 500, MemoryBytes: 300 * mi}
	})
	w.Pods[0].Containers[0].Resizes = []Resize{{At: start.Add(20 * time.Minute).UnixNano(), Requests: then, Limits: vertical.Amount{CPUMilli: 450, MemoryBytes: 310 * mi}}}
	got := try(t, w, options(60))
	if want := 0.5 * 20 * 60; math.Abs(got.CPU.Slack-want) > 1e-6 || math.Abs(got.CPU.Requested-(20*60+0.4*40*60)) > 1e-6 || math.Abs(got.CPU.Overrun-0.05*40*60) > 1e-6 {
		t.Errorf("CPU %+v, want slack %v", got.CPU, want)
	}
	if got.Resizes != 1 || got.Throttled != 40*60 || len(got.Events) != 1 || got.Events[0].Kind != EventResize || !got.Events[0].At.Equal(start.Add(20*time.Minute)) {
		t.Errorf("%d resizes, throttled %v, %+v", got.Resizes, got.Throttled, got.Events)
	}
	o := options(60)
	o.Limits = LimitsNone
	if got := try(t, w, o); got.Throttled != 0 || got.Resizes != 1 {
		t.Errorf("without limits: throttled %v, %d resizes", got.Throttled, got.Resizes)
	}
	o = options(60)
	o.Recommender, o.Updater = maker(t, "max-usage"), vertical.UpdaterNone
	if got := try(t, w, o); got.Resizes != 0 || got.Throttled != 0 {
		t.Errorf("with a recommender: %d resizes, throttled %v", got.Resizes, got.Throttled)
	}
}

// BenchmarkTrial is 14 days of a sample a minute of one pod under the VPA, which recommends and updates every minute.
func BenchmarkTrial(b *testing.B) {
	const minutes = 14 * 1440
	w := workload(1, minutes, vertical.Amount{CPUMilli: 1000, MemoryBytes: 1 << 30}, vertical.None, func(_, m int) vertical.Amount {
		return vertical.Amount{CPUMilli: int64(300 + m%300), MemoryBytes: int64(300+m%77) * mi}
	})
	spec, err := vertical.Parse("vpa")
	if err != nil {
		b.Fatal(err)
	}
	o := options(minutes)
	o.Recommender = spec.Maker
	for b.Loop() {
		if _, err := Run(b.Context(), w, o); err != nil {
			b.Fatal(err)
		}
	}
}
