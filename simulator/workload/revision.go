package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/controller/history"
	"k8s.io/utils/ptr"
)

// revision is a template that a StatefulSet has or had: what a ControllerRevision keeps.
type revision struct {
	name     string
	template *corev1.PodTemplateSpec
	// data is the template as a patch, by which revisions are compared.
	data []byte
}

// recall takes a set that comes with a status at its word: its template is the revision that the status calls the updated one. Without
// that a recorded set whose template lost fields on the way would replace all its pods.
func (set *statefulSet) recall() error {
	if set.obj.Status.UpdateRevision == "" {
		return nil
	}
	data, err := patch(&set.obj.Spec.Template)
	if err != nil {
		return fmt.Errorf("statefulset %s/%s: %w", set.obj.Namespace, set.obj.Name, err)
	}
	set.revisions = []revision{{name: set.obj.Status.UpdateRevision, template: &set.obj.Spec.Template, data: data}}
	return nil
}

// revise finds the revisions that pods have now and will have, and makes one of a template that is new; one that is back becomes the
// newest again (stateful_set_control.go, getStatefulSetRevisions). collisions is how often a made-up name was taken.
func (set *statefulSet) revise() (current, updated revision, collisions int32, err error) {
	collisions = ptr.Deref(set.obj.Status.CollisionCount, 0)
	data, err := patch(&set.obj.Spec.Template)
	if err != nil {
		return current, updated, collisions, fmt.Errorf("statefulset %s/%s: %w", set.obj.Namespace, set.obj.Name, err)
	}
	if i := slices.IndexFunc(set.revisions, func(r revision) bool { return bytes.Equal(r.data, data) }); i >= 0 {
		updated = set.revisions[i]
		set.revisions = append(slices.Delete(set.revisions, i, i+1), updated)
	} else {
		updated = revision{template: &set.obj.Spec.Template, data: data}
		for {
			cr := &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}}
			updated.name = history.ControllerRevisionName(set.obj.Name, history.HashControllerRevision(cr, &collisions))
			if !slices.ContainsFunc(set.revisions, func(r revision) bool { return r.name == updated.name }) {
				break
			}
			collisions++
		}
		set.revisions = append(set.revisions, updated)
	}
	current = updated
	for _, r := range set.revisions {
		if r.name == set.obj.Status.CurrentRevision {
			current = r
		}
	}
	return current, updated, collisions, nil
}

// truncate forgets the oldest revisions that no pod has beyond the limit (truncateHistory).
func (set *statefulSet) truncate(current, updated string, pods []*corev1.Pod) {
	live := map[string]bool{current: true, updated: true}
	for _, p := range pods {
		live[revisionOf(p)] = true
	}
	over := -int(*set.obj.Spec.RevisionHistoryLimit)
	for _, r := range set.revisions {
		if !live[r.name] {
			over++
		}
	}
	set.revisions = slices.DeleteFunc(set.revisions, func(r revision) bool {
		if live[r.name] || over <= 0 {
			return false
		}
		over--
		return true
	})
}

// patch is a template as the patch that a ControllerRevision of a StatefulSet holds (stateful_set_utils.go, getPatch).
func patch(template *corev1.PodTemplateSpec) ([]byte, error) {
	raw, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	fields["$patch"] = "replace"
	out, err := json.Marshal(map[string]any{"spec": map[string]any{"template": fields}})
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return out, nil
}
