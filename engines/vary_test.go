package engines

import (
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/scalehist/scalehist"
)

const variedObjects = `# two autoscalers
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 10
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 10}
---
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: web}
spec:
  targetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web}
  updatePolicy: {updateMode: Recreate}
`

// vary parses the objects with a field set.
func vary(t *testing.T, field, value string) ([]scalehist.Object, error) {
	t.Helper()
	f, err := ParseObjectField(field)
	if err != nil {
		return nil, err
	}
	if f.String() != field {
		t.Errorf("%q is written %q", field, f)
	}
	return ParseObjectsWith([]byte(variedObjects), []FieldValue{{f, value}})
}

// TestVary: fields that are there and fields that could be get other values, of the type that they have, and nothing else changes.
func TestVary(t *testing.T) {
	hpa := func(list []scalehist.Object, i int) *autoscalingv2.HorizontalPodAutoscaler {
		return list[i].(*autoscalingv2.HorizontalPodAutoscaler)
	}
	vpa := func(list []scalehist.Object) *vpav1.VerticalPodAutoscaler {
		return list[2].(*vpav1.VerticalPodAutoscaler)
	}
	for _, tt := range []struct {
		field, value string
		is           func([]scalehist.Object) bool
	}{
		{"HorizontalPodAutoscaler/shop/web:spec.metrics[0].resource.target.averageUtilization", "75", func(l []scalehist.Object) bool {
			return *hpa(l, 0).Spec.Metrics[0].Resource.Target.AverageUtilization == 75 && hpa(l, 0).Spec.MaxReplicas == 10
		}},
		{"HorizontalPodAutoscaler/default/web:spec.maxReplicas", "20", func(l []scalehist.Object) bool {
			return hpa(l, 1).Spec.MaxReplicas == 20 && hpa(l, 0).Spec.MaxReplicas == 10
		}},
		{"HorizontalPodAutoscaler/shop/web:spec.behavior.scaleDown.stabilizationWindowSeconds", "30", func(l []scalehist.Object) bool {
			return *hpa(l, 0).Spec.Behavior.ScaleDown.StabilizationWindowSeconds == 30
		}},
		{`HorizontalPodAutoscaler/shop/web:metadata.annotations["example.com/a.b"]`, "50", func(l []scalehist.Object) bool {
			return hpa(l, 0).Annotations["example.com/a.b"] == "50"
		}},
		{"VerticalPodAutoscaler/web:spec.updatePolicy.updateMode", "Off", func(l []scalehist.Object) bool {
			return *vpa(l).Spec.UpdatePolicy.UpdateMode == vpav1.UpdateModeOff
		}},
		{"VerticalPodAutoscaler/web:spec.resourcePolicy", "{containerPolicies: [{containerName: '*', minAllowed: {cpu: 100m}}]}", func(l []scalehist.Object) bool {
			return vpa(l).Spec.ResourcePolicy.ContainerPolicies[0].MinAllowed.Cpu().MilliValue() == 100
		}},
	} {
		got, err := vary(t, tt.field, tt.value)
		if err != nil || len(got) != 3 || !tt.is(got) {
			t.Errorf("%s=%s: %v, %v", tt.field, tt.value, got, err)
		}
	}
}

// TestVaryErrors: what is not there is named, with what is.
func TestVaryErrors(t *testing.T) {
	const hpa = "HorizontalPodAutoscaler/shop/web:"
	for field, want := range map[string]string{
		"spec.maxReplicas":                      "no field of an object: write KIND/NAME:FIELD, such as HorizontalPodAutoscaler/web:",
		"web:spec.maxReplicas":                  "no object: write KIND/NAME:FIELD",
		"HorizontalPodAutoscaler/web:":          "no field of an object",
		hpa + "spec..maxReplicas":               "a key is empty",
		hpa + "spec.metrics[0":                  "a bracket is not closed",
		hpa + "spec.metrics[first]":             "[first] is neither an index nor a quoted key",
		"HorizontalPodAutoscaler/wep:spec.x":    "HorizontalPodAutoscaler/wep:spec.x: there is no such object: there are HorizontalPodAutoscaler/shop/web, HorizontalPodAutoscaler/default/web, VerticalPodAutoscaler/default/web",
		"HorizontalPodAutoscaler/web:spec.x":    "there are several: name the namespace, as in HorizontalPodAutoscaler/shop/web",
		"Deployment/web:spec.replicas":          "vary minReplicas and maxReplicas of an autoscaler of its replicas",
		hpa + "spec.maxReplica":                 `HorizontalPodAutoscaler/shop/web:spec.maxReplica: with much: spec: unknown key "maxReplica"; did you mean "maxReplicas" or "minReplicas"?`,
		hpa + "spec.metrics[1].resource.name":   "there is no such field: spec.metrics has no element 1, it has 1",
		hpa + "spec[0]":                         "there is no such field: spec is no list",
		hpa + "spec.maxReplicas.of":             "there is no such field: spec.maxReplicas has no keys",
		hpa + "spec.metrics[0].resource.target": "with much",
		hpa + "spec.maxReplicas":                "with much",
		hpa + "metadata.name":                   "it would be another object",
	} {
		_, err := vary(t, field, "much")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", field, err, want)
		}
	}
	if _, err := ParseObjectsWith([]byte("kind: Nothing"), []FieldValue{{Value: "1"}}); err == nil || strings.Contains(err.Error(), "field") {
		t.Errorf("error %v: what is wrong without a field is not blamed on it", err)
	}
}

// FuzzParseObjectField: no text makes it panic, and what it takes is written as it was.
func FuzzParseObjectField(f *testing.F) {
	f.Add(`HorizontalPodAutoscaler/shop/web:spec.metrics[0].resource["a]b"].x`)
	f.Fuzz(func(t *testing.T, text string) {
		field, err := ParseObjectField(text)
		if err != nil {
			return
		}
		if field.String() != text || len(field.keys) == 0 {
			t.Errorf("%q is written %q, with %d keys", text, field, len(field.keys))
		}
		_, _ = ParseObjectsWith([]byte(variedObjects), []FieldValue{{field, "1"}})
	})
}
