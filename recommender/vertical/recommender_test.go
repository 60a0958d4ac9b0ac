package vertical

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

// TestParse: specs name recommenders and options, and errors say what was meant.
func TestParse(t *testing.T) {
	for _, k := range Kinds() {
		text := k.Name
		if k.Name == "url" { // it has no address by default
			text += ":at=http://127.0.0.1:8610"
		}
		if s, err := Parse(text); err != nil || s.Maker == nil || s.String() != text || k.About == "" {
			t.Errorf("%s: %v, %q", text, err, s.String())
		}
	}
	if s, err := Parse("max-usage:margin=0.3,window=24h"); err != nil || s.String() != "max-usage:margin=0.3,window=24h" {
		t.Errorf("%q, %v", s.String(), err)
	}
	for spec, want := range map[string]string{
		"vap":                         "did you mean \"vpa\"",
		"max-usage:margn=1":           "margin",
		"max-usage:margin=a":          "want a number from 0 to 100",
		"max-usage:margin=1,margin=2": "twice",
		"max-usage:window=1s":         "want a duration",
		"threshold:lower-cpu=9":       "bounds cross",
		"threshold:lower-cpu=x":       "an amount such as",
		"random:seed=-1":              "whole number",
		"random:min-cpu=5":            "swap",
		"holt-winters:season=5m":      "want 2 to 100000 steps",
		"smart-kube:confidence=2":     "true or false",
		"boosted:model=/nowhere":      "no such file",
		"boosted:band=-1":             "a number from 0",
		"vpa:target-cpu-percentile=2": "0 to 1",
		"vpa:no-such-flag=2":          "not a flag",
	} {
		if _, err := Parse(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", spec, err, want)
		}
	}
	if !Takes("vpa", "cpu-histogram-decay-half-life") || Takes("vpa", "margin") || !Takes("max-usage", "margin") {
		t.Error("options are not those that recommenders take")
	}
}

// TestVPAIsTheEmbeddedOne: what is driven through the interface equals the embedded recommender that is fed the same by hand.
func TestVPAIsTheEmbeddedOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		through := made(t, "vpa", shop)
		byHand, err := vpa.NewRecommender(vpa.DefaultFlags())
		if err != nil {
			t.Fatal(err)
		}
		object := shop.object("default")
		byHand.SetVPA(object, labels.Everything())
		var now time.Time
		for _, s := range drawSamples(t) {
			now = s.At
			byHand.SetPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: s.Pod}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}, {Name: "side"}}}}, s.At)
			id := types.NamespacedName{Namespace: "shop", Name: s.Pod}
			want := byHand.Observe(id, s.Container, s.At, s.Usage.List())
			if err := through.Observe(s); (err == nil) != (want == nil) {
				t.Fatalf("%v, by hand %v", err, want)
			}
			if rapid.IntRange(0, 9).Draw(t, "OOM") == 0 {
				s.OOM, s.Requested = true, rapid.Int64Range(0, 2<<30).Draw(t, "requested")
				want := byHand.OOM(id, s.Container, s.At, *s.memory())
				if err := through.Observe(s); (err == nil) != (want == nil) {
					t.Fatalf("%v, by hand %v", err, want)
				}
			}
		}
		want := FromStatus(byHand.Recommend(now)[0].Status.Recommendation)
		if diff := cmp.Diff(want, ask(t, through, now)); diff != "" {
			t.Fatalf("(-by hand +through the interface):\n%s", diff)
		}
	})
}

// TestSaveAndLoad: each recommender goes on from what another of its kind saved, and recommends the same.
func TestSaveAndLoad(t *testing.T) {
	for _, spec := range []string{"vpa", "threshold", "max-usage", "random", "holt-winters:season=30m,horizon=30m", "smart-kube:confidence=true", "boosted", "policy"} {
		t.Run(spec, func(t *testing.T) {
			was, again := made(t, spec, shop), made(t, spec, shop)
			// Two days, so that the interval of the last peak of memory is over at the end: checkpoints leave out one that is not.
			now := feed(t, was, 2*24*60+1, func(m int) Amount { return Amount{int64(100 + m%200), int64(200+m%97) << 20} }).Add(24 * time.Hour)
			var b bytes.Buffer
			if err := was.Save(&b, now); err != nil {
				t.Fatal(err)
			}
			if err := again.Load(bytes.NewReader(b.Bytes())); err != nil {
				t.Fatal(err)
			}
			want := ask(t, was, now)
			if len(want) == 0 {
				t.Fatal("nothing is recommended")
			}
			if diff := cmp.Diff(want, ask(t, again, now)); diff != "" {
				t.Errorf("(-before +loaded):\n%s", diff)
			}
			if err := again.Load(strings.NewReader("{")); err == nil {
				t.Error("half a file was loaded")
			}
			again.Reset()
			if got := ask(t, again, now); len(got) != 0 {
				t.Errorf("after Reset: %+v", got)
			}
			if err := was.Observe(Sample{At: now, Pod: "web-0", Container: "app", Usage: Amount{-2, 1}}); err == nil {
				t.Error("a negative usage was taken")
			}
		})
	}
}

// TestThreshold: the six numbers, for each container that was seen.
func TestThreshold(t *testing.T) {
	r := made(t, "threshold:target-cpu=300m,upper-memory=2Gi", shop)
	now := feed(t, r, 1, steady(1, 1))
	want := []Recommendation{{"app", Amount{100, 128 << 20}, Amount{300, 256 << 20}, Amount{1000, 2 << 30}}}
	if diff := cmp.Diff(want, ask(t, r, now)); diff != "" {
		t.Error(diff)
	}
}

