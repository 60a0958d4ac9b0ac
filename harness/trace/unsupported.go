package trace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/crank"
)

// UnsupportedError says that pods of a window use what no control plane here can schedule as a real one does.
type UnsupportedError struct {
	// Uses are in the order of features.
	Uses []UnsupportedUse
}

// UnsupportedUse is one feature and who uses it, each in the order in which they come.
type UnsupportedUse struct {
	// Feature is one of package crank's (crank.DynamicResources, crank.PodGroups).
	Feature string
	// Standing pods have a node at the start, Arriving ones do not. DaemonSets make such pods.
	Standing, Arriving, DaemonSets []types.NamespacedName
}

// named is how many objects an error names.
const named = 3

func (e *UnsupportedError) Error() string {
	var uses []string
	for _, u := range e.Uses {
		var who []string
		if pods := slices.Concat(u.Standing, u.Arriving); len(pods) > 0 {
			who = append(who, several(pods, "pod"))
		}
		if len(u.DaemonSets) > 0 {
			who = append(who, several(u.DaemonSets, "DaemonSet"))
		}
		uses = append(uses, fmt.Sprintf("%s: %s", u.Feature, strings.Join(who, ", ")))
	}
	return fmt.Sprintf("the window has pods that no control plane here can schedule as a real one does: %s; "+
		"replay without them (--skip-unsupported, SkipUnsupported in harness.Settings), or choose a window before they come", strings.Join(uses, "; "))
}

// several is "2 pods (ml/a, ml/b)" or "5 pods (ml/a, ml/b, ml/c and 2 more)".
func several(names []types.NamespacedName, what string) string {
	if len(names) > 1 {
		what += "s"
	}
	var list []string
	for _, n := range names[:min(named, len(names))] {
		list = append(list, n.String())
	}
	more := ""
	if rest := len(names) - named; rest > 0 {
		more = fmt.Sprintf(" and %d more", rest)
	}
	return fmt.Sprintf("%d %s (%s%s)", len(names), what, strings.Join(list, ", "), more)
}

// unsupported is what crank.Unsupported says of an object's pods, nil if nothing.
func unsupported(o scalehist.Object) *crank.UnsupportedError {
	p, ok := o.(*corev1.Pod)
	if !ok {
		d, isSet := o.(*appsv1.DaemonSet)
		if !isSet {
			return nil
		}
		p = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}, Spec: d.Spec.Template.Spec}
	}
	var e *crank.UnsupportedError
	if errors.As(crank.Unsupported(p), &e) {
		return e
	}
	return nil
}

// supported returns an *UnsupportedError when the input holds what no control plane can schedule; nil else.
func (in *Input) Supported() error {
	uses := map[string]*UnsupportedUse{}
	seen := map[string]bool{}
	for _, ch := range slices.Concat(in.Initial, in.Changes) {
		e := unsupported(ch.Object)
		if e == nil || ch.Op == scalehist.OpDelete {
			continue
		}
		id := fmt.Sprintf("%T %s %s", ch.Object, scalehist.NameOf(ch.Object), ch.Object.GetUID())
		if seen[id] {
			continue
		}
		seen[id] = true
		u := uses[e.Feature]
		if u == nil {
			u = &UnsupportedUse{Feature: e.Feature}
			uses[e.Feature] = u
		}
		p, isPod := ch.Object.(*corev1.Pod)
		switch {
		case !isPod:
			u.DaemonSets = append(u.DaemonSets, scalehist.NameOf(ch.Object))
		case p.Spec.NodeName != "":
			u.Standing = append(u.Standing, scalehist.NameOf(p))
		default:
			u.Arriving = append(u.Arriving, scalehist.NameOf(p))
		}
	}
	if len(uses) == 0 {
		return nil
	}
	out := &UnsupportedError{}
	for _, u := range uses {
		out.Uses = append(out.Uses, *u)
	}
	slices.SortFunc(out.Uses, func(a, b UnsupportedUse) int { return cmp.Compare(a.Feature, b.Feature) })
	return out
}

// LeaveOutUnsupported makes the input one that control planes can schedule, and warns of what that costs. Pods that have a
// node keep it, and the processor and memory they take there; so do pods of DaemonSets, whose place nothing else decides.
// What only a scheduler could place is left out.
func (in *Input) LeaveOutUnsupported() {
	var found *UnsupportedError
	if !errors.As(in.Supported(), &found) {
		return
	}
	out := map[types.NamespacedName]bool{} // the pods of these names that are left out now
	keep := func(changes []scalehist.Change) []scalehist.Change {
		var kept []scalehist.Change
		for _, ch := range changes {
			p, isPod := ch.Object.(*corev1.Pod)
			if isPod && ch.Op == scalehist.OpAdd {
				out[scalehist.NameOf(p)] = p.Spec.NodeName == "" && unsupported(p) != nil
			}
			if isPod && out[scalehist.NameOf(p)] {
				continue
			}
			if unsupported(ch.Object) != nil {
				ch.Object = withoutUnsupported(ch.Object)
			}
			kept = append(kept, ch)
		}
		return kept
	}
	in.Initial, in.Changes = keep(in.Initial), keep(in.Changes)
	for _, u := range found.Uses {
		if len(u.Arriving) > 0 {
			in.Warnings = append(in.Warnings, fmt.Sprintf("%s: left out %s: no node is asked for on their account, and the room they took on nodes is not counted",
				u.Feature, several(u.Arriving, "pod")))
		}
		if len(u.Standing) > 0 {
			in.Warnings = append(in.Warnings, fmt.Sprintf("%s: kept on its node, with the room it takes there: %s; one that has to leave is placed as any other pod",
				u.Feature, several(u.Standing, "pod")))
		}
		if len(u.DaemonSets) > 0 {
			in.Warnings = append(in.Warnings, fmt.Sprintf("%s: pods of %s run without it", u.Feature, several(u.DaemonSets, "DaemonSet")))
		}
	}
}

// withoutUnsupported is a copy of a pod or DaemonSet that uses nothing a control plane has not.
func withoutUnsupported(o scalehist.Object) scalehist.Object {
	o = o.DeepCopyObject().(scalehist.Object)
	var spec *corev1.PodSpec
	switch o := o.(type) {
	case *corev1.Pod:
		o.Status.ResourceClaimStatuses = nil
		spec = &o.Spec
	case *appsv1.DaemonSet:
		spec = &o.Spec.Template.Spec
	}
	spec.ResourceClaims, spec.SchedulingGroup = nil, nil
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			list[i].Resources.Claims = nil
		}
	}
	return o
}
