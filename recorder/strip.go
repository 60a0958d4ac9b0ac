package recorder

import (
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/caflags"
	"github.com/scalehist/scalehist/recorder/history/projection"
)

// strip drops, as soon as an object is decoded, what a history does not keep: that keeps memory small and secrets out
// of it. It changes o.
func strip(o scalehist.Object) {
	switch o := o.(type) {
	case *corev1.Event, *corev1.ConfigMap: // the history decides on the event's text and the status' lines
		stripMeta(o)
	case *appsv1.Deployment:
		for i := range o.Spec.Template.Spec.Containers {
			// Flags are stored as arguments, wherever they stood, so that two ways to write them are one.
			if c := &o.Spec.Template.Spec.Containers[i]; caflags.IsAutoscaler(c) {
				if c.Command, c.Args = caflags.Kept(c); len(c.Command) > 1 {
					c.Command, c.Args = c.Command[:1], c.Command[1:]
				}
			}
		}
		keep(o)
	default:
		keep(o)
	}
}

// keep makes o what the history keeps of it.
func keep(o scalehist.Object) {
	kept, ok := projection.Of(o)
	if !ok {
		stripMeta(o)
		return
	}
	kept.SetResourceVersion(o.GetResourceVersion())
	kept.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(kept).Elem())
}

func stripMeta(o scalehist.Object) {
	o.SetManagedFields(nil)
	if a := o.GetAnnotations(); a != nil {
		delete(a, corev1.LastAppliedConfigAnnotation)
		o.SetAnnotations(a)
	}
}

// scalingReasons are the reasons of events on pods and claims that are about scheduling and scaling. Others of the
// kubelet (probes that fail, images that are pulled) are many, say nothing about scaling, and quote what the
// application said.
var scalingReasons = map[string]bool{
	"FailedScheduling": true, "Scheduled": true, "Preempted": true, "PreemptedByScheduler": true,
	"TriggeredScaleUp": true, "NotTriggerScaleUp": true, "ScaleDown": true, "ScaleDownFailed": true,
	"Evicted": true, "Preempting": true, "TaintManagerEviction": true, "DeletingPod": true, "NodeNotReady": true,
	"WaitForFirstConsumer": true, "WaitForPodScheduled": true, "ProvisioningFailed": true, "ProvisioningSucceeded": true,
}

// scalingComponents are parts of the names of components all of whose events are kept.
var scalingComponents = []string{"autoscaler", "karpenter", "machine-controller", "machinedeployment", "machineset", "node-controller", "nodelifecycle"}

// scalingObjects are kinds all of whose events are kept: nodes and what providers make them of.
var scalingObjects = map[string]bool{"Node": true, "Machine": true, "MachineSet": true, "MachineDeployment": true, "MachineClass": true,
	"Worker": true, "NodePool": true, "NodeClaim": true}

// aboutScaling says whether an event is recorded.
func aboutScaling(e *corev1.Event) bool {
	if scalingObjects[e.InvolvedObject.Kind] || scalingReasons[e.Reason] {
		return true
	}
	for _, c := range scalingComponents {
		if strings.Contains(e.Source.Component, c) || strings.Contains(e.ReportingController, c) {
			return true
		}
	}
	return false
}

// lastHappened is when an event happened last, by its own account.
func lastHappened(e *corev1.Event) metav1.Time {
	last := metav1.Time{Time: e.EventTime.Time}
	if e.Series != nil && e.Series.LastObservedTime.After(last.Time) {
		last = metav1.Time{Time: e.Series.LastObservedTime.Time}
	}
	for _, t := range []metav1.Time{e.LastTimestamp, e.FirstTimestamp, e.CreationTimestamp} {
		if t.After(last.Time) {
			last = t
		}
	}
	return last
}
