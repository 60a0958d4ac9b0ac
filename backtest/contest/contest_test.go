package contest

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/recommenders.md")

// The page, and what is around the tables in it.
var page = filepath.Join("..", "..", "docs", "recommenders.md")

const begin, end = "<!-- tables: make recommender-tables -->\n", "<!-- end of tables -->\n"

// TestTables: the tables of the page are what the contest comes to, and what the page says of them holds.
func TestTables(t *testing.T) {
	if testing.Short() {
		t.Skip("the contest takes a minute")
	}
	entries, err := Run(t.Context(), 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	was, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for tables", page)
	}
	csv := filepath.Join("..", "..", "docs", "recommenders.csv")
	now := Markdown(entries)
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+now+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(csv, []byte(CSV(entries)), 0o644); err != nil {
			t.Fatal(err)
		}
		was = now
	}
	if was != now {
		t.Errorf("the tables of %s are not what the contest comes to: run 'make recommender-tables' and look at what changed:\n%s", page, now)
	}
	for _, e := range entries {
		if e.Load == "diurnal" && e.Recommender == "boosted" && e.AgainstVPA.Mean+e.AgainstVPA.Half >= 0 {
			t.Errorf("boosted does not beat vpa on %s: %+v", e.Load, e.AgainstVPA)
		}
	}
}

// TestMeasure: the interval is that of Student's t distribution.
func TestMeasure(t *testing.T) {
	got := measure([]float64{1, 2, 3, 4, 5})
	if got.Mean != 3 || math.Abs(got.Half-2.776*math.Sqrt(2.5/5)) > 1e-12 {
		t.Errorf("%+v", got)
	}
}
