package dbfile

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/scalehist/scalehist/internal/durable"
)

// WriterLock keeps a second writer out. It is a file of its own ("<history>.lock") holding the writer's PID: a lock on
// the database itself would undo SQLite's own, which POSIX drops when any descriptor of the file is closed.
// A lock left behind by a dead process is free: the kernel released it.
type WriterLock struct {
	path string
	lock *flock.Flock
}

// Lock locks a file, its RealPath; path is what it was called, for messages.
func Lock(path, file string) (*WriterLock, error) {
	lockPath := file + ".lock"
	for {
		l := flock.New(lockPath)
		ok, err := l.TryLock()
		if err != nil {
			return nil, fmt.Errorf("history %s: lock beside it: %w: its folder must exist and be writable", path, durable.WithoutPaths(err))
		}
		if !ok {
			pid := readPID(lockPath)
			return nil, errors.Join(&LockedError{Path: path, PID: pid}, l.Close())
		}
		// The previous writer may have removed the file between our open and our lock: then we hold a lock on nothing.
		same, err := sameFile(l, lockPath)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		if !same {
			if err := l.Close(); err != nil {
				return nil, err
			}
			continue
		}
		if err := os.WriteFile(lockPath, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		return &WriterLock{path: lockPath, lock: l}, nil
	}
}

func sameFile(l *flock.Flock, path string) (bool, error) {
	held, err := l.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return os.SameFile(held, now), nil
}

func readPID(path string) int {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}

// Release removes the lock file while the lock is still held, then lets go.
func (l *WriterLock) Release() error {
	return errors.Join(os.Remove(l.path), l.lock.Close())
}
