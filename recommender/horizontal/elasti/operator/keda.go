package operator

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
)

// Annotations of a ScaledObject: https://keda.sh/docs/latest/concepts/scaling-deployments/#pausing-autoscaling.
const (
	annotationPaused         = "autoscaling.keda.sh/paused"
	annotationPausedReplicas = "autoscaling.keda.sh/paused-replicas"
	// annotationPausedBy marks a pause as ours. KubeElasti has no such mark: with every look at a workload that is needed it ends whatever
	// pause a person has set.
	annotationPausedBy = "horizontal.scalehist.io/paused-by"
)

var (
	scaledObjects = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}
	hpas          = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
)

// keda keeps other autoscalers from scaling a target that is at zero. KEDA's ScaledObject is paused. A HorizontalPodAutoscaler needs nothing: it
// does nothing while spec.replicas is 0 (ScalingActive is false, ScalingDisabled; k8s.io/kubernetes/pkg/controller/podautoscaler), and
// goes on when it is not.
type keda struct {
	client dynamic.Interface
	fence  func() error
}

// pause is called before a target is scaled to zero.
func (k *keda) pause(ctx context.Context, s *service) error {
	a := s.Spec.Autoscaler
	switch {
	case a == nil:
		return nil
	case a.Type == elastiv1alpha1.AutoscalerHPA:
		_, err := k.client.Resource(hpas).Namespace(s.Namespace).Get(ctx, a.Name, metav1.GetOptions{})
		return autoscalerError(s, err)
	}
	return k.change(ctx, s, func(has map[string]string) map[string]any {
		if has[annotationPaused] == "true" && has[annotationPausedReplicas] == "0" {
			return nil
		}
		if paused(has) {
			return nil // by somebody else, for a reason of theirs: KEDA keeps out of the way as it is
		}
		return map[string]any{annotationPaused: "true", annotationPausedReplicas: "0", annotationPausedBy: s.Name}
	})
}

// paused says whether annotations pause a ScaledObject in whichever way.
func paused(has map[string]string) bool {
	_, at := has[annotationPausedReplicas]
	return at || has[annotationPaused] == "true"
}

// unpause is called before a target gets replicas, and while it is needed. It ends pauses of ours, and those of KubeElasti, which hold
// a target at 0 replicas; others are left as they are.
func (k *keda) unpause(ctx context.Context, s *service) error {
	a := s.Spec.Autoscaler
	if a == nil || a.Type != elastiv1alpha1.AutoscalerKEDA {
		return nil
	}
	return k.change(ctx, s, func(has map[string]string) map[string]any {
		if _, ours := has[annotationPausedBy]; !ours && has[annotationPausedReplicas] != "0" {
			return nil
		}
		return map[string]any{annotationPaused: nil, annotationPausedReplicas: nil, annotationPausedBy: nil}
	})
}

// change patches the annotations of the ScaledObject to what is wanted of them; nil changes nothing.
func (k *keda) change(ctx context.Context, s *service, want func(has map[string]string) map[string]any) error {
	resource := k.client.Resource(scaledObjects).Namespace(s.Namespace)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		o, err := resource.Get(ctx, s.Spec.Autoscaler.Name, metav1.GetOptions{})
		if err != nil {
			return autoscalerError(s, err)
		}
		annotations := want(o.GetAnnotations())
		if annotations == nil {
			return nil
		}
		if err := k.fence(); err != nil {
			return err
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": o.GetResourceVersion(), "annotations": annotations}})
		if err != nil {
			return err
		}
		_, err = resource.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Name})
		return autoscalerError(s, err)
	})
}

func autoscalerError(s *service, err error) error {
	name := fmt.Sprintf("the %s %s/%s that spec.autoscaler names", map[string]string{elastiv1alpha1.AutoscalerKEDA: "ScaledObject", elastiv1alpha1.AutoscalerHPA: "HorizontalPodAutoscaler"}[s.Spec.Autoscaler.Type], s.Namespace, s.Spec.Autoscaler.Name)
	switch {
	case apierrors.IsNotFound(err):
		return reasoned(ReasonAutoscalerMissing, fmt.Errorf("%s does not exist", name))
	case apierrors.IsForbidden(err):
		return reasoned(ReasonForbidden, fmt.Errorf("the account of %s may not read or pause %s: %w", Name, name, err))
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
