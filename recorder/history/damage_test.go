package history_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/observed"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// readEverything asks a history for all it has.
func readEverything(t *testing.T, db *history.DB) error {
	ctx := t.Context()
	_, hashErr := db.Hash(ctx)
	from, to := db.Span()
	errs := []error{hashErr}
	for _, when := range []time.Time{from, to, from.Add(to.Sub(from) / 2)} {
		_, err := db.SnapshotAt(ctx, when)
		errs = append(errs, err)
	}
	_, stepsErr := observed.NodeGroupSizes(ctx, db, from, to)
	_, settingsErr := db.SettingsChanges(ctx, time.Time{}, time.Time{})
	_, statsErr := db.Stats(ctx)
	_, missedErr := db.Missed(ctx, time.Time{}, time.Time{})
	return errors.Join(append(errs, stepsErr, settingsErr, statsErr, missedErr)...)
}

// FuzzDamagedFile: a history with bytes that are wrong or missing is read, or refused in words; it never panics, a
// reader never changes it, and no copy of a file that cannot be read in full appears.
func FuzzDamagedFile(f *testing.F) {
	whole, err := os.ReadFile("../../fixtures/aws-burst/recording.db")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), uint32(0), []byte{})
	f.Add(uint32(60), uint32(0), []byte{0, 0, 0, 99})
	f.Add(uint32(4096), uint32(0), []byte{0xff, 0xff, 0xff})
	f.Add(uint32(20), uint32(9000), []byte{})
	f.Add(uint32(len(whole)-100), uint32(0), bytes.Repeat([]byte{0x5a}, 90))
	f.Add(uint32(len(whole)/2), uint32(0), bytes.Repeat([]byte{0}, 5000))
	f.Add(uint32(len(whole)/3), uint32(len(whole)-1), bytes.Repeat([]byte{0x7f}, 40))
	f.Fuzz(func(t *testing.T, at, end uint32, with []byte) {
		data := bytes.Clone(whole)
		if int64(at) < int64(len(data)) {
			copy(data[at:], with)
		}
		if end > 0 && int64(end) < int64(len(data)) {
			data = data[:end]
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "h.db")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		db, err := history.Open(t.Context(), path)
		if err == nil {
			err = errors.Join(readEverything(t, db), db.Close())
		}
		if err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("the error does not name the file: %v", err)
		}
		if after, readErr := os.ReadFile(path); readErr != nil || !bytes.Equal(after, data) {
			t.Errorf("reading changed the file (%v)", readErr)
		}
		window := filepath.Join(dir, "window.db")
		cutErr := transfer.Cut(t.Context(), path, window, time.Time{}, time.Time{})
		if _, statErr := os.Stat(window); (statErr == nil) != (cutErr == nil) {
			t.Errorf("cut: %v, but the file: %v", cutErr, statErr)
		}
	})
}
