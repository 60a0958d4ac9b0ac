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

// TestTables: what docs/recommenders.csv has of a load is what the contest comes to, and boosted beats vpa on it as the page says. With -update all
// loads are tried, and the page and the CSV written.
func TestTables(t *testing.T) {
	if testing.Short() {
		t.Skip("the contest takes ten seconds")
	}
	csv, loads := filepath.Join("..", "..", "docs", "recommenders.csv"), Loads[:1]
	if *update {
		loads = Loads
	}
	entries, err := Run(t.Context(), loads, 2)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		write(t, csv, entries)
	}
	data, err := os.ReadFile(csv)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(CSV(entries)), "\n") {
		if !strings.Contains(string(data), line+"\n") {
			t.Errorf("%s does not have what the contest comes to: run 'make recommender-tables' and look at what changed:\n%s", csv, line)
		}
	}
	for _, e := range entries {
		if e.Load == "diurnal" && e.Recommender == "boosted" && e.AgainstVPA.Mean+e.AgainstVPA.Half >= 0 {
			t.Errorf("boosted does not beat vpa on %s: %+v", e.Load, e.AgainstVPA)
		}
	}
}

// write writes the page's tables and the CSV.
func write(t *testing.T, csv string, entries []Entry) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for tables", page)
	}
	if err := os.WriteFile(page, []byte(before+begin+Markdown(entries)+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(csv, []byte(CSV(entries)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestMeasure: the interval is that of Student's t distribution.
func TestMeasure(t *testing.T) {
	got := measure([]float64{1, 2, 3, 4, 5})
	if got.Mean != 3 || math.Abs(got.Half-2.776*math.Sqrt(2.5/5)) > 1e-12 {
		t.Errorf("%+v", got)
	}
}
