package objectlog

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scalehist/scalehist"
)

// customKinds are the custom resources that say what node groups are and do, and what vertical and horizontal autoscalers
// are configured with, in any version: read and written as unstructured objects, so that no module of theirs is needed.
var customKinds = []schema.GroupKind{
	{Group: "argoproj.io", Kind: "Rollout"},
	{Group: "autoscaling.k8s.io", Kind: "VerticalPodAutoscaler"},
	{Group: "autoscaling.k8s.io", Kind: "VerticalPodAutoscalerCheckpoint"},
	{Group: "cluster.x-k8s.io", Kind: "MachineDeployment"},
	{Group: "elasti.truefoundry.com", Kind: "ElastiService"},
	{Group: "extensions.gardener.cloud", Kind: "Worker"},
	{Group: "karpenter.sh", Kind: "NodeClaim"},
	{Group: "karpenter.sh", Kind: "NodePool"},
	{Group: "keda.sh", Kind: "ScaledObject"},
	{Group: "machine.sapcloud.io", Kind: "Machine"},
	{Group: "machine.sapcloud.io", Kind: "MachineClass"},
	{Group: "machine.sapcloud.io", Kind: "MachineDeployment"},
	{Group: "machine.sapcloud.io", Kind: "MachineSet"},
}

// CustomKinds are the kinds a log holds as unstructured objects, sorted.
func CustomKinds() []schema.GroupKind { return slices.Clone(customKinds) }

// IsCustom says whether a kind is one of CustomKinds.
func IsCustom(gk schema.GroupKind) bool { return slices.Contains(customKinds, gk) }

// custom reads an unstructured object. Its metadata is held to its types: every accessor would drop what it cannot read.
func (r *Reader) custom(raw json.RawMessage, kind string) (scalehist.Object, error) {
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &meta); err != nil {
		fails := func(raw json.RawMessage) bool {
			return json.Unmarshal(raw, new(metav1.PartialObjectMetadata)) != nil
		}
		if key := offendingKey(raw, fails); key != "" {
			return nil, r.errorf(r.number, "object (%s): key %q: %s", kind, key, valueProblem(err))
		}
		return nil, r.errorf(r.number, "object (%s): %s", kind, jsonProblem(err))
	}
	if meta.Name == "" {
		return nil, r.errorf(r.number, "object (%s): metadata.name is missing", kind)
	}
	if twice := twiceIn(raw, &map[string]any{}); twice != "" {
		return nil, r.errorf(r.number, "object (%s %s): %s", kind, meta.Name, twice)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(raw); err != nil {
		return nil, r.errorf(r.number, "object (%s %s): %s", kind, meta.Name, jsonProblem(err))
	}
	return o, nil
}
