package scalehist

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Controller acts on workloads in virtual time: a vertical or a horizontal autoscaler. It acts through the Workloads it was built
// with. One replay loop owns it.
type Controller interface {
	// Name is what reports call it: "hpa".
	Name() string
	// Next is when it wants to run, never before its last Run; false when it never will by itself.
	Next() (time.Time, bool)
	// Run does what is due at virtual time now, and says what it did and why.
	Run(ctx context.Context, now time.Time) (WorkloadDecision, error)
}

// WorkloadRef names something with replicas, as a scaleTargetRef does.
type WorkloadRef struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

// String is "Deployment/shop/web".
func (r WorkloadRef) String() string { return fmt.Sprintf("%s/%s/%s", r.Kind, r.Namespace, r.Name) }

// Key is the reference without its version: what a workload is known by, whatever version it was named in.
func (r WorkloadRef) Key() WorkloadRef {
	r.APIVersion = ""
	return r
}

// Workload is something with replicas as it is at an instant.
type Workload struct {
	WorkloadRef
	// Selector finds its pods; nil where that is not known. Then Pods are those that it owns.
	Selector labels.Selector
	// Replicas are wanted (spec.replicas of its scale), Current there are (status.replicas).
	Replicas, Current int32
	// SizedBy is the controller that sets the requests of its pods; empty: they are as recorded.
	SizedBy string
	// Pods are its live pods, in the order in which they were created. They are shared: read, never change.
	Pods []*corev1.Pod
}

// Workloads is what a controller sees of a cluster and does to it.
type Workloads interface {
	Cluster
	// Targets lists the workloads with replicas, in the order in which they were created.
	Targets() []Workload
	// Target is one of them; ErrNoWorkload when it is not there.
	Target(WorkloadRef) (Workload, error)
	// OwnerOf is the workload that a pod belongs to; false where nothing with replicas owns it.
	OwnerOf(p *corev1.Pod) (WorkloadRef, bool)
	// TakeOver makes the replicas of a workload the caller's: from now on it has those it has now, until Scale, whatever was
	// recorded of it. A workload belongs to one controller; a second one is refused.
	TakeOver(controller string, w WorkloadRef) error
	// Scale sets the replicas that are wanted of a workload that was taken over.
	Scale(ctx context.Context, w WorkloadRef, replicas int32) error
	// TakeRequests makes the resources of a workload's pods the caller's: recorded changes of them are no causes any more. They
	// belong to one controller; a second one is refused.
	TakeRequests(controller string, w WorkloadRef) error
	// Resize asks the resize subresource to give the containers of a pod other resources, in the order of its specification, with the
	// annotations of the pod. The API server may refuse, which is an error. What the kubelet answers is in the pod's conditions
	// (PodResizePending: Deferred while the node has no room, Infeasible where it never will).
	Resize(ctx context.Context, p *corev1.Pod) error
}

// Admitter is a controller that changes new pods before they are there, as a mutating webhook does.
type Admitter interface {
	// Admit returns the pod to create: p itself, or a changed copy of it.
	Admit(now time.Time, p *corev1.Pod) *corev1.Pod
}

// ErrNoWorkload is the error about a workload that is not in the cluster.
var ErrNoWorkload = errors.New("no such workload")

// WorkloadDecision is what one run of a controller did and why.
type WorkloadDecision struct {
	At         time.Time `json:"at"`
	Controller string    `json:"controller"`
	// Scales are about replicas: one for each target that was looked at and whose explanation changed.
	Scales []WorkloadScale `json:"scales,omitempty"`
	// Resizes are about requests: recommendations that changed, and what was done to pods for them.
	Resizes []WorkloadResize `json:"resizes,omitempty"`
	// Events are what it would have written to the API server.
	Events []Event `json:"events,omitempty"`
	// Notes say what else happened ("metrics of Deployment/shop/web: none yet").
	Notes []string `json:"notes,omitempty"`
}

// Acted says whether anything was changed.
func (d WorkloadDecision) Acted() bool {
	for _, s := range d.Scales {
		if s.To != s.From {
			return true
		}
	}
	return slices.ContainsFunc(d.Resizes, func(r WorkloadResize) bool { return r.Pod != "" && r.Error == "" })
}

