package recorder

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// aliveInterval is how often a quiet recording notes that it watches: what a crash would turn into a gap at most.
const aliveInterval = 10 * time.Second

// writer is the one goroutine that writes. Until every watch has delivered its first list it holds everything back;
// then the recording begins, with one state at one instant.
type writer struct {
	r     *Recorder
	store *history.Writer
	kinds []string
	// stop ends the watches after an error; stopping is closed when they are to end.
	stop     func()
	stopping <-chan struct{}
	file     os.FileInfo // the history's

	waiting int // watches whose first list is not complete
	begun   time.Time
	batch   []history.Entry
	order   []string // of each entry in batch: see item.order
	alive   time.Time
	jumped  time.Time // when the clock jumped last
	// retained is when the last round of forgetting began.
	retained time.Time
	groups   *nodeGroups
	err      error
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
			w.try(w.inPlace)
			w.try(func() error { return w.noteClock(ctx) })
			w.try(func() error { return w.signIdle(ctx) })
			w.try(func() error { return w.retain(ctx) })
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
		w.batch, w.order = append(w.batch, *it.entry), append(w.order, it.order)
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
		w.try(func() error { return w.gap(ctx, *it.gap) })
	case it.synced != nil:
		w.waiting--
		if w.waiting == 0 {
			w.try(func() error { return w.begin(ctx) })
		}
	case it.write != nil:
		w.try(func() error { return w.persist(ctx, func() error { return it.write(ctx, w.store) }) })
	case it.barrier != nil:
		w.try(func() error { return w.commit(ctx) })
		if !w.begun.IsZero() && w.r.translate == nil { // who asked knows the state of this instant: it stays, whatever comes
			w.try(func() error { return w.sign(ctx, it.upTo) })
		}
		it.barrier <- w.err
	}
}

// begin opens the recording with the state that the first lists, and what came after them, add up to.
func (w *writer) begin(ctx context.Context) error {
	w.begun = w.r.now()
	if err := w.persist(ctx, func() error {
		_, err := w.store.Begin(ctx, w.begun, append(slices.Clone(w.kinds), "NodeGroup"))
		return err
	}); err != nil {
		return err
	}
	state, seen := w.state()
	w.groups.dirty, w.groups.when = true, w.begun // a history that is continued may have groups that are gone
	for _, kind := range append(slices.Clone(w.kinds), w.r.others.absent...) {
		if kind == "Event" {
			continue
		}
		if err := w.persist(ctx, func() error {
			_, err := w.store.Reconcile(ctx, w.begun, kind, state.of(kind))
			return err
		}); err != nil {
			return err
		}
	}
	w.batch, w.order = state, make([]string, len(state))
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
		key := id{kindOf(&e), scalehist.NameOf(e.Change.Object)}
		if e.Change.Op == scalehist.OpDelete {
			delete(at, key)
			continue
		}
		at[key] = i
	}
	for i, e := range w.batch {
		if last, ok := at[id{kindOf(&e), scalehist.NameOf(e.Change.Object)}]; !ok || last != i {
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
	if w.r.translate == nil {
		w.sortByVersion()
	}
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
	// A recorder that is killed is alive in the history up to what it wrote last: what it missed until then must be there.
	if err := w.keepGaps(ctx, w.batch[len(w.batch)-1].ObservedAt); err != nil {
		return err
	}
	if err := w.persist(ctx, func() error { return w.store.Write(ctx, w.batch) }); err != nil {
		return err
	}
	clear(w.batch) // let the objects go
	w.batch, w.order = w.batch[:0], w.order[:0]
	w.r.written.Add(int64(changes))
	counts := w.store.Counts()
	w.r.counts.Store(&counts)
	return nil
}

// sortByVersion brings the batch into the API server's order. The node groups changed with a node: they go where it goes.
func (w *writer) sortByVersion() {
	var cause scalehist.Object
	for i := range w.batch {
		if w.batch[i].ObservedAt.Equal(w.groups.when) {
			cause = w.batch[i].Change.Object
		}
	}
	byVersion(w.batch, w.order)
	for i := range w.batch {
		if w.batch[i].Change.Object == cause {
			w.groups.when = w.batch[i].ObservedAt
		}
	}
}

// gap notes a gap; one that follows another of its sort at once makes that one longer.
func (w *writer) gap(ctx context.Context, g history.Gap) error {
	return w.persist(ctx, func() error { return w.store.GrowGap(ctx, g) })
}

// noteClock notes what is wrong with the clock, in the history too.
func (w *writer) noteClock(ctx context.Context) error {
	if !w.jumped.IsZero() && w.r.now().Sub(w.jumped) > jumpShown {
		w.jumped = time.Time{}
		w.r.trouble.set(ctx, partJump, "")
	}
	for _, n := range w.r.clocks.take() {
		part := partClock
		if n.series == JumpSeries {
			part, w.jumped = partJump, n.at
			if n.off > 0 && n.at.After(w.begun) {
				from := n.from
				if from.Before(w.begun) {
					from = w.begun
				}
				if err := w.gap(ctx, history.Gap{From: from, To: n.at, Why: n.String()}); err != nil {
					return err
				}
			}
		}
		w.r.trouble.set(ctx, part, n.String())
		err := w.persist(ctx, func() error {
			return w.store.Sample(ctx, []history.Sample{{Series: n.series, At: n.at, Value: n.off.Seconds()}})
		})
		if err == nil && n.off != 0 {
			err = w.persist(ctx, func() error {
				return w.store.SetMeta(ctx, n.series, n.at.Format(time.RFC3339)+": "+n.String())
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keepGaps notes what is not watched, up to an instant: kinds that cannot be, and watches that are down.
func (w *writer) keepGaps(ctx context.Context, at time.Time) error {
	for _, g := range w.r.unwatch {
		g.From, g.To = w.begun, at
		if err := w.gap(ctx, g); err != nil {
			return err
		}
	}
	for _, watch := range w.r.all() {
		g := watch.downSince(at)
		if g == nil || g.From.IsZero() { // it has not listed yet: it is of a kind that came to be served just now
			continue
		}
		if g.From.Before(w.begun) {
			g.From = w.begun
		}
		if err := w.gap(ctx, *g); err != nil {
			return err
		}
	}
	return nil
}

// signIdle notes from time to time that a quiet recording is alive.
func (w *writer) signIdle(ctx context.Context) error {
	now, idle := w.r.idleAt()
	if !idle || now.Sub(w.alive) < aliveInterval {
		return nil
	}
	return w.sign(ctx, now)
}

// sign notes that the recording is alive at an instant up to which everything is written.
func (w *writer) sign(ctx context.Context, now time.Time) error {
	w.alive = now
	if err := w.keepGaps(ctx, now); err != nil || w.r.blind(now) {
		return err
	}
	return w.persist(ctx, func() error { return w.store.Alive(ctx, now) })
}

// end writes the rest, notes the kinds that were not watched or not any more, and closes the recording.
func (w *writer) end(ctx context.Context) error {
	if w.begun.IsZero() {
		return nil
	}
	if err := w.commit(ctx); err != nil {
		return err
	}
	if err := w.noteClock(ctx); err != nil {
		return err
	}
	at := w.r.now()
	if err := w.keepGaps(ctx, at); err != nil {
		return err
	}
	return w.persist(ctx, func() error { return w.store.End(ctx, at) })
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
	return objectlog.KindOf(e.Change.Object)
}
