package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
)

// service is an ElastiService as it was read.
type service struct {
	elastiv1alpha1.ElastiService

	policy  elasti.Policy
	kind    schema.GroupKind
	version string
	// err is why it says nothing that could be done.
	err error
}

// key names its target: of several ElastiServices of one target it is the same.
func (s *service) key() string {
	return s.kind.String() + "/" + s.Namespace + "/" + s.Spec.ScaleTargetRef.Name
}

// targetName is "Deployment/shop/web".
func (s *service) targetName() string {
	return s.kind.Kind + "/" + s.Namespace + "/" + s.Spec.ScaleTargetRef.Name
}

// services reads and writes ElastiServices.
type services struct {
	client    dynamic.Interface
	namespace string
	// wake is elasti.Policy's WakeOnUnknown.
	wake  bool
	fence func() error
}

// list reads those of the namespace, or all.
func (l *services) list(ctx context.Context) ([]*service, error) { return l.listIn(ctx, l.namespace) }

func (l *services) listIn(ctx context.Context, namespace string) ([]*service, error) {
	if l.namespace != "" && namespace != l.namespace {
		return nil, fmt.Errorf("namespace %s is not watched: %s is", namespace, l.namespace)
	}
	var out []*service
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return l.client.Resource(elastiv1alpha1.GroupVersionResource).Namespace(namespace).List(ctx, o)
	})
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		out = append(out, l.read(o.(*unstructured.Unstructured)))
		return nil
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil, errors.New("the cluster does not serve ElastiServices: apply the definition that \"scalehist horizontal crd\" prints")
	case err != nil:
		return nil, fmt.Errorf("list ElastiServices: %w", err)
	}
	return out, nil
}

// read turns an object into a service. One that cannot be read is a service with an error.
func (l *services) read(o *unstructured.Unstructured) *service {
	s := &service{}
	data, err := o.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(data, &s.ElastiService)
	}
	s.Name, s.Namespace, s.UID, s.Generation = o.GetName(), o.GetNamespace(), o.GetUID(), o.GetGeneration()
	if err != nil {
		s.err = reasoned(ReasonInvalidSpec, err)
		return s
	}
	s.policy = elasti.PolicyOf(&s.Spec)
	s.policy.WakeOnUnknown = l.wake
	if s.kind, s.version, err = s.Spec.ScaleTargetRef.GroupKind(); err != nil {
		s.err = reasoned(ReasonInvalidSpec, fmt.Errorf("scaleTargetRef: %w", err))
	}
	return s
}

// get reads one again. It is an error if it is another one by now, or wants something else.
func (l *services) get(ctx context.Context, s *service) (*service, error) {
	o, err := l.client.Resource(elastiv1alpha1.GroupVersionResource).Namespace(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read it again: %w", err)
	}
	if o.GetUID() != s.UID || o.GetGeneration() != s.Generation {
		return nil, errChanged
	}
	return l.read(o), nil
}

// errChanged: what a decision was made of is not so any more. The next round decides again.
var errChanged = errors.New("it was changed meanwhile")

// setStatus writes what change makes of the status, if it makes something else of it. It is done again on what is there when somebody else
// has written in between, so that nothing is lost.
func (l *services) setStatus(ctx context.Context, s *service, change func(*elastiv1alpha1.ElastiServiceStatus)) error {
	resource := l.client.Resource(elastiv1alpha1.GroupVersionResource).Namespace(s.Namespace)
	first := true
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if !first {
			fresh, err := resource.Get(ctx, s.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if fresh.GetUID() != s.UID {
				return nil
			}
			again := l.read(fresh)
			s.Status, s.ResourceVersion = again.Status, again.ResourceVersion
		}
		first = false
		status := *s.Status.DeepCopy()
		change(&status)
		if status.Equal(&s.Status) {
			return nil
		}
		if err := l.fence(); err != nil {
			return err
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": s.ResourceVersion}, "status": status})
		if err != nil {
			return err
		}
		written, err := resource.Patch(ctx, s.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		if err != nil {
			return err
		}
		s.Status, s.ResourceVersion = status, written.GetResourceVersion()
		return nil
	})
}

// statusTime is an instant as a status has it: in seconds, and not before it, so that no cooldown ends early.
func statusTime(t time.Time) *metav1.Time {
	up := metav1.NewTime(t.Add(time.Second - 1).Truncate(time.Second))
	return &up
}
