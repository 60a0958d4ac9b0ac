package status

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	// LastUpdatedAnnotation on the status ConfigMap is when it was written.
	LastUpdatedAnnotation = "cluster-autoscaler.kubernetes.io/last-updated"
	// TimeFormat is the format of that instant and of the status' own time.
	TimeFormat = "2006-01-02 15:04:05.999999999 -0700 MST"
	// MaxStatusMessage is the most of an error message that is shown, in bytes.
	MaxStatusMessage = 500
	Truncated        = "<truncated>"
)

// The words of the status.
const (
	Running           = "Running"
	Healthy           = "Healthy"
	Unhealthy         = "Unhealthy"
	InProgress        = "InProgress"
	NoActivity        = "NoActivity"
	InBackoff         = "Backoff"
	CandidatesPresent = "CandidatesPresent"
	NoCandidates      = "NoCandidates"
)

// Cluster is the key `status` of the status ConfigMap (clusterstate/api).
type Cluster struct {
	Time             string  `json:"time"`
	AutoscalerStatus string  `json:"autoscalerStatus"`
	ClusterWide      Wide    `json:"clusterWide"`
	NodeGroups       []Group `json:"nodeGroups"`
}

type Wide struct {
	Health    Health    `json:"health"`
	ScaleUp   ScaleUp   `json:"scaleUp"`
	ScaleDown ScaleDown `json:"scaleDown"`
}

type Group struct {
	Name      string      `json:"name"`
	Health    GroupHealth `json:"health"`
	ScaleUp   ScaleUp     `json:"scaleUp"`
	ScaleDown ScaleDown   `json:"scaleDown"`
}

type Probe struct {
	LastProbeTime      metav1.Time `json:"lastProbeTime"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}

type Health struct {
	Status     string     `json:"status"`
	NodeCounts NodeCounts `json:"nodeCounts"`
	Probe      `json:",inline"`
}

type GroupHealth struct {
	Status              string     `json:"status"`
	NodeCounts          NodeCounts `json:"nodeCounts"`
	CloudProviderTarget int        `json:"cloudProviderTarget"`
	MinSize             int        `json:"minSize"`
	MaxSize             int        `json:"maxSize"`
	Probe               `json:",inline"`
}

type NodeCounts struct {
	Registered       Registered `json:"registered"`
	LongUnregistered int        `json:"longUnregistered"`
	Unregistered     int        `json:"unregistered"`
}

type Registered struct {
	Total        int     `json:"total"`
	Ready        int     `json:"ready"`
	NotStarted   int     `json:"notStarted"`
	Suspended    int     `json:"suspended"`
	BeingDeleted int     `json:"beingDeleted"`
	Unready      Unready `json:"unready"`
}

type Unready struct {
	Total           int `json:"total"`
	ResourceUnready int `json:"resourceUnready"`
}

type ScaleUp struct {
	Status      string       `json:"status"`
	BackoffInfo *BackoffInfo `json:"backoffInfo,omitempty"`
	Probe       `json:",inline"`
}

type BackoffInfo struct {
	ErrorCode    string `json:"errorCode,omitempty"`
	ErrorMessage string `json:"errorMessage,omitempty"`
}

type ScaleDown struct {
	Status     string `json:"status"`
	Candidates int    `json:"candidates,omitempty"`
	Probe      `json:",inline"`
}

// Shorten cuts a message to what the status has room for.
func Shorten(message string) string {
	if len(message) <= MaxStatusMessage {
		return message
	}
	cut := MaxStatusMessage - len(Truncated)
	for cut > 0 && message[cut]&0xc0 == 0x80 {
		cut-- // not within a character
	}
	return message[:cut] + Truncated
}

// ConfigMap is the status ConfigMap of a name with this status.
func (s *Cluster) ConfigMap(namespace, name string) *corev1.ConfigMap {
	data, err := yaml.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("virtualca: status: %v", err)) // plain structs
	}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{LastUpdatedAnnotation: s.Time}},
		Data:       map[string]string{"status": string(data)},
	}
}
