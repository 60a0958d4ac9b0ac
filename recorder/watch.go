package recorder

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// watched receives what a reflector lists and watches of one target and puts it into the queue. It remembers of each
// object only what separates a new list from what was seen before. A call returns when the queue has taken the change: a
// slow writer slows the watch, not the memory.
type watched struct {
	target
	r *Recorder

	mu      sync.Mutex
	known   map[types.NamespacedName]seenObject
	highest string                             // highest resource version seen
	left    map[types.NamespacedName]bool      // those of known that are not recorded
	taken   map[types.NamespacedName]time.Time // when an object was recorded last, of targets that bound how often
	listed  bool                               // the first list has arrived
	last    time.Time                          // observed time of the last sign of life of this watch
	changed chan struct{}                      // closed and replaced whenever something here changes

	open     bool      // a stream is open
	watching bool      // the stream is through with the objects there were when it began
	current  time.Time // while not watching: until when the kind was known
	refused  bool      // no stream stood since the last list: the kind can be listed only

	stream  *stream   // the one that is open
	since   time.Time // when it was opened
	silent  time.Time // when it was ended because it said nothing, zero if it was not
	suspect *suspect  // set while a stream that was silent has yet to show that it missed nothing

	unproven time.Time // what current was until a stream resumed that has shown nothing yet; zero if there is none
}

type seenObject struct {
	uid     types.UID
	version string
}

var (
	_ cache.ReflectorStore         = (*watched)(nil)
	_ cache.ReflectorBookmarkStore = (*watched)(nil)
)

func newWatched(r *Recorder, t target) *watched {
	return &watched{target: t, r: r, known: map[types.NamespacedName]seenObject{}, changed: make(chan struct{})}
}

// Add implements cache.ReflectorStore. A watch reports "added" for objects it has reported before, when it resumes.
func (w *watched) Add(o any) error { return w.Update(o) }

// Update implements cache.ReflectorStore.
func (w *watched) Update(o any) error {
	obj, err := w.object(o)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.put(obj, false, w.emit)
}

// Delete implements cache.ReflectorStore; o is the last state of the object.
func (w *watched) Delete(o any) error {
	obj, err := w.object(o)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone(obj, w.emit)
}

