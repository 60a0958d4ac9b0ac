package fit

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"github.com/scalehist/scalehist"
)

// listers are the informers behind the plugins' listers, by what scalehist.Objects has of them.
type listers struct {
	namespaces, pvs, pvcs, classes, csiNodes, services, rcs, rss, sss *informer
}

// newFramework builds the scheduler framework of the default profile over a snapshot. Its goroutines end with the
// construction; the filter plugins need none.
func newFramework(s *Snapshot) (framework.Framework, *listers, error) {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Background()))
	defer cancel()
	metrics.Register()
	profile, err := defaultProfile()
	if err != nil {
		return nil, nil, err
	}
	l := &listers{}
	factory := informers.NewSharedInformerFactory(nil, 0)
	claims, slices := newInformer(), newInformer()
	for _, r := range []struct {
		to  **informer
		obj runtime.Object
	}{
		{&l.namespaces, &corev1.Namespace{}}, {&l.pvs, &corev1.PersistentVolume{}}, {&l.pvcs, &corev1.PersistentVolumeClaim{}},
		{&l.classes, &storagev1.StorageClass{}}, {&l.csiNodes, &storagev1.CSINode{}}, {&l.services, &corev1.Service{}},
		{&l.rcs, &corev1.ReplicationController{}}, {&l.rss, &appsv1.ReplicaSet{}}, {&l.sss, &appsv1.StatefulSet{}},
		{nil, &corev1.Pod{}}, {nil, &corev1.Node{}}, {nil, &policyv1.PodDisruptionBudget{}}, {nil, &storagev1.CSIDriver{}},
		{nil, &storagev1.CSIStorageCapacity{}}, {nil, &storagev1.VolumeAttachment{}}, {nil, &resourcev1.DeviceClass{}},
	} {
		i := newInformer()
		i.register(factory, r.obj)
		if r.to != nil {
			*r.to = i
		}
	}
	claims.register(factory, &resourcev1.ResourceClaim{})
	slices.register(factory, &resourcev1.ResourceSlice{})
	sliceTracker, err := tracker.StartTracker(ctx, tracker.Options{SliceInformer: factory.Resource().V1().ResourceSlices()})
	if err != nil {
		return nil, nil, fmt.Errorf("track resource slices: %w", err)
	}
	claimCache := assumecache.NewAssumeCache(klog.Background(), claims, "resource claim", "", nil)
	fw, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile,
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(lister{s}),
		frameworkruntime.WithParallelism(1),
		frameworkruntime.WithSharedDRAManager(dynamicresources.NewDRAManager(ctx, claimCache, sliceTracker, factory)),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
	)
	if err != nil {
		return nil, nil, fmt.Errorf("build the scheduler framework: %w", err)
	}
	return fw, l, nil
}

func defaultProfile() (*config.KubeSchedulerProfile, error) {
	cfg, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("default scheduler configuration: %w", err)
	}
	return &cfg.Profiles[0], nil
}

// newSpread builds the profile's PodTopologySpread plugin once more.
func newSpread(fw framework.Framework) (fwk.PreFilterPlugin, error) {
	profile, err := defaultProfile()
	if err != nil {
		return nil, err
	}
	var args runtime.Object
	for i := range profile.PluginConfig {
		if profile.PluginConfig[i].Name == names.PodTopologySpread {
			args = profile.PluginConfig[i].Args
		}
	}
	p, err := plugins.NewInTreeRegistry()[names.PodTopologySpread](context.Background(), args, fw)
	if err != nil {
		return nil, fmt.Errorf("build plugin %s: %w", names.PodTopologySpread, err)
	}
	spread, ok := p.(fwk.PreFilterPlugin)
	if !ok {
		return nil, fmt.Errorf("plugin %s has no PreFilter", names.PodTopologySpread)
	}
	return spread, nil
}

// namespaceLabels are the labels of a namespace; nil when it is not known.
func (c *Checker) namespaceLabels(name string) map[string]string {
	if o, ok, err := c.listers.namespaces.indexer.GetByKey(name); err == nil && ok {
		if ns, ok := o.(*corev1.Namespace); ok {
			return ns.Labels
		}
	}
	return nil
}

// sync fills the listers and says whether storage or namespaces changed, on which remembered answers may rest.
func (l *listers) sync(o *scalehist.Objects) (bool, error) {
	changed := false
	for _, f := range []func() (bool, error){
		func() (bool, error) { return syncObjects(l.namespaces, o.Namespaces) },
		func() (bool, error) { return syncObjects(l.pvs, o.PersistentVolumes) },
		func() (bool, error) { return syncObjects(l.pvcs, o.PersistentVolumeClaims) },
		func() (bool, error) { return syncObjects(l.classes, o.StorageClasses) },
		func() (bool, error) { return syncObjects(l.csiNodes, o.CSINodes) },
	} {
		c, err := f()
		if err != nil {
			return false, fmt.Errorf("fill listers: %w", err)
		}
		changed = changed || c
	}
	for _, f := range []func() (bool, error){
		func() (bool, error) { return syncObjects(l.services, o.Services) },
		func() (bool, error) { return syncObjects(l.rcs, o.ReplicationControllers) },
		func() (bool, error) { return syncObjects(l.rss, o.ReplicaSets) },
		func() (bool, error) { return syncObjects(l.sss, o.StatefulSets) },
	} {
		if _, err := f(); err != nil {
			return false, fmt.Errorf("fill listers: %w", err)
		}
	}
	return changed, nil
}
