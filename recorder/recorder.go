package recorder

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
)

// Recorder records one cluster into one history. Make it with New, then Run it once.
type Recorder struct {
	o       Options
	clients atomic.Pointer[clients]
	cluster atomic.Pointer[string] // the identity of the cluster that is recorded

	renewing sync.Mutex
	renewed  time.Time // when the credentials were taken again

	queue   chan item
	watches []*watched
	unwatch []history.Gap // kinds that cannot be watched; From and To are set when they are written
	refused []Refused     // the same for people; written before the recording begins
	synced  chan struct{} // closed when the recording has begun and the first state is written
	stopped chan struct{} // closed when the writer has ended
	ran     atomic.Bool

	// resumedFrom is the end of the history that is continued, zero for a new one; previous are its node groups.
	resumedFrom   time.Time
	recordedSince time.Time // the beginning of the history that is continued
	previous      []*v1alpha1.NodeGroup

	queueMu   sync.Mutex  // orders the queue by observed time; held while the queue is full
	closed    bool        // the queue takes no more
	translate *translator // nil without Options.Times

	mu         sync.Mutex // the writer takes it, so it is never held while waiting for the queue
	lastNow    time.Time
	lastWall   time.Time
	lastSteady time.Duration
	failure    error // why nothing more can be recorded

	// steady is a clock that nobody sets; nil if Options.Clock is not the machine's.
	steady func() time.Duration
	clocks clockWatch
	held   atomic.Pointer[string] // why the history could not be written last

	probe atomic.Int64 // probeTimeout; tests shorten it

	other           *endpoint // the control plane's, if it is another API server
	others          others
	scraping        scraping
	line            line
	trouble         trouble
	queued, written atomic.Int64
	objects         atomic.Int64
	counts          atomic.Pointer[history.WriteCounts]
}

// New prepares a recorder of the cluster behind cfg. It talks to nobody yet.
func New(cfg *rest.Config, o Options) (*Recorder, error) {
	host := cfg.Host
	if u, err := url.Parse(cfg.Host); err == nil && u.Host != "" {
		host = u.Host
	}
	o, err := o.withDefaults(host)
	if err != nil {
		return nil, err
	}
	r := &Recorder{o: o, queue: make(chan item, o.QueueSize), synced: make(chan struct{}), stopped: make(chan struct{})}
	r.probe.Store(int64(probeTimeout))
	r.line.now = r.now
	if _, real := o.Clock.(clock.RealClock); real {
		began := o.Clock.Now()
		r.steady = func() time.Duration { return o.Clock.Since(began) } // Go's times carry a steady clock
	}
	connected, err := r.connect(cfg)
	if err != nil {
		return nil, err
	}
	r.clients.Store(connected)
	if err := errors.Join(r.connectControlPlane(), r.connectPrometheus()); err != nil {
		return nil, err
	}
	if o.Times != nil {
		r.translate = newTranslator(o.Times)
	}
	return r, nil
}

// Run records until ctx ends, then writes everything that was queued, closes the recording and the file, and returns
// nil. It returns an error when the cluster cannot be listed at the start (but see Options.Wait), the history is removed
// under it (GoneError), or another process records into it (dbfile.LockedError). An API server that goes away later, a
// disk that is full and credentials that expire are trouble (Stats): it tries again until they pass.
func (r *Recorder) Run(ctx context.Context) (err error) {
	if r.ran.Swap(true) {
		return errors.New("recorder: Run was called before: make a new Recorder")
	}
	defer close(r.stopped)
	defer func() { r.fail(err) }()
	kinds, identity, err := r.reach(ctx)
	if err != nil {
		return err
	}
	r.cluster.Store(&identity)
	if err := r.readPrevious(ctx); err != nil {
		return err
	}
	// What is queued must reach the file however ctx ended.
	writing := context.WithoutCancel(ctx)
	store, err := r.openHistory(ctx, identity)
	if err != nil {
		return err
	}
	file, err := os.Stat(r.o.Path)
	if err != nil {
		return errors.Join(fmt.Errorf("recorder: %w", err), store.Close())
	}
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	var reflectors sync.WaitGroup
	for _, w := range r.watches {
		reflectors.Go(func() { r.reflector(ctx, w).RunWithContext(watching) })
	}
	if r.translate == nil { // virtual time may stand still, or leap
		go r.listenForSilence(watching)
		reflectors.Go(func() {
			r.watchLate(watching, func(w *watched) {
				reflectors.Go(func() { r.reflector(ctx, w).RunWithContext(watching) })
			})
		})
	}
	for _, scrape := range r.scrapes() {
		reflectors.Go(func() { scrape(watching) })
	}
	go func() {
		<-watching.Done()
		reflectors.Wait()
		r.queueMu.Lock()
		defer r.queueMu.Unlock()
		r.closed = true
		close(r.queue)
	}()
	w := newWriter(r, store, kinds, stopWatching)
	w.file, w.stopping = file, watching.Done()
	err = w.run(writing)
	if err == nil && ctx.Err() != nil && !r.started() {
		err = fmt.Errorf("recorder: stopped before the first lists had arrived, nothing is recorded: %w", ctx.Err())
	}
	return errors.Join(err, store.Close())
}

// fail keeps the first reason why nothing more can be recorded; nil is none.
func (r *Recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure == nil {
		r.failure = err
	}
}

func (r *Recorder) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

func (r *Recorder) started() bool {
	select {
	case <-r.synced:
		return true
	default:
		return false
	}
}

