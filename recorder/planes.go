package recorder

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// plane is one of the API servers a cluster may have: its own, and the one where what runs it is.
type plane int

const (
	dataPlane plane = iota
	controlPlane
)

// endpoint is how the API server of a plane is talked to.
type endpoint struct {
	typed     kubernetes.Interface
	meta      metadata.Interface
	dynamic   dynamic.Interface
	namespace string
	line      *line
}

// connectControlPlane prepares to talk to it, if it is another API server.
func (r *Recorder) connectControlPlane() error {
	var err error
	c := r.o.ControlPlane
	if c == nil || c.Config == nil {
		return nil
	}
	cfg := rest.CopyConfig(c.Config)
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	cfg.QPS = -1
	boundAnswers(cfg)
	other := &endpoint{namespace: c.Namespace, line: &line{now: r.now}}
	other.line.know(cfg, true)
	if other.typed, err = kubernetes.NewForConfig(cfg); err != nil {
		return fmt.Errorf("recorder: control plane: %w", err)
	}
	if other.meta, err = metadata.NewForConfig(cfg); err != nil {
		return fmt.Errorf("recorder: control plane: %w", err)
	}
	if other.dynamic, err = dynamic.NewForConfig(cfg); err != nil {
		return fmt.Errorf("recorder: control plane: %w", err)
	}
	r.other = other
	return nil
}

// at is the endpoint of a plane.
func (r *Recorder) at(p plane) endpoint {
	if p == controlPlane && r.other != nil {
		return *r.other
	}
	c := r.clients.Load()
	own := endpoint{typed: c.kube, meta: c.meta, dynamic: c.dyn, line: &r.line}
	if p == controlPlane && r.o.ControlPlane != nil {
		own.namespace = r.o.ControlPlane.Namespace
	}
	return own
}

// listMeta lists names and versions of a target.
func (r *Recorder) listMeta(ctx context.Context, t target, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	at := r.at(t.plane)
	o.FieldSelector = t.selector().String()
	return at.meta.Resource(t.resource).Namespace(at.namespace).List(ctx, o)
}

// foreign says that the target is on another API server, whose resource versions mean nothing beside the cluster's.
func (r *Recorder) foreign(t target) bool { return t.plane == controlPlane && r.other != nil }

// served are the resources of custom kinds that a plane serves now, in the version the server prefers.
func (r *Recorder) served(p plane) (map[string]schema.GroupVersionResource, error) {
	d := r.at(p).typed.Discovery()
	groups, err := d.ServerGroups()
	if err != nil {
		return nil, err
	}
	out := map[string]schema.GroupVersionResource{}
	for _, g := range groups.Groups {
		wanted := false
		for _, t := range customTargets {
			wanted = wanted || t.plane == p && t.resource.Group == g.Name
		}
		if !wanted {
			continue
		}
		list, err := d.ServerResourcesForGroupVersion(g.PreferredVersion.GroupVersion)
		if err != nil {
			return nil, err
		}
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, res := range list.APIResources {
			kind := gv.WithKind(res.Kind).GroupKind().String()
			if _, ok := out[kind]; !ok && !strings.Contains(res.Name, "/") {
				out[kind] = gv.WithResource(res.Name)
			}
		}
	}
	return out, nil
}

// others keeps what is watched beside the cluster's own kinds.
type others struct {
	found  map[string]bool // custom kinds that are watched, or may not be
	absent []string        // custom kinds that were not served at the start
	every  time.Duration   // how often to look for them; 0: lateInterval

	mu   sync.Mutex
	late []*watched // those that came to be served since
}

func (o *others) interval() time.Duration { return cmp.Or(o.every, lateInterval) }

// line is the connection of a watch.
func (w *watched) line() *line { return w.r.at(w.plane).line }

// passes says whether an object is recorded by its target, and remembers those that are not.
func (w *watched) passes(o scalehist.Object) bool {
	if w.keep == nil || w.keep(o) {
		delete(w.left, scalehist.NameOf(o))
		return true
	}
	if w.left == nil {
		w.left = map[types.NamespacedName]bool{}
	}
	w.left[scalehist.NameOf(o)] = true
	return false
}

