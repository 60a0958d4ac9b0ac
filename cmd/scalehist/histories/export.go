package histories

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/durable"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

func newExportCommand(s console.IO) *cobra.Command {
	var to string
	var from, until console.TimeFlag
	cmd := &cobra.Command{
		Use:   "export FILE.db",
		Short: "Write a history, or a window of it, as an object log",
		Long: `Write a history, or a window of it, as an object log that 'scalehist import' reads back to the same content.
A window begins with the objects that lived at its start.

The log is sorted and the same for the same content, so it is also the way to see how two histories differ.`,
		Example: `  # The whole history, compressed
  scalehist export prod.db -o prod.jsonl.gz

  # Ten minutes of it, as a history of its own
  scalehist export prod.db --from +1h --to +1h10m | scalehist import - -o incident.db

  # Readable diffs of histories in git
  git config diff.scalehist.textconv "scalehist export"`,
		Args:              console.ExactArgs("FILE.db"),
		ValidArgsFunction: console.CompleteHistory,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			db, err := history.Open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			if to != "" && sameFile(args[0], to) {
				return fmt.Errorf("export: %s is the history itself: give the log another name", to)
			}
			start, end, err := resolveWindow(db, &from, &until)
			if err != nil {
				return err
			}
			if to == "" || to == "-" {
				return transfer.Export(cmd.Context(), db, s.Json(), start, end, transfer.ExportOptions{})
			}
			progress := s.NewProgress("exporting lines", -1)
			var lines int64
			err = writeWhole(cmd.Context(), to, func(ctx context.Context, w io.Writer) error {
				return transfer.Export(ctx, db, w, start, end, transfer.ExportOptions{Gzip: strings.HasSuffix(to, ".gz"),
					Progress: func(n int64) { lines = n; progress.Set(lines, "") }})
			})
			if err != nil {
				return err
			}
			progress.Done()
			return nil
		},
	}
	cmd.Flags().StringVarP(&to, "output", "o", "", "the log to write, compressed if it ends in .gz; standard output without it")
	addWindowFlags(cmd, &from, &until)
	return cmd
}

func addWindowFlags(cmd *cobra.Command, from, to *console.TimeFlag) {
	cmd.Flags().Var(from, "from", "start of the window: an instant, or an offset from the recording's start (its end if negative)")
	cmd.Flags().Var(to, "to", "end of the window, likewise")
}

// resolveWindow gives the window the flags choose; without flags the whole history.
func resolveWindow(db *history.DB, from, to *console.TimeFlag) (start, end time.Time, err error) {
	first, last := db.Span()
	if start, err = from.Resolve(first, last, first); err != nil {
		return start, end, fmt.Errorf("--from: %w", err)
	}
	if end, err = to.Resolve(first, last, last); err != nil {
		return start, end, fmt.Errorf("--to: %w", err)
	}
	if end.Before(start) {
		return start, end, fmt.Errorf("--to (%s) is before --from (%s)", stamp(end), stamp(start))
	}
	return start, end, nil
}

// writeWhole writes a file that appears complete or not at all. Its errors are about path: nobody asked for the
// temporary file.
func writeWhole(ctx context.Context, path string, write func(context.Context, io.Writer) error) (err error) {
	name := path
	if info, err := os.Stat(path); err == nil {
		switch {
		case info.IsDir():
			return fmt.Errorf("write %s: it is a directory: give the name of a file", name)
		case !info.Mode().IsRegular():
			return writeStraight(ctx, path, write)
		}
		if path, err = filepath.EvalSymlinks(path); err != nil { // a link stays, and what it leads to is replaced
			return fmt.Errorf("write %s: %w", name, durable.WithoutPaths(err))
		}
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: folder %s: %w: choose one that exists and can be written", name, dir, durable.WithoutPaths(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := write(ctx, f); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, durable.WithoutPaths(err)), f.Close())
	}
	if err := errors.Join(f.Chmod(0o644), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, durable.WithoutPaths(err))
	}
	if err := durable.Replace(f.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", name, durable.WithoutPaths(err))
	}
	return nil
}

// writeStraight writes to what is no file that could be replaced, and must not be: a device, a pipe.
func writeStraight(ctx context.Context, path string, write func(context.Context, io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, durable.WithoutPaths(err))
	}
	if err := errors.Join(write(ctx, f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, durable.WithoutPaths(err))
	}
	return nil
}

// sameFile says whether both names lead to one file that exists.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// stamp prints an instant for people: UTC, to the millisecond where it has any.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.999Z07:00")
}
