package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/memory"
	"github.com/scalehist/scalehist/harness/kvcl/virtual"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/simulator/nodetemplate"
)

// Refusal is an object that an API server would not take from a replay.
type Refusal struct {
	// At is when a replay would write it first: for a node group, from when on it has such nodes.
	At time.Time
	// Object is what was recorded, nil for the nodes that Group would get.
	Object scalehist.Object
	Group  string
	// Why is what the server says: fields with what is wrong with them.
	Why []string
}

const (
	// mostRefusals is how many are found: who repairs a hundred objects has a log that somebody broke, and asks again.
	mostRefusals = 100
	// forgetAfter is after how many changes the control plane forgets what it has noted for lists of its objects.
	forgetAfter = 1_000
)

// Refusals asks an API server what it would refuse of the objects that a replay writes: those at the start, every cause, and a node of each
// template. What it asks is the registries of a control plane in memory, which stores what it takes as a replay's would, but schedules
// nothing and lets nothing happen by itself. At most a hundred are found, one for an object.
func Refusals(ctx context.Context, in *trace.Input) (_ []Refusal, err error) {
	plane, err := memory.Start(ctx, memory.Options{Now: in.Start, Unscheduled: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	a := &asker{plane: plane, cluster: virtual.New(plane, virtual.Options{Termination: in.Termination}), refused: map[string]bool{},
		taken: map[podKin]*corev1.Pod{}, waiting: map[types.NamespacedName]scalehist.Change{}}
	if err := a.templates(ctx, in); err != nil {
		return nil, err
	}
	for _, changes := range [][]scalehist.Change{in.Initial, in.Changes} {
		for _, ch := range changes {
			if why, err := a.ask(ctx, ch); err != nil || len(a.found) == mostRefusals {
				return a.found, err
			} else if id := fmt.Sprintf("%T %s", ch.Object, scalehist.NameOf(ch.Object)); why != nil && !a.refused[id] {
				a.refused[id] = true
				a.found = append(a.found, Refusal{At: ch.At, Object: ch.Object, Why: why})
			}
		}
	}
	return a.found, nil
}

// asker is a control plane that is asked. Pods are thousands of a few shapes, most of which come and are removed again: one that is like
// another that was taken waits, and is written only when something else becomes of it.
type asker struct {
	plane   *memory.Plane
	cluster *virtual.Cluster
	found   []Refusal
	refused map[string]bool // kinds and names of found
	asked   int
	// taken are pods that were, by what they most likely share; waiting are those that wait, by name.
	taken   map[podKin]*corev1.Pod
	waiting map[types.NamespacedName]scalehist.Change
}

// podKin is who pods of one shape mostly belong to.
type podKin struct {
	namespace string
	owner     types.UID
}

// ask writes a change, and gives what the server says if that is invalid. Any other error is of what only a replay knows (a pod that went
// meanwhile, a node that did not come), or comes of an earlier refusal.
func (a *asker) ask(ctx context.Context, ch scalehist.Change) ([]string, error) {
	if a.asked++; a.asked%forgetAfter == 0 {
		a.plane.Objects()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	changes := []scalehist.Change{ch}
	p, isPod := ch.Object.(*corev1.Pod)
	if isPod {
		first, waits := a.waiting[scalehist.NameOf(p)]
		switch {
		case waits && ch.Op == scalehist.OpDelete:
			delete(a.waiting, scalehist.NameOf(p))
			return nil, nil
		case waits:
			delete(a.waiting, scalehist.NameOf(p))
			changes = []scalehist.Change{first, ch}
		case ch.Op == scalehist.OpAdd && alike(a.taken[kinOf(p)], p) && a.plane.Pod(p.Namespace, p.Name) == nil:
			a.waiting[scalehist.NameOf(p)] = ch
			return nil, nil
		}
	}
	err := a.cluster.Apply(ctx, changes)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil && isPod && ch.Op == scalehist.OpAdd {
		a.taken[kinOf(p)] = p
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
		return nil, nil
	}
	why := []string{}
	if d := status.Status().Details; d != nil {
		for _, c := range d.Causes {
			why = append(why, c.Field+": "+c.Message)
		}
	}
	return why, nil
}

func kinOf(p *corev1.Pod) podKin {
	kin := podKin{namespace: p.Namespace}
	if o := metav1.GetControllerOf(p); o != nil {
		kin.owner = o.UID
	}
	return kin
}

// alike says whether an API server that took one pod takes another: they differ in nothing but name, UID, node and times.
func alike(a, b *corev1.Pod) bool {
	for _, name := range []string{b.Name, b.Spec.NodeName} {
		if name != "" && len(validation.NameIsDNSSubdomain(name, false)) > 0 {
			return false
		}
	}
	return a != nil && b.Name != "" && equality.Semantic.DeepEqual(shapeOf(a), shapeOf(b))
}

// shapeOf is a pod without what two of one shape differ in. It shares the rest with it.
func shapeOf(p *corev1.Pod) *corev1.Pod {
	out := *p
	out.Name, out.UID, out.CreationTimestamp, out.ResourceVersion = "", "", metav1.Time{}, ""
	out.Spec.NodeName, out.Status.StartTime = "", nil
	out.Status.Conditions = slices.Clone(out.Status.Conditions)
	for i := range out.Status.Conditions {
		out.Status.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	return &out
}

// templates asks for a node of each template that a group ever has, with the pods that come with it, and removes them again.
func (a *asker) templates(ctx context.Context, in *trace.Input) error {
	last := map[string]*corev1.Node{}
	look := func(at time.Time, g scalehist.NodeGroup) error {
		if t, known := last[g.Name]; known && equality.Semantic.DeepEqual(t, g.Template) {
			return nil
		}
		last[g.Name] = g.Template
		why, err := a.fresh(ctx, in, at, g)
		if err == nil && why != nil && !a.refused["group "+g.Name] && len(a.found) < mostRefusals {
			a.refused["group "+g.Name] = true
			a.found = append(a.found, Refusal{At: at, Group: g.Name, Why: why})
		}
		return err
	}
	for _, g := range in.NodeGroups {
		if err := look(in.Start, g); err != nil {
			return err
		}
	}
	for _, c := range in.GroupChanges {
		if c.Op == scalehist.OpDelete {
			continue
		}
		if err := look(c.At, c.Group); err != nil {
			return err
		}
	}
	return nil
}

// fresh is what the server says of a node of a group, as a scale-up by one would bring it.
func (a *asker) fresh(ctx context.Context, in *trace.Input, at time.Time, g scalehist.NodeGroup) ([]string, error) {
	g.MinSize, g.MaxSize, g.TargetSize = 0, 1, 0
	p, err := cloudprovider.New([]scalehist.NodeGroup{g}, cloudprovider.Options{Start: at, DefaultDelay: ptr.To[time.Duration](0)})
	if err != nil {
		return nil, nil // a replay says so itself
	}
	if err := p.IncreaseSize(ctx, at, g.Name, 1); err != nil {
		return nil, nil // as above
	}
	var undo []scalehist.Change
	defer func() {
		for i := len(undo) - 1; i >= 0; i-- {
			_, _ = a.ask(ctx, undo[i]) // of what was refused there is nothing
		}
	}()
	for _, e := range p.Advance(at) {
		if e.Node == nil {
			continue
		}
		objects := []scalehist.Object{e.Node}
		for _, pod := range in.StaticPods[g.Name] {
			objects = append(objects, nodetemplate.StaticPod(pod, e.NodeName))
		}
		for _, o := range objects {
			undo = append(undo, scalehist.Change{At: at, Op: scalehist.OpDelete, Object: o})
			why, err := a.ask(ctx, scalehist.Change{At: at, Op: scalehist.OpAdd, Object: o})
			if err != nil || why != nil {
				return why, err
			}
		}
	}
	return nil, nil
}
