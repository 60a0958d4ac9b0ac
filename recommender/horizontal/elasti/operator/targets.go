package operator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/utils/clock"
)

// targets reads and writes replicas through scale subresources. The resource of a kind is what the API server says it is; KubeElasti adds an "s"
// to its name, which is another one for a NetworkPolicy.
type targets struct {
	scales   scale.ScalesGetter
	mapper   *restmapper.DeferredDiscoveryRESTMapper
	kinds    scale.ScaleKindResolver
	clock    clock.PassiveClock
	interval time.Duration
	fence    func() error

	mu    sync.Mutex
	reset time.Time
}

func newTargets(config *rest.Config, d discovery.DiscoveryInterface, c clock.PassiveClock, interval time.Duration, fence func() error) (*targets, error) {
	cached := memory.NewMemCacheClient(d)
	t := &targets{mapper: restmapper.NewDeferredDiscoveryRESTMapper(cached), kinds: scale.NewDiscoveryScaleKindResolver(cached), clock: c, interval: interval, fence: fence}
	var err error
	t.scales, err = scale.NewForConfig(rest.CopyConfig(config), t.mapper, dynamic.LegacyAPIPathResolverFunc, t.kinds)
	return t, err
}

// resource is that of a kind which the API server serves with a scale subresource. A kind that is not known may have come since discovery was
// last asked: it is asked again, once an interval however many targets are of kinds that nobody serves.
func (t *targets) resource(s *service) (schema.GroupResource, error) {
	mapping, err := t.mapper.RESTMapping(s.kind, s.version)
	if meta.IsNoMatchError(err) && t.mayReset() {
		t.mapper.Reset()
		mapping, err = t.mapper.RESTMapping(s.kind, s.version)
	}
	if err != nil {
		return schema.GroupResource{}, targetError(s, err)
	}
	if _, err := t.kinds.ScaleForResource(mapping.Resource); err != nil {
		return schema.GroupResource{}, reasoned(ReasonNotScalable, fmt.Errorf("%s has no scale subresource: its replicas cannot be set", s.kind))
	}
	return mapping.Resource.GroupResource(), nil
}

func (t *targets) mayReset() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	if now.Sub(t.reset) < t.interval {
		return false
	}
	t.reset = now
	return true
}

// get reads the scale of a target.
func (t *targets) get(ctx context.Context, s *service) (*autoscalingv1.Scale, error) {
	resource, err := t.resource(s)
	if err != nil {
		return nil, err
	}
	got, err := t.scales.Scales(s.Namespace).Get(ctx, resource, s.Spec.ScaleTargetRef.Name, metav1.GetOptions{})
	if err != nil {
		return nil, targetError(s, err)
	}
	return got, nil
}

// writeTimeout bounds a write: less than what lies between the end of a leader's writing and the end of its lease.
const writeTimeout = 5 * time.Second

// maxConflicts bounds how often a scale is written again because something else of the object has changed.
const maxConflicts = 5

// set gives a target other replicas than those that were read. What it wants is spec.replicas, not how many there are: KubeElasti compares
// the status, so that it scales a second time what has not yet followed, and not at all what was scaled back meanwhile. When the object
// has changed since, it is read again: with the same replicas it is tried again, with others nothing is done, because the decision was about
// something else.
func (t *targets) set(ctx context.Context, s *service, read *autoscalingv1.Scale, replicas int32) error {
	resource, err := t.resource(s)
	if err != nil {
		return err
	}
	from := read.Spec.Replicas
	for range maxConflicts {
		if err := t.fence(); err != nil {
			return err
		}
		want := read.DeepCopy()
		want.Spec.Replicas = replicas
		bounded, cancel := context.WithTimeout(ctx, writeTimeout)
		_, err := t.scales.Scales(s.Namespace).Update(bounded, resource, want, metav1.UpdateOptions{FieldManager: Name})
		cancel()
		switch {
		case err == nil:
			return nil
		case !apierrors.IsConflict(err):
			return targetError(s, err)
		}
		if read, err = t.get(ctx, s); err != nil {
			return err
		}
		if read.Spec.Replicas != from {
			return reasoned(ReasonConflict, fmt.Errorf("%s: somebody set %d replicas meanwhile: %w", s.targetName(), read.Spec.Replicas, errChanged))
		}
	}
	return reasoned(ReasonConflict, errors.New(s.targetName()+" changes faster than it can be scaled: tried again with the next round"))
}
