package plane

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/crank"
	"github.com/scalehist/scalehist/harness/kvcl/profile"
)

// Settled is what the scheduler did in one Settle.
type Settled = crank.Result

// Options of a plane.
type Options struct {
	Scoring profile.Scoring
	// TieBreak is that of profile.Options.
	TieBreak profile.TieBreak
	// Recall is that of crank.Options.
	Recall bool
	// Unscheduled: there is no scheduler, and Settle is an error. What is applied is stored, and the rest forgotten.
	Unscheduled bool
	// EmitEvents writes the scheduler's events to the server.
	EmitEvents bool
}

// Plane is a control plane but for its server. Not safe for concurrent use.
type Plane struct {
	opts    Options
	server  Server
	store   *store
	crank   *crank.Crank
	now     time.Time
	pending []change
	stats   Stats
	// lost are the pods by name that somebody else deleted, until another has the name: to delete or to change one then is no error.
	lost map[string]bool
}

// Stats is the wall-clock time spent.
type Stats struct{ Apply, Schedule time.Duration }

// New returns a plane whose virtual time has not started.
func New(s Server, o Options) *Plane {
	return &Plane{opts: o, server: s, store: newStore(), lost: map[string]bool{}}
}

// Configure chooses the scheduler's profile, before Start.
func (pl *Plane) Configure(s profile.Scoring, t profile.TieBreak) {
	pl.opts.Scoring, pl.opts.TieBreak = s, t
}

// Start starts virtual time, and the scheduler.
func (pl *Plane) Start(ctx context.Context, now time.Time) error {
	if pl.opts.Unscheduled {
		pl.now = now.UTC()
		return nil
	}
	c, err := crank.New(ctx, now, crank.Options{
		Scoring:    pl.opts.Scoring,
		TieBreak:   pl.opts.TieBreak,
		Recall:     pl.opts.Recall,
		Ordinal:    func(uid types.UID) int64 { return pl.store.podOrdinal[uid] },
		Flush:      pl.flush,
		EmitEvents: pl.opts.EmitEvents,
	})
	if err != nil {
		return err
	}
	pl.crank, pl.now = c, now.UTC()
	return nil
}

// Close ends the scheduler.
func (pl *Plane) Close() {
	if pl.crank != nil {
		pl.crank.Close()
	}
}

// Stats returns the time spent so far.
func (pl *Plane) Stats() Stats { return pl.stats }

// Sync waits until the server shows everything that was written, and takes it over.
func (pl *Plane) Sync(ctx context.Context) error {
	if err := pl.server.Barrier(ctx); err != nil {
		return fmt.Errorf("wait for the watches to show what was written: %w", err)
	}
	pl.drain()
	return nil
}

// Objects lists them, with recorded or virtual times and UIDs.
func (pl *Plane) Objects() *scalehist.Objects {
	pl.drain()
	return pl.store.listing.list()
}

// Pod is the pod of that name that Objects lists; nil if there is none.
func (pl *Plane) Pod(namespace, name string) *corev1.Pod {
	pl.drain()
	it := pl.store.byName[PodKind.Order][key(namespace, name)]
	if it == nil || !it.listed || it.obj == nil {
		return nil
	}
	return it.obj.(*corev1.Pod)
}
