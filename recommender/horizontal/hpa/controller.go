package hpa

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/controller/util/selectors"
)

// Cluster is what the autoscalers of a Controller read and scale.
type Cluster interface {
	// Read gives the target of an autoscaler as it is now, and answers its queries during one sync. The object is only read.
	Read(hpa *autoscalingv2.HorizontalPodAutoscaler) (Target, Metrics)
}

// Controller runs the autoscalers of a cluster, each at its own times, as the work queue of upstream does: first a sync period after it was
// created, then a sync period after each sync. It is not safe for concurrent use.
type Controller struct {
	options   Options
	cluster   Cluster
	entries   map[types.NamespacedName]*entry
	selectors *selectors.BiMultimap // those of the autoscalers' targets, as of their last syncs
	version   int                   // of selectors: it counts their changes
}

// entry is what is queued under a name. It is there for the time that is left to the next sync after the object was deleted, as the memory is.
type entry struct {
	scaler  *Scaler
	due     time.Time
	deleted bool
	seen    seen
}

// seen are the rivals that were found last. They are the same while no selector has changed and pods of the same labels are asked about.
type seen struct {
	version  int
	selector string
	labels   []labels.Set
	names    []string
}

// NewController gives a controller without autoscalers.
func NewController(o Options, c Cluster) (*Controller, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("horizontal pod autoscaler: %w", err)
	}
	return &Controller{options: o, cluster: c, entries: map[types.NamespacedName]*entry{}, selectors: selectors.NewBiMultimap()}, nil
}

// Set creates an autoscaler, or gives one another spec; its syncs are at the same times as before then. An invalid object changes nothing.
func (c *Controller) Set(now time.Time, hpa *autoscalingv2.HorizontalPodAutoscaler) error {
	name := types.NamespacedName{Namespace: hpa.Namespace, Name: hpa.Name}
	e := c.entries[name]
	if e != nil && !e.deleted {
		return e.scaler.SetSpec(hpa.Spec)
	}
	s, err := New(hpa, c.options)
	if err != nil {
		return err
	}
	due := now.Add(c.options.SyncPeriod)
	if e != nil && e.due.After(now) {
		// The sync at which upstream would have noticed the deletion and dropped its memory finds the new object.
		s.memory, due = e.scaler.memory, e.due
	}
	key := selectors.Key{Namespace: hpa.Namespace, Name: hpa.Name}
	c.selectors.PutSelector(key, labels.Nothing())
	c.version++
	next := &entry{scaler: s, due: due}
	s.rivals = func(selector labels.Selector, pods []*corev1.Pod) []string {
		return c.rivals(key, &next.seen, selector, pods)
	}
	c.entries[name] = next
	return nil
}

// Remove deletes an autoscaler. It does nothing if there is none of that name.
func (c *Controller) Remove(name types.NamespacedName) {
	if e := c.entries[name]; e != nil {
		e.deleted = true
		c.selectors.DeleteSelector(selectors.Key{Namespace: name.Namespace, Name: name.Name})
		c.version++
	}
}

// Object is a copy of an autoscaler with its status, nil if there is none of that name.
func (c *Controller) Object(name types.NamespacedName) *autoscalingv2.HorizontalPodAutoscaler {
	if e := c.entries[name]; e != nil && !e.deleted {
		return e.scaler.Object()
	}
	return nil
}

// Objects are copies of all autoscalers with their status, by namespace and name.
func (c *Controller) Objects() (out []*autoscalingv2.HorizontalPodAutoscaler) {
	for _, e := range c.entries {
		if !e.deleted {
			out = append(out, e.scaler.Object())
		}
	}
	slices.SortFunc(out, func(a, b *autoscalingv2.HorizontalPodAutoscaler) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Next is the time of the next sync, false if there is no autoscaler.
func (c *Controller) Next() (time.Time, bool) {
	var next time.Time
	for _, e := range c.entries {
		if !e.deleted && (next.IsZero() || e.due.Before(next)) {
			next = e.due
		}
	}
	return next, !next.IsZero()
}

// Run syncs the autoscalers that are due, once each: in the order of their times, those of one time by namespace and name. Upstream's
// workers would take the latter in any order.
func (c *Controller) Run(now time.Time) []Decision {
	var due []types.NamespacedName
	for name, e := range c.entries {
		switch {
		case e.due.After(now):
		case e.deleted:
			delete(c.entries, name)
		default:
			due = append(due, name)
		}
	}
	slices.SortFunc(due, func(a, b types.NamespacedName) int {
		return cmp.Or(c.entries[a].due.Compare(c.entries[b].due), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	var out []Decision
	for _, name := range due {
		e := c.entries[name]
		t, m := c.cluster.Read(e.scaler.hpa)
		out = append(out, e.scaler.Reconcile(now, t, m))
		e.due = now.Add(c.options.SyncPeriod)
	}
	return out
}

// rivals are the autoscalers whose targets select one of some pods, by namespace and name. What they select is known from their last syncs, so
// the first of two on the same pods still scales them once.
func (c *Controller) rivals(own selectors.Key, last *seen, selector labels.Selector, pods []*corev1.Pod) []string {
	if text := selector.String(); text != last.selector || last.version == 0 {
		c.selectors.PutSelector(own, selector)
		c.version++
		last.selector = text
	}
	var sets []labels.Set // of pods with the same labels one: they are selected by the same
	for i, pod := range pods {
		if i == 0 || !maps.Equal(pod.Labels, pods[i-1].Labels) {
			sets = append(sets, pod.Labels)
		}
	}
	if last.version == c.version && slices.EqualFunc(sets, last.labels, maps.Equal[labels.Set, labels.Set]) {
		return last.names
	}
	var names []string
	for i, set := range sets {
		key := selectors.Key{Namespace: own.Namespace, Name: strconv.Itoa(i)}
		c.selectors.Put(key, set)
		found, _ := c.selectors.ReverseSelect(key)
		for _, k := range found {
			names = append(names, k.String())
		}
	}
	c.selectors.KeepOnly(nil)
	slices.Sort(names)
	last.version, last.labels, last.names = c.version, sets, slices.Compact(names)
	return last.names
}
