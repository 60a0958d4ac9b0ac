package vpa

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/utils"
	resourcehelpers "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/resources"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
)

// restrictions say which pods of a VPA may be disturbed now, by the rules of upstream's updater/restriction, whose clock is the
// wall's and which acts through clients.
type restrictions struct {
	flags  Flags
	mode   vpav1.UpdateMode
	now    time.Time
	groups map[Controller]*group
	byPod  map[types.NamespacedName]Controller
	// resizingSince is when a pod was first seen to be resized. As upstream, it is kept under the pod's name for good, so that a pod
	// of a StatefulSet inherits it.
	resizingSince map[types.NamespacedName]time.Time
	infeasible    map[types.UID]*vpav1.RecommendedPodResources
}

// group has the pods of a VPA that one controller created.
type group struct {
	configured, running int
	// tolerance is how many of the configured ones may be away.
	tolerance        int
	evicted, resized int // in this turn
	// belowMinimum groups are only resized in place, and that because no budget is looked at.
	belowMinimum bool
}

// mayDisrupt says whether one more may go: more are running than must, or all are and the tolerance is less than one.
func (g *group) mayDisrupt() bool {
	disturbed := g.evicted + g.resized
	return g.running-disturbed > g.configured-g.tolerance ||
		g.running == g.configured && g.tolerance == 0 && disturbed == 0
}

// restrict groups the live pods of a VPA by what created them, and leaves out groups that are too small or whose controller is unknown
// (updater/restriction/pods_restriction_factory.go, GetCreatorMaps).
func (u *Updater) restrict(now time.Time, vpa *vpav1.VerticalPodAutoscaler, pods []*corev1.Pod, known map[Controller]ControllerState) *restrictions {
	r := &restrictions{flags: u.flags, mode: vpautil.GetUpdateMode(vpa), now: now, groups: map[Controller]*group{},
		byPod: map[types.NamespacedName]Controller{}, resizingSince: u.resizingSince, infeasible: u.infeasible}
	created := map[Controller][]*corev1.Pod{}
	for _, p := range pods {
		if c, ok := creator(p); ok {
			created[c] = append(created[c], p)
		}
	}
	required := u.flags.MinReplicas
	if vpa.Spec.UpdatePolicy != nil && vpa.Spec.UpdatePolicy.MinReplicas != nil {
		required = int(*vpa.Spec.UpdatePolicy.MinReplicas)
	}
	inPlace := r.mode == vpav1.UpdateModeInPlaceOrRecreate || r.mode == vpav1.UpdateModeInPlace
	for c, pods := range created {
		g := &group{}
		if len(pods) < required {
			skip := inPlace && u.flags.InPlaceSkipDisruptionBudget
			if !skip && !slices.ContainsFunc(pods, vpautil.PodHasCPUBoostInProgressAnnotation) {
				continue
			}
			g.belowMinimum = skip
		}
		var ok bool
		if g.configured, ok = configured(c, len(pods), known); !ok {
			continue
		}
		g.tolerance = int(float64(g.configured) * u.flags.EvictionTolerance)
		for _, p := range pods {
			r.byPod[podName(p)] = c
			if p.Status.Phase != corev1.PodPending {
				g.running++
			}
		}
		r.groups[c] = g
	}
	return r
}

// creator is what controls the pod.
func creator(p *corev1.Pod) (Controller, bool) {
	for _, o := range p.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			return Controller{o.Kind, p.Namespace, o.Name}, true
		}
	}
	return Controller{}, false
}

// configured is how many replicas the controller wants. A Job has as many as live; of kinds that upstream does not know it takes none,
// which lets all pods be evicted.
func configured(c Controller, live int, known map[Controller]ControllerState) (int, bool) {
	switch c.Kind {
	case "Job":
		return live, true
	case "ReplicationController", "ReplicaSet", "StatefulSet", "DaemonSet":
		n := known[c].Replicas
		return n, n != 0
	}
	return 0, true
}

func podName(p *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

func (r *restrictions) group(p *corev1.Pod) *group {
	c, ok := r.byPod[podName(p)]
	if !ok {
		return nil
	}
	return r.groups[c]
}

// mayEvict is upstream's CanEvict: a pending pod always may be, and one that is being resized when that has failed.
func (r *restrictions) mayEvict(p *corev1.Pod) bool {
	g := r.group(p)
	switch {
	case g == nil:
		return false
	case p.Status.Phase == corev1.PodPending:
		return true
	case g.belowMinimum:
		return false
	case resizing(p):
		return r.resizeFailed(p, g)
	}
	return g.mayDisrupt()
}

// inPlace is upstream's CanInPlaceUpdate.
func (r *restrictions) inPlace(p *corev1.Pod, recommended *vpav1.RecommendedPodResources) utils.InPlaceDecision {
	g := r.group(p)
	if g == nil || p.Status.Phase == corev1.PodPending || recommended == nil {
		return utils.InPlaceDeferred
	}
	if r.mode == vpav1.UpdateModeInPlace {
		if last, tried := r.infeasible[p.UID]; tried && !resourcehelpers.RecommendationHasLowerResource(last, recommended) {
			return utils.InPlaceInfeasibleCached
		}
	}
	switch {
	case !resizing(p):
	case r.mode == vpav1.UpdateModeInPlace:
		if pending, ok := utils.GetPodCondition(p, corev1.PodResizePending); ok && pending.Reason == corev1.PodReasonInfeasible {
			return utils.InPlaceInfeasible
		}
		return utils.InPlaceDeferred
	case r.resizeFailed(p, g):
		return utils.InPlaceEvict
	default:
		return utils.InPlaceDeferred
	}
	if r.flags.InPlaceSkipDisruptionBudget && utils.IsNonDisruptiveResize(p) || g.mayDisrupt() {
		return utils.InPlaceApproved
	}
	return utils.InPlaceDeferred
}

// resizing says whether the kubelet works on a resize: the first condition about it counts.
func resizing(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodResizePending || c.Type == corev1.PodResizeInProgress {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// How long a resize may be deferred or in progress before the pod is evicted instead. Upstream's constants
// (updater/restriction/pods_inplace_restriction.go) are in a package that links testing.
const (
	deferredTimeout   = 5 * time.Minute
	inProgressTimeout = time.Hour
)

// resizeFailed is upstream's CanEvictInPlacingPod: the resize of the pod came to nothing, and the group can do without the pod.
func (r *restrictions) resizeFailed(p *corev1.Pod, g *group) bool {
	since, seen := r.resizingSince[podName(p)]
	if !seen {
		since = r.now
		r.resizingSince[podName(p)] = since
	}
	if !g.mayDisrupt() {
		return false
	}
	if c, pending := utils.GetPodCondition(p, corev1.PodResizePending); pending {
		return c.Reason != corev1.PodReasonDeferred || r.now.Sub(since) > deferredTimeout
	}
	c, _ := utils.GetPodCondition(p, corev1.PodResizeInProgress)
	return c.Reason != "" || c.Message != "" || r.now.Sub(since) > inProgressTimeout
}
