package history

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/scalehist/scalehist/recorder/history/dbfile"
)

// CopyTo copies the history into a new file at dst: consistent, also while a recorder writes to it, and complete or not at all. The copy
// has no log beside it, and everything a recorder needs to continue it. An existing dst is a dbfile.ExistsError.
func (db *DB) CopyTo(ctx context.Context, dst string) (err error) {
	if _, err := os.Lstat(dst); err == nil {
		return &dbfile.ExistsError{Path: dst}
	}
	tmp, err := dbfile.CreateTemp(dst, 0o644)
	if err != nil {
		return fmt.Errorf("copy %s to %s: %w", db.path, dst, err)
	}
	defer func() { err = errors.Join(err, dbfile.Remove(tmp)) }()
	if err := dbfile.CopyInto(ctx, db.db, tmp); err != nil {
		return fmt.Errorf("copy to %s: %w", dst, readError(db.path, err))
	}
	return dbfile.Place(ctx, tmp, dst, false)
}

// Make makes a history at dst, which fill writes: complete or not at all, an error leaves nothing. An existing dst is a dbfile.ExistsError,
// unless it is to be overwritten: then the file is replaced, not a link to it.
func Make(ctx context.Context, dst string, o Options, overwrite bool, fill func(*Writer) error) (err error) {
	if info, err := os.Lstat(dst); err == nil && !overwrite && !info.IsDir() {
		return &dbfile.ExistsError{Path: dst}
	}
	file := dst
	if overwrite {
		if file, err = dbfile.RealPath(dst); err != nil {
			return err
		}
	}
	tmp, err := dbfile.CreateTemp(file, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", dst, err)
	}
	defer func() { err = errors.Join(err, dbfile.Remove(tmp)) }()
	o.unsynced = true
	w, err := Create(ctx, tmp, o)
	if err != nil {
		return fmt.Errorf("write %s: %w", dst, err)
	}
	w.path = dst // in messages
	if err = fill(w); err == nil {
		err = w.compact(ctx)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	return dbfile.PlaceAt(ctx, tmp, dst, file, overwrite)
}
