package recorder

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/sources"
)

// strip drops, before an object waits in the queue, the bulky and private parts that a history never keeps. What is
// kept is decided by the history's projection; this keeps memory small and secrets out of it. It changes o.
func strip(o scalehist.Object) {
	o.SetManagedFields(nil)
	if a := o.GetAnnotations(); a != nil {
		delete(a, corev1.LastAppliedConfigAnnotation)
	}
	switch o := o.(type) {
	case *corev1.Pod:
		stripPodSpec(&o.Spec)
		o.Status.ContainerStatuses, o.Status.InitContainerStatuses, o.Status.EphemeralContainerStatuses = nil, nil, nil
	case *corev1.Node:
		o.Status.Images = nil
	case *appsv1.Deployment:
		if sources.FlagsOf(o) == nil { // the autoscaler's arguments are its settings
			stripPodSpec(&o.Spec.Template.Spec)
			return
		}
		for i := range o.Spec.Template.Spec.Containers {
			stripEnvironment(&o.Spec.Template.Spec.Containers[i])
		}
	case *appsv1.DaemonSet:
		stripPodSpec(&o.Spec.Template.Spec)
	case *appsv1.ReplicaSet:
		stripPodSpec(&o.Spec.Template.Spec)
	case *appsv1.StatefulSet:
		stripPodSpec(&o.Spec.Template.Spec)
	case *batchv1.Job:
		stripPodSpec(&o.Spec.Template.Spec)
	case *corev1.ReplicationController:
		if o.Spec.Template != nil {
			stripPodSpec(&o.Spec.Template.Spec)
		}
	}
}

func stripPodSpec(s *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range containers {
			stripEnvironment(&containers[i])
			containers[i].Command, containers[i].Args = nil, nil
		}
	}
	s.EphemeralContainers, s.ImagePullSecrets = nil, nil
}

func stripEnvironment(c *corev1.Container) {
	c.Env, c.EnvFrom, c.Lifecycle = nil, nil, nil
	c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = nil, nil, nil
}

// scalingReasons are the reasons of events on pods and claims that tell about scheduling and scaling. Others of the
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

// tellsScaling says whether an event is recorded.
func tellsScaling(e *corev1.Event) bool {
	if e.InvolvedObject.Kind == "Node" || scalingReasons[e.Reason] {
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
