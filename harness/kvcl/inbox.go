package kvcl

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/internal/plane"
)

// inbox collects what the watches of all kinds deliver until the loop takes it, and knows what they must still
// deliver: the barrier. Objects here have the API server's UIDs and times.
type inbox struct {
	mu     sync.Mutex
	cond   *sync.Cond
	events []plane.Event
	watch  []*watched
	synced int
	// deliveries counts what the watches brought; quiet is how long, in wall-clock time, a wait may go without any.
	deliveries int
	quiet      time.Duration
	// touched has a value when something was delivered since it was read.
	touched chan struct{}

	// The barrier: per kind the highest resource version written, the objects deleted, the pods bound.
	want  []uint64
	gone  map[types.UID]*watched
	bound map[types.UID]bool
}

// watched is one kind as its watch has shown it; a cache.ReflectorStore.
type watched struct {
	in    *inbox
	kind  *plane.Kind
	seen  uint64
	known map[types.UID]known
	ready bool
}

type known struct {
	rv   uint64
	node string
	obj  scalehist.Object
}

// maxQuiet is far more than a loaded machine takes for one event: longer means that one was lost.
const maxQuiet = time.Minute

func newInbox() *inbox {
	in := &inbox{quiet: maxQuiet, touched: make(chan struct{}, 1), want: make([]uint64, len(plane.Kinds)), gone: map[types.UID]*watched{}, bound: map[types.UID]bool{}}
	in.cond = sync.NewCond(&in.mu)
	for _, k := range plane.Kinds {
		in.watch = append(in.watch, &watched{in: in, kind: k, known: map[types.UID]known{}})
	}
	return in
}

// start opens the watches; they end with ctx.
func (in *inbox) start(ctx context.Context, client kubernetes.Interface, wg *sync.WaitGroup) {
	for _, w := range in.watch {
		lw := cache.NewListWatchFromClient(restOf(client, w.kind), w.kind.Resource, metav1.NamespaceAll, fields.Everything())
		r := cache.NewReflectorWithOptions(lw, w.kind.New(), w, cache.ReflectorOptions{Name: "kvcl/" + w.kind.Resource})
		wg.Go(func() { r.RunWithContext(ctx) })
	}
}

// waitListed returns when every watch has shown what was there at its start.
func (in *inbox) waitListed(ctx context.Context) error {
	return in.wait(ctx, func() bool { return in.synced == len(in.watch) })
}

// wrote adds an object as the API server returned it after a write to the barrier.
func (in *inbox) wrote(k *plane.Kind, obj scalehist.Object) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.want[k.Order] = max(in.want[k.Order], plane.Version(obj))
}

func (in *inbox) deleted(k *plane.Kind, uid types.UID) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.gone[uid] = in.watch[k.Order]
}

// onlyThese adds to the barrier that the objects of a kind that are not there, in a list of version rv, are to go.
func (in *inbox) onlyThese(k *plane.Kind, there map[types.UID]bool, rv string) {
	at, _ := strconv.ParseUint(rv, 10, 64)
	in.mu.Lock()
	defer in.mu.Unlock()
	w := in.watch[k.Order]
	for uid, obj := range w.known {
		// What came after the list is not in it either.
		if !there[uid] && obj.rv <= at {
			in.gone[uid] = w
		}
	}
}

func (in *inbox) boundTo(uid types.UID) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.bound[uid] = true
}

// barrier returns when the watches have delivered everything that was written.
func (in *inbox) barrier(ctx context.Context) error {
	return in.wait(ctx, func() bool {
		for i, w := range in.watch {
			if w.seen < in.want[i] {
				return false
			}
		}
		for uid, w := range in.gone {
			if _, there := w.known[uid]; there {
				return false
			}
			delete(in.gone, uid)
		}
		pods := in.watch[plane.PodKind.Order]
		for uid := range in.bound {
			if k, there := pods.known[uid]; there && k.node == "" {
				return false
			}
			delete(in.bound, uid)
		}
		return true
	})
}

