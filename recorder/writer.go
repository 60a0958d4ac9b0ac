package recorder

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// aliveInterval is how often a quiet recording notes that it watches: what a crash would turn into a gap at most.
const aliveInterval = 10 * time.Second

// writer is the one goroutine that writes. Until every watch has delivered its first list it holds everything back;
// then the recording begins, with one state at one instant.
type writer struct {
	r     *Recorder
	store *history.Writer
	kinds []string
	// stop ends the watches after an error.
	stop func()

	waiting int // watches whose first list is not complete
	begun   time.Time
	batch   []history.Entry
	alive   time.Time
	groups  *nodeGroups
	err     error
}

func newWriter(r *Recorder, store *history.Writer, kinds []string, stop func()) *writer {
	return &writer{r: r, store: store, kinds: kinds, stop: stop, waiting: len(r.watches), groups: newNodeGroups(r)}
}

// run writes until the queue is closed, then ends the recording. After an error it goes on taking from the queue, so
// that nobody waits for it, and writes nothing more.
func (w *writer) run(ctx context.Context) error {
	var timer clock.Timer
	var due <-chan time.Time
	for {
		select {
		case it, ok := <-w.r.queue:
			if !ok {
				if timer != nil {
					timer.Stop()
				}
				w.try(func() error { return w.end(ctx) })
				return w.err
			}
			w.take(ctx, it)
		case <-due:
			timer, due = nil, nil
			w.try(func() error { return w.commit(ctx) })
			w.try(func() error { return w.sign(ctx) })
		}
		// With Options.Times only a flush commits: virtual time may stand still for ever.
		if due == nil && !w.begun.IsZero() && w.r.translate == nil {
			timer = w.r.o.Clock.NewTimer(w.r.o.BatchInterval)
			due = timer.C()
		}
	}
}

// try runs f unless something went wrong before.
func (w *writer) try(f func() error) {
	if w.err != nil {
		return
	}
	if err := f(); err != nil {
		w.err = err
		w.r.fail(err)
		w.stop()
	}
}

func (w *writer) take(ctx context.Context, it item) {
	switch {
	case it.entry != nil:
		w.groups.observe(it.entry)
		w.batch = append(w.batch, *it.entry)
		if len(w.batch) >= w.r.o.BatchSize && !w.begun.IsZero() && w.r.translate == nil {
			w.try(func() error { return w.commit(ctx) })
		}
	case it.gap != nil:
		if w.begun.IsZero() {
			return // nothing was recorded yet that could miss something
		}
		w.try(func() error { return w.commit(ctx) })
		if it.gap.From.Before(w.begun) {
			it.gap.From = w.begun
		}
		w.try(func() error { return w.store.Gap(ctx, *it.gap) })
	case it.synced != nil:
		w.waiting--
		if w.waiting == 0 {
			w.try(func() error { return w.begin(ctx) })
		}
	case it.barrier != nil:
		w.try(func() error { return w.commit(ctx) })
		it.barrier <- w.err
	}
}

// begin opens the recording with the state that the first lists, and what came after them, add up to.
func (w *writer) begin(ctx context.Context) error {
	w.begun = w.r.now()
	if _, err := w.store.Begin(ctx, w.begun, append(slices.Clone(w.kinds), "NodeGroup")); err != nil {
		return err
	}
	state, seen := w.state()
	w.groups.dirty, w.groups.when = true, w.begun // a history that is continued may have groups that are gone
	for _, kind := range w.kinds {
		if kind == "Event" {
			continue
		}
		if _, err := w.store.Reconcile(ctx, w.begun, kind, state.of(kind)); err != nil {
			return err
		}
	}
	w.batch = state
	if err := w.commit(ctx); err != nil {
		return err
	}
	w.r.written.Add(int64(seen - len(state))) // what later changes had overtaken already
	close(w.r.synced)
	return nil
}

type entries []history.Entry

func (e entries) of(kind string) []scalehist.Object {
	var out []scalehist.Object
	for i := range e {
		if kindOf(&e[i]) == kind {
			out = append(out, e[i].Change.Object)
		}
	}
	return out
}

// state is the last state of each object in the batch that was not deleted, as one instant; and the batch's length.
func (w *writer) state() (state entries, seen int) {
	type id struct {
		kind string
		name types.NamespacedName
	}
	at := map[id]int{}
	for i := range w.batch {
		e := w.batch[i]
		key := id{kindOf(&e), nameOf(e.Change.Object)}
		if e.Change.Op == scalehist.OpDelete {
			delete(at, key)
			continue
		}
		at[key] = i
	}
	for i, e := range w.batch {
		if last, ok := at[id{kindOf(&e), nameOf(e.Change.Object)}]; !ok || last != i {
			continue
		}
		e.ObservedAt = w.begun
		e.Change.Op = scalehist.OpAdd
		e.Change.At = objectTime(&e)
		state = append(state, e)
	}
	sortEntries(state)
	return state, len(w.batch)
}

// commit writes the batch in one transaction, with the node groups as they are after it.
func (w *writer) commit(ctx context.Context) error {
	if w.begun.IsZero() {
		return nil
	}
	changes := len(w.batch)
	groups := w.groups.changes()
	w.batch = append(w.batch, groups...)
	if len(w.batch) == 0 {
		return nil
	}
	for i := range w.batch {
		w.groups.annotate(&w.batch[i])
	}
	if w.r.translate != nil {
		sortEntries(w.batch)
	} else if len(groups) > 0 {
		slices.SortStableFunc(w.batch, func(a, b history.Entry) int { return a.ObservedAt.Compare(b.ObservedAt) })
	}
	if err := w.store.Write(ctx, w.batch); err != nil {
		return err
	}
	clear(w.batch) // let the objects go
	w.batch = w.batch[:0]
	w.r.written.Add(int64(changes))
	counts := w.store.Counts()
	w.r.counts.Store(&counts)
	return nil
}

// sign notes that the recording is alive.
func (w *writer) sign(ctx context.Context) error {
	now := w.r.now()
	if now.Sub(w.alive) < aliveInterval || w.r.blind(now) {
		return nil
	}
	w.alive = now
	return w.store.Alive(ctx, now)
}

// end writes the rest, notes the kinds that were not watched or not any more, and closes the recording.
func (w *writer) end(ctx context.Context) error {
	if w.begun.IsZero() {
		return nil
	}
	if err := w.commit(ctx); err != nil {
		return err
	}
	at := w.r.now()
	for _, g := range w.r.unwatch {
		g.From, g.To = w.begun, at
		if err := w.store.Gap(ctx, g); err != nil {
			return err
		}
	}
	for _, watch := range w.r.watches {
		if g := watch.lost(at); g != nil {
			if err := w.store.Gap(ctx, *g); err != nil {
				return err
			}
		}
	}
	return w.store.End(ctx, at)
}

// sortEntries orders entries of one instant by kind, namespace and name; changes of one object stay in order.
func sortEntries(list []history.Entry) {
	slices.SortStableFunc(list, func(a, b history.Entry) int {
		x, y := a.Change.Object, b.Change.Object
		return cmp.Or(a.ObservedAt.Compare(b.ObservedAt), cmp.Compare(rank[kindOf(&a)], rank[kindOf(&b)]),
			strings.Compare(x.GetNamespace(), y.GetNamespace()), strings.Compare(x.GetName(), y.GetName()))
	})
}

func kindOf(e *history.Entry) string {
	if kind := e.Change.Object.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return fmt.Sprintf("%T", e.Change.Object)
}
