package stored

import (
	"encoding/json"
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// isBareCustom: nothing is left but the kind.
func isBareCustom(o *unstructured.Unstructured) bool {
	for k, v := range o.Object {
		if m, ok := v.(map[string]any); k != "apiVersion" && k != "kind" && (!ok || len(m) > 0) {
			return false
		}
	}
	return true
}

// takeCustomState moves the status and the replicas out of a projected object.
func takeCustomState(o *unstructured.Unstructured, s *State) error {
	if spec, ok := o.Object["spec"].(map[string]any); ok {
		if n, ok := spec["replicas"].(int64); ok && n >= math.MinInt32 && n <= math.MaxInt32 {
			replicas := int32(n)
			s.Replicas = &replicas
			if delete(spec, "replicas"); len(spec) == 0 {
				delete(o.Object, "spec")
			}
		}
	}
	if status, ok := o.Object["status"]; ok {
		b, err := json.Marshal(status)
		if err != nil {
			return fmt.Errorf("status: %w", err)
		}
		s.Status = b
		delete(o.Object, "status")
	}
	return nil
}

// putCustomState is the inverse of takeCustomState. o is the caller's own.
func putCustomState(o *unstructured.Unstructured, s *State) error {
	if s.Replicas != nil {
		if err := unstructured.SetNestedField(o.Object, int64(*s.Replicas), "spec", "replicas"); err != nil {
			return fmt.Errorf("spec.replicas: %w", err)
		}
	}
	if len(s.Status) > 0 {
		var status any
		if err := k8sjson.Unmarshal(s.Status, &status); err != nil {
			return fmt.Errorf("status: %w", err)
		}
		o.Object["status"] = status
	}
	return nil
}
