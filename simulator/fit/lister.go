package fit

import (
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"
)

// lister shows a Snapshot to the plugins.
type lister struct{ s *Snapshot }

var _ fwk.SharedLister = lister{}

func (l lister) NodeInfos() fwk.NodeInfoLister           { return l }
func (l lister) StorageInfos() fwk.StorageInfoLister     { return l }
func (l lister) PodGroupStates() fwk.PodGroupStateLister { return podGroups{} }

// List implements fwk.NodeInfoLister.
func (l lister) List() ([]fwk.NodeInfo, error) { return l.s.nodes, nil }

// HavePodsWithAffinityList implements fwk.NodeInfoLister.
func (l lister) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return l.s.affine.get(l.s.nodes, func(n fwk.NodeInfo) bool { return len(n.GetPodsWithAffinity()) > 0 }), nil
}

// HavePodsWithRequiredAntiAffinityList implements fwk.NodeInfoLister.
func (l lister) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return l.s.antiAffine.get(l.s.nodes, func(n fwk.NodeInfo) bool { return len(n.GetPodsWithRequiredAntiAffinity()) > 0 }), nil
}

// Get implements fwk.NodeInfoLister.
func (l lister) Get(name string) (fwk.NodeInfo, error) {
	if at, ok := l.s.index[name]; ok {
		return l.s.nodes[at], nil
	}
	return nil, fmt.Errorf("node %q is not in the snapshot", name)
}

// IsPVCUsedByPods implements fwk.StorageInfoLister.
func (l lister) IsPVCUsedByPods(key string) bool {
	for _, n := range l.s.nodes {
		if n.GetPVCRefCounts()[key] > 0 {
			return true
		}
	}
	return false
}

type podGroups struct{}

// Get implements fwk.PodGroupStateLister: no recording has pod groups.
func (podGroups) Get(namespace, name string) (fwk.PodGroupState, error) {
	return nil, fmt.Errorf("pod group %s/%s is not known", namespace, name)
}
