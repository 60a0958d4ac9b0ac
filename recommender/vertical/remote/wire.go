package remote

import (
	_ "embed"
	"time"

	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
)

// The paths of the API.
const (
	PathWorkloads = "/v1/workloads"
	PathOpenAPI   = "/openapi.json"
)

// MaxObserved is how many observations a client sends at once: they fit into the largest request.
const MaxObserved = 2000

// OpenAPI is the OpenAPI 3.1 document of the API, as docs/vertical.openapi.json has it.
//
//go:embed openapi.json
var OpenAPI []byte

// Workload is what a recommender may know of a workload from the start.
type Workload struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Containers are those of its pods, in their order.
	Containers []string `json:"containers,omitempty"`
	// VPA is the VerticalPodAutoscaler of the workload, with its policies; absent where it has none.
	VPA *vpav1.VerticalPodAutoscaler `json:"vpa,omitempty"`
}

// Made names a workload that a server keeps.
type Made struct {
	ID string `json:"id"`
}

// Amount is how much of both resources; absent is not known, or not recommended.
type Amount struct {
	CPUMilli    *int64 `json:"cpuMilli,omitempty"`
	MemoryBytes *int64 `json:"memoryBytes,omitempty"`
}

// Observation is what a container of a pod used at an instant, or that a pod has ended. Instants do not go back.
type Observation struct {
	At time.Time `json:"at"`
	// Pod and Container are names. Container is absent where the pod ended.
	Pod       string `json:"pod"`
	Container string `json:"container,omitempty"`
	// CPUMilli is CPU as an average up to the instant, in thousandths of a core; MemoryBytes the working set.
	Amount
	// OOM: the container ran out of memory at that instant, with RequestedBytes of it requested; it has no amounts then.
	OOM            bool  `json:"oom,omitempty"`
	RequestedBytes int64 `json:"requestedBytes,omitempty"`
	// Ended: the pod is gone; what it used still counts.
	Ended bool `json:"ended,omitempty"`
}

// Observed adds observations.
type Observed struct {
	Observed []Observation `json:"observed"`
}

// Question adds observations, and asks what is recommended at an instant.
type Question struct {
	Observed []Observation `json:"observed"`
	Now      time.Time     `json:"now"`
}

// Recommendation is what a container should request, and the bounds within which another request is good enough. Bounds that are absent are
// the target.
type Recommendation struct {
	Container string  `json:"container"`
	Target    Amount  `json:"target"`
	Lower     *Amount `json:"lower,omitempty"`
	Upper     *Amount `json:"upper,omitempty"`
}

// Answer has what is recommended; a container of which too little is known is not there.
type Answer struct {
	Recommendations []Recommendation `json:"recommendations"`
	Refused         *Refused         `json:"refused,omitempty"`
}

// Taken says what became of observations.
type Taken struct {
	Refused *Refused `json:"refused,omitempty"`
}

// Refused are observations that were not taken: how many, and why the first was not.
type Refused struct {
	Number int    `json:"number"`
	First  string `json:"first"`
}

// State is what a recommender has learned of a workload, in a form of its own (base64).
type State struct {
	State []byte `json:"state"`
}
