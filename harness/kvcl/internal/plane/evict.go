package plane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
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

// Evict removes a pod, unless a PodDisruptionBudget refuses. The pod is gone when it returns: grace periods are the caller's to model.
func (pl *Plane) Evict(ctx context.Context, namespace, podName string) error {
	defer since(&pl.stats.Apply)()
	pod := types.NamespacedName{Namespace: namespace, Name: podName}
	it := pl.store.find(PodKind, pod.String())
	if it == nil {
		return fmt.Errorf("evict Pod %s: %w", pod, apierrors.NewNotFound(corev1.Resource("pods"), podName))
	}
	budgets := pl.budgetsOf(it)
	err := pl.server.Evict(ctx, namespace, podName, it.apiUID, budgets)
	if apierrors.IsTooManyRequests(err) || isSeveralBudgets(err) {
		return &EvictionRefusedError{Pod: pod, Budgets: budgets, Reason: reason(err)}
	}
	if err != nil {
		return fmt.Errorf("evict Pod %s: %w", pod, err)
	}
	delete(pl.store.byName[PodKind.Order], pod.String())
	return pl.Sync(ctx)
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

func (pl *Plane) budgetsOf(it *item) []string {
	var names []string
	pod := it.latest.(*corev1.Pod)
	for _, b := range pl.store.byName[PDBKind.Order] {
		pdb := b.latest.(*policyv1.PodDisruptionBudget)
		if pdb.Namespace != pod.Namespace {
			continue
		}
		if sel, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector); err == nil && sel.Matches(labels.Set(pod.Labels)) {
			names = append(names, pdb.Name)
		}
	}
	slices.Sort(names)
	return names
}

// SetTaints replaces the taints of a node.
func (pl *Plane) SetTaints(ctx context.Context, node string, taints []corev1.Taint) error {
	defer since(&pl.stats.Apply)()
	it := pl.store.find(NodeKind, node)
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
	out, err := pl.server.Patch(ctx, NodeKind, "", node, types.MergePatchType, data)
	if err != nil {
		return fmt.Errorf("set taints of Node %s: %w", node, err)
	}
	it.latest = out
	return pl.Sync(ctx)
}
