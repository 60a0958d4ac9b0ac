// Package vpatest has a test's API server serve VerticalPodAutoscalers, by upstream's own definitions.
package vpatest

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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Define creates the definitions that the Vertical Pod Autoscaler in the module cache ships, and waits until they are served.
func Define(ctx context.Context, config *rest.Config) error {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/autoscaler/vertical-pod-autoscaler").Output()
	if err != nil {
		return fmt.Errorf("directory of the Vertical Pod Autoscaler's module: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "deploy", "vpa-v1-crd-gen.yaml"))
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := documents.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(o.Object) == 0 {
			continue
		}
		if _, err := client.Resource(crds).Create(ctx, o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%s: %w", o.GetName(), err)
		}
	}
	for _, resource := range []string{"verticalpodautoscalers", "verticalpodautoscalercheckpoints"} {
		served := schema.GroupVersionResource{Group: "autoscaling.k8s.io", Version: "v1", Resource: resource}
		for {
			_, err := client.Resource(served).List(ctx, metav1.ListOptions{})
			if err == nil {
				break
			}
			if !apierrors.IsNotFound(err) || ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
		}
	}
	return nil
}
