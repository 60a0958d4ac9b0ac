package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/scalehist/scalehist/recorder/history/dbfile"
)

// CopyTo copies a history, or with from or to the window of it that Cut makes, into a new file at dst: consistent, also
// while a recorder writes to src, and complete or not at all. The copy has no log beside it, and of the
// whole history everything a recorder needs to continue it. An existing dst is an dbfile.ExistsError.
func CopyTo(ctx context.Context, src, dst string, from, to time.Time) (err error) {
	if !from.IsZero() || !to.IsZero() {
		return Cut(ctx, src, dst, from, to)
	}
	db, err := Open(ctx, src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := os.Lstat(dst); err == nil {
		return &dbfile.ExistsError{Path: dst}
	}
	tmp, err := dbfile.CreateTemp(dst, 0o644)
	if err != nil {
		return fmt.Errorf("copy %s to %s: %w", src, dst, err)
	}
	defer func() { err = errors.Join(err, dbfile.Remove(tmp)) }()
	if err := dbfile.CopyInto(ctx, db.db, tmp); err != nil {
		return fmt.Errorf("copy to %s: %w", dst, readError(src, err))
	}
	return dbfile.Place(ctx, tmp, dst, false)
}

// Cut copies the window [from, to] of src into a new history at dst: the objects at from, and what happened until to.
func Cut(ctx context.Context, src, dst string, from, to time.Time) (err error) {
	db, err := Open(ctx, src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	meta, err := db.Meta(ctx)
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	exported := make(chan error, 1)
	go func() {
		err := db.Export(ctx, w, from, to, ExportOptions{})
		exported <- errors.Join(err, w.CloseWithError(err))
	}()
	_, err = Import(ctx, r, dst, ImportOptions{Name: src, Cluster: meta["cluster"]})
	stop := r.CloseWithError(errStopped)
	if e := <-exported; e != nil && !errors.Is(e, errStopped) && err == nil {
		err = e
	}
	if err = errors.Join(err, stop); err != nil {
		return fmt.Errorf("cut %s: %w", src, err)
	}
	return nil
}

var errStopped = errors.New("import ended")
