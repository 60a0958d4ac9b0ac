package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/decode"
	"github.com/scalehist/scalehist/recommender"
)

// The prototype's shape: what its recorder, replayer and comparer exchange, as far as it is known. Go's field names are the
// keys, their case does not count, and keys that play no part here are passed over. Node groups and templates come from
// AutoscalerConfig; a template belongs to the group of its name, else to the one of its pool and zone.

// prototypeSnapshot is gsc.ClusterSnapshot.
type prototypeSnapshot struct {
	ID               string
	SnapshotTime     time.Time
	AutoscalerConfig struct {
		NodeTemplates map[string]prototypeTemplate
		NodeGroups    map[string]prototypeGroup
	}
	Pods  []prototypePod
	Nodes []prototypeNode
}

type prototypeTemplate struct {
	Name, InstanceType, Region, Zone string
	Capacity, Allocatable            corev1.ResourceList
	Labels                           map[string]string
	Taints                           []corev1.Taint
}

type prototypeGroup struct {
	Name, PoolName, Zone         string
	TargetSize, MinSize, MaxSize int
}

type prototypePod struct {
	Name, Namespace, UID        string
	CreationTimestamp           time.Time
	NodeName, NominatedNodeName string
	Labels                      map[string]string
	Requests                    corev1.ResourceList
	Spec                        corev1.PodSpec
	PodPhase                    corev1.PodPhase
	DeletionTimestamp           *time.Time
}

type prototypeNode struct {
	Name                  string
	CreationTimestamp     time.Time
	ProviderID            string
	Labels                map[string]string
	Taints                []corev1.Taint
	Allocatable, Capacity corev1.ResourceList
}

// prototypeAnswer is the prototype's RecommenderResponse. Its keys are a mixture, as they were.
type prototypeAnswer struct {
	Recommendation   prototypeRecommendation `json:"recommendation"`
	UnscheduledPods  []prototypePodName      `json:"unscheduledPods"`
	RunTime          string                  `json:"runTime"`
	RecommenderError string                  `json:"error"`
}

type prototypeRecommendation struct {
	ScaleUp []prototypeScaleUp `json:"scaleUp"`
	// ScaleDown was always empty: the prototype had none.
	ScaleDown []string `json:"scaleDown"`
}

type prototypeScaleUp struct {
	Zone         string   `json:"zone"`
	NodePoolName string   `json:"nodePoolName"`
	IncrementBy  int      `json:"incrementBy"`
	InstanceType string   `json:"instanceType"`
	NodeNames    []string `json:"nodeNames"`
}

type prototypePodName struct{ Namespace, Name string }

// The labels by which the prototype knows the pool and zone of a node.
const poolLabel = "worker.gardener.cloud/pool"

// decodePrototype reads a snapshot of the prototype's; maxBody is the largest body that is taken.
func decodePrototype(data []byte, maxBody int64) (*prototypeSnapshot, error) {
	s := &prototypeSnapshot{}
	if err := newAllowance(maxBody, int64(len(data))).weigh(data, reflect.TypeFor[prototypeSnapshot](), "", false); err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, &RequestError{"", "it is empty", "send a ClusterSnapshot of the prototype as JSON"}
	}
	if err := json.Unmarshal(data, s); err != nil {
		path := ""
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			path = wrong.Field
		}
		return nil, &RequestError{path, decode.Plain(err), "send a ClusterSnapshot of the prototype as JSON, or ask " + PathRecommend}
	}
	if s.SnapshotTime.IsZero() {
		return nil, &RequestError{"SnapshotTime", "it is missing", "write the instant of the snapshot, such as 2024-05-28T10:00:00Z"}
	}
	if len(s.AutoscalerConfig.NodeGroups) == 0 {
		return nil, &RequestError{"AutoscalerConfig.NodeGroups", "there are none", "send the snapshot with its AutoscalerConfig"}
	}
	return s, nil
}

// request turns the snapshot into a request. Maps are taken in the order of their names.
func (s *prototypeSnapshot) request() (*recommender.Request, error) {
	r := &recommender.Request{Now: s.SnapshotTime.UTC(), Objects: &scalehist.Objects{}, NodeGroupOf: map[string]string{}}
	c := &s.AutoscalerConfig
	for _, key := range sortedKeys(c.NodeGroups) {
		g := c.NodeGroups[key]
		ng := scalehist.NodeGroup{Name: cmp.Or(g.Name, key), MinSize: g.MinSize, MaxSize: g.MaxSize, TargetSize: g.TargetSize, Zone: g.Zone}
		if badSizes(g.MinSize, g.MaxSize, g.TargetSize) {
			return nil, sizesError("AutoscalerConfig.NodeGroups."+key, g.MinSize, g.MaxSize, g.TargetSize)
		}
		if t, ok := s.template(key, g); ok {
			ng.Template, ng.MachineType = t.node(), t.InstanceType
			ng.Zone = cmp.Or(ng.Zone, t.Zone)
		}
		r.NodeGroups = append(r.NodeGroups, recommender.NodeGroup{NodeGroup: ng})
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Name == "" {
			return nil, &RequestError{fmt.Sprintf("Nodes[%d].Name", i), "it is missing", "every node has a name"}
		}
		born := metav1.NewTime(n.CreationTimestamp)
		// The prototype stores only nodes that are Ready.
		r.Objects.Nodes = append(r.Objects.Nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: types.UID("node//" + n.Name), CreationTimestamp: born, Labels: n.Labels},
			Spec:       corev1.NodeSpec{ProviderID: n.ProviderID, Taints: n.Taints},
			Status: corev1.NodeStatus{Allocatable: n.Allocatable, Capacity: n.Capacity,
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: born}}},
		})
		if g := s.groupOf(n.Labels); g != "" {
			r.NodeGroupOf[n.Name] = g
		}
	}
	for i := range s.Pods {
		p, err := s.Pods[i].pod(i)
		if err != nil {
			return nil, err
		}
		r.Objects.Pods = append(r.Objects.Pods, p)
	}
	byCreation(r.Objects.Nodes)
	byCreation(r.Objects.Pods)
	return r, nil
}

