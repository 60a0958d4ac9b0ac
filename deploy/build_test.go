package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	namespace = "scaling-history"
	name      = "scaling-history-recorder"
)

// overlays are the directories that are applied.
func overlays(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("overlays")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	if len(out) < 5 {
		t.Fatalf("only the overlays %v", out)
	}
	return out
}

// build is what `kustomize build` prints, the namespace first.
func build(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	var out []*unstructured.Unstructured
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &o.Object); err != nil {
			t.Fatal(err)
		}
		// Through JSON once more: numbers as the API has them.
		b, err := json.Marshal(o.Object)
		if err == nil {
			err = o.UnmarshalJSON(b)
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int {
		first := map[string]int{"Namespace": -1}
		return first[a.GetKind()] - first[b.GetKind()]
	})
	return out
}

func find(t *testing.T, objects []*unstructured.Unstructured, kind, name string, into any) {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			b, err := o.MarshalJSON()
			if err == nil {
				err = yaml.UnmarshalStrict(b, into)
			}
			if err != nil {
				t.Fatalf("%s %s: %v", kind, name, err)
			}
			return
		}
	}
	t.Fatalf("no %s %s", kind, name)
}

func client(t *testing.T) dynamic.Interface {
	t.Helper()
	c, err := dynamic.NewForConfig(cluster)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// create sends an object as `kubectl create --validate=strict` does: a misspelt key is an error.
func create(t *testing.T, o *unstructured.Unstructured, dry bool) error {
	t.Helper()
	gvk := o.GroupVersionKind()
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	options := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	if dry {
		options.DryRun = []string{metav1.DryRunAll}
	}
	var c dynamic.ResourceInterface = client(t).Resource(resource)
	if o.GetNamespace() != "" {
		c = client(t).Resource(resource).Namespace(o.GetNamespace())
	}
	_, err := c.Create(t.Context(), o, options)
	return err
}

// there makes an object unless it is there.
func there(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	if err := create(t, o, false); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// serviceMonitors has the API server serve the kind; its fields are checked against the operator's types.
func serviceMonitors(t *testing.T) {
	t.Helper()
	yes := true
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "servicemonitors.monitoring.coreos.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: "monitoring.coreos.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "ServiceMonitor", ListKind: "ServiceMonitorList", Plural: "servicemonitors", Singular: "servicemonitor"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &yes}}}}}}
	b, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(b); err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(o.Object, "status")
	there(t, o)
	monitors := client(t).Resource(schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: "servicemonitors"})
	poll(t, "the kind ServiceMonitor to be served", func() bool {
		_, err := monitors.List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
}

// poll waits for a state of the API server: its caches follow what was written.
func poll(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for !reached() {
		if err := t.Context().Err(); err != nil {
			t.Fatalf("waited for %s: %v", what, err)
		}
	}
}

// TestOverlaysAreValid: a real API server takes every object of every overlay, without an unknown key.
func TestOverlaysAreValid(t *testing.T) {
	serviceMonitors(t)
	for _, dir := range overlays(t) {
		objects := build(t, filepath.Join("overlays", dir))
		there(t, objects[0])
		for _, o := range objects {
			if ns := o.GetNamespace(); ns != "" && ns != namespace {
				t.Errorf("%s: %s %s is in namespace %s", dir, o.GetKind(), o.GetName(), ns)
			}
			if err := create(t, o, true); err != nil && !apierrors.IsAlreadyExists(err) {
				t.Errorf("%s: %s %s: %v", dir, o.GetKind(), o.GetName(), err)
			}
		}
	}
	wrong := build(t, filepath.Join("overlays", "in-cluster"))
	for _, o := range wrong {
		if o.GetKind() == "Service" {
			o.Object["spec"].(map[string]any)["selectr"] = map[string]any{}
			if err := create(t, o, true); err == nil {
				t.Error("the API server takes a misspelt key: the checks above show nothing")
			}
		}
	}
}

// TestServiceMonitor: the operator's types know every field.
func TestServiceMonitor(t *testing.T) {
	objects := build(t, filepath.Join("overlays", "monitoring"))
	var monitor monitoringv1.ServiceMonitor
	find(t, objects, "ServiceMonitor", name, &monitor)
	var service corev1.Service
	find(t, objects, "Service", name, &service)
	for k, v := range monitor.Spec.Selector.MatchLabels {
		if service.Labels[k] != v {
			t.Errorf("the monitor selects %s=%s, the service has %q", k, v, service.Labels[k])
		}
	}
	if got := monitor.Spec.Endpoints[0].Port; got != service.Spec.Ports[0].Name {
		t.Errorf("the monitor scrapes port %q, the service has %q", got, service.Spec.Ports[0].Name)
	}
}

// TestPodsAreRestricted: the namespace enforces the restricted profile, and lets the pods of every overlay in.
func TestPodsAreRestricted(t *testing.T) {
	for _, dir := range overlays(t) {
		objects := build(t, filepath.Join("overlays", dir))
		there(t, objects[0])
		for _, o := range objects {
			if o.GetKind() != "StatefulSet" {
				continue
			}
			pod := podOf(t, o)
			if err := create(t, pod, true); err != nil {
				t.Errorf("%s: %v", dir, err)
			}
			if err := unstructured.SetNestedField(pod.Object, true, "spec", "hostNetwork"); err != nil {
				t.Fatal(err)
			}
			if err := create(t, pod, true); !apierrors.IsForbidden(err) {
				t.Errorf("%s: a pod on the host's network is not refused: %v", dir, err)
			}
		}
	}
}

// podOf is the pod that a StatefulSet's controller makes.
func podOf(t *testing.T, set *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	template, _, err := unstructured.NestedMap(set.Object, "spec", "template")
	if err != nil {
		t.Fatal(err)
	}
	pod := &unstructured.Unstructured{Object: template}
	pod.SetAPIVersion("v1")
	pod.SetKind("Pod")
	pod.SetName(set.GetName() + "-0")
	pod.SetNamespace(set.GetNamespace())
	claims, _, err := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	if err != nil {
		t.Fatal(err)
	}
	volumes, _, err := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		claim, _, err := unstructured.NestedString(c.(map[string]any), "metadata", "name")
		if err != nil {
			t.Fatal(err)
		}
		volumes = append(volumes, map[string]any{"name": claim, "persistentVolumeClaim": map[string]any{"claimName": claim + "-" + pod.GetName()}})
	}
	if err := unstructured.SetNestedSlice(pod.Object, volumes, "spec", "volumes"); err != nil {
		t.Fatal(err)
	}
	return pod
}
