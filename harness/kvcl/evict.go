package kvcl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// ErrEvictionRefused is what errors.Is finds in the error of an eviction that a PodDisruptionBudget refuses.
var ErrEvictionRefused = errors.New("eviction refused")

// EvictionRefusedError says which budgets refused.
type EvictionRefusedError struct {
	Pod types.NamespacedName
	// Budgets are the names of the PodDisruptionBudgets that select the pod, sorted.
	Budgets []string
	// Reason is the API server's.
	Reason string
}

func (e *EvictionRefusedError) Error() string {
	return fmt.Sprintf("evict Pod %s: refused by PodDisruptionBudget %s: %s", e.Pod, strings.Join(e.Budgets, ", "), e.Reason)
}

// Is makes errors.Is(err, ErrEvictionRefused) true.
func (e *EvictionRefusedError) Is(target error) bool { return target == ErrEvictionRefused }

// Evict implements ControlPlane. The pod is gone when it returns: grace periods are the caller's to model.
func (e *EnvTest) Evict(ctx context.Context, namespace, podName string) error {
	defer since(&e.stats.Apply)()
	pod := types.NamespacedName{Namespace: namespace, Name: podName}
	it := e.store.find(podKind, pod.String())
	if it == nil {
		return fmt.Errorf("evict Pod %s: %w", pod, apierrors.NewNotFound(corev1.Resource("pods"), podName))
	}
	eviction := &policyv1.Eviction{
		TypeMeta:      metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta:    metav1.ObjectMeta{Namespace: namespace, Name: podName},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)},
	}
	// The API server asks to retry after 10 seconds; client-go would sleep and do so.
	err := core(e.client).Post().Namespace(namespace).Resource("pods").Name(podName).SubResource("eviction").
		MaxRetries(0).Body(eviction).Do(ctx).Error()
	if apierrors.IsTooManyRequests(err) || isSeveralBudgets(err) {
		return &EvictionRefusedError{Pod: pod, Budgets: e.budgetsOf(it), Reason: reason(err)}
	}
	if err != nil {
		return fmt.Errorf("evict Pod %s: %w", pod, err)
	}
	e.inbox.deleted(podKind, it.apiUID)
	delete(e.store.byName[podKind.order], pod.String())
	// The server has written to the budgets as well.
	for _, b := range e.budgetsOf(it) {
		obj, err := e.get(ctx, pdbKind, namespace, b)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("evict Pod %s: %w", pod, err)
		}
		if err == nil {
			e.inbox.wrote(pdbKind, obj)
		}
	}
	return e.sync(ctx)
}

// isSeveralBudgets: the eviction API answers 500 when more than one budget selects a pod.
func isSeveralBudgets(err error) bool {
	var s apierrors.APIStatus
	return errors.As(err, &s) && s.Status().Code == http.StatusInternalServerError &&
		strings.Contains(s.Status().Message, "more than one PodDisruptionBudget")
}

func reason(err error) string {
	var s apierrors.APIStatus
	if !errors.As(err, &s) {
		return err.Error()
	}
	text := s.Status().Message
	if d := s.Status().Details; d != nil {
		for _, c := range d.Causes {
			text += " " + c.Message
		}
	}
	return text
}

func (e *EnvTest) budgetsOf(it *item) []string {
	var names []string
	pod := it.latest.(*corev1.Pod)
	for _, b := range e.store.byName[pdbKind.order] {
		pdb := b.latest.(*policyv1.PodDisruptionBudget)
		if pdb.Namespace != pod.Namespace {
			continue
		}
		if sel, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector); err == nil && sel.Matches(labels.Set(pod.Labels)) {
			names = append(names, pdb.Name)
		}
	}
	sort.Strings(names)
	return names
}

// SetTaints implements ControlPlane.
func (e *EnvTest) SetTaints(ctx context.Context, node string, taints []corev1.Taint) error {
	defer since(&e.stats.Apply)()
	it := e.store.find(nodeKind, node)
	if it == nil {
		return fmt.Errorf("set taints of Node %s: %w", node, apierrors.NewNotFound(corev1.Resource("nodes"), node))
	}
	if taints == nil {
		taints = []corev1.Taint{}
	}
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": taints}})
	if err != nil {
		return fmt.Errorf("set taints of Node %s: %w", node, err)
	}
	out, err := e.patch(ctx, nodeKind, "", node, types.MergePatchType, data)
	if err != nil {
		return fmt.Errorf("set taints of Node %s: %w", node, err)
	}
	it.latest = out
	return e.sync(ctx)
}