// Replace implements cache.ReflectorStore: the first list, or a new one after the watch could not resume. In the
// latter case what is not listed any more is deleted now, and what came and went in between was missed: a gap.
func (w *watched) Replace(list []any, version string) error {
	objects := make([]scalehist.Object, 0, len(list))
	for _, o := range list {
		obj, err := w.object(o)
		if err != nil {
			return err
		}
		objects = append(objects, obj)
	}
	// A watch list arrives in map order.
	slices.SortFunc(objects, func(a, b scalehist.Object) int {
		created, other := a.GetCreationTimestamp(), b.GetCreationTimestamp()
		return cmp.Or(created.Compare(other.Time), strings.Compare(a.GetNamespace(), b.GetNamespace()),
			strings.Compare(a.GetName(), b.GetName()))
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.listed
	w.listed = true
	present := make(map[types.NamespacedName]types.UID, len(objects))
	for _, o := range objects {
		present[scalehist.NameOf(o)] = o.GetUID()
	}
	var items []item
	emit := func(it item) error {
		it.order = "" // what a list shows is of one instant, and in the order that makes sense
		items = append(items, it)
		return nil
	}
	for _, name := range sortedNames(w.known) {
		if was := w.known[name]; present[name] != was.uid {
			if err := w.gone(w.stub(name, was.uid, version), emit); err != nil {
				return err
			}
		}
	}
	for _, o := range objects {
		if err := w.put(o, first, emit); err != nil {
			return err
		}
	}
	at, err := w.deliver(items, first)
	if err != nil {
		return err
	}
	w.current, w.refused, w.suspect, w.silent = at, !w.open, nil, time.Time{}
	if w.open { // a stream that sent the list
		w.watching = true
	}
	w.advance(version)
	if first {
		return w.r.enqueue(item{synced: w})
	}
	return nil
}

// deliver queues what a list brought, at one instant. What a later list brings ends the gap before it: the deletions in
// it, which nobody saw, bear the instant at which the gap ends.
func (w *watched) deliver(items []item, first bool) (time.Time, error) {
	w.r.queueMu.Lock()
	defer w.r.queueMu.Unlock()
	at := w.r.now()
	if first {
		return at, w.r.enqueueAt(at, items)
	}
	missed := history.Gap{From: w.last, To: at, Kinds: []string{w.kind}, Why: whyRestarted}
	switch {
	case w.suspect != nil:
		missed.From = w.suspect.from
	case w.refused && !w.open:
		missed.From, missed.Why = w.current, whyRefused
	case !w.watching:
		missed.From = w.current
	}
	// The gap is there before what happened in it: a reader in between sees that something is missing.
	return at, w.r.enqueueAt(at, append([]item{{gap: &missed}}, items...))
}

// Resync implements cache.ReflectorStore; there is nothing to do again.
func (w *watched) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore.
func (w *watched) Bookmark(version string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.suspect != nil && !newer(w.suspect.until, version) {
		w.suspect = nil // it is through with all that there was, and missed nothing
	}
	w.advance(version)
	return nil
}

// object is what came from the API server, stripped when it was decoded.
func (w *watched) object(o any) (scalehist.Object, error) {
	if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = tombstone.Obj
	}
	obj, ok := o.(scalehist.Object)
	if !ok {
		return nil, fmt.Errorf("watch %s: the server sent a %T", w.kind, o)
	}
	obj.GetObjectKind().SetGroupVersionKind(w.gvk())
	return obj, nil
}

// stub is what is left of an object whose last state was not seen.
func (w *watched) stub(name types.NamespacedName, uid types.UID, version string) scalehist.Object {
	o := w.example.DeepCopyObject().(scalehist.Object)
	o.GetObjectKind().SetGroupVersionKind(w.gvk())
	o.SetNamespace(name.Namespace)
	o.SetName(name.Name)
	o.SetUID(uid)
	o.SetResourceVersion(version)
	return o
}

// emit queues what the watch shows. The first thing that a stream shows which was opened in place of a silent one shows
// whether that one had missed something.
func (w *watched) emit(it item) error {
	if s := w.suspect; s != nil {
		w.suspect = nil
		if it.order == "" || !newer(it.order, s.until) {
			gap := history.Gap{From: s.from, To: w.r.now(), Kinds: []string{w.kind}, Why: whySilent}
			if err := w.r.enqueue(item{gap: &gap}); err != nil {
				return err
			}
		}
	}
	if w.kind == "Event" || w.r.foreign(w.target) { // they may be kept in a store of their own, with versions of its own
		it.order = ""
	}
	return w.r.enqueue(it)
}

// put gives emit a new or changed object. first says that it is part of the first list.
func (w *watched) put(o scalehist.Object, first bool, emit func(item) error) error {
	name, now := scalehist.NameOf(o), seenObject{uid: o.GetUID(), version: o.GetResourceVersion()}
	was, ok := w.known[name]
	if ok && was == now {
		return nil
	}
	if ok && was.uid != now.uid { // a deletion that a resumed watch did not show
		if err := w.gone(w.stub(name, was.uid, was.version), emit); err != nil {
			return err
		}
		ok = false
	}
	op := scalehist.OpUpdate
	if !ok {
		op = scalehist.OpAdd
	}
	if w.kept(o, first) && (!ok || !w.tooSoon(name)) {
		if err := emit(item{order: now.version, entry: &history.Entry{Change: scalehist.Change{Op: op, Object: o}}}); err != nil {
			return err
		}
		w.take(name)
	}
	w.known[name] = now
	w.advance(now.version)
	return nil
}

// tooSoon says whether a change of an object that is recorded comes too soon after the last one. What an object is at a
// deletion is recorded in any case.
func (w *watched) tooSoon(name types.NamespacedName) bool {
	return w.every > 0 && w.r.now().Sub(w.taken[name]) < w.every
}

// take notes that an object is recorded now.
func (w *watched) take(name types.NamespacedName) {
	if w.every == 0 {
		return
	}
	if w.taken == nil {
		w.taken = map[types.NamespacedName]time.Time{}
	}
	w.taken[name] = w.r.now()
}

// gone gives emit a deletion. That an event object expires is no news.
func (w *watched) gone(o scalehist.Object, emit func(item) error) error {
	if _, isEvent := o.(*corev1.Event); !isEvent && !w.left[scalehist.NameOf(o)] {
		if err := emit(item{order: o.GetResourceVersion(), entry: &history.Entry{Change: scalehist.Change{Op: scalehist.OpDelete, Object: o}}}); err != nil {
			return err
		}
	}
	delete(w.known, scalehist.NameOf(o))
	delete(w.left, scalehist.NameOf(o))
	delete(w.taken, scalehist.NameOf(o))
	w.advance(o.GetResourceVersion())
	return nil
}

// kept leaves out events that say nothing about scaling, and those of the first list that happened before anything was
// recorded. What a former recording should have may be among the rest: it may have been killed. The store knows those it
// has by their UIDs.
func (w *watched) kept(o scalehist.Object, first bool) bool {
	e, isEvent := o.(*corev1.Event)
	if !isEvent {
		return w.passes(o)
	}
	if !aboutScaling(e) {
		return false
	}
	return !first || !w.r.resumedFrom.IsZero() && lastHappened(e).After(w.r.recordedSince)
}

// advance notes that everything up to a resource version has been queued, and wakes who waits for it.
func (w *watched) advance(version string) {
	if w.highest == "" || newer(version, w.highest) {
		w.highest = version
	}
	w.last, w.unproven = w.r.now(), time.Time{}
	w.wake()
}

// wake lets who waits for a state look again. Call it with w.mu held.
func (w *watched) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// newer compares resource versions of one kind; malformed ones are not newer than anything.
func newer(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c > 0
}

func sortedNames[V any](m map[types.NamespacedName]V) []types.NamespacedName {
	names := make([]types.NamespacedName, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return names
}
