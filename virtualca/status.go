package virtualca

import (
	"fmt"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist"
)

const (
	// lastUpdatedAnnotation on the status ConfigMap is when it was written.
	lastUpdatedAnnotation = "cluster-autoscaler.kubernetes.io/last-updated"
	// statusTime is the format of that instant and of the status' own time.
	statusTime = "2006-01-02 15:04:05.999999999 -0700 MST"
	// maxStatusMessage is the most of an error message that is told, in bytes.
	maxStatusMessage = 500
	truncated        = "<truncated>"
)

// The words of the status.
const (
	statusRunning           = "Running"
	statusHealthy           = "Healthy"
	statusUnhealthy         = "Unhealthy"
	statusInProgress        = "InProgress"
	statusNoActivity        = "NoActivity"
	statusBackoff           = "Backoff"
	statusCandidatesPresent = "CandidatesPresent"
	statusNoCandidates      = "NoCandidates"
)

// clusterStatus is the key `status` of the status ConfigMap (clusterstate/api).
type clusterStatus struct {
	Time             string        `json:"time"`
	AutoscalerStatus string        `json:"autoscalerStatus"`
	ClusterWide      wideStatus    `json:"clusterWide"`
	NodeGroups       []groupStatus `json:"nodeGroups"`
}

type wideStatus struct {
	Health    healthStatus    `json:"health"`
	ScaleUp   scaleUpStatus   `json:"scaleUp"`
	ScaleDown scaleDownStatus `json:"scaleDown"`
}

type groupStatus struct {
	Name      string            `json:"name"`
	Health    groupHealthStatus `json:"health"`
	ScaleUp   scaleUpStatus     `json:"scaleUp"`
	ScaleDown scaleDownStatus   `json:"scaleDown"`
}

