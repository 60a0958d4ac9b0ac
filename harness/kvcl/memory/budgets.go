package memory

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/registry/rest"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/kubernetes/pkg/apis/policy"

	"github.com/scalehist/scalehist/harness/kvcl/internal/plane"
)

// budgets is the client of PodDisruptionBudgets that the eviction subresource uses.
type budgets struct{ s *server }

func (b budgets) PodDisruptionBudgets(namespace string) policyclient.PodDisruptionBudgetInterface {
	return budgetClient{s: b.s, namespace: namespace}
}

// budgetClient has what evictions ask for, and nothing else.
type budgetClient struct {
	policyclient.PodDisruptionBudgetInterface
	s         *server
	namespace string
}

func (b budgetClient) Get(ctx context.Context, name string, _ metav1.GetOptions) (*policyv1.PodDisruptionBudget, error) {
	obj, err := b.s.Get(ctx, plane.PDBKind, b.namespace, name)
	if err != nil {
		return nil, err
	}
	return obj.(*policyv1.PodDisruptionBudget), nil
}

func (b budgetClient) List(ctx context.Context, _ metav1.ListOptions) (*policyv1.PodDisruptionBudgetList, error) {
	lister, ok := b.s.resources[plane.PDBKind.Order].(rest.Lister)
	if !ok {
		return nil, fmt.Errorf("list %s: the registry has no lists", plane.PDBKind.Resource)
	}
	all := &metainternal.ListOptions{LabelSelector: labels.Everything(), FieldSelector: fields.Everything()}
	list, err := lister.List(within(ctx, "list", plane.PDBKind, b.namespace, ""), all)
	if err != nil {
		return nil, clientError(err)
	}
	out := &policyv1.PodDisruptionBudgetList{}
	for i := range list.(*policy.PodDisruptionBudgetList).Items {
		obj, err := external(plane.PDBKind, &list.(*policy.PodDisruptionBudgetList).Items[i])
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, *obj.(*policyv1.PodDisruptionBudget))
	}
	return out, nil
}

func (b budgetClient) UpdateStatus(ctx context.Context, pdb *policyv1.PodDisruptionBudget, _ metav1.UpdateOptions) (*policyv1.PodDisruptionBudget, error) {
	obj, err := b.s.Put(ctx, plane.PDBKind, pdb, "status")
	if err != nil {
		return nil, err
	}
	return obj.(*policyv1.PodDisruptionBudget), nil
}