// lateInterval is how often custom kinds that are not served are looked for again: a CustomResourceDefinition may be
// installed while the recorder runs.
const lateInterval = time.Minute

// findOthers finds custom kinds, and what is watched in a control plane of its own. What is not served is not there: no
// gap. It adds to the watches and returns the kinds.
func (r *Recorder) findOthers(ctx context.Context) ([]string, error) {
	var kinds []string
	r.others.found, r.others.absent = map[string]bool{}, nil
	if r.translate != nil {
		return nil, nil // a virtual cluster has none of it
	}
	for _, w := range r.findServed(ctx) {
		r.watches = append(r.watches, w)
		kinds = append(kinds, w.kind)
	}
	for _, t := range customTargets {
		if !r.others.found[t.kind] && r.wants(t.kind) {
			r.others.absent = append(r.others.absent, t.kind)
		}
	}
	if r.other == nil {
		return kinds, nil
	}
	for _, t := range controlTargets() {
		if !r.wants(t.kind) {
			continue
		}
		if _, err := r.listMeta(ctx, t, metav1.ListOptions{Limit: 1}); err != nil {
			if !notAllowed(err) {
				return nil, fmt.Errorf("recorder: control plane: list %s: %w", t.resource.Resource, err)
			}
			r.refuse(ctx, t)
			continue
		}
		r.watches = append(r.watches, newWatched(r, t))
	}
	return kinds, nil
}

// findServed makes watches for custom kinds that are served and not watched yet.
func (r *Recorder) findServed(ctx context.Context) []*watched {
	logger := klog.FromContext(ctx)
	served := map[plane]map[string]schema.GroupVersionResource{}
	for _, p := range []plane{dataPlane, controlPlane} {
		list, err := r.served(p)
		if err != nil {
			logger.V(1).Info("Custom kinds cannot be looked for, trying again", "reason", err)
			continue
		}
		served[p] = list
	}
	var out []*watched
	for _, t := range customTargets {
		resource, ok := served[t.plane][t.kind]
		if !ok || r.others.found[t.kind] || !r.wants(t.kind) {
			continue
		}
		t.resource = resource
		t.example = unstructuredExample(t)
		if _, err := r.listMeta(ctx, t, metav1.ListOptions{Limit: 1}); err != nil {
			if notAllowed(err) {
				r.others.found[t.kind] = true
				r.refuse(ctx, t)
			}
			continue // it may be about to be served
		}
		r.others.found[t.kind] = true
		out = append(out, newWatched(r, t))
	}
	return out
}

func (r *Recorder) refuse(ctx context.Context, t target) {
	refused := Refused{Kind: t.kind, Resource: t.resource.Resource, Group: t.resource.Group, Forbidden: true}
	why := "not allowed to list " + refused.name()
	klog.FromContext(ctx).Info("Kind is not recorded", "kind", t.kind, "reason", why)
	if r.started() { // found late: the writer reads these lists only at the end
		_ = r.enqueue(item{gap: &history.Gap{From: r.now(), To: r.now(), Kinds: []string{t.kind}, Why: why}}) // the recording has ended
		return
	}
	r.refused = append(r.refused, refused)
	r.unwatch = append(r.unwatch, history.Gap{Kinds: []string{t.kind}, Why: why})
}

// watchLate starts watches for custom kinds that come to be served while the recording runs. start runs one.
func (r *Recorder) watchLate(ctx context.Context, start func(*watched)) {
	if !r.begunOr(ctx) {
		return
	}
	for len(r.others.found) < len(customTargets) {
		if !r.sleep(ctx, r.others.interval()) {
			return
		}
		for _, w := range r.findServed(ctx) {
			klog.FromContext(ctx).Info("Kind is served now, recording it", "kind", w.kind)
			r.others.mu.Lock()
			r.others.late = append(r.others.late, w)
			r.others.mu.Unlock()
			start(w)
		}
	}
}

// all are the watches there are now.
func (r *Recorder) all() []*watched {
	r.others.mu.Lock()
	defer r.others.mu.Unlock()
	return append(r.watches[:len(r.watches):len(r.watches)], r.others.late...)
}
