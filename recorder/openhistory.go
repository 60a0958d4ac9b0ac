package recorder

import (
	"context"
	"errors"
	"fmt"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
)

// openHistory opens the history to write to. Readers of a history that nobody recorded into keep a writer out while they read: it waits for
// them, and says so, until ctx ends.
func (r *Recorder) openHistory(ctx context.Context, identity string) (*history.Writer, error) {
	for {
		store, err := history.Create(context.WithoutCancel(ctx), r.o.Path, history.Options{Cluster: r.o.Cluster, Identity: identity, Source: r.o.Source})
		if !dbfile.InUse(err) {
			r.trouble.set(ctx, partHistory, "")
			return store, err
		}
		r.trouble.set(ctx, partHistory, "waiting for somebody who reads "+r.o.Path)
		timer := r.o.Clock.NewTimer(firstWait)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("recorder: stopped while somebody read %s: %w", r.o.Path, errors.Join(ctx.Err(), err))
		}
	}
}
