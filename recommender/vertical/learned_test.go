package vertical

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestBoostedFollowsDays: of usage that is high for two hours of each day, less is recommended at night than half an hour before them.
func TestBoostedFollowsDays(t *testing.T) {
	r := made(t, "boosted", shop)
	peak := func(m int) Amount {
		if m%1440 >= 600 && m%1440 < 720 {
			return Amount{1000, 1 << 30}
		}
		return Amount{200, 300 << 20}
	}
	at := func(minutes int) Recommendation {
		t.Helper()
		r.Reset()
		list := ask(t, r, feed(t, r, minutes, peak))
		if len(list) != 1 || list[0].Lower.CPUMilli > list[0].Target.CPUMilli || list[0].Target.CPUMilli > list[0].Upper.CPUMilli {
			t.Fatalf("%+v", list)
		}
		return list[0]
	}
	night, before := at(4*1440+60), at(4*1440+570)
	if night.Target.CPUMilli >= 700 || 4*before.Target.CPUMilli < 5*night.Target.CPUMilli {
		t.Errorf("CPU %dm at night, %dm before the peak", night.Target.CPUMilli, before.Target.CPUMilli)
	}
	if first := at(30); first.Target != (Amount{230, times(300<<20, 1.15)}) {
		t.Errorf("after half an hour: %+v", first.Target)
	}
}

// TestLearnedKnowOOM: memory that ran out counts at once, as upstream takes it.
func TestLearnedKnowOOM(t *testing.T) {
	for _, name := range []string{"boosted", "policy"} {
		r := made(t, name, shop)
		now := feed(t, r, 240, steady(100, 300<<20))
		before := ask(t, r, now)[0].Target.MemoryBytes
		if err := r.Observe(Sample{At: now, Pod: "web-0", Container: "app", OOM: true, Requested: 2 << 30}); err != nil {
			t.Fatal(err)
		}
		if after := ask(t, r, now)[0].Target.MemoryBytes; after <= before || after < restarted(2<<30)/2 {
			t.Errorf("%s: memory %d before, %d after", name, before, after)
		}
	}
}

// TestPastWindows: windows over random samples with gaps are those of a plain list of steps, however long ago older ones were cut off.
func TestPastWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p past
		var plain []int64
		first := rapid.Int64Range(0, 1000).Draw(t, "first")
		step := first
		for range rapid.IntRange(1, 60).Draw(t, "samples") {
			v := rapid.Int64Range(Unset, 100).Draw(t, "value")
			p.add(time.Unix(0, step*int64(PastStep)+rapid.Int64Range(0, int64(PastStep)-1).Draw(t, "within")), v)
			for int64(len(plain)) <= step-first {
				plain = append(plain, Unset)
			}
			plain[step-first] = max(plain[step-first], v)
			step += rapid.SampledFrom([]int64{0, 1, 1, 2, 100}).Draw(t, "gap")
		}
		from := rapid.IntRange(1, 2*pastDay).Draw(t, "from")
		to := rapid.IntRange(0, from).Draw(t, "to")
		want := int64(Unset)
		for _, v := range plain[max(0, len(plain)-from):max(0, len(plain)-to)] {
			want = max(want, v)
		}
		if got, _ := p.window(from, to); got != want {
			t.Fatalf("window %d to %d: %d, want %d", from, to, got, want)
		}
	})
}

// TestModels: models are read as they were written; what is none is refused, with what to do.
func TestModels(t *testing.T) {
	m, err := defaultPolicy()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParsePolicyModel(strings.NewReader(string(data)))
	if diff := cmp.Diff(m, again); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	path := filepath.Join(t.TempDir(), "model.json")
	for content, want := range map[string]string{
		"{":                                    "it is no model",
		"{}":                                   "train it again",
		`{"a":1}`:                              "unknown field",
		`{"version":1,"recommender":"policy"}`: "train it again with 'scalehist train boosted'",
		`{"version":1,"recommender":"boosted","horizon":3}`:                  "trees of both resources",
		strings.Replace(string(boostedModel), `"left":[1,`, `"left":[0,`, 1): "goes to node 0",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Parse("boosted:model=" + path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", content, err, want)
		}
	}
	if err := os.WriteFile(path, []byte(`{"version":1,"recommender":"policy","numbers":[1]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse("policy:model=" + path); err == nil || !strings.Contains(err.Error(), "1 numbers: want 16") {
		t.Error(err)
	}
	if err := os.WriteFile(path, boostedModel, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse("boosted:model=" + path); err != nil {
		t.Error(err)
	}
}
