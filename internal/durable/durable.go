package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Sync makes what a file holds outlive a power cut.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	report(Event{Op: Synced, Path: path})
	return nil
}

// SyncFolder makes the names in a folder outlive a power cut.
func SyncFolder(dir string) error {
	if err := syncFolder(dir); err != nil {
		return err
	}
	report(Event{Op: FolderSynced, Path: dir})
	return nil
}

// Rename gives a file, which was synced, the name path in the same folder, in the place of what has it.
func Rename(temp, path string) error {
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	report(Event{Op: Renamed, Path: temp, To: path})
	return SyncFolder(filepath.Dir(path))
}

// Link gives a file, which was synced, another name, which nothing may have: fs.ErrExist says that something does.
func Link(temp, path string) error {
	if err := os.Link(temp, path); err != nil {
		return err
	}
	report(Event{Op: Linked, Path: temp, To: path})
	return SyncFolder(filepath.Dir(path))
}

// Replace syncs a finished file and gives it the name path in the same folder, in the place of what has it.
func Replace(temp, path string) error {
	if err := Sync(temp); err != nil {
		return err
	}
	return Rename(temp, path)
}

// Remove removes those of some files of one folder that are there, for good: none comes back after a power cut.
func Remove(paths ...string) error {
	var errs []error
	for _, path := range paths {
		err := os.Remove(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			errs = append(errs, err)
		default:
			report(Event{Op: Removed, Path: path})
		}
	}
	// Also where none was there: one that was removed just before may come back.
	if err := errors.Join(errs...); err != nil || len(paths) == 0 {
		return err
	}
	return SyncFolder(filepath.Dir(paths[0]))
}
