package fit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// baseNode is a node as the snapshot was reset to it.
type baseNode struct {
	node *corev1.Node
	pods []*corev1.Pod
	slot *slot
}

// baseNodes finds what a node was in the last base: mostly in the same place.
func (c *Checker) baseNodes() func(at int, name string) *baseNode {
	last := c.nodes
	var byName map[string]*baseNode
	return func(at int, name string) *baseNode {
		if at < len(last) && last[at].node.Name == name {
			return &last[at]
		}
		if byName == nil {
			byName = make(map[string]*baseNode, len(last))
			for i := range last {
				byName[last[i].node.Name] = &last[i]
			}
		}
		return byName[name]
	}
}

// baseNode makes a node with pods, from what it was in the last base where little changed since.
func (c *Checker) baseNode(n *corev1.Node, pods []*corev1.Pod, old *baseNode) baseNode {
	if old != nil && old.node == n {
		if slices.Equal(old.pods, pods) {
			return *old
		}
		if info := c.changedInfo(pods, old); info != nil {
			return baseNode{node: n, pods: slices.Clone(pods), slot: newSlot(info, 0)}
		}
	}
	kept := map[*corev1.Pod]fwk.PodInfo{}
	if old != nil {
		for i, p := range old.pods {
			kept[p] = old.slot.info.Pods[i]
		}
	}
	info := framework.NewNodeInfo()
	info.SetNode(n)
	for _, p := range pods {
		if i, ok := kept[p]; ok {
			info.AddPodInfo(i)
			continue
		}
		info.AddPodInfo(c.boundInfo(p))
	}
	return baseNode{node: n, pods: slices.Clone(pods), slot: newSlot(info, 0)}
}

// changedInfo is the NodeInfo of a node of which only the pods have changed: the old one's copy, less what is gone, and what
// came. The pods are in their order, as if they had been added one by one. It is nil where that would not come out the same,
// or not be quicker: many changes, host ports, of which a NodeInfo keeps one for all who ask for it, extended resources, and
// pods with affinity, which have lists of their own.
func (c *Checker) changedInfo(pods []*corev1.Pod, old *baseNode) *framework.NodeInfo {
	was := old.slot.info
	if len(was.UsedPorts) > 0 || len(was.PodsWithAffinity) > 0 || len(was.Requested.ScalarResources) > 0 {
		return nil
	}
	infos := make([]fwk.PodInfo, len(pods))
	most := 1 + len(pods)/4
	gone := make([]*corev1.Pod, 0, most)
	came := make([]int, 0, most)
	from := 0
	for i, p := range pods {
		if at := indexNear(old.pods, from, p); at >= 0 {
			gone = append(gone, old.pods[from:at]...)
			infos[i], from = was.Pods[at], at+1
		} else {
			if from < len(old.pods) && old.pods[from].UID == p.UID {
				gone = append(gone, old.pods[from]) // a new version in the old place
				from++
			}
			came = append(came, i)
		}
		if len(gone)+len(came) > most {
			return nil
		}
	}
	if gone = append(gone, old.pods[from:]...); len(gone)+len(came) > most {
		return nil
	}
	info := was.SnapshotConcrete()
	for _, p := range gone {
		if info.RemovePod(klog.Background(), withUID(p)) != nil {
			return nil
		}
	}
	for _, i := range came {
		infos[i] = c.boundInfo(pods[i])
		info.AddPodInfo(infos[i])
	}
	if len(info.UsedPorts) > 0 || len(info.PodsWithAffinity) > 0 || len(info.Requested.ScalarResources) > 0 {
		return nil
	}
	info.Pods = infos
	return info
}

// indexNear is the place of a pod at or soon behind another place, -1 when it is not there.
func indexNear(pods []*corev1.Pod, from int, p *corev1.Pod) int {
	const near = 8
	for i := from; i < min(from+near, len(pods)); i++ {
		if pods[i] == p {
			return i
		}
	}
	return -1
}