func (s *prototypeSnapshot) template(key string, g prototypeGroup) (prototypeTemplate, bool) {
	templates := s.AutoscalerConfig.NodeTemplates
	for _, name := range []string{key, g.Name} {
		if t, ok := templates[name]; ok {
			return t, true
		}
	}
	for _, name := range sortedKeys(templates) {
		if t := templates[name]; t.Labels[poolLabel] == g.PoolName && t.Zone == g.Zone && g.PoolName != "" {
			return t, true
		}
	}
	return prototypeTemplate{}, false
}

// groupOf finds the group of a node by the labels of its pool and zone; "" when it is in none.
func (s *prototypeSnapshot) groupOf(labels map[string]string) string {
	groups := s.AutoscalerConfig.NodeGroups
	pool, zone := labels[poolLabel], cmp.Or(labels[corev1.LabelTopologyZone], labels[corev1.LabelFailureDomainBetaZone])
	for _, key := range sortedKeys(groups) {
		if g := groups[key]; pool != "" && g.PoolName == pool && (g.Zone == zone || g.Zone == "") {
			return cmp.Or(g.Name, key)
		}
	}
	return ""
}

func (t prototypeTemplate) node() *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}}, Spec: corev1.NodeSpec{Taints: t.Taints},
		Status: corev1.NodeStatus{Capacity: t.Capacity, Allocatable: t.Allocatable}}
	for k, v := range t.Labels {
		n.Labels[k] = v
	}
	for k, v := range map[string]string{corev1.LabelInstanceTypeStable: t.InstanceType, corev1.LabelTopologyZone: t.Zone, corev1.LabelTopologyRegion: t.Region} {
		if n.Labels[k] == "" && v != "" {
			n.Labels[k] = v
		}
	}
	if n.Status.Allocatable == nil {
		n.Status.Allocatable = t.Capacity
	}
	return n
}

func (p *prototypePod) pod(i int) (*corev1.Pod, error) {
	if p.Name == "" {
		return nil, &RequestError{fmt.Sprintf("Pods[%d].Name", i), "it is missing", "every pod has a name"}
	}
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: cmp.Or(p.Namespace, "default"), UID: types.UID(p.UID), Labels: p.Labels,
		CreationTimestamp: metav1.NewTime(p.CreationTimestamp)}, Spec: p.Spec, Status: corev1.PodStatus{Phase: p.PodPhase, NominatedNodeName: p.NominatedNodeName}}
	out.Spec.NodeName = cmp.Or(p.NodeName, p.Spec.NodeName)
	if p.DeletionTimestamp != nil {
		at := metav1.NewTime(*p.DeletionTimestamp)
		out.DeletionTimestamp = &at
	}
	if len(out.Spec.Containers) == 0 { // requests only: the prototype sums them up
		out.Spec.Containers = []corev1.Container{{Name: "all", Resources: corev1.ResourceRequirements{Requests: p.Requests}}}
	}
	findKind("v1", "Pod").fillIn(out)
	return out, nil
}

// answer is a recommendation in the prototype's shape.
func (s *prototypeSnapshot) answer(r *recommender.Recommendation, took time.Duration) *prototypeAnswer {
	out := &prototypeAnswer{RunTime: fmt.Sprintf("%d millis", took.Milliseconds()), UnscheduledPods: []prototypePodName{},
		Recommendation: prototypeRecommendation{ScaleUp: []prototypeScaleUp{}, ScaleDown: []string{}}}
	for _, up := range r.ScaleUps {
		u := prototypeScaleUp{Zone: up.Zone, NodePoolName: s.pool(up.NodeGroup), IncrementBy: up.Count, InstanceType: up.MachineType, NodeNames: []string{}}
		for _, n := range up.Nodes {
			u.NodeNames = append(u.NodeNames, n.Name)
		}
		out.Recommendation.ScaleUp = append(out.Recommendation.ScaleUp, u)
	}
	for _, u := range r.Unplaced {
		namespace, name, _ := strings.Cut(u.Pod, "/")
		out.UnscheduledPods = append(out.UnscheduledPods, prototypePodName{namespace, name})
	}
	return out
}

// pool is the pool of a group; the group where there is none.
func (s *prototypeSnapshot) pool(group string) string {
	groups := s.AutoscalerConfig.NodeGroups
	keys := sortedKeys(groups)
	i := slices.IndexFunc(keys, func(k string) bool { return cmp.Or(groups[k].Name, k) == group })
	if i < 0 {
		return group
	}
	return cmp.Or(groups[keys[i]].PoolName, group)
}