// Summary is one line: "hpa Deployment/shop/web 3->7".
func (d WorkloadDecision) Summary() string {
	parts := []string{d.Controller}
	for _, s := range d.Scales {
		if s.From != s.To {
			parts = append(parts, s.String())
		}
	}
	for i := range d.Resizes {
		parts = append(parts, d.Resizes[i].String())
	}
	return strings.Join(parts, " ")
}

// ResizeAction says what a vertical autoscaler does.
type ResizeAction string

// What a vertical autoscaler does.
const (
	// Recommended: from now on this is recommended; new pods get it where the mode says so.
	Recommended ResizeAction = "recommends"
	// Evicted a pod, so that its successor gets what is recommended.
	Evicted ResizeAction = "evicts"
	// Resized a pod in place.
	Resized ResizeAction = "resizes"
)

// WorkloadResize is what a vertical autoscaler decided about a workload, or did to a pod of it.
type WorkloadResize struct {
	Workload WorkloadRef `json:"workload"`
	// By is the object that asks for it ("VerticalPodAutoscaler/shop/web").
	By     string       `json:"by,omitempty"`
	Action ResizeAction `json:"action"`
	// Pod is the name of the pod; empty for Recommended.
	Pod string `json:"pod,omitempty"`
	// Containers are those that are resized, in the order of the pod, or of their names.
	Containers []ContainerResize `json:"containers,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	// Error is why it was not done: a budget, a refusal of the API server.
	Error string `json:"error,omitempty"`
}

// ContainerResize is about the requests of one container. From is what was recommended or requested before.
type ContainerResize struct {
	Name string              `json:"name"`
	From corev1.ResourceList `json:"from,omitempty"`
	To   corev1.ResourceList `json:"to,omitempty"`
	// Lower and Upper bound what is left alone; of Recommended.
	Lower corev1.ResourceList `json:"lower,omitempty"`
	Upper corev1.ResourceList `json:"upper,omitempty"`
}

// String is "Deployment/shop/web recommends app cpu 250m, memory 128Mi", or "Deployment/shop/web evicts Pod web-1".
func (r WorkloadResize) String() string {
	out := fmt.Sprintf("%s %s", r.Workload, r.Action)
	if r.Pod != "" {
		out += " Pod " + r.Pod
	}
	for i, c := range r.Containers {
		if i > 0 {
			out += ";"
		}
		out += " " + c.Name
		for j, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if to, ok := c.To[name]; ok {
				if j > 0 {
					out += ","
				}
				out += fmt.Sprintf(" %s %s", name, to.String())
			}
		}
	}
	if r.Error != "" {
		out += ": " + r.Error
	}
	return out
}

// WorkloadScale is what a horizontal autoscaler decided about one workload: From replicas wanted before, To from now on.
type WorkloadScale struct {
	Workload WorkloadRef `json:"workload"`
	// By is the object that asks for it ("HorizontalPodAutoscaler/shop/web").
	By   string `json:"by,omitempty"`
	From int32  `json:"from"`
	To   int32  `json:"to"`
	// Reason is the controller's own, in the words of its events; Limited what kept it from more: a bound, a window, a policy.
	Reason  string   `json:"reason,omitempty"`
	Limited []string `json:"limited,omitempty"`
	// Metrics are what it looked at, in the order of its specification.
	Metrics []MetricReading `json:"metrics,omitempty"`
}

// String is "Deployment/shop/web 3->7".
func (s WorkloadScale) String() string { return fmt.Sprintf("%s %d->%d", s.Workload, s.From, s.To) }

// MetricReading is one metric as a horizontal autoscaler saw it.
type MetricReading struct {
	// Metric is "cpu resource utilization", Value what was read and Target what is aimed at, in words with units ("93%", "250m").
	Metric string `json:"metric"`
	Value  string `json:"value,omitempty"`
	Target string `json:"target,omitempty"`
	// Proposal is how many replicas the metric asks for by itself; Error is why it could not be read.
	Proposal int32  `json:"proposal,omitempty"`
	Error    string `json:"error,omitempty"`
}
