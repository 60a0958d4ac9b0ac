package recorder

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/scalehist/scalehist/recorder/history/dbfile"
)

// GoneError: the history was removed, or another file put in its place, while it was recorded. What had been written is
// where the file went, if it still is somewhere: it was completed there, and nothing is written to what took its place.
// Recording again at the path begins a new history, or continues the one that is there now.
type GoneError struct {
	Path string
	// Replaced: another file is there now; else there is none.
	Replaced bool
}

func (e *GoneError) Error() string {
	if e.Replaced {
		return fmt.Sprintf("recorder: another file was put in the place of history %s while it was recorded: record again to continue that one, or another file", e.Path)
	}
	return fmt.Sprintf("recorder: history %s was removed while it was recorded: record again to begin a new one", e.Path)
}

// inPlace says whether the path still names the file that is being written.
func (w *writer) inPlace() error {
	now, err := os.Stat(w.store.Path())
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &GoneError{Path: w.store.Path()}
	case err != nil:
		return fmt.Errorf("recorder: %w", err)
	case !os.SameFile(now, w.file):
		return &GoneError{Path: w.store.Path(), Replaced: true}
	}
	return nil
}

// persist runs f, which writes one transaction. While the disk is full, or the file refuses for another reason that may
// pass, it waits and tries again: the queue fills and the watches wait, so that memory stays bounded; nothing is lost,
// but what happens once the queue is full is seen late (push notes that as a gap). When the recording is to end it
// tries once more.
func (w *writer) persist(ctx context.Context, f func() error) error {
	wait := firstWait
	for last := false; ; {
		err := w.inPlace()
		if err == nil {
			err = f()
		}
		if err == nil {
			w.r.trouble.set(ctx, partHistory, "")
			return w.inPlace() // else it went into a file that has no name any more
		}
		if !dbfile.Passing(err) || w.r.translate != nil { // virtual time may stand still: nothing would try again
			return err
		}
		why := fmt.Sprintf("the history cannot be written: %v", err)
		w.r.held.Store(&why)
		w.r.trouble.set(ctx, partHistory, why)
		if last {
			return fmt.Errorf("recorder: the recording was stopped while the history could not be written, what was seen since is lost: %w", err)
		}
		timer := w.r.o.Clock.NewTimer(wait)
		wait = min(2*wait, mostWait)
		select {
		case <-timer.C():
		case <-w.stopping:
			timer.Stop()
			last = true
		}
	}
}
