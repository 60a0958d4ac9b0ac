package v1alpha1

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestDefinitionIsTheTypes: every field of the types is in the definition with its type, and nothing else is; what is not optional in one is
// required in the other.
func TestDefinitionIsTheTypes(t *testing.T) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(Definition, &crd); err != nil {
		t.Fatal(err)
	}
	if crd.Name != Resource+"."+Group || crd.Spec.Group != Group || crd.Spec.Names.Kind != Kind || crd.Spec.Names.Plural != Resource || len(crd.Spec.Versions) != 1 || crd.Spec.Versions[0].Name != Version {
		t.Fatalf("names: %s %+v", crd.Name, crd.Spec.Names)
	}
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	equal(t, "", reflect.TypeFor[ElastiService](), schema)
	spec := schema.Properties["spec"].Properties
	if got := string(spec["cooldownPeriod"].Default.Raw); got != "900" || *spec["cooldownPeriod"].Maximum != MaxCooldownSeconds || DefaultCooldownSeconds != 900 {
		t.Errorf("cooldown: default %s, at most %v", got, *spec["cooldownPeriod"].Maximum)
	}
	period := spec["enabledPeriod"].Properties
	if got := string(period["schedule"].Default.Raw) + string(period["duration"].Default.Raw); got != `"`+DefaultSchedule+`""`+DefaultDuration+`"` {
		t.Errorf("defaults of the enabled period: %s", got)
	}
}

// equal holds a schema against a type.
func equal(t *testing.T, path string, typ reflect.Type, s *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	want := map[reflect.Kind]string{reflect.String: "string", reflect.Int32: "integer", reflect.Int64: "integer", reflect.Struct: "object", reflect.Slice: "array"}[typ.Kind()]
	format := map[reflect.Kind]string{reflect.Int32: "int32", reflect.Int64: "int64"}[typ.Kind()]
	switch {
	case typ == reflect.TypeFor[metav1.Time]():
		want, format = "string", "date-time"
	case typ.String() == "json.RawMessage":
		if s.XPreserveUnknownFields == nil || !*s.XPreserveUnknownFields {
			t.Errorf("%s: its keys are not kept", path)
		}
		return
	case typ == reflect.TypeFor[metav1.ObjectMeta]():
		return
	}
	if s.Type != want || s.Format != format {
		t.Errorf("%s: the definition has type %q format %q, want %q %q", path, s.Type, s.Format, want, format)
		return
	}
	if typ.Kind() == reflect.Slice {
		equal(t, path+"[]", typ.Elem(), s.Items.Schema)
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[metav1.Time]() {
		return
	}
	known := map[string]bool{}
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" { // metav1.TypeMeta
			known["apiVersion"], known["kind"] = true, true
			continue
		}
		known[name] = true
		of, there := s.Properties[name]
		if !there {
			t.Errorf("%s.%s is not in the definition", path, name)
			continue
		}
		if optional := strings.Contains(options, "omitempty"); optional == slices.Contains(s.Required, name) {
			t.Errorf("%s.%s: optional in the types %t, required in the definition %v", path, name, optional, s.Required)
		}
		equal(t, path+"."+name, f.Type, &of)
	}
	for name := range s.Properties {
		if !known[name] {
			t.Errorf("%s.%s is not in the types", path, name)
		}
	}
}

// TestGroupKind: the plurals of old objects mean their kinds.
func TestGroupKind(t *testing.T) {
	for in, want := range map[ScaleTargetRef]string{
		{APIVersion: "apps/v1", Kind: "deployments"}:               "Deployment.apps v1",
		{APIVersion: "apps/v1", Kind: "StatefulSet"}:               "StatefulSet.apps v1",
		{APIVersion: "argoproj.io/v1alpha1", Kind: "rollouts"}:     "Rollout.argoproj.io v1alpha1",
		{APIVersion: "v1", Kind: "ReplicationController"}:          "ReplicationController v1",
		{APIVersion: "example.com/v2", Kind: "Proxy", Name: "any"}: "Proxy.example.com v2",
	} {
		gk, version, err := in.GroupKind()
		if got := gk.String() + " " + version; err != nil || got != want {
			t.Errorf("%+v: %s, %v; want %s", in, got, err, want)
		}
	}
	if _, _, err := (ScaleTargetRef{APIVersion: "a/b/c", Kind: "X"}).GroupKind(); err == nil {
		t.Error("an apiVersion of three parts is taken")
	}
}
