package recorder

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/scalehist/scalehist/recorder/history/powercut"
)

// TestPowerCut: what a recorder had flushed outlives a power cut, and the next one continues with a gap between. What the
// cut may leave of the file is history.TestPowerCut's.
//
//scalehist:unraced
func TestPowerCut(t *testing.T) {
	c, ns := client(t)
	w := &world{c: c, ns: ns}
	random := rand.New(rand.NewPCG(1, 0)) //nolint:gosec // a test's
	happen := func(n int) {
		for range n {
			if err := w.act(t.Context(), random.IntN(acts), random.IntN(6)); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := t.TempDir()
	disk := powercut.Watch(t, dir)
	rec := record(t, cluster, Options{Path: filepath.Join(dir, "h.db")})
	happen(40)
	rec.flush()
	m := moment{from: rec.now()}
	var err error
	if m.state, err = w.live(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m.events, err = w.events(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.to = rec.now()
	rec.flush()
	cuts := []string{t.TempDir(), t.TempDir()}
	if err := disk.Cut(cuts[0], nil); err != nil {
		t.Fatal(err)
	}
	happen(40)
	if err := disk.Cut(cuts[1], random); err != nil {
		t.Fatal(err)
	}
	rec.end()
	for _, left := range cuts {
		path := filepath.Join(left, "h.db")
		again := record(t, cluster, Options{Path: path})
		again.flush()
		again.end()
		db := open(t, path)
		if err := db.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if _, inGap := w.checkMoments(t, db, []moment{m}); inGap > 0 {
			t.Errorf("%d instants that were flushed lie in a gap", inGap)
		}
		recordings, err := db.Recordings(t.Context())
		if err != nil || len(recordings) != 2 {
			t.Fatalf("recordings %+v, %v, want two", recordings, err)
		}
		if gaps, err := db.Gaps(t.Context(), recordings[0].To.Add(1), recordings[1].From.Add(-1)); err != nil || len(gaps) == 0 {
			t.Errorf("gaps %+v, %v, want one between the recordings", gaps, err)
		}
	}
}
