// Package apitest runs tests against a real API server, and has it serve what they need.
package apitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Define creates definitions that are not there yet, and waits until what they define is served. Fields that a definition must not have are errors.
func Define(ctx context.Context, config *rest.Config, definitions ...*apiextensionsv1.CustomResourceDefinition) error {
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, d := range definitions {
		_, err := client.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, d, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	served, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, d := range definitions {
		for _, v := range d.Spec.Versions {
			if !v.Served {
				continue
			}
			if err := await(ctx, served.Resource(schema.GroupVersionResource{Group: d.Spec.Group, Version: v.Name, Resource: d.Spec.Names.Plural})); err != nil {
				return fmt.Errorf("%s: %w", d.Name, err)
			}
		}
	}
	return nil
}

// await waits until a resource is served.
func await(ctx context.Context, resource dynamic.ResourceInterface) error {
	for {
		_, err := resource.List(ctx, metav1.ListOptions{Limit: 1})
		if !apierrors.IsNotFound(err) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// Definitions are those of YAML documents.
func Definitions(text []byte) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var out []*apiextensionsv1.CustomResourceDefinition
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		d := &apiextensionsv1.CustomResourceDefinition{}
		err := documents.Decode(d)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if d.Name != "" { // documents may be empty
			out = append(out, d)
		}
	}
}

// Scalable defines a kind with any fields, and a scale subresource.
func Scalable(group, version, kind, plural string) *apiextensionsv1.CustomResourceDefinition {
	anything := true
	d := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: group, Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, Plural: plural},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: version, Served: true, Storage: true,
			Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &anything}},
			Subresources: &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"}},
		}},
	}}
	d.Name = plural + "." + group
	return d
}

// DefineVPAs has an API server serve VerticalPodAutoscalers, by the definitions that upstream's module in the module cache ships.
func DefineVPAs(ctx context.Context, config *rest.Config) error {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/autoscaler/vertical-pod-autoscaler").Output()
	if err != nil {
		return fmt.Errorf("directory of the Vertical Pod Autoscaler's module: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "deploy", "vpa-v1-crd-gen.yaml"))
	if err != nil {
		return err
	}
	definitions, err := Definitions(text)
	if err != nil {
		return err
	}
	return Define(ctx, config, definitions...)
}
