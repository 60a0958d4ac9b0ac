package profile

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// PodVolumes are the volume decisions for one pod that is about to be bound to Node. The control plane finishes them
// as the PV controller and a provisioner would: that is where WaitForFirstConsumer claims are provisioned.
type PodVolumes struct {
	Pod  *corev1.Pod
	Node string
	// Static are existing volumes the scheduler chose, with spec.claimRef set to the pod's claim.
	Static []*corev1.PersistentVolume
	// Dynamic are claims to provision, with the selected-node annotation set.
	Dynamic []*corev1.PersistentVolumeClaim
}

// volumes is VolumeBinding with a binder that does not wait. Upstream's PreBind looks at the API server once a second
// of wall clock, first after one second, for every pod with an unbound claim.
type volumes struct {
	*volumebinding.VolumeBinding
}

var (
	_ fwk.PreFilterPlugin = (*volumes)(nil)
	_ fwk.FilterPlugin    = (*volumes)(nil)
	_ fwk.PreBindPlugin   = (*volumes)(nil)
)

func (*volumes) Name() string { return VolumeBinding }

func newVolumeBinding(bind func(context.Context, PodVolumes) error) frameworkruntime.PluginFactory {
	return func(ctx context.Context, args runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
		wanted := &volumeUpdates{Interface: h.ClientSet()}
		pl, err := volumebinding.New(ctx, args, handle{h, wanted}, feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
		if err != nil {
			return nil, fmt.Errorf("volume binding plugin: %w", err)
		}
		own := &volumes{pl.(*volumebinding.VolumeBinding)}
		own.Binder = &instantBinder{SchedulerVolumeBinder: own.Binder, wanted: wanted, bind: bind}
		return own, nil
	}
}

// handle is the framework's handle with another client.
type handle struct {
	fwk.Handle
	client kubernetes.Interface
}

func (h handle) ClientSet() kubernetes.Interface { return h.client }

// instantBinder lets upstream's binder compute its updates, keeps them, and hands them to the control plane.
type instantBinder struct {
	volumebinding.SchedulerVolumeBinder
	wanted *volumeUpdates
	bind   func(context.Context, PodVolumes) error
	mu     sync.Mutex
}

// BindPodVolumes runs upstream's updates against a client that only remembers them. Its context is over already, so
// that the poll which follows returns at once instead of after a second; the client does not look at the context.
func (b *instantBinder) BindPodVolumes(ctx context.Context, pod *corev1.Pod, v *volumebinding.PodVolumes) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	over, cancel := context.WithCancel(ctx)
	cancel()
	err := b.SchedulerVolumeBinder.BindPodVolumes(over, pod, v)
	static, dynamic := b.wanted.take()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return b.bind(ctx, PodVolumes{Pod: pod, Node: pod.Spec.NodeName, Static: static, Dynamic: dynamic})
}

// GetPodVolumeClaims puts the volumes to choose from in the order of their names. Upstream's come in that of a map, and of
// several volumes that are equally small a claim gets the first.
func (b *instantBinder) GetPodVolumeClaims(logger klog.Logger, pod *corev1.Pod) (*volumebinding.PodVolumeClaims, error) {
	claims, err := b.SchedulerVolumeBinder.GetPodVolumeClaims(logger, pod)
	if err != nil {
		return nil, err
	}
	for _, volumes := range candidates(claims) {
		slices.SortFunc(volumes, func(a, b *corev1.PersistentVolume) int { return strings.Compare(a.Name, b.Name) })
	}
	return claims, nil
}

// candidates are the volumes to choose from by storage class: a field that upstream keeps to itself.
func candidates(claims *volumebinding.PodVolumeClaims) map[string][]*corev1.PersistentVolume {
	f := reflect.ValueOf(claims).Elem().FieldByName("unboundVolumesDelayBinding")
	return *(*map[string][]*corev1.PersistentVolume)(f.Addr().UnsafePointer())
}

// volumeUpdates is a client whose updates of volumes and claims are remembered, not sent.
type volumeUpdates struct {
	kubernetes.Interface
	static  []*corev1.PersistentVolume
	dynamic []*corev1.PersistentVolumeClaim
}

func (c *volumeUpdates) take() ([]*corev1.PersistentVolume, []*corev1.PersistentVolumeClaim) {
	s, d := c.static, c.dynamic
	c.static, c.dynamic = nil, nil
	return s, d
}

func (c *volumeUpdates) CoreV1() corev1client.CoreV1Interface {
	return volumeCore{c.Interface.CoreV1(), c}
}

type volumeCore struct {
	corev1client.CoreV1Interface
	c *volumeUpdates
}

func (v volumeCore) PersistentVolumes() corev1client.PersistentVolumeInterface {
	return volumeClient{c: v.c}
}

func (v volumeCore) PersistentVolumeClaims(string) corev1client.PersistentVolumeClaimInterface {
	return claimClient{c: v.c}
}

type volumeClient struct {
	corev1client.PersistentVolumeInterface
	c *volumeUpdates
}

func (v volumeClient) Update(_ context.Context, pv *corev1.PersistentVolume, _ metav1.UpdateOptions) (*corev1.PersistentVolume, error) {
	v.c.static = append(v.c.static, pv)
	return pv, nil
}

type claimClient struct {
	corev1client.PersistentVolumeClaimInterface
	c *volumeUpdates
}

func (v claimClient) Update(_ context.Context, pvc *corev1.PersistentVolumeClaim, _ metav1.UpdateOptions) (*corev1.PersistentVolumeClaim, error) {
	v.c.dynamic = append(v.c.dynamic, pvc)
	return pvc, nil
}
