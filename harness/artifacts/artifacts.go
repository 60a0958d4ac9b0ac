// Package artifacts writes what a scenario leaves behind into one directory, the same files whether a Go spec or a scenario file
// played it: the report as JSON, text, timeline and page, what the autoscaler logged, and the part of the history that was replayed. It
// knows histories and reports, and not who asks.
package artifacts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/transfer"
	"github.com/scalehist/scalehist/report/html"
)

// The files beside those of html.Save. HistoryFile can be replayed by itself.
const (
	HistoryFile   = "history.db"
	AutoscalerLog = "autoscaler.log"
	// Logs is the directory for the logs of kube-apiserver, etcd and the scheduler; without processes there is none.
	Logs = "logs"
)

// Save writes the files of a replay into dir, which it makes: those of html.Save (the report as JSON, text, timeline and page),
// autoscaler.log, and history.db, the window of the history that was replayed. An empty history, of a scripted scenario, has no
// window. What an earlier run left of these is replaced.
func Save(ctx context.Context, dir, source string, r *scalehist.ReplayReport) error {
	if err := html.Save(dir, r); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, AutoscalerLog), []byte(Log(r)), 0o644); err != nil {
		return fmt.Errorf("save log of %s: %w", r.Scenario, err)
	}
	if source == "" {
		return nil
	}
	if err := saveWindow(ctx, filepath.Join(dir, HistoryFile), source, r); err != nil {
		return fmt.Errorf("save history of %s: %w", r.Scenario, err)
	}
	return nil
}

func saveWindow(ctx context.Context, to, source string, r *scalehist.ReplayReport) (err error) {
	db, err := history.Open(ctx, source)
	if err != nil {
		return err
	}
	start, end := db.Span()
	if err := db.Close(); err != nil {
		return err
	}
	if same(to, source) { // a replay of what an earlier run left
		return nil
	}
	from, until := r.StartTime, r.EndTime
	if from.Before(start) {
		from = start
	}
	if until.After(end) {
		until = end
	}
	dir, err := os.MkdirTemp(filepath.Dir(to), ".history-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	window := filepath.Join(dir, HistoryFile)
	if err := transfer.Cut(ctx, source, window, from, until); err != nil {
		return err
	}
	return dbfile.Place(ctx, window, to, true)
}

func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// Log is what the autoscaler did and said, a line each, with offsets from the start: decisions, and the events it would have written.
func Log(r *scalehist.ReplayReport) string {
	r = plaintext.Values(r)
	var b strings.Builder
	for _, d := range r.Decisions {
		at := "+" + d.At.Sub(r.StartTime).Round(time.Millisecond).String()
		fmt.Fprintf(&b, "%s loop %d: %s\n", at, d.Loop, d.Summary())
		for _, e := range d.Events {
			fmt.Fprintf(&b, "%s loop %d: event %s on %s: %s\n", at, d.Loop, e.Reason, e.Object, e.Message)
		}
		for _, n := range d.Notes {
			fmt.Fprintf(&b, "%s loop %d: %s\n", at, d.Loop, n)
		}
	}
	return b.String()
}
