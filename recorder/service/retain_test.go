package service

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist/recorder/history"
)

// TestForget: a history that goes on begins where the retention does; one without retention, and one that is not there,
// are left alone.
func TestForget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	const log = `{"at":"2026-01-01T00:00:00Z","op":"add","object":{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","uid":"u1"}}}
{"at":"2026-01-03T00:00:00Z","op":"add","object":{"apiVersion":"v1","kind":"Node","metadata":{"name":"n2","uid":"u2"}}}
`
	if _, err := history.Import(t.Context(), strings.NewReader(log), path, history.ImportOptions{Name: "log"}); err != nil {
		t.Fatal(err)
	}
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	for _, step := range []struct {
		retain Duration
		now    time.Time
		want   time.Time
	}{
		{0, day(30), day(1)},
		{Duration(20 * 24 * time.Hour), day(4), day(1)},
		{Duration(48 * time.Hour), day(4), day(2)},
		{Duration(48 * time.Hour), day(30), day(3)},
	} {
		c := Cluster{Name: "a", Retain: step.retain}
		if err := c.forget(t.Context(), path, step.now); err != nil {
			t.Fatal(err)
		}
		db, err := history.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		from, to := db.Span()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if !from.Equal(step.want) || !to.Equal(day(3)) {
			t.Errorf("%s at %s: from %s to %s, want from %s", step.retain, step.now, from, to, step.want)
		}
		if err := c.forget(t.Context(), path+".none", step.now); err != nil {
			t.Errorf("without a history: %v", err)
		}
	}
}
