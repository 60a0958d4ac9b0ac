package dbfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/scalehist/scalehist/internal/durable"
)

// CreateTemp makes an empty file, which becomes dst, and gives its name. Its errors are about dst: nobody asked for a temporary file.
func CreateTemp(dst string, mode os.FileMode) (string, error) {
	if info, err := os.Stat(dst); err == nil && info.IsDir() {
		return "", errors.New("it is a directory: give the name of a file")
	} else if err == nil && !info.Mode().IsRegular() { // the finished file would take the place of a device
		return "", errors.New("it is no regular file: give the name of one")
	}
	f, err := os.CreateTemp(filepath.Dir(dst), "."+filepath.Base(dst)+".*.importing")
	if err != nil {
		return "", fmt.Errorf("folder %s: %w: choose one that exists and can be written", filepath.Dir(dst), durable.WithoutPaths(err))
	}
	if err := errors.Join(f.Chmod(mode), f.Close()); err != nil {
		return "", errors.Join(durable.WithoutPaths(err), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// CopyInto writes a consistent copy without a log, also while others write to the original. dst must not exist.
func CopyInto(ctx context.Context, db *sql.DB, dst string) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// The pragma forbids every write, that of another file too; the connection is opened read-only all the same.
	if _, err := conn.ExecContext(ctx, `PRAGMA query_only = 0`); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, `VACUUM INTO ?`, dst)
	if _, back := conn.ExecContext(context.WithoutCancel(ctx), `PRAGMA query_only = 1`); err == nil {
		err = back
	}
	return err
}

// Size is the size of a history with its log.
func Size(path string) int64 {
	total := int64(0)
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(path + suffix); err == nil {
			total += info.Size()
		}
	}
	return total
}

// Remove removes a history that has no reader and no name yet, and everything that SQLite and the writer lay beside it.
func Remove(path string) error {
	var errs []error
	for _, suffix := range append([]string{"", ".lock"}, logSuffixes...) {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
