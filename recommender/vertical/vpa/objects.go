package vpa

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	controllerfetcher "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/target/controller_fetcher"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
)

// Objects are what the updater and the admission controller read of a cluster. They are not changed.
type Objects struct {
	// VPAs with the status that the recommender wrote, and the selectors of their targets' pods.
	VPAs []VPA
	// Pods are all pods, for the updater.
	Pods []*corev1.Pod
	// Controllers are all that own pods, or own those. What is absent does not exist, or cannot be scaled.
	Controllers map[Controller]ControllerState
	LimitRanges []*corev1.LimitRange
}

// VPA is an object and the selector of its target's pods; nil where the target has none.
type VPA struct {
	Object   *vpav1.VerticalPodAutoscaler
	Selector labels.Selector
}

// Controller identifies what owns pods: a Deployment, a ReplicaSet, a StatefulSet, ...
type Controller struct{ Kind, Namespace, Name string }

// ControllerState is what is known of a controller.
type ControllerState struct {
	// Parent is its own controller: the Deployment of a ReplicaSet. Nil is none.
	Parent *Controller
	// Replicas is how many it wants: spec.replicas, of a DaemonSet status.desiredNumberScheduled. Not asked of Jobs.
	Replicas int
}

// wellKnown are the kinds that upstream looks up in caches (target/controller_fetcher/controller_fetcher.go): where one is absent, its
// pods have no VPA.
var wellKnown = []string{"CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"}

// controllers finds the topmost controller, which is what a VPA names as its target.
type controllers map[Controller]ControllerState

var _ controllerfetcher.ControllerFetcher = controllers(nil)

// FindTopMostWellKnownOrScalable follows parents; it returns nil where there is no controller.
func (all controllers) FindTopMostWellKnownOrScalable(_ context.Context, key *controllerfetcher.ControllerKeyWithAPIVersion) (*controllerfetcher.ControllerKeyWithAPIVersion, error) {
	if key.Kind == "Node" {
		return nil, controllerfetcher.ErrNodeInvalidOwner
	}
	at := Controller{key.Kind, key.Namespace, key.Name}
	state, exists := all[at]
	if !exists {
		return nil, nil
	}
	for range all { // a chain is no longer than that, or a circle
		parent := state.Parent
		if parent == nil {
			break
		}
		above, exists := all[*parent]
		if !exists && slices.Contains(wellKnown, parent.Kind) {
			return nil, nil
		}
		if !exists {
			break
		}
		at, state = *parent, above
	}
	return &controllerfetcher.ControllerKeyWithAPIVersion{
		ControllerKey: controllerfetcher.ControllerKey{Namespace: at.Namespace, Kind: at.Kind, Name: at.Name},
	}, nil
}

// controlling is the VPA that controls the pod among those whose modes are wanted, or nil: the oldest, by name among equals.
func (o Objects) controlling(pod *corev1.Pod, among []*vpautil.VpaWithSelector) *vpav1.VerticalPodAutoscaler {
	found := vpautil.GetControllingVPAForPod(context.Background(), pod, among, controllers(o.Controllers))
	if found == nil {
		return nil
	}
	return found.Vpa
}

// selected are the VPAs that are looked at and wanted, and have a selector, in order of namespaces and names.
func (o Objects) selected(f Flags, wanted func(*vpav1.VerticalPodAutoscaler) bool) []*vpautil.VpaWithSelector {
	var all []*vpautil.VpaWithSelector
	for _, v := range o.VPAs {
		if v.Selector != nil && f.looksAt(v.Object.Namespace) && wanted(v.Object) {
			all = append(all, &vpautil.VpaWithSelector{Vpa: v.Object, Selector: v.Selector})
		}
	}
	slices.SortFunc(all, func(a, b *vpautil.VpaWithSelector) int {
		return cmp.Or(cmp.Compare(a.Vpa.Namespace, b.Vpa.Namespace), cmp.Compare(a.Vpa.Name, b.Vpa.Name))
	})
	return all
}
