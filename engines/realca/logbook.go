package realca

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// logbook watches an API server and keeps every change as a line of an object log, in the order of the API server's writes.
type logbook struct {
	mu     sync.Mutex
	lines  []entry
	newest int64
}

type entry struct {
	line objectlog.Line
	// version is the resource version of the write; a node group's line has the newest one seen.
	version int64
}

// start watches what a recorder would until ctx ends. What is there already gets the instant at which the watches have begun.
func (l *logbook) start(ctx context.Context, client kubernetes.Interface) error {
	f := informers.NewSharedInformerFactory(client, 0)
	var seen []cache.InformerSynced
	for _, i := range []cache.SharedIndexInformer{
		f.Core().V1().Namespaces().Informer(), f.Scheduling().V1().PriorityClasses().Informer(), f.Core().V1().ConfigMaps().Informer(),
		f.Core().V1().Services().Informer(), f.Apps().V1().Deployments().Informer(), f.Apps().V1().DaemonSets().Informer(),
		f.Apps().V1().ReplicaSets().Informer(), f.Apps().V1().StatefulSets().Informer(), f.Batch().V1().Jobs().Informer(),
		f.Policy().V1().PodDisruptionBudgets().Informer(), f.Core().V1().Nodes().Informer(), f.Core().V1().Pods().Informer(),
		f.Core().V1().Events().Informer(),
	} {
		handler, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { l.see(scalehist.OpAdd, o) },
			UpdateFunc: func(_, o any) { l.see(scalehist.OpUpdate, o) },
			DeleteFunc: func(o any) { l.see(scalehist.OpDelete, o) },
		})
		if err != nil {
			return err
		}
		seen = append(seen, handler.HasSynced)
	}
	f.Start(ctx.Done())
	// Caches that are filled are not enough: a handler may have yet to see what is in them.
	if !cache.WaitForCacheSync(ctx.Done(), seen...) {
		return fmt.Errorf("watch what there is for the log: %w", context.Cause(ctx))
	}
	return nil
}

// begin is the instant at which the log begins: what was seen until now was there.
func (l *logbook) begin(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.lines {
		l.lines[i].line.At = at
		l.lines[i].version = 0
	}
	slices.SortStableFunc(l.lines, func(a, b entry) int { return rank(a.line.Object) - rank(b.line.Object) })
}

// rank puts what others refer to first.
func rank(o scalehist.Object) int {
	switch o.(type) {
	case *corev1.Namespace:
		return 0
	case *v1alpha1.NodeGroup:
		return 2
	case *corev1.Node:
		return 3
	case *corev1.Pod:
		return 4
	case *corev1.Event, *eventsv1.Event:
		return 5
	}
	return 1
}

func (l *logbook) see(op scalehist.Op, o any) {
	if t, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = t.Obj
	}
	obj, ok := o.(scalehist.Object)
	if !ok || unrecorded(obj) || op != scalehist.OpAdd && rank(obj) == rank(&corev1.Event{}) {
		return
	}
	version, err := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return // not an object of an API server
	}
	l.add(op, cleaned(obj), version)
}

// unrecorded leaves out what no recorder keeps, and what the API server makes for itself at some time after its start.
func unrecorded(o scalehist.Object) bool {
	switch o := o.(type) {
	case *corev1.ConfigMap:
		return o.Name != "cluster-autoscaler-status" && o.Name != priorityConfigMap
	case *corev1.Service:
		return o.Namespace == metav1.NamespaceDefault && o.Name == "kubernetes"
	}
	return false
}

func (l *logbook) add(op scalehist.Op, obj scalehist.Object, version int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if version == 0 {
		version = l.newest
	}
	l.newest = max(l.newest, version)
	l.lines = append(l.lines, entry{line: objectlog.Line{At: time.Now().UTC().Truncate(time.Millisecond), Op: op, Object: obj}, version: version})
}

// nodeGroup notes a group with its target size.
func (l *logbook) nodeGroup(op scalehist.Op, g Group, size int) {
	o := &v1alpha1.NodeGroup{Spec: v1alpha1.NodeGroupSpec{
		MinSize: int32(g.MinSize), MaxSize: int32(g.MaxSize), TargetSize: int32(size), Zone: g.Zone, MachineType: g.MachineType,
	}}
	o.APIVersion, o.Kind, o.Name = v1alpha1.GroupVersion.String(), "NodeGroup", g.Name
	if t := g.Template; t != nil {
		o.Spec.Template = &v1alpha1.NodeTemplate{
			ObjectMeta: metav1.ObjectMeta{Labels: t.Labels, Annotations: t.Annotations},
			Spec:       corev1.NodeSpec{Taints: t.Spec.Taints},
			Status:     corev1.NodeStatus{Capacity: t.Status.Capacity, Allocatable: t.Status.Allocatable},
		}
	}
	l.add(op, o, 0)
}

// write writes the log. Time does not go back in it.
func (l *logbook) write(w io.Writer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortStableFunc(l.lines, func(a, b entry) int {
		switch {
		case a.version < b.version:
			return -1
		case a.version > b.version:
			return 1
		}
		return 0
	})
	out := objectlog.NewWriter(w, false)
	var last time.Time
	for _, e := range l.lines {
		if e.line.At.Before(last) {
			e.line.At = last
		}
		last = e.line.At
		if err := out.Write(e.line); err != nil {
			return err
		}
	}
	return out.Close()
}

// cleaned is a copy without what only the API server is concerned with. The scheduler's events take their own form.
func cleaned(obj scalehist.Object) scalehist.Object {
	out := obj.DeepCopyObject().(scalehist.Object)
	out.SetManagedFields(nil)
	out.SetResourceVersion("")
	out.SetGenerateName("")
	e, ok := out.(*corev1.Event)
	if !ok || e.ReportingController != corev1.DefaultSchedulerName {
		return out
	}
	n := &eventsv1.Event{
		ObjectMeta: e.ObjectMeta, EventTime: e.EventTime, ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance,
		Action: e.Action, Reason: e.Reason, Regarding: e.InvolvedObject, Related: e.Related, Note: e.Message, Type: e.Type,
	}
	n.APIVersion, n.Kind = eventsv1.SchemeGroupVersion.String(), "Event"
	return n
}
