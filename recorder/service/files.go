package service

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// files signals when one of some files may have changed. It watches their directories, because files are replaced: by
// editors with a rename, by the kubelet by swapping the link ..data that a ConfigMap's files go through.
type files struct {
	// changed gets a value after changes; what came while nobody listened is one value. Reading the files again and
	// comparing is up to the receiver: nothing waits for writers to be done, a half-written file is followed by another
	// change.
	changed chan struct{}

	watcher *fsnotify.Watcher
	failed  error
	names   chan wanted // given to the goroutine
	done    chan struct{}
}

// wanted are the names that matter; more says that directories were added, in which something may have changed before.
type wanted struct {
	names map[string]bool
	more  bool
}

func newFiles() *files {
	f := &files{changed: make(chan struct{}, 1), names: make(chan wanted), done: make(chan struct{})}
	if f.watcher, f.failed = fsnotify.NewWatcher(); f.failed != nil {
		close(f.done)
		return f
	}
	go f.run()
	return f
}

func (f *files) run() {
	defer close(f.done)
	var names map[string]bool
	for {
		select {
		case now := <-f.names:
			if names = now.names; now.more {
				f.signal()
			}
		case e, ok := <-f.watcher.Events:
			if !ok {
				return
			}
			if base := filepath.Base(e.Name); names[base] || strings.HasPrefix(base, "..") {
				f.signal()
			}
		case _, ok := <-f.watcher.Errors:
			if !ok {
				return
			}
			f.signal() // events were lost
		}
	}
}

func (f *files) signal() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// set chooses the files, directories among them, and returns why some cannot be watched.
func (f *files) set(paths []string) error {
	if f.failed != nil {
		return fmt.Errorf("files cannot be watched: %w: restart to read changes", f.failed)
	}
	names, dirs := map[string]bool{}, map[string]bool{}
	note := func(path string) {
		names[filepath.Base(path)] = true
		dirs[filepath.Dir(path)] = true
	}
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			continue
		}
		note(abs)
		if info, err := os.Stat(abs); err == nil && info.IsDir() {
			dirs[abs] = true
		}
		if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
			note(real)
		}
	}
	var errs []error
	have := f.watcher.WatchList()
	for _, d := range have {
		if !dirs[d] {
			_ = f.watcher.Remove(d) // gone already
		}
	}
	added := false
	for d := range dirs {
		if slices.Contains(have, d) {
			continue
		}
		switch err := f.watcher.Add(d); {
		case errors.Is(err, os.ErrNotExist): // an attempt says so
		case err != nil:
			errs = append(errs, fmt.Errorf("changes in %s are not noticed: %w", d, err))
		default:
			added = true
		}
	}
	f.names <- wanted{names: names, more: added}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// close ends the goroutine.
func (f *files) close() {
	if f.failed != nil {
		return
	}
	_ = f.watcher.Close() // nothing to lose
	<-f.done
}