// TestMaxUsage: the highest usage of the window and the margin; what is older than the window does not count, and an OOM does.
func TestMaxUsage(t *testing.T) {
	r := made(t, "max-usage:margin=0.5,window=1h", shop)
	now := feed(t, r, 120, func(m int) Amount {
		if m == 30 {
			return Amount{4000, 1000} // out of the window at the end
		}
		if m == 90 {
			return Amount{1000, 400}
		}
		return Amount{10, 100}
	})
	want := []Recommendation{{"app", Amount{1000, 400}, Amount{1500, 600}, Amount{2000, 800}}}
	if diff := cmp.Diff(want, ask(t, r, now)); diff != "" {
		t.Error(diff)
	}
	if err := r.Observe(Sample{At: now, Pod: "web-0", Container: "app", OOM: true, Requested: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, r, now)[0].Lower.MemoryBytes; got != 1<<30+1<<30/5 {
		t.Errorf("after an OOM at 1Gi: %d", got)
	}
	if got := ask(t, r, now.Add(2*time.Hour)); len(got) != 0 {
		t.Errorf("of a window without usage: %+v", got)
	}
}

// TestRandom: bounds in order and in range, the same from the same seed, others from another, for another workload and another container.
func TestRandom(t *testing.T) {
	draw := func(spec string, w Workload, container string) []Recommendation {
		r := made(t, spec, w)
		if err := r.Observe(Sample{At: start, Pod: "p", Container: container}); err != nil {
			t.Fatal(err)
		}
		var out []Recommendation
		for range 50 {
			out = append(out, ask(t, r, start)...)
		}
		return out
	}
	one := draw("random:seed=7", shop, "app")
	for _, r := range one {
		if !slices.IsSorted([]int64{10, r.Lower.CPUMilli, r.Target.CPUMilli, r.Upper.CPUMilli, 4000}) ||
			!slices.IsSorted([]int64{16 << 20, r.Lower.MemoryBytes, r.Target.MemoryBytes, r.Upper.MemoryBytes, 8 << 30}) {
			t.Errorf("%+v", r)
		}
	}
	if diff := cmp.Diff(one, draw("random:seed=7", shop, "app")); diff != "" {
		t.Errorf("the same seed drew others:\n%s", diff)
	}
	for name, other := range map[string][]Recommendation{
		"seed":      draw("random:seed=8", shop, "app"),
		"workload":  draw("random:seed=7", Workload{Namespace: "shop", Name: "db"}, "app"),
		"container": draw("random:seed=7", shop, "side"),
	} {
		if one[0].Target == other[0].Target {
			t.Errorf("another %s drew the same", name)
		}
	}
}

// TestHoltWinters: after two seasons of a daily wave the forecast has the peak of the next, before it comes; and a trend is followed.
func TestHoltWinters(t *testing.T) {
	wave := func(m int) Amount {
		v := 1 - math.Cos(2*math.Pi*float64(m)/1440)
		return Amount{int64(100 + 400*v), int64(100+50*v) << 20}
	}
	r := made(t, "holt-winters:horizon=14h,margin=0", shop)
	feed(t, r, 3*1440, wave)
	// At midnight usage is least, and the peak of 900m comes in 12 hours.
	got := ask(t, r, start.Add(3*24*time.Hour))[0]
	if got.Lower.CPUMilli < 880 || got.Target.CPUMilli > 960 {
		t.Errorf("of a peak of 900m: %+v", got)
	}
	short := made(t, "holt-winters:horizon=30m,margin=0", shop)
	feed(t, short, 3*1440, wave)
	if got := ask(t, short, start.Add(3*24*time.Hour))[0]; got.Target.CPUMilli > 200 {
		t.Errorf("within half an hour of midnight usage is 107m at most: %+v", got)
	}
	growing := made(t, "holt-winters:season=1h,beta=0.1,horizon=1h,margin=0", shop)
	now := feed(t, growing, 24*60, func(m int) Amount { return Amount{int64(1000 + m), 1 << 30} })
	if got := ask(t, growing, now)[0]; got.Lower.CPUMilli < 2440 || got.Lower.CPUMilli > 2600 {
		t.Errorf("of 1m more a minute, an hour after 2440m: %+v", got)
	}
	young := made(t, "holt-winters", shop)
	now = feed(t, young, 30, steady(200, 1000))
	want := []Recommendation{{"app", Amount{200, 1000}, Amount{230, 1150}, Amount{260, 1300}}}
	if diff := cmp.Diff(want, ask(t, young, now)); diff != "" {
		t.Errorf("of half an hour:\n%s", diff)
	}
}

// TestHoltWintersGap: usage that is missing for days neither moves the forecast nor shifts the season.
func TestHoltWintersGap(t *testing.T) {
	day := func(m int) Amount {
		if m%1440 < 720 {
			return Amount{100, 1 << 20}
		}
		return Amount{900, 1 << 20}
	}
	r := made(t, "holt-winters:horizon=1h,margin=0", shop)
	feed(t, r, 3*1440, day)
	const gap = 1000 * 24 * time.Hour
	for _, c := range []struct {
		at   time.Duration
		want int64
	}{{18 * time.Hour, 900}, {30 * time.Hour, 100}} {
		if got := ask(t, r, start.Add(3*24*time.Hour+gap+c.at))[0]; got.Lower.CPUMilli != c.want {
			t.Errorf("%s into a day after the gap: %+v, want %d", c.at, got, c.want)
		}
	}
}
