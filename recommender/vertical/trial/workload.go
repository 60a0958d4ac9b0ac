package trial

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/scalehist/scalehist/recommender/vertical"
)

// Workload is what was recorded of one.
type Workload struct {
	Kind, Namespace, Name string
	// VPA is the object that scales it, and LimitRanges are those of its namespace; nil and none where there are none.
	VPA         *vpav1.VerticalPodAutoscaler
	LimitRanges []*corev1.LimitRange
	// Pods are in the order in which they came.
	Pods []Pod
}

// String is "Deployment/shop/web".
func (w *Workload) String() string { return w.Kind + "/" + w.Namespace + "/" + w.Name }

// Pod is a life of a pod.
type Pod struct {
	Name string
	// From and To are when it came and was gone; To is zero of one that is not gone.
	From, To   time.Time
	Containers []Container
}

// Container is one of a pod, with the requests and limits that it was recorded with when it came and its usage, in time order.
type Container struct {
	Name             string
	Requests, Limits vertical.Amount
	// Resizes are those that were recorded in place, in time order.
	Resizes []Resize
	Usage   []Usage
}

// Resize gives a container that runs other requests and limits, at an instant in nanoseconds since the epoch.
type Resize struct {
	At               int64
	Requests, Limits vertical.Amount
}

// Usage is what a container used at an instant, in nanoseconds since the epoch.
type Usage struct {
	At int64
	vertical.Amount
	// Censored: it was at its limit, and would have used more.
	Censored bool
}

// containers are the names of all containers, in the order in which they come.
func (w *Workload) containers() []string {
	var names []string
	known := map[string]bool{}
	for _, p := range w.Pods {
		for _, c := range p.Containers {
			if !known[c.Name] {
				known[c.Name] = true
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// Limits says which limits containers have in a trial.
type Limits string

// The kinds of limits.
const (
	// LimitsRecorded keeps the ratio of limit to request that a container was recorded with, as the VPA does, or none.
	LimitsRecorded Limits = "recorded"
	// LimitsRequests makes each limit the request: what is recommended is all that there is, as with Autopilot.
	LimitsRequests Limits = "requests"
	// LimitsNone takes limits away.
	LimitsNone Limits = "none"
)

// AllLimits lists them, the default first.
var AllLimits = []Limits{LimitsRecorded, LimitsRequests, LimitsNone}
