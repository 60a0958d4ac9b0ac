package conformance

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSummarize: cases that could not be run count as disagreeing, cases without outcomes do not count.
func TestSummarize(t *testing.T) {
	want := Outcome{Deltas: map[string]int{"g": 1}, FinalSizes: map[string]int{"g": 1}}
	cases := []Case{{Name: "a", Category: "x", Outcomes: []Outcome{want}}, {Name: "b", Category: "x", Outcomes: []Outcome{want}},
		{Name: "c", Category: "y", Outcomes: []Outcome{want}}, {Name: "d", Category: "y"}}
	got, err := Summarize(cases, []Result{{Agrees: true, Judged: true, Got: want}, {Judged: true}, {Err: errors.New("bad flag")}, {}})
	if err != nil {
		t.Fatal(err)
	}
	wantSummary := Summary{Cases: 3, Agreed: 1, Agreement: 1. / 3, Categories: map[string]Tally{"x": {2, 1}, "y": {1, 0}}, Disagreements: []Disagreement{
		{Name: "b", Category: "x", Got: &Outcome{}, Want: []Outcome{want}}, {Name: "c", Category: "y", Want: []Outcome{want}, Error: "bad flag"}}}
	if diff := cmp.Diff(wantSummary, got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if got, err := Summarize(cases[3:], []Result{{}}); err != nil || got.Agreement != 1 || got.Cases != 0 {
		t.Errorf("nothing to judge: %+v, %v", got, err)
	}
}

func TestNearest(t *testing.T) {
	o := func(n int) Outcome { return Outcome{Deltas: map[string]int{"g": n}} }
	got := Nearest(o(4), []Outcome{o(1), o(6), o(4), {Removed: map[string]int{"h": 2}}})
	if diff := cmp.Diff([]Outcome{o(4), o(6), o(1), {Removed: map[string]int{"h": 2}}}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// TestDivergesAgreesWithOutcomes: a case whose only outcome is ours seldom goes another way in between, and one that ends
// elsewhere than its sample diverges from it somewhere.
func TestDivergesAgreesWithOutcomes(t *testing.T) {
	cases := load(t)
	parted, single := 0, 0
	for _, c := range cases {
		for _, seed := range []int64{0, 3} {
			r, err := RunSeed(t.Context(), c, seed)
			if err != nil {
				t.Fatal(err)
			}
			d, err := Diverges(c, r)
			if err != nil {
				t.Fatal(err)
			}
			if r.Agrees && len(c.Outcomes) == 1 {
				single++
				if d != nil {
					parted++
				}
			}
			if !r.Agrees && d == nil {
				t.Errorf("%s: it disagrees, and no loop differs", c.Name)
			}
		}
	}
	t.Logf("%d of %d runs took another way to the same end", parted, single)
	if parted*100 > single*10 {
		t.Errorf("%d of %d runs took another way to the same end, want 10 in a hundred at most", parted, single)
	}
}

func TestDivergesLength(t *testing.T) {
	const sample = `{"iterations":[{"loop":0,"scaleUp":[{"result":"ScaleUpSuccessful","infos":["{g 0->1 (max: 2)}"]}]}]}`
	d, err := Diverges(Case{Sample: []byte(sample)}, Result{})
	if err != nil || d == nil || d.What != "length" || d.Ours != nil || d.Upstream.Number != 1 {
		t.Errorf("divergence %+v, %v; want upstream's first loop alone", d, err)
	}
	if d, err := Diverges(Case{Name: "x"}, Result{}); d != nil || err != nil {
		t.Errorf("no sample: %+v, %v", d, err)
	}
	if _, err := Diverges(Case{Name: "x", Sample: []byte(`[]`)}, Result{}); err == nil || !strings.Contains(err.Error(), "case x: sample") {
		t.Errorf("a sample of another form: %v", err)
	}
}

func TestReadNamed(t *testing.T) {
	cases, err := ReadNamed(strings.NewReader("\n{\"input\":{}}\n{\"name\":\"b\"}\n"), "f")
	if err != nil || len(cases) != 2 || cases[0].Name != "#1" || cases[1].Name != "b" {
		t.Errorf("cases %+v, %v; want #1 and b", cases, err)
	}
	var located *locatedError
	if _, err := ReadNamed(strings.NewReader("{}\n{"), "f"); err == nil || !strings.HasPrefix(err.Error(), "f:2: ") || !errors.As(err, &located) {
		t.Errorf("error %v, want f:2", err)
	}
}
