package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/scalehist/scalehist/recorder/history/dbfile"
)

// CompactReport says what became of a file.
type CompactReport struct {
	// Before and After are its sizes in bytes, its log included.
	Before int64 `json:"before"`
	After  int64 `json:"after"`
	// Dropped counts contents and names that nothing referred to.
	Dropped int64 `json:"dropped"`
}

// Compact rewrites a history without what nothing refers to and without empty pages. The content stays what it is, the
// schema becomes today's. The file is replaced at the end or not at all, and where path is a link, the file it leads to;
// readers that have it open go on reading the old one. While a recorder writes to it, it is refused with dbfile.LockedError.
func Compact(ctx context.Context, path string) (CompactReport, error) {
	var out CompactReport
	err := rewrite(ctx, path, &out, func(*Writer) error { return nil })
	if err != nil {
		return CompactReport{}, fmt.Errorf("compact %s: %w", path, err)
	}
	return out, nil
}

// Retain forgets what ended before an instant, as Writer.Retain does, in a history that nobody writes to, and compacts
// it. An instant outside of the history is an error.
func Retain(ctx context.Context, path string, olderThan time.Time) (RetainReport, CompactReport, error) {
	var forgot RetainReport
	var out CompactReport
	err := rewrite(ctx, path, &out, func(w *Writer) (err error) {
		forgot, err = w.Retain(ctx, olderThan)
		return err
	})
	if err != nil {
		return RetainReport{}, CompactReport{}, fmt.Errorf("retain %s: %w", path, err)
	}
	return forgot, out, nil
}

// rewrite lets f change a copy of a history, compacts it and puts it in the history's place.
func rewrite(ctx context.Context, path string, report *CompactReport, f func(*Writer) error) (err error) {
	file, err := dbfile.RealPath(path)
	if err != nil {
		return err
	}
	if err := dbfile.Recognize(path, file); err != nil { // before there is a lock file beside something else
		return err
	}
	lock, err := dbfile.Lock(path, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	tmp, err := dbfile.CreateTemp(file, info.Mode())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dbfile.Remove(tmp)) }()
	db, err := openFile(ctx, path, file)
	if err != nil {
		return err
	}
	report.Before = dbfile.Size(file)
	if err := errors.Join(dbfile.CopyInto(ctx, db.db, tmp), db.Close()); err != nil {
		return readError(path, err)
	}
	if err := rewriteCopy(ctx, path, tmp, report, f); err != nil {
		return err
	}
	report.After = dbfile.Size(tmp)
	return dbfile.Replace(ctx, tmp, path, file)
}

// rewriteCopy works on a private copy. It asks not whose history it is: nothing is recorded.
func rewriteCopy(ctx context.Context, path, private string, report *CompactReport, f func(*Writer) error) (err error) {
	w := &Writer{path: path}
	defer func() { err = errors.Join(err, w.Close()) }()
	if w.db, err = dbfile.OpenWrite(private, false); err != nil {
		return err
	}
	if err := w.stmts.prepare(ctx, w.db); err != nil {
		return err
	}
	if err := w.load(ctx); err != nil {
		return err
	}
	if err := f(w); err != nil {
		return err
	}
	if report.Dropped, err = w.sweep(ctx); err != nil {
		return err
	}
	return w.compact(ctx)
}
