package artifacts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// TestSave: the window is what was replayed, again when the files are there already, and also from the window itself.
func TestSave(t *testing.T) {
	source := filepath.Join("..", "..", "fixtures", "from-zero", "recording.db")
	whole, err := history.Open(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	start, end := whole.Span()
	if err := whole.Close(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	r := &scalehist.ReplayReport{Scenario: "x", StartTime: start.Add(10 * time.Second), EndTime: end.Add(time.Hour), Decisions: []scalehist.Decision{{
		At: start.Add(30 * time.Second), Loop: 3, Outcome: scalehist.ScaleUpNotNeeded, Notes: []string{"a note"}, Events: []scalehist.Event{{Reason: "R", Object: "Pod/default/a", Message: "two\nlines"}},
	}}}
	window := filepath.Join(dir, HistoryFile)
	for _, from := range []string{source, source, window} {
		if err := Save(t.Context(), dir, from, r); err != nil {
			t.Fatal(err)
		}
		db, err := history.Open(t.Context(), window)
		if err != nil {
			t.Fatal(err)
		}
		from, to := db.Span()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if !from.Equal(r.StartTime) || to.After(end) {
			t.Errorf("the window is %s to %s", from, to)
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, AutoscalerLog))
	if want := "+20s loop 3: ScaleUpNotNeeded\n+20s loop 3: event R on Pod/default/a: two\\nlines\n+20s loop 3: a note\n"; err != nil || string(log) != want {
		t.Errorf("%v, log:\n%s", err, log)
	}
	if err := Save(t.Context(), dir, "", r); err != nil {
		t.Error(err)
	}
	if err := Save(t.Context(), dir, "no.db", r); err == nil || !strings.Contains(err.Error(), "no.db") {
		t.Error(err)
	}
}
