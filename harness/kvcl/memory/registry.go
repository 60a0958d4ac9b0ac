package memory

import (
	"fmt"
	"net"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/kubelet/client"
	daemonset "k8s.io/kubernetes/pkg/registry/apps/daemonset/storage"
	deployment "k8s.io/kubernetes/pkg/registry/apps/deployment/storage"
	replicaset "k8s.io/kubernetes/pkg/registry/apps/replicaset/storage"
	statefulset "k8s.io/kubernetes/pkg/registry/apps/statefulset/storage"
	job "k8s.io/kubernetes/pkg/registry/batch/job/storage"
	configmap "k8s.io/kubernetes/pkg/registry/core/configmap/storage"
	endpoint "k8s.io/kubernetes/pkg/registry/core/endpoint/storage"
	namespace "k8s.io/kubernetes/pkg/registry/core/namespace/storage"
	node "k8s.io/kubernetes/pkg/registry/core/node/storage"
	persistentvolume "k8s.io/kubernetes/pkg/registry/core/persistentvolume/storage"
	persistentvolumeclaim "k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim/storage"
	pod "k8s.io/kubernetes/pkg/registry/core/pod/storage"
	replicationcontroller "k8s.io/kubernetes/pkg/registry/core/replicationcontroller/storage"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
	service "k8s.io/kubernetes/pkg/registry/core/service/storage"
	runtimeclass "k8s.io/kubernetes/pkg/registry/node/runtimeclass/storage"
	poddisruptionbudget "k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget/storage"
	priorityclass "k8s.io/kubernetes/pkg/registry/scheduling/priorityclass/storage"
	csinode "k8s.io/kubernetes/pkg/registry/storage/csinode/storage"
	storageclass "k8s.io/kubernetes/pkg/registry/storage/storageclass/storage"

	"github.com/scalehist/scalehist/harness/kvcl/internal/plane"
)

// resource is the API server's storage of one kind.
type resource interface {
	rest.Storage
	rest.Creater
	rest.Updater
	rest.GracefulDeleter
	rest.Getter
}

// GetRESTOptions gives each registry a table of its own.
func (s *server) GetRESTOptions(r schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{
		StorageConfig:  &storagebackend.ConfigForResource{GroupResource: r},
		ResourcePrefix: r.String(),
		Decorator: func(*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object,
			func() runtime.Object, storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
			return &table{server: s, kind: s.kinds[r], rows: map[string]runtime.Object{}}, func() {}, nil
		},
	}, nil
}

// keep files a resource and its subresources under the kind of its name.
func (s *server) keep(name string, r resource, subresources map[string]rest.Updater) {
	for _, k := range plane.Kinds {
		if k.Name == name {
			s.resources[k.Order], s.subresources[k.Order] = r, subresources
		}
	}
}

// register makes the registries as kube-apiserver does.
func (s *server) register() error {
	steps := []func() error{s.registerCore, s.registerService, s.registerApps, s.registerOthers}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("registries of the control plane: %w", err)
		}
	}
	for _, k := range plane.Kinds {
		if s.resources[k.Order] == nil {
			return fmt.Errorf("registries of the control plane: there is none for %s", k.Name)
		}
	}
	return nil
}

func (s *server) registerCore() error {
	namespaces, namespaceStatus, finalize, err := namespace.NewREST(s)
	if err != nil {
		return err
	}
	s.keep("Namespace", namespaces, map[string]rest.Updater{"status": namespaceStatus, "finalize": finalize})
	configMaps, err := configmap.NewREST(s)
	if err != nil {
		return err
	}
	s.keep("ConfigMap", configMaps, nil)
	volumes, volumeStatus, err := persistentvolume.NewREST(s)
	if err != nil {
		return err
	}
	s.keep("PersistentVolume", volumes, map[string]rest.Updater{"status": volumeStatus})
	claims, claimStatus, err := persistentvolumeclaim.NewREST(s)
	if err != nil {
		return err
	}
	s.keep("PersistentVolumeClaim", claims, map[string]rest.Updater{"status": claimStatus})
	controllers, err := replicationcontroller.NewStorage(s)
	if err != nil {
		return err
	}
	s.keep("ReplicationController", controllers.Controller, map[string]rest.Updater{"status": controllers.Status})
	nodes, err := node.NewStorage(s, client.KubeletClientConfig{}, nil)
	if err != nil {
		return err
	}
	s.keep("Node", nodes.Node, map[string]rest.Updater{"status": nodes.Status})
	s.pods, err = pod.NewStorage(s, nil, nil, budgets{s}, nil)
	if err != nil {
		return err
	}
	s.keep("Pod", s.pods.Pod, map[string]rest.Updater{"status": s.pods.Status, "resize": s.pods.Resize})
	return nil
}

// registerService: services get no addresses here (plane sends them without), but the registry wants allocators.
func (s *server) registerService() error {
	_, cidr, err := net.ParseCIDR("10.0.0.0/24")
	if err != nil {
		return err
	}
	addresses, err := ipallocator.NewInMemory(cidr)
	if err != nil {
		return err
	}
	ports, err := portallocator.NewInMemory(utilnet.PortRange{Base: 30000, Size: 2768})
	if err != nil {
		return err
	}
	endpoints, err := endpoint.NewREST(s)
	if err != nil {
		return err
	}
	services, status, _, err := service.NewREST(s, core.IPv4Protocol, map[core.IPFamily]ipallocator.Interface{core.IPv4Protocol: addresses}, ports,
		endpoints, s.pods.Pod, nil)
	if err != nil {
		return err
	}
	s.keep("Service", services, map[string]rest.Updater{"status": status})
	return nil
}

func (s *server) registerApps() error {
	daemonSets, daemonSetStatus, err := daemonset.NewREST(s)
	if err != nil {
		return err
	}
	s.keep("DaemonSet", daemonSets, map[string]rest.Updater{"status": daemonSetStatus})
	deployments, err := deployment.NewStorage(s)
	if err != nil {
		return err
	}
	s.keep("Deployment", deployments.Deployment, map[string]rest.Updater{"status": deployments.Status})
	replicaSets, err := replicaset.NewStorage(s)
	if err != nil {
		return err
	}
	s.keep("ReplicaSet", replicaSets.ReplicaSet, map[string]rest.Updater{"status": replicaSets.Status})
	statefulSets, err := statefulset.NewStorage(s)
	if err != nil {
		return err
	}
	s.keep("StatefulSet", statefulSets.StatefulSet, map[string]rest.Updater{"status": statefulSets.Status})
	jobs, err := job.NewStorage(s)
	if err != nil {
		return err
	}
	s.keep("Job", jobs.Job, map[string]rest.Updater{"status": jobs.Status})
	return nil
}

func (s *server) registerOthers() error {
	pdbs, pdbStatus, err := poddisruptionbudget.NewREST(s)
	if err != nil {
		return err
	}
	s.keep("PodDisruptionBudget", pdbs, map[string]rest.Updater{"status": pdbStatus})
	priorityClasses, err := priorityclass.NewREST(s)
	if err != nil {
		return err
	}
	s.keep("PriorityClass", priorityClasses, nil)
	runtimeClasses, err := runtimeclass.NewREST(s)
	if err != nil {
		return err
	}
	s.keep("RuntimeClass", runtimeClasses, nil)
	storageClasses, err := storageclass.NewREST(s)
	if err != nil {
		return err
	}
	s.keep("StorageClass", storageClasses, nil)
	csiNodes, err := csinode.NewStorage(s)
	if err != nil {
		return err
	}
	s.keep("CSINode", csiNodes.CSINode, nil)
	return nil
}
