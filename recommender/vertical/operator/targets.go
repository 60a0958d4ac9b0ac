package operator

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// selectorAt is where kinds that upstream knows have the selector of their pods (target/fetcher.go); others have it in their scale subresource.
var selectorAt = map[string][]string{
	"Deployment": {"spec", "selector"}, "ReplicaSet": {"spec", "selector"}, "StatefulSet": {"spec", "selector"}, "DaemonSet": {"spec", "selector"},
	"Job": {"spec", "selector"}, "CronJob": {"spec", "jobTemplate", "spec", "template", "metadata", "labels"}, "ReplicationController": {"spec", "selector"},
}

// targets finds the pods of targets.
type targets struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func newTargets(config *rest.Config, d discovery.DiscoveryInterface) (*targets, error) {
	client, err := dynamic.NewForConfig(config)
	return &targets{client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))}, err
}

// selector is that of the pods of a VPA's target; of one that cannot be scaled it selects nothing, and the error says why.
func (t *targets) selector(ctx context.Context, v *vpav1.VerticalPodAutoscaler) (labels.Selector, error) {
	s, err := t.read(ctx, v)
	if err != nil {
		return labels.Nothing(), err
	}
	return s, nil
}

func (t *targets) read(ctx context.Context, v *vpav1.VerticalPodAutoscaler) (labels.Selector, error) {
	ref := v.Spec.TargetRef
	if ref == nil {
		return nil, errors.New("spec.targetRef is missing")
	}
	named := fmt.Sprintf("%s %s/%s", ref.Kind, v.Namespace, ref.Name)
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("spec.targetRef.apiVersion: %w", err)
	}
	kind := schema.GroupKind{Group: gv.Group, Kind: ref.Kind}
	mapping, err := t.mapper.RESTMapping(kind, gv.Version)
	if meta.IsNoMatchError(err) {
		t.mapper.Reset() // it may be served by now; known kinds cost nothing
		mapping, err = t.mapper.RESTMapping(kind, gv.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("the cluster does not serve %s of %q: %w", ref.Kind, ref.APIVersion, err)
	}
	resource := t.client.Resource(mapping.Resource).Namespace(v.Namespace)
	fields, wellKnown := selectorAt[ref.Kind]
	var sub []string
	if !wellKnown {
		sub = []string{"scale"}
	}
	o, err := resource.Get(ctx, ref.Name, metav1.GetOptions{}, sub...)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%s does not exist, or is of a kind that cannot be scaled", named)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", named, err)
	case !wellKnown:
		text, _, err := unstructured.NestedString(o.Object, "status", "selector")
		if err != nil || text == "" {
			return nil, fmt.Errorf("%s: its scale has no selector", named)
		}
		return labels.Parse(text)
	}
	if owner := metav1.GetControllerOf(o); owner != nil && selectorAt[owner.Kind] != nil {
		return nil, fmt.Errorf("%s is controlled by %s %s: that must be the target", named, owner.Kind, owner.Name)
	}
	return selectorOf(o, named, fields)
}

// selectorOf reads a selector: of requirements, or a map of labels.
func selectorOf(o *unstructured.Unstructured, named string, fields []string) (labels.Selector, error) {
	value, found, err := unstructured.NestedMap(o.Object, fields...)
	if err != nil || !found || len(value) == 0 {
		return nil, fmt.Errorf("%s has no selector of pods", named)
	}
	if kind := o.GetKind(); kind == "CronJob" || kind == "ReplicationController" {
		set, _, err := unstructured.NestedStringMap(o.Object, fields...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", named, err)
		}
		return labels.SelectorFromSet(set), nil
	}
	var s metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(value, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", named, err)
	}
	selector, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", named, err)
	}
	return selector, nil
}