// wait returns when cond holds; it is looked at after every delivery. When nothing is delivered for too long, an event
// was lost, and the error says what is missing.
func (in *inbox) wait(ctx context.Context, cond func() bool) error {
	wake := func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.cond.Broadcast()
	}
	stop := context.AfterFunc(ctx, wake)
	defer stop()
	in.mu.Lock()
	defer in.mu.Unlock()
	if cond() {
		return nil
	}
	seen, end := in.deliveries, time.Now().Add(in.quiet)
	alarm := time.AfterFunc(in.quiet, wake)
	defer alarm.Stop()
	for !cond() {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case in.deliveries != seen:
			seen, end = in.deliveries, time.Now().Add(in.quiet)
			alarm.Reset(in.quiet)
		case !time.Now().Before(end):
			return fmt.Errorf("the watches delivered nothing for %s, but there must be more: %s", in.quiet, strings.Join(in.missing(), "; "))
		}
		in.cond.Wait()
	}
	return nil
}

// missing says per kind what the watches still owe.
func (in *inbox) missing() []string {
	gone := map[*watched]int{}
	for uid, w := range in.gone {
		if _, there := w.known[uid]; there {
			gone[w]++
		}
	}
	var out []string
	for i, w := range in.watch {
		if !w.ready {
			out = append(out, fmt.Sprintf("%s: the first list", w.kind.Name))
		}
		if w.seen < in.want[i] {
			out = append(out, fmt.Sprintf("%s: wanted version %d, seen %d", w.kind.Name, in.want[i], w.seen))
		}
		if n := gone[w]; n > 0 {
			out = append(out, fmt.Sprintf("%s: %d deletions, seen version %d", w.kind.Name, n, w.seen))
		}
	}
	if pods, n := in.watch[plane.PodKind.Order], 0; len(in.bound) > 0 {
		for uid := range in.bound {
			if k, there := pods.known[uid]; there && k.node == "" {
				n++
			}
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%s: %d bindings, seen version %d", plane.PodKind.Name, n, pods.seen))
		}
	}
	return out
}

// delivered wakes those who wait; the lock is held.
func (in *inbox) delivered() {
	in.deliveries++
	in.cond.Broadcast()
	select {
	case in.touched <- struct{}{}:
	default:
	}
}

// take returns what was delivered since the last call.
func (in *inbox) take() []plane.Event {
	in.mu.Lock()
	defer in.mu.Unlock()
	e := in.events
	in.events = nil
	return e
}

func (w *watched) Add(obj any) error    { return w.set(obj) }
func (w *watched) Update(obj any) error { return w.set(obj) }
func (w *watched) Resync() error        { return nil }

func (w *watched) set(obj any) error {
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	w.setLocked(obj.(scalehist.Object))
	w.in.delivered()
	return nil
}

func (w *watched) Delete(obj any) error {
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	o := obj.(scalehist.Object)
	w.goneLocked(o.GetUID(), o)
	w.seen = max(w.seen, plane.Version(o))
	w.in.delivered()
	return nil
}

// Replace is the first list, or a later one after a watch broke off: then what is missing has gone.
func (w *watched) Replace(list []any, rv string) error {
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	there := make(map[types.UID]bool, len(list))
	for _, obj := range list {
		o := obj.(scalehist.Object)
		there[o.GetUID()] = true
		if k, ok := w.known[o.GetUID()]; !ok || k.rv != plane.Version(o) {
			w.setLocked(o)
		}
	}
	for uid, k := range w.known {
		if !there[uid] {
			w.goneLocked(uid, k.obj)
		}
	}
	n, _ := strconv.ParseUint(rv, 10, 64)
	w.seen = max(w.seen, n)
	if !w.ready {
		w.ready = true
		w.in.synced++
	}
	w.in.delivered()
	return nil
}

func (w *watched) setLocked(o scalehist.Object) {
	k := known{rv: plane.Version(o), obj: o}
	if p, ok := o.(*corev1.Pod); ok {
		k.node = p.Spec.NodeName
	}
	w.known[o.GetUID()] = k
	w.seen = max(w.seen, k.rv)
	w.in.events = append(w.in.events, plane.Event{Kind: w.kind, UID: o.GetUID(), RV: k.rv, Obj: o})
}

func (w *watched) goneLocked(uid types.UID, o scalehist.Object) {
	delete(w.known, uid)
	w.in.events = append(w.in.events, plane.Event{Kind: w.kind, UID: uid, RV: plane.Version(o), Obj: o, Gone: true})
}