// findTargets asks the server once for each kind. A kind that it does not serve, or that may not be listed, becomes a
// gap of that kind, unless a recording makes no sense without it.
func (r *Recorder) findTargets(ctx context.Context) ([]string, error) {
	var kinds []string
	for _, t := range targets {
		if len(r.o.Kinds) > 0 && !t.needed && !slices.Contains(r.o.Kinds, t.kind) {
			continue
		}
		if t.live && r.translate != nil {
			continue
		}
		_, err := r.metadata().Resource(t.resource).List(ctx, metav1.ListOptions{Limit: 1, FieldSelector: t.selector().String()})
		var why string
		refused := Refused{Kind: t.kind, Resource: t.resource.Resource, Group: t.resource.Group}
		switch {
		case err == nil:
			r.watches = append(r.watches, newWatched(r, t))
			if !slices.Contains(kinds, t.kind) {
				kinds = append(kinds, t.kind)
			}
			continue
		case apierrors.IsNotFound(err):
			why = "the API server does not serve " + refused.name() + " (" + t.resource.GroupVersion().String() + ")"
		case apierrors.IsForbidden(err):
			why, refused.Forbidden = "not allowed to list "+refused.name(), true
		default:
			return nil, fmt.Errorf("recorder: list %s: %w", t.resource.Resource, err)
		}
		if t.needed {
			return nil, &notAllowedError{why: why, name: refused.name()}
		}
		klog.FromContext(ctx).Info("Kind is not recorded", "kind", t.kind, "reason", why)
		if !slices.Contains(r.refused, refused) { // one kind may have several targets
			r.refused = append(r.refused, refused)
		}
		r.unwatch = append(r.unwatch, history.Gap{Kinds: []string{t.kind}, Why: why})
	}
	return kinds, nil
}

func (t target) selector() fields.Selector {
	if t.fields == nil {
		return fields.Everything()
	}
	return t.fields
}

func (r *Recorder) reflector(ctx context.Context, w *watched) *cache.Reflector {
	logger := klog.FromContext(ctx)
	return cache.NewReflectorWithOptions(r.listWatch(w), w.example, w, cache.ReflectorOptions{Name: "recorder/" + w.kind, Logger: &logger})
}

// identity is of this cluster and no other, whatever its address: the UID of a namespace that every cluster has as
// long as it lives. It is empty where that may not be read.
func (r *Recorder) identity(ctx context.Context, meta metadata.Interface) (string, error) {
	if r.translate != nil {
		return history.VirtualIdentity, nil
	}
	list, err := meta.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", metav1.NamespaceSystem).String()})
	switch {
	case apierrors.IsForbidden(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("recorder: namespace %s: %w", metav1.NamespaceSystem, err)
	case len(list.Items) == 0:
		return "", nil
	}
	return string(list.Items[0].UID), nil
}

// readPrevious looks where an existing history ends and which node groups it had then. What is wrong with a file is
// reported by history.Create, which may write to more of them than can be read.
func (r *Recorder) readPrevious(ctx context.Context) error {
	db, err := history.Open(ctx, r.o.Path)
	if err != nil {
		return ctx.Err()
	}
	from, to := db.Span()
	snapshot, err := db.SnapshotAt(ctx, to)
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("recorder: continue %s: %w", r.o.Path, err)
	}
	r.recordedSince, r.resumedFrom = from, to
	for _, g := range snapshot.NodeGroups {
		r.previous = append(r.previous, apiNodeGroup(g))
	}
	return nil
}

// blind says that a kind without which a recording says nothing is not watched now: that the recorder runs is then no
// sign that it sees something.
func (r *Recorder) blind(now time.Time) bool {
	return slices.ContainsFunc(r.all(), func(w *watched) bool { return w.needed && w.downSince(now) != nil })
}

// Stats says how far a recording is.
type Stats struct {
	// Objects are there now; Changes have been seen so far, Written of them are in the file.
	Objects, Changes, Written int64
	// Queued changes wait for the writer.
	Queued int64
	// NodeGroups says where node groups come from.
	NodeGroups string
	// Trouble says what is wrong: which watches are down, that the history cannot be written, that the credentials have
	// expired, that the clock is wrong; "" if nothing is. What fails is tried again.
	Trouble string
	// Counts are the history's; zero until the recording has begun.
	Counts history.WriteCounts
}

// Stats may be called at any time, from any goroutine.
func (r *Recorder) Stats() Stats {
	s := Stats{Changes: r.queued.Load(), Written: r.written.Load(), NodeGroups: r.o.NodeGroups.Name(), Objects: r.objects.Load(), Trouble: r.trouble.String()}
	s.Queued = s.Changes - s.Written
	if c := r.counts.Load(); c != nil {
		s.Counts = *c
	}
	return s
}

// RecordUsage adds what containers used, where no metrics API says it. It returns when the queue has taken it.
func (r *Recorder) RecordUsage(ctx context.Context, list []history.Usage) error {
	if err := r.WaitForStart(ctx); err != nil {
		return err
	}
	return r.writeLater(func(ctx context.Context, store *history.Writer) error { return store.Usage(ctx, list) })
}

// Record adds changes that no watch sees, such as the node groups of a virtual cloud provider, at the present instant.
// It returns when the queue has taken them.
func (r *Recorder) Record(ctx context.Context, changes ...scalehist.Change) error {
	if err := r.WaitForStart(ctx); err != nil {
		return err
	}
	for _, c := range changes {
		c.Object = c.Object.DeepCopyObject().(scalehist.Object)
		if err := r.enqueue(item{entry: &history.Entry{Change: c}}); err != nil {
			return err
		}
	}
	return nil
}