type probe struct {
	LastProbeTime      metav1.Time `json:"lastProbeTime"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}

type healthStatus struct {
	Status     string     `json:"status"`
	NodeCounts nodeCounts `json:"nodeCounts"`
	probe      `json:",inline"`
}

type groupHealthStatus struct {
	Status              string     `json:"status"`
	NodeCounts          nodeCounts `json:"nodeCounts"`
	CloudProviderTarget int        `json:"cloudProviderTarget"`
	MinSize             int        `json:"minSize"`
	MaxSize             int        `json:"maxSize"`
	probe               `json:",inline"`
}

type nodeCounts struct {
	Registered       registeredCounts `json:"registered"`
	LongUnregistered int              `json:"longUnregistered"`
	Unregistered     int              `json:"unregistered"`
}

type registeredCounts struct {
	Total        int           `json:"total"`
	Ready        int           `json:"ready"`
	NotStarted   int           `json:"notStarted"`
	Suspended    int           `json:"suspended"`
	BeingDeleted int           `json:"beingDeleted"`
	Unready      unreadyCounts `json:"unready"`
}

type unreadyCounts struct {
	Total           int `json:"total"`
	ResourceUnready int `json:"resourceUnready"`
}

type scaleUpStatus struct {
	Status      string       `json:"status"`
	BackoffInfo *backoffInfo `json:"backoffInfo,omitempty"`
	probe       `json:",inline"`
}

type backoffInfo struct {
	ErrorCode    string `json:"errorCode,omitempty"`
	ErrorMessage string `json:"errorMessage,omitempty"`
}

type scaleDownStatus struct {
	Status     string `json:"status"`
	Candidates int    `json:"candidates,omitempty"`
	probe      `json:",inline"`
}

var _ scalehist.StatusReporter = (*Autoscaler)(nil)

// Status implements scalehist.StatusReporter: upstream's status ConfigMap as of the last loop that saw the cluster's
// state; nil before it, and with --write-status-configmap=false.
func (a *Autoscaler) Status() *corev1.ConfigMap {
	if a.status == nil || !a.settings.WriteStatus {
		return nil
	}
	data, err := yaml.Marshal(a.status)
	if err != nil {
		panic(fmt.Sprintf("virtualca: status: %v", err)) // plain structs
	}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: a.settings.Namespace, Name: a.settings.StatusConfigMap, Annotations: map[string]string{lastUpdatedAnnotation: a.status.Time}},
		Data:       map[string]string{"status": string(data)},
	}
}

// updateStatus takes over the state at the end of a loop.
func (l *loop) updateStatus() {
	cs := l.a.state
	candidates := map[string]int{}
	for _, u := range l.a.down.unneeded {
		candidates[u.group]++
	}
	s := &clusterStatus{Time: l.now.UTC().Format(statusTime), AutoscalerStatus: statusRunning}
	total := cs.total
	up := statusNoActivity
	for _, g := range l.groups {
		r := cs.of(g.Name)
		total.unregistered = append(total.unregistered, r.unregistered...)
		total.longUnregistered = append(total.longUnregistered, r.longUnregistered...)
		scaleUp := l.scaleUpStatus(g.Name)
		if scaleUp.Status == statusInProgress {
			up = statusInProgress
		}
		health := healthWord(cs.healthy(g.Name))
		s.NodeGroups = append(s.NodeGroups, groupStatus{Name: g.Name,
			Health: groupHealthStatus{Status: health, NodeCounts: r.counts(l.resourceUnready[g.Name]), CloudProviderTarget: g.TargetSize, MinSize: g.MinSize, MaxSize: g.MaxSize,
				probe: l.probe(g.Name+"/health", health)},
			ScaleUp: scaleUp, ScaleDown: l.scaleDownStatus(g.Name, candidates[g.Name]),
		})
	}
	sort.Slice(s.NodeGroups, func(i, j int) bool { return s.NodeGroups[i].Name < s.NodeGroups[j].Name })
	unready := 0
	for _, n := range l.resourceUnready {
		unready += n
	}
	health := healthWord(cs.clusterHealthy())
	s.ClusterWide = wideStatus{
		Health:    healthStatus{Status: health, NodeCounts: total.counts(unready), probe: l.probe("health", health)},
		ScaleUp:   scaleUpStatus{Status: up, probe: l.probe("scaleUp", up)},
		ScaleDown: l.scaleDownStatus("", len(l.a.down.unneeded)),
	}
	l.a.status = s
}

func healthWord(ok bool) string {
	if ok {
		return statusHealthy
	}
	return statusUnhealthy
}

// counts are the numbers of nodes by state; resourceUnready of the unready ones only wait for a resource.
func (r *readiness) counts(resourceUnready int) nodeCounts {
	return nodeCounts{
		Registered: registeredCounts{Total: r.registered, Ready: r.ready, NotStarted: r.notStarted, Suspended: r.suspended, BeingDeleted: r.deleted,
			Unready: unreadyCounts{Total: r.unready, ResourceUnready: resourceUnready}},
		LongUnregistered: len(r.longUnregistered), Unregistered: len(r.unregistered),
	}
}

// scaleUpStatus of a group: nodes on their way, a reason not to grow, or nothing.
func (l *loop) scaleUpStatus(group string) scaleUpStatus {
	cs := l.a.state
	out := scaleUpStatus{Status: statusNoActivity}
	switch {
	case cs.requests[group] != nil && !cs.backoff.Active(group, l.now):
		out.Status = statusInProgress
	case !cs.healthy(group):
		out.Status = statusUnhealthy
	case cs.backoff.Active(group, l.now):
		out.Status = statusBackoff
		e := cs.backoff.Of(group)
		out.BackoffInfo = &backoffInfo{ErrorCode: e.Code, ErrorMessage: shorten(e.Reason)}
	}
	out.probe = l.probe(group+"/scaleUp", out.Status)
	return out
}

func (l *loop) scaleDownStatus(group string, candidates int) scaleDownStatus {
	out := scaleDownStatus{Status: statusNoCandidates, Candidates: candidates}
	if candidates > 0 {
		out.Status = statusCandidatesPresent
	}
	out.probe = l.probe(group+"/scaleDown", out.Status)
	return out
}

// shorten cuts a message to what the status has room for.
func shorten(message string) string {
	if len(message) <= maxStatusMessage {
		return message
	}
	cut := maxStatusMessage - len(truncated)
	for cut > 0 && message[cut]&0xc0 == 0x80 {
		cut-- // not within a character
	}
	return message[:cut] + truncated
}

// transition is since when a part of the status says what it says.
type transition struct {
	status string
	at     time.Time
}

func (l *loop) probe(key, status string) probe {
	t, ok := l.a.transitions[key]
	if !ok || t.status != status {
		t = transition{status, l.now}
		l.a.transitions[key] = t
	}
	return probe{metav1.NewTime(l.now), metav1.NewTime(t.at)}
}
